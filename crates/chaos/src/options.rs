//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hustings_testkit::switches::Rule;

use crate::exclusion::{ExclusionOptions, RecorderOptions};
use crate::hogs::HogOptions;
use crate::launch::Launch;
use crate::schedule::FaultKind;

/// What the exit codes mean.
const EXIT_CODES: &str = "Exit codes:
  0  passed: no violation was found
  1  a violation was found; the command that replays the run is printed, and its history and logs are kept
  2  wrong use of the command line
  3  the run could not be carried out, or was interrupted
  4  inconclusive: no violation was found, but the machine stalled so much that not everything could be checked";

/// Injects faults into a real cluster by a seed, and checks what its clients saw.
///
/// Starts `hustings node` processes and clients that campaign, write and read. Meanwhile it kills, freezes, isolates,
/// slows and restarts nodes. Then an independent checker searches the recorded history for violations.
#[derive(Parser, Debug)]
#[command(name = "hustings-chaos", version, args_conflicts_with_subcommands = true, after_help = EXIT_CODES)]
pub(crate) struct Options {
    /// What to do instead of a run.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// How to run.
    #[command(flatten)]
    pub(crate) run: Run,
}

/// What to do instead of a run.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Checks that `hustings run` ends a command before it starts it on another host.
    ///
    /// Every host runs a node and `hustings run`, whose command records when it is alive. Meanwhile nodes, `run`, its
    /// guardian and the command are killed and frozen, and hosts are cut off. The recordings must not overlap.
    #[command(after_help = EXIT_CODES)]
    Run(ExclusionOptions),
    /// Checks the history of an earlier run.
    Judge {
        /// The run's history.jsonl, or the folder `recordings` of `hustings-chaos run`.
        file: PathBuf,
    },
    /// Records when it is alive; the command that `hustings run` runs.
    #[command(hide = true)]
    Recorder(RecorderOptions),
    /// Keeps the host busy; used internally.
    #[command(hide = true)]
    Hogs(HogOptions),
    /// Floods a node; used internally.
    #[command(hide = true)]
    Flood {
        /// What is flooded, as JSON.
        targets: String,
    },
    /// Executes a node; used internally.
    #[command(hide = true)]
    Launch(Launch),
}

/// How to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct Run {
    /// Decides which fault happens when; the same seed injects the same faults.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Length of the run in minutes; fractions are allowed.
    #[arg(long, default_value = "1", value_parser = minutes)]
    pub(crate) minutes: f64,
    /// Number of nodes.
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u8).range(2..=9))]
    pub(crate) nodes: u8,
    /// Number of clients that campaign for each office at each node.
    #[arg(long, default_value = "2", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(crate) clients: u8,
    /// Number of clients at each node that campaign over the HTTP API, each for another office in turn.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) http_clients: u8,
    /// How the nodes are connected.
    #[arg(long, value_enum, default_value_t = Network::Proxy)]
    pub(crate) network: Network,
    /// What the nodes' disks are.
    #[arg(long, value_enum, default_value_t = DiskKind::Memory)]
    pub(crate) disks: DiskKind,
    /// The `hustings` program, built with the feature fault-injection [default: the one next to this program].
    #[arg(long)]
    pub(crate) hustings: Option<PathBuf>,
    /// Keeps the history and logs in this new folder, even if the run passes.
    #[arg(long)]
    pub(crate) keep: Option<PathBuf>,
    /// Injects only these kinds of faults: kill,freeze,…
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', value_parser = kind)]
    pub(crate) faults: Option<Vec<FaultKind>>,
    /// Disables a safety rule of the nodes and targets it: the checker must find a violation.
    #[arg(long = "break", value_name = "RULE")]
    pub(crate) breaks: Option<Rule>,
    /// Targets a rule as `--break` does, but leaves it in force: the checker must find nothing.
    #[arg(long, value_name = "RULE", conflicts_with = "breaks")]
    pub(crate) aim: Option<Rule>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl Run {
    /// The command that repeats the run.
    pub(crate) fn replay(&self) -> String {
        let name = |value: &dyn Fn() -> Option<clap::builder::PossibleValue>| {
            value().map(|value| value.get_name().to_string()).unwrap_or_default()
        };
        let mut command = format!(
            "hustings-chaos --seed {} --minutes {} --nodes {} --clients {} --http-clients {} --network {}",
            self.seed,
            self.minutes,
            self.nodes,
            self.clients,
            self.http_clients,
            name(&|| self.network.to_possible_value())
        );
        if let Some(faults) = &self.faults {
            let names: Vec<&str> = faults.iter().map(|kind| kind.name()).collect();
            command += &format!(" --faults {}", names.join(","));
        }
        if self.disks == DiskKind::Device {
            command += " --disks device";
        }
        for (option, rule) in [("break", self.breaks), ("aim", self.aim)] {
            if let Some(rule) = rule {
                command += &format!(" --{option} {rule}");
            }
        }
        command
    }

    /// The rule that the schedule targets, disabled or not.
    pub(crate) fn target(&self) -> Option<Rule> {
        self.breaks.or(self.aim)
    }
}

/// Parses the length of a run.
pub(crate) fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if (0.01..=10_000.0).contains(&minutes) => Ok(minutes),
        _ => Err("allowed are 0.01 to 10000".to_string()),
    }
}

fn kind(text: &str) -> Result<FaultKind, String> {
    FaultKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
        let names: Vec<&str> = FaultKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("allowed are {}", names.join(", "))
    })
}

/// How the nodes are connected.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Network {
    /// Loopback with a proxy: needs no privileges, and can close, hold back and delay.
    Proxy,
    /// A network namespace for every node: needs root.
    Namespaces,
    /// Namespaces if they can be made, otherwise the proxy.
    Auto,
}

/// What the nodes' disks are.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DiskKind {
    /// File systems in memory if they can be mounted, otherwise folders.
    Memory,
    /// File systems on devices, which can fail: needs root and loop devices.
    Device,
}

/// How to print the result.
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
    fn the_replay_command_parses_to_the_same_run() {
        let typed =
            ["hustings-chaos", "--seed=7", "--minutes=0.5", "--nodes=3", "--faults=kill,one-way", "--break=stale-runs"];
        let run = Options::try_parse_from(typed).expect("understood").run;
        let replay = run.replay();
        assert_eq!(
            replay,
            "hustings-chaos --seed 7 --minutes 0.5 --nodes 3 --clients 2 --http-clients 1 --network proxy \
             --faults kill,one-way --break stale-runs"
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
    fn rejects_values_out_of_range() {
        for bad in [
            ["--minutes", "0"],
            ["--minutes", "nan"],
            ["--nodes", "1"],
            ["--nodes", "10"],
            ["--clients", "0"],
            ["--http-clients", "10"],
            ["--faults", "x"],
            ["--break", "x"],
        ] {
            assert!(Options::try_parse_from(["hustings-chaos", bad[0], bad[1]]).is_err(), "{bad:?}");
        }
    }
}
