//! `hustings leader`, `watch` and `history`.

use clap::Args;
use hustings_cluster::api::{Reply, Request};
use hustings_sim::parse::{nearest, short};
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::{Failure, warn};
use super::place::Asked;
use super::{ClusterFailure, Common, EXIT_CODES, LEADER, text};
use crate::elector::cause_in_words;

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings leader                              the name of the leader
  hustings leader billing --format json        all about the holder of another office
  [ \"$(hustings leader)\" = \"$(hostname)\" ] && ./nightly.sh

It answers only what is certain: a node that is not in touch with a majority does not know.
{EXIT_CODES}"))]
pub(crate) struct LeaderArgs {
    /// The office.
    #[arg(default_value = LEADER)]
    office: String,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn leader(args: &LeaderArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut asked = args.common.place.connect()?;
    let status = asked.office(&args.office)?;
    let holder = status.holder.as_deref().filter(|_| status.current);
    match (args.common.format, holder) {
        (Format::Json, _) => writeln!(console.out, "{}", json!(status))?,
        (Format::Text, Some(holder)) => writeln!(console.out, "{holder}")?,
        (Format::Text, None) if !status.current => {
            let was = status.holder.as_ref().map(|holder| format!("; it last was {holder}")).unwrap_or_default();
            warn(console, &format!("who holds `{}` is not known here now{was}", short(&args.office)));
        }
        (Format::Text, None) => {
            let near = if status.token == 0 { meant(&mut asked, &args.office)? } else { String::new() };
            warn(console, &format!("nobody holds `{}`{near}", short(&args.office)));
        }
    }
    Ok(if holder.is_some() { Exit::Done } else { Exit::No })
}

/// The office that was perhaps meant by one that never was.
fn meant(asked: &mut Asked, office: &str) -> Result<String, ClusterFailure> {
    let offices = asked.offices()?;
    let near = nearest(office, offices.iter().map(String::as_str)).filter(|near| *near != office);
    Ok(near.map(|near| format!("; the nearest office is `{near}`")).unwrap_or_default())
}

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings watch                               a line for every change of any office, until Ctrl-C
  hustings watch leader --format json          an object a line

{EXIT_CODES}"))]
pub(crate) struct WatchArgs {
    /// This office only.
    office: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn watch(args: &WatchArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut asked = args.common.place.connect()?;
    let request = Request::Watch { office: args.office.clone() };
    asked.client.send(&request).map_err(ClusterFailure::from)?;
    loop {
        match asked.client.next(None).map_err(ClusterFailure::from)? {
            Reply::Office(status) => {
                match args.common.format {
                    Format::Text => writeln!(console.out, "{}", text::office(&status))?,
                    Format::Json => writeln!(console.out, "{}", json!(status))?,
                }
                console.out.flush()?;
            }
            Reply::Refused(refusal) => return Err(ClusterFailure::from(refusal).into()),
            _ => return Err(ClusterFailure::Unexpected.into()),
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings history                             the last 100 changes of all offices
  hustings history billing                     the last 100 of this one

{EXIT_CODES}"))]
pub(crate) struct HistoryArgs {
    /// Of this office only.
    office: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn history(args: &HistoryArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut asked = args.common.place.connect()?;
    let changes = asked.history(args.office.as_deref())?;
    if changes.is_empty()
        && let Some(office) = &args.office
    {
        let offices = asked.offices()?;
        if !offices.contains(office) {
            return Err(ClusterFailure::unknown("office", office, offices.iter().map(String::as_str)).into());
        }
    }
    match args.common.format {
        Format::Json => writeln!(console.out, "{}", json!({ "changes": changes }))?,
        Format::Text => {
            let rows = changes.into_iter().map(|change| {
                let holder = change.holder.unwrap_or_else(|| "nobody".to_string());
                let why = cause_in_words(change.why).to_string();
                vec![text::time(change.unix_ms), change.office, holder, change.token.to_string(), why]
            });
            text::table(&["when", "office", "holder", "token", "why"], rows, console)?;
        }
    }
    Ok(Exit::Done)
}
