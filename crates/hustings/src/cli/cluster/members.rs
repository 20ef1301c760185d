//! `hustings members`.

mod certificates;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hustings_cluster::api::Request;
use hustings_cluster::config::{BootstrapError, MemberSpec, add_member, remove_member};
use hustings_cluster::member::Role;
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::{ClientArgs, ClusterFailure, EXIT_CODES, status};

#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = format!("Examples:
  hustings members                                             list the members
  hustings members add d=10.0.0.4:7401,priority=2 --dir shop   add a member; its files are in shop/d
  hustings members set d --priority 5 --address 10.0.0.9:7401  change a member in the running cluster
  hustings members remove d --dir shop                         remove a member for good
  hustings members renew --dir shop                            new certificates for all members

If a member loses its disk, remove it and add it again: it gets a new id. Its votes are lost with the disk, so its old
id must never be used again.
{EXIT_CODES}")
)]
pub(crate) struct MembersArgs {
    #[command(subcommand)]
    change: Option<MembersCommand>,
    #[command(flatten)]
    client_args: ClientArgs,
}

#[derive(Subcommand, Debug)]
enum MembersCommand {
    /// Creates the files of a new member and adds it to the cluster.
    Add(AddArgs),
    /// Changes the priority, role or address of a member in the running cluster.
    Set(SetArgs),
    /// Removes a member for good.
    Remove(RemoveArgs),
    /// Issues new certificates and keys for members.
    Renew(certificates::RenewArgs),
    /// Replaces the authority that signs the members' certificates, in three steps.
    RotateAuthority(certificates::RotateArgs),
}

#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("change").required(true).multiple(true)))]
struct SetArgs {
    /// The member's name.
    name: String,
    /// The new priority.
    #[arg(long, value_name = "N", group = "change")]
    priority: Option<u32>,
    /// The new role: elector, witness or observer.
    #[arg(long, value_name = "ROLE", group = "change", value_parser = role)]
    role: Option<Role>,
    /// The new address that peers connect to. Change `listen` in the member's own configuration too, if it has to
    /// listen elsewhere.
    #[arg(long, value_name = "HOST:PORT", group = "change")]
    address: Option<String>,
    /// Changes the role even if the remaining voters have no majority that is up.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    client_args: ClientArgs,
}

fn role(text: &str) -> Result<Role, String> {
    let roles = [Role::Elector, Role::Witness, Role::Observer];
    let known = roles.into_iter().find(|role| role.to_string() == text);
    known.ok_or_else(|| "expected elector, witness or observer".to_string())
}

#[derive(Args, Debug)]
struct AddArgs {
    /// The member's name, the address that peers connect to, its priority (default 0) and its role (elector, witness or
    /// observer).
    #[arg(value_name = "NAME=HOST:PORT[,priority=P][,role=R]")]
    member: MemberSpec,
    /// The folder that `hustings init` created, with the authority's key.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    client_args: ClientArgs,
}

#[derive(Args, Debug)]
struct RemoveArgs {
    /// The member's name.
    name: String,
    /// The folder that `hustings init` created. With it, the name and address become free for a new member.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Removes the member even if the remaining voters have no majority that is up.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn run(args: &MembersArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match &args.change {
        None => list(&args.client_args, console),
        Some(MembersCommand::Add(args)) => add(args, console),
        Some(MembersCommand::Set(args)) => set(args, console),
        Some(MembersCommand::Remove(args)) => remove(args, console),
        Some(MembersCommand::Renew(args)) => certificates::renew(args, console),
        Some(MembersCommand::RotateAuthority(args)) => certificates::rotate(args, console),
    }
}

fn list(client_args: &ClientArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let known = client_args.target.connect()?.status()?;
    match client_args.format {
        Format::Json => writeln!(console.out, "{}", json!({ "members": known.members }))?,
        Format::Text => status::members(&known.members, None, console)?,
    }
    Ok(Exit::Done)
}

/// Creates the files before it asks the cluster: nobody could start a member without files. If the cluster rejects the
/// member, the files stay and the same command can be repeated.
fn add(args: &AddArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut node = args.client_args.target.connect()?;
    let MemberSpec { name, address, priority, role } = args.member.clone();
    if node.status()?.members.iter().any(|member| member.name == name) {
        return Err(ClusterFailure::Bootstrap(BootstrapError::MemberExists(name)).into());
    }
    let settings = node.settings()?;
    let added = add_member(&args.dir, &args.member, &settings).map_err(ClusterFailure::from)?;
    node.execute(&Request::AddMember { id: added.member.id.0, name: name.clone(), address, priority, role })?;
    let folder = added.folder.display().to_string();
    match args.client_args.format {
        Format::Json => {
            let member = &added.member;
            writeln!(console.out, "{}", json!({ "id": member.id.0, "name": member.name, "folder": folder }))?;
        }
        Format::Text => {
            writeln!(console.out, "{name} is now member {} of the cluster. Start it on its host:\n", added.member.id)?;
            writeln!(console.out, "  hustings node --config {folder}/hustings.toml")?;
        }
    }
    Ok(Exit::Done)
}

fn set(args: &SetArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut node = args.client_args.target.connect()?;
    let SetArgs { name, priority, role, address, force, .. } = args;
    let (name, address) = (name.clone(), address.clone());
    let request = Request::SetMember { name, priority: *priority, role: *role, address, force: *force };
    node.change_member(&args.name, &request)?;
    match args.client_args.format {
        Format::Json => writeln!(console.out, "{}", json!({ "changed": args.name }))?,
        Format::Text => writeln!(console.out, "{} is changed", args.name)?,
    }
    Ok(Exit::Done)
}

fn remove(args: &RemoveArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut node = args.client_args.target.connect()?;
    let request = Request::RemoveMember { name: args.name.clone(), force: args.force };
    let removed = match node.change_member(&args.name, &request) {
        Err(failure) if !matches!(failure, ClusterFailure::Unknown { .. }) => return Err(failure.into()),
        removed => removed,
    };
    match (removed, args.dir.as_ref().map(|dir| remove_member(dir, &args.name))) {
        (Ok(()), Some(forgotten)) => drop(forgotten.map_err(ClusterFailure::from)?),
        // The member has files, but it never joined the cluster.
        (Err(_), Some(Ok(_))) => {}
        (removed, _) => removed?,
    }
    let left = args.dir.as_ref().map(|dir| dir.join(&args.name)).filter(|folder| folder.exists());
    match args.client_args.format {
        Format::Json => writeln!(console.out, "{}", json!({ "removed": args.name, "files": left }))?,
        Format::Text => writeln!(console.out, "{} is no longer a member", args.name)?,
    }
    if let (Format::Text, Some(folder)) = (args.client_args.format, left) {
        let folder = folder.display();
        writeln!(console.out, "Its files are left. Before you add a member of this name again: rm -r {folder}")?;
    }
    Ok(Exit::Done)
}
