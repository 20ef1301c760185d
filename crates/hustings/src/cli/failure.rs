//! Errors of commands, and how they are reported.

use std::io;

use hustings_algorithms::catalogue::NameTaken;
use hustings_check::CheckError;
use hustings_papers::comparison::CompareError;
use hustings_papers::plot::{PlotError, PngError};
use hustings_papers::report::ReportError;
use hustings_papers::sweep::SweepError;
use hustings_papers::table::file::ResultsError;
use hustings_sim::simulate::{Field, ReplayFileError, SpecError, SpecProblem};
use hustings_sim::topology::BuildError;
use hustings_sim::trace::FileError;
use hustings_text::{nearest, quote};
use indicatif::{HumanBytes, HumanCount};

use super::cluster::ClusterFailure;
use super::console::{Console, Exit, Paint};
use super::flags::{option, typed};

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Wrong arguments, or a request for help.
    #[error(transparent)]
    Arguments(clap::Error),
    /// An unknown name.
    #[error("there is no {what} `{name}`")]
    Unknown { what: &'static str, name: String, nearest: Option<String> },
    /// Options that do not describe an election of the algorithm.
    #[error("{}", .0.describe(typed))]
    Election(#[from] SpecError),
    /// An election that cannot be checked.
    #[error("{}", check_error(.0))]
    Check(#[from] CheckError),
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
    #[error("--replay {path}: {error}")]
    NotReplayed { path: String, error: ReplayFileError },
    /// A file that could not be written.
    #[error("{option}: cannot write `{path}`: {error}")]
    Unwritable { option: &'static str, path: String, error: io::Error },
    /// An experiment file that could not be read.
    #[error("cannot read `{path}`: {error}")]
    Experiment { path: String, error: io::Error },
    /// A sweep that did not finish.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A paper that could not be evaluated.
    #[error(transparent)]
    Study(#[from] CompareError),
    /// A report that could not be written.
    #[error("--out: cannot write {0}")]
    Report(#[from] ReportError),
    /// Results that could not be read.
    #[error("{path}: {error}")]
    Results { path: String, error: ResultsError },
    /// A chart that cannot be drawn from the results.
    #[error("{}{error}", if name.is_empty() { String::new() } else { format!("plot `{name}`: ") })]
    Plot { name: String, error: PlotError },
    /// A picture that could not be rendered.
    #[error("--png: {0}")]
    Png(PngError),
    /// A run that the page cannot show.
    #[error("{what}: {error}")]
    Lab { what: String, error: hustings_lab::LabError },
    /// An intervention that could not be done.
    #[error("--intervene: number {} cannot be done: {}", .0.index + 1, .0.reason)]
    Refused(hustings_sim::outcome::Refusal),
    /// A run that needs more memory than allowed.
    #[error(
        "the memory limit of {} was reached at tick {tick}, after {} messages (--max-memory); there is no result",
        HumanBytes(*.bytes),
        HumanCount(*.messages)
    )]
    OutOfMemory { bytes: u64, tick: u64, messages: u64 },
    /// The page could not be served.
    #[error("cannot serve the page on {address}: {error}")]
    Serve { address: String, error: io::Error },
    /// A command of the cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterFailure),
    /// The handler for Ctrl-C could not be installed.
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
    /// The output itself could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// The failure for an unknown name.
    pub(crate) fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Failure::Unknown { what, name: quote(name), nearest: nearest(name, known).map(str::to_string) }
    }

    /// Prints the error and returns the exit code.
    pub(crate) fn tell(&self, console: &mut Console<'_>) -> Exit {
        match self {
            Failure::Arguments(error) => return print_clap(error, console),
            // The reader of a pipe has closed it.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::Done,
            _ => {}
        }
        let (exit, help) = self.exit_and_help();
        let mut text = format!("{} {self}\n", Paint::Bad.on("error:", console.colour_errors));
        if let Some(help) = help {
            text += &format!("{} {help}\n", Paint::Strong.on("help:", console.colour_errors));
        }
        // If standard error cannot be written either, the exit code still tells.
        let _ = console.err.write_all(text.as_bytes());
        exit
    }

    /// The exit code, and advice for the user.
    pub(crate) fn exit_and_help(&self) -> (Exit, Option<String>) {
        match self {
            Failure::Arguments(_) => (Exit::WrongUse, None),
            Failure::NotReplayed { error, .. } => (replay_exit(error), None),
            Failure::Bench(_)
            | Failure::Output(_)
            | Failure::Unwritable { .. }
            | Failure::Unreadable { .. }
            | Failure::Experiment { .. }
            | Failure::Study(_)
            | Failure::Report(_)
            | Failure::Results { error: ResultsError::Io(_), .. }
            | Failure::Png(_)
            | Failure::Serve { .. }
            | Failure::Signals(_) => (Exit::CouldNot, None),
            Failure::Lab { error, .. } => {
                (Exit::WrongUse, error.nearest.as_ref().map(|near| format!("would fit: {near}")))
            }
            Failure::OutOfMemory { .. } => (
                Exit::CouldNot,
                Some("take fewer nodes, or end the run earlier with --until, or allow more".to_string()),
            ),
            Failure::Refused(_) => (Exit::WrongUse, Some("`--trace text` shows the records by number".to_string())),
            Failure::Results { .. } | Failure::Plot { .. } => (Exit::WrongUse, None),
            Failure::Cluster(failure) => failure.exit_and_help(),
            Failure::Sweep(error) => sweep_exit(error),
            Failure::Unknown { what, nearest, .. } => (Exit::WrongUse, unknown_help(what, nearest.as_deref())),
            Failure::NameTaken(_) => {
                (Exit::WrongUse, Some("give the algorithm another name in its `ABOUT`".to_string()))
            }
            Failure::Conflict { help, .. } => (Exit::WrongUse, Some(help.clone())),
            Failure::Check(error) => (Exit::WrongUse, Some(check_help(error).to_string())),
            Failure::Election(error) => {
                (if is_unreadable(error) { Exit::CouldNot } else { Exit::WrongUse }, election_help(error))
            }
        }
    }
}

impl From<hustings_harness::HarnessError> for Failure {
    fn from(error: hustings_harness::HarnessError) -> Self {
        Failure::Cluster(error.into())
    }
}

/// The error, with options in place of fields.
fn check_error(error: &CheckError) -> String {
    let text = error.to_string();
    match error {
        CheckError::TooManyNodes(_) | CheckError::TooManyCases { .. } => text,
        CheckError::RingRecovery | CheckError::UnorderedRuns => format!("--{text}"),
    }
}

fn check_help(error: &CheckError) -> &'static str {
    match error {
        CheckError::TooManyNodes(_) => "say --nodes 3; `hustings sim` runs elections of any size",
        CheckError::TooManyCases { .. } => {
            "take fewer nodes, or --ids rotations, or leave --initiators every-subset out"
        }
        CheckError::RingRecovery => "say --runs, or leave --recoveries out",
        CheckError::UnorderedRuns => "leave --channels unordered out",
    }
}

/// Whether the cause is a file that cannot be read.
fn is_unreadable(error: &SpecError) -> bool {
    match &error.problem {
        SpecProblem::Unreadable { .. } => true,
        SpecProblem::Topology(error) => matches!(**error, BuildError::Unreadable { .. }),
        _ => false,
    }
}

/// What to type instead, if there is a suggestion.
fn election_help(error: &SpecError) -> Option<String> {
    let leave_out = |field: Field| format!("leave {} out", option(field));
    match &error.problem {
        SpecProblem::SizeMismatch { size, .. } => {
            Some(format!("{}, or say {} {size}", leave_out(Field::Nodes), option(Field::Nodes)))
        }
        SpecProblem::NoSuchPosition { last, .. } => Some(format!("the nearest position is {last}")),
        SpecProblem::WrongTopology { suitable, .. } => {
            Some(format!("{}, or say {} {suitable}", leave_out(Field::Topology), option(Field::Topology)))
        }
        SpecProblem::ParamConflict(conflict) => conflict.instead.as_ref().map(|instead| format!("say {instead}")),
        SpecProblem::AfterEnd { tick, .. } => Some(format!("say {} {tick} or more", option(Field::Until))),
        SpecProblem::TooManyInitiators { live } if *live > 0 => Some(format!("the nearest is random:{live}")),
        SpecProblem::OneElection { .. } | SpecProblem::Anonymous { .. } => {
            error.field.as_ref().map(|at| leave_out(at.field))
        }
        SpecProblem::NoCheats { .. } => {
            Some(format!("{}; `hustings list` shows the algorithms that take it", leave_out(Field::Cheats)))
        }
        SpecProblem::NoVotes { .. } => {
            Some(format!("{}; {} ranks nodes before their ids", leave_out(Field::Votes), option(Field::Values)))
        }
        SpecProblem::Contents { error, .. } => error.nearest.as_ref().map(|near| format!("the nearest is {near}")),
        SpecProblem::Param { nearest: Some(nearest), .. } => Some(format!("the nearest is `{nearest}`")),
        _ => None,
    }
}

/// That the algorithm behaves differently now is an answer. That the file is not a recorded run of it is wrong usage.
fn replay_exit(error: &ReplayFileError) -> Exit {
    match error {
        ReplayFileError::Differs(_) => Exit::No,
        ReplayFileError::File(FileError::Io { .. }) => Exit::CouldNot,
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
            (Exit::WrongUse, Some("--resume continues it, --force starts over".to_string()))
        }
        SweepError::Foreign { .. } => {
            (Exit::WrongUse, Some("--out DIR writes elsewhere, --force instead of --resume starts over".to_string()))
        }
        SweepError::File { .. } | SweepError::Busy { .. } | SweepError::Table(_) => (Exit::CouldNot, None),
    }
}

fn unknown_help(what: &str, nearest: Option<&str>) -> Option<String> {
    let list = match what {
        "algorithm" => "`hustings list` shows all",
        "paper" => "`hustings papers` shows all",
        "item" => "`hustings papers NAME --format json` lists them with their ids; some need --large",
        "plot" => "those there are stand in the experiment's [[plot]] blocks",
        _ => "`hustings` shows all",
    };
    Some(nearest.map_or_else(|| list.to_string(), |nearest| format!("the nearest is `{nearest}`; {list}")))
}

/// Prints an error of the argument parser. Help goes to standard output and is not a failure.
fn print_clap(error: &clap::Error, console: &mut Console<'_>) -> Exit {
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

/// Prints a warning.
pub(crate) fn warn(console: &mut Console<'_>, warning: &dyn std::fmt::Display) {
    let word = Paint::Strong.on("warning:", console.colour_errors);
    // A warning that cannot be printed does not stop the command.
    let _ = writeln!(console.err, "{word} {warning}");
}
