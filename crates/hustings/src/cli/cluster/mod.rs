//! The commands of the cluster: founding one, running a node, asking it.

mod bench;
mod change;
mod failure;
mod init;
mod members;
mod node;
mod place;
mod show;
mod status;
mod text;

use clap::{Args, Subcommand};
use hustings_cluster::election::Algorithms;

pub(crate) use bench::{ClusterBench, run as run_bench};
pub(crate) use failure::ClusterFailure;
use place::Place;

use super::args::Format;
use super::console::{Console, Exit};
use super::failure::Failure;

/// The office that every elector stands for.
const LEADER: &str = "leader";

#[derive(Subcommand, Debug)]
pub(crate) enum ClusterCommand {
    /// Writes the files of a new cluster.
    Init(Box<init::InitArgs>),
    /// Runs one node of a cluster.
    Node(node::NodeArgs),
    /// What a node knows: who is up, who leads.
    Status(status::StatusArgs),
    /// Who holds an office.
    Leader(show::LeaderArgs),
    /// Who holds an office, and every change of it.
    Watch(show::WatchArgs),
    /// The last changes of offices, and why.
    History(show::HistoryArgs),
    /// Makes the holder of an office give it up.
    Resign(change::ResignArgs),
    /// Hands an office to a member.
    Transfer(change::TransferArgs),
    /// Nobody new is elected from now on.
    Pause(change::PauseArgs),
    /// Elections go on.
    Resume(change::ResumeArgs),
    /// Lists members, adds and removes them.
    Members(members::MembersArgs),
}

/// How every command that asks a node ends.
pub(crate) const EXIT_CODES: &str =
    "Exit codes: 0 done; 1 the answer is no; 2 wrong use; 3 the node cannot be reached, or cannot do it.";

/// What every command that asks a node takes.
#[derive(Args, Debug)]
pub(crate) struct Common {
    #[command(flatten)]
    place: Place,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(
    command: ClusterCommand,
    algorithms: &Algorithms,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    match command {
        ClusterCommand::Init(args) => init::run(&args, algorithms, console),
        ClusterCommand::Node(args) => node::run(&args, algorithms, console),
        ClusterCommand::Status(args) => status::run(&args, console),
        ClusterCommand::Leader(args) => show::leader(&args, console),
        ClusterCommand::Watch(args) => show::watch(&args, console),
        ClusterCommand::History(args) => show::history(&args, console),
        ClusterCommand::Resign(args) => change::resign(&args, console),
        ClusterCommand::Transfer(args) => change::transfer(&args, console),
        ClusterCommand::Pause(args) => change::pause(&args, console),
        ClusterCommand::Resume(args) => change::resume(&args, console),
        ClusterCommand::Members(args) => members::run(&args, console),
    }
}
