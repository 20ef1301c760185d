//! `hustings status`.

use clap::Args;
use hustings_cluster::api::{MemberStatus, Status};
use hustings_cluster::config::{ArbiterKind, Mode};
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit, Paint};
use super::super::failure::Failure;
use super::{Common, EXIT_CODES, LEADER, text};
use crate::elector::cause_in_words;

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings status                              as the node in this folder sees it
  hustings status --config b/hustings.toml     as another one does
  hustings status --format json | jq .counters

{EXIT_CODES}"))]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    common: Common,
    /// What the node has counted, too.
    #[arg(long)]
    counters: bool,
}

pub(crate) fn run(args: &StatusArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let status = args.common.place.connect()?.status()?;
    match args.common.format {
        Format::Json => writeln!(console.out, "{}", json!(status))?,
        Format::Text => {
            head(&status, console)?;
            members(&status.members, leader(&status), console)?;
            offices(&status, console)?;
            if args.counters {
                writeln!(console.out)?;
                let rows = status.counters.iter().map(|(name, count)| vec![name.clone(), count.to_string()]);
                text::table(&["counted since the start", ""], rows, console)?;
            }
        }
    }
    Ok(Exit::Done)
}

fn head(status: &Status, console: &mut Console<'_>) -> std::io::Result<()> {
    let cluster = Paint::Strong.on(&status.cluster, console.colour);
    writeln!(console.out, "cluster {cluster}, as {} sees it; algorithm {}", status.node, status.algorithm)?;
    match (status.arbiter, &status.arbiter_leader) {
        (ArbiterKind::None, _) => {
            let loud = "arbiter none: every part of a split cluster has a leader of its own; tokens fence nothing";
            writeln!(console.out, "{}", Paint::Bad.on(loud, console.colour))?;
        }
        (ArbiterKind::Raft, Some(leader)) => {
            writeln!(console.out, "arbiter raft, led by {leader} in term {}", status.term)?;
        }
        (ArbiterKind::Raft, None) => writeln!(console.out, "arbiter raft, led by nobody; term {}", status.term)?,
    }
    if !status.current {
        let loud = "not in touch with a majority: this is how things were, not how they are";
        writeln!(console.out, "{}", Paint::Bad.on(loud, console.colour))?;
    }
    if status.paused {
        let loud = "elections are paused: `hustings resume` lets them go on";
        writeln!(console.out, "{}", Paint::Bad.on(loud, console.colour))?;
    }
    writeln!(console.out)
}

fn leader(status: &Status) -> Option<&str> {
    let leader = status.offices.iter().find(|office| office.office == LEADER && office.current)?;
    leader.holder.as_deref()
}

/// Who belongs to the cluster, with a star at the leader.
pub(crate) fn members(
    members: &[MemberStatus],
    leader: Option<&str>,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    let rows = members.iter().map(|member| {
        let star = if leader == Some(member.name.as_str()) { "★" } else { "" };
        vec![
            star.to_string(),
            member.id.to_string(),
            member.name.clone(),
            member.address.clone(),
            member.role.to_string(),
            member.priority.to_string(),
            member.health.to_string(),
            if member.up { "up" } else { "down" }.to_string(),
        ]
    });
    text::table(&["", "id", "member", "address", "role", "priority", "health", ""], rows, console)
}

fn offices(status: &Status, console: &mut Console<'_>) -> std::io::Result<()> {
    if status.offices.is_empty() {
        return Ok(());
    }
    writeln!(console.out)?;
    let rows = status.offices.iter().map(|office| {
        let holder = match (&office.holder, office.current) {
            (Some(holder), true) => holder.clone(),
            (Some(holder), false) => format!("{holder}?"),
            (None, true) => "nobody".to_string(),
            (None, false) => "?".to_string(),
        };
        let mode = match office.mode {
            Mode::Exclusive => "exclusive",
            Mode::Fenced => "fenced",
        };
        let since = text::time(office.since_unix_ms);
        let why = cause_in_words(office.why).to_string();
        vec![office.office.clone(), holder, office.token.to_string(), mode.to_string(), since, why]
    });
    text::table(&["office", "holder", "token", "mode", "since", "why"], rows, console)
}
