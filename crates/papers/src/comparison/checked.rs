//! Tables from the model checker: what all executions of small networks have in common.

use std::sync::atomic::AtomicBool;

use hustings_check::{
    Channels, CheckRequest, ExploreOptions, FaultBudget, Limits, MaxMessages, Property, Report, Subject, Timing,
    Verdict, cases, explore,
};
use hustings_elections::Catalogue;
use hustings_sim::simulate::ElectionSpec;

use super::CompareError;

/// The rings that are checked: nodes, and ids to draw from. With one id there are no coins.
const RINGS: [(u32, u32); 4] = [(2, 1), (3, 1), (2, 2), (3, 3)];

/// A column: its name and its values.
type Column = (&'static str, Vec<i64>);

/// Itai–Rodeh on small rings with FIFO links: whether there are cycles, and whether a fair scheduler can prevent the
/// end whatever coins show.
pub(super) fn anonymous() -> Result<Vec<Column>, CompareError> {
    let mut columns: [Vec<i64>; 6] = Default::default();
    for (nodes, ids) in RINGS {
        let request = CheckRequest { channels: Some(Channels::Fifo), ..CheckRequest::default() };
        let report = check("check-anonymous", "itai-rodeh", &format!("ids={ids}"), nodes, request)?;
        let row = [
            i64::from(nodes),
            i64::from(ids),
            i64::from(ids > 1),
            is_violated(&report, Property::Termination),
            i64::from(report.max_messages() == MaxMessages::Unbounded),
            states(&report),
        ];
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    Ok(["nodes", "ids", "coins", "infinite", "cycles", "states"].into_iter().zip(columns).collect())
}

/// What may happen to a campaigner among three: crashes, recoveries, and the slowest message. It waits for messages
/// that take one tick.
const TROUBLES: [(u8, u8, u32); 4] = [(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 0, 2)];

/// Datley's election on three nodes: what can go wrong, at any time and in any order.
pub(super) fn campaigner() -> Result<Vec<Column>, CompareError> {
    let mut columns: [Vec<i64>; 6] = Default::default();
    for (crashes, recoveries, slowest) in TROUBLES {
        let request = CheckRequest {
            timing: Some(Timing::Bounded(slowest)),
            faults: FaultBudget { crashes, recoveries, ..FaultBudget::default() },
            ..CheckRequest::default()
        };
        let report = check("check-campaigner", "campaigner", "T=1", 3, request)?;
        let row = [
            i64::from(crashes),
            i64::from(recoveries),
            i64::from(slowest),
            is_violated(&report, Property::OneLeader),
            is_violated(&report, Property::Agreement),
            states(&report),
        ];
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    Ok(["crashes", "recoveries", "slowest", "two", "split", "states"].into_iter().zip(columns).collect())
}

fn is_violated(report: &Report, property: Property) -> i64 {
    let verdicts = report.cases.iter().filter_map(|case| case.findings.of(property));
    i64::from(verdicts.max() == Some(Verdict::Violated))
}

fn states(report: &Report) -> i64 {
    report.cases.iter().map(|case| case.findings.states as i64).sum()
}

/// Explores all executions of an algorithm with one parameter.
fn check(table: &str, algorithm: &str, param: &str, nodes: u32, request: CheckRequest) -> Result<Report, CompareError> {
    let wrong = |problem: &dyn std::fmt::Display| CompareError::new(table, problem);
    let catalogue = Catalogue::default();
    let known = catalogue.find(algorithm).ok_or_else(|| wrong(&format!("no {algorithm}")))?;
    let election = known.election(&[param.to_string()]).map_err(|error| wrong(&error))?;
    let spec = ElectionSpec { nodes: Some(nodes), ..ElectionSpec::default() };
    let subject = Subject {
        about: election.about(),
        scenario: election.build(&spec).map_err(|error| wrong(&error))?.scenario,
        delay_bound: election.delay_bound(),
        has_default_params: election.has_default_params(),
        expected: &|scenario| election.expected(scenario),
        protocol: &|scenario| election.protocol(scenario),
    };
    let cases = cases(&subject, &CheckRequest { election: spec, ..request }).map_err(|error| wrong(&error))?;
    // Some hundred thousand states at most.
    let options = ExploreOptions { threads: 1, limits: Limits::NONE, keep_going: true };
    Ok(explore(cases.cases, &options, &AtomicBool::new(false), &mut |_| {}))
}
