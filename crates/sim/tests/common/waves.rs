//! The duration of a diffusing computation with unit delays, computed from distances without any protocol or engine.

use hustings_protocol::Port;
use hustings_sim::outcome::Times;
use hustings_sim::scenario::{Scenario, Start};
use hustings_sim::topology::Network;

/// The times of one computation, counted from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wave {
    /// When the last node is reached.
    pub(crate) grown: u64,
    /// When the source has its last answer.
    pub(crate) shrunk: u64,
}

pub(crate) fn neighbours(network: &Network, at: u32) -> impl Iterator<Item = u32> + '_ {
    (0..network.degree(at)).map(move |port| network.peer(at, Port(port)).0)
}

/// The distance of all nodes from a source, and the nodes that are reached, ordered by distance.
pub(crate) fn distances(network: &Network, source: u32) -> (Vec<u64>, Vec<u32>) {
    let (mut distance, mut order) = (vec![u64::MAX; network.size() as usize], vec![source]);
    distance[source as usize] = 0;
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        for peer in neighbours(network, at) {
            if distance[peer as usize] == u64::MAX {
                distance[peer as usize] = distance[at as usize] + 1;
                order.push(peer);
            }
        }
    }
    (distance, order)
}

pub(crate) fn wave(network: &Network, source: u32) -> Wave {
    let (distance, order) = distances(network, source);
    // A node is first reached by its lowest neighbour that is nearer to the source.
    let parent = |at: u32| neighbours(network, at).find(|&peer| distance[peer as usize] + 1 == distance[at as usize]);
    let mut answers = vec![0; distance.len()];
    for &at in order.iter().rev() {
        let reached = distance[at as usize];
        let answer = |peer: u32| if parent(peer) == Some(at) { answers[peer as usize] + 1 } else { reached + 2 };
        let others = neighbours(network, at).filter(|&peer| Some(peer) != parent(at));
        answers[at as usize] = others.map(answer).fold(reached, u64::max);
    }
    let grown = order.last().map_or(0, |&at| distance[at as usize]);
    Wave { grown, shrunk: answers[source as usize] }
}

/// An election with one source.
pub(crate) fn started(network: Network, at: u32) -> Scenario {
    Scenario { starts: vec![Start { at, tick: 0 }], ..Scenario::new(network) }
}

/// What docs/model.md#aefa says of one election by aefa or preference: messages by kind, and the three times.
pub(crate) fn predicted(network: &Network, source: u32, winner: u32) -> (Vec<u64>, Times) {
    let (size, links) = (u64::from(network.size()), network.links());
    let each = 2 * links + 1 - size;
    let notify = u64::from(source != winner);
    let Wave { shrunk, .. } = wave(network, source);
    let elected = shrunk + notify;
    let told = wave(network, winner);
    let any = (size > 1).then_some(elected + told.shrunk);
    let times = Times { elected: Some(elected), agreed: Some(elected + told.grown), quiescent: any };
    (vec![each, each, notify, each, each, 0, 0, 0], times)
}
