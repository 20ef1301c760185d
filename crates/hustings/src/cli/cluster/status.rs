//! `hustings status`.

use std::time::Duration;

use clap::Args;
use hustings_cluster::api::{MemberStatus, Status};
use hustings_cluster::config::Mode;
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit, Paint};
use super::super::failure::Failure;
use super::{ClientArgs, EXIT_CODES, LEADER, text};

/// From how many seconds before its end a certificate is marked.
const CERTIFICATE_WARNING: u64 = 30 * 24 * 3600;

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings status                              ask the node of ./hustings.toml
  hustings status --config b/hustings.toml     ask another node
  hustings status --watch                      refresh every second, until Ctrl-C
  hustings status --format json | jq .counters

{EXIT_CODES}"))]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    client_args: ClientArgs,
    /// Also print the node's counters.
    #[arg(long)]
    counters: bool,
    /// Print the state again and again, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// The time between two states, with --watch.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval, requires = "watch")]
    every: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    let fits = |time: &Duration| (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(time);
    let interval = humantime::parse_duration(text).ok().filter(fits);
    interval.ok_or_else(|| "expected a duration from 100ms to 1h, such as 5s".to_string())
}

pub(crate) fn run(args: &StatusArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut node = args.client_args.target.connect()?;
    if !args.watch {
        print(&node.status()?, args, console)?;
        return Ok(Exit::Done);
    }
    // On a terminal, the next state takes the place of the one before. Otherwise they follow each other.
    let is_screen = console.colour && args.client_args.format == Format::Text;
    loop {
        let status = node.status()?;
        if is_screen {
            write!(console.out, "\u{1b}[H\u{1b}[2J")?;
        }
        print(&status, args, console)?;
        if !is_screen && args.client_args.format == Format::Text {
            writeln!(console.out)?;
        }
        console.out.flush()?;
        std::thread::sleep(args.every);
    }
}

fn print(status: &Status, args: &StatusArgs, console: &mut Console<'_>) -> std::io::Result<()> {
    if args.client_args.format == Format::Json {
        return writeln!(console.out, "{}", json!(status));
    }
    head(status, console)?;
    members(&status.members, leader(status), console)?;
    offices(status, console)?;
    if args.counters {
        writeln!(console.out)?;
        let rows = status.counters.iter().map(|(name, count)| vec![name.clone(), count.to_string()]);
        text::table(&["counter", "since start"], rows, console)?;
    }
    Ok(())
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
    if let Some(failure) = &status.disk {
        writeln!(console.out, "{}", Paint::Bad.on(&text::disk(failure), console.colour))?;
    }
    if let Some(delays) = text::host(&status.host) {
        writeln!(console.out, "{}", Paint::Bad.on(&delays, console.colour))?;
    }
    if let Some(realtime) = &status.realtime {
        let line = text::realtime(realtime);
        let is_whole = realtime.problems.is_empty();
        writeln!(console.out, "{}", if is_whole { line } else { Paint::Bad.on(&line, console.colour) })?;
    }
    if !status.current {
        let warning = "this node cannot reach a majority: what follows may be out of date";
        writeln!(console.out, "{}", Paint::Bad.on(warning, console.colour))?;
    }
    if !status.missing_founders.is_empty() {
        let missing = status.missing_founders.join(", ");
        let warning = format!("a new cluster begins when all its first voters have been heard; waiting for {missing}");
        writeln!(console.out, "{}", Paint::Bad.on(&warning, console.colour))?;
    }
    if status.paused {
        let warning = "elections are paused; `hustings resume` resumes them";
        writeln!(console.out, "{}", Paint::Bad.on(warning, console.colour))?;
    }
    if let Some(certificate) = &status.certificate {
        let ends = [certificate.not_after_unix_s, certificate.authority_not_after_unix_s].map(text::time_left);
        let line = format!("certificate: {}; authority: {}", ends[0], ends[1]);
        let end = certificate.not_after_unix_s.min(certificate.authority_not_after_unix_s);
        let is_near = text::seconds_left(end) < CERTIFICATE_WARNING;
        writeln!(console.out, "{}", if is_near { Paint::Bad.on(&line, console.colour) } else { line })?;
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
            state(member),
            member.certificate_not_after_unix_s.map(text::time_left).unwrap_or_default(),
        ]
    });
    text::table(&["", "id", "member", "address", "role", "priority", "health", "state", "certificate"], rows, console)?;
    for member in members.iter().filter(|member| !member.differs_in.is_empty()) {
        let (name, parts) = (&member.name, member.differs_in.join(", "));
        let warning = format!("{name} has another configuration than this node, where all must agree: {parts}");
        writeln!(console.out, "{}", Paint::Bad.on(&warning, console.colour))?;
    }
    Ok(())
}

/// A member's state: whether it is up, whether it does not vote yet although it is to, and whether its disk works.
fn state(member: &MemberStatus) -> String {
    let mut words = vec![if member.up { "up" } else { "down" }];
    words.extend(member.joining.then_some("joining"));
    words.extend((member.up && member.disk_fails).then_some("disk fails"));
    words.join(", ")
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
