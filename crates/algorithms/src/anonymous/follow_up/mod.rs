//! What a leader can do for anonymous nodes after the election: assign names, and count the nodes.
//!
//! "If there is one leader, all processes can be given a unique id (using a traversal algorithm)", and "when a leader
//! is known, the network size can be computed using a wave algorithm" (McMaster). On a ring a lap does either: see
//! [`lap::Lap`]. On a graph a depth-first traversal assigns names, an echo wave counts, and a flood tells the number:
//! see [`traversal::Traversal`].
//!
//! Both are protocols that start when the node becomes the leader. [`WithFollowUp`] combines an election with one of
//! them; their messages are counted under the kinds `name`, `count` and `size`. Names are numbers from 0, and
//! the leader gets 0. They are reported as [`Fact::Name`](hustings_protocol::Fact), the number of nodes as
//! [`Fact::Size`](hustings_protocol::Fact). The leader starts right after its announcement, and only once: the
//! follow-up of a second election would meet messages of the first.

pub mod lap;
pub mod traversal;

use hustings_protocol::{Change, Context, Event, Id, Port, Protocol, StartReason, StateOrMessage, Timer, kinds};
use serde::{Deserialize, Serialize};

use crate::inner_context::InnerContext;

crate::choices! {
    /// The follow-up of an election.
    pub enum FollowUp {
        /// Nothing.
        Nothing = "nothing",
        /// Every node gets a name.
        Names = "names",
        /// Every node learns the number of nodes.
        Size = "size",
        /// Both.
        Both = "both",
    }
}

impl FollowUp {
    /// Whether names are assigned.
    pub const fn names(self) -> bool {
        matches!(self, FollowUp::Names | FollowUp::Both)
    }

    /// Whether nodes are counted.
    pub const fn size(self) -> bool {
        matches!(self, FollowUp::Size | FollowUp::Both)
    }
}

/// The messages of a follow-up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The next free name.
    Name(u32),
    /// The number of nodes counted so far.
    Count(u32),
    /// The number of nodes.
    Size(u32),
}
kinds!(Message: Name = "name", Count = "count", Size = "size");

/// Election messages that can also carry messages of a follow-up.
pub trait Embed<M>: Sized {
    /// Wraps a follow-up message.
    fn embed(message: M) -> Self;
    /// Returns the follow-up message, or the election message itself.
    fn extract(self) -> Result<M, Self>;
}

/// Implements [`Embed`] for an enum of messages with the variants of [`Message`].
macro_rules! embeds {
    ($message:ident) => {
        impl<R: Rank> $crate::anonymous::follow_up::Embed<$crate::anonymous::follow_up::Message> for $message<R> {
            #[inline(always)]
            fn embed(message: $crate::anonymous::follow_up::Message) -> Self {
                match message {
                    $crate::anonymous::follow_up::Message::Name(name) => $message::Name(name),
                    $crate::anonymous::follow_up::Message::Count(count) => $message::Count(count),
                    $crate::anonymous::follow_up::Message::Size(size) => $message::Size(size),
                }
            }

            #[inline(always)]
            fn extract(self) -> Result<$crate::anonymous::follow_up::Message, Self> {
                match self {
                    $message::Name(name) => Ok($crate::anonymous::follow_up::Message::Name(name)),
                    $message::Count(count) => Ok($crate::anonymous::follow_up::Message::Count(count)),
                    $message::Size(size) => Ok($crate::anonymous::follow_up::Message::Size(size)),
                    own => Err(own),
                }
            }
        }
    };
}
pub(crate) use embeds;

/// An election `P` with a follow-up `S` that the leader starts. It uses the message type of the election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WithFollowUp<P, S> {
    /// The election.
    pub election: P,
    /// The follow-up. It sets no timers and sends nothing by id.
    pub follow_up: S,
}

impl<P, S> WithFollowUp<P, S>
where
    P: Protocol,
    S: Protocol<Rank = P::Rank>,
    P::Message: Embed<S::Message>,
{
    /// Lets the election handle an event, and starts the follow-up if the node became the leader.
    #[inline(always)]
    fn elect<C: Context<Self>>(&self, state: &mut (P::State, S::State), event: Event<P::Message>, cx: &mut C) {
        let mut inner = InnerContext::new(cx, core::convert::identity);
        self.election.handle(&mut state.0, event, &mut inner);
        if inner.leads() {
            self.follow_up.handle_start(
                &mut state.1,
                StartReason::Start,
                &mut InnerContext::new(cx, P::Message::embed),
            );
        }
    }
}

impl<P, S> Protocol for WithFollowUp<P, S>
where
    P: Protocol,
    S: Protocol<Rank = P::Rank>,
    P::Message: Embed<S::Message>,
{
    type Rank = P::Rank;
    type State = (P::State, S::State);
    type Message = P::Message;

    fn init(&self) -> Self::State {
        (self.election.init(), self.follow_up.init())
    }

    fn observes_reachability(&self) -> bool {
        self.election.observes_reachability()
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C) {
        self.elect(state, Event::Start(reason), cx);
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut Self::State, from: Port, message: P::Message, cx: &mut C) {
        match message.extract() {
            Ok(next) => {
                self.follow_up.handle_message(&mut state.1, from, next, &mut InnerContext::new(cx, P::Message::embed))
            }
            Err(own) => self.elect(state, Event::Message { from, message: own }, cx),
        }
    }

    fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, message: P::Message, cx: &mut C) {
        self.elect(state, Event::Direct { from, message }, cx);
    }

    fn handle_unreachable<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        port: Port,
        message: P::Message,
        cx: &mut C,
    ) {
        match message.extract() {
            Ok(next) => self.follow_up.handle_unreachable(
                &mut state.1,
                port,
                next,
                &mut InnerContext::new(cx, P::Message::embed),
            ),
            Err(own) => self.elect(state, Event::Unreachable { port, message: own }, cx),
        }
    }

    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        to: Id,
        message: P::Message,
        cx: &mut C,
    ) {
        self.elect(state, Event::UnreachableDirect { to, message }, cx);
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut Self::State, timer: Timer, cx: &mut C) {
        self.elect(state, Event::Timer(timer), cx);
    }

    fn handle_change<C: Context<Self>>(&self, state: &mut Self::State, change: Change, cx: &mut C) {
        self.elect(state, Event::Change(change), cx);
    }

    fn handle_retire<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        self.elect(state, Event::Retire, cx);
    }

    fn rounds(&self, held: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        match held {
            StateOrMessage::State((election, _)) => self.election.rounds(StateOrMessage::State(election), each),
            StateOrMessage::Message(message) => self.election.rounds(StateOrMessage::Message(message), each),
        }
    }
}
