//! An election algorithm in a crate of its own. Nothing in Hustings has to change for it.
//!
//! **Three laps** is a toy. In the first lap the token of one node goes round the ring, in the second it finds the
//! best node, in the third it tells everybody. That takes 3n messages with one initiator. With several, the token of
//! the best initiator survives, as in Chang–Roberts.
//!
//! An algorithm consists of three parts:
//!
//! 1. the messages, with the names under which they are counted ([`Message`]);
//! 2. the rules of one node ([`Rules`], a [`Protocol`]);
//! 3. the description and, if there is one, the formula for its messages ([`ThreeLaps`], an [`Algorithm`]).
//!
//! Then `main.rs` is the whole program `hustings` with one more algorithm: it appears in `list`, and `sim`, `check`,
//! `sweep`, `init` and `node` take its name.
//!
//! ```console
//! $ cargo run -p own-algorithm -- sim three-laps -n 5 --trace text
//! $ cargo run -p own-algorithm -- check three-laps --initiators every-subset
//! ```
//!
//! The simulator is also there as a library:
//!
//! ```
//! use hustings::algorithms::NoParams;
//! use hustings::sim::simulate::{ElectionSpec, simulate};
//! use own_algorithm::ThreeLaps;
//!
//! let request = ElectionSpec { nodes: Some(64), ids: Some("random".parse()?), ..ElectionSpec::default() };
//! let election = request.build::<ThreeLaps>(&NoParams)?;
//! let outcome = simulate::<ThreeLaps>(&NoParams, &election.scenario);
//! assert!(outcome.agreement);
//! assert_eq!(outcome.by_kind, [64, 64, 64]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::marker::PhantomData;

use hustings::algorithms::{
    About, Algorithm, Assumptions, Cost, Direction, Initiators, Instance, NetworkKind, NoParams, Setting, Tolerates,
};
use hustings::protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

/// The algorithm, for lists and commands.
#[derive(Debug)]
pub struct ThreeLaps;

/// Its state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// It has neither sent nor received a message.
    Idle,
    /// It sent a token of its own.
    Starter,
    /// It passed on the token of another node.
    Drawn,
}

/// The messages: one kind for each lap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// First lap: the rank of the initiator.
    Ask(R),
    /// Second lap: the best rank so far.
    Find(R),
    /// Third lap: the rank of the winner.
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
            (Message::Ask(starter), State::Starter) if starter < own => {} // the token of this node goes on
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
