//! A state that was acknowledged is read by everyone who asks afterwards, until another one takes its place; and what
//! is read is one state as a whole.
//!
//! Which of two states took effect later is certain if its token is greater, or if it was sent when the other one had
//! been acknowledged. A state whose outcome its keeper did not learn may take effect at any time while its token
//! holds.

use std::collections::{BTreeMap, BTreeSet};

use super::{Rule, Violation, phases, seconds};
use crate::history::{Event, Scenario, StoreOutcome};

/// In a recovery phase of this length, in nanoseconds, every keeper gets to read a state, even if it still waits for an
/// answer from before.
pub(crate) const READ_TIME: u64 = 6_000_000_000;

/// A state that somebody stored, or tried to.
struct Stored {
    office: String,
    token: u64,
    outcome: StoreOutcome,
    began: u64,
    at: u64,
    /// From when it is certain that it took effect: it was acknowledged, or read.
    known_at: u64,
}

impl Stored {
    /// Whether it took effect later than another one of its office, if both did.
    fn is_after(&self, other: &Stored) -> bool {
        let follows = other.outcome == StoreOutcome::Done && self.began > other.at;
        self.token > other.token || (self.token == other.token && follows)
    }
}

/// An answer to the question what the state of an office is.
struct Answer<'a> {
    node: &'a str,
    office: &'a str,
    token: u64,
    number: Option<u64>,
    began: u64,
    at: u64,
}

/// Checks the states that a history's keepers stored and read.
pub(super) fn check(events: &[Event]) -> Vec<Violation> {
    let mut stored: BTreeMap<u64, Stored> = BTreeMap::new();
    let (mut answers, mut violations) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            Event::Stored { office, token, number, outcome, began, at, .. } => {
                let known_at = if *outcome == StoreOutcome::Done { *at } else { u64::MAX };
                let (office, token, outcome, began, at) = (office.clone(), *token, *outcome, *began, *at);
                stored.insert(*number, Stored { office, token, outcome, began, at, known_at });
            }
            Event::StateRead { node, office, is_damaged: true, at, .. } => {
                let what = format!("{node} gave a state of `{office}` that is not one state as a whole");
                violations.push(Violation { rule: Rule::State, at: *at, what });
            }
            Event::StateRead { node, office, token, number, began, at, .. } => {
                answers.push(Answer { node, office, token: *token, number: *number, began: *began, at: *at });
            }
            _ => {}
        }
    }
    for answer in &answers {
        if let Some(read) = answer.number.and_then(|number| stored.get_mut(&number)) {
            read.known_at = read.known_at.min(answer.at);
        }
    }
    violations.extend(answers.iter().filter_map(|answer| check_answer(answer, &stored)));
    violations
}

/// Fails if there was nothing to check: nodes that answer no question about states violate no rule above.
pub(super) fn check_presence(scenario: &Scenario, events: &[Event]) -> Vec<Violation> {
    let long: Vec<_> =
        phases::recoveries(events).into_iter().filter(|phase| phase.to - phase.from >= READ_TIME).collect();
    let violation = |at: u64, what: String| Violation { rule: Rule::State, at, what };
    let mut violations = Vec::new();
    for phase in &long {
        let read: BTreeSet<&str> = events
            .iter()
            .filter_map(|event| match event {
                Event::StateRead { node, began, at, .. } if *began >= phase.from && *at <= phase.to => Some(&**node),
                _ => None,
            })
            .collect();
        let silent = scenario.nodes.iter().filter(|node| !read.contains(node.name.as_str()));
        violations.extend(silent.map(|node| {
            violation(
                phase.from,
                format!("{} gave no state that a majority confirmed, although all faults were healed", node.name),
            )
        }));
    }
    let is_stored = |event: &Event| matches!(event, Event::Stored { outcome: StoreOutcome::Done, .. });
    if let Some(phase) = long.last().filter(|_| !events.iter().any(is_stored)) {
        violations.push(violation(phase.from, "no state was stored in the whole run".to_string()));
    }
    violations
}

fn check_answer(answer: &Answer<'_>, stored: &BTreeMap<u64, Stored>) -> Option<Violation> {
    let read = answer.number.and_then(|number| stored.get(&number));
    let problem = match (answer.number, read) {
        (Some(number), None) => Some(format!("state {number}, which nobody stored")),
        (Some(number), Some(read)) if read.office != answer.office || read.token != answer.token => {
            let (office, token) = (&read.office, read.token);
            Some(format!("state {number} with token {}, which is of `{office}` with token {token}", answer.token))
        }
        (Some(number), Some(read)) if read.outcome == StoreOutcome::Refused => {
            Some(format!("state {number}, which was refused"))
        }
        _ => stored.iter().find_map(|(later, one)| {
            let is_known = one.office == answer.office && one.known_at < answer.began;
            let is_missed = is_known && read.is_none_or(|read| one.is_after(read));
            let found = answer.number.map_or("no state".to_string(), |number| format!("state {number}"));
            is_missed.then(|| format!("{found}, although state {later} had been stored by {}", seconds(one.known_at)))
        }),
    };
    let (node, office, began) = (answer.node, answer.office, seconds(answer.began));
    let what = format!("{node}, asked at {began} for the state of `{office}`, gave {}", problem?);
    Some(Violation { rule: Rule::State, at: answer.at, what })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::super::{Rule, check};
    use super::{READ_TIME, check_presence};
    use crate::history::Event;
    use crate::history::StoreOutcome::{self, Done, Refused, Unknown};

    fn stored(number: u64, token: u64, outcome: StoreOutcome, began: u64, at: u64) -> Event {
        Event::Stored { node: "n1".to_string(), office: "x".to_string(), token, number, outcome, began, at }
    }

    fn read(number: Option<u64>, token: u64, began: u64) -> Event {
        let (node, office, is_damaged) = ("n2".to_string(), "x".to_string(), false);
        Event::StateRead { node, office, token, number, is_damaged, began, at: began + 1 }
    }

    fn found(events: &[Event]) -> Vec<Rule> {
        rules(&check(&with_recovery(events)))
    }

    #[test]
    fn what_was_acknowledged_must_be_read() {
        let first = || stored(1, 5, Done, 10, 20);
        assert_eq!(found(&[first(), read(Some(1), 5, 30)]), []);
        assert_eq!(found(&[first(), read(None, 0, 15)]), [], "it was not acknowledged yet");
        assert_eq!(found(&[first(), read(None, 0, 30)]), [Rule::State]);
        assert_eq!(found(&[first(), stored(2, 5, Done, 21, 30), read(Some(1), 5, 40)]), [Rule::State]);
        assert_eq!(found(&[first(), stored(2, 5, Done, 15, 30), read(Some(1), 5, 40)]), [], "at the same time");
        assert_eq!(found(&[first(), stored(2, 6, Done, 15, 30), read(Some(1), 5, 40)]), [Rule::State]);
        assert_eq!(found(&[first(), stored(2, 5, Unknown, 25, 26), read(Some(1), 5, 40)]), []);
        assert_eq!(found(&[first(), stored(2, 5, Unknown, 25, 26), read(Some(2), 5, 40)]), []);
    }

    #[test]
    fn what_was_read_once_is_not_forgotten() {
        let events = [stored(1, 5, Done, 10, 20), stored(2, 5, Unknown, 25, 26), read(Some(2), 5, 40)];
        assert_eq!(found(&[&events[..], &[read(Some(1), 5, 50)]].concat()), [Rule::State]);
        assert_eq!(found(&[&events[..], &[read(Some(1), 5, 40)]].concat()), [], "asked at the same time");
    }

    #[test]
    fn what_is_read_was_stored_with_its_token_and_is_whole() {
        assert_eq!(found(&[read(Some(3), 5, 10)]), [Rule::State]);
        assert_eq!(found(&[stored(3, 4, Done, 1, 2), read(Some(3), 5, 10)]), [Rule::State]);
        assert_eq!(found(&[stored(3, 5, Refused, 1, 2), read(Some(3), 5, 10)]), [Rule::State]);
        let (node, office) = ("n2".to_string(), "x".to_string());
        let damaged = Event::StateRead { node, office, token: 5, number: None, is_damaged: true, began: 1, at: 2 };
        assert_eq!(found(&[damaged]), [Rule::State]);
    }

    /// A recovery phase of this length in which these nodes give a state, after one was stored with this outcome.
    fn recovered(length: u64, nodes: &[&str], outcome: StoreOutcome) -> Vec<Rule> {
        let from = 10;
        let mut events = vec![Event::Scenario(scenario()), stored(1, 5, outcome, 1, 2), Event::Recovery { at: from }];
        events.extend(nodes.iter().map(|node| Event::StateRead {
            node: node.to_string(),
            office: "x".to_string(),
            token: 5,
            number: Some(1),
            is_damaged: false,
            began: from,
            at: from + 1,
        }));
        events.push(Event::RecoveryOver { at: from + length });
        let found = check_presence(&scenario(), &events);
        found.into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn every_node_gives_states_when_all_faults_are_healed() {
        let all = ["n1", "n2", "n3"];
        assert_eq!(recovered(READ_TIME, &all, Done), []);
        assert_eq!(recovered(READ_TIME, &all[..2], Done), [Rule::State]);
        assert_eq!(recovered(READ_TIME, &[], Done), [Rule::State; 3]);
        assert_eq!(recovered(READ_TIME - 1, &[], Done), [], "there was too little time");
        assert_eq!(recovered(READ_TIME, &all, Unknown), [Rule::State], "nothing was stored");
    }
}
