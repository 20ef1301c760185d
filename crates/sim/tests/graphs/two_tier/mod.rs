//! Two-tier against docs/model.md#two-tier, topic by topic.

mod cheats;
mod cliques;
mod failover;
mod faults;

use hustings_algorithms::graph::TwoTier;
use hustings_algorithms::graph::two_tier::{Message, TwoTierParams};
use hustings_algorithms::{Algorithm, Setting};
use hustings_protocol::{Id, Message as _, Record};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::{Graph, Network, Topology};

use crate::common::elections::simulate;
use crate::common::erased;

fn params(text: &[(&str, &str)]) -> TwoTierParams {
    use hustings_algorithms::Params;
    let mut params = TwoTierParams::default();
    text.iter().for_each(|(name, value)| params.set(name, value).expect("the parameter exists"));
    params
}

fn shaped(shape: &str, size: u32, seed: u64) -> Network {
    let shape: Topology = shape.parse().expect("a shape");
    shape.build(size, seed).expect("it can be built")
}

/// Started at tick 0 by one node.
fn started(network: Network, at: u32) -> Scenario {
    Scenario { starts: vec![Start { at, tick: 0 }], ..Scenario::new(network) }
}

fn with_faults(scenario: Scenario, faults: &[(u64, FaultKind)]) -> Scenario {
    let faults = faults.iter().map(|(tick, what)| Fault { tick: *tick, what: what.clone() }).collect();
    Scenario { faults, ..scenario }
}

fn run(params: &TwoTierParams, scenario: &Scenario) -> Outcome {
    simulate::<TwoTier>(params, scenario)
}

/// The same in the general engine, with everything that happened.
fn watch(params: &TwoTierParams, scenario: &Scenario) -> (Outcome, Vec<Record<Message<Id>>>) {
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let setting = Setting { bandwidth: scenario.bandwidth, cheats: &scenario.cheats, ..Setting::of(&ranks) };
    let protocol = TwoTier::protocol(params, &setting);
    erased::watch(protocol, &ranks, scenario)
}

/// How many messages of this kind were sent.
fn sent(outcome: &Outcome, kind: &str) -> u64 {
    let place = Message::<Id>::KINDS.iter().position(|name| *name == kind).expect("there is such a kind");
    outcome.by_kind[place]
}

/// The counts of the clique's kinds: invite, ping, pong, confirm, failed, agree.
fn words(outcome: &Outcome) -> [u64; 6] {
    ["invite", "ping", "pong", "confirm", "failed", "agree"].map(|kind| sent(outcome, kind))
}

/// The links of a network, each once.
fn links(network: &Network) -> Vec<(u32, u32)> {
    let ports = |at| (0..network.degree(at)).map(move |port| (at, network.peer(at, hustings_protocol::Port(port)).0));
    (0..network.size()).flat_map(ports).filter(|(a, b)| a < b).collect()
}

/// The network without these nodes, and the positions of those that are left; `None` if they are not connected.
fn without(network: &Network, gone: &[u32]) -> Option<(Network, Vec<u32>)> {
    let left: Vec<u32> = (0..network.size()).filter(|at| !gone.contains(at)).collect();
    let place = |at: u32| left.iter().position(|other| *other == at).map(|place| place as u32);
    let links: Vec<(u32, u32)> = links(network).into_iter().filter_map(|(a, b)| Some((place(a)?, place(b)?))).collect();
    let mut reached = vec![0];
    while let Some(next) = (0..left.len() as u32).find(|at| {
        let is_neighbour = |(a, b): &(u32, u32)| (a == at && reached.contains(b)) || (b == at && reached.contains(a));
        !reached.contains(at) && links.iter().any(is_neighbour)
    }) {
        reached.push(next);
    }
    let graph = Graph::new(left.len() as u32, |link| links.iter().for_each(|&(a, b)| link(a, b)));
    (reached.len() == left.len()).then(|| (Network::Graph(graph.expect("the links are distinct")), left))
}
