//! The options of `hustings-chaos run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::options::{Format, Network, minutes};

/// How many changes of leadership a run must show for each minute, unless the user says otherwise.
const CHANGES_PER_MINUTE: f64 = 50.0;

/// How to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExclusionOptions {
    /// Decides which fault happens when; the same seed injects the same faults.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Length of the run in minutes; fractions are allowed.
    #[arg(long, default_value = "1", value_parser = minutes)]
    pub(crate) minutes: f64,
    /// Number of hosts.
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u8).range(3..=9))]
    pub(crate) nodes: u8,
    /// How the hosts are connected.
    #[arg(long, value_enum, default_value_t = Network::Auto)]
    pub(crate) network: Network,
    /// The `hustings` program [default: the one next to this program].
    #[arg(long)]
    pub(crate) hustings: Option<PathBuf>,
    /// Keeps the recordings and logs in this new folder, even if the run passes.
    #[arg(long)]
    pub(crate) keep: Option<PathBuf>,
    /// How many of the three processes that can kill the command (guardian, `run`, node) are frozen or down on a host
    /// at a time.
    #[arg(long, value_name = "COUNT", default_value = "2", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) max_frozen: u8,
    /// What holds the processes of the commands together.
    #[arg(long, value_enum, default_value_t = Containment::PidNamespace)]
    pub(crate) containment: Containment,
    /// Runs the nodes as the package does: as a user who is not root, with CAP_KILL and no other privilege. Needs root.
    #[arg(long)]
    pub(crate) packaged: bool,
    /// Breaks a condition of the promise: the judge must find an overlap.
    #[arg(long = "break", value_enum, value_name = "CONDITION")]
    pub(crate) breaks: Option<Condition>,
    /// The least number of changes of leadership that a run must show [default: 50 for each minute].
    #[arg(long, value_name = "COUNT")]
    pub(crate) min_changes: Option<usize>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// A condition of the promise that `hustings run` makes.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// One of the three that can kill the command is not frozen.
    OneKiller,
}

/// What holds the processes of a command together.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Containment {
    /// A PID namespace, which ends with `run` and its guardian.
    PidNamespace,
    /// A cgroup.
    Cgroup,
    /// Being descendants.
    ProcessTree,
}

impl Containment {
    /// Its name on the command line of `hustings run`, too.
    pub(crate) fn name(self) -> String {
        name(self)
    }

    /// Whether the command ends with `run` and with the guardian, whoever else is frozen.
    pub(crate) fn ends_with_its_guards(self) -> bool {
        self == Containment::PidNamespace
    }
}

impl ExclusionOptions {
    /// The command that repeats the run.
    pub(crate) fn replay(&self) -> String {
        let mut command = format!(
            "hustings-chaos run --seed {} --minutes {} --nodes {} --network {} --max-frozen {}",
            self.seed,
            self.minutes,
            self.nodes,
            name(self.network),
            self.max_frozen
        );
        if self.containment != Containment::PidNamespace {
            command += &format!(" --containment {}", self.containment.name());
        }
        if self.packaged {
            command += " --packaged";
        }
        if let Some(condition) = self.breaks {
            command += &format!(" --break {}", name(condition));
        }
        if let Some(count) = self.min_changes {
            command += &format!(" --min-changes {count}");
        }
        command
    }

    /// The least number of changes of leadership.
    pub(crate) fn required_changes(&self) -> usize {
        self.min_changes.unwrap_or((self.minutes * CHANGES_PER_MINUTE) as usize)
    }
}

fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::{Command, Options};

    fn parse(words: &[&str]) -> ExclusionOptions {
        match Options::try_parse_from(words).expect("understood").command {
            Some(Command::Run(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_replay_command_parses_to_the_same_run() {
        let typed = ["hustings-chaos", "run", "--seed=7", "--minutes=0.5", "--break=one-killer", "--min-changes=9"];
        let options = parse(&typed);
        let replay = options.replay();
        assert_eq!(
            replay,
            "hustings-chaos run --seed 7 --minutes 0.5 --nodes 5 --network auto --max-frozen 2 --break one-killer \
             --min-changes 9"
        );
        let again = parse(&replay.split(' ').collect::<Vec<_>>());
        assert_eq!(format!("{options:?}"), format!("{again:?}"));
        let replay = parse(&["hustings-chaos", "run", "--packaged", "--containment=cgroup"]).replay();
        assert!(replay.ends_with(" --containment cgroup --packaged"), "{replay}");
    }

    #[test]
    fn a_run_of_ten_minutes_must_show_500_changes() {
        assert_eq!(parse(&["hustings-chaos", "run", "--minutes", "10"]).required_changes(), 500);
        assert_eq!(parse(&["hustings-chaos", "run", "--min-changes", "3"]).required_changes(), 3);
    }

    #[test]
    fn rejects_values_out_of_range() {
        for bad in [["--max-frozen", "3"], ["--nodes", "2"], ["--minutes", "0"], ["--break", "x"]] {
            assert!(Options::try_parse_from(["hustings-chaos", "run", bad[0], bad[1]]).is_err(), "{bad:?}");
        }
    }
}
