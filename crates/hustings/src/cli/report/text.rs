//! The report as text.

use std::fmt::Write;

use hustings_algorithms::{About, Goal, NetworkKind};
use hustings_sim::scenario::Scenario;
use hustings_sim::topology::Network;

use super::{Report, picture};
use crate::cli::console::Paint;

/// The whole report, ending with a newline.
pub(crate) fn render(report: &Report<'_>, colour: bool) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail, so the results are ignored.
    let _ = writeln!(text, "{}", election(report.about, &report.params, report.scenario, colour));
    if let Some(picture) = picture::draw(report, colour) {
        let _ = write!(text, "\n{picture}");
    }
    let _ = writeln!(text);
    if report.goal == Goal::Leader {
        let _ = writeln!(text, "{}", leader(report, colour));
    }
    found(&mut text, report, colour);
    cheats(&mut text, report, colour);
    if report.outcome.hung {
        let told = format!("not over at tick {}: messages were still under way", report.scenario.until);
        line(&mut text, "hung", &Paint::Bad.on(&told, colour));
    }
    let _ = write!(text, "\n{}\n", messages(report, colour));
    let outcome = report.outcome;
    line(&mut text, "bytes", &outcome.bytes.to_string());
    line(&mut text, "lost", &outcome.lost.to_string());
    for (kind, count) in &outcome.notice {
        line(&mut text, kind, &format!("{count} (to notice a dead leader, not in the total)"));
    }
    let load = format!("{:.1} messages per node, {} at the busiest", outcome.load.mean, outcome.load.max);
    line(&mut text, "load", &load);
    let most = outcome.collisions.max;
    let collisions = format!("{}, at most {most} arrival{} at once", outcome.collisions.total, plural(most));
    line(&mut text, "collisions", &collisions);
    let tick = |tick: Option<u64>| tick.map_or_else(|| "never".to_string(), |tick| format!("tick {tick}"));
    line(&mut text, "elected", &tick(outcome.time.elected));
    line(&mut text, "agreed", &tick(outcome.time.agreed));
    line(&mut text, "quiescent", &tick(outcome.time.quiescent));
    line(&mut text, "seed", &report.scenario.seed.to_string());
    text
}

/// What nodes found out besides the leader.
fn found(text: &mut String, report: &Report<'_>, colour: bool) {
    let outcome = report.outcome;
    match (outcome.estimate, report.goal) {
        (Some(size), _) => line(text, "estimate", &Paint::Good.on(&format!("{size} nodes, say all of them"), colour)),
        (None, Goal::Estimate) => line(text, "estimate", &Paint::Bad.on("none that all agree on", colour)),
        (None, Goal::Leader) => {}
    }
    if !outcome.names.is_empty() {
        let mut names: Vec<u64> = outcome.names.iter().map(|(_, name)| *name).collect();
        names.sort_unstable();
        names.dedup();
        let count = names.len() as u64;
        line(text, "names", &format!("{count} different name{} for {} nodes", plural(count), outcome.names.len()));
    }
}

/// Which nodes that were told to cheat did, and who noticed it by which rule.
fn cheats(text: &mut String, report: &Report<'_>, colour: bool) {
    for (at, typed) in report.cheats() {
        let acted = if report.has_cheated(at) { "acted" } else { "had no occasion to act" };
        line(text, "cheat", &format!("{typed}: position {at} {acted}"));
    }
    if report.scenario.cheats.is_empty() {
        return;
    }
    let noticed = report.notices();
    for (at, rule) in &noticed {
        line(text, "noticed", &Paint::Good.on(&format!("by position {at}: {}", rule.statement()), colour));
    }
    if noticed.is_empty() {
        line(text, "noticed", "by nobody");
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name:<11} {value}");
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The algorithm, its network and its parameters.
pub(crate) fn election(about: &About, params: &[(&str, String)], scenario: &Scenario, colour: bool) -> String {
    let network = &scenario.network;
    let size = u64::from(network.members());
    let on = match network {
        Network::Ring(_) => "a ring".to_string(),
        Network::InformedRing(_) => "a ring with an informer outside".to_string(),
        Network::Complete(_) => "a complete network".to_string(),
        Network::Graph(_) => format!("a graph with {} link{}", network.links(), plural(network.links())),
    };
    let algorithm = Paint::Strong.on(about.name, colour);
    let runs = match (scenario.runs, about.network) {
        (false, _) => "",
        (true, NetworkKind::InformedRing) => " in runs (there is no informer: as token-ring)",
        (true, _) => " in runs",
    };
    let mut line = format!("{algorithm}{runs} on {on} of {size} node{}", plural(size));
    if !params.is_empty() {
        let params: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let _ = write!(line, " ({})", params.join(", "));
    }
    line
}

fn leader(report: &Report<'_>, colour: bool) -> String {
    let outcome = report.outcome;
    let live = u64::from(outcome.live);
    let Some(at) = outcome.leader else {
        let told = format!("no leader among {live} live node{}", plural(live));
        return format!("{:<11} {}", "leader", Paint::Bad.on(&told, colour));
    };
    let who = match report.id(at) {
        Some(id) => format!("position {at} (id {id})"),
        None => format!("position {at}"),
    };
    let others = outcome.leaders.iter().filter(|other| **other != at).count() as u64;
    let named = match (outcome.agreement, others) {
        (true, _) => Paint::Good.on(&format!("named by all {live} live nodes"), colour),
        (false, 0) => Paint::Bad.on("not all live nodes name it", colour),
        (false, _) => Paint::Bad.on(&format!("and {others} other{} claim to lead", plural(others)), colour),
    };
    let named = if outcome.agreement && live == 1 { Paint::Good.on("the only live node", colour) } else { named };
    format!("{:<11} {who}, {named}", "leader")
}

/// Messages by kind, with the formula's values.
fn messages(report: &Report<'_>, colour: bool) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:<16} {:>12} {:>12}", "messages", "sent", "formula");
    let mut row = |name: &str, sent: u64, formula: Option<u64>| {
        let shown = formula.map_or_else(|| "–".to_string(), |formula| formula.to_string());
        let verdict = match formula {
            None => String::new(),
            Some(formula) if formula == sent => format!("  {}", Paint::Good.on("✓", colour)),
            Some(formula) => {
                format!("  {}", Paint::Bad.on(&format!("{:+}", i128::from(sent) - i128::from(formula)), colour))
            }
        };
        let _ = writeln!(text, "  {name:<14} {sent:>12} {shown:>12}{verdict}");
    };
    let expected = report.expected.as_deref();
    for (index, (kind, &sent)) in report.kinds.iter().zip(&report.outcome.by_kind).enumerate() {
        row(kind, sent, expected.and_then(|expected| expected.get(index).copied()));
    }
    row("total", report.outcome.total(), expected.map(|expected| expected.iter().sum()));
    text
}
