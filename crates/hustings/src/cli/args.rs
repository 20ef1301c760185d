//! The commands and their options.

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::check::CheckArgs;
use super::cluster::ClusterCommand;
use super::lab::LabArgs;
use super::papers::PapersArgs;
use super::plot::PlotArgs;
use super::sim_args::SimArgs;
use super::sweep::SweepArgs;

/// Leader election: a laboratory, and a cluster of real hosts.
#[derive(Parser, Debug)]
#[command(name = "hustings", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Commands of a cluster of real processes.
    #[command(flatten)]
    Cluster(ClusterCommand),
    /// List the algorithms and their properties.
    List(ListArgs),
    /// Simulate one election.
    Sim(Box<SimArgs>),
    /// Check all executions of a small election.
    Check(Box<CheckArgs>),
    /// Run an experiment of many elections, from a file.
    Sweep(SweepArgs),
    /// Compare published figures and claims with measurements.
    Papers(PapersArgs),
    /// Draw charts of a sweep's results, as SVG or PNG.
    Plot(Box<PlotArgs>),
    /// Measure the engine's speed against hand-written loops.
    Bench(BenchArgs),
    /// Serve the page: see elections happen, and break them.
    Lab(LabArgs),
    /// Print a shell completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, in roff.
    Man {
        /// Prints the page of this command only.
        command: Option<String>,
    },
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings list                      all algorithms
  hustings list chang-roberts        everything about one
  hustings list --format json        for programs")]
pub(crate) struct ListArgs {
    /// Shows everything about this algorithm only.
    pub(crate) name: Option<String>,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  hustings bench                                 everything: rings and graphs of 10^6, bully among 4,000
  hustings bench bully aefa                      these two
  hustings bench --large                         also a ring of 10^8 and graphs of 10^7
  hustings bench --rings 100000 --graphs 100000 --complete 1000 --rounds 9 --format json
  hustings bench failover --nodes 5              the failover time of a real cluster

The engine and a hand-written loop run alternately in the same process. On a busy machine, compare the ratios, not the
seconds."
)]
pub(crate) struct BenchArgs {
    /// Measures a real cluster on this host.
    #[command(subcommand)]
    pub(crate) cluster: Option<super::cluster::ClusterBench>,
    /// What to measure; everything by default.
    #[arg(value_enum, value_name = "WHAT")]
    pub(crate) what: Vec<crate::bench::Workload>,
    /// Sizes of the rings.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = super::bench::size)]
    pub(crate) rings: Vec<u32>,
    /// Sizes of the graphs.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = super::bench::size)]
    pub(crate) graphs: Vec<u32>,
    /// Sizes of the complete networks.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = super::bench::complete_size)]
    pub(crate) complete: Vec<u32>,
    /// Also measures the largest sizes: takes about 5 GB of memory and some minutes.
    #[arg(long)]
    pub(crate) large: bool,
    /// Number of runs of each workload.
    #[arg(long, default_value_t = 5, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Number of threads to compare with one thread; 1 skips the comparison.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = super::read::read(super::read::thread_count))]
    pub(crate) threads: usize,
    /// Number of small elections (chang-roberts, 100 nodes) in a sweep [default: 200000, or none with WHAT].
    #[arg(long, value_name = "E", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) elections: Option<u32>,
    /// Seed of the rings and graphs.
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub(crate) seed: u64,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The format of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object.
    Json,
}
