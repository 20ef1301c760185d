//! Two incorrect or inefficient algorithms that McMaster's slides discuss.
//!
//! - [`PredecessorOnly`]: Franklin's rule with one neighbour left out, which takes N rounds on a sorted ring.
//! - [`OwnId`]: Dolev–Klawe–Rodeh as printed on one slide, where a survivor keeps its own id. It drops the highest id.
//!
//! They are not in the catalogue, because they are not meant to be used.

use std::marker::PhantomData;

use hustings_algorithms::ring::DolevKlaweRodeh;
use hustings_algorithms::{About, Algorithm, NoParams, Setting};
use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

/// Every active node compares itself only with the nearest active node before it.
#[derive(Debug)]
pub(crate) struct PredecessorOnly;

/// Dolev–Klawe–Rodeh in which a survivor keeps its own id.
#[derive(Debug)]
pub(crate) struct OwnId;

/// The rules of both variants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rules<R> {
    /// Whether a node also learns the id of the second nearest active node.
    second: bool,
    rank: PhantomData<R>,
}

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum State<R> {
    /// It forwards messages.
    Passive,
    /// It is a candidate, with the first id that it received in this round.
    Active(Option<R>),
}

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub(crate) enum Message<R: Rank> {
    /// The sender's own id.
    First(R),
    /// The id of the nearest active node before the sender.
    Second(R),
    /// The winner.
    Elected(R),
}
kinds!(Message<R>: First = "first", Second = "second", Elected = "elected");

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State<R>;
    type Message = Message<R>;

    fn init(&self) -> State<R> {
        State::Passive
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State<R>, _: StartReason, cx: &mut C) {
        *state = State::Active(None);
        cx.send(Port::NEXT, Message::First(cx.rank()));
    }

    fn handle_message<C: Context<Self>>(&self, state: &mut State<R>, _: Port, message: Message<R>, cx: &mut C) {
        let own = cx.rank();
        match (message, *state) {
            (Message::Elected(winner), _) if winner == own => {}
            (Message::Elected(winner), _) => {
                *state = State::Passive;
                cx.follow(winner.id());
                cx.send(Port::NEXT, message);
            }
            (_, State::Passive) => cx.send(Port::NEXT, message),
            (Message::First(nearest), State::Active(_)) if self.second => {
                *state = State::Active(Some(nearest));
                cx.send(Port::NEXT, Message::Second(nearest));
            }
            (Message::First(nearest), State::Active(_)) => self.decide(state, nearest > own, nearest == own, cx),
            (Message::Second(other), State::Active(nearest)) => {
                let Some(middle) = nearest else { return };
                let beaten = middle < own.max(other);
                self.decide(state, beaten, middle == own && other == own, cx);
            }
        }
    }
}

impl<R: Rank> Rules<R> {
    fn decide<C: Context<Self>>(&self, state: &mut State<R>, beaten: bool, alone: bool, cx: &mut C) {
        let own = cx.rank();
        if alone {
            cx.lead();
            cx.send(Port::NEXT, Message::Elected(own));
        } else if beaten {
            *state = State::Passive;
        } else {
            *state = State::Active(None);
            cx.send(Port::NEXT, Message::First(own));
        }
    }
}

impl Algorithm for PredecessorOnly {
    type Params = NoParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "predecessor-only",
        aliases: &[],
        summary: "Franklin's rule with one neighbour left out",
        costs: &[],
        ..DolevKlaweRodeh::ABOUT
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> Rules<R> {
        Rules { second: false, rank: PhantomData }
    }
}

impl Algorithm for OwnId {
    type Params = NoParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "own-id",
        aliases: &[],
        summary: "Dolev–Klawe–Rodeh with a misprint: a survivor keeps its own id",
        costs: &[],
        ..DolevKlaweRodeh::ABOUT
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> Rules<R> {
        Rules { second: true, rank: PhantomData }
    }
}
