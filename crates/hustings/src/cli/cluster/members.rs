//! `hustings members`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hustings_cluster::api::Request;
use hustings_cluster::config::{Admitted, BootstrapError, Config, Newcomer, admit, dismiss};
use hustings_sim::parse::short;
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::{ClusterFailure, Common, EXIT_CODES, status};

#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = format!("Examples:
  hustings members                                             who belongs to the cluster
  hustings members add d=10.0.0.4:7401,priority=2 --dir shop   one more; its files are then in shop/d
  hustings members remove d --dir shop                         one less, for good

A member whose disk was lost is removed and added again under a new number: its old votes are forgotten, so its old
number must not come back.
{EXIT_CODES}")
)]
pub(crate) struct MembersArgs {
    #[command(subcommand)]
    change: Option<MembersCommand>,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand, Debug)]
enum MembersCommand {
    /// One more member: its files, and its place in the cluster.
    Add(AddArgs),
    /// A member leaves for good.
    Remove(RemoveArgs),
}

#[derive(Args, Debug)]
struct AddArgs {
    /// Its name, where others reach it, and if need be its priority (0) and role (elector, witness, observer).
    #[arg(value_name = "NAME=HOST:PORT[,priority=P][,role=R]")]
    newcomer: Newcomer,
    /// The folder that `hustings init` wrote, with the key of the authority.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct RemoveArgs {
    /// Its name.
    name: String,
    /// The folder that `hustings init` wrote: the authority forgets it, too, and its name is free.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &MembersArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match &args.change {
        None => list(&args.common, console),
        Some(MembersCommand::Add(args)) => add(args, console),
        Some(MembersCommand::Remove(args)) => remove(args, console),
    }
}

fn list(common: &Common, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let known = common.place.connect()?.status()?;
    match common.format {
        Format::Json => writeln!(console.out, "{}", json!({ "members": known.members }))?,
        Format::Text => status::members(&known.members, None, console)?,
    }
    Ok(Exit::Done)
}

/// First the files, then the cluster: a member that nobody could start would count for the majority. If the cluster
/// says no, the files stay, and the same command goes on from there.
fn add(args: &AddArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut asked = args.common.place.connect()?;
    let Newcomer { name, address, priority, role } = args.newcomer.clone();
    if asked.status()?.members.iter().any(|member| member.name == name) {
        return Err(ClusterFailure::Found(BootstrapError::Member(name)).into());
    }
    let admitted = admitted(&args.dir, &args.newcomer)?;
    asked.order(&Request::AddMember { id: admitted.member.id.0, name: name.clone(), address, priority, role })?;
    let folder = admitted.folder.display().to_string();
    match args.common.format {
        Format::Json => {
            let member = &admitted.member;
            writeln!(console.out, "{}", json!({ "id": member.id.0, "name": member.name, "folder": folder }))?;
        }
        Format::Text => {
            writeln!(console.out, "{name} is member {} of the cluster. On its host:\n", admitted.member.id)?;
            writeln!(console.out, "  hustings node --config {folder}/hustings.toml")?;
        }
    }
    Ok(Exit::Done)
}

/// Its files: those of an earlier attempt, if there are any.
fn admitted(dir: &Path, newcomer: &Newcomer) -> Result<Admitted, ClusterFailure> {
    match admit(dir, newcomer) {
        Err(BootstrapError::Member(name)) => {
            let folder = dir.join(&newcomer.name);
            let path = folder.join("hustings.toml");
            let config = Config::read_as_client_with(&path, &|_| None)?;
            let same = config.own().filter(|member| config.join && **member == newcomer.with_id(member.id)).cloned();
            let other = || ClusterFailure::OtherMember { name: short(&name), path: path.display().to_string() };
            Ok(Admitted { member: same.ok_or_else(other)?, folder })
        }
        result => Ok(result?),
    }
}

fn remove(args: &RemoveArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut asked = args.common.place.connect()?;
    let known = asked.check_member(&args.name);
    if known.is_ok() {
        asked.order(&Request::RemoveMember { name: args.name.clone() })?;
    }
    match (known, args.dir.as_ref().map(|dir| dismiss(dir, &args.name))) {
        (Ok(()), Some(dismissed)) => drop(dismissed.map_err(ClusterFailure::from)?),
        // The authority knows it, but the cluster never took it in.
        (Err(_), Some(Ok(_))) => {}
        (known, _) => known?,
    }
    match args.common.format {
        Format::Json => writeln!(console.out, "{}", json!({ "removed": args.name }))?,
        Format::Text => writeln!(console.out, "{} is no member any more", args.name)?,
    }
    Ok(Exit::Done)
}
