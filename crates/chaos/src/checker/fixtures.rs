//! Short histories for tests, with small numbers as moments.

use super::{Rule, Verdict};
use crate::history::{Event, Scenario, ScenarioNode, ScenarioOffice};

/// The length of a lease.
pub(super) const LEASE: u64 = 100;
/// How long after the last fault the right candidate must lead.
pub(super) const BOUND: u64 = 400;

/// How long processes may take to start, an office may be vacant, and a node may be unsure.
pub(super) const RESTART: u64 = 5_000;
pub(super) const MAX_VACANCY: u64 = 1_000;
pub(super) const MAX_UNCERTAINTY: u64 = 1_000;

/// Three nodes, of which the first is the best. `x` is exclusive and can be preempted, `f` is fenced and cannot.
pub(super) fn scenario() -> Scenario {
    let node = |name: &str, priority| ScenarioNode { name: name.to_string(), priority, ppm: 0 };
    let office = |name: &str, exclusive| ScenarioOffice { name: name.to_string(), exclusive, preempts: exclusive };
    Scenario {
        seed: 1,
        nodes: vec![node("n1", 3), node("n2", 2), node("n3", 1)],
        offices: vec![office("x", true), office("f", false)],
        arbiter: true,
        lease: LEASE,
        drift_ppm: 0,
        bound: BOUND,
        restart: RESTART,
        max_vacancy: MAX_VACANCY,
        max_uncertainty: MAX_UNCERTAINTY,
    }
}

/// The name of the client of a node and office.
fn client(node: &str, office: &str) -> String {
    format!("{node}.{office}")
}

pub(super) fn acquired(node: &str, office: &str, token: u64, from: u64, deadline: u64) -> Event {
    Event::Acquired {
        node: node.to_string(),
        client: client(node, office),
        office: office.to_string(),
        exclusive: office != "f",
        token,
        from,
        deadline,
    }
}

pub(super) fn renewed(node: &str, office: &str, token: u64, at: u64, deadline: u64) -> Event {
    Event::Renewed { client: client(node, office), office: office.to_string(), token, at, deadline }
}

pub(super) fn released(node: &str, office: &str, token: u64, at: u64) -> Event {
    let why = "stop".to_string();
    Event::Released { client: client(node, office), office: office.to_string(), token, at, why }
}

pub(super) fn write(number: u64, node: &str, office: &str, token: u64, accepted: bool, at: u64) -> Event {
    Event::Write { number, client: client(node, office), office: office.to_string(), token, accepted, at }
}

/// A read that took one nanosecond.
pub(super) fn read(node: &str, office: &str, holder: Option<&str>, token: u64, current: bool, began: u64) -> Event {
    let (node, office, holder) = (node.to_string(), office.to_string(), holder.map(str::to_string));
    Event::Read { node, office, holder, token, current, began, at: began + 1 }
}

/// An operator's request that was carried out at once.
pub(super) fn operator(request: &str, office: &str, to: Option<&str>, began: u64) -> Event {
    let (request, office, to) = (request.to_string(), Some(office.to_string()), to.map(str::to_string));
    Event::Operator { request, office, to, done: true, began, at: began + 1 }
}

/// A recovery phase in which these nodes name this holder of `x`, except that the node at `odd_one`, counted from 1,
/// names another one.
pub(super) fn recovery_at(at: u64, nodes: &[&str], holder: Option<&str>, token: u64, odd_one: usize) -> Vec<Event> {
    let mut events = vec![Event::Recovery { at }];
    for (number, node) in nodes.iter().enumerate() {
        let named = if number + 1 == odd_one { Some("n9") } else { holder };
        events.push(read(node, "x", named, token, true, at + BOUND));
    }
    events.push(Event::RecoveryOver { at: at + 2 * BOUND });
    events
}

/// These events in a history that has a scenario and ends with a recovery phase that passes every rule.
pub(super) fn with_recovery(events: &[Event]) -> Vec<Event> {
    let mut history = vec![Event::Scenario(scenario())];
    history.extend_from_slice(events);
    let late = 1_000_000_000;
    history.push(acquired("n1", "x", u64::MAX, late, late + 9 * BOUND));
    history.push(acquired("n1", "f", u64::MAX, late, late + 9 * BOUND));
    history.push(Event::Recovery { at: late });
    for node in ["n1", "n2", "n3"] {
        history.push(read(node, "x", Some("n1"), u64::MAX, true, late + BOUND));
        history.push(read(node, "f", Some("n1"), u64::MAX, true, late + BOUND));
    }
    history.push(Event::RecoveryOver { at: late + 2 * BOUND });
    history
}

/// A history with events of every kind and no violation.
pub(super) fn good_history() -> Vec<Event> {
    with_recovery(&[
        Event::Majority { healthy: true, at: 5 },
        acquired("n2", "x", 1, 10, 80),
        acquired("n2", "f", 2, 10, 80),
        write(1, "n2", "f", 2, true, 12),
        Event::Majority { healthy: false, at: 100 },
        write(2, "n2", "f", 2, true, 13),
        write(3, "n3", "f", 1, false, 14),
    ])
}

pub(super) fn rules(verdict: &Verdict) -> Vec<Rule> {
    verdict.violations.iter().map(|violation| violation.rule).collect()
}
