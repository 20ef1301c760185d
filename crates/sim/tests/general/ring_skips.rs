//! Removing crashed neighbours from a ring: what is sent again, in which order, and how often.

use hustings_protocol::{Effect, Event, Port};
use hustings_sim::scenario::Delay;
use proptest::prelude::*;

use super::scripted::*;
use super::*;

/// Node 0 sends 0, 1, 2, … to its next neighbour, one in each tick from the start on. On `unreachable` it skips.
fn stream(at: u32, event: &Event<TestMessage>) -> Effects {
    match event {
        Event::Start(_) if at == 0 => {
            let later = (1..6).map(|tick| Effect::SetTimer(tick, timer(tick as u8)));
            [say(Port::NEXT, 0)].into_iter().chain(later).collect()
        }
        Event::Timer(timer) => vec![say(Port::NEXT, timer.kind.into())],
        Event::Unreachable { port, .. } => vec![Effect::Skip(*port)],
        _ => Vec::new(),
    }
}

fn streaming(faults: Vec<Fault>) -> Scenario {
    Scenario { starts: vec![start(0, 0)], faults, ..ring(4) }
}

#[test]
fn a_skip_resends_from_the_lost_message_on_in_order() {
    let (outcome, records) = watch(&Scripted(stream), &streaming(vec![fault(2, FaultKind::Crash(1))]));
    // 0 arrives at tick 1. 1 is lost at tick 2 and returns at 3. 2 is lost then, too. Timer 3 comes after
    // `unreachable`.
    assert_eq!(returned(&records), [(3, 0, 1)]);
    let heard = heard(&records);
    assert_eq!(heard, [(1, 1, 0), (4, 2, 1), (4, 2, 2), (4, 2, 3), (5, 2, 4), (6, 2, 5)]);
    // Six messages, two of them twice.
    assert_eq!((outcome.total(), outcome.lost), (8, 2));
}

#[test]
fn a_skip_resends_messages_that_a_recovered_neighbour_got() {
    let faults = vec![fault(2, FaultKind::Crash(1)), fault(3, FaultKind::Recover(1))];
    let (outcome, records) = watch(&Scripted(stream), &streaming(faults));
    assert_eq!(returned(&records), [(3, 0, 1)]);
    let heard = heard(&records);
    assert_eq!(heard, [(1, 1, 0), (3, 1, 2), (4, 2, 1), (4, 2, 2), (4, 2, 3), (5, 2, 4), (6, 2, 5)]);
    assert_eq!((outcome.total(), outcome.lost), (8, 1));
}

#[test]
fn a_node_that_removed_all_others_is_its_own_neighbour() {
    let faults = (1..4).map(|at| fault(0, FaultKind::Crash(at))).collect();
    let (outcome, records) = watch(&Scripted(stream), &streaming(faults));
    let words: Vec<(u32, u64)> = heard(&records).into_iter().map(|(_, at, number)| (at, number)).collect();
    assert_eq!(words, (0..6).map(|number| (0, number)).collect::<Vec<_>>());
    assert_eq!(returned(&records).len(), 3, "one for each neighbour");
    assert!(!outcome.hung);
}

#[test]
fn removals_on_both_sides_add_up() {
    let protocol = Scripted(|at, event| match event {
        Event::Start(_) if at == 0 => vec![say(Port::NEXT, 1), say(Port::PREVIOUS, 2)],
        Event::Unreachable { port, .. } => vec![Effect::Skip(*port)],
        _ => Vec::new(),
    });
    let scenario = Scenario { starts: vec![start(0, 0)], faults: vec![fault(0, FaultKind::Crash(1))], ..ring(2) };
    let (_, records) = watch(&protocol, &scenario);
    assert_eq!(returned(&records), [(2, 0, 1)], "what went the other way is sent again with it");
    assert_eq!(heard(&records), [(3, 0, 1), (3, 0, 2)]);
    let ports: Vec<Port> = handled(&records)
        .into_iter()
        .filter_map(|(_, _, event)| if let Event::Message { from, .. } = event { Some(from) } else { None })
        .collect();
    assert_eq!(ports, [Port::PREVIOUS, Port::NEXT]);
}

#[test]
fn a_skip_without_a_loss_only_removes_the_peer() {
    let protocol = Scripted(|at, event| match event {
        Event::Start(_) if at == 0 => vec![say(Port::NEXT, 1), Effect::Skip(Port::NEXT), say(Port::NEXT, 2)],
        _ => Vec::new(),
    });
    let (_, records) = watch(&protocol, &streaming(Vec::new()).started_only_by(0));
    assert_eq!(heard(&records), [(1, 1, 1), (1, 2, 2)]);
}

trait StartedOnlyBy {
    fn started_only_by(self, at: u32) -> Self;
}
impl StartedOnlyBy for Scenario {
    fn started_only_by(self, at: u32) -> Self {
        Scenario { starts: vec![start(at, 0)], ..self }
    }
}

#[test]
fn other_networks_ignore_skips() {
    let protocol = Scripted(|at, event| match event {
        Event::Start(_) if at == 0 => vec![say(Port(0), 1)],
        Event::Unreachable { port, .. } => vec![Effect::Skip(*port)],
        _ => Vec::new(),
    });
    let scenario = Scenario { starts: vec![start(0, 0)], faults: vec![fault(0, FaultKind::Crash(1))], ..complete(3) };
    let (outcome, records) = watch(&protocol, &scenario);
    assert_eq!((outcome.total(), returned(&records)), (1, vec![(2, 0, 1)]));
}

proptest! {
    /// For all delays and crashes, everything that node 0 sends reaches some node, and a receiver that stays up gets
    /// the numbers in order.
    #[test]
    fn skipping_keeps_order_and_loses_nothing(
        seed in any::<u64>(),
        longest in 1u64..6,
        crashes in prop::collection::btree_map(1u32..4, 0u64..8, 0..3),
    ) {
        let faults: Vec<Fault> = crashes.iter().map(|(&at, &tick)| fault(tick, FaultKind::Crash(at))).collect();
        let scenario = Scenario { delay: Delay::Uniform(1, longest), seed, ..streaming(faults) };
        let (outcome, records) = watch(&Scripted(stream), &scenario);
        prop_assert!(!outcome.hung);
        let all = heard(&records);
        for number in 0..6 {
            prop_assert!(all.iter().any(|&(_, _, heard)| heard == number), "{number} in {all:?}");
        }
        for at in 0..4 {
            let own: Vec<u64> = all.iter().filter(|&&(_, node, _)| node == at).map(|&(_, _, number)| number).collect();
            prop_assert!(own.is_sorted_by(|a, b| a < b), "{at}: {own:?}");
        }
    }
}
