//! `hustings init`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use hustings_cluster::config::{
    AddedMember, AlgorithmConfig, Algorithms, ArbiterKind, ClusterSpec, MemberSpec, Mode, bootstrap,
};
use hustings_cluster::member::Member;
use hustings_cluster::timing::{FailoverEstimate, HolderLoss, Timing};
use serde_json::{Value, json};

use super::super::args::Format;
use super::super::console::{Console, Exit, Paint};
use super::super::failure::Failure;
use super::ClusterFailure;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings init shop --node a=10.0.0.1:7401 --node b=10.0.0.2:7401 --node c=10.0.0.3:7401
  hustings init shop --node a=a.lan:7401,priority=3 --node b=b.lan:7401 --node w=w.lan:7401,role=witness
  hustings init shop --timing cautious --node a=vm1:7401 --node b=vm2:7401 --node c=vm3:7401
  hustings init ring --cluster shop --algorithm chang-roberts --arbiter none --node a=127.0.0.1:7401 ...

Existing files are never overwritten. Copy each member's folder to its host. Keep authority.key off those hosts.")]
pub(crate) struct InitArgs {
    /// The folder to create; it may exist if it is empty.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The name of the cluster [default: the name of the folder].
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// A member: its name, the address that peers connect to, its priority (default 0) and its role (elector, witness
    /// or observer).
    #[arg(long = "node", value_name = "NAME=HOST:PORT[,priority=P][,role=R]", required = true)]
    nodes: Vec<MemberSpec>,
    /// The election algorithm.
    #[arg(long, value_name = "NAME", default_value = AlgorithmConfig::DEFAULT_NAME)]
    algorithm: String,
    /// A parameter of the algorithm [default: highest=announce for bully].
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// The arbiter, which decides who may hold an office.
    #[arg(long, value_enum, default_value_t)]
    arbiter: Arbiter,
    /// How patient the members are with silent ones, and how long leases last.
    #[arg(long, value_enum, default_value_t)]
    timing: Profile,
    /// How many days the members' certificates are valid.
    #[arg(long, value_name = "D", default_value_t = 825, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    node_days: u32,
    /// How many days the authority's certificate is valid.
    #[arg(long, value_name = "D", default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    authority_days: u32,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The arbiter, which decides who may hold an office.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Arbiter {
    /// A majority of the voters, by Raft: at most one holder per office.
    #[default]
    Raft,
    /// No arbiter: each part of a partitioned cluster elects its own leader.
    None,
}

/// For which hosts and networks the timing is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Profile {
    /// Hosts of one network with a processor to spare: leases of 300 ms.
    #[default]
    Lan,
    /// Hosts that are shared, virtual or at times overloaded: leases of 3 s.
    Cautious,
    /// Members that are far apart: leases of 10 s.
    Wan,
}

impl Profile {
    fn timing(self) -> Timing {
        match self {
            Profile::Lan => Timing::LAN,
            Profile::Cautious => Timing::CAUTIOUS,
            Profile::Wan => Timing::WAN,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Profile::Lan => "lan",
            Profile::Cautious => "cautious",
            Profile::Wan => "wan",
        }
    }
}

pub(crate) fn run(args: &InitArgs, algorithms: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let spec = cluster_spec(args, algorithms);
    let members = bootstrap(&args.folder, &spec).map_err(ClusterFailure::from)?;
    // Without an arbiter, the mode of an office makes no difference.
    let modes: &[Mode] = match spec.arbiter {
        ArbiterKind::Raft => &[Mode::Exclusive, Mode::Fenced],
        ArbiterKind::None => &[Mode::Exclusive],
    };
    let estimates = modes.iter().map(|mode| spec.timing.explain(*mode, members.len(), spec.arbiter)).collect();
    match args.format {
        Format::Text => {
            print(&args.folder, &members, console)?;
            print_failover(args.timing, estimates, console)?;
        }
        Format::Json => {
            let mut described = describe(&args.folder, &members);
            described["timing"] = args.timing.name().into();
            described["failover"] = json!(estimates);
            writeln!(console.out, "{described}")?;
        }
    }
    Ok(Exit::Done)
}

fn cluster_spec(args: &InitArgs, algorithms: &Algorithms) -> ClusterSpec {
    let days = |count: u32| Duration::from_secs(24 * 3600) * count;
    let folder = || args.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    ClusterSpec {
        algorithm: algorithms.choose(&args.algorithm, Some(args.params.clone()).filter(|params| !params.is_empty())),
        algorithms: algorithms.clone(),
        arbiter: match args.arbiter {
            Arbiter::Raft => ArbiterKind::Raft,
            Arbiter::None => ArbiterKind::None,
        },
        timing: args.timing.timing(),
        authority_lifetime: days(args.authority_days),
        node_lifetime: days(args.node_days),
        ..ClusterSpec::new(args.cluster.clone().unwrap_or_else(folder), args.nodes.clone())
    }
}

fn print(folder: &Path, members: &[AddedMember], console: &mut Console<'_>) -> std::io::Result<()> {
    let folder = folder.display().to_string();
    let strong = Paint::Strong.on(&folder, console.colour);
    writeln!(console.out, "{strong}: created the files of a cluster of {}\n", members.len())?;
    let name_width = members.iter().map(|files| files.member.name.len()).max().unwrap_or_default();
    let address_width = members.iter().map(|files| files.member.address.len()).max().unwrap_or_default();
    for AddedMember { member: Member { id, name, address, role, .. }, folder } in members {
        let role = role.to_string();
        writeln!(
            console.out,
            "  {id:>2}  {name:<name_width$}  {address:<address_width$}  {role:<8}  {}",
            folder.display()
        )?;
    }
    writeln!(
        console.out,
        "\nCopy each member's folder to its host. Keep {folder}/authority.key off those hosts: it can sign new members.\n\n\
         On every host, with its own folder:\n"
    )?;
    let Some(AddedMember { member: Member { name, .. }, folder }) = members.first() else { return Ok(()) };
    let config = folder.join("hustings.toml").display().to_string();
    for (command, what) in
        [("node", "run the node, here "), ("leader", "print the leader"), ("status", "print its state")]
    {
        let name = if command == "node" { name.as_str() } else { "" };
        writeln!(console.out, "  hustings {command:<6} --config {config}  # {what}{name}")?;
    }
    Ok(())
}

/// How long an office is vacant when its holder fails.
fn print_failover(
    profile: Profile,
    estimates: Vec<FailoverEstimate>,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    let (name, lease) = (profile.name(), humantime::format_duration(profile.timing().lease));
    writeln!(console.out, "\nThe timing is `{name}`, with leases of {lease}. How long an office has no holder:\n")?;
    for (place, estimate) in estimates.iter().enumerate() {
        for path in &estimate.paths {
            // A hand-over is the same in both modes.
            let office = match (path.loss, estimate.arbiter, estimate.mode) {
                (HolderLoss::Graceful, ..) | (_, ArbiterKind::None, _) => "any",
                (_, _, Mode::Exclusive) => "exclusive",
                (_, _, Mode::Fenced) => "fenced",
            };
            if place == 0 || path.loss != HolderLoss::Graceful {
                writeln!(console.out, "  {office:<9}  {:<32}  {path}", path.loss.to_string())?;
            }
        }
    }
    writeln!(console.out, "\n`hustings node --explain-timing` says why, step by step.")
}

fn describe(folder: &Path, members: &[AddedMember]) -> Value {
    let members: Vec<Value> = members
        .iter()
        .map(|AddedMember { member: Member { id, name, address, priority, role }, folder }| {
            let folder = folder.to_string_lossy();
            json!({ "id": id.0, "name": name, "address": address, "priority": priority, "role": role, "folder": folder })
        })
        .collect();
    json!({ "folder": folder.to_string_lossy(), "members": members })
}
