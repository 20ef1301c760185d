//! A table from the model checker: what all executions of an anonymous ring have in common.

use std::sync::atomic::AtomicBool;

use hustings_check::{
    Channels, CheckRequest, ExploreOptions, Limits, MaxMessages, Property, Report, Subject, Verdict, cases, explore,
};
use hustings_elections::Catalogue;
use hustings_sim::simulate::ElectionSpec;

use super::CompareError;

/// The rings that are checked: nodes, and ids to draw from. With one id there are no coins.
const RINGS: [(u32, u32); 4] = [(2, 1), (3, 1), (2, 2), (3, 3)];

/// A column: its name, its description and its values.
type Column = (&'static str, &'static str, Vec<i64>);

/// Itai–Rodeh on small rings with FIFO links: whether there are cycles, and whether a fair scheduler can prevent the
/// end whatever coins show.
pub(super) fn anonymous() -> Result<Vec<Column>, CompareError> {
    let mut columns: [Vec<i64>; 6] = Default::default();
    for (nodes, ids) in RINGS {
        let report = check(nodes, ids)?;
        let is_violated = |property| {
            let verdicts = report.cases.iter().filter_map(|case| case.findings.of(property));
            i64::from(verdicts.max() == Some(Verdict::Violated))
        };
        let states = report.cases.iter().map(|case| case.findings.states as i64).sum();
        let row = [
            i64::from(nodes),
            i64::from(ids),
            i64::from(ids > 1),
            is_violated(Property::Termination),
            i64::from(report.max_messages() == MaxMessages::Unbounded),
            states,
        ];
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let heads = [
        ("nodes", "nodes"),
        ("ids", "ids to draw from"),
        ("coins", "whether there are coins (1: yes)"),
        ("infinite", "whether a fair scheduler can go on forever, whatever coins show (1: yes)"),
        ("cycles", "whether executions of any length exist (1: yes)"),
        ("states", "states that were explored"),
    ];
    Ok(heads.into_iter().zip(columns).map(|((name, about), values)| (name, about, values)).collect())
}

fn check(nodes: u32, ids: u32) -> Result<Report, CompareError> {
    let wrong = |problem: &dyn std::fmt::Display| CompareError::new("check-anonymous", problem);
    let catalogue = Catalogue::default();
    let known = catalogue.find("itai-rodeh").ok_or_else(|| wrong(&"no itai-rodeh"))?;
    let election = known.election(&[format!("ids={ids}")]).map_err(|error| wrong(&error))?;
    let spec = ElectionSpec { nodes: Some(nodes), ..ElectionSpec::default() };
    let subject = Subject {
        about: election.about(),
        scenario: election.build(&spec).map_err(|error| wrong(&error))?.scenario,
        delay_bound: election.delay_bound(),
        has_default_params: election.has_default_params(),
        expected: &|scenario| election.expected(scenario),
        protocol: &|scenario| election.protocol(scenario),
    };
    let request = CheckRequest { election: spec, channels: Some(Channels::Fifo), ..CheckRequest::default() };
    let cases = cases(&subject, &request).map_err(|error| wrong(&error))?;
    // Some thousand states.
    let options = ExploreOptions { threads: 1, limits: Limits::NONE, keep_going: true };
    Ok(explore(cases.cases, &options, &AtomicBool::new(false), &mut |_| {}))
}
