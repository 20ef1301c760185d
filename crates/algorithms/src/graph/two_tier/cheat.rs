//! Members that cheat, and how the others detect it.
//!
//! # How a member cheats
//!
//! - `rank`: it reports the greatest rank of the map as if that node had answered, whether it is up or not.
//! - `ack`: it acknowledges `election` and `leader` as soon as they reach it, before the nodes behind it have.
//!
//! # What detects it
//!
//! - **A winner that does not answer** ([`SilentWinner`]), against `rank`. The `notify` of the source is undeliverable,
//!   or the winner is unreachable. The first time it may be a crash, and the election is held again. A dead node cannot
//!   take part twice, so the second time some node lies. The source cannot tell which, and leads itself. Greater nodes
//!   have been passed over, and object.
//! - **A greater node that was passed over** ([`was_passed_over`]), against `ack`. A node that took part in an election
//!   and hears of a lesser winner knows that its own answer did not reach the source. It holds an election of its own,
//!   in which it counts. Each such election has a greater winner, so they end. (A crash or a cut at the wrong moment
//!   looks the same, and is repaired the same way.)
//! - **A leader that answers** the `ping` of a subordinate that was told of its failure: nobody takes over from a live
//!   leader by claiming that it failed.
//!
//! # What is not detected
//!
//! - `rank`, if the greatest node is up: the lie happens to be true. A rank contains its owner's id, so a liar can help
//!   another node to win, or no node, but never itself. For the same reason pings and pongs reveal no wrong rank.
//! - `ack`, if no node behind the cheat is greater than the winner: the right node leads, only sooner.
//! - `rank`, if the greatest node is up but unreachable, together with so many others that a source outside any clique
//!   keeps no list of them. That is possible from about 2,900 nodes on.
//! - `ack` of `leader`: the clique is formed before all nodes have heard of the leader. They hear of it later.

use alloc::{boxed::Box, vec::Vec};

use hustings_protocol::{Cheating, Context, Fact, Id, Protocol, Rank};

use super::Rules;
use crate::graph::diffusion::{self, Aggregate, Greatest, Progress};
use crate::{Cheat, Setting};

/// The greatest rank, gathered by honest and cheating nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CheatingGreatest<R> {
    /// The nodes that report the rank of another, and that rank.
    liars: Vec<Id>,
    lie: Option<R>,
    /// The nodes that acknowledge too early.
    early_ackers: Vec<Id>,
}

impl<R: Rank> Rules<R> {
    /// Tells observers if this node has just cheated.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_cheat<C: Context<Self>>(
        &self,
        state: &diffusion::State<R, R>,
        progress: Progress,
        cx: &mut C,
    ) {
        let (own, cheats) = (cx.rank(), self.diffusion.aggregate());
        let is_joining = progress.contains(Progress::ELECTING) || progress.contains(Progress::FOLLOWING);
        let lies = progress.contains(Progress::ELECTING) && cheats.lies(own);
        if lies || is_joining && cheats.acks_early(own) && state.has_answered_early() {
            cx.learn(Fact::Cheating(Cheating::Acted));
        }
    }

    /// Tells observers by which rule this node has noticed that another one cheats. Without a cheat the rules repair
    /// the effects of a crash or a cut, and there is nothing to tell.
    pub(super) fn observe_notice<C: Context<Self>>(&self, rule: Cheating, cx: &mut C) {
        if self.has_cheats() {
            cx.learn(Fact::Cheating(rule));
        }
    }

    pub(super) fn has_cheats(&self) -> bool {
        let cheats = self.diffusion.aggregate();
        !cheats.liars.is_empty() || !cheats.early_ackers.is_empty()
    }
}

impl<R: Rank> CheatingGreatest<R> {
    /// Whether this node reports a rank that is not its own.
    fn lies(&self, own: R) -> bool {
        self.liars.contains(&own.id()) && self.lie != Some(own)
    }

    pub(super) fn new(setting: &Setting<'_, R>) -> Self {
        let who = |wanted: Cheat| {
            let places = setting.cheats.iter().filter(|(_, cheat)| *cheat == wanted).map(|(place, _)| *place as usize);
            places.filter_map(|place| setting.ranks.get(place)).map(|rank| rank.id()).collect()
        };
        let lie = setting.ranks.iter().copied().max();
        CheatingGreatest { liars: who(Cheat::Rank), lie, early_ackers: who(Cheat::Ack) }
    }
}

impl<R: Rank> Aggregate<R> for CheatingGreatest<R> {
    type Value = R;

    #[inline(always)]
    fn own<P: Protocol<Rank = R>, C: Context<P>>(&self, cx: &C) -> R {
        let own = cx.rank();
        if self.liars.contains(&own.id()) { self.lie.unwrap_or(own) } else { own }
    }

    #[inline(always)]
    fn nothing(&self, own: R) -> R {
        Aggregate::<R>::nothing(&Greatest, own)
    }

    #[inline(always)]
    fn merge(&self, gathered: &mut R, more: R) {
        Greatest.merge(gathered, more);
    }

    #[inline(always)]
    fn winner(&self, gathered: &R, source: R) -> R {
        Greatest.winner(gathered, source)
    }

    #[inline(always)]
    fn acks_early(&self, own: R) -> bool {
        self.early_ackers.contains(&own.id())
    }
}

/// The winner that did not answer the source, if any.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct SilentWinner(Option<Box<Id>>);

impl SilentWinner {
    /// Records that this winner does not answer. Returns whether it did not answer the time before either.
    pub(super) fn again(&mut self, winner: Id) -> bool {
        self.0.replace(Box::new(winner)).is_some_and(|before| *before == winner)
    }

    /// Forgets it: there is a leader.
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    pub(super) fn is_any(&self) -> bool {
        self.0.is_some()
    }
}

/// Whether a node that took part in the election with this counter was passed over by the winner announced now.
pub(super) fn was_passed_over<R: Rank>(own: R, election: u32, winner: Option<R>, announcement: u32) -> bool {
    winner.is_some_and(|winner| winner < own) && announcement == election.wrapping_add(1)
}
