//! Itai–Rodeh: Chang–Roberts with ids that are drawn, round after round, until only one has the greatest.
//!
//! - **Assumes** a directed ring whose nodes know how many they are; any delays, any order of messages. With
//!   `rounds=off`, FIFO links: without order, some runs then have no leader.
//! - **Promises** that just one initiator leads and everybody knows it, with probability 1. Which one is up to the
//!   coins. With one id to draw from (`ids=1`) there are no coins, and several initiators stay alike for ever: the
//!   theorem that no election among nodes that are alike always ends, as a run.
//! - **Does not survive** nodes that are down: with fewer than n nodes in the ring no message comes home after n hops.
//!   If one is down from the start, or goes down before somebody has won, messages circle for ever and nobody leads.
//!   Who goes down later is skipped, as everywhere on a ring. There are never two leaders.
//! - **Comes from** A. Itai and M. Rodeh, 1990; McMaster's slides, "Itai-Rodeh Election Algorithm".
//! - **Costs** O(n log n) `candidate` on average, and n `elected`.
//!
//! Where links do not keep order, a candidate that comes home to a node that has turned passive starts a second lap;
//! its hops go beyond n then, of which the text says nothing. An active node with the same round and id passes it on,
//! dirty, like any other that is not its own. It was a greater candidate that made its sender passive, and whoever has
//! the greatest will drop it; without round numbers that need not be so, and it may go round for ever.

use core::cmp::Ordering;
use core::marker::PhantomData;

use alloc::string::{String, ToString};
use hustings_protocol::{Context, Port, Rank, kinds};
use serde::{Deserialize, Serialize};

use super::sequel::lap::Lap;
use super::sequel::{Followed, Then, carries};
use crate::ring::plain::{DIRECTED_RING, Plain, Race, Verdict, announces};
use crate::{
    About, Algorithm, Assumptions, Case, Certainty, Cost, Family, Identity, Knowledge, ParamValue, Setting, Source,
    Tolerates, Winner,
};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct ItaiRodeh;

/// From which numbers ids are drawn: 1 to this one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IdRange {
    /// As many as there are nodes.
    Size,
    /// So many.
    Of(u32),
}

impl ParamValue for IdRange {
    const ALLOWED: &'static str = "n, or a whole number from 1 to 4294967295";

    fn parse(text: &str) -> Option<Self> {
        if text == "n" {
            return Some(IdRange::Size);
        }
        text.parse().ok().filter(|&most| most > 0).map(IdRange::Of)
    }

    fn show(&self) -> String {
        match self {
            IdRange::Size => "n".into(),
            IdRange::Of(most) => most.to_string(),
        }
    }
}

crate::choices! {
    /// Whether candidates carry the number of their round.
    pub enum Rounds {
        /// They do.
        On = "on",
        /// They do not, and links must keep order.
        Off = "off",
    }
}

crate::params! {
    /// The parameters of itai-rodeh.
    pub struct ItaiRodehParams {
        "ids are drawn from 1 to this" ids: IdRange = IdRange::Size,
        "whether candidates carry the number of their round; off is right only where links keep order"
            rounds: Rounds = Rounds::On,
        "what the leader does next: hand out names, tell everybody how many there are, both or nothing"
            then: Then = Then::Nothing,
    }
}

/// Its race.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R> {
    ids: IdRange,
    rounds: Rounds,
    rank: PhantomData<R>,
}

/// What an active node remembers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Draw {
    /// Its round; always 0 if rounds have no numbers.
    round: u32,
    /// What it drew in that round.
    id: u32,
}

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// Somebody in the race.
    Candidate {
        /// The id it drew.
        id: u32,
        /// In which round.
        round: u32,
        /// How far the message has come.
        hops: u32,
        /// Whether it has met somebody else with that id.
        dirty: bool,
    },
    /// The winner.
    Elected(R),
    /// After the election: the next name that is free.
    Name(u32),
    /// After the election: so many were counted so far.
    Count(u32),
    /// After the election: so many there are.
    Size(u32),
}
kinds!(Message<R>: Candidate = "candidate", Elected = "elected", Name = "name", Count = "count", Size = "size");
announces!(Message);
carries!(Message);

impl<R: Rank> Rules<R> {
    /// Draws an id and sends it round.
    #[inline(always)]
    fn enter_round<C: Context<Plain<Self>>>(&self, round: u32, cx: &mut C) -> Draw {
        let most = match self.ids {
            IdRange::Size => cx.size().max(1),
            IdRange::Of(most) => most.max(1),
        };
        let id = cx.draw(most.into()) as u32 + 1;
        cx.send(Port::NEXT, Message::Candidate { id, round, hops: 1, dirty: false });
        Draw { round, id }
    }
}

impl<R: Rank> Race for Rules<R> {
    type Rank = R;
    type Active = Draw;
    type Message = Message<R>;

    /// What is left of the race is smaller, and late.
    const ANNOUNCER_DROPS: bool = true;

    #[inline(always)]
    fn enter<C: Context<Plain<Self>>>(&self, cx: &mut C) -> Draw {
        self.enter_round(0, cx)
    }

    #[inline(always)]
    fn step<C: Context<Plain<Self>>>(&self, own: &mut Draw, from: Port, message: Message<R>, cx: &mut C) -> Verdict<R> {
        let Message::Candidate { id, round, hops, dirty } = message else { return Verdict::Active };
        match (Draw { round, id }).cmp(own) {
            Ordering::Greater => {
                self.pass_on(from, message, cx);
                return Verdict::Passive;
            }
            Ordering::Less => {}
            Ordering::Equal if hops != cx.size() => {
                self.pass_on(from, Message::Candidate { id, round, hops, dirty: true }, cx);
            }
            Ordering::Equal if dirty => {
                let next = match self.rounds {
                    Rounds::On => round.saturating_add(1),
                    Rounds::Off => round,
                };
                *own = self.enter_round(next, cx);
            }
            Ordering::Equal => return Verdict::Won(cx.rank()),
        }
        Verdict::Active
    }

    fn round_of(active: &mut Draw) -> Option<&mut u32> {
        Some(&mut active.round)
    }

    fn round_in(message: &mut Message<R>) -> Option<&mut u32> {
        if let Message::Candidate { round, .. } = message { Some(round) } else { None }
    }

    #[inline(always)]
    fn pass_on<C: Context<Plain<Self>>>(&self, _: Port, message: Message<R>, cx: &mut C) {
        if let Message::Candidate { id, round, hops, dirty } = message {
            cx.send(Port::NEXT, Message::Candidate { id, round, hops: hops.saturating_add(1), dirty });
        }
    }
}

impl Algorithm for ItaiRodeh {
    type Params = ItaiRodehParams;
    type Protocol<R: Rank> = Followed<Plain<Rules<R>>, Lap<R>>;

    const ABOUT: About = About {
        name: "itai-rodeh",
        aliases: &["ir"],
        summary: "each draws an id and sends it round; those who share the greatest draw again, until only one has it",
        family: Family::Anonymous,
        assumptions: Assumptions {
            fifo: false,
            identity: Identity::Anonymous,
            knows: Knowledge::Size,
            ..DIRECTED_RING.assumptions
        },
        certainty: Certainty::LasVegas,
        tolerates: Tolerates::NOTHING,
        costs: &[
            Cost::exactly(Case::Best, "3n-1", |n| (3 * n).saturating_sub(1) as f64),
            Cost::described(Case::Average, "O(n log n)"),
            Cost::described(Case::Worst, "no bound, but each further lap is less likely"),
        ],
        source: Source {
            authors: "A. Itai and M. Rodeh, 1990",
            title: "Symmetry breaking in distributed networks",
            text: "McMaster",
        },
        winner: Winner::Anyone,
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(params: &ItaiRodehParams, _: &Setting<'_, R>) -> Self::Protocol<R> {
        let race = Rules { ids: params.ids, rounds: params.rounds, rank: PhantomData };
        Followed { election: Plain(race), sequel: Lap::new(params.then) }
    }
}
