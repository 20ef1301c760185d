//! The result as one JSON object. The order of its keys is part of the format.

use hustings_check::{CaseResult, MaxMessages, Property, Verdict, Violation};
use serde_json::{Map, Value, json};

use super::{Checked, counterexample, values, verdict_text};
use crate::cli::report::json::typed;

/// The object.
pub(super) fn render(checked: &Checked) -> Value {
    let found = &checked.report;
    let params: Map<String, Value> =
        checked.election.params().iter().map(|(name, value)| ((*name).to_string(), typed(value))).collect();
    let property = |(property, verdict): (Property, Verdict)| {
        json!({
            "name": property.name(),
            "says": property.statement(),
            "source": property.source(),
            "verdict": verdict_text(verdict),
        })
    };
    json!({
        "algorithm": checked.election.about().name,
        "nodes": checked.scenario.network.members(),
        "params": params,
        "runs": checked.scenario.runs,
        "channels": checked.links().to_string(),
        "timing": values::timing_text(checked.timing),
        "crashes": checked.faults.crashes,
        "recoveries": checked.faults.recoveries,
        "verdict": checked.conclusion(),
        "complete": found.is_complete(),
        "vacuous": found.is_vacuous(),
        "states": found.states(),
        "generated": found.generated(),
        "depth": found.depth(),
        "seconds": found.elapsed.as_secs_f64(),
        "messages": {
            "most": max_messages(found.max_messages()),
            "bound": checked.message_bound.map(|(bound, _)| bound),
            "bound_not_judged": checked.unmet_cost_delays.map(|delays| format!("it holds {delays}")),
        },
        "properties": found.verdicts().into_iter().map(property).collect::<Vec<_>>(),
        "counterexample": found.violation.as_ref().map(|violation| counterexample_object(checked, violation)),
        "cases": found.cases.iter().map(|case| case_result(checked, case)).collect::<Vec<_>>(),
        "cases_left": found.cases_left,
    })
}

/// `null` if there is no bound.
pub(super) fn max_messages(max: MaxMessages) -> Option<u64> {
    match max {
        MaxMessages::Bounded(max) => Some(max),
        MaxMessages::Unknown | MaxMessages::Unbounded => None,
    }
}

fn case_result(checked: &Checked, case: &CaseResult) -> Value {
    let findings = &case.findings;
    json!({
        "ids": checked.ids(&case.ids),
        "initiators": case.initiators,
        "verdict": verdict_text(findings.verdict()),
        "states": findings.states,
        "generated": findings.generated,
        "ends": findings.terminal_states,
        "depth": findings.depth,
        "max_messages": max_messages(findings.max_messages),
    })
}

fn counterexample_object(checked: &Checked, found: &Violation) -> Value {
    let initiators: Vec<u32> = found.scenario.starts.iter().map(|start| start.at).collect();
    json!({
        "property": found.property.name(),
        "ids": checked.ids(&found.scenario.ids),
        "initiators": initiators,
        "steps": found.steps,
        "repeats_from": found.repeats_from,
        // Writing to memory cannot fail.
        "text": counterexample::lines(checked, found).unwrap_or_default(),
        "records": found.records,
    })
}
