//! `hustings status`.

use clap::Args;
use hustings_cluster::api::{MemberStatus, Status};
use hustings_cluster::config::Mode;
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit, Paint};
use super::super::failure::Failure;
use super::{ClientArgs, EXIT_CODES, LEADER, text};

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings status                              ask the node of ./hustings.toml
  hustings status --config b/hustings.toml     ask another node
  hustings status --format json | jq .counters

{EXIT_CODES}"))]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    client_args: ClientArgs,
    /// Also print the node's counters.
    #[arg(long)]
    counters: bool,
}

pub(crate) fn run(args: &StatusArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let status = args.client_args.target.connect()?.status()?;
    match args.client_args.format {
        Format::Json => writeln!(console.out, "{}", json!(status))?,
        Format::Text => {
            head(&status, console)?;
            members(&status.members, leader(&status), console)?;
            offices(&status, console)?;
            if args.counters {
                writeln!(console.out)?;
                let rows = status.counters.iter().map(|(name, count)| vec![name.clone(), count.to_string()]);
                text::table(&["counter", "since start"], rows, console)?;
            }
        }
    }
    Ok(Exit::Done)
}

fn head(status: &Status, console: &mut Console<'_>) -> std::io::Result<()> {
    let cluster = Paint::Strong.on(&status.cluster, console.colour);
    writeln!(console.out, "cluster {cluster}, seen by {}; algorithm {}", status.node, status.algorithm)?;
    match (status.arbiter.as_str(), &status.arbiter_leader) {
        ("none", _) => {
            let warning =
                "arbiter none: each part of a partitioned cluster elects its own leader, and tokens do not fence";
            writeln!(console.out, "{}", Paint::Bad.on(warning, console.colour))?;
        }
        (arbiter, Some(leader)) => {
            writeln!(console.out, "arbiter {arbiter}, led by {leader} in term {}", status.term)?;
        }
        (arbiter, None) => writeln!(console.out, "arbiter {arbiter}, no known leader, term {}", status.term)?,
    }
    if !status.current {
        let warning = "this node cannot reach a majority: what follows may be out of date";
        writeln!(console.out, "{}", Paint::Bad.on(warning, console.colour))?;
    }
    if status.paused {
        let warning = "elections are paused; `hustings resume` resumes them";
        writeln!(console.out, "{}", Paint::Bad.on(warning, console.colour))?;
    }
    writeln!(console.out)
}

fn leader(status: &Status) -> Option<&str> {
    let leader = status.offices.iter().find(|office| office.office == LEADER && office.current)?;
    leader.holder.as_deref()
}

/// Prints the members, with a star beside the leader.
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
            state(member).to_string(),
        ]
    });
    text::table(&["", "id", "member", "address", "role", "priority", "health", "state"], rows, console)?;
    for member in members.iter().filter(|member| !member.differs_in.is_empty()) {
        let (name, parts) = (&member.name, member.differs_in.join(", "));
        let warning = format!("{name} has another configuration than this node, where all must agree: {parts}");
        writeln!(console.out, "{}", Paint::Bad.on(&warning, console.colour))?;
    }
    Ok(())
}

/// A member's state: whether it is up, and whether it does not vote yet although it is to.
fn state(member: &MemberStatus) -> &'static str {
    match (member.up, member.joining) {
        (true, false) => "up",
        (false, false) => "down",
        (true, true) => "up, joining",
        (false, true) => "down, joining",
    }
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
        let reason = office.reason.to_string();
        vec![office.office.clone(), holder, office.token.to_string(), mode.to_string(), since, reason]
    });
    text::table(&["office", "holder", "token", "mode", "since", "reason"], rows, console)
}
