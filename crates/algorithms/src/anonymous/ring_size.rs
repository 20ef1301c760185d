//! Itai–Rodeh ring size: nodes that are all alike guess how many they are, upwards, until nothing contradicts them.
//!
//! - **Assumes** a directed ring of two nodes or more; any delays, any order of messages. Nobody knows how many there
//!   are.
//! - **Promises** that it ends with the same estimate everywhere, never above n; it is n with a probability that goes
//!   to 1 as ids are drawn from more numbers. No node knows when it is over, and nobody leads.
//! - **Skips** nodes that are down from the start: the estimate is that of the others, of which there must be two. It
//!   does not survive a crash on the way: messages then come home too early, and the estimate may end up too great, or
//!   not be the same everywhere.
//! - **Comes from** A. Itai and M. Rodeh, 1990; McMaster's slides, "Itai-Rodeh Ring Size Algorithm".
//! - **Costs** e messages for every node that comes to an estimate e, and fewer where it was overtaken.
//!
//! The text has every node start by itself. One that gets a message before it has started does so then, and handles the
//! message after that. What is passed on goes before what is one's own.

use core::cmp::Ordering;
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::{Context, Fact, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

use crate::ring::plain::DIRECTED_RING;
use crate::{About, Algorithm, Assumptions, Case, Certainty, Cost, Family, Goal, Identity, Setting, Source, Winner};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct RingSize;

const RANGE: NonZeroU64 = NonZeroU64::new(16).expect("it is not 0");

crate::params! {
    /// The parameters of ring-size.
    pub struct RingSizeParams {
        "ids are drawn from 1 to this; the more, the surer" "R" as range: NonZeroU64 = RANGE,
    }
}

/// Its state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R> {
    range: NonZeroU64,
    rank: PhantomData<R>,
}

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// Its estimate; 0 before it has started.
    estimate: u32,
    /// What it drew for that estimate.
    id: u64,
}

/// The least that a ring of two or more can be.
const FIRST: u32 = 2;

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Somebody's estimate, on its way to the node that would be its sender if the estimate were right.
    Estimate {
        /// The id that was drawn for it.
        id: u64,
        /// How many nodes there would be.
        size: u32,
        /// How far the message has come.
        hops: u32,
    },
}
kinds!(Message: Estimate = "estimate");

impl<R: Rank> Rules<R> {
    /// Inputs up an estimate: draws an id and sends it off.
    #[inline(always)]
    fn estimate<C: Context<Self>>(&self, state: &mut State, size: u32, cx: &mut C) {
        let id = cx.draw(self.range.get()) + 1;
        *state = State { estimate: size, id };
        cx.learn(Fact::Size(size.into()));
        cx.send(Port::NEXT, Message::Estimate { id, size, hops: 1 });
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State;
    type Message = Message;

    fn init(&self) -> State {
        State { estimate: 0, id: 0 }
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut State, _: StartReason, cx: &mut C) {
        if state.estimate == 0 {
            self.estimate(state, FIRST, cx);
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State, _: Port, message: Message, cx: &mut C) {
        let Message::Estimate { id, size, hops } = message;
        if state.estimate == 0 {
            self.estimate(state, FIRST, cx);
        }
        let order = size.cmp(&state.estimate);
        let is_at_its_end = hops >= size;
        if order != Ordering::Less && !is_at_its_end {
            cx.send(Port::NEXT, Message::Estimate { id, size, hops: hops.saturating_add(1) });
        }
        match order {
            Ordering::Greater if is_at_its_end => self.estimate(state, size.saturating_add(1), cx),
            Ordering::Greater => self.estimate(state, size, cx),
            Ordering::Equal if is_at_its_end && id != state.id => self.estimate(state, size.saturating_add(1), cx),
            Ordering::Equal | Ordering::Less => {}
        }
    }

    fn handle_unreachable<C: Context<Self>>(&self, _: &mut State, port: Port, _: Message, cx: &mut C) {
        cx.skip(port);
    }
}

impl Algorithm for RingSize {
    type Params = RingSizeParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "ring-size",
        summary: "estimates of the number of nodes grow until everybody finds its own id where it should be",
        family: Family::Anonymous,
        assumptions: Assumptions { fifo: false, identity: Identity::Anonymous, ..DIRECTED_RING.assumptions },
        certainty: Certainty::MonteCarlo,
        goal: Goal::Estimate,
        min_nodes: FIRST,
        // An estimate e is held against the ring for e ticks; the next one follows.
        extra_ticks: Some(|n| n * (n + 1) / 2),
        costs: &[
            Cost::exactly(Case::Best, "2n", |n| (2 * n) as f64),
            Cost::described(Case::Average, "O(n³)"),
            Cost::at_most(Case::Worst, "n(n(n+1)/2-1)", |n| (n * (n * (n + 1) / 2).saturating_sub(1)) as f64),
        ],
        source: Source {
            authors: "A. Itai and M. Rodeh, 1990",
            title: "Symmetry breaking in distributed networks",
            text: "McMaster",
        },
        winner: Winner::Anyone,
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(params: &RingSizeParams, _: &Setting<'_, R>) -> Rules<R> {
        Rules { range: params.range, rank: PhantomData }
    }
}
