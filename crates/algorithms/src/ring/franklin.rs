//! Franklin: in each round only the nodes that are greater than their nearest active neighbours on both sides stay
//! active.
//!
//! - **Source**: W. R. Franklin, 1982; McMaster, "Franklin's Algorithm".
//! - **Needs** a two-way ring with distinct ids and FIFO links.
//! - **Guarantees** that the greatest *initiator* leads and all nodes know it.
//! - **Messages**: exactly 2n `candidate` a round, at most ⌊log₂ n⌋+1 rounds, and n `elected`.
//!
//! Specified in `docs/model.md#franklin`.

use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};
use core::marker::PhantomData;
use core::mem;

use hustings_protocol::{Context, Port, Rank};

use super::candidate::Message;
use super::election::{DIRECTED_RING, RingElection, RingProtocol, Verdict, opposite};
use super::oracle;
use crate::{About, Algorithm, Assumptions, Case, CheckCase, Cost, Direction, Instance, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Franklin;

/// The rules of the election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// Candidates that an active node has received and not compared yet. A candidate from each side is compared at once, so
/// only one side can have any.
///
/// A neighbour is at most one round ahead, because it waits for this node or for one beyond it. So there are never more
/// than two, unless a node crashes during the run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Waiting<R> {
    /// Nothing.
    Nothing,
    /// One candidate from this side.
    One(Port, R),
    /// More than one. Boxed, because it is rare and would enlarge the state of every node.
    More(Box<Queue<R>>),
}

/// Candidates from one side.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Queue<R> {
    /// The side.
    side: Port,
    /// Oldest first, at least two.
    ranks: VecDeque<R>,
}

impl<R: Rank> Waiting<R> {
    fn push(&mut self, side: Port, rank: R) {
        match self {
            Waiting::Nothing => *self = Waiting::One(side, rank),
            Waiting::One(_, first) => {
                *self = Waiting::More(Box::new(Queue { side, ranks: VecDeque::from([*first, rank]) }));
            }
            Waiting::More(queue) => queue.ranks.push_back(rank),
        }
    }

    /// Takes the oldest one from that side.
    fn pop(&mut self, side: Port) -> Option<R> {
        match self {
            Waiting::One(from, rank) if *from == side => {
                let rank = *rank;
                *self = Waiting::Nothing;
                Some(rank)
            }
            Waiting::More(queue) if queue.side == side => {
                let rank = queue.ranks.pop_front();
                if let (1, Some(&last)) = (queue.ranks.len(), queue.ranks.front()) {
                    *self = Waiting::One(side, last);
                }
                rank
            }
            _ => None,
        }
    }

    /// Takes all from that side, oldest first.
    fn drain(&mut self, side: Port) -> impl Iterator<Item = R> {
        let mut waiting = mem::replace(self, Waiting::Nothing);
        core::iter::from_fn(move || waiting.pop(side))
    }
}

impl<R: Rank> RingElection for Rules<R> {
    type Rank = R;
    type Active = Waiting<R>;
    type Message = Message<R>;

    #[inline(always)]
    fn enter<C: Context<RingProtocol<Self>>>(&self, cx: &mut C) -> Waiting<R> {
        send_both_ways(cx);
        Waiting::Nothing
    }

    #[inline(always)]
    fn step<C: Context<RingProtocol<Self>>>(
        &self,
        waiting: &mut Waiting<R>,
        from: Port,
        message: Message<R>,
        cx: &mut C,
    ) -> Verdict<R> {
        let (rank, own) = (message.rank(), cx.rank());
        let Some(other) = waiting.pop(opposite(from)) else {
            waiting.push(from, rank);
            return Verdict::Active;
        };
        let greatest = rank.max(other);
        if greatest > own {
            // Early candidates are for the next active node on the other side.
            for early in waiting.drain(opposite(from)) {
                cx.send(from, Message::Candidate(early));
            }
            Verdict::Passive
        } else if greatest == own {
            Verdict::Won(own)
        } else {
            send_both_ways(cx);
            Verdict::Active
        }
    }

    #[inline(always)]
    fn pass_on<C: Context<RingProtocol<Self>>>(&self, from: Port, message: Message<R>, cx: &mut C) {
        cx.send(opposite(from), message);
    }
}

#[inline(always)]
fn send_both_ways<R: Rank, C: Context<RingProtocol<Rules<R>>>>(cx: &mut C) {
    cx.send_all_but(None, Message::Candidate(cx.rank()));
}

impl Algorithm for Franklin {
    type Params = NoParams;
    type Protocol<R: Rank> = RingProtocol<Rules<R>>;

    const ABOUT: About = About {
        name: "franklin",
        summary: "in each round only nodes greater than their nearest rivals on both sides stay active",
        assumptions: Assumptions { direction: Direction::TwoWay, ..DIRECTED_RING.assumptions },
        costs: &[
            Cost::exactly(Case::Best, "5n (n > 1)", |n| (n * (2 * oracle::min_rounds(n) + 1)) as f64),
            Cost::described(Case::Average, "n(2R+1), mean rounds R = 7/3 for n=4, 946/315 for n=8"),
            Cost::exactly(Case::Worst, "n(2⌊log₂ n⌋+3)", |n| (n * (2 * oracle::max_rounds(n) + 1)) as f64),
        ],
        counts_depend_on_starters: true,
        checks: &[CheckCase::quick("-n 3 --ids all"), CheckCase::slow("-n 5 --ids all")],
        has_own_engine: true,
        source: Source {
            authors: "W. R. Franklin, 1982",
            title: "On an improved algorithm for decentralized extrema finding in circular configurations of processors",
            text: "McMaster",
        },
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> RingProtocol<Rules<R>> {
        RingProtocol(Rules(PhantomData))
    }

    /// In each round every link carries one candidate in each direction.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let candidates = 2 * instance.size() * oracle::rounds(instance);
        Some(vec![candidates, oracle::announcements(instance)])
    }
}
