//! Delays, losses, duplicates and bandwidth.

use hustings_algorithms::graph::echo::Echo;
use hustings_protocol::{Effect, Event, Port, Timer};
use hustings_sim::scenario::Delay;
use proptest::prelude::*;

use super::scripted::*;
use super::token::TokenRing;
use super::*;

/// Starters send 0, 1, 2, … to all neighbours, one each tick.
fn stream(_: u32, event: &Event<TestMessage>) -> Effects {
    let words =
        |count: u32| (0..count).map(|tick| Effect::SetTimer(tick.into(), Timer { kind: 0, token: tick })).collect();
    match event {
        Event::Start(_) => words(40),
        Event::Timer(timer) => vec![Effect::SendAllBut(None, TestMessage::Say(timer.token.into()))],
        _ => Vec::new(),
    }
}

/// What each node receives, by sender.
fn inboxes(records: &[Record<TestMessage>], size: u32) -> Vec<Vec<u64>> {
    let mut boxes = vec![Vec::new(); (size * size) as usize];
    for record in records {
        if let hustings_protocol::TraceEvent::Handled {
            event: Event::Message { message, .. }, peer: Some(peer), ..
        } = &record.what
        {
            boxes[(record.node * size + peer) as usize].push(number(message));
        }
    }
    boxes
}

fn delays() -> impl Strategy<Value = Delay> {
    prop_oneof![
        Just(Delay::Unit),
        (0u64..4, 0u64..20).prop_map(|(least, more)| Delay::Uniform(least, least + more)),
        (0.1f64..30.0).prop_map(Delay::Exponential),
        (0.5f64..3.0, 0.8f64..3.0).prop_map(|(min, shape)| Delay::Pareto { min, shape }),
    ]
}

proptest! {
    #[test]
    fn links_are_fifo_for_all_delays(seed in any::<u64>(), delay in delays(), twice in prop::bool::ANY) {
        let networks = [ring(3), complete(3), graph(3, &[(0, 1), (1, 2)])];
        for network in networks {
            let duplicate = if twice { 0.3 } else { 0.0 };
            let scenario = Scenario { seed, delay, duplicate, until: 1 << 40, ..network.started_by_all() };
            let (outcome, records) = watch(&Scripted(stream), &scenario);
            prop_assert!(!outcome.hung && outcome.lost == 0);
            for heard in inboxes(&records, 3).into_iter().filter(|heard| !heard.is_empty()) {
                prop_assert!(heard.is_sorted(), "{heard:?}");
                let distinct: std::collections::BTreeSet<u64> = heard.iter().copied().collect();
                prop_assert_eq!(distinct.len(), 40);
                prop_assert!(twice || heard.len() == 40);
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_runs_and_elections_agree(
        seed in any::<u64>(),
        delay in delays(),
        unordered: bool,
    ) {
        let scenario = Scenario { seed, delay, unordered, until: 1 << 40, ..ring(12).started_by_all() };
        let scenario = with_ids(scenario, (0..12).map(|at| at * 5 % 12));
        let (outcome, records) = watch(&chang_roberts(), &scenario);
        let (again, same) = watch(&chang_roberts(), &scenario);
        prop_assert_eq!(&outcome, &again);
        prop_assert_eq!(records, same);
        prop_assert!(outcome.agreement && !outcome.hung);
        prop_assert_eq!(outcome.leader.map(|at| scenario.ids[at as usize]), Some(11));
        let scenario = Scenario { starts: vec![start(4, 0)], seed, delay, until: 1 << 40, ..complete(9) };
        let echo = run(&Echo::new(), &scenario);
        prop_assert_eq!((echo.total(), echo.leader), (72, Some(4)));
    }

    /// With a bandwidth, messages arrive in sending order, a limited number per tick, and the counts stay the same.
    #[test]
    fn limited_bandwidth_only_takes_longer(seed in any::<u64>(), delay in delays(), most in 1u64..6) {
        let scenario = Scenario { seed, delay, bandwidth: Some(most), until: 1 << 40, ..complete(4).started_by_all() };
        let (outcome, records) = watch(&Scripted(stream), &scenario);
        prop_assert_eq!((outcome.total(), outcome.hung, outcome.load.mean), (480, false, 120.0));
        let ticks: Vec<u64> = heard(&records).into_iter().map(|(tick, ..)| tick).collect();
        prop_assert!(ticks.chunk_by(|a, b| a == b).all(|tick| tick.len() as u64 <= most));
        prop_assert!(inboxes(&records, 4).iter().all(|heard| heard.is_sorted()));
    }
}

#[test]
fn messages_overtake_on_unordered_links() {
    let scenario = Scenario { delay: Delay::Uniform(1, 30), unordered: true, ..ring(3).started_by_all() };
    let (_, records) = watch(&Scripted(stream), &scenario);
    assert!(inboxes(&records, 3).iter().any(|heard| !heard.is_sorted()));
    assert!(inboxes(&records, 3).iter().all(|heard| heard.is_empty() || heard.len() == 40));
}

#[test]
fn seeds_change_runs_and_copies_are_not_counted() {
    let scenario = |seed| Scenario { seed, delay: Delay::Exponential(5.0), duplicate: 0.5, ..ring(3).started_by_all() };
    let (one, other) = (run(&Scripted(stream), &scenario(1)), run(&Scripted(stream), &scenario(2)));
    assert_ne!(one.time, other.time);
    assert_eq!((one.total(), one.lost), (240, 0));
    assert!((300.0..420.0).contains(&(one.load.mean * 3.0)), "{:?}", one.load);
}

#[test]
fn random_losses_are_counted_without_notice() {
    let (outcome, records) = watch(&Scripted(stream), &Scenario { loss: 0.25, ..ring(3).started_by_all() });
    assert_eq!(outcome.total(), 240);
    assert_eq!(outcome.load.mean * 3.0, (240 - outcome.lost) as f64);
    assert!((30..90).contains(&outcome.lost), "{}", outcome.lost);
    assert_eq!(returned(&records), []);
    let certain = run(&Scripted(stream), &Scenario { loss: 1.0, duplicate: 1.0, ..ring(3).started_by_all() });
    assert_eq!((certain.lost, certain.load.max, certain.hung), (240, 0, false));
}

#[test]
fn messages_to_crashed_nodes_use_bandwidth() {
    // Three messages at tick 0, one delivery per tick: the attempt at the crashed node 1 comes first.
    let protocol = Scripted(|_, event| match event {
        Event::Start(_) => vec![Effect::SendAllBut(None, TestMessage::Say(1))],
        _ => Vec::new(),
    });
    let scenario = Scenario {
        starts: vec![start(0, 0)],
        faults: vec![fault(0, FaultKind::Crash(1))],
        bandwidth: Some(1),
        ..complete(4)
    };
    let (outcome, records) = watch(&protocol, &scenario);
    assert_eq!(heard(&records), [(2, 2, 1), (3, 3, 1)]);
    assert_eq!(returned(&records), [(2, 0, 1)], "one tick after the attempt");
    assert_eq!(outcome.time.quiescent, Some(3));
    let closed = run(&protocol, &Scenario { bandwidth: Some(0), ..scenario });
    assert!(closed.hung && closed.load.max == 0);
}

#[test]
fn messages_wait_for_bandwidth_by_tick_sender_and_sending_order() {
    let protocol = Scripted(|at, event| match event {
        Event::Start(_) => (0..2).map(|k| say(Port::NEXT, u64::from(at) * 10 + k)).collect(),
        _ => Vec::new(),
    });
    let starts = vec![start(1, 0), start(2, 0), start(0, 1)];
    let (_, records) = watch(&protocol, &Scenario { starts, bandwidth: Some(2), ..ring(3) });
    assert_eq!(heard(&records), [(1, 2, 10), (1, 2, 11), (2, 0, 20), (2, 0, 21), (3, 1, 0), (3, 1, 1)]);
    let outcome = run(&TokenRing, &Scenario { starts: vec![start(0, 0)], bandwidth: Some(1), ..ring(5) });
    assert_eq!(outcome.time.quiescent, Some(10), "one token is never too much");
}

#[test]
fn too_many_copies_end_a_run_as_hung() {
    // A candidate whose sender crashed circulates forever, and every hop doubles it.
    let mut scenario = Scenario::new(Network::Ring(8)).started_by_all();
    scenario.faults = vec![Fault { tick: 2, what: FaultKind::Crash(7) }];
    scenario.duplicate = 1.0;
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let outcome = erased::run(chang_roberts(), &ranks, &scenario, None);
    assert!(outcome.hung && !outcome.agreement);
}
