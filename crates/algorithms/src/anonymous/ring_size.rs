//! Itai–Rodeh ring size: anonymous nodes raise their estimates of n until nothing contradicts them.
//!
//! - **Source**: A. Itai and M. Rodeh, 1990; McMaster, "Itai-Rodeh Ring Size Algorithm".
//! - **Needs** a directed ring of at least two nodes; any delays, any order of messages. n is unknown.
//! - **Guarantees** that it ends with the same estimate at all nodes, at most n, and equal to n with a probability that
//!   goes to 1 as ids are drawn from a wider range (Monte Carlo). No node knows when it is over, and nobody leads.
//! - **Skips** nodes that are down from the start. It does not tolerate a crash during the run: messages then end too
//!   early, and the estimate may be too great or differ.
//! - **Messages**: at most e for each node that reaches the estimate e.
//! - **Decided**: a node that receives a message before its start signal starts first, then handles the message. What
//!   it passes on goes out before its own message.
//!
//! Specified in `docs/model.md#ring-size`.

use core::cmp::Ordering;
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::{Context, Fact, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

use crate::ring::election::DIRECTED_RING;
use crate::{
    About, Algorithm, Assumptions, Case, Certainty, CheckCase, Cost, Family, Goal, Identity, Setting, Source, Winner,
};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct RingSize;

const RANGE: NonZeroU64 = NonZeroU64::new(16).expect("not 0");

crate::params! {
    /// The parameters of ring-size.
    pub struct RingSizeParams {
        "ids are drawn from 1 to this number; a wider range is more reliable" "R" as range: NonZeroU64 = RANGE,
    }
}

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R> {
    range: NonZeroU64,
    rank: PhantomData<R>,
}

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The estimate; 0 before the node has started.
    estimate: u32,
    /// The id drawn for that estimate.
    id: u64,
}

/// The smallest possible estimate: a ring has at least two nodes.
const FIRST: u32 = 2;

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// An estimate, on its way to the node that would be its sender if the estimate were right.
    Estimate {
        /// The id that was drawn for it.
        id: u64,
        /// The estimated number of nodes.
        size: u32,
        /// The number of hops so far.
        hops: u32,
    },
}
kinds!(Message: Estimate = "estimate");

impl<R: Rank> Rules<R> {
    /// Adopts an estimate: draws an id and sends it.
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
        summary: "estimates of the number of nodes grow until each node finds its own id where it should be",
        family: Family::Anonymous,
        assumptions: Assumptions { fifo: false, identity: Identity::Anonymous, ..DIRECTED_RING.assumptions },
        certainty: Certainty::MonteCarlo,
        goal: Goal::Estimate,
        min_nodes: FIRST,
        // Each estimate e takes e ticks, one after the other.
        extra_ticks: Some(|n| n * (n + 1) / 2),
        costs: &[
            Cost::exactly(Case::Best, "2n", |n| (2 * n) as f64),
            Cost::described(Case::Average, "O(n³)"),
            Cost::at_most(Case::Worst, "n(n(n+1)/2-1)", |n| (n * (n * (n + 1) / 2).saturating_sub(1)) as f64),
        ],
        checks: &[CheckCase::quick("-n 3 -p R=2")],
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
