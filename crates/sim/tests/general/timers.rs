//! Timers: when they are due, in which order, and when they count as activity.

use hustings_protocol::{Effect, Event, Port};
use hustings_sim::scenario::FaultKind;

use super::scripted::*;
use super::*;

fn fired(records: &[Record<TestMessage>]) -> Vec<(u64, u8)> {
    let each = handled(records).into_iter().filter_map(|(tick, _, event)| match event {
        Event::Timer(timer) => Some((tick, timer.kind)),
        _ => None,
    });
    each.collect()
}

fn alone(faults: Vec<Fault>) -> Scenario {
    Scenario { starts: vec![start(0, 10)], faults, ..ring(1) }
}

#[test]
fn timers_fire_by_tick_then_in_setting_order() {
    let protocol = Scripted(|_, event| match event {
        Event::Start(_) => {
            let timers = [(5, 1), (3, 2), (5, 3), (0, 4), (1000, 5)];
            timers.map(|(after, kind)| Effect::SetTimer(after, timer(kind))).to_vec()
        }
        // Set at tick 13 for tick 15, after two others. And one for 0 ticks, which is due in one, set by a timer.
        Event::Timer(due) if due.kind == 2 => vec![Effect::SetTimer(2, timer(6))],
        Event::Timer(due) if due.kind == 4 => vec![Effect::SetTimer(0, timer(7))],
        _ => Vec::new(),
    });
    let (outcome, records) = watch(&protocol, &alone(Vec::new()));
    assert_eq!(fired(&records), [(11, 4), (12, 7), (13, 2), (15, 1), (15, 3), (15, 6), (1010, 5)]);
    // The last timers have no effects and change nothing.
    assert_eq!(outcome.time.quiescent, Some(13));
    let cause = |kind| {
        records
            .iter()
            .find(|r| handled(std::slice::from_ref(r)).iter().any(|(.., e)| *e == Event::Timer(timer(kind))))
            .and_then(|r| r.cause)
    };
    assert_eq!((cause(1), cause(7), cause(6)), (Some(0), Some(1), Some(3)));
}

#[test]
fn timers_end_with_their_node_and_with_the_run() {
    let protocol = Scripted(|_, event| match event {
        Event::Start(_) => vec![Effect::SetTimer(5, timer(1)), Effect::SetTimer(u64::MAX, timer(2))],
        Event::Timer(_) => vec![Effect::SetTimer(1, timer(1))],
        _ => Vec::new(),
    });
    let faults = vec![fault(12, FaultKind::Crash(0)), fault(13, FaultKind::Recover(0))];
    assert_eq!(fired(&watch(&protocol, &alone(faults)).1), []);
    let (outcome, records) = watch(&protocol, &Scenario { until: 17, ..alone(Vec::new()) });
    assert_eq!(fired(&records), [(15, 1), (16, 1), (17, 1)]);
    assert!(!outcome.hung, "a timer is not a message");
}

#[test]
fn messages_in_flight_at_the_end_make_a_run_hung() {
    let protocol = Scripted(|_, event| match event {
        Event::Start(_) | Event::Message { .. } => vec![say(Port::NEXT, 0)],
        _ => Vec::new(),
    });
    let outcome = run(&protocol, &Scenario { until: 25, ..alone(Vec::new()) });
    assert!(outcome.hung);
    assert_eq!((outcome.total(), outcome.time.quiescent), (16, Some(25)), "the last tick counts");
    let delayed = Scenario { starts: vec![start(0, 25)], until: 25, ..alone(Vec::new()) };
    assert!(run(&protocol, &delayed).hung);
}

#[test]
fn a_node_handles_start_inbox_returns_and_timers_in_this_order() {
    // At tick 2 node 0 gets a start signal, a message from 2, its own returned message and a timer.
    let protocol = Scripted(|at, event| match (at, event) {
        (0, Event::Start(_)) => vec![Effect::SetTimer(2, timer(1)), say(Port::NEXT, 1)],
        (2, Event::Start(_)) => vec![say(Port::NEXT, 2)],
        _ => Vec::new(),
    });
    let scenario = Scenario {
        starts: vec![start(0, 0), start(2, 1), start(0, 2)],
        faults: vec![fault(0, FaultKind::Crash(1)), fault(2, FaultKind::Retire(0))],
        ..ring(3)
    };
    let (_, records) = watch(&protocol, &scenario);
    let events: Vec<Event<TestMessage>> =
        handled(&records).into_iter().filter(|&(tick, at, _)| (tick, at) == (2, 0)).map(|(.., event)| event).collect();
    assert!(matches!(
        events[..],
        [Event::Start(_), Event::Message { .. }, Event::Unreachable { .. }, Event::Timer(_), Event::Retire]
    ));
}
