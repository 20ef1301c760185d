//! `hustings members renew` and `rotate-authority`.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use hustings_cluster::config::{Renewed, RotationStep, renew_members, rotate_authority};
use serde_json::{Value, json};

use super::super::super::args::Format;
use super::super::super::console::{Console, Exit};
use super::super::super::failure::Failure;
use super::super::ClusterFailure;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings members renew --dir shop            new keys and certificates for all members
  hustings members renew b --dir shop          for one
  scp shop/b/node.* shop/b/authority.crt 10.0.0.2:/etc/hustings/ && ssh 10.0.0.2 systemctl reload hustings

The files are in the members' folders within DIR. Copy them to the hosts and reload the nodes (SIGHUP): connections and
offices stay as they are. The files that they replace are kept, as node.crt.old and node.key.old.
Exit codes: 0 done; 2 wrong use; 3 a file could not be read or written.")]
pub(super) struct RenewArgs {
    /// The members' names [default: all].
    names: Vec<String>,
    /// The folder that `hustings init` created, with the authority's key.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// How long the certificates are valid, such as 90days [default: what `hustings init` was told].
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    lifetime: Option<Duration>,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings members rotate-authority begin --dir shop    a new authority beside the old one: members trust both
  hustings members rotate-authority switch --dir shop   the new one signs: new certificates for all members
  hustings members rotate-authority finish --dir shop   members trust only the new one; the old one is deleted

After each step, copy authority.crt, node.crt and node.key from the members' folders to the hosts and reload every node
(SIGHUP), before you take the next step. A step that was interrupted can be repeated.
Exit codes: 0 done; 2 wrong use; 3 a file could not be read or written.")]
pub(super) struct RotateArgs {
    /// The step.
    #[arg(value_enum)]
    step: Step,
    /// The folder that `hustings init` created, with the authority's key.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// How long the new authority's certificate is valid; for `begin`.
    #[arg(long, value_name = "DURATION", default_value = "3650days", value_parser = humantime::parse_duration)]
    lifetime: Duration,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Step {
    /// Creates the new authority; members trust both.
    Begin,
    /// Signs with the new authority; members still trust both.
    Switch,
    /// Removes the old authority.
    Finish,
}

pub(super) fn renew(args: &RenewArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let renewed = renew_members(&args.dir, &args.names, args.lifetime).map_err(ClusterFailure::from)?;
    match args.format {
        Format::Json => writeln!(console.out, "{}", json!({ "renewed": describe(&renewed) }))?,
        Format::Text => {
            print(&renewed, console)?;
            writeln!(console.out, "\nCopy these folders' files to the hosts and reload the nodes (SIGHUP).")?;
        }
    }
    Ok(Exit::Done)
}

pub(super) fn rotate(args: &RotateArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let (step, done, next) = match args.step {
        Step::Begin => (
            RotationStep::Begin,
            "There is a new authority beside the old one. Members are to trust both.",
            "Copy authority.crt of every member's folder to its host and reload all nodes (SIGHUP). Then run `switch`.",
        ),
        Step::Switch => (
            RotationStep::Switch,
            "The new authority signs from now on. Members are to trust both.",
            "Copy node.crt, node.key and authority.crt of every member's folder to its host and reload all nodes (SIGHUP). \
             Then run `finish`.",
        ),
        Step::Finish => (
            RotationStep::Finish,
            "The old authority is deleted. Members are to trust the new one only.",
            "Copy authority.crt of every member's folder to its host and reload all nodes (SIGHUP).",
        ),
    };
    let renewed = rotate_authority(&args.dir, step, args.lifetime).map_err(ClusterFailure::from)?;
    match args.format {
        Format::Json => {
            let name = args.step.to_possible_value().map(|value| value.get_name().to_string());
            writeln!(console.out, "{}", json!({ "step": name, "renewed": describe(&renewed) }))?;
        }
        Format::Text => {
            writeln!(console.out, "{done}")?;
            print(&renewed, console)?;
            writeln!(console.out, "\n{next}")?;
        }
    }
    Ok(Exit::Done)
}

fn print(renewed: &[Renewed], console: &mut Console<'_>) -> std::io::Result<()> {
    for Renewed { member, folder, until } in renewed {
        let until = humantime::format_rfc3339_seconds(*until);
        writeln!(console.out, "{}: a new certificate until {until}, in {}", member.name, folder.display())?;
    }
    Ok(())
}

fn describe(renewed: &[Renewed]) -> Vec<Value> {
    let describe = |Renewed { member, folder, until }: &Renewed| {
        let until = until.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        json!({ "name": member.name, "folder": folder.to_string_lossy(), "not_after_unix_s": until })
    };
    renewed.iter().map(describe).collect()
}
