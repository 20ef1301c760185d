//! Why a command failed, and how it is told.

use std::io;

use hustings_algorithms::catalogue::NameTaken;
use hustings_papers::comparison::CompareError;
use hustings_papers::plot::{PlotError, PngError};
use hustings_papers::report::ReportError;
use hustings_papers::sweep::SweepError;
use hustings_papers::table::file::ResultsError;
use hustings_sim::parse::{nearest, short};
use hustings_sim::simulate::{Refusal, ReplayRefusal};
use hustings_sim::topology::BuildError;
use hustings_sim::trace::file::FileError;

use super::cluster::ClusterFailure;
use super::console::{Console, Exit, Paint};
use crate::check::cases::NoCheck;

/// A command that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The arguments themselves are wrong, or ask for help.
    #[error(transparent)]
    Arguments(clap::Error),
    /// A name that is none.
    #[error("there is no {what} `{name}`")]
    Unknown { what: &'static str, name: String, nearest: Option<String> },
    /// Options that make no sense together or with the algorithm.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What cannot be checked.
    #[error("{0}")]
    NoCheck(NoCheck),
    /// An algorithm that could not be added to the built-in ones.
    #[error(transparent)]
    NameTaken(#[from] NameTaken),
    /// Options that exclude each other.
    #[error("{problem}")]
    Conflict { problem: String, help: String },
    /// A network to measure on that could not be built.
    #[error("cannot build the network: {0}")]
    Bench(BuildError),
    /// A recorded run that could not be read.
    #[error("--replay {path}: cannot be read: {error}")]
    Unreadable { path: String, error: io::Error },
    /// A recorded run that does not replay.
    #[error("--replay {path}: {refusal}")]
    NotReplayed { path: String, refusal: ReplayRefusal },
    /// A file that could not be written.
    #[error("{option}: cannot write `{path}`: {error}")]
    Unwritable { option: &'static str, path: String, error: io::Error },
    /// An experiment file that could not be read.
    #[error("cannot read `{path}`: {error}")]
    Experiment { path: String, error: io::Error },
    /// A sweep that came to no end.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A text that could not be gone through.
    #[error(transparent)]
    Study(#[from] CompareError),
    /// A report that could not be written.
    #[error("--out: cannot write {0}")]
    Report(#[from] ReportError),
    /// Results that could not be read.
    #[error("{path}: {error}")]
    Results { path: String, error: ResultsError },
    /// A chart that cannot be made of the results.
    #[error("{}{error}", if name.is_empty() { String::new() } else { format!("plot `{name}`: ") })]
    Plot { name: String, error: PlotError },
    /// A picture that could not be turned into pixels.
    #[error("--png: {0}")]
    Png(PngError),
    /// A command of the cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterFailure),
    /// Ctrl-C could not be listened for.
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
    /// The output itself could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// A name that is none of those known.
    pub(crate) fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Failure::Unknown { what, name: short(name), nearest: nearest(name, known).map(str::to_string) }
    }

    /// Tells what went wrong, and gives the exit code for it.
    pub(crate) fn tell(&self, console: &mut Console<'_>) -> Exit {
        let (exit, help) = match self {
            Failure::Arguments(error) => return tell_clap(error, console),
            // Whoever reads our output has seen enough.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::Done,
            Failure::NotReplayed { refusal, .. } => (replay_exit(refusal), None),
            Failure::Bench(_)
            | Failure::Output(_)
            | Failure::Unwritable { .. }
            | Failure::Unreadable { .. }
            | Failure::Experiment { .. }
            | Failure::Study(_)
            | Failure::Report(_)
            | Failure::Results { error: ResultsError::Io(_), .. }
            | Failure::Png(_)
            | Failure::Signals(_) => (Exit::CouldNot, None),
            Failure::Results { .. } | Failure::Plot { .. } => (Exit::WrongUse, None),
            Failure::Cluster(failure) => failure.exit_and_help(),
            Failure::Sweep(error) => sweep_exit(error),
            Failure::Unknown { what, nearest, .. } => (Exit::WrongUse, unknown_help(what, nearest.as_deref())),
            Failure::NameTaken(_) => {
                (Exit::WrongUse, Some("give the algorithm another name in its `ABOUT`".to_string()))
            }
            Failure::Conflict { help, .. } => (Exit::WrongUse, Some(help.clone())),
            Failure::NoCheck(why) => (Exit::WrongUse, Some(no_check_help(why).to_string())),
            Failure::Refused(refusal) => {
                (if refusal.is_environmental() { Exit::CouldNot } else { Exit::WrongUse }, refusal.help())
            }
        };
        let mut text = format!("{} {self}\n", Paint::Bad.on("error:", console.colour_errors));
        if let Some(help) = help {
            text += &format!("{} {help}\n", Paint::Strong.on("help:", console.colour_errors));
        }
        // When even that cannot be written, the exit code still tells.
        let _ = console.err.write_all(text.as_bytes());
        exit
    }
}

impl From<hustings_harness::HarnessError> for Failure {
    fn from(error: hustings_harness::HarnessError) -> Self {
        Failure::Cluster(error.into())
    }
}

impl From<NoCheck> for Failure {
    fn from(why: NoCheck) -> Self {
        match why {
            NoCheck::Refused(refusal) => Failure::Refused(refusal),
            other => Failure::NoCheck(other),
        }
    }
}

fn no_check_help(why: &NoCheck) -> &'static str {
    match why {
        NoCheck::Refused(_) | NoCheck::TooMany(_) => "say --nodes 3; `hustings sim` holds elections of any size",
        NoCheck::TooManyCases { .. } => "take fewer nodes, or --ids rotations, or leave --initiators every-subset out",
        NoCheck::RingRecovery => "say --runs, or leave --recoveries out",
        NoCheck::UnorderedRuns => "leave --channels unordered out",
    }
}

/// That the algorithm no longer does the same is an answer; that the file is no recorded run of it is wrong use.
fn replay_exit(refusal: &ReplayRefusal) -> Exit {
    match refusal {
        ReplayRefusal::Differs(_) => Exit::No,
        ReplayRefusal::File(FileError::Io { .. }) => Exit::CouldNot,
        _ => Exit::WrongUse,
    }
}

fn sweep_exit(error: &SweepError) -> (Exit, Option<String>) {
    match error {
        SweepError::Experiment(error) => (Exit::WrongUse, error.help()),
        SweepError::Exists { .. } => {
            (Exit::WrongUse, Some("--out DIR writes elsewhere, --force replaces it".to_string()))
        }
        SweepError::Unfinished { .. } => {
            (Exit::WrongUse, Some("--resume goes on with it, --force begins anew".to_string()))
        }
        SweepError::Foreign { .. } => {
            (Exit::WrongUse, Some("--out DIR writes elsewhere, --force instead of --resume begins anew".to_string()))
        }
        SweepError::File { .. } | SweepError::Busy { .. } | SweepError::Table(_) => (Exit::CouldNot, None),
    }
}

fn unknown_help(what: &str, nearest: Option<&str>) -> Option<String> {
    let list = match what {
        "algorithm" => "`hustings list` shows all",
        "paper" => "`hustings papers` shows all",
        "plot" => "those there are stand in the experiment's [[plot]] blocks",
        _ => "`hustings` shows all",
    };
    Some(nearest.map_or_else(|| list.to_string(), |nearest| format!("the nearest is `{nearest}`; {list}")))
}

/// Help goes to standard output and is no failure.
fn tell_clap(error: &clap::Error, console: &mut Console<'_>) -> Exit {
    let to_err = error.use_stderr();
    let rendered = error.render();
    let colour = if to_err { console.colour_errors } else { console.colour };
    let text = if colour { rendered.ansi().to_string() } else { rendered.to_string() };
    let sink = if to_err { &mut *console.err } else { &mut *console.out };
    match sink.write_all(text.as_bytes()).and_then(|()| sink.flush()) {
        _ if to_err => Exit::WrongUse,
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Exit::CouldNot,
        _ => Exit::Done,
    }
}

/// Prints what is allowed, but perhaps not meant.
pub(crate) fn warn(console: &mut Console<'_>, warning: &dyn std::fmt::Display) {
    let word = Paint::Strong.on("warning:", console.colour_errors);
    // A warning that cannot be shown is no reason to stop.
    let _ = writeln!(console.err, "{word} {warning}");
}
