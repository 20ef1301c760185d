//! `hustings bench failover` and `hustings bench idle`: real processes on this host.

use std::time::Duration;

use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use hustings_cluster::config::Mode;
use hustings_cluster::trial::failover::{self, End, Failover};
use hustings_cluster::trial::idle::{self, Idle};
use hustings_cluster::trial::{Cluster, Layout, TrialError};
use serde_json::json;

use crate::cli::args::Format;
use crate::cli::console::{Console, Exit};
use crate::cli::failure::Failure;

/// What is measured on a real cluster.
#[derive(Subcommand, Debug)]
pub(crate) enum Trial {
    /// From the end of a holder until the next one is told: killed, frozen, or asked to hand over.
    Failover(FailoverArgs),
    /// Bytes on the wire, CPU and memory of a cluster that is left alone.
    Idle(IdleArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings bench failover                       three nodes, 50 times each way to end
  hustings bench failover --nodes 5 --times 100
  hustings bench failover --ends killed --modes fenced --format json

Real processes on loopback, with TLS and durable writes; a killed node is started again each time.")]
pub(crate) struct FailoverArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=9))]
    nodes: u32,
    /// How often the holder ends, for each row.
    #[arg(long, default_value_t = 50, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: u32,
    /// How it ends.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Ends::Killed, Ends::Frozen, Ends::HandsOver])]
    ends: Vec<Ends>,
    /// What kinds of office.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Modes::Fenced, Modes::Exclusive])]
    modes: Vec<Modes>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct IdleArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9))]
    nodes: u32,
    /// For how long.
    #[arg(long, default_value_t = 20, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Ends {
    /// SIGKILL.
    Killed,
    /// SIGSTOP: as if the host hung, or was cut off.
    Frozen,
    /// `hustings transfer`.
    HandsOver,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Modes {
    Fenced,
    Exclusive,
}

impl Ends {
    fn end(self) -> (End, &'static str) {
        match self {
            Ends::Killed => (End::Killed, "killed"),
            Ends::Frozen => (End::Frozen, "frozen"),
            Ends::HandsOver => (End::HandsOver, "hands-over"),
        }
    }

    /// What the time is made of.
    fn bound(self, mode: Mode) -> &'static str {
        match (self, mode) {
            (Ends::Killed, Mode::Fenced) => "end of connection, election, one durable commit",
            (Ends::Killed, Mode::Exclusive) => "the rest of the lease",
            (Ends::Frozen, Mode::Fenced) => "silence time-out",
            (Ends::Frozen, Mode::Exclusive) => "silence time-out and lease",
            (Ends::HandsOver, _) => "the successor is ready, the holder stops, one durable commit",
        }
    }
}

pub(crate) fn run(trial: &Trial, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match trial {
        Trial::Failover(args) => run_failover(args, console),
        Trial::Idle(args) => run_idle(args, console),
    }
}

fn layout(nodes: u32, mode: Mode, folder: &std::path::Path) -> Result<Layout, TrialError> {
    let program = std::env::current_exe()
        .map_err(|error| TrialError::Io { what: "cannot find this program".to_string(), error })?;
    Ok(Layout { program, nodes: nodes as usize, mode, algorithm: None, folder: folder.to_path_buf() })
}

fn scratch() -> Result<tempfile::TempDir, TrialError> {
    // Paths of sockets are short: not in whatever deep folder the user's temporary files are.
    let made = tempfile::Builder::new().prefix("hustings").tempdir();
    made.map_err(|error| TrialError::Io { what: "cannot make a folder".to_string(), error })
}

fn run_failover(args: &FailoverArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut rows: Vec<(Mode, Ends, Failover)> = Vec::new();
    for mode in &args.modes {
        let mode = if *mode == Modes::Fenced { Mode::Fenced } else { Mode::Exclusive };
        for &how in &args.ends {
            let folder = scratch()?;
            let mut cluster = Cluster::start(&layout(args.nodes, mode, folder.path())?)?;
            let (end, word) = how.end();
            let name = format!("{mode:?}, {word}").to_lowercase();
            let working = console.working(name.clone());
            let progress = |done| working.say(format!("{name}: {done} of {}", args.times));
            rows.push((mode, how, failover::measure(&mut cluster, end, args.times as usize, progress)?));
        }
    }
    match args.format {
        Format::Json => {
            let told = rows.iter().map(|(mode, how, row)| {
                json!({"mode": mode, "end": how.end().1, "nodes": args.nodes, "times": row.told.count,
                    "p50_ms": row.told.p50, "p90_ms": row.told.p90, "max_ms": row.told.max,
                    "old_stopped_first": row.stopped_first, "bound_by": how.bound(*mode)})
            });
            writeln!(console.out, "{}", json!({"failover": told.collect::<Vec<_>>()}))?;
        }
        Format::Text => {
            let mut table = Table::new();
            table.load_style(presets::NOTHING);
            table.set_header([
                "office",
                "holder",
                "times",
                "p50 ms",
                "p90 ms",
                "max ms",
                "old stopped first",
                "bound by",
            ]);
            for (mode, how, row) in &rows {
                table.add_row([
                    format!("{mode:?}").to_lowercase(),
                    how.end().1.to_string(),
                    row.told.count.to_string(),
                    format!("{:.2}", row.told.p50),
                    format!("{:.2}", row.told.p90),
                    format!("{:.2}", row.told.max),
                    format!("{} of {}", row.stopped_first, row.told.count),
                    how.bound(*mode).to_string(),
                ]);
            }
            writeln!(console.out, "{} nodes, from the holder's end until the next one is told\n{table}", args.nodes)?;
        }
    }
    Ok(Exit::Done)
}

fn run_idle(args: &IdleArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let folder = scratch()?;
    let cluster = Cluster::start(&layout(args.nodes, Mode::Exclusive, folder.path())?)?;
    let working = console.working(format!("{} nodes, left alone for {} s", args.nodes, args.seconds));
    let Idle { bytes_a_second, cpu_percent, resident_mib } =
        idle::measure(&cluster, Duration::from_secs(args.seconds))?;
    drop(working);
    match args.format {
        Format::Json => {
            let told = json!({"nodes": args.nodes, "seconds": args.seconds, "bytes_a_second": bytes_a_second,
                "cpu_percent": cpu_percent, "resident_mib": resident_mib});
            writeln!(console.out, "{told}")?;
        }
        Format::Text => writeln!(
            console.out,
            "{} nodes, left alone for {} s:\n  {bytes_a_second:.0} bytes a second on the wire, all together, with IP and \
             TCP headers\n  {cpu_percent:.2} % of a core, the busiest node\n  {resident_mib:.1} MiB resident, the largest \
             node",
            args.nodes, args.seconds
        )?,
    }
    Ok(Exit::Done)
}
