//! `hustings bench failover`, `flood`, `idle`, `offices` and `watch`: measurements of real processes on this host.

mod failover;
mod flood;
mod offices;
mod watch;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use hustings_cluster::config::Mode;
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
    Failover(failover::FailoverArgs),
    /// Measures leases and failovers while strangers and greedy programs flood the nodes.
    Flood(flood::FloodArgs),
    #[command(hide = true)]
    FloodClient(flood::FloodClientArgs),
    #[command(hide = true)]
    Hog(offices::HogArgs),
    /// Measures bytes on the wire, CPU and memory of a cluster that is left alone.
    Idle(IdleArgs),
    /// Measures what many offices cost: grants, an idle cluster, and the loss of a node that held a third of them.
    Offices(offices::OfficesArgs),
    /// Measures many watchers of the HTTP API: how late a change arrives, and what a watcher costs.
    Watch(watch::WatchBenchArgs),
    #[command(hide = true)]
    WatchClient(watch::WatchClientArgs),
}

#[derive(Args, Debug)]
pub(crate) struct IdleArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9))]
    nodes: u32,
    /// How many seconds to measure.
    #[arg(long, default_value_t = 20, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// With the HTTP API on.
    #[arg(long)]
    http: bool,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
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

/// The name of an option's value.
fn value_name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
}

pub(crate) fn run(bench: &ClusterBench, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match bench {
        ClusterBench::Failover(args) => failover::run(args, console),
        ClusterBench::Flood(args) => flood::run(args, console),
        ClusterBench::FloodClient(args) => flood::run_client(args, console),
        ClusterBench::Hog(args) => offices::run_hog(args),
        ClusterBench::Idle(args) => run_idle(args, console),
        ClusterBench::Offices(args) => offices::run(args, console),
        ClusterBench::Watch(args) => watch::run(args, console),
        ClusterBench::WatchClient(args) => watch::run_client(args, console),
    }
}

/// A cluster of this program; with `http`, every node serves the HTTP API.
fn layout(nodes: u32, mode: Mode, proxied: bool, http: bool, folder: &std::path::Path) -> Result<Layout, HarnessError> {
    let layout = Layout::new(own_program()?, nodes as usize, folder.to_path_buf());
    Ok(Layout { mode, proxied, http: http.then(String::new), ..layout })
}

/// The program that runs: the nodes of a cluster are the same one.
pub(crate) fn own_program() -> Result<std::path::PathBuf, HarnessError> {
    std::env::current_exe().map_err(|error| HarnessError::Io { what: "cannot find this program".to_string(), error })
}

fn temporary_folder() -> Result<tempfile::TempDir, HarnessError> {
    let made = tempfile::Builder::new().prefix("hustings").tempdir();
    made.map_err(|error| HarnessError::Io { what: "cannot make a folder".to_string(), error })
}

/// The values that were given; all values if none was.
fn chosen_or_all<T: ValueEnum + Clone>(chosen: &[T]) -> Vec<T> {
    if chosen.is_empty() { T::value_variants() } else { chosen }.to_vec()
}

fn run_idle(args: &IdleArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let folder = temporary_folder()?;
    let cluster = Cluster::start(&layout(args.nodes, Mode::Exclusive, false, args.http, folder.path())?)?;
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
