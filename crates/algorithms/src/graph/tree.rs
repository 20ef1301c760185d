//! Election in a tree: the greatest id is gathered from the leaves inwards, and told from the middle outwards.
//!
//! - **Assumes** a connected graph without cycles, distinct ids; any delays, any order of messages.
//! - **Promises** that the greatest of *all* nodes leads and everybody knows it, whoever starts.
//! - **Does not survive** nodes that are down: everybody waits for all its neighbours. If one is down from the start,
//!   nobody leads; if one goes down on the way, nobody but the greatest of all ever leads, but perhaps nobody does, or
//!   not all hear of it.
//! - **Comes from** McMaster's slides, "Leader Election in Trees".
//! - **Costs** exactly 2(n-1) `wakeup`, n `parent`, n-2 `info`; nothing for one node alone. There is no other
//!   announcement.
//!
//! The text has a node wait for requests only once it is awake. A request may come before that, from a neighbour that
//! is a leaf, say; it counts just the same. If links do not keep order, even the last one may: then the node whose
//! request came last is the parent, and the two decide at once.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

use super::plain::ANY_GRAPH;
use crate::ring::name;
use crate::{About, Algorithm, Cost, Instance, NetworkKind, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Tree;

/// Its state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State<R> {
    /// Not drawn in yet.
    Idle,
    /// It has told its neighbours to wake up.
    Gathering(Gathered<R>),
    /// It names the leader.
    Settled,
}

/// What a node has heard.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gathered<R> {
    /// The greatest rank so far, its own included.
    greatest: R,
    /// How many neighbours have woken it up.
    wakeups: u32,
    /// How many neighbours have asked it to be their parent.
    requests: u32,
    /// The sum of the ports of all of those but the last: the only one missing in it is the parent's.
    ports: u32,
    /// Whether it has asked its own parent.
    has_asked: bool,
}

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// An election is on.
    Wakeup,
    /// Be my parent; this is the greatest I know of.
    Parent(R),
    /// This is the greatest of all.
    Info(R),
}
kinds!(Message<R>: Wakeup = "wakeup", Parent = "parent", Info = "info");

impl<R: Rank> Gathered<R> {
    /// The port that is missing in the sum of all others.
    fn parent(&self, degree: u32) -> Port {
        let degree = u64::from(degree);
        let all = degree * degree.saturating_sub(1) / 2;
        Port((all as u32).wrapping_sub(self.ports))
    }
}

impl<R: Rank> Rules<R> {
    /// Draws the node in.
    fn wake<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let greatest = cx.rank();
        *state = State::Gathering(Gathered { greatest, wakeups: 0, requests: 0, ports: 0, has_asked: false });
        cx.send_all_but(None, Message::Wakeup);
        if cx.degree() == 0 {
            self.settle(state, None, greatest, cx);
        }
    }

    /// Names the leader and tells all neighbours but the one that knows.
    fn settle<C: Context<Self>>(&self, state: &mut State<R>, knows: Option<Port>, leader: R, cx: &mut C) {
        *state = State::Settled;
        name(leader, cx);
        cx.send_all_but(knows, Message::Info(leader));
    }

    /// Does what is due after a wake-up or a request.
    fn go_on<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let State::Gathering(gathered) = state else { return };
        let degree = cx.degree();
        let (greatest, parent) = (gathered.greatest, gathered.parent(degree));
        let is_awake = gathered.wakeups >= degree;
        if is_awake && !gathered.has_asked && gathered.requests + 1 >= degree {
            gathered.has_asked = true;
            cx.send(parent, Message::Parent(greatest));
        }
        if gathered.has_asked && gathered.requests >= degree {
            self.settle(state, Some(parent), greatest, cx);
        }
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State<R>;
    type Message = Message<R>;

    fn init(&self) -> State<R> {
        State::Idle
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut State<R>, _: StartReason, cx: &mut C) {
        if matches!(state, State::Idle) {
            self.wake(state, cx);
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State<R>, from: Port, message: Message<R>, cx: &mut C) {
        if let Message::Info(leader) = message {
            if !matches!(state, State::Settled) {
                self.settle(state, Some(from), leader, cx);
            }
            return;
        }
        if matches!(state, State::Idle) {
            self.wake(state, cx);
        }
        let State::Gathering(gathered) = state else { return };
        match message {
            Message::Parent(rank) => {
                gathered.requests += 1;
                if gathered.requests < cx.degree() {
                    gathered.ports = gathered.ports.wrapping_add(from.0);
                }
                gathered.greatest = gathered.greatest.max(rank);
            }
            Message::Wakeup | Message::Info(_) => gathered.wakeups += 1,
        }
        self.go_on(state, cx);
    }
}

impl Algorithm for Tree {
    type Params = NoParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "tree",
        summary: "the leaves send their ids inwards, each node the greatest it has seen; the middle tells everybody",
        network: NetworkKind::Tree,
        costs: &Cost::always("4n-4", |n| (4 * n.saturating_sub(1)) as f64),
        source: Source {
            authors: "B. Bonakdarpour, after W. Fokkink",
            title: "Distributed Algorithms (CAS 769), week 4: Leader Election in Trees",
            text: "McMaster",
        },
        ..ANY_GRAPH
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> Rules<R> {
        Rules(PhantomData)
    }

    /// A wake-up each way over every link, a request from everybody, and the result over every link but the middle one.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let size = instance.size();
        let counts = if instance.initiators.is_empty() || size < 2 { [0; 3] } else { [2 * (size - 1), size, size - 2] };
        Some(vec![counts[0], counts[1], counts[2]])
    }
}
