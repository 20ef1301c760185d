//! `hustings bench failover` and `hustings bench idle`: real processes on this host.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use comfy_table::{Table, presets};
use hustings_cluster::config::Mode;
use hustings_cluster::timing::Timing;
use hustings_harness::failover::{self, End, Failover};
use hustings_harness::idle::{self, Idle};
use hustings_harness::{Cluster, Layout, TrialError};
use serde_json::json;

use crate::cli::args::Format;
use crate::cli::console::{Console, Exit};
use crate::cli::failure::Failure;

/// What is measured on a real cluster.
#[derive(Subcommand, Debug)]
pub(crate) enum Trial {
    /// From the end of a holder until the next one is told, for each way to end.
    Failover(FailoverArgs),
    /// Bytes on the wire, CPU and memory of a cluster that is left alone.
    Idle(IdleArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings bench failover                       three nodes, 50 times each way to end
  hustings bench failover --nodes 5 --times 100
  hustings bench failover --end cut-off --end host-dead --mode exclusive --times 100 --format json

Real processes on loopback, with TLS and durable writes. After each time everything is mended, and whoever was killed is
started again. To be cut off, nodes talk through a proxy.")]
pub(crate) struct FailoverArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=9))]
    nodes: u32,
    /// How often the holder ends, for each row.
    #[arg(long, default_value_t = 50, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: u32,
    /// How it ends: one or more [default: every way].
    #[arg(long = "end", value_name = "END", value_enum, value_delimiter = ',')]
    ends: Vec<Ends>,
    /// What kind of office: one or both [default: both].
    #[arg(long = "mode", value_name = "MODE", value_enum, value_delimiter = ',')]
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
    /// `hustings transfer`.
    HandsOver,
    /// SIGSTOP: as if the host hung.
    Frozen,
    /// Nothing reaches its host any more, or leaves it.
    CutOff,
    /// The same, and then SIGKILL: nobody sees its connections end.
    HostDead,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Modes {
    /// Somebody else checks the token.
    Fenced,
    /// Never two at once.
    Exclusive,
}

impl Modes {
    fn mode(self) -> Mode {
        match self {
            Modes::Fenced => Mode::Fenced,
            Modes::Exclusive => Mode::Exclusive,
        }
    }
}

impl Ends {
    fn end(self) -> End {
        match self {
            Ends::Killed => End::Killed,
            Ends::HandsOver => End::HandsOver,
            Ends::Frozen => End::Frozen,
            Ends::CutOff => End::CutOff,
            Ends::HostDead => End::HostDead,
        }
    }

    /// What the time is made of, most of it.
    fn bound(self, mode: Mode) -> String {
        let timing = Timing::default();
        let (silence, lease) = (timing.silence_floor.as_millis(), timing.lease.as_millis());
        match (self, mode) {
            (Ends::HandsOver, _) => "the holder stops, one durable commit".to_string(),
            (Ends::Killed, Mode::Fenced) => "end of the connection, one durable commit".to_string(),
            (Ends::Killed, Mode::Exclusive) => format!("lease {lease} ms + drift"),
            (_, Mode::Fenced) => format!("silence time-out {silence} ms"),
            (_, Mode::Exclusive) => {
                format!("lease {lease} ms + drift; if it led the arbiter, silence time-out {silence} ms before")
            }
        }
    }
}

/// What a value of an option is called.
fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
}

pub(crate) fn run(trial: &Trial, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match trial {
        Trial::Failover(args) => run_failover(args, console),
        Trial::Idle(args) => run_idle(args, console),
    }
}

fn layout(nodes: u32, mode: Mode, proxied: bool, folder: &std::path::Path) -> Result<Layout, TrialError> {
    let program = std::env::current_exe()
        .map_err(|error| TrialError::Io { what: "cannot find this program".to_string(), error })?;
    Ok(Layout { program, nodes: nodes as usize, mode, algorithm: None, proxied, folder: folder.to_path_buf() })
}

fn scratch() -> Result<tempfile::TempDir, TrialError> {
    // Paths of sockets are short: not in whatever deep folder the user's temporary files are.
    let made = tempfile::Builder::new().prefix("hustings").tempdir();
    made.map_err(|error| TrialError::Io { what: "cannot make a folder".to_string(), error })
}

/// What was asked for; all there is, if nothing was.
fn chosen<T: ValueEnum + Clone>(asked: &[T]) -> Vec<T> {
    if asked.is_empty() { T::value_variants() } else { asked }.to_vec()
}

fn run_failover(args: &FailoverArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut rows: Vec<(Modes, Ends, Failover)> = Vec::new();
    for kind in chosen(&args.modes) {
        for how in chosen(&args.ends) {
            let name = format!("{}, {}", word(&kind), word(&how));
            let working = console.working(name.clone());
            let progress = |done| working.say(format!("{name}: {done} of {}", args.times));
            let (folder, end) = (scratch()?, how.end());
            let layout = layout(args.nodes, kind.mode(), end.needs_proxy(), folder.path())?;
            let mut cluster = Cluster::start(&layout)?;
            rows.push((kind, how, failover::measure(&mut cluster, end, args.times as usize, progress)?));
        }
    }
    match args.format {
        Format::Json => {
            let told = rows.iter().map(|(kind, how, row)| {
                json!({"mode": word(kind), "end": word(how), "nodes": args.nodes, "times": row.told.count,
                    "p50_ms": row.told.p50, "p90_ms": row.told.p90, "max_ms": row.told.max,
                    "old_stopped_first": row.stopped_first, "led_arbiter": row.led_arbiter, "moved_by_itself": row.moved_by_itself,
                    "bound_by": how.bound(kind.mode())})
            });
            writeln!(console.out, "{}", json!({"failover": told.collect::<Vec<_>>()}))?;
        }
        Format::Text => {
            writeln!(console.out, "{} nodes, from the holder's end until the next one is told", args.nodes)?;
            writeln!(console.out, "{}", table(&rows))?;
            let moved: usize = rows.iter().map(|(.., row)| row.moved_by_itself).sum();
            if moved > 0 {
                writeln!(console.out, "not counted: {moved} times the office had moved by itself before")?;
            }
        }
    }
    Ok(Exit::Done)
}

fn table(rows: &[(Modes, Ends, Failover)]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let heading =
        ["office", "holder", "times", "p50 ms", "p90 ms", "max ms", "old one stopped first", "led arbiter", "bound by"];
    table.set_header(heading);
    for (kind, how, row) in rows {
        table.add_row([
            word(kind),
            word(how),
            row.told.count.to_string(),
            format!("{:.2}", row.told.p50),
            format!("{:.2}", row.told.p90),
            format!("{:.2}", row.told.max),
            format!("{} of {}", row.stopped_first, row.told.count),
            row.led_arbiter.to_string(),
            how.bound(kind.mode()),
        ]);
    }
    table
}

fn run_idle(args: &IdleArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let folder = scratch()?;
    let cluster = Cluster::start(&layout(args.nodes, Mode::Exclusive, false, folder.path())?)?;
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
