//! Tests of the general engine, by topic.

mod channel;
mod counts;
mod crashes;
mod failure_detector;
mod interventions;
use crate::common::{erased, gossip};
mod link_faults;
mod members;
mod replays;
mod ring_skips;
mod scripted;
mod timers;
mod token;

use hustings_algorithms::ring::ChangRoberts;
use hustings_algorithms::{Algorithm, NoParams, Setting};
use hustings_protocol::{Id, Protocol, Record};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::{Graph, Network};

type Rules = <ChangRoberts as Algorithm>::Protocol<Id>;

fn chang_roberts() -> Rules {
    ChangRoberts::protocol(&NoParams, &Setting::of(&[]))
}

fn ring(size: u32) -> Scenario {
    Scenario::new(Network::Ring(size))
}

fn complete(size: u32) -> Scenario {
    Scenario::new(Network::Complete(size))
}

fn graph(size: u32, links: &[(u32, u32)]) -> Scenario {
    let graph = Graph::new(size, |link| links.iter().for_each(|&(a, b)| link(a, b))).expect("the links are a graph");
    Scenario::new(Network::Graph(graph))
}

fn with_ids(scenario: Scenario, ids: impl IntoIterator<Item = u64>) -> Scenario {
    Scenario { ids: ids.into_iter().collect(), ..scenario }
}

fn fault(tick: u64, what: FaultKind) -> Fault {
    Fault { tick, what }
}

fn start(at: u32, tick: u64) -> Start {
    Start { at, tick }
}

/// The ids as ranks.
fn ranks(scenario: &Scenario) -> Vec<Id> {
    scenario.ids.iter().copied().map(Id).collect()
}

fn run<P: Protocol<Rank = Id> + Clone>(protocol: &P, scenario: &Scenario) -> Outcome {
    erased::run(protocol.clone(), &ranks(scenario), scenario, None)
}

/// Runs with an observer that collects all records, and checks that observing changes nothing.
fn watch<P: Protocol<Rank = Id> + Clone>(protocol: &P, scenario: &Scenario) -> (Outcome, Vec<Record<P::Message>>) {
    let (outcome, records) = erased::watch(protocol.clone(), &ranks(scenario), scenario);
    assert_eq!(outcome, run(protocol, scenario), "an observer changes nothing");
    assert!(records.iter().map(|record| record.number).eq(0..records.len() as u64));
    (outcome, records)
}
