//! The environment of a protocol: nodes, links, clocks, and the faults that may happen.

use hustings_protocol::{NodeInfo, Peers, Port, Rank};

use crate::global_state::FaultBudget;

/// The maximum number of nodes. (Far fewer are practical.)
pub const MAX_NODES: u32 = 32;

/// The environment in which a protocol is checked.
#[derive(Clone, Debug)]
pub struct Model<R> {
    /// The rank of each position, including an informer outside the election.
    pub ranks: Vec<R>,
    /// The number of positions that take part in the election; they come first.
    pub members: u32,
    /// For each port of each position: the neighbour, and the port at which messages arrive there.
    pub links: Vec<Vec<(u32, Port)>>,
    /// Whether the network is a ring. Only there can nodes skip dead neighbours, and no node knows its neighbours'
    /// ranks.
    pub is_ring: bool,
    /// The positions that get a start signal, each at any time.
    pub initiators: Vec<u32>,
    /// The order in which links deliver messages.
    pub channels: Channels,
    /// When timers fire.
    pub timing: Timing,
    /// The faults that may happen.
    pub budget: FaultBudget,
    /// Whether nodes learn that their leader is dead without watching it themselves.
    pub reports_leader_loss: bool,
    /// Whether states record which nodes started before a message reached them.
    pub tracks_starts: bool,
    /// Whether states record which nodes gave up their candidacy: see [`hustings_protocol::Protocol::candidacy`].
    pub tracks_withdrawals: bool,
    /// Whether a node must wake up before it receives its first message, as in some published models. Otherwise a
    /// message may wake it.
    pub requires_wakeup: bool,
}

/// The order in which links deliver messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Channels {
    /// In the order in which they were sent.
    #[default]
    Fifo,
    /// In any order.
    Unordered,
}

/// When timers fire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// A timer may fire at any time after it was set.
    Free,
    /// Messages take at most this number of ticks, and timers fire exactly when they are due. A message that must
    /// arrive in the tick in which a timer is due comes first.
    Bounded(u32),
    /// Timers fire, the shortest first, when nothing else but faults can happen.
    Patient,
}

impl<R: Rank> Model<R> {
    /// A network with these links: for each port of each node, the neighbour and its port. All nodes start, links are
    /// FIFO, timers may fire at any time, and no faults happen.
    pub(crate) fn new(ranks: Vec<R>, links: Vec<Vec<(u32, Port)>>) -> Self {
        let members = ranks.len() as u32;
        Model {
            ranks,
            members,
            links,
            is_ring: false,
            initiators: (0..members).collect(),
            channels: Channels::Fifo,
            timing: Timing::Free,
            budget: FaultBudget::default(),
            reports_leader_loss: false,
            tracks_starts: false,
            tracks_withdrawals: false,
            requires_wakeup: false,
        }
    }

    /// A ring, otherwise like `Model::new`.
    pub fn ring(ranks: Vec<R>) -> Self {
        let size = ranks.len() as u32;
        let ports = |at: u32| vec![((at + 1) % size, Port::PREVIOUS), ((at + size - 1) % size, Port::NEXT)];
        Model { is_ring: true, ..Model::new(ranks, (0..size).map(ports).collect()) }
    }

    /// A graph with these links, otherwise like `Model::new`. Ports are in the order of the neighbours' positions.
    pub fn graph(ranks: Vec<R>, links: &[(u32, u32)]) -> Self {
        let neighbours = |at: u32| -> Vec<u32> {
            let others = links.iter().filter_map(|&(one, other)| match (one == at, other == at) {
                (true, _) => Some(other),
                (_, true) => Some(one),
                _ => None,
            });
            let mut all: Vec<u32> = others.collect();
            all.sort_unstable();
            all
        };
        let port = |at: u32, peer: u32| {
            let back = neighbours(peer).iter().position(|&other| other == at);
            (peer, Port(back.map_or(0, |port| port as u32)))
        };
        let ports = |at: u32| neighbours(at).into_iter().map(|peer| port(at, peer)).collect();
        let links = (0..ranks.len() as u32).map(ports).collect();
        Model::new(ranks, links)
    }

    /// A complete network, otherwise like `Model::new`.
    pub fn complete(ranks: Vec<R>) -> Self {
        let size = ranks.len() as u32;
        let links: Vec<(u32, u32)> = (0..size).flat_map(|one| (one + 1..size).map(move |other| (one, other))).collect();
        Model::graph(ranks, &links)
    }

    /// What a node knows about its place.
    pub(crate) fn node_info(&self, at: u32) -> NodeInfo<R> {
        let ports = &self.links[at as usize];
        let peers = if self.is_ring {
            Peers::Unknown(ports.len() as u32)
        } else {
            Peers::Known(ports.iter().map(|&(peer, _)| self.ranks[peer as usize]).collect())
        };
        NodeInfo { rank: self.ranks[at as usize], index: at, size: self.members, peers }
    }
}

impl<R> Model<R> {
    /// The number of positions, including an informer outside the election.
    pub(crate) fn size(&self) -> usize {
        self.ranks.len()
    }

    /// The neighbour behind a port, and the port at which messages arrive there. On a ring, skipped nodes are left out.
    pub(crate) fn target(&self, at: u8, port: Port, skipped: [u8; 2]) -> Option<(u8, Port)> {
        let &(peer, into) = self.links.get(usize::from(at))?.get(port.index())?;
        if !self.is_ring || skipped == [0, 0] {
            return Some((peer as u8, into));
        }
        let size = self.members;
        let reachable = skipped.map(|count| u32::from(count) + 1);
        // Both sides meet on a ring: from then on the node skips all others.
        let away = if reachable[0] + reachable[1] > size { size } else { reachable[port.index()] };
        let steps = if port == Port::NEXT { away } else { size - away };
        Some((((u32::from(at) + steps) % size) as u8, into))
    }
}
