//! Members that cheat, and what the others can do about it.
//!
//! # How a member cheats
//!
//! - `rank`: it reports the greatest rank of the map as if that one had answered, whether it is there or not.
//! - `ack`: it acknowledges `election` and `leader` as soon as they reach it, before those behind it have.
//!
//! # What detects it
//!
//! - **A winner that does not answer** ([`Doubt`]). The source hears that its `notify` found nobody, or knows that the
//!   winner is out of reach. Once may be a crash just then, and the election is held again. Who is down cannot answer
//!   twice: the second time somebody lies, there is no way to tell whom to believe, and the source leads itself. Those
//!   who are greater have been passed over, and object. Against `rank`.
//! - **A greater one that was passed over** ([`passed_over`]). Whoever took part in an election, hears of its winner
//!   and is greater knows that its own answer never got to the source. It holds an election of its own, in which it
//!   counts. Every such election has a greater winner, so there is an end to it. Against `ack`. (A crash or a cut at
//!   the wrong moment looks the same, and is mended the same way.)
//! - **A leader that answers** `ping` to a subordinate that was told it had failed: nobody takes over from a leader
//!   that lives by saying so.
//!
//! # What nobody detects
//!
//! - `rank`, if the greatest is there: what the liar says happens to be true. A rank holds its owner's id, so that a
//!   liar can help another one to win, or nobody, but never itself; pings and pongs find no wrong rank for this reason.
//! - `ack`, if nobody behind the cheat is greater than the winner: the right one leads, only sooner.
//! - `rank`, if the greatest is up but out of reach, together with so many others that a source that belongs to no
//!   clique keeps no list of them. That can be from some 2,900 nodes on.
//! - `ack` of `leader`: the clique is formed while some have not heard of the leader yet. They will.

use alloc::{boxed::Box, vec::Vec};

use hustings_protocol::{Context, Id, Protocol, Rank};

use crate::graph::diffusion::{Aggregate, Greatest};
use crate::{Cheat, Setting};

/// The greatest rank, as honest and other nodes gather it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Gather<R> {
    /// Who reports another's rank, and whose.
    liars: Vec<Id>,
    lie: Option<R>,
    /// Who acknowledges too early.
    hasty: Vec<Id>,
}

impl<R: Rank> Gather<R> {
    pub(super) fn new(setting: &Setting<'_, R>) -> Self {
        let who = |wanted: Cheat| {
            let places = setting.cheats.iter().filter(|(_, cheat)| *cheat == wanted).map(|(place, _)| *place as usize);
            places.filter_map(|place| setting.ranks.get(place)).map(|rank| rank.id()).collect()
        };
        let lie = setting.ranks.iter().copied().max();
        Gather { liars: who(Cheat::Rank), lie, hasty: who(Cheat::Ack) }
    }
}

impl<R: Rank> Aggregate<R> for Gather<R> {
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
    fn is_hasty(&self, own: R) -> bool {
        self.hasty.contains(&own.id())
    }
}

/// What a source remembers of a winner that did not answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Doubt(Option<Box<Id>>);

impl Doubt {
    /// This winner does not answer. Says whether it did not the time before.
    pub(super) fn again(&mut self, winner: Id) -> bool {
        self.0.replace(Box::new(winner)).is_some_and(|before| *before == winner)
    }

    /// There is a leader.
    pub(super) fn settle(&mut self) {
        self.0 = None;
    }

    pub(super) fn is_any(&self) -> bool {
        self.0.is_some()
    }
}

/// Whether a node that took part in the election with this counter was passed over by a winner that it hears of now.
pub(super) fn passed_over<R: Rank>(own: R, election: u32, winner: Option<R>, announcement: u32) -> bool {
    winner.is_some_and(|winner| winner < own) && announcement == election.wrapping_add(1)
}
