//! What the harness is told.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use hustings_testkit::switches::Rule;

use crate::launch::Launch;
use crate::schedule::Kind;

/// What the exit codes mean.
const EXIT_CODES: &str = "Exit codes:
  0  passed: no violation was found
  1  a violation was found; the command that replays the run is printed, and its history and logs are kept
  2  wrong use of the command line
  3  the run could not be carried out, or was interrupted
  4  inconclusive: no violation was found, but the machine stalled so much that not everything could be checked";

/// Breaks a real cluster on purpose, by a seed, and judges what its clients saw.
///
/// Starts `hustings node` processes and clients that campaign, write and read; kills, freezes, cuts off, slows and
/// restarts nodes while they do; then an independent judge reads the record.
#[derive(Parser, Debug)]
#[command(name = "hustings-chaos", version, args_conflicts_with_subcommands = true, after_help = EXIT_CODES)]
pub(crate) struct Options {
    /// What to do instead.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// How to break things.
    #[command(flatten)]
    pub(crate) run: Run,
}

/// What to do instead of breaking things.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Judges the record of an earlier run.
    Judge {
        /// Its history.jsonl.
        file: PathBuf,
    },
    /// Becomes a node; used by the harness itself.
    #[command(hide = true)]
    Launch(Launch),
}

/// How to break things.
#[derive(Args, Clone, Debug)]
pub(crate) struct Run {
    /// Decides what is broken when; the same seed breaks the same things.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How long, in minutes; fractions are allowed.
    #[arg(long, default_value = "1", value_parser = minutes)]
    pub(crate) minutes: f64,
    /// How many nodes.
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u8).range(2..=9))]
    pub(crate) nodes: u8,
    /// How many clients campaign for each office at each node.
    #[arg(long, default_value = "2", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(crate) clients: u8,
    /// What is between the nodes.
    #[arg(long, value_enum, default_value_t = Network::Proxy)]
    pub(crate) network: Network,
    /// The `hustings` program; if not given, the one next to this program.
    #[arg(long)]
    pub(crate) hustings: Option<PathBuf>,
    /// Keeps everything in this new folder, also if nothing bad happened.
    #[arg(long)]
    pub(crate) keep: Option<PathBuf>,
    /// Breaks only these kinds of things: kill,freeze,…
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', value_parser = kind)]
    pub(crate) faults: Option<Vec<Kind>>,
    /// Switches off a rule of the nodes (for tests of this harness): a violation must be found.
    #[arg(long = "break", value_name = "RULE", value_parser = rule)]
    pub(crate) breaks: Option<Rule>,
    /// Aims at this rule as `--break` does, but leaves it in force: nothing must be found.
    #[arg(long, value_name = "RULE", value_parser = rule, conflicts_with = "breaks")]
    pub(crate) aim: Option<Rule>,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl Run {
    /// The command that does the same again.
    pub(crate) fn replay(&self) -> String {
        let name = |value: &dyn Fn() -> Option<clap::builder::PossibleValue>| {
            value().map(|value| value.get_name().to_string()).unwrap_or_default()
        };
        let mut command = format!(
            "hustings-chaos --seed {} --minutes {} --nodes {} --clients {} --network {}",
            self.seed,
            self.minutes,
            self.nodes,
            self.clients,
            name(&|| self.network.to_possible_value())
        );
        if let Some(faults) = &self.faults {
            let names: Vec<&str> = faults.iter().map(|kind| kind.name()).collect();
            command += &format!(" --faults {}", names.join(","));
        }
        for (option, rule) in [("break", self.breaks), ("aim", self.aim)] {
            if let Some(rule) = rule {
                command += &format!(" --{option} {}", rule.name());
            }
        }
        command
    }

    /// The rule that the schedule is aimed at, broken or not.
    pub(crate) fn target(&self) -> Option<Rule> {
        self.breaks.or(self.aim)
    }
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if (0.01..=10_000.0).contains(&minutes) => Ok(minutes),
        _ => Err("allowed are 0.01 to 10000".to_string()),
    }
}

fn rule(text: &str) -> Result<Rule, String> {
    Rule::ALL.into_iter().find(|rule| rule.name() == text).ok_or_else(|| {
        let names = Rule::ALL.map(Rule::name).join(", ");
        format!("allowed are {names}")
    })
}

fn kind(text: &str) -> Result<Kind, String> {
    Kind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("allowed are {}", names.join(", "))
    })
}

/// What is between the nodes.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Network {
    /// Loopback and a proxy of ours: works for everybody, and can close, hold back and delay.
    Proxy,
    /// A network namespace for every node: needs to be root.
    Namespaces,
    /// Namespaces where they can be made, the proxy otherwise.
    Auto,
}

/// How the result is printed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_replays_means_the_same() {
        let typed =
            ["hustings-chaos", "--seed=7", "--minutes=0.5", "--nodes=3", "--faults=kill,one-way", "--break=stale-runs"];
        let run = Options::try_parse_from(typed).expect("understood").run;
        let replay = run.replay();
        assert_eq!(
            replay,
            "hustings-chaos --seed 7 --minutes 0.5 --nodes 3 --clients 2 --network proxy --faults kill,one-way \
             --break stale-runs"
        );
        let again = Options::try_parse_from(replay.split(' ')).expect("understood").run;
        assert_eq!(format!("{run:?}"), format!("{again:?}"));
    }

    #[test]
    fn the_help_lists_every_exit_code() {
        let help = Options::try_parse_from(["hustings-chaos", "--help"]).expect_err("only help").to_string();
        for code in ["0  passed", "1  a violation", "2  wrong use", "3  the run could not", "4  inconclusive"] {
            assert!(help.contains(code), "{code}: {help}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            ["--minutes", "0"],
            ["--minutes", "nan"],
            ["--nodes", "1"],
            ["--nodes", "10"],
            ["--clients", "0"],
            ["--faults", "x"],
            ["--break", "x"],
        ] {
            assert!(Options::try_parse_from(["hustings-chaos", bad[0], bad[1]]).is_err(), "{bad:?}");
        }
    }
}
