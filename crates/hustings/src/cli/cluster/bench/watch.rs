//! `hustings bench watch`: many watchers of the HTTP API of one node.

use clap::Args;
use hustings_cluster::config::Mode;
use hustings_harness::watch::{self, Watching};
use hustings_harness::{HarnessError, Layout};
use serde_json::json;

use super::{layout, temporary_folder};
use crate::cli::args::Format;
use crate::cli::console::{Console, Exit};
use crate::cli::failure::Failure;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings bench watch                               10000 watchers on one node of three
  hustings bench watch --watchers 500 --changes 5 --format json

Real processes on loopback. The watchers are in processes of their own. A program takes an office and gives it up again;
the time of a change runs from its request until a watcher has the event, and so includes the election.")]
pub(crate) struct WatchBenchArgs {
    /// How many watchers.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=19_000))]
    watchers: u32,
    /// How many changes.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    changes: u32,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The watchers of one process. Started by `hustings bench watch`.
#[derive(Args, Debug)]
pub(crate) struct WatchClientArgs {
    #[arg(long)]
    port: u16,
    #[arg(long)]
    watchers: u32,
    #[arg(long)]
    office: String,
}

pub(crate) fn run(args: &WatchBenchArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let folder = temporary_folder()?;
    let http = Some(watch::http_table(args.watchers as usize));
    let layout = Layout { http, ..layout(3, Mode::Fenced, false, false, folder.path())? };
    let spinner = console.spinner(format!("{} watchers, {} changes", args.watchers, args.changes));
    let Watching { watchers, processes, arrival, bytes_a_watcher } =
        watch::measure(&layout, args.watchers as usize, args.changes as usize)?;
    drop(spinner);
    match args.format {
        Format::Json => {
            let told = json!({"watchers": watchers, "processes": processes, "changes": args.changes,
                "arrival_ms": {"p50": arrival.p50, "p90": arrival.p90, "p99": arrival.p99, "max": arrival.max},
                "bytes_a_watcher": bytes_a_watcher});
            writeln!(console.out, "{told}")?;
        }
        Format::Text => writeln!(
            console.out,
            "{watchers} watchers in {processes} processes, {} changes:\n  a change arrives after {:.1} ms (median), \
             {:.1} ms (99 %), {:.1} ms (the last)\n  {:.1} KiB of the node's memory for each watcher",
            args.changes,
            arrival.p50,
            arrival.p99,
            arrival.max,
            bytes_a_watcher as f64 / 1024.0
        )?,
    }
    Ok(Exit::Done)
}

pub(crate) fn run_client(args: &WatchClientArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let done = watch::run_client(args.port, &args.office, args.watchers as usize, console.out);
    done.map_err(|error| HarnessError::Io { what: "a watcher failed".to_string(), error })?;
    Ok(Exit::Done)
}
