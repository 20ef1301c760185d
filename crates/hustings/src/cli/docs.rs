//! The catalogue in words: shared by `hustings list` and the table in the docs.

use std::fmt::Write;

use hustings_algorithms::catalogue::{ENTRIES, Entry};
use hustings_algorithms::{
    Assumptions, Case, Certainty, Cost, CostDelays, Direction, Family, Goal, Identity, Initiators, Knowledge,
    NetworkKind, Source, Synchrony,
};

use super::claims::{answer, evidence, survives};

/// The built-in algorithms as a page of Markdown: `docs/algorithms.md` is this text, and a test compares the two.
pub fn markdown() -> String {
    let mut page = String::from(
        "# The algorithms\n\n\
         This page is made from the catalogue; do not edit it. Messages are those of the default starters and\n\
         parameters, the announcement of the leader included.\n\n\
         | Name | Network | Needs | Messages: best | average | worst | Comes from |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for entry in ENTRIES {
        let about = &entry.about;
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| [{name}](#{name}) | {} | {} | {} | {} | {} | {} |",
            network(about.network),
            needs(about.assumptions, about.certainty).join(", "),
            cost(entry, Case::Best),
            cost(entry, Case::Average),
            cost(entry, Case::Worst),
            escaped(about.source.authors),
            name = about.name,
        );
    }
    for entry in ENTRIES {
        let about = &entry.about;
        let _ = writeln!(page, "\n## {}\n\n{}.\n", about.name, capitalised(about.summary));
        for (name, text) in facts(entry) {
            let _ = writeln!(page, "- {name}: {text}");
        }
        for parameter in entry.parameters {
            let _ = writeln!(page, "- `-p {}=…`: {} ({})", parameter.name, parameter.help, parameter.allowed);
        }
    }
    page
}

/// What there is to say about an algorithm, beside its name, summary and parameters.
pub(crate) fn facts(entry: &Entry) -> Vec<(&'static str, String)> {
    let about = &entry.about;
    let mut facts = Vec::new();
    if !about.aliases.is_empty() {
        facts.push(("also called", about.aliases.join(", ")));
    }
    facts.push(("family", family(about.family).to_string()));
    facts.push(("network", network(about.network).to_string()));
    facts.push(("needs", needs(about.assumptions, about.certainty).join(", ")));
    facts.push(("answer", answer(about)));
    facts.push(("started by", initiators(about.initiators).to_string()));
    let again = if about.repeats { "yes" } else { "no, one election only" };
    facts.push(("again after its leader is lost", again.to_string()));
    facts.push(("survives by itself", survives(about)));
    facts.push(("shown by", evidence(about).join("; ")));
    if about.network == NetworkKind::InformedRing {
        facts.push(("in runs", "there is no informer: it elects as token-ring does".to_string()));
    }
    if about.inputs.votes {
        facts.push(("takes", "--votes".to_string()));
    }
    if about.inputs.cheats {
        facts.push(("takes", "--cheat".to_string()));
    }
    if about.goal == Goal::Estimate {
        facts.push(("finds", "an estimate of the number of nodes, no leader".to_string()));
    }
    facts.push(("kinds of messages", entry.kinds.join(", ")));
    let costs: Vec<String> = about.costs.iter().map(ToString::to_string).collect();
    facts.push(("messages", costs.join("; ")));
    if about.cost_delays != CostDelays::Any {
        facts.push(("these hold", about.cost_delays.to_string()));
    }
    if about.source == Source::UNPUBLISHED {
        facts.push(("comes from", "unpublished".to_string()));
    } else {
        facts.push(("comes from", format!("{}: {}", about.source.authors, about.source.title)));
        facts.push(("described by", about.source.text.to_string()));
    }
    facts
}

/// The formula for a case, or a dash.
pub(crate) fn cost(entry: &Entry, case: Case) -> String {
    let cost = entry.about.costs.iter().find(|cost| cost.case == case);
    cost.map_or_else(|| "–".to_string(), |cost| format!("{}{}", if is_bound(cost) { "≤ " } else { "" }, cost.formula))
}

/// Whether the formula is known to be no more than a bound.
fn is_bound(cost: &Cost) -> bool {
    cost.messages.is_some() && !cost.exact
}

pub(crate) fn family(family: Family) -> &'static str {
    match family {
        Family::Ring => "ring",
        Family::Hierarchy => "hierarchy",
        Family::Complete => "complete",
        Family::Graph => "graph",
        Family::Anonymous => "anonymous",
    }
}

pub(crate) fn network(kind: NetworkKind) -> &'static str {
    match kind {
        NetworkKind::Ring => "ring",
        NetworkKind::InformedRing => "ring with informer",
        NetworkKind::Complete => "complete",
        NetworkKind::Graph => "graph",
        NetworkKind::Tree => "tree",
    }
}

pub(crate) fn initiators(initiators: Initiators) -> &'static str {
    match initiators {
        Initiators::All => "every live node",
        Initiators::LowestLive => "the lowest live position",
    }
}

/// What must hold, in a few words each.
pub(crate) fn needs(assumptions: Assumptions, certainty: Certainty) -> Vec<&'static str> {
    let mut needs = vec![match assumptions.direction {
        Direction::Directed => "one-way links",
        Direction::TwoWay => "two-way links",
    }];
    if assumptions.fifo {
        needs.push("FIFO");
    }
    needs.push(match assumptions.identity {
        Identity::Unique => "ids",
        Identity::Anonymous => "no ids",
    });
    match assumptions.knows {
        Knowledge::Neighbours => {}
        Knowledge::Size => needs.push("n known"),
        Knowledge::Members => needs.push("all members known"),
    }
    if assumptions.synchrony == Synchrony::Synchronous {
        needs.push("bounded delays");
    }
    if certainty != Certainty::Always {
        needs.push("coins");
    }
    needs
}

/// A cell must not hold the sign between cells.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
