//! `hustings bench failover`, `hustings bench idle` and `hustings bench offices`: measurements of real processes on
//! this host.

mod offices;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use comfy_table::{Table, presets};
use hustings_cluster::config::Mode;
use hustings_cluster::timing::Timing;
use hustings_harness::failover::{self, End, Failover};
use hustings_harness::idle::{self, Idle};
use hustings_harness::{Cluster, HarnessError, Layout};
use serde_json::json;

use crate::cli::args::Format;
use crate::cli::console::{Console, Exit};
use crate::cli::failure::Failure;

/// A measurement of a real cluster.
#[derive(Subcommand, Debug)]
pub(crate) enum ClusterBench {
    /// Measures the time from the loss of a holder until the next one is told, for each kind of loss.
    Failover(FailoverArgs),
    /// Measures bytes on the wire, CPU and memory of a cluster that is left alone.
    Idle(IdleArgs),
    /// Measures what many offices cost: grants, an idle cluster, and the loss of a node that held a third of them.
    Offices(offices::OfficesArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings bench failover                       three nodes, 50 times each kind of loss
  hustings bench failover --nodes 5 --times 100
  hustings bench failover --end cut-off --end host-dead --mode exclusive --times 100 --format json

Real processes on loopback, with TLS and durable writes. After each loss the links are healed and a killed node is
restarted. For cut-off and host-dead the nodes talk through a proxy.")]
pub(crate) struct FailoverArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=9))]
    nodes: u32,
    /// How often the holder is lost, for each row.
    #[arg(long, default_value_t = 50, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: u32,
    /// How the holder is lost: one or more [default: all].
    #[arg(long = "end", value_name = "END", value_enum, value_delimiter = ',')]
    ends: Vec<EndArg>,
    /// The mode of the office: one or both [default: both].
    #[arg(long = "mode", value_name = "MODE", value_enum, value_delimiter = ',')]
    modes: Vec<ModeArg>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct IdleArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9))]
    nodes: u32,
    /// How many seconds to measure.
    #[arg(long, default_value_t = 20, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum EndArg {
    /// SIGKILL.
    Killed,
    /// `hustings transfer`.
    HandsOver,
    /// SIGSTOP, as if the host hung.
    Frozen,
    /// Its host is isolated: no bytes in or out.
    CutOff,
    /// Its host is isolated and then its process gets SIGKILL: no peer sees a connection end.
    HostDead,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum ModeArg {
    /// Clients check the token.
    Fenced,
    /// Leases never overlap.
    Exclusive,
}

impl ModeArg {
    fn mode(self) -> Mode {
        match self {
            ModeArg::Fenced => Mode::Fenced,
            ModeArg::Exclusive => Mode::Exclusive,
        }
    }
}

impl EndArg {
    fn end(self) -> End {
        match self {
            EndArg::Killed => End::Killed,
            EndArg::HandsOver => End::HandsOver,
            EndArg::Frozen => End::Frozen,
            EndArg::CutOff => End::CutOff,
            EndArg::HostDead => End::HostDead,
        }
    }

    /// What most of the time is spent on.
    fn bound(self, mode: Mode) -> String {
        let timing = Timing::default();
        let (silence, lease) = (timing.silence_floor.as_millis(), timing.lease.as_millis());
        match (self, mode) {
            (EndArg::HandsOver, _) => "the holder stops, one durable commit".to_string(),
            (EndArg::Killed, Mode::Fenced) => "end of the connection, one durable commit".to_string(),
            (_, Mode::Fenced) => format!("silence timeout {silence} ms"),
            (_, Mode::Exclusive) => format!("lease {lease} ms + drift"),
        }
    }
}

/// The name of an option's value.
fn value_name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
}

pub(crate) fn run(bench: &ClusterBench, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match bench {
        ClusterBench::Failover(args) => run_failover(args, console),
        ClusterBench::Idle(args) => run_idle(args, console),
        ClusterBench::Offices(args) => offices::run(args, console),
    }
}

fn layout(nodes: u32, mode: Mode, proxied: bool, folder: &std::path::Path) -> Result<Layout, HarnessError> {
    let program = std::env::current_exe()
        .map_err(|error| HarnessError::Io { what: "cannot find this program".to_string(), error })?;
    Ok(Layout { program, nodes: nodes as usize, mode, algorithm: None, proxied, folder: folder.to_path_buf() })
}

fn temporary_folder() -> Result<tempfile::TempDir, HarnessError> {
    let made = tempfile::Builder::new().prefix("hustings").tempdir();
    made.map_err(|error| HarnessError::Io { what: "cannot make a folder".to_string(), error })
}

/// The values that were given; all values if none was.
fn chosen_or_all<T: ValueEnum + Clone>(chosen: &[T]) -> Vec<T> {
    if chosen.is_empty() { T::value_variants() } else { chosen }.to_vec()
}

fn run_failover(args: &FailoverArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut rows: Vec<(ModeArg, EndArg, Failover)> = Vec::new();
    for kind in chosen_or_all(&args.modes) {
        for how in chosen_or_all(&args.ends) {
            let name = format!("{}, {}", value_name(&kind), value_name(&how));
            let spinner = console.spinner(name.clone());
            let progress = |done| spinner.set_message(format!("{name}: {done} of {}", args.times));
            let (folder, end) = (temporary_folder()?, how.end());
            let layout = layout(args.nodes, kind.mode(), end.needs_proxy(), folder.path())?;
            let mut cluster = Cluster::start(&layout)?;
            rows.push((kind, how, failover::measure(&mut cluster, end, args.times as usize, progress)?));
        }
    }
    match args.format {
        Format::Json => {
            let told = rows.iter().map(|(kind, how, row)| {
                json!({"mode": value_name(kind), "end": value_name(how), "nodes": args.nodes, "times": row.latency.count,
                    "p50_ms": row.latency.p50, "p90_ms": row.latency.p90, "max_ms": row.latency.max,
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

fn table(rows: &[(ModeArg, EndArg, Failover)]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let heading =
        ["office", "holder", "times", "p50 ms", "p90 ms", "max ms", "old one stopped first", "led arbiter", "bound by"];
    table.set_header(heading);
    for (kind, how, row) in rows {
        table.add_row([
            value_name(kind),
            value_name(how),
            row.latency.count.to_string(),
            format!("{:.2}", row.latency.p50),
            format!("{:.2}", row.latency.p90),
            format!("{:.2}", row.latency.max),
            format!("{} of {}", row.stopped_first, row.latency.count),
            row.led_arbiter.to_string(),
            how.bound(kind.mode()),
        ]);
    }
    table
}

fn run_idle(args: &IdleArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let folder = temporary_folder()?;
    let cluster = Cluster::start(&layout(args.nodes, Mode::Exclusive, false, folder.path())?)?;
    let spinner = console.spinner(format!("{} nodes, left alone for {} s", args.nodes, args.seconds));
    let Idle { bytes_a_second, cpu_percent, resident_mib } =
        idle::measure(&cluster, Duration::from_secs(args.seconds))?;
    drop(spinner);
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
