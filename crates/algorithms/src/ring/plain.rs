//! What the plain ring algorithms share: who is in the race, who only passes messages on, and the lap that tells
//! everybody the winner.
//!
//! An algorithm is a [`Race`]: what an *active* node says first, and what it makes of a message. [`Plain`] turns it
//! into a protocol:
//!
//! - a start signal draws an idle node in as active; any later one is ignored;
//! - a node first reached by a message of others is passive, and passes everything on;
//! - an active node that knows the winner announces it: `elected` goes once clockwise round, and the announcer drops
//!   it;
//! - a dead neighbour is skipped.

use core::fmt::Debug;
use core::hash::Hash;

use hustings_protocol::{Context, Message, Port, Protocol, Rank, StartReason, StateOrMessage};

use crate::{
    About, Assumptions, Certainty, DefaultIds, Direction, Family, Goal, Identity, Initiators, Inputs, Knowledge,
    NetworkKind, Source, Synchrony, Tolerates, Winner,
};

/// The part of a plain ring algorithm that is its own.
pub trait Race: Sized + Send + Sync + 'static {
    /// What candidates are compared by.
    type Rank: Rank;
    /// What an active node remembers.
    type Active: Clone + Eq + Hash + Debug + Send + Sync + 'static;
    /// What nodes say.
    type Message: Announce<Self::Rank>;

    /// Whether a node that has announced the winner drops what is left of the race. It matters only where messages
    /// overtake each other, or where a node died during the run.
    const ANNOUNCER_DROPS: bool = false;

    /// The node enters the race: sends what it has to, and remembers the rest.
    fn enter<C: Context<Plain<Self>>>(&self, cx: &mut C) -> Self::Active;

    /// An active node received a message of the race (never the announcement).
    fn step<C: Context<Plain<Self>>>(
        &self,
        active: &mut Self::Active,
        from: Port,
        message: Self::Message,
        cx: &mut C,
    ) -> Verdict<Self::Rank>;

    /// The round that an active node is in, where rounds have numbers: see [`Protocol::rounds`].
    fn round_of(active: &mut Self::Active) -> Option<&mut u32> {
        let _ = active;
        None
    }

    /// The round that a message belongs to.
    fn round_in(message: &mut Self::Message) -> Option<&mut u32> {
        let _ = message;
        None
    }

    /// A node that is not active received a message of the race.
    #[inline(always)]
    fn pass_on<C: Context<Plain<Self>>>(&self, from: Port, message: Self::Message, cx: &mut C) {
        let _ = from;
        cx.send(Port::NEXT, message);
    }
}

/// The messages of a plain ring algorithm: those of its race, and the announcement.
pub trait Announce<R>: Message {
    /// The announcement that this rank has won.
    fn elected(leader: R) -> Self;
    /// Whom this message announces, if it is the announcement.
    fn announced(&self) -> Option<R>;
}

/// Implements [`Announce`] for an enum of messages with a variant `Elected`.
macro_rules! announces {
    ($message:ident) => {
        impl<R: Rank> $crate::ring::plain::Announce<R> for $message<R> {
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
    /// It is out of the race, and passes everything on from now on.
    Passive,
    /// This rank has won, and nobody else knows yet.
    Won(R),
}

/// The protocol that a [`Race`] is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Plain<T>(pub T);

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage<A> {
    /// Not drawn in yet.
    Idle,
    /// In the race.
    Active(A),
    /// Passes everything on.
    Passive,
    /// Sent the announcement round.
    Announcer,
}

impl<T: Race> Protocol for Plain<T> {
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
                name(leader, cx);
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
                    name(leader, cx);
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

    fn rounds(&self, held: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        let round = match held {
            StateOrMessage::State(Stage::Active(active)) => T::round_of(active),
            StateOrMessage::State(_) => None,
            StateOrMessage::Message(message) => T::round_in(message),
        };
        round.into_iter().for_each(each);
    }
}

/// Inputs the winner for the leader, which may be the node itself.
#[inline(always)]
pub(crate) fn name<P: Protocol, C: Context<P>>(leader: P::Rank, cx: &mut C) {
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

/// What most descriptions of ring algorithms have in common; they replace the rest.
pub(crate) const DIRECTED_RING: About = About {
    name: "",
    aliases: &[],
    summary: "",
    family: Family::Ring,
    network: NetworkKind::Ring,
    assumptions: Assumptions {
        direction: Direction::Directed,
        fifo: true,
        identity: Identity::Unique,
        synchrony: Synchrony::Asynchronous,
        knows: Knowledge::Neighbours,
    },
    certainty: Certainty::Always,
    initiators: Initiators::All,
    default_ids: DefaultIds::Positions,
    repeats: false,
    goal: Goal::Leader,
    winner: Winner::GreatestInitiator,
    min_nodes: 1,
    extra_ticks: None,
    tolerates: Tolerates::DOWN,
    inputs: Inputs::NOTHING,
    costs: &[],
    source: Source { authors: "", title: "", text: "" },
};
