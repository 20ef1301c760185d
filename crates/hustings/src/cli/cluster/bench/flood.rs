//! `hustings bench flood`: a cluster that strangers and greedy programs flood.

use std::time::Duration;

use clap::Args;
use comfy_table::{Table, presets};
use hustings_cluster::config::Mode;
use hustings_harness::HarnessError;
use hustings_harness::flood::{self, Flooded, Measured, Plan, Targets};
use serde_json::{Value, json};

use super::{layout, temporary_folder};
use crate::cli::args::Format;
use crate::cli::console::{Console, Exit};
use crate::cli::failure::Failure;

/// A failover may take less than this many times as long during the flood as without.
const MAX_RATIO: f64 = 2.0;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings bench flood                              2000 connections, 500 HTTP clients, two greedy programs
  hustings bench flood --require                    exit code 1 unless the goals hold
  hustings bench flood --connections 200 --http-clients 50 --seconds 3 --times 5 --format json

Real processes on loopback, with TLS and durable writes. Strangers keep connections to the nodes' ports open, of which
half begin a TLS handshake and none finishes it; slow clients of the HTTP API send a byte a second; one program sends
10000 requests at once, and another asks for the history of all offices, again and again. What a node closes comes back
a second later. Leases are watched and holders killed before the flood and during it, in the same cluster.")]
pub(crate) struct FloodArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=9))]
    nodes: u32,
    /// How many connections to the nodes' ports.
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=50_000))]
    connections: u32,
    /// How many slow clients of the HTTP API.
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=20_000))]
    http_clients: u32,
    /// How many seconds leases are watched, before the flood and during it.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// How often the holder is killed, before the flood and during it.
    #[arg(long, default_value_t = 30, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: u32,
    /// End with exit code 1 unless no lease is lost and a failover takes less than twice as long during the flood.
    #[arg(long)]
    require: bool,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The flood of one process. Started by `hustings bench flood`.
#[derive(Args, Debug)]
pub(crate) struct FloodClientArgs {
    #[arg(long, value_parser = parse_targets)]
    targets: Targets,
}

fn parse_targets(text: &str) -> Result<Targets, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

pub(crate) fn run(args: &FloodArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let folder = temporary_folder()?;
    let layout = layout(args.nodes, Mode::Fenced, false, true, folder.path())?;
    let plan = Plan {
        connections: args.connections as usize,
        http_clients: args.http_clients as usize,
        duration: Duration::from_secs(args.seconds),
        times: args.times as usize,
    };
    let spinner = console.spinner("a cluster starts".to_string());
    let flooded = flood::measure(&layout, &plan, |doing| spinner.set_message(doing.to_string()))?;
    drop(spinner);
    let problems = problems(&flooded);
    match args.format {
        Format::Json => writeln!(console.out, "{}", to_json(args, &flooded, &problems))?,
        Format::Text => print(args, &flooded, &problems, console)?,
    }
    Ok(if args.require && !problems.is_empty() { Exit::No } else { Exit::Done })
}

pub(crate) fn run_client(args: &FloodClientArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let done = flood::run_client(&args.targets, console.out);
    done.map_err(|error| HarnessError::Io { what: "the flood failed".to_string(), error })?;
    Ok(Exit::Done)
}

/// Which goals do not hold.
fn problems(flooded: &Flooded) -> Vec<String> {
    let Flooded { flooded: Measured { lost, failover, .. }, .. } = flooded;
    let mut problems = Vec::new();
    if *lost > 0 {
        problems.push(format!("{lost} leases were lost during the flood"));
    }
    if failover.moved_by_itself > 0 {
        problems.push(format!("the office moved {} times by itself during the flood", failover.moved_by_itself));
    }
    if flooded.ratio() >= MAX_RATIO {
        problems.push(format!("a failover takes {:.2} times as long, at most {MAX_RATIO} is allowed", flooded.ratio()));
    }
    problems
}

fn to_json(args: &FloodArgs, flooded: &Flooded, problems: &[String]) -> Value {
    let measured = |Measured { renewals, lost, failover }: &Measured| {
        json!({"renewal_ms": {"p50": renewals.p50, "p99": renewals.p99, "max": renewals.max}, "leases_lost": lost,
            "failover_ms": {"p50": failover.latency.p50, "p90": failover.latency.p90, "max": failover.latency.max},
            "times": failover.latency.count, "moved_by_itself": failover.moved_by_itself})
    };
    json!({"nodes": args.nodes, "connections": args.connections, "http_clients": args.http_clients,
        "seconds": args.seconds, "quiet": measured(&flooded.quiet), "flooded": measured(&flooded.flooded),
        "flood": flooded.flood, "ratio": flooded.ratio(), "problems": problems})
}

fn print(args: &FloodArgs, flooded: &Flooded, problems: &[String], console: &mut Console<'_>) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "renewals p50 ms", "p99 ms", "max ms", "leases lost", "failover p50 ms", "p90 ms", "max ms"]);
    for (name, Measured { renewals, lost, failover }) in [("quiet", &flooded.quiet), ("flooded", &flooded.flooded)] {
        let latency = failover.latency;
        let times = [renewals.p50, renewals.p99, renewals.max].map(|ms| format!("{ms:.1}"));
        let failovers = [latency.p50, latency.p90, latency.max].map(|ms| format!("{ms:.2}"));
        let cells = [name.to_string()].into_iter().chain(times).chain([lost.to_string()]).chain(failovers);
        table.add_row(cells.collect::<Vec<String>>());
    }
    let flood = flooded.flood;
    writeln!(console.out, "{} nodes, {} failovers of each kind\n{table}", args.nodes, args.times)?;
    writeln!(
        console.out,
        "the flood: {} connections, {} of them with the beginning of a handshake; {} slow connections of HTTP; {} answers \
         to a program that does not wait for them, {} histories\na failover takes {:.2} times as long during the flood",
        flood.connections,
        flood.handshakes,
        flood.http_connections,
        flood.pipelined,
        flood.histories,
        flooded.ratio()
    )?;
    for problem in problems {
        writeln!(console.out, "not met: {problem}")?;
    }
    Ok(())
}
