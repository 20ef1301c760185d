//! An election algorithm in a crate of its own: nothing in Hustings has to change for it.
//!
//! **Three laps** is a toy: one node sends a token round that finds the best, a second lap makes sure that nobody
//! better has come up, a third tells everybody. It costs 3n messages with one starter; with several the best starter's
//! token survives, as in Chang–Roberts.
//!
//! What a researcher does for an algorithm of her own:
//!
//! 1. the messages, with the names under which they are counted ([`Message`]);
//! 2. the rules of one node ([`Rules`], a [`Protocol`]);
//! 3. the description and the formula ([`ThreeLaps`], an [`Algorithm`]).
//!
//! Then the simulator, its traces and its formulas take it like one of the catalogue's:
//!
//! ```
//! use hustings_algorithms::{Algorithm, NoParams};
//! use hustings_sim::simulate::{Request, simulate};
//! use own_algorithm::ThreeLaps;
//!
//! let request = Request { nodes: Some(64), ids: Some("random".parse()?), ..Request::default() };
//! let election = request.scenario(&ThreeLaps::ABOUT)?;
//! let outcome = simulate::<ThreeLaps>(&NoParams, &election.scenario);
//! assert!(outcome.agreement);
//! assert_eq!(outcome.by_kind, [64, 64, 64]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::marker::PhantomData;

use hustings_algorithms::{
    About, Algorithm, Assumptions, Cost, Direction, Initiators, Instance, NetworkKind, NoParams, Setting, Tolerates,
};
use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

/// The algorithm, for lists and commands.
#[derive(Debug)]
pub struct ThreeLaps;

/// Its state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// It has heard of nothing.
    Idle,
    /// It sent a token.
    Starter,
    /// It passed a token on.
    Drawn,
}

/// What nodes say. Each lap is told from the next by its kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// First lap: who sent it. The best so far is found on the second.
    Ask(R),
    /// Second lap: the best so far.
    Find(R),
    /// Third lap: the winner, and that is all.
    Tell(R),
}
kinds!(Message<R>: Ask = "ask", Find = "find", Tell = "tell");

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State;
    type Message = Message<R>;

    fn init(&self) -> State {
        State::Idle
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State, _: StartReason, cx: &mut C) {
        if *state == State::Idle {
            *state = State::Starter;
            cx.send(Port::NEXT, Message::Ask(cx.rank()));
        }
    }

    fn handle_message<C: Context<Self>>(&self, state: &mut State, _: Port, message: Message<R>, cx: &mut C) {
        let own = cx.rank();
        match (message, *state) {
            (Message::Ask(starter), State::Starter) if starter == own => cx.send(Port::NEXT, Message::Find(own)),
            (Message::Ask(starter), State::Starter) if starter < own => {} // this one's own token will do
            (Message::Ask(_), _) => {
                *state = State::Drawn;
                cx.send(Port::NEXT, message);
            }
            (Message::Find(best), State::Starter) => announce(best, cx),
            (Message::Find(best), _) => cx.send(Port::NEXT, Message::Find(best.max(own))),
            (Message::Tell(_), State::Starter) => {}
            (Message::Tell(best), _) => announce(best, cx),
        }
    }

    fn handle_unreachable<C: Context<Self>>(&self, _: &mut State, port: Port, _: Message<R>, cx: &mut C) {
        cx.skip(port);
    }
}

fn announce<R: Rank, C: Context<Rules<R>>>(best: R, cx: &mut C) {
    if best == cx.rank() {
        cx.lead();
    } else {
        cx.follow(best.id());
    }
    cx.send(Port::NEXT, Message::Tell(best));
}

impl Algorithm for ThreeLaps {
    type Params = NoParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "three-laps",
        summary: "one lap to ask, one to find the best, one to tell",
        assumptions: Assumptions { direction: Direction::Directed, ..About::on(NetworkKind::Ring).assumptions },
        initiators: Initiators::LowestLive,
        tolerates: Tolerates::DOWN,
        costs: &Cost::always("3n", |n| (3 * n) as f64),
        ..About::on(NetworkKind::Ring)
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> Rules<R> {
        Rules(PhantomData)
    }

    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let n = instance.size();
        (instance.initiators.len() == 1).then(|| vec![n, n, n])
    }
}
