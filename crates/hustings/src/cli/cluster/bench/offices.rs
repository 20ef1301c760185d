//! `hustings bench offices`: what many offices cost.

use std::time::Duration;

use clap::Args;
use comfy_table::{Table, presets};
use hustings_harness::offices::{Grants, IdleCost, ManyOffices, Takeover};
use serde_json::{Value, json};

use super::{ModeArg, chosen_or_all, layout, temporary_folder, value_name};
use crate::cli::args::Format;
use crate::cli::console::{Console, Exit, Paint};
use crate::cli::failure::Failure;

/// The numbers of offices that are measured by default.
const SIZES: [u32; 5] = [100, 300, 1_000, 3_000, 10_000];

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings bench offices                        100 to 10000 offices
  hustings bench offices --offices 300 --mode fenced
  hustings bench offices --format json

Real processes on loopback, with TLS and durable writes. Programs campaign over the nodes' sockets, each office on one
node, and the nodes take turns. For every number of offices a new cluster is started. With the largest number, the
cluster is then left alone, the programs of all nodes campaign for all offices, and a node is killed that held a third
of them. The office `leader` counts as one of the offices. What is not reached in time is reported as such.")]
pub(crate) struct OfficesArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=9))]
    nodes: u32,
    /// How many offices: one or more numbers [default: 100,300,1000,3000,10000].
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=10_000))]
    offices: Vec<u32>,
    /// The mode of the offices, for the loss of a node: one or both [default: both].
    #[arg(long = "mode", value_name = "MODE", value_enum, value_delimiter = ',')]
    modes: Vec<ModeArg>,
    /// How many seconds the cluster is left alone.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    idle: u64,
    /// How many seconds each step may take.
    #[arg(long, default_value_t = 60, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// With the HTTP API on.
    #[arg(long)]
    http: bool,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// All measurements.
struct Measured {
    grants: Vec<(ModeArg, Grants)>,
    idle: Vec<(ModeArg, Option<IdleCost>)>,
    takeovers: Vec<(ModeArg, Takeover)>,
}

pub(crate) fn run(args: &OfficesArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let sizes = if args.offices.is_empty() { SIZES.to_vec() } else { args.offices.clone() };
    let largest = sizes.iter().copied().max().unwrap_or_default();
    let mut measured = Measured { grants: Vec::new(), idle: Vec::new(), takeovers: Vec::new() };
    let modes = chosen_or_all(&args.modes);
    let first = modes.first().copied().unwrap_or(ModeArg::Fenced);
    // The idle cost with the office `leader` alone, for comparison.
    measured.idle.push((first, measure_size(args, first, 1, &mut measured.grants, console)?.0));
    for mode in modes {
        // The mode makes no difference to grants, so the smaller sizes are measured once.
        for &size in sizes.iter().filter(|size| mode == first && **size != largest) {
            measure_grants(args, mode, size, &mut measured.grants, console)?;
        }
        let (idle, takeover) = measure_size(args, mode, largest, &mut measured.grants, console)?;
        measured.idle.push((mode, idle));
        measured.takeovers.extend(takeover.map(|takeover| (mode, takeover)));
    }
    match args.format {
        Format::Json => writeln!(console.out, "{}", to_json(args, &measured))?,
        Format::Text => print(args, &measured, console)?,
    }
    Ok(Exit::Done)
}

/// Starts a cluster and grants offices, one of which is `leader`.
fn measure_grants(
    args: &OfficesArgs,
    mode: ModeArg,
    offices: u32,
    rows: &mut Vec<(ModeArg, Grants)>,
    console: &mut Console<'_>,
) -> Result<(ManyOffices, tempfile::TempDir), Failure> {
    let count = if offices == 1 { "only `leader`".to_string() } else { format!("{offices} offices") };
    let name = format!("{}, {count}", value_name(&mode));
    report(console, &name);
    let spinner = console.spinner(name.clone());
    let folder = temporary_folder()?;
    let layout = layout(args.nodes, mode.mode(), false, args.http, folder.path())?;
    let mut cluster = ManyOffices::start(&layout, Duration::from_secs(args.seconds))?;
    if offices > 1 {
        let progress = |held| spinner.set_message(format!("{name}: {held} held"));
        rows.push((mode, cluster.grant(offices as usize - 1, progress)?));
    }
    Ok((cluster, folder))
}

/// Grants offices, leaves the cluster alone, and kills a node unless `leader` is the only office.
fn measure_size(
    args: &OfficesArgs,
    mode: ModeArg,
    offices: u32,
    rows: &mut Vec<(ModeArg, Grants)>,
    console: &mut Console<'_>,
) -> Result<(Option<IdleCost>, Option<Takeover>), Failure> {
    let (mut cluster, _folder) = measure_grants(args, mode, offices, rows, console)?;
    report(console, &format!("  left alone for {} s", args.idle));
    let idle = cluster.idle(Duration::from_secs(args.idle));
    if offices == 1 {
        return Ok((idle, None));
    }
    report(console, "  a node is killed");
    let spinner = console.spinner("offices taken over".to_string());
    let takeover = cluster.kill_node(|done| spinner.set_message(format!("{done} offices taken over")))?;
    Ok((idle, Some(takeover)))
}

/// Prints progress.
fn report(console: &mut Console<'_>, what: &str) {
    // A failure to write progress is ignored.
    let _ = writeln!(console.err, "{}", Paint::Faint.on(what, console.colour_errors));
}

fn to_json(args: &OfficesArgs, measured: &Measured) -> Value {
    let grants = measured.grants.iter().map(|(mode, row)| {
        json!({"mode": value_name(mode), "offices": row.offices + 1, "campaigns": row.offices, "granted": row.granted,
            "seconds": row.seconds, "cpu_ms_per_grant": row.cpu_ms_per_grant, "lapsed": row.lapsed})
    });
    let idle = measured.idle.iter().map(|(mode, cost)| {
        json!({"mode": value_name(mode), "held": cost.map(|cost| cost.held + 1),
            "cpu_percent": cost.map(|cost| cost.cpu_percent), "bytes_a_second": cost.map(|cost| cost.bytes_a_second),
            "lapsed": cost.map(|cost| cost.lapsed)})
    });
    let takeovers = measured.takeovers.iter().map(|(mode, row)| {
        let latency = row.latency;
        json!({"mode": value_name(mode), "lost": row.lost, "taken_over": row.taken_over,
            "p50_ms": latency.map(|latency| latency.p50), "p99_ms": latency.map(|latency| latency.p99),
            "max_ms": latency.map(|latency| latency.max), "led_arbiter": row.led_arbiter, "lapsed": row.lapsed})
    });
    json!({"nodes": args.nodes, "seconds_per_step": args.seconds, "grants": grants.collect::<Vec<_>>(),
        "idle": idle.collect::<Vec<_>>(), "node_killed": takeovers.collect::<Vec<_>>()})
}

fn print(args: &OfficesArgs, measured: &Measured, console: &mut Console<'_>) -> std::io::Result<()> {
    let limit = format!("not within {} s", args.seconds);
    let number =
        |value: Option<f64>, digits: usize| value.map_or("–".to_string(), |value| format!("{value:.digits$}"));
    let mut grants = table(&["office", "offices", "held", "all held after s", "CPU ms per grant", "lapsed leases"]);
    for (mode, row) in &measured.grants {
        grants.add_row([
            value_name(mode),
            (row.offices + 1).to_string(),
            (row.granted + 1).to_string(),
            row.seconds.map_or(limit.clone(), |seconds| format!("{seconds:.2}")),
            number(row.cpu_ms_per_grant, 3),
            row.lapsed.to_string(),
        ]);
    }
    let mut idle = table(&["office", "held", "CPU %, all nodes", "bytes a second", "lapsed leases"]);
    for (mode, cost) in &measured.idle {
        idle.add_row([
            value_name(mode),
            cost.map_or("no answer".to_string(), |cost| (cost.held + 1).to_string()),
            number(cost.map(|cost| cost.cpu_percent), 2),
            number(cost.map(|cost| cost.bytes_a_second), 0),
            cost.map_or("–".to_string(), |cost| cost.lapsed.to_string()),
        ]);
    }
    let mut killed = table(&["office", "lost", "taken over", "p50 ms", "p99 ms", "max ms", "lapsed elsewhere"]);
    for (mode, row) in &measured.takeovers {
        let missing = row.lost - row.taken_over;
        killed.add_row([
            value_name(mode),
            row.lost.to_string(),
            if missing > 0 { format!("{} ({missing} {limit})", row.taken_over) } else { row.taken_over.to_string() },
            number(row.latency.map(|latency| latency.p50), 1),
            number(row.latency.map(|latency| latency.p99), 1),
            number(row.latency.map(|latency| latency.max), 1),
            row.lapsed.to_string(),
        ]);
    }
    writeln!(console.out, "{} nodes, each office with one candidate, all at once in a new cluster", args.nodes)?;
    writeln!(console.out, "{grants}\n\nleft alone for {} s\n{idle}\n", args.idle)?;
    writeln!(console.out, "a node killed, each office with candidates on all nodes\n{killed}")
}

fn table(heading: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(heading);
    table
}
