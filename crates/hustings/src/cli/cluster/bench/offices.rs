//! `hustings bench offices`: what many offices cost.

mod report;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hustings_harness::HarnessError;
use hustings_harness::hogs::{self, Hogs, Used};
use hustings_harness::offices::{Grants, IdleCost, ManyOffices, Takeover};

use super::{ModeArg, chosen_or_all, layout, own_program, temporary_folder, value_name};
use crate::cli::args::Format;
use crate::cli::console::{Console, Exit, Paint};
use crate::cli::failure::Failure;

/// The numbers of offices that are measured by default.
const SIZES: [u32; 5] = [100, 300, 1_000, 3_000, 10_000];
/// The default for contested offices.
const CONTESTED_SIZES: [u32; 1] = [10_000];

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings bench offices                        100 to 10000 offices
  hustings bench offices --offices 300 --mode fenced
  hustings bench offices --contested --busy --runs 5 --require
                                                10000 offices on a busy host; exit code 1 unless the goals hold
  hustings bench offices --format json

Real processes on loopback, with TLS and durable writes. Programs campaign over the nodes' sockets, each office on one
node, and the nodes take turns; with --contested, programs on all nodes campaign for every office. For every number of
offices a new cluster is started. With the largest number, the cluster is then left alone, the programs of all nodes
campaign for all offices, and a node is killed that held a third of them. The office `leader` counts as one of the
offices. What is not reached in time is reported as such.

With --busy, five processes compete with the nodes until the cluster is stopped: two compute, and three write 64 MiB to
the folder for temporary files and wait until they are durable, again and again.

The goals of --require: all offices granted within 10 s, all offices of the killed node granted again within 3 s, and no
lease lost that nobody took.")]
pub(crate) struct OfficesArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=9))]
    nodes: u32,
    /// How many offices: one or more numbers [default: 100,300,1000,3000,10000; with --contested 10000].
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=10_000))]
    offices: Vec<u32>,
    /// The mode of the offices, for the loss of a node: one or both [default: both].
    #[arg(long = "mode", value_name = "MODE", value_enum, value_delimiter = ',')]
    modes: Vec<ModeArg>,
    /// With programs on all nodes that campaign for every office from the start.
    #[arg(long)]
    contested: bool,
    /// With five processes that keep processors and disk busy.
    #[arg(long)]
    busy: bool,
    /// How often everything is measured.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// How many seconds the cluster is left alone.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    idle: u64,
    /// How many seconds each step may take.
    #[arg(long, default_value_t = 60, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// With the HTTP API on.
    #[arg(long)]
    http: bool,
    /// End with exit code 1 unless the goals hold.
    #[arg(long)]
    require: bool,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Keeps the host busy in one process. Started by `hustings bench offices --busy`.
#[derive(Args, Debug)]
pub(crate) struct HogArgs {
    /// Writes this file again and again; computes otherwise.
    #[arg(long)]
    write: Option<PathBuf>,
}

/// One measurement of a cluster.
#[derive(Clone, Copy)]
struct Row<T> {
    /// Counted from 1.
    run: u32,
    mode: ModeArg,
    /// The offices, `leader` included.
    offices: u32,
    measured: T,
}

/// All measurements.
#[derive(Default)]
struct Measured {
    grants: Vec<Row<Grants>>,
    idle: Vec<Row<Option<IdleCost>>>,
    takeovers: Vec<Row<Takeover>>,
    hogs: Vec<Row<Used>>,
}

/// What is measured in one cluster.
#[derive(Clone, Copy)]
struct Trial {
    run: u32,
    mode: ModeArg,
    offices: u32,
    /// Whether the cluster is then left alone, and a node killed.
    is_long: bool,
}

impl Trial {
    fn row<T>(self, measured: T) -> Row<T> {
        Row { run: self.run, mode: self.mode, offices: self.offices, measured }
    }
}

pub(crate) fn run(args: &OfficesArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut measured = Measured::default();
    for trial in trials(args) {
        measure(args, trial, &mut measured, console)?;
    }
    let problems = report::problems(&measured);
    match args.format {
        Format::Json => writeln!(console.out, "{}", report::to_json(args, &measured, &problems))?,
        Format::Text => report::print(args, &measured, &problems, console.out)?,
    }
    Ok(if args.require && !problems.is_empty() { Exit::No } else { Exit::Done })
}

pub(crate) fn run_hog(args: &HogArgs) -> Result<Exit, Failure> {
    let Some(path) = &args.write else { hogs::compute() };
    let written = hogs::write(path).map(|()| Exit::Done);
    Ok(written.map_err(|error| HarnessError::Io { what: path.display().to_string(), error })?)
}

/// All clusters that are measured, in order.
fn trials(args: &OfficesArgs) -> Vec<Trial> {
    let default = if args.contested { &CONTESTED_SIZES[..] } else { &SIZES };
    let sizes = if args.offices.is_empty() { default } else { &args.offices };
    let largest = sizes.iter().copied().max().unwrap_or_default();
    let modes = chosen_or_all(&args.modes);
    let first = modes.first().copied().unwrap_or(ModeArg::Fenced);
    let of_run = |run: u32| {
        // The idle cost with the office `leader` alone, for comparison.
        let alone = (!args.contested).then_some(Trial { run, mode: first, offices: 1, is_long: true });
        let of_mode = move |mode: ModeArg| {
            // The mode makes no difference to grants, so the smaller sizes are measured once.
            let smaller = sizes.iter().filter(move |size| mode == first && **size != largest);
            let smaller = smaller.map(move |&offices| Trial { run, mode, offices, is_long: false });
            smaller.chain([Trial { run, mode, offices: largest, is_long: true }])
        };
        alone.into_iter().chain(modes.iter().copied().flat_map(of_mode)).collect::<Vec<_>>()
    };
    (1..=args.runs).flat_map(of_run).collect()
}

/// Starts a cluster and grants offices, one of which is `leader`. In a long trial, leaves the cluster alone, and kills
/// a node unless `leader` is the only office.
fn measure(
    args: &OfficesArgs,
    trial: Trial,
    measured: &mut Measured,
    console: &mut Console<'_>,
) -> Result<(), Failure> {
    let Trial { run, mode, offices, is_long } = trial;
    let count = if offices == 1 { "only `leader`".to_string() } else { format!("{offices} offices") };
    let times = if args.runs > 1 { format!("run {run} of {}: ", args.runs) } else { String::new() };
    let name = format!("{times}{}, {count}", value_name(&mode));
    report(console, &name);
    let spinner = console.spinner(name.clone());
    let folder = temporary_folder()?;
    let layout = layout(args.nodes, mode.mode(), false, args.http, folder.path())?;
    let mut cluster = ManyOffices::start(&layout, args.contested, Duration::from_secs(args.seconds))?;
    let mut hogs = args.busy.then(|| Hogs::start(&own_program()?, folder.path())).transpose()?;
    if offices > 1 {
        let progress = |held| spinner.set_message(format!("{name}: {held} held"));
        measured.grants.push(trial.row(cluster.grant(offices as usize - 1, progress)?));
    }
    if is_long {
        report(console, &format!("  left alone for {} s", args.idle));
        measured.idle.push(trial.row(cluster.idle(Duration::from_secs(args.idle))));
    }
    if is_long && offices > 1 {
        report(console, "  a node is killed");
        spinner.set_message("offices taken over".to_string());
        let takeover = cluster.kill_node(|done| spinner.set_message(format!("{done} offices taken over")))?;
        measured.takeovers.push(trial.row(takeover));
    }
    if let Some(hogs) = &mut hogs {
        measured.hogs.push(trial.row(hogs.used()?));
    }
    Ok(())
}

/// Prints progress.
fn report(console: &mut Console<'_>, what: &str) {
    // A failure to write progress is ignored.
    let _ = writeln!(console.err, "{}", Paint::Faint.on(what, console.colour_errors));
}
