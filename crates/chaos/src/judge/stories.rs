//! Short records for tests: moments are small numbers.

use super::{Rule, Verdict};
use crate::history::{Event, Facts, NodeFacts, OfficeFacts};

/// The length of a lease.
pub(super) const LEASE: u64 = 100;
/// How long after the last fault the right one must lead.
pub(super) const BOUND: u64 = 400;

/// Three nodes, the first the best; `x` and `leader` are exclusive and go to the best, `f` is fenced and stays.
pub(super) fn facts() -> Facts {
    let node = |name: &str, priority| NodeFacts { name: name.to_string(), priority, ppm: 0 };
    let office = |name: &str, exclusive| OfficeFacts { name: name.to_string(), exclusive, better: exclusive };
    Facts {
        seed: 1,
        nodes: vec![node("n1", 3), node("n2", 2), node("n3", 1)],
        offices: vec![office("x", true), office("f", false)],
        arbiter: true,
        lease: LEASE,
        drift_ppm: 0,
        bound: BOUND,
    }
}

/// One client a node and office.
fn client(node: &str, office: &str) -> String {
    format!("{node}.{office}")
}

pub(super) fn claimed(node: &str, office: &str, token: u64, from: u64, deadline: u64) -> Event {
    Event::Claimed {
        node: node.to_string(),
        client: client(node, office),
        office: office.to_string(),
        exclusive: office != "f",
        token,
        from,
        deadline,
    }
}

pub(super) fn until(node: &str, office: &str, token: u64, at: u64, deadline: u64) -> Event {
    Event::Until { client: client(node, office), office: office.to_string(), token, at, deadline }
}

pub(super) fn ended(node: &str, office: &str, token: u64, at: u64) -> Event {
    let why = "stop".to_string();
    Event::Ended { client: client(node, office), office: office.to_string(), token, at, why }
}

pub(super) fn wrote(number: u64, node: &str, office: &str, token: u64, accepted: bool, at: u64) -> Event {
    Event::Wrote { number, client: client(node, office), office: office.to_string(), token, accepted, at }
}

/// A read that took one nanosecond.
pub(super) fn read(node: &str, office: &str, holder: Option<&str>, token: u64, current: bool, began: u64) -> Event {
    let (node, office, holder) = (node.to_string(), office.to_string(), holder.map(str::to_string));
    Event::Read { node, office, holder, token, current, began, at: began + 1 }
}

/// A calm in which all these nodes name this holder of `x`, and the node of this number names somebody else.
pub(super) fn calm_at(at: u64, nodes: &[&str], holder: Option<&str>, token: u64, odd_one: usize) -> Vec<Event> {
    let mut events = vec![Event::Calm { at }];
    for (number, node) in nodes.iter().enumerate() {
        let named = if number + 1 == odd_one { Some("n9") } else { holder };
        events.push(read(node, "x", named, token, true, at + BOUND));
    }
    events.push(Event::CalmOver { at: at + 2 * BOUND });
    events
}

/// A story with a beginning, and an end that passes every rule.
pub(super) fn told(events: &[Event]) -> Vec<Event> {
    let mut story = vec![Event::Facts(facts())];
    story.extend_from_slice(events);
    let late = 1_000_000_000;
    story.push(claimed("n1", "x", u64::MAX, late, late + 9 * BOUND));
    story.push(claimed("n1", "f", u64::MAX, late, late + 9 * BOUND));
    story.push(Event::Calm { at: late });
    for node in ["n1", "n2", "n3"] {
        story.push(read(node, "x", Some("n1"), u64::MAX, true, late + BOUND));
        story.push(read(node, "f", Some("n1"), u64::MAX, true, late + BOUND));
    }
    story.push(Event::CalmOver { at: late + 2 * BOUND });
    story
}

/// A story in which a bit of everything happens, and nothing bad.
pub(super) fn good_story() -> Vec<Event> {
    told(&[
        Event::Majority { well: true, at: 5 },
        claimed("n2", "x", 1, 10, 80),
        claimed("n2", "f", 2, 10, 80),
        wrote(1, "n2", "f", 2, true, 12),
        Event::Majority { well: false, at: 100 },
        wrote(2, "n2", "f", 2, true, 13),
        wrote(3, "n3", "f", 1, false, 14),
    ])
}

pub(super) fn rules(verdict: &Verdict) -> Vec<Rule> {
    verdict.violations.iter().map(|violation| violation.rule).collect()
}
