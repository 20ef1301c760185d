//! What improved-bully and campaigner share: one node asks, picks the greatest of those that answer with their numbers,
//! and tells everybody.
//!
//! An algorithm is an [`Electorate`]: whom a node asks, and whom it asks next if nobody answers. [`Canvass`] turns it
//! into a protocol. A node is in one of the text's three states: *elect* while it asks, *hold* from its answer until
//! the result, else *normal*.
//!
//! - Several detectors: each runs to the end, whatever it hears of the others' results.
//! - A node that is told of a winner lower than itself starts a new election, unless it is asking anyway.
//! - A node that answered and hears no result in time (its detector is gone) asks in its turn.

use core::fmt::Debug;
use core::marker::PhantomData;

use hustings_protocol::{Context, Fact, Port, Protocol, Rank, Stage, StartReason, Timer, kinds};
use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::{Highest, Return, Waits};
use crate::ring::name;

/// Whom a node asks.
pub trait Electorate: Clone + Debug + Send + Sync + 'static {
    /// Sends the question of this round (from 0) and says how many were asked; `None` if there is no such round.
    fn ask<R: Rank, C: Context<Canvass<R, Self>>>(round: u8, cx: &mut C) -> Option<u32>;
}

/// The protocol that an [`Electorate`] is.
#[derive(Clone, Debug)]
pub struct Canvass<R, E> {
    pub(super) waits: Waits,
    pub(super) highest: Highest,
    pub(super) recovery: Return,
    pub(super) types: PhantomData<(R, E)>,
}

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    phase: Phase,
    /// Which question is out.
    round: u8,
    clock: Clock,
    /// The port of the greatest that answered.
    greatest: Option<Port>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// Knows of no election and names nobody.
    Idle,
    /// Has asked.
    Elect,
    /// Has answered.
    Hold,
    /// Names a leader.
    Settled,
}

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// Who is up?
    Election,
    /// I am, and this is my number.
    Number(R),
    /// This one leads from now on.
    Coordinator(R),
}
kinds!(Message<R>: Election = "election", Number = "number", Coordinator = "coordinator");

/// The only kind of timer.
const WAIT: u8 = 0;

impl<R: Rank, E: Electorate> Canvass<R, E> {
    fn elect<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.phase = Phase::Elect;
        cx.learn(Fact::Stage(Stage::Elect));
        self.ask(state, 0, cx);
    }

    /// Asks those of a round; if there is no such round, nobody else is up.
    fn ask<C: Context<Self>>(&self, state: &mut State, round: u8, cx: &mut C) {
        (state.round, state.greatest) = (round, None);
        match E::ask(round, cx) {
            None => self.announce(state, cx.rank(), cx),
            Some(0) if self.highest == Highest::Announce => self.ask(state, round + 1, cx),
            Some(_) => state.clock.set(WAIT, self.waits.answer(), cx),
        }
    }

    fn announce<C: Context<Self>>(&self, state: &mut State, winner: R, cx: &mut C) {
        self.settle(state, winner, cx);
        cx.send_all_but(None, Message::Coordinator(winner));
    }

    fn settle<C: Context<Self>>(&self, state: &mut State, leader: R, cx: &mut C) {
        state.phase = Phase::Settled;
        name(leader, cx);
        cx.learn(Fact::Stage(Stage::Normal));
    }
}

impl<R: Rank, E: Electorate> Protocol for Canvass<R, E> {
    type Rank = R;
    type State = State;
    type Message = Message<R>;

    fn init(&self) -> State {
        State { phase: Phase::Idle, round: 0, clock: Clock::default(), greatest: None }
    }

    fn handles_rejoin(&self) -> bool {
        true
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State, reason: StartReason, cx: &mut C) {
        if let (_, Phase::Idle) | (StartReason::LeaderLost, Phase::Settled) = (reason, state.phase) {
            self.elect(state, cx);
        }
    }

    fn handle_rejoin<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        if self.recovery.announces(cx) {
            self.announce(state, cx.rank(), cx);
        } else {
            self.elect(state, cx);
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State, from: Port, message: Message<R>, cx: &mut C) {
        match message {
            Message::Election => {
                cx.send(from, Message::Number(cx.rank()));
                if let Phase::Idle | Phase::Settled = state.phase {
                    state.phase = Phase::Hold;
                    cx.learn(Fact::Stage(Stage::Hold));
                    state.clock.set(WAIT, self.waits.coordinator(), cx);
                }
            }
            Message::Number(number) => {
                let greatest = state.greatest.and_then(|port| cx.peer_rank(port));
                if state.phase == Phase::Elect && greatest.is_none_or(|greatest| number > greatest) {
                    state.greatest = Some(from);
                }
            }
            Message::Coordinator(winner) => match state.phase {
                Phase::Elect if winner < cx.rank() => {}
                Phase::Elect => name(winner, cx),
                _ if winner < cx.rank() => self.elect(state, cx),
                _ => self.settle(state, winner, cx),
            },
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut State, timer: Timer, cx: &mut C) {
        if !state.clock.is_due(timer) {
            return;
        }
        match (state.phase, state.greatest.and_then(|port| cx.peer_rank(port))) {
            (Phase::Elect, Some(greatest)) => self.announce(state, greatest, cx),
            (Phase::Elect, None) => self.ask(state, state.round + 1, cx),
            (Phase::Hold, _) => self.elect(state, cx),
            (Phase::Idle | Phase::Settled, _) => {}
        }
    }
}
