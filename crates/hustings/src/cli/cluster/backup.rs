//! `hustings backup`.

use std::path::PathBuf;

use clap::Args;
use hustings_cluster::config::Config;
use hustings_cluster::recover::{FolderSummary, back_up};
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::{ClusterFailure, target};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings backup /var/backups/hustings-$(date +%F) --config /etc/hustings/hustings.toml
  hustings recover --show /var/backups/hustings-2026-01-01

Copies the data folder of a node that may run, to a folder that is new or empty. Run it as the node's user or as root.
A cluster needs no backups while a majority of its disks is there. One is the last resort if all folders are lost: no node
starts from it, but `hustings recover` continues the cluster from it. docs/operations.md has the procedure.
Exit codes: 0 done; 2 wrong use; 3 it could not be done.")]
pub(crate) struct BackupArgs {
    /// The folder to create.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The node's configuration [default: $HUSTINGS_CONFIG, or ./hustings.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &BackupArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let config = Config::read_as_client(&target::config_path(args.config.as_ref())).map_err(ClusterFailure::from)?;
    let state = back_up(&config.data, &args.folder).map_err(ClusterFailure::from)?;
    let FolderSummary { cluster, node, last_term, last_index, .. } = &state;
    let folder = args.folder.display();
    match args.format {
        Format::Json => {
            let folder = folder.to_string();
            let (node, term, index) = (node.0, last_term, last_index);
            let object =
                json!({ "folder": folder, "cluster": cluster, "node": node, "last_term": term, "last_index": index });
            writeln!(console.out, "{object}")?;
        }
        Format::Text => writeln!(
            console.out,
            "{folder}: a copy of member {node} of cluster {cluster}, up to index {last_index} of term {last_term}"
        )?,
    }
    Ok(Exit::Done)
}
