//! Checks which leader the nodes name in each connected component that is left of a network.

// Each test file uses some of this.
#![allow(dead_code)]

use std::collections::BTreeSet;

use hustings_protocol::{Message, Record, Role, TraceEvent};
use hustings_sim::topology::Network;
use hustings_sim::trace::Observer;

use super::waves::neighbours;

/// What an observer knows of every node and link at the end of a run.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// Whether nodes that are down still connect others, as they do for messages by id. Over links, live nodes must
    /// forward.
    past_the_dead: bool,
    nodes: Vec<Node>,
    cuts: BTreeSet<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    up: bool,
    role: Role,
    /// Whether any event reached it since it came up.
    drawn_in: bool,
}

impl Node {
    const FRESH: Node = Node { up: true, role: Role::Undecided, drawn_in: false };
}

impl<M: Message> Observer<M> for Parts {
    fn record(&mut self, record: &Record<M>) {
        let node = &mut self.nodes[record.node as usize];
        match &record.what {
            TraceEvent::Handled { effects, .. } => {
                node.drawn_in = true;
                node.role = effects.iter().fold(node.role, Role::after);
            }
            TraceEvent::Crashed | TraceEvent::Retired => *node = Node { up: false, ..Node::FRESH },
            TraceEvent::Recovered | TraceEvent::Joined => *node = Node::FRESH,
            TraceEvent::LinkCut { peer } => {
                self.cuts.insert((record.node, *peer));
            }
            TraceEvent::LinkHealed { peer } => {
                self.cuts.remove(&(record.node, *peer));
            }
            TraceEvent::Lost { .. } | TraceEvent::Notice { .. } => {}
        }
    }
}

impl Parts {
    pub(crate) fn of(network: &Network) -> Self {
        Parts { past_the_dead: false, nodes: vec![Node::FRESH; network.size() as usize], cuts: BTreeSet::new() }
    }

    /// Sets whether nodes that are down still connect others.
    pub(crate) fn past_the_dead(self, past_the_dead: bool) -> Self {
        Parts { past_the_dead, ..self }
    }

    /// The connected components of the live nodes.
    pub(crate) fn parts(&self, network: &Network) -> Vec<Vec<u32>> {
        let mut seen: Vec<bool> = self.nodes.iter().map(|node| !node.up && !self.past_the_dead).collect();
        let mut parts = Vec::new();
        for first in 0..network.members() {
            if std::mem::replace(&mut seen[first as usize], true) {
                continue;
            }
            let mut part = vec![first];
            let mut next = 0;
            while let Some(&at) = part.get(next) {
                next += 1;
                for peer in neighbours(network, at).filter(|&peer| !self.cuts.contains(&(at, peer))) {
                    if !std::mem::replace(&mut seen[peer as usize], true) {
                        part.push(peer);
                    }
                }
            }
            part.retain(|&at| self.nodes[at as usize].up);
            parts.push(part);
        }
        parts
    }

    /// Checks that each component has exactly one leader, which all its nodes name. A component that no event has
    /// reached, not even a start signal, may have none.
    pub(crate) fn check(&self, network: &Network, ids: &[u64]) -> Result<(), String> {
        for part in self.parts(network) {
            let node = |at: &u32| self.nodes[*at as usize];
            if part.iter().all(|at| !node(at).drawn_in) {
                continue;
            }
            let named = |at: &u32| node(at).role.leader(hustings_protocol::Id(ids[*at as usize]));
            let leaders: Vec<u32> = part.iter().copied().filter(|at| node(at).role == Role::Leader).collect();
            let all: BTreeSet<_> = part.iter().map(named).collect();
            if leaders.len() != 1 || all.len() != 1 {
                return Err(format!("part {part:?} has leaders {leaders:?} and names {all:?}"));
            }
        }
        Ok(())
    }
}
