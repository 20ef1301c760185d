//! After all faults are healed, every node soon gives answers that a majority confirmed, and goes on doing so.

use super::phases::{self, Phase};
use super::{Rule, Violation, milliseconds};
use crate::history::{Event, Scenario};

/// Checks all recovery phases.
pub(super) fn check(scenario: &Scenario, events: &[Event]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for phase in phases::recoveries(events) {
        for node in &scenario.nodes {
            for office in &scenario.offices {
                let gap = longest_gap(phase, answers(events, phase, &node.name, &office.name));
                if gap.to - gap.from > scenario.max_uncertainty {
                    let what = format!(
                        "{} gave no current answer about `{}` for {}, although all faults were healed; allowed are {}",
                        node.name,
                        office.name,
                        milliseconds(gap.to - gap.from),
                        milliseconds(scenario.max_uncertainty)
                    );
                    violations.push(Violation { rule: Rule::Uncertain, at: gap.from, what });
                }
            }
        }
    }
    violations
}

/// When a node gave current answers about an office within a phase.
fn answers<'a>(
    events: &'a [Event],
    phase: Phase,
    asked: &'a str,
    about: &'a str,
) -> impl Iterator<Item = u64> + use<'a> {
    events.iter().filter_map(move |event| match event {
        Event::Read { node, office, current: true, began, at, .. }
            if node == asked && office == about && *began >= phase.from && *at <= phase.to =>
        {
            Some(*at)
        }
        _ => None,
    })
}

/// The longest time within a phase without an answer. A node's answers are in the order of time.
fn longest_gap(phase: Phase, answers: impl Iterator<Item = u64>) -> Phase {
    let mut longest = Phase { from: phase.from, to: phase.from };
    let mut since = phase.from;
    for at in answers.chain([phase.to]) {
        if at.saturating_sub(since) > longest.to - longest.from {
            longest = Phase { from: since, to: at };
        }
        since = at;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::super::{Rule, check};
    use super::*;

    /// A recovery phase from 20,000 to 40,000 in which n2 does not confirm who holds `x` from `from` to `to`.
    fn history(from: u64, to: u64, change: impl Fn(&mut Vec<Event>)) -> Vec<Rule> {
        let mut events = vec![
            Event::Scenario(scenario()),
            acquired("n1", "x", 9, 9_000, 50_000),
            acquired("n1", "f", 9, 9_000, 50_000),
            Event::Recovery { at: 20_000 },
        ];
        for node in ["n1", "n2", "n3"] {
            for at in (20_000..40_000).step_by(100) {
                let is_sure = node != "n2" || !(from..to).contains(&at);
                events.push(read(node, "x", Some("n1"), 9, is_sure, at));
                events.push(read(node, "f", Some("n1"), 9, true, at));
            }
        }
        events.push(Event::RecoveryOver { at: 40_000 });
        change(&mut events);
        check(&events).violations.iter().map(|found| found.rule).filter(|rule| *rule == Rule::Uncertain).collect()
    }

    #[test]
    fn accepts_a_node_that_is_current_in_time() {
        assert_eq!(history(20_000, 20_000, |_| {}), []);
        assert_eq!(history(20_000, 20_000 + MAX_UNCERTAINTY - 100, |_| {}), []);
        assert_eq!(history(0, 20_000, |_| {}), [], "before the recovery phase nodes may be unsure");
    }

    #[test]
    fn reports_a_node_that_stays_unsure_or_becomes_unsure() {
        assert_eq!(history(20_000, 20_100 + MAX_UNCERTAINTY, |_| {}), [Rule::Uncertain]);
        assert_eq!(history(30_000, 30_100 + MAX_UNCERTAINTY, |_| {}), [Rule::Uncertain]);
        assert_eq!(history(39_900 - MAX_UNCERTAINTY, 40_000, |_| {}), [Rule::Uncertain], "up to the end");
        assert_eq!(history(20_000, 40_000, |_| {}), [Rule::Uncertain]);
    }

    #[test]
    fn a_stall_of_the_machine_restarts_the_time() {
        let stall = |events: &mut Vec<Event>| events.push(Event::Stall { from: 20_500, at: 20_600 });
        assert_eq!(history(20_000, 20_100 + MAX_UNCERTAINTY, stall), []);
    }

    #[test]
    fn reports_a_node_that_does_not_answer_at_all() {
        let silent = |events: &mut Vec<Event>| {
            events.retain(|event| !matches!(event, Event::Read { node, .. } if node == "n3"));
        };
        assert_eq!(history(20_000, 20_000, silent), [Rule::Uncertain; 2], "for both offices");
    }
}
