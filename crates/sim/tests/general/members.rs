//! Sending by index, an outside informer, what nodes find out, and periodic traffic.

use hustings_protocol::{Context, Effect, Event, Fact, Id, Port, Protocol, Stage, StartReason, Timer, kinds};
use hustings_sim::erased::DynProtocol;
use hustings_sim::scenario::FaultKind;
use hustings_sim::simulate::simulate_fast;
use hustings_sim::topology::Network;
use serde::{Deserialize, Serialize};

use super::scripted::*;
use super::*;

/// A ring of four with an informer at position 4.
fn informed() -> Scenario {
    Scenario { starts: vec![start(1, 0)], ..Scenario::new(Network::InformedRing(4)) }
}

/// The informer has a rank, too, which is not used.
fn ranks() -> Vec<Id> {
    [0, 1, 2, 3, 0].map(Id).to_vec()
}

fn watch_informed(protocol: &Scripted, scenario: &Scenario) -> (Outcome, Vec<Record<TestMessage>>) {
    erased::watch(*protocol, &ranks(), scenario)
}

/// Position 1 asks the informer, which tells all members. They follow 3, and 3 leads.
fn ask(at: u32, event: &Event<TestMessage>) -> Effects {
    match (at, event) {
        (1, Event::Start(_)) => vec![Effect::SendTo(4, TestMessage::Say(9))],
        (4, Event::Direct { .. }) => {
            (0..4).map(|member| Effect::SendTo(member, TestMessage::Reply(member.into()))).collect()
        }
        (3, Event::Direct { .. }) => vec![Effect::Lead],
        (0..=2, Event::Direct { .. }) => vec![Effect::Follow(Id(3))],
        _ => Vec::new(),
    }
}

#[test]
fn an_outside_informer_is_reached_by_index_and_is_no_member() {
    let (outcome, records) = watch_informed(&Scripted(ask), &informed());
    assert_eq!(heard(&records), [(1, 4, 9), (2, 0, 0), (2, 1, 1), (2, 2, 2), (2, 3, 3)]);
    assert!(outcome.agreement, "the informer names nobody, and nobody minds");
    assert_eq!((outcome.leader, outcome.live, outcome.by_kind.as_slice()), (Some(3), 4, &[1, 4][..]));
    assert_eq!((outcome.load.mean, outcome.load.max), (1.0, 1), "its load is not the members'");
    assert_eq!((informed().network.links(), informed().network.members()), (4, 4));
}

#[test]
fn a_crashed_informer_is_unreachable() {
    let scenario = Scenario { faults: vec![fault(0, FaultKind::Crash(4))], ..informed() };
    let (outcome, records) = watch_informed(&Scripted(ask), &scenario);
    assert_eq!(returned(&records), [(2, 1, 9)]);
    assert_eq!((outcome.live, outcome.lost, outcome.agreement), (4, 1, false));
}

#[test]
fn skips_on_a_ring_ignore_the_informer() {
    let protocol = Scripted(|at, event| match (at, event) {
        (2, Event::Start(_)) => vec![say(Port::NEXT, 5)],
        (2, Event::Unreachable { port, .. }) => vec![Effect::Skip(*port)],
        _ => Vec::new(),
    });
    let faults = vec![fault(0, FaultKind::Crash(3))];
    let (_, records) = watch_informed(&protocol, &Scenario { starts: vec![start(2, 0)], faults, ..informed() });
    assert_eq!(heard(&records), [(3, 0, 5)], "the next one after 3 is 0, not the informer");
}

#[test]
fn messages_to_unknown_indices_are_lost() {
    let protocol = Scripted(|_, event| match event {
        Event::Start(_) => vec![Effect::SendTo(17, TestMessage::Say(1))],
        _ => Vec::new(),
    });
    let (outcome, records) = watch_informed(&protocol, &informed());
    assert_eq!((outcome.lost, outcome.total(), heard(&records).len()), (1, 1, 0));
}

#[test]
fn reports_a_size_if_all_live_nodes_found_it() {
    fn outcome(protocol: &Scripted, faults: Vec<Fault>) -> Outcome {
        run(protocol, &Scenario { faults, ..ring(3) }.started_by_all())
    }
    let all = Scripted(|at, _| vec![Effect::Learn(Fact::Size(3)), Effect::Learn(Fact::Name(u64::from(at) + 7))]);
    let found = outcome(&all, Vec::new());
    assert_eq!((found.estimate, found.names), (Some(3), vec![(0, 7), (1, 8), (2, 9)]));
    let two_ways = Scripted(|at, _| vec![Effect::Learn(Fact::Size(at.min(1).into()))]);
    assert_eq!(outcome(&two_ways, Vec::new()).estimate, None);
    let not_all = Scripted(|at, _| match at {
        0 => vec![Effect::Learn(Fact::Stage(Stage::Hold))],
        _ => vec![Effect::Learn(Fact::Size(2))],
    });
    assert_eq!(outcome(&not_all, Vec::new()).estimate, None);
    let without = outcome(&not_all, vec![fault(5, FaultKind::Crash(0))]);
    assert_eq!(without.estimate, Some(2), "who is down knows nothing, and need not");
}

/// The starter sends a beacon every third tick, forever, and one call with the third beacon.
struct Lighthouse;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Light {
    Beacon,
    Call,
}
kinds!(Light: Beacon = "beacon", Call = "call"; periodic Beacon);

const AGAIN: u8 = Timer::PERIODIC | 1;

impl Protocol for Lighthouse {
    type Rank = Id;
    type State = u32;
    type Message = Light;

    fn init(&self) -> u32 {
        0
    }
    fn handle_start<C: Context<Self>>(&self, _: &mut u32, _: StartReason, cx: &mut C) {
        cx.set_timer(3, Timer { kind: AGAIN, token: 0 });
    }
    fn handle_message<C: Context<Self>>(&self, _: &mut u32, _: Port, _: Light, _: &mut C) {}
    fn handle_timer<C: Context<Self>>(&self, beacons: &mut u32, timer: Timer, cx: &mut C) {
        *beacons += 1;
        cx.send(Port::NEXT, Light::Beacon);
        if *beacons == 3 {
            cx.send(Port::NEXT, Light::Call);
        }
        cx.set_timer(3, timer);
    }
}

#[test]
fn periodic_traffic_does_not_delay_quiescence() {
    let ids: Vec<Id> = (0..4).map(Id).collect();
    let until = |until| Scenario { starts: vec![start(0, 0)], until, ..ring(4) };
    let outcome = erased::run(Lighthouse, &ids, &until(30), None);
    assert_eq!((outcome.by_kind.as_slice(), outcome.time.quiescent), (&[10, 1][..], Some(10)));
    assert!(!outcome.hung, "the beacon of tick 30 is under way, and does not count");
    assert!(erased::run(Lighthouse, &ids, &until(9), None).hung, "the call is under way");
    let (lighthouse, ranks) = DynProtocol::new(Lighthouse, &ids);
    assert_eq!(simulate_fast(&lighthouse, &ranks, &until(30), false), None, "only the general engine knows");
}
