//! What was found, as one JSON object. The order of its keys is part of its form.

use hustings_check::{Most, Verdict};
use serde_json::{Map, Value, json};

use super::{Checked, proof, readers, word};
use crate::check::explore::{Proof, Tried};
use crate::cli::report::json::typed;

/// The object.
pub(super) fn render(checked: &Checked) -> Value {
    let found = &checked.explored;
    let params: Map<String, Value> =
        checked.election.params().iter().map(|(name, value)| ((*name).to_string(), typed(value))).collect();
    let property = |(property, verdict): (hustings_check::Property, Verdict)| {
        json!({
            "name": property.name(),
            "says": property.says(),
            "source": property.source(),
            "verdict": word(verdict),
        })
    };
    json!({
        "algorithm": checked.election.about().name,
        "nodes": checked.scenario.network.members(),
        "params": params,
        "runs": checked.scenario.runs,
        "channels": checked.links().to_string(),
        "timing": readers::timing_words(checked.timing),
        "crashes": checked.budget.crashes,
        "recoveries": checked.budget.recoveries,
        "verdict": checked.verdict(),
        "complete": found.is_complete(),
        "vacuous": found.is_vacuous(),
        "states": found.states(),
        "generated": found.generated(),
        "depth": found.depth(),
        "seconds": found.took.as_secs_f64(),
        "messages": {"most": most(found.most_messages()), "bound": checked.bound},
        "properties": found.verdicts().into_iter().map(property).collect::<Vec<_>>(),
        "counterexample": found.proof.as_ref().map(|proof| counterexample(checked, proof)),
        "cases": found.cases.iter().map(|case| tried(checked, case)).collect::<Vec<_>>(),
        "cases_left": found.left,
    })
}

/// `null` if there is no bound.
pub(super) fn most(most: Most) -> Option<u64> {
    match most {
        Most::Messages(most) => Some(most),
        Most::Unbounded => None,
    }
}

fn tried(checked: &Checked, case: &Tried) -> Value {
    let findings = &case.findings;
    json!({
        "ids": checked.ids(&case.ids),
        "initiators": case.starters,
        "verdict": word(findings.verdict()),
        "states": findings.worlds,
        "generated": findings.generated,
        "ends": findings.ends,
        "depth": findings.depth,
        "most_messages": most(findings.most_messages),
    })
}

fn counterexample(checked: &Checked, found: &Proof) -> Value {
    let starters: Vec<u32> = found.scenario.starts.iter().map(|start| start.at).collect();
    json!({
        "property": found.property.name(),
        "ids": checked.ids(&found.scenario.ids),
        "initiators": starters,
        "steps": found.steps,
        "repeats_from": found.repeats_from,
        // Writing to memory cannot fail.
        "text": proof::lines(checked, found).unwrap_or_default(),
        "records": found.records,
    })
}
