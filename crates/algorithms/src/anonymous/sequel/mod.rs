//! What a leader can do next, where nodes had no names and did not know how many they are: hand out names, and count.
//!
//! "If there is one leader, all processes can be given a unique id (using a traversal algorithm)", and "when a leader
//! is known, the network size can be computed using a wave algorithm" (McMaster's slides). On a ring a lap does either:
//! see [`lap::Lap`]. On a graph a depth-first walk hands out the names, an echo wave counts, and a flood tells the
//! number: see [`walk::Walk`].
//!
//! Both are protocols of their own, whose start signal is that the node leads. [`Followed`] runs them behind any
//! election; their messages are counted apart, under the kinds `name`, `count` and `size`. What is handed out are the
//! numbers from 0 on, the leader's being 0; they are reported as [`Fact::Name`](hustings_protocol::Fact), the number of
//! nodes as [`Fact::Size`](hustings_protocol::Fact). The leader begins as soon as it leads, right behind its
//! announcement, and only once: what follows a second election would meet what is left of the first one's.

pub mod lap;
pub mod walk;

use hustings_protocol::{Change, Context, Id, Port, Protocol, StartReason, StateOrMessage, Timer, kinds};
use serde::{Deserialize, Serialize};

use crate::within::Within;

crate::choices! {
    /// What follows the election.
    pub enum Then {
        /// Nothing.
        Nothing = "nothing",
        /// Everybody is given a name.
        Names = "names",
        /// Everybody is told how many there are.
        Size = "size",
        /// Both.
        Both = "both",
    }
}

impl Then {
    /// Whether names are handed out.
    pub const fn names(self) -> bool {
        matches!(self, Then::Names | Then::Both)
    }

    /// Whether nodes are counted.
    pub const fn size(self) -> bool {
        matches!(self, Then::Size | Then::Both)
    }
}

/// What is said after an election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The next name that is free.
    Name(u32),
    /// So many were counted so far.
    Count(u32),
    /// So many there are.
    Size(u32),
}
kinds!(Message: Name = "name", Count = "count", Size = "size");

/// Messages of an election that can also be those of what follows it.
pub trait Carry<M>: Sized {
    /// A message of what follows.
    fn carrying(message: M) -> Self;
    /// The message of what follows that this one is, or else itself.
    fn carried(self) -> Result<M, Self>;
}

/// Implements [`Carry`] for an enum of messages with the variants of [`Message`].
macro_rules! carries {
    ($message:ident) => {
        impl<R: Rank> $crate::anonymous::sequel::Carry<$crate::anonymous::sequel::Message> for $message<R> {
            #[inline(always)]
            fn carrying(message: $crate::anonymous::sequel::Message) -> Self {
                match message {
                    $crate::anonymous::sequel::Message::Name(name) => $message::Name(name),
                    $crate::anonymous::sequel::Message::Count(count) => $message::Count(count),
                    $crate::anonymous::sequel::Message::Size(size) => $message::Size(size),
                }
            }

            #[inline(always)]
            fn carried(self) -> Result<$crate::anonymous::sequel::Message, Self> {
                match self {
                    $message::Name(name) => Ok($crate::anonymous::sequel::Message::Name(name)),
                    $message::Count(count) => Ok($crate::anonymous::sequel::Message::Count(count)),
                    $message::Size(size) => Ok($crate::anonymous::sequel::Message::Size(size)),
                    own => Err(own),
                }
            }
        }
    };
}
pub(crate) use carries;

/// An election `P` and what its leader starts when it leads, `S`. On the outside it speaks the election's messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Followed<P, S> {
    /// The election.
    pub election: P,
    /// What follows. It has no timers of its own and reaches nobody by id.
    pub sequel: S,
}

impl<P, S> Followed<P, S>
where
    P: Protocol,
    S: Protocol<Rank = P::Rank>,
    P::Message: Carry<S::Message>,
{
    /// Lets the election handle something; if the node leads then, the rest follows.
    #[inline(always)]
    fn elect<C: Context<Self>>(
        &self,
        state: &mut (P::State, S::State),
        cx: &mut C,
        handle: impl FnOnce(&P, &mut P::State, &mut Within<'_, Self, C, fn(P::Message) -> P::Message>),
    ) {
        let mut within = Within::new(cx, core::convert::identity as fn(P::Message) -> P::Message);
        handle(&self.election, &mut state.0, &mut within);
        if within.leads() {
            self.sequel.handle_start(&mut state.1, StartReason::Start, &mut Within::new(cx, P::Message::carrying));
        }
    }
}

impl<P, S> Protocol for Followed<P, S>
where
    P: Protocol,
    S: Protocol<Rank = P::Rank>,
    P::Message: Carry<S::Message>,
{
    type Rank = P::Rank;
    type State = (P::State, S::State);
    type Message = P::Message;

    fn init(&self) -> Self::State {
        (self.election.init(), self.sequel.init())
    }

    fn observes_reachability(&self) -> bool {
        self.election.observes_reachability()
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C) {
        self.elect(state, cx, |election, state, cx| election.handle_start(state, reason, cx));
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut Self::State, from: Port, message: P::Message, cx: &mut C) {
        match message.carried() {
            Ok(next) => {
                self.sequel.handle_message(&mut state.1, from, next, &mut Within::new(cx, P::Message::carrying))
            }
            Err(own) => self.elect(state, cx, |election, state, cx| election.handle_message(state, from, own, cx)),
        }
    }

    fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, message: P::Message, cx: &mut C) {
        self.elect(state, cx, |election, state, cx| election.handle_direct(state, from, message, cx));
    }

    fn handle_unreachable<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        port: Port,
        message: P::Message,
        cx: &mut C,
    ) {
        match message.carried() {
            Ok(next) => {
                self.sequel.handle_unreachable(&mut state.1, port, next, &mut Within::new(cx, P::Message::carrying))
            }
            Err(own) => self.elect(state, cx, |election, state, cx| election.handle_unreachable(state, port, own, cx)),
        }
    }

    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        to: Id,
        message: P::Message,
        cx: &mut C,
    ) {
        self.elect(state, cx, |election, state, cx| election.handle_unreachable_direct(state, to, message, cx));
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut Self::State, timer: Timer, cx: &mut C) {
        self.elect(state, cx, |election, state, cx| election.handle_timer(state, timer, cx));
    }

    fn handle_change<C: Context<Self>>(&self, state: &mut Self::State, change: Change, cx: &mut C) {
        self.elect(state, cx, |election, state, cx| election.handle_change(state, change, cx));
    }

    fn handle_retire<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        self.elect(state, cx, |election, state, cx| election.handle_retire(state, cx));
    }

    fn rounds(&self, held: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        match held {
            StateOrMessage::State((election, _)) => self.election.rounds(StateOrMessage::State(election), each),
            StateOrMessage::Message(message) => self.election.rounds(StateOrMessage::Message(message), each),
        }
    }
}
