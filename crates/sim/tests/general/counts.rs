//! Counts, times and loads of runs without faults.

use hustings_algorithms::graph::echo::Echo;
use hustings_algorithms::ring::ChangRoberts;
use hustings_algorithms::{Algorithm, Instance, NoParams};
use hustings_protocol::{Effect, Event, Id, Port};
use hustings_sim::outcome::{Collisions, Load, Times};
use hustings_sim::scenario::Medium;
use proptest::prelude::*;

use super::scripted::{Scripted, TestMessage, handled, say};
use super::*;

#[test]
fn counts_the_worst_and_the_best_ring() {
    let falling = with_ids(ring(64).started_by_all(), (0..64).rev());
    let outcome = run(&chang_roberts(), &falling);
    assert_eq!(outcome.by_kind, [2080, 64]);
    assert_eq!((outcome.leader, outcome.time.elected), (Some(0), Some(64)));
    let outcome = run(&chang_roberts(), &ring(64).started_by_all());
    assert_eq!(outcome.by_kind, [127, 64]);
    assert_eq!((outcome.leader, outcome.time.elected), (Some(63), Some(64)));
    assert!(outcome.agreement && !outcome.hung);
}

#[test]
fn reproduces_the_documented_example() {
    let outcome = run(&chang_roberts(), &with_ids(ring(4).started_by_all(), [3, 1, 0, 2]));
    assert_eq!((outcome.leader, &outcome.leaders[..], outcome.agreement), (Some(0), &[0][..], true));
    assert_eq!((outcome.live, outcome.hung, outcome.total()), (4, false, 12));
    assert_eq!((&outcome.by_kind[..], outcome.bytes, outcome.lost), (&[8, 4][..], 24, 0));
    assert_eq!((outcome.load.mean, outcome.load.max), (3.0, 4));
    assert_eq!(outcome.collisions, Collisions { total: 0, max: 1 });
    assert_eq!(outcome.time, Times { elected: Some(4), agreed: Some(7), quiescent: Some(8) });
    assert!(outcome.notice.is_empty());
}

#[test]
fn a_node_alone_on_a_ring_receives_its_own_messages() {
    let outcome = run(&chang_roberts(), &ring(1).started_by_all());
    assert_eq!(outcome.by_kind, [1, 1]);
    assert_eq!(outcome.time, Times { elected: Some(1), agreed: Some(1), quiescent: Some(2) });
}

#[test]
fn handles_no_nodes_and_no_starts() {
    let outcome = run(&chang_roberts(), &ring(0));
    assert_eq!((outcome.live, outcome.agreement, outcome.leader), (0, false, None));
    let outcome = run(&chang_roberts(), &ring(3));
    assert_eq!((outcome.total(), outcome.agreement, outcome.time), (0, false, Times::default()));
    assert_eq!(outcome.collisions, Collisions { total: 0, max: 0 });
    assert_eq!(outcome.load, Load { mean: 0.0, max: 0, histogram: vec![(0, 3)] });
}

#[test]
fn an_echo_uses_every_link_twice() {
    let wheel = graph(5, &[(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4), (4, 1)]);
    let outcome = run(&Echo::new(), &Scenario { starts: vec![start(2, 0)], ..wheel });
    assert_eq!((outcome.by_kind[0], outcome.bytes, outcome.leader), (16, 16, Some(2)));
    let outcome = run(&Echo::new(), &Scenario { starts: vec![start(0, 7)], ..complete(20) });
    assert_eq!(outcome.by_kind, [380]);
    // Out to all, across, and back: three ticks.
    assert_eq!(outcome.time.elected, Some(10));
}

#[test]
fn on_a_broadcast_medium_a_send_to_all_is_one_message() {
    let scenario = Scenario { starts: vec![start(0, 0)], medium: Medium::Broadcast, ..complete(5) };
    let outcome = run(&Echo::new(), &scenario);
    // One broadcast by each node that has neighbours other than its parent, and an answer by all but the first.
    assert_eq!((outcome.total(), outcome.bytes), (9, 9));
    assert_eq!(outcome.load.mean, 4.0);
    let pair = Scenario { starts: vec![start(0, 0)], medium: Medium::Broadcast, ..complete(2) };
    assert_eq!(run(&Echo::new(), &pair).total(), 2, "nobody else hears the second node");
}

#[test]
fn an_inbox_is_read_by_sender_and_sending_order() {
    // All nodes but 2 send two numbers to 2, by link or by id; higher positions send earlier.
    let protocol = Scripted(|at, event| match event {
        Event::Start(_) if at != 2 => {
            let port = Port(if at < 2 { 1 } else { 2 });
            let (link, direct) = (say(port, 10 * u64::from(at)), TestMessage::Say(10 * u64::from(at) + 1));
            vec![link, Effect::SendDirect(Id(2), direct)]
        }
        _ => Vec::new(),
    });
    let (outcome, records) = watch(&protocol, &complete(5).started_by_all());
    let heard: Vec<u64> = scripted::heard(&records).into_iter().map(|(_, _, number)| number).collect();
    assert_eq!(heard, [0, 1, 10, 11, 30, 31, 40, 41]);
    assert_eq!(outcome.collisions, Collisions { total: 7, max: 8 });
    let direct = handled(&records).into_iter().filter(|(.., event)| matches!(event, Event::Direct { .. })).count();
    assert_eq!(direct, 4);
}

proptest! {
    #[test]
    fn chang_roberts_takes_what_its_formula_says(
        order in Just((0..9u32).collect::<Vec<_>>()).prop_shuffle(),
        starters in prop::collection::btree_set(0..9u32, 1..9),
    ) {
        let initiators: Vec<u32> = starters.into_iter().collect();
        let starts = initiators.iter().map(|&at| start(at, 0)).collect();
        let scenario = with_ids(Scenario { starts, ..ring(9) }, order.iter().map(|&id| u64::from(id)));
        let outcome = run(&chang_roberts(), &scenario);
        let instance = Instance::of(&order, &initiators);
        prop_assert_eq!(Some(outcome.by_kind), ChangRoberts::expect(&NoParams, &instance));
        prop_assert_eq!(outcome.leader, initiators.iter().copied().max_by_key(|&at| order[at as usize]));
        prop_assert!(outcome.agreement);
    }
}
