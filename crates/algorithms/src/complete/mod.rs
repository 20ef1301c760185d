//! Complete networks: everybody reaches everybody and knows everybody's rank; who is up is not known.
//!
//! What they share is here (whom to send to, the waits, what a node does that comes back), in `canvass` (one node asks,
//! picks the greatest that answers, and announces it), in `clock` (timers of which only the last one counts), and in
//! `patience` (waits that grow where they proved too short).

mod bully;
mod campaigner;
mod canvass;
mod clock;
mod improved_bully;
mod invitation;
mod patience;

use core::num::NonZeroU64;

use hustings_protocol::{Context, Port, Protocol};

pub use bully::{Adapt, Bully, BullyParams, Recovery, Tell};
pub use campaigner::{Campaigner, CampaignerParams};
pub use improved_bully::{ImprovedBully, ImprovedBullyParams};
pub use invitation::{Invitation, InvitationParams};

use crate::{
    About, Assumptions, Certainty, DefaultIds, Direction, Family, Goal, Identity, Initiators, Inputs, Knowledge,
    NetworkKind, Setting, Source, Synchrony, Tolerates, Winner,
};

crate::choices! {
    /// What a node does that has nobody to ask.
    pub enum Highest {
        /// It waits for an answer all the same.
        Wait = "wait",
        /// It wins at once.
        Announce = "announce",
    }
}

crate::choices! {
    /// What a node does that recovers or joins.
    pub enum Return {
        /// It holds an election.
        Elect = "elect",
        /// It announces itself at once if its id is the highest of all; else it holds an election.
        Announce = "announce",
    }
}

impl Return {
    /// Whether this node announces itself at once.
    fn announces<P: Protocol, C: Context<P>>(self, cx: &C) -> bool {
        self == Return::Announce && higher(cx) == 0
    }
}

/// How long nodes wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Waits {
    /// How long a message may travel.
    travel: u64,
    /// How long it may take to handle one.
    handling: u64,
}

impl Waits {
    /// The waits where messages travel and are handled in so much time; a bandwidth holds them up.
    fn new<R>(setting: &Setting<'_, R>, travel: NonZeroU64, handling: u64) -> Self {
        Waits { travel: setting.travel(travel.get()), handling }
    }

    /// For the answer to a question.
    const fn answer(self) -> u64 {
        self.travel.saturating_mul(2).saturating_add(self.handling)
    }

    /// For the answer to a question that is passed on once.
    const fn forwarded(self) -> u64 {
        self.answer().saturating_add(self.travel).saturating_add(self.handling)
    }

    /// For the result of an election that somebody else holds.
    const fn coordinator(self) -> u64 {
        self.travel.saturating_mul(5).saturating_add(self.handling.saturating_mul(2))
    }
}

/// Sends the same to every peer whose rank is wanted, by ascending port. Says how many there are.
///
/// Neighbouring ports go together: where ranks ascend by position, the higher ones are a single range.
#[inline(always)]
fn send_where<P: Protocol, C: Context<P>>(cx: &mut C, message: P::Message, wanted: impl Fn(P::Rank) -> bool) -> u32 {
    let (degree, mut port, mut count) = (cx.degree(), 0, 0);
    while port < degree {
        while port < degree && !cx.peer_rank(Port(port)).is_some_and(&wanted) {
            port += 1;
        }
        let first = port;
        while port < degree && cx.peer_rank(Port(port)).is_some_and(&wanted) {
            port += 1;
        }
        if port > first {
            cx.send_range(first..port, message.clone());
            count += port - first;
        }
    }
    count
}

/// How many peers rank higher than this node.
fn higher<P: Protocol, C: Context<P>>(cx: &C) -> u32 {
    let own = cx.rank();
    let ranks = (0..cx.degree()).filter_map(|port| cx.peer_rank(Port(port)));
    ranks.filter(|rank| *rank > own).count() as u32
}

/// How many messages of questions and of answers it takes if each of these asks everybody above: the sum over their
/// places in the order of all ranks.
fn all_above(places: impl Iterator<Item = u32>, size: u64) -> u64 {
    places.map(|place| size - 1 - u64::from(place)).sum()
}

/// What descriptions of algorithms on complete networks have in common; they replace the rest.
const COMPLETE: About = About {
    name: "",
    aliases: &[],
    summary: "",
    family: Family::Complete,
    network: NetworkKind::Complete,
    assumptions: Assumptions {
        direction: Direction::TwoWay,
        fifo: false,
        identity: Identity::Unique,
        synchrony: Synchrony::Synchronous,
        knows: Knowledge::Members,
    },
    certainty: Certainty::Always,
    initiators: Initiators::LowestLive,
    default_ids: DefaultIds::PositionsFromOne,
    repeats: true,
    goal: Goal::Leader,
    winner: Winner::Greatest,
    min_nodes: 1,
    extra_ticks: None,
    tolerates: Tolerates { crashes: true, recoveries: true, ..Tolerates::DOWN },
    inputs: Inputs::NOTHING,
    costs: &[],
    source: Source { authors: "", title: "", text: "" },
};
