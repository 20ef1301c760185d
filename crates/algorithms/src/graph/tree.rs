//! Election in a tree: the greatest id is gathered from the leaves inwards and told from the middle outwards.
//!
//! - **Source**: McMaster, "Leader Election in Trees".
//! - **Needs** a connected graph without cycles, distinct ids; any delays, any order of messages.
//! - **Guarantees** that the greatest of *all* nodes leads and all nodes know it, whichever nodes start.
//! - **Does not tolerate** nodes that are down: each node waits for all its neighbours. No other node than the greatest
//!   ever leads.
//! - **Messages**: exactly 2(n-1) `wakeup`, n `parent`, n-2 `info`; none for n = 1. There is no other announcement.
//! - **Decided**: a request may arrive before the node is awake, and counts. On links without order even the last one
//!   may: the sender of the last request is then the parent, and the two decide at once.
//!
//! Specified in `docs/model.md#tree`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

use crate::ring::set_leader;
use crate::{About, Algorithm, CheckCase, Cost, Instance, NetworkKind, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Tree;

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State<R> {
    /// Not reached yet.
    Idle,
    /// It has woken its neighbours.
    Gathering(Convergecast<R>),
    /// It names the leader.
    Settled,
}

/// What a node has received.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Convergecast<R> {
    /// The greatest rank so far, its own included.
    greatest: R,
    /// How many neighbours have woken it up.
    wakeups: u32,
    /// The number of neighbours that requested this node as their parent.
    requests: u32,
    /// The sum of the ports of all requests but the last. The port missing in it is the parent's.
    ports: u32,
    /// Whether it has sent its own request.
    has_asked: bool,
}

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// An election has started.
    Wakeup,
    /// A request to be the sender's parent, with the greatest rank it knows.
    Parent(R),
    /// The greatest rank of all.
    Info(R),
}
kinds!(Message<R>: Wakeup = "wakeup", Parent = "parent", Info = "info");

impl<R: Rank> Convergecast<R> {
    /// The port missing in the sum of all ports.
    fn parent(&self, degree: u32) -> Port {
        let degree = u64::from(degree);
        let all = degree * degree.saturating_sub(1) / 2;
        Port((all as u32).wrapping_sub(self.ports))
    }
}

impl<R: Rank> Rules<R> {
    /// Wakes the node.
    fn wake<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let greatest = cx.rank();
        *state = State::Gathering(Convergecast { greatest, wakeups: 0, requests: 0, ports: 0, has_asked: false });
        cx.send_all_but(None, Message::Wakeup);
        if cx.degree() == 0 {
            self.finish(state, None, greatest, cx);
        }
    }

    /// Names the leader and tells all neighbours but `knows`.
    fn finish<C: Context<Self>>(&self, state: &mut State<R>, knows: Option<Port>, leader: R, cx: &mut C) {
        *state = State::Settled;
        set_leader(leader, cx);
        cx.send_all_but(knows, Message::Info(leader));
    }

    /// Acts after a wake-up or a request.
    fn advance<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let State::Gathering(gathered) = state else { return };
        let degree = cx.degree();
        let (greatest, parent) = (gathered.greatest, gathered.parent(degree));
        let is_awake = gathered.wakeups >= degree;
        if is_awake && !gathered.has_asked && gathered.requests + 1 >= degree {
            gathered.has_asked = true;
            cx.send(parent, Message::Parent(greatest));
        }
        if gathered.has_asked && gathered.requests >= degree {
            self.finish(state, Some(parent), greatest, cx);
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
                self.finish(state, Some(from), leader, cx);
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
        self.advance(state, cx);
    }
}

impl Algorithm for Tree {
    type Params = NoParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "tree",
        summary: "the greatest id is gathered from the leaves inwards and announced from the middle outwards",
        costs: &Cost::always("4n-4", |n| (4 * n.saturating_sub(1)) as f64),
        checks: &[CheckCase::quick("-n 4 --ids all"), CheckCase::quick("-n 4 --initiators every-subset")],
        source: Source {
            authors: "B. Bonakdarpour, after W. Fokkink",
            title: "Distributed Algorithms (CAS 769), week 4: Leader Election in Trees",
            text: "McMaster",
        },
        ..About::on(NetworkKind::Tree)
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> Rules<R> {
        Rules(PhantomData)
    }

    /// A wake-up in each direction of every link, a request from every node, and the result over every link but the
    /// middle one.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let size = instance.size();
        let counts = if instance.initiators.is_empty() || size < 2 { [0; 3] } else { [2 * (size - 1), size, size - 2] };
        Some(vec![counts[0], counts[1], counts[2]])
    }
}
