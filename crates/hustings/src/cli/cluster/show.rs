//! `hustings leader`, `watch` and `history`.

use clap::Args;
use hustings_cluster::api::{OfficeStatus, Reply, Request};
use hustings_text::{nearest, quote};
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::{Failure, warn};
use super::target::{NodeClient, is_held};
use super::{ClientArgs, ClusterFailure, EXIT_CODES, LEADER, text};

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings leader                              print the name of the leader
  hustings leader billing --format json        print everything about the holder of `billing`
  hustings leader --wait 0s                    do not wait for an election that is not over yet
  hustings leader billing --check && ./nightly.sh

--check prints nothing and does not wait for an election: exit code 0 if this node holds the office, else 1. If it
cannot know because its disk does not take writes, it says so on standard error.

The answer is confirmed by a majority. A node that cannot reach a majority does not know the leader. If nobody holds
the office, or its holder has failed, the command waits for the next holder, for 5 seconds unless --wait says otherwise.
{EXIT_CODES}"))]
pub(crate) struct LeaderArgs {
    /// The office: a named lease, like an etcd election or a Kubernetes Lease.
    #[arg(default_value = LEADER)]
    office: String,
    /// Prints nothing; the exit code says whether this node holds the office.
    #[arg(long, conflicts_with = "format")]
    check: bool,
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn leader(args: &LeaderArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut node = args.client_args.target.connect()?;
    if args.check {
        let own = node.own_name(&args.office)?;
        let status = node.office(&args.office)?;
        let is_here = is_held(&status) && status.holder.as_deref() == Some(own.as_str());
        if !status.current
            && let Some(failure) = node.status()?.disk
        {
            warn(console, &text::disk(&failure));
        }
        return Ok(if is_here { Exit::Done } else { Exit::No });
    }
    let status = node.wait_for_holder(&args.office)?;
    let held = is_held(&status);
    match (args.client_args.format, &status.holder) {
        (Format::Json, _) => writeln!(console.out, "{}", json!(status))?,
        (Format::Text, Some(holder)) if held => writeln!(console.out, "{holder}")?,
        (Format::Text, _) => {
            let why = explain_no_holder(&mut node, &status)?;
            warn(console, &why);
        }
    }
    Ok(if held { Exit::Done } else { Exit::No })
}

/// Says why no holder is printed.
fn explain_no_holder(node: &mut NodeClient, status: &OfficeStatus) -> Result<String, ClusterFailure> {
    let office = quote(&status.office);
    if status.current {
        let hint = if status.token == 0 { suggestion(node, &status.office)? } else { String::new() };
        return Ok(format!("nobody holds `{office}`{hint}"));
    }
    let last = status.holder.as_deref();
    let all = node.status();
    if let Some(failure) = all.as_ref().ok().and_then(|all| all.disk.as_ref()) {
        return Ok(format!("the holder of `{office}` is not known: {}", text::disk(failure)));
    }
    // If the node reaches a majority, then only the holder itself is not confirmed.
    match last.filter(|_| all.is_ok_and(|all| all.current)) {
        Some(last) => Ok(format!("the holder of `{office}`, {last}, has failed, and the next one is not elected yet")),
        None => {
            let last = last.map(|holder| format!("; the last known holder is {holder}")).unwrap_or_default();
            Ok(format!("the holder of `{office}` is not known: this node cannot reach a majority{last}"))
        }
    }
}

/// Suggests an existing office with a similar name.
fn suggestion(node: &mut NodeClient, office: &str) -> Result<String, ClusterFailure> {
    let offices = node.offices()?;
    let near = nearest(office, offices.iter().map(String::as_str)).filter(|near| *near != office);
    Ok(near.map(|near| format!("; did you mean the office `{near}`?")).unwrap_or_default())
}

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings watch                               print a line for every change of any office, until Ctrl-C
  hustings watch leader --format json          print a JSON object for every change of `leader`

{EXIT_CODES}"))]
pub(crate) struct WatchArgs {
    /// The office [default: every office].
    office: Option<String>,
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn watch(args: &WatchArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut node = args.client_args.target.connect()?;
    let request = Request::Watch { office: args.office.clone() };
    node.client.send(&request).map_err(ClusterFailure::from)?;
    loop {
        match node.client.recv(None).map_err(ClusterFailure::from)? {
            Reply::Office(status) => {
                match args.client_args.format {
                    Format::Text => writeln!(console.out, "{}", text::office(&status))?,
                    Format::Json => writeln!(console.out, "{}", json!(status))?,
                }
                console.out.flush()?;
            }
            Reply::Error(error) => return Err(ClusterFailure::from(error).into()),
            _ => return Err(ClusterFailure::UnexpectedReply.into()),
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings history                             print the last 100 changes of each office
  hustings history billing                     print the last 100 changes of `billing`

{EXIT_CODES}"))]
pub(crate) struct HistoryArgs {
    /// The office [default: every office].
    office: Option<String>,
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn history(args: &HistoryArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut node = args.client_args.target.connect()?;
    let changes = node.history(args.office.as_deref())?;
    if changes.is_empty()
        && let Some(office) = &args.office
    {
        let offices = node.offices()?;
        if !offices.contains(office) {
            return Err(ClusterFailure::unknown("office", office, offices.iter().map(String::as_str)).into());
        }
    }
    match args.client_args.format {
        Format::Json => writeln!(console.out, "{}", json!({ "changes": changes }))?,
        Format::Text => {
            let rows = changes.into_iter().map(|change| {
                let holder = change.holder.unwrap_or_else(|| "nobody".to_string());
                let reason = change.reason.to_string();
                vec![text::time(change.since_unix_ms), change.office, holder, change.token.to_string(), reason]
            });
            text::table(&["since", "office", "holder", "token", "reason"], rows, console)?;
        }
    }
    Ok(Exit::Done)
}
