//! The checker: finds violations in a history.
//!
//! It knows nothing about how a cluster works. It relies only on what clients were told and when:
//!
//! - [`leases`]: tenures of an exclusive office never overlap.
//! - [`tokens`]: the tokens of an office only grow, and no two clients share one.
//! - [`writes`]: the fenced store never accepts an old token after a newer one.
//! - [`reads`]: no node names a holder as current that has a successor.
//! - [`read_order`]: reads never go backward, whichever nodes are asked.
//! - [`states`]: a state that was acknowledged is read by whoever asks afterwards.
//! - [`recovery`]: after all faults are healed, the right candidate leads in time, and every node names it.
//! - [`vacancies`]: after all faults are healed, every office has a holder soon.
//! - [`certainty`]: after all faults are healed, every node soon gives answers that are current.

mod certainty;
mod gaps;
mod leases;
mod phases;
mod read_order;
mod reads;
mod recovery;
mod states;
mod tenures;
mod tokens;
mod vacancies;
mod writes;

#[cfg(test)]
mod fixtures;

use std::fmt;

use crate::history::{Event, Scenario, StoreOutcome};

pub(crate) use tenures::{Tenure, collect};

/// A rule that a history can violate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Rule {
    /// Two tenures of an exclusive office overlap.
    Overlap,
    /// A token did not grow, or two clients had the same one.
    Token,
    /// The store accepted an old token after a newer one.
    Write,
    /// A node named a holder as current that had a successor.
    Read,
    /// A node gave an older answer than another node, or itself, had given before.
    ReadOrder,
    /// A node gave an older state than one that was acknowledged, or one that nobody stored.
    State,
    /// An office had no holder for too long, although all faults were healed.
    Vacancy,
    /// A node gave no current answer for too long, although all faults were healed.
    Uncertain,
    /// In a recovery phase the right candidate did not lead in time, or not every node named it.
    Recovery,
    /// The history contradicts itself, or lacks something that must be checked.
    History,
}

impl Rule {
    /// All rules, the most severe first.
    pub(crate) const ALL: [Rule; 10] = [
        Rule::Overlap,
        Rule::Token,
        Rule::Write,
        Rule::Read,
        Rule::ReadOrder,
        Rule::State,
        Rule::Vacancy,
        Rule::Uncertain,
        Rule::Recovery,
        Rule::History,
    ];
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Overlap => "overlap",
            Rule::Token => "token",
            Rule::Write => "write",
            Rule::Read => "read",
            Rule::ReadOrder => "read-order",
            Rule::State => "state",
            Rule::Vacancy => "vacancy",
            Rule::Uncertain => "uncertain",
            Rule::Recovery => "recovery",
            Rule::History => "history",
        })
    }
}

/// A violation of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Violation {
    /// The rule.
    pub(crate) rule: Rule,
    /// When it happened.
    pub(crate) at: u64,
    /// What happened, in a sentence.
    pub(crate) what: String,
}

/// The result of checking a history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Verdict {
    /// All violations, in the order of time.
    pub(crate) violations: Vec<Violation>,
    /// Why not everything could be checked: the machine stalled.
    pub(crate) inconclusive: Option<String>,
    /// How many tenures there were.
    pub(crate) tenures: u64,
    /// How many of them began with the greatest token of their office so far: the office had a new holder.
    pub(crate) new_holders: u64,
    /// How many writes the store accepted.
    pub(crate) writes: u64,
    /// How many writes the store refused.
    pub(crate) refused: u64,
    /// How many answers nodes gave to the question who holds an office.
    pub(crate) reads: u64,
    /// How many states were stored, and how many were read.
    pub(crate) states: (u64, u64),
    /// How many recovery phases were long enough to be checked.
    pub(crate) recoveries: u64,
    /// How often the machine stalled, and the longest stall in nanoseconds.
    pub(crate) stalls: (u64, u64),
    /// The longest time without a holder while a majority was healthy: its length in nanoseconds, the office, and when
    /// it began.
    pub(crate) longest_gap: Option<(u64, String, u64)>,
}

/// Checks a history.
pub(crate) fn check(events: &[Event]) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(Event::Scenario(scenario)) = events.first() else {
        let what = "the history does not begin with its scenario".to_string();
        verdict.violations.push(Violation { rule: Rule::History, at: 0, what });
        return verdict;
    };
    let (tenures, mut violations) = collect(events);
    verdict.tenures = tenures.len() as u64;
    if scenario.arbiter {
        violations.extend(leases::check(&tenures));
        violations.extend(tokens::check(scenario, &tenures));
        violations.extend(writes::check(events, &tenures));
        violations.extend(reads::check(events, &tenures));
        violations.extend(read_order::check(events));
        violations.extend(states::check(events));
        violations.extend(states::check_presence(scenario, events));
        violations.extend(vacancies::check(scenario, events, &tenures));
        violations.extend(certainty::check(scenario, events));
    }
    let (recoveries, problems) = recovery::check(scenario, events, &tenures);
    violations.extend(problems);
    if recoveries == 0 {
        let what = "no recovery lasted long enough to be checked".to_string();
        match events.iter().any(|event| matches!(event, Event::Stall { .. })) {
            // The machine is to blame, not the nodes.
            true => verdict.inconclusive = Some(format!("{what}: the machine stalled")),
            false => violations.push(Violation { rule: Rule::History, at: 0, what }),
        }
    }
    violations.sort_by_key(|violation| (violation.at, violation.rule));
    verdict.violations = violations;
    verdict.recoveries = recoveries;
    count(events, &tenures, &mut verdict);
    verdict.longest_gap = gaps::longest(scenario, events, &tenures);
    verdict
}

fn count(events: &[Event], tenures: &[Tenure], verdict: &mut Verdict) {
    for event in events {
        match event {
            Event::Write { accepted: true, .. } => verdict.writes += 1,
            Event::Write { accepted: false, .. } => verdict.refused += 1,
            Event::Read { .. } => verdict.reads += 1,
            Event::Stored { outcome: StoreOutcome::Done, .. } => verdict.states.0 += 1,
            Event::StateRead { .. } => verdict.states.1 += 1,
            Event::Stall { from, at } => {
                verdict.stalls = (verdict.stalls.0 + 1, verdict.stalls.1.max(at.saturating_sub(*from)));
            }
            _ => {}
        }
    }
    let mut greatest = std::collections::BTreeMap::new();
    for tenure in tenures {
        let last = greatest.entry(tenure.office.as_str()).or_insert(0);
        if tenure.token > *last {
            *last = tenure.token;
            verdict.new_holders += 1;
        }
    }
}

/// Formats a moment in seconds, as the history has it.
fn seconds(moment: u64) -> String {
    format!("{}.{:06}", moment / 1_000_000_000, moment / 1000 % 1_000_000)
}

/// Formats a duration.
fn milliseconds(nanoseconds: u64) -> String {
    format!("{}.{:03} ms", nanoseconds / 1_000_000, nanoseconds / 1000 % 1000)
}

/// How long a lease on the slowest clock lasts on the fastest clock.
fn longest_lease(scenario: &Scenario) -> u64 {
    scenario.lease.saturating_add(scenario.lease / 1_000_000 * u64::from(scenario.drift_ppm))
}

#[cfg(test)]
mod tests {
    use super::fixtures::*;
    use super::*;

    #[test]
    fn reports_a_history_without_a_scenario() {
        assert_eq!(check(&[]).violations.len(), 1);
        assert_eq!(check(&[Event::Recovery { at: 1 }]).violations[0].rule, Rule::History);
    }

    #[test]
    fn a_good_history_passes_every_rule_and_is_counted() {
        let verdict = check(&good_history());
        assert_eq!(verdict.violations, []);
        assert_eq!((verdict.tenures, verdict.new_holders), (4, 4));
        assert_eq!((verdict.writes, verdict.refused), (2, 1));
        assert_eq!((verdict.reads, verdict.recoveries), (6, 1));
        assert_eq!(verdict.longest_gap, Some((20, "x".to_string(), 80)));
    }

    #[test]
    fn without_an_arbiter_only_recovery_is_checked() {
        let mut scenario = scenario();
        scenario.arbiter = false;
        let overlapping = [acquired("n1", "x", 7, 10, 100), acquired("n2", "x", 7, 50, 150)];
        let mut history = vec![Event::Scenario(scenario)];
        history.extend(overlapping);
        history.extend(recovery_at(200, &["n1", "n2", "n3"], Some("n1"), 7, 3));
        let found = check(&history).violations;
        assert!(!found.is_empty() && found.iter().all(|violation| violation.rule == Rule::Recovery), "{found:?}");
    }

    #[test]
    fn formats_moments_and_durations() {
        assert_eq!(seconds(1_234_567_890), "1.234567");
        assert_eq!(milliseconds(12_345_678), "12.345 ms");
        assert_eq!(longest_lease(&Scenario { lease: 5_000_000_000, drift_ppm: 10_000, ..scenario() }), 5_050_000_000);
    }
}
