//! Shared code of the plain ring algorithms: which nodes are active, which only pass messages on, and the announcement.
//!
//! An algorithm implements [`RingElection`]: what an *active* node sends first, and how it handles a message.
//! [`RingProtocol`] turns that into a protocol:
//!
//! - a start signal makes an idle node active; later ones are ignored;
//! - a node first reached by a message is passive, and passes everything on;
//! - an active node that knows the winner announces it: `elected` goes once clockwise round, and the announcer drops
//!   it;
//! - a dead neighbour is skipped.

use core::fmt::Debug;
use core::hash::Hash;

use hustings_protocol::{Context, Id, Message, Port, Protocol, Rank, StartReason, StateOrMessage};

use crate::{About, Assumptions, Direction, NetworkKind, Tolerates, Winner};

/// The rules of one plain ring algorithm.
pub trait RingElection: Sized + Send + Sync + 'static {
    /// The type by which candidates are compared.
    type Rank: Rank;
    /// The state of an active node.
    type Active: Clone + Eq + Hash + Debug + Send + Sync + 'static;
    /// The type of the messages.
    type Message: Announce<Self::Rank>;

    /// Whether the announcer drops candidates still in flight. It matters only if messages overtake each other or a
    /// node crashed during the run.
    const ANNOUNCER_DROPS: bool = false;

    /// The node becomes active: sends its first messages.
    fn enter<C: Context<RingProtocol<Self>>>(&self, cx: &mut C) -> Self::Active;

    /// An active node handles a message other than the announcement.
    fn step<C: Context<RingProtocol<Self>>>(
        &self,
        active: &mut Self::Active,
        from: Port,
        message: Self::Message,
        cx: &mut C,
    ) -> Verdict<Self::Rank>;

    /// The round number of an active node, if rounds are numbered: see [`Protocol::rounds`].
    fn round_of(active: &mut Self::Active) -> Option<&mut u32> {
        let _ = active;
        None
    }

    /// The round number of a message.
    fn round_in(message: &mut Self::Message) -> Option<&mut u32> {
        let _ = message;
        None
    }

    /// The candidate of a message that only candidates send and others pass on: see [`Protocol::candidacy`].
    fn candidate(message: &Self::Message) -> Option<Self::Rank> {
        let _ = message;
        None
    }

    /// A node that is not active handles a message other than the announcement.
    #[inline(always)]
    fn pass_on<C: Context<RingProtocol<Self>>>(&self, from: Port, message: Self::Message, cx: &mut C) {
        let _ = from;
        cx.send(Port::NEXT, message);
    }
}

/// The messages of a plain ring algorithm, with the announcement.
pub trait Announce<R>: Message {
    /// The announcement that this rank has won.
    fn elected(leader: R) -> Self;
    /// The announced leader, if this is the announcement.
    fn announced(&self) -> Option<R>;
}

/// Implements [`Announce`] for an enum of messages with a variant `Elected`.
macro_rules! announces {
    ($message:ident) => {
        impl<R: Rank> $crate::ring::election::Announce<R> for $message<R> {
            #[inline(always)]
            fn elected(leader: R) -> Self {
                $message::Elected(leader)
            }

            #[inline(always)]
            fn announced(&self) -> Option<R> {
                if let $message::Elected(leader) = *self { Some(leader) } else { None }
            }
        }
    };
}
pub(crate) use announces;

/// What a message means for an active node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict<R> {
    /// It stays active.
    Active,
    /// It turns passive, and passes everything on from now on.
    Passive,
    /// This rank has won, and no other node knows it yet.
    Won(R),
}

/// The protocol of a [`RingElection`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RingProtocol<T>(pub T);

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage<A> {
    /// Not reached yet.
    Idle,
    /// A candidate.
    Active(A),
    /// Passes everything on.
    Passive,
    /// Has sent the announcement.
    Announcer,
}

impl<T: RingElection> Protocol for RingProtocol<T> {
    type Rank = T::Rank;
    type State = Stage<T::Active>;
    type Message = T::Message;

    fn init(&self) -> Self::State {
        Stage::Idle
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, _: StartReason, cx: &mut C) {
        if matches!(state, Stage::Idle) {
            *state = Stage::Active(self.0.enter(cx));
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        from: Port,
        message: Self::Message,
        cx: &mut C,
    ) {
        if let Some(leader) = message.announced() {
            if !matches!(state, Stage::Announcer) {
                *state = Stage::Passive;
                set_leader(leader, cx);
                cx.send(Port::NEXT, message);
            }
            return;
        }
        match state {
            Stage::Active(active) => match self.0.step(active, from, message, cx) {
                Verdict::Active => {}
                Verdict::Passive => *state = Stage::Passive,
                Verdict::Won(leader) => {
                    *state = Stage::Announcer;
                    set_leader(leader, cx);
                    cx.send(Port::NEXT, T::Message::elected(leader));
                }
            },
            Stage::Idle | Stage::Passive => {
                *state = Stage::Passive;
                self.0.pass_on(from, message, cx);
            }
            Stage::Announcer => {
                if !T::ANNOUNCER_DROPS {
                    self.0.pass_on(from, message, cx);
                }
            }
        }
    }

    fn handle_unreachable<C: Context<Self>>(&self, _: &mut Self::State, port: Port, _: Self::Message, cx: &mut C) {
        cx.skip(port);
    }

    fn candidacy(&self, message: &T::Message) -> Option<Id> {
        T::candidate(message).map(|rank| rank.id())
    }

    fn rounds(&self, held: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        let round = match held {
            StateOrMessage::State(Stage::Active(active)) => T::round_of(active),
            StateOrMessage::State(_) => None,
            StateOrMessage::Message(message) => T::round_in(message),
        };
        round.into_iter().for_each(each);
    }
}

/// Names the winner as the leader, which may be the node itself.
#[inline(always)]
pub(crate) fn set_leader<P: Protocol, C: Context<P>>(leader: P::Rank, cx: &mut C) {
    if leader == cx.rank() {
        cx.lead();
    } else {
        cx.follow(leader.id());
    }
}

/// The other side of a ring node.
#[inline(always)]
pub(super) const fn opposite(port: Port) -> Port {
    match port {
        Port::NEXT => Port::PREVIOUS,
        _ => Port::NEXT,
    }
}

/// Common parts of the descriptions of ring algorithms.
pub(crate) const DIRECTED_RING: About = About {
    assumptions: Assumptions { direction: Direction::Directed, fifo: true, ..About::on(NetworkKind::Ring).assumptions },
    winner: Winner::GreatestInitiator,
    tolerates: Tolerates::DOWN,
    ..About::on(NetworkKind::Ring)
};
