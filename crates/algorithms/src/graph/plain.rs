//! What elections on graphs share: the flood that tells everybody, and most of their descriptions.

use core::mem;

use hustings_protocol::{Context, Port, Protocol};

use crate::ring::name;
use crate::{
    About, Assumptions, Certainty, DefaultIds, Direction, Family, Goal, Identity, Initiators, Inputs, Knowledge,
    NetworkKind, Source, Synchrony, Tolerates, Winner,
};

/// News on its way to everybody: from whoever has it to all neighbours, and by everyone else on first receipt to all
/// neighbours but the sender. That is 2E-(n-1) messages: one each way over every link, but none back over the n-1 links
/// over which the news came first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Flood {
    passed: bool,
}

impl Flood {
    /// Nobody has told this node anything yet.
    pub(crate) const QUIET: Flood = Flood { passed: false };

    /// The news are here, over a port or by the node's own doing: the first time they are taken in and passed on.
    #[inline(always)]
    pub(crate) fn spread<P, C>(
        &mut self,
        from: Option<Port>,
        message: P::Message,
        cx: &mut C,
        take_in: impl FnOnce(&mut C),
    ) where
        P: Protocol + ?Sized,
        C: Context<P>,
    {
        if !mem::replace(&mut self.passed, true) {
            take_in(cx);
            cx.send_all_but(from, message);
        }
    }

    /// The announcement: the news is who leads.
    #[inline(always)]
    pub(crate) fn announce<P, C>(&mut self, from: Option<Port>, leader: P::Rank, message: P::Message, cx: &mut C)
    where
        P: Protocol,
        C: Context<P>,
    {
        self.spread::<P, C>(from, message, cx, |cx| name::<P, C>(leader, cx));
    }
}

/// What most descriptions of elections on graphs have in common; they replace the rest.
pub(crate) const ANY_GRAPH: About = About {
    name: "",
    aliases: &[],
    summary: "",
    family: Family::Graph,
    network: NetworkKind::Graph,
    assumptions: Assumptions {
        direction: Direction::TwoWay,
        fifo: false,
        identity: Identity::Unique,
        synchrony: Synchrony::Asynchronous,
        knows: Knowledge::Neighbours,
    },
    certainty: Certainty::Always,
    initiators: Initiators::All,
    default_ids: DefaultIds::Positions,
    repeats: false,
    goal: Goal::Leader,
    winner: Winner::Greatest,
    min_nodes: 1,
    extra_ticks: None,
    tolerates: Tolerates::NOTHING,
    inputs: Inputs::NOTHING,
    costs: &[],
    source: Source { authors: "", title: "", text: "" },
};
