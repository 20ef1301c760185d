//! Complete networks: every node reaches every other and knows all ranks, but not which nodes are up.
//!
//! Shared code is here (sending by rank, timeouts, what a recovered node does), in `survey` (one node asks, and
//! announces the greatest that answers), in `single_timer` (a timer that replaces the one before), and in
//! `adaptive_timeout` (timeouts that double). Specified in `docs/model.md#complete-networks`.

mod adaptive_timeout;
mod bully;
mod campaigner;
mod improved_bully;
mod invitation;
mod single_timer;
mod survey;

use core::num::NonZeroU64;

use hustings_protocol::{Context, Port, Protocol};

pub use bully::{Adapt, Bully, BullyParams, Recovery, Tell};
pub use campaigner::{Campaigner, CampaignerParams};
pub use improved_bully::{ImprovedBully, ImprovedBullyParams};
pub use invitation::{Invitation, InvitationParams};

use crate::{About, Assumptions, CostDelays, Initiators, Knowledge, NetworkKind, Setting, Synchrony, Tolerates};

crate::choices! {
    /// What a node with nobody to ask does.
    pub enum Highest {
        /// It waits for an answer all the same.
        Wait = "wait",
        /// It wins at once.
        Announce = "announce",
    }
}

crate::choices! {
    /// What a recovered or joined node does.
    pub enum OnRejoin {
        /// It holds an election.
        Elect = "elect",
        /// It announces itself at once if its id is the highest of all; otherwise it holds an election.
        Announce = "announce",
    }
}

impl OnRejoin {
    /// Whether this node announces itself at once.
    fn announces<P: Protocol, C: Context<P>>(self, cx: &C) -> bool {
        self == OnRejoin::Announce && count_higher(cx) == 0
    }
}

/// The timeouts of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Timeouts {
    /// The longest travel time of a message.
    travel: u64,
    /// The longest handling time of a message.
    handling: u64,
}

impl Timeouts {
    /// Timeouts for these bounds. A bandwidth adds to the travel time.
    fn new<R>(setting: &Setting<'_, R>, travel: NonZeroU64, handling: u64) -> Self {
        Timeouts { travel: setting.travel(travel.get()), handling }
    }

    /// The timeout for the answer to a question.
    const fn answer(self) -> u64 {
        self.travel.saturating_mul(2).saturating_add(self.handling)
    }

    /// The timeout for the answer to a question that is forwarded once.
    const fn forwarded(self) -> u64 {
        self.answer().saturating_add(self.travel).saturating_add(self.handling)
    }

    /// The timeout for the result of an election held by another node.
    const fn coordinator(self) -> u64 {
        self.travel.saturating_mul(5).saturating_add(self.handling.saturating_mul(2))
    }
}

/// Sends a message to every peer whose rank is wanted, by ascending port. Returns how many there are.
///
/// Adjacent ports are sent as one range: where ranks ascend by position, the higher ones are a single range.
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

/// The number of peers with a higher rank.
fn count_higher<P: Protocol, C: Context<P>>(cx: &C) -> u32 {
    let own = cx.rank();
    let ranks = (0..cx.degree()).filter_map(|port| cx.peer_rank(Port(port)));
    ranks.filter(|rank| *rank > own).count() as u32
}

/// The number of questions if each of these nodes asks all higher ones. `places` are places in the order of all ranks.
fn sum_of_higher(places: impl Iterator<Item = u32>, size: u64) -> u64 {
    places.map(|place| size - 1 - u64::from(place)).sum()
}

/// Common parts of the descriptions of algorithms on complete networks.
const COMPLETE: About = About {
    assumptions: Assumptions {
        synchrony: Synchrony::Synchronous,
        knows: Knowledge::Members,
        ..About::on(NetworkKind::Complete).assumptions
    },
    initiators: Initiators::LowestLive,
    repeats: true,
    tolerates: Tolerates { crashes: true, recoveries: true, ..Tolerates::DOWN },
    // The default of `T`.
    cost_delays: CostDelays::AtMost(1),
    ..About::on(NetworkKind::Complete)
};
