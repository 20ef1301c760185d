//! `hustings recover`.

use std::path::PathBuf;

use clap::Args;
use hustings_cluster::config::{Algorithms, Config};
use hustings_cluster::recover::{self, FolderSummary, Recovery};
use serde_json::{Value, json};

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::{ClusterFailure, target};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings recover --show a/data                                  what a data folder holds
  hustings recover --config a/hustings.toml --dry-run             what would be done
  hustings recover --config a/hustings.toml --token-floor 7000 --yes

For a cluster that has lost a majority of its voters for good. This node continues alone, from its data folder, and
members are added to it as usual. The node must not run. Choose the folder whose last entry has the highest term, and
among those the highest index; no other old folder may ever be used again. docs/operations.md has the whole procedure.
Exit codes: 0 done; 2 wrong use, or not confirmed with --yes; 3 it could not be done.")]
pub(crate) struct RecoverArgs {
    /// The node's configuration [default: $HUSTINGS_CONFIG, or ./hustings.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Prints what a data folder holds, and changes nothing [default: the folder of the configuration].
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with_all = ["token_floor", "new", "dry_run", "yes"])]
    show: Option<Option<PathBuf>>,
    /// The highest token that any resource has seen, if it is known: all new tokens are greater. Without it, they are
    /// greater by 2^40 than the last one that the folder can know of.
    #[arg(long, value_name = "N")]
    token_floor: Option<u64>,
    /// Begins the log of a new cluster above the token floor, with all members of the configuration: for a node that
    /// never had a log, for instance because it ran with another arbiter. Do the same for every voter.
    #[arg(long, requires = "token_floor")]
    new: bool,
    /// Prints what would be done, and changes nothing.
    #[arg(long, conflicts_with = "new")]
    dry_run: bool,
    /// Confirms that the other members are lost for good. Without it, nothing is changed.
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &RecoverArgs, algorithms: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if let Some(Some(folder)) = &args.show {
        let state = recover::inspect(folder).map_err(ClusterFailure::from)?;
        return show(&state, args.format, console);
    }
    let path = target::config_path(args.config.as_ref());
    let config = Config::read_knowing(&path, algorithms).map_err(ClusterFailure::from)?;
    if args.show.is_some() {
        let state = recover::inspect(&config.data).map_err(ClusterFailure::from)?;
        return show(&state, args.format, console);
    }
    let floor = args.token_floor.unwrap_or(0);
    if args.new {
        return begin(&config, floor, args, console);
    }
    let recovery = match args.yes {
        true => recover::recover(&config, floor),
        false => recover::plan(&config, floor),
    };
    let recovery = recovery.map_err(ClusterFailure::from)?;
    match args.format {
        Format::Json => writeln!(console.out, "{}", describe(&recovery))?,
        Format::Text => print(&recovery, &config, console)?,
    }
    if args.yes || args.dry_run { Ok(Exit::Done) } else { Err(ClusterFailure::NotConfirmed.into()) }
}

fn begin(config: &Config, floor: u64, args: &RecoverArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if !args.yes {
        return Err(ClusterFailure::NotConfirmed.into());
    }
    recover::begin(config, floor).map_err(ClusterFailure::from)?;
    match args.format {
        Format::Json => writeln!(console.out, "{}", json!({ "begun": true, "token_floor": floor }))?,
        Format::Text => writeln!(
            console.out,
            "The log begins at index {floor}: all tokens will be greater. Do the same for every other voter, then start \
             the nodes."
        )?,
    }
    Ok(Exit::Done)
}

fn show(state: &FolderSummary, format: Format, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match format {
        Format::Json => writeln!(console.out, "{}", stored(state))?,
        Format::Text => {
            writeln!(console.out, "{}", summary(state))?;
            if let Some(offset) = state.torn_at {
                writeln!(console.out, "a crash interrupted a write at byte {offset}, which was never acknowledged")?;
            }
        }
    }
    Ok(Exit::Done)
}

fn summary(state: &FolderSummary) -> String {
    let FolderSummary { cluster, node, last_term, last_index, committed, .. } = state;
    format!(
        "member {node} of cluster {cluster}: the last entry has term {last_term} and index {last_index}; entries up to \
         {committed} are known to be committed"
    )
}

fn stored(state: &FolderSummary) -> Value {
    json!({
        "cluster": state.cluster,
        "node": state.node.0,
        "term": state.term,
        "last_term": state.last_term,
        "last_index": state.last_index,
        "committed": state.committed,
        "torn_at": state.torn_at,
    })
}

fn describe(recovery: &Recovery) -> Value {
    json!({
        "recovered": recovery.backup.is_some(),
        "before": stored(&recovery.before),
        "survivor": recovery.survivor.name,
        "removed": recovery.removed.iter().map(|member| member.name.as_str()).collect::<Vec<_>>(),
        "highest_token": recovery.highest_token,
        "token_floor": recovery.token_floor,
        "term": recovery.term,
        "backup": recovery.backup.as_ref().map(|path| path.to_string_lossy()),
    })
}

fn print(recovery: &Recovery, config: &Config, console: &mut Console<'_>) -> std::io::Result<()> {
    let Recovery { before, survivor, removed, highest_token, token_floor, backup, .. } = recovery;
    let removed: Vec<&str> = removed.iter().map(|member| member.name.as_str()).collect();
    let removed = if removed.is_empty() { "nobody".to_string() } else { removed.join(", ") };
    writeln!(console.out, "{}", summary(before))?;
    let (does, verb) = if backup.is_some() { ("did", "is now") } else { ("would do", "becomes") };
    writeln!(console.out, "\nWhat `recover` {does}:")?;
    writeln!(console.out, "  {} {verb} the only member and voter; removed: {removed}", survivor.name)?;
    writeln!(console.out, "  tokens are greater than {token_floor}; the highest in this folder is {highest_token}")?;
    let lease = humantime::format_duration(config.timing.lease);
    writeln!(
        console.out,
        "  exclusive offices are not granted until all leases have expired ({lease} after the start)"
    )?;
    if let Some(backup) = backup {
        writeln!(console.out, "  the old log is {}", backup.display())?;
        let name = &survivor.name;
        writeln!(console.out, "\nStart {name} and add members with `hustings members add`, under new ids.")?;
        return writeln!(console.out, "Delete the data folders of all removed members before anything starts there.");
    }
    writeln!(
        console.out,
        "\nWhat is lost: everything after index {} that the other members agreed on without {}: grants, members, pauses.\n\
         Before you confirm, make sure that\n\
         - no other member runs, or ever starts again with its old data folder: it would elect a leader of its own;\n\
         - no other folder that is left has a later last entry: `hustings recover --show DIR`;\n\
         - no resource has seen a token above {token_floor}: `--token-floor N`.",
        before.last_index, survivor.name
    )
}
