//! Two algorithms that no text proposes, but that McMaster's slides talk about: what would happen *if*.
//!
//! - [`PredecessorOnly`]: Franklin's rule with one neighbour left out. "It would take N rounds to complete", on the
//!   sorted ring.
//! - [`OwnId`]: Dolev–Klawe–Rodeh as one slide prints it, where a survivor keeps its own id. Then the greatest id is
//!   dropped.
//!
//! They are not in the catalogue: nobody should hold an election with them.

use std::marker::PhantomData;

use hustings_algorithms::ring::DolevKlaweRodeh;
use hustings_algorithms::{About, Algorithm, NoParams, Setting};
use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

/// Every active node compares itself with the nearest active node before it, and with nobody else.
#[derive(Debug)]
pub struct PredecessorOnly;

/// Dolev–Klawe–Rodeh in which a survivor keeps its own id.
#[derive(Debug)]
pub struct OwnId;

/// The rules of both: how many of the nearest active nodes a node hears of in a round.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R> {
    /// Whether the second nearest is heard of, too.
    second: bool,
    rank: PhantomData<R>,
}

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State<R> {
    /// It passes messages on.
    Passive,
    /// It is in the race, with what it heard first in this round.
    Active(Option<R>),
}

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
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
