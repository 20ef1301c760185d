//! `hustings init`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hustings_cluster::config::{ArbiterKind, Bootstrapped, Choice, Newcomer, Plan, found};
use hustings_cluster::election::Algorithms;
use hustings_cluster::member::Member;
use serde_json::{Value, json};

use super::super::args::Format;
use super::super::console::{Console, Exit, Paint};
use super::super::failure::Failure;
use super::ClusterFailure;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings init shop --node a=10.0.0.1:7401 --node b=10.0.0.2:7401 --node c=10.0.0.3:7401
  hustings init shop --node a=a.lan:7401,priority=3 --node b=b.lan:7401 --node w=w.lan:7401,role=witness
  hustings init ring --cluster shop --algorithm chang-roberts --arbiter none --node a=127.0.0.1:7401 ...

Nothing is ever overwritten. Everything in a member's folder belongs on its host; authority.key does not.")]
pub(crate) struct InitArgs {
    /// The folder for it all: new, or empty.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The name of the cluster [default: that of the folder].
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// A member: its name, where others reach it; its priority (0) and role (elector, witness, observer).
    #[arg(long = "node", value_name = "NAME=HOST:PORT[,priority=P][,role=R]", required = true)]
    nodes: Vec<Newcomer>,
    /// How it is found out who should lead.
    #[arg(long, value_name = "NAME", default_value = Choice::USUAL)]
    algorithm: String,
    /// A parameter of the algorithm [default: highest=announce for bully].
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Who says who may lead.
    #[arg(long, value_enum, default_value_t)]
    arbiter: Arbiter,
    /// For how many days the certificates of members are good.
    #[arg(long, value_name = "D", default_value_t = 825, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    node_days: u32,
    /// For how many days the certificate of the authority is good.
    #[arg(long, value_name = "D", default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    authority_days: u32,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Who says who may lead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Arbiter {
    /// A majority, by Raft: at most one holder of an office.
    #[default]
    Raft,
    /// Nobody: every part of a split cluster has a leader of its own.
    None,
}

pub(crate) fn run(args: &InitArgs, algorithms: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let founded = found(&args.folder, &plan(args, algorithms)).map_err(ClusterFailure::from)?;
    match args.format {
        Format::Text => tell(&founded, console)?,
        Format::Json => writeln!(console.out, "{}", describe(&founded))?,
    }
    Ok(Exit::Done)
}

fn plan(args: &InitArgs, algorithms: &Algorithms) -> Plan {
    let days = |count: u32| Duration::from_secs(24 * 3600) * count;
    let folder = || args.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Plan {
        algorithm: algorithms.choose(&args.algorithm, Some(args.params.clone()).filter(|params| !params.is_empty())),
        algorithms: algorithms.clone(),
        arbiter: match args.arbiter {
            Arbiter::Raft => ArbiterKind::Raft,
            Arbiter::None => ArbiterKind::None,
        },
        authority_lifetime: days(args.authority_days),
        node_lifetime: days(args.node_days),
        ..Plan::new(args.cluster.clone().unwrap_or_else(folder), args.nodes.clone())
    }
}

fn tell(founded: &Bootstrapped, console: &mut Console<'_>) -> std::io::Result<()> {
    let folder = founded.folder.display().to_string();
    let strong = Paint::Strong.on(&folder, console.colour);
    writeln!(console.out, "{strong}: the files of a cluster of {}\n", founded.members.len())?;
    let name_width = founded.members.iter().map(|(member, _)| member.name.len()).max().unwrap_or_default();
    let address_width = founded.members.iter().map(|(member, _)| member.address.len()).max().unwrap_or_default();
    for (Member { id, name, address, role, .. }, path) in &founded.members {
        let role = role.to_string();
        writeln!(
            console.out,
            "  {id:>2}  {name:<name_width$}  {address:<address_width$}  {role:<8}  {}",
            path.display()
        )?;
    }
    writeln!(
        console.out,
        "\nEvery member's folder belongs on its host. {folder}/authority.key does not: who has it can make members.\n\n\
         On every host, with its own folder:\n"
    )?;
    let Some((Member { name, .. }, path)) = founded.members.first() else { return Ok(()) };
    let config = path.join("hustings.toml").display().to_string();
    for (command, what) in [("node", "runs it, here as "), ("leader", "who leads"), ("status", "everything it knows")] {
        let name = if command == "node" { name.as_str() } else { "" };
        writeln!(console.out, "  hustings {command:<6} --config {config}  # {what}{name}")?;
    }
    Ok(())
}

fn describe(founded: &Bootstrapped) -> Value {
    let members: Vec<Value> = founded
        .members
        .iter()
        .map(|(Member { id, name, address, priority, role }, path)| {
            let folder = path.to_string_lossy();
            json!({ "id": id.0, "name": name, "address": address, "priority": priority, "role": role, "folder": folder })
        })
        .collect();
    json!({ "folder": founded.folder.to_string_lossy(), "members": members })
}
