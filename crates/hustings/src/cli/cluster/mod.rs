//! The cluster commands: create a cluster, run a node, talk to a node.

mod backup;
mod bench;
mod change;
mod config;
mod debug;
mod failure;
mod init;
mod members;
mod metrics;
mod node;
mod recover;
mod run_command;
mod show;
mod state;
mod status;
mod target;
mod text;
mod token;
mod trace;
mod up;

use clap::{Args, Subcommand};

pub(crate) use bench::{ClusterBench, run as run_bench};
pub(crate) use failure::ClusterFailure;
use target::NodeTarget;

use super::args::Format;
use super::console::{Console, Exit};
use super::failure::Failure;
use super::program::Algorithms;

/// The office that every elector campaigns for.
const LEADER: &str = "leader";

#[derive(Subcommand, Debug)]
pub(crate) enum ClusterCommand {
    /// Start a cluster of real nodes on this host, to watch it and to break it.
    Up(up::UpArgs),
    /// Create the files of a new cluster.
    Init(Box<init::InitArgs>),
    /// Run one node of a cluster.
    Node(node::NodeArgs),
    /// Run a command on one host of the cluster.
    Run(Box<run_command::RunArgs>),
    /// Print the state of the cluster.
    Status(status::StatusArgs),
    /// Print the holder of an office.
    Leader(show::LeaderArgs),
    /// Print the holder of an office, and every change of it.
    Watch(show::WatchArgs),
    /// Print the most recent changes of offices, and their reasons.
    History(show::HistoryArgs),
    /// Make the holder of an office give it up.
    Resign(change::ResignArgs),
    /// Hand an office over to a member.
    Transfer(change::TransferArgs),
    /// Pause elections.
    Pause(change::PauseArgs),
    /// Resume elections.
    Resume(change::ResumeArgs),
    /// Read, store, list and delete office states.
    State(state::StateArgs),
    /// Print what the node counts and measures, for Prometheus.
    Metrics(metrics::MetricsArgs),
    /// Print or draw the last messages between members.
    Trace(trace::TraceArgs),
    /// List, add and remove members.
    Members(members::MembersArgs),
    /// Check a configuration, or print where its values come from.
    Config(config::ConfigArgs),
    /// Copy the data folder of a node while it runs.
    Backup(backup::BackupArgs),
    /// Continue a cluster that has lost its majority, from one data folder.
    Recover(recover::RecoverArgs),
    /// Collect what nodes know into one archive.
    Debug(debug::DebugArgs),
    /// Make a bearer token for the HTTP API.
    Token(token::TokenArgs),
}

/// The exit codes of every command that talks to a node.
pub(crate) const EXIT_CODES: &str =
    "Exit codes: 0 done; 1 the answer is no; 2 wrong use; 3 the node cannot be reached or cannot do it.";

/// The options of every command that talks to a node.
#[derive(Args, Debug)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    target: NodeTarget,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(command: ClusterCommand, known: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let algorithms = &known.clustered;
    match command {
        ClusterCommand::Up(args) => up::run(&args, known, console),
        ClusterCommand::Init(args) => init::run(&args, algorithms, console),
        ClusterCommand::Node(args) => node::run(&args, algorithms, console),
        ClusterCommand::Run(args) => run_command::run(&args, console),
        ClusterCommand::Status(args) => status::run(&args, console),
        ClusterCommand::Leader(args) => show::leader(&args, console),
        ClusterCommand::Watch(args) => show::watch(&args, console),
        ClusterCommand::History(args) => show::history(&args, console),
        ClusterCommand::Resign(args) => change::resign(&args, console),
        ClusterCommand::Transfer(args) => change::transfer(&args, console),
        ClusterCommand::Pause(args) => change::pause(&args, console),
        ClusterCommand::Resume(args) => change::resume(&args, console),
        ClusterCommand::State(args) => state::run(&args, console),
        ClusterCommand::Metrics(args) => metrics::run(&args, console),
        ClusterCommand::Trace(args) => trace::run(&args, console),
        ClusterCommand::Members(args) => members::run(&args, console),
        ClusterCommand::Config(args) => config::run(&args, algorithms, console),
        ClusterCommand::Backup(args) => backup::run(&args, console),
        ClusterCommand::Recover(args) => recover::run(&args, algorithms, console),
        ClusterCommand::Debug(args) => debug::run(&args, algorithms, console),
        ClusterCommand::Token(args) => token::run(&args, console),
    }
}
