//! Itai–Rodeh: Chang–Roberts with random ids, in rounds, until only one node has the greatest id.
//!
//! - **Source**: A. Itai and M. Rodeh, 1990; McMaster, "Itai-Rodeh Election Algorithm".
//! - **Needs** a directed ring whose nodes know n; any delays, any order of messages. `rounds=off` needs FIFO links.
//! - **Guarantees** that exactly one initiator leads and all nodes know it, with probability 1 (Las Vegas). With
//!   `ids=1` there is nothing to draw and several initiators stay symmetric: no anonymous election always terminates.
//! - **Does not tolerate** nodes that are down before the election is won: no message comes home after n hops. There is
//!   never more than one leader.
//! - **Messages**: O(n log n) `candidate` on average, and n `elected`.
//! - **Decided**: without FIFO order a candidate may come home to a node that has turned passive, and start a second
//!   lap with more than n hops. An active node with the same round and id passes it on, dirty. The node with the
//!   greatest id drops it. Without round numbers it may circulate until the end of the run.
//!
//! Specified in `docs/model.md#itai-rodeh`.

use core::cmp::Ordering;
use core::marker::PhantomData;

use alloc::string::{String, ToString};
use hustings_protocol::{Context, Port, Rank, kinds};
use serde::{Deserialize, Serialize};

use super::follow_up::lap::Lap;
use super::follow_up::{FollowUp, WithFollowUp, embeds};
use crate::ring::election::{DIRECTED_RING, RingElection, RingProtocol, Verdict, announces};
use crate::{
    About, Algorithm, Assumptions, Case, Certainty, CheckCase, Cost, Family, Identity, Knowledge, ParamValue, Setting,
    Source, Tolerates, Winner,
};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct ItaiRodeh;

/// The range from which ids are drawn: 1 to this number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IdRange {
    /// The number of nodes.
    Size,
    /// A fixed number.
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
    /// Whether candidates carry a round number.
    pub enum Rounds {
        /// They do.
        On = "on",
        /// They do not, and links must be FIFO.
        Off = "off",
    }
}

crate::params! {
    /// The parameters of itai-rodeh.
    pub struct ItaiRodehParams {
        "ids are drawn from 1 to this number" ids: IdRange = IdRange::Size,
        "whether candidates carry round numbers; off is correct on FIFO links only"
            rounds: Rounds = Rounds::On,
        "what the leader does next: assign names, tell all nodes their number, both or nothing"
            then: FollowUp = FollowUp::Nothing,
    }
}

/// The rules of the election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R> {
    ids: IdRange,
    rounds: Rounds,
    rank: PhantomData<R>,
}

/// The state of an active node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Draw {
    /// The round; always 0 without round numbers.
    round: u32,
    /// The id drawn in that round.
    id: u32,
}

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// A candidate.
    Candidate {
        /// The id it drew.
        id: u32,
        /// The round in which it was drawn.
        round: u32,
        /// The number of hops so far.
        hops: u32,
        /// Whether another node has the same id.
        dirty: bool,
    },
    /// The announcement: the winner's rank.
    Elected(R),
    /// After the election: the next free name.
    Name(u32),
    /// After the election: the number of nodes counted so far.
    Count(u32),
    /// After the election: the number of nodes.
    Size(u32),
}
kinds!(Message<R>: Candidate = "candidate", Elected = "elected", Name = "name", Count = "count", Size = "size");
announces!(Message);
embeds!(Message);

impl<R: Rank> Rules<R> {
    /// Draws an id and sends it clockwise.
    #[inline(always)]
    fn enter_round<C: Context<RingProtocol<Self>>>(&self, round: u32, cx: &mut C) -> Draw {
        let most = match self.ids {
            IdRange::Size => cx.size().max(1),
            IdRange::Of(most) => most.max(1),
        };
        let id = cx.draw(most.into()) as u32 + 1;
        cx.send(Port::NEXT, Message::Candidate { id, round, hops: 1, dirty: false });
        Draw { round, id }
    }
}

impl<R: Rank> RingElection for Rules<R> {
    type Rank = R;
    type Active = Draw;
    type Message = Message<R>;

    /// Candidates still in flight are smaller or outdated.
    const ANNOUNCER_DROPS: bool = true;

    #[inline(always)]
    fn enter<C: Context<RingProtocol<Self>>>(&self, cx: &mut C) -> Draw {
        self.enter_round(0, cx)
    }

    #[inline(always)]
    fn step<C: Context<RingProtocol<Self>>>(
        &self,
        own: &mut Draw,
        from: Port,
        message: Message<R>,
        cx: &mut C,
    ) -> Verdict<R> {
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
    fn pass_on<C: Context<RingProtocol<Self>>>(&self, _: Port, message: Message<R>, cx: &mut C) {
        if let Message::Candidate { id, round, hops, dirty } = message {
            cx.send(Port::NEXT, Message::Candidate { id, round, hops: hops.saturating_add(1), dirty });
        }
    }
}

impl Algorithm for ItaiRodeh {
    type Params = ItaiRodehParams;
    type Protocol<R: Rank> = WithFollowUp<RingProtocol<Rules<R>>, Lap<R>>;

    const ABOUT: About = About {
        name: "itai-rodeh",
        aliases: &["ir"],
        summary: "each node draws an id and sends it round; nodes that share the greatest id draw again",
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
        checks: &[CheckCase::quick("-n 3")],
        has_own_engine: true,
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
        WithFollowUp { election: RingProtocol(race), follow_up: Lap::new(params.then) }
    }
}
