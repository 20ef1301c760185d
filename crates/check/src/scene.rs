//! What is checked: who there is, who starts, what the links and clocks are like, and what may go wrong.

use hustings_protocol::{NodeInfo, Peers, Port, Rank};

use crate::world::Budget;

/// The most nodes of an election that is checked. (Far fewer are practical.)
pub const MAX_NODES: u32 = 32;

/// An election that is checked.
#[derive(Clone, Debug)]
pub struct Scene<R> {
    /// The rank of each position, those outside the election (an informer) included.
    pub ranks: Vec<R>,
    /// How many positions belong to the election: the first ones.
    pub members: u32,
    /// Who is behind each port of each position, and the port at which a message comes in there.
    pub links: Vec<Vec<(u32, Port)>>,
    /// Whether it is a ring, on which dead neighbours can be skipped and nobody knows the ranks of others.
    pub is_ring: bool,
    /// The positions that get a start signal, each at some time.
    pub starters: Vec<u32>,
    /// What links do.
    pub channels: Channels,
    /// What clocks do.
    pub timing: Timing,
    /// What may go wrong.
    pub budget: Budget,
    /// Whether those who name a dead leader are told, if their protocol does not watch for itself.
    pub notices: bool,
    /// Whether it matters who started before it was drawn in.
    pub notes_entrants: bool,
    /// Whether a node takes its first step, also if that does nothing, before it takes any message. (So do models that
    /// other tools publish; here a message may draw a node in.)
    pub first_steps: bool,
}

/// What links do with messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Channels {
    /// They keep the order.
    #[default]
    Fifo,
    /// Any message may overtake any other.
    Unordered,
}

/// What clocks do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// Nothing is known: a timer may be due at any time after it was set.
    Free,
    /// Messages take at most so many ticks, or none, and timers take just as many as they were set for. Where a message
    /// must arrive at the tick at which a timer is due, the message comes first.
    Bounded(u32),
    /// Timers are so long that everything else happens before: they are due, the shorter ones first, when nothing else
    /// can happen but faults.
    Patient,
}

impl<R: Rank> Scene<R> {
    /// An election among these, all of whom start, with these links (the peer behind each port, and its port). Links
    /// keep order, nothing is known of time, nothing fails.
    pub fn new(ranks: Vec<R>, links: Vec<Vec<(u32, Port)>>) -> Self {
        let members = ranks.len() as u32;
        Scene {
            ranks,
            members,
            links,
            is_ring: false,
            starters: (0..members).collect(),
            channels: Channels::Fifo,
            timing: Timing::Free,
            budget: Budget::default(),
            notices: false,
            notes_entrants: false,
            first_steps: false,
        }
    }

    /// The same on a ring.
    pub fn ring(ranks: Vec<R>) -> Self {
        let size = ranks.len() as u32;
        let ports = |at: u32| vec![((at + 1) % size, Port::PREVIOUS), ((at + size - 1) % size, Port::NEXT)];
        Scene { is_ring: true, ..Scene::new(ranks, (0..size).map(ports).collect()) }
    }

    /// The same on a graph, given by its links; neighbours are behind ports in ascending order.
    pub fn graph(ranks: Vec<R>, links: &[(u32, u32)]) -> Self {
        let neighbours = |at: u32| -> Vec<u32> {
            let ends = links.iter().filter_map(|&(one, other)| match (one == at, other == at) {
                (true, _) => Some(other),
                (_, true) => Some(one),
                _ => None,
            });
            let mut all: Vec<u32> = ends.collect();
            all.sort_unstable();
            all
        };
        let port = |at: u32, peer: u32| {
            let back = neighbours(peer).iter().position(|&other| other == at);
            (peer, Port(back.map_or(0, |port| port as u32)))
        };
        let ports = |at: u32| neighbours(at).into_iter().map(|peer| port(at, peer)).collect();
        let links = (0..ranks.len() as u32).map(ports).collect();
        Scene::new(ranks, links)
    }

    /// The same where everybody reaches everybody.
    pub fn complete(ranks: Vec<R>) -> Self {
        let size = ranks.len() as u32;
        let links: Vec<(u32, u32)> = (0..size).flat_map(|one| (one + 1..size).map(move |other| (one, other))).collect();
        Scene::graph(ranks, &links)
    }

    /// How many positions there are, an informer outside included.
    pub fn size(&self) -> usize {
        self.ranks.len()
    }

    /// What a node knows of its place.
    pub(crate) fn place(&self, at: u32) -> NodeInfo<R> {
        let ports = &self.links[at as usize];
        let peers = if self.is_ring {
            Peers::Unknown(ports.len() as u32)
        } else {
            Peers::Known(ports.iter().map(|&(peer, _)| self.ranks[peer as usize]).collect())
        };
        NodeInfo { rank: self.ranks[at as usize], index: at, size: self.members, peers }
    }
}

impl<R> Scene<R> {
    /// Who is behind a port, and where a message comes in there. On a ring, those who were struck off are left out.
    pub(crate) fn target(&self, at: u8, port: Port, struck: [u8; 2]) -> Option<(u8, Port)> {
        let &(peer, into) = self.links.get(usize::from(at))?.get(port.index())?;
        if !self.is_ring || struck == [0, 0] {
            return Some((peer as u8, into));
        }
        let size = self.members;
        let reach = struck.map(|count| u32::from(count) + 1);
        // The two sides are one ring: when they have met, everybody else is struck off.
        let away = if reach[0] + reach[1] > size { size } else { reach[port.index()] };
        let steps = if port == Port::NEXT { away } else { size - away };
        Some((((u32::from(at) + steps) % size) as u8, into))
    }
}
