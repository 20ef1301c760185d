//! Surveys: one node asks others for their numbers and announces the greatest that answers. Shared by improved-bully
//! and campaigner.
//!
//! An algorithm implements [`SurveyTargets`]: which nodes are asked, and which are asked next if none answers.
//! [`Survey`] turns that into a protocol. A node is in one of the text's three states: *elect* while it asks, *hold*
//! from its answer until the result, otherwise *normal*.
//!
//! - With several detectors each runs to the end, whatever results it receives from others.
//! - A node that is told of a winner lower than itself starts a new election, unless it is asking already.
//! - A node that answered and hears no result in time asks itself: its detector may be down.

use core::fmt::Debug;
use core::marker::PhantomData;

use hustings_protocol::{Context, Fact, Port, Protocol, Rank, Stage, StartReason, Timer, kinds};
use serde::{Deserialize, Serialize};

use super::single_timer::SingleTimer;
use super::{Highest, OnRejoin, Timeouts};
use crate::ring::set_leader;

/// Which nodes are asked.
pub trait SurveyTargets: Clone + Debug + Send + Sync + 'static {
    /// Sends the questions of a round, counted from 0, and returns their number; `None` if there is no such round.
    fn ask<R: Rank, C: Context<Survey<R, Self>>>(round: u8, cx: &mut C) -> Option<u32>;
}

/// The protocol of a [`SurveyTargets`].
#[derive(Clone, Debug)]
pub struct Survey<R, E> {
    pub(super) timeouts: Timeouts,
    pub(super) highest: Highest,
    pub(super) recovery: OnRejoin,
    pub(super) types: PhantomData<(R, E)>,
}

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    phase: Phase,
    /// The round of the pending question.
    round: u8,
    timer: SingleTimer,
    /// The port of the greatest node that has answered.
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

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// Asks for the receiver's number.
    Election,
    /// The sender's number.
    Number(R),
    /// The new leader.
    Coordinator(R),
}
kinds!(Message<R>: Election = "election", Number = "number", Coordinator = "coordinator");

/// The only kind of timer.
const WAIT: u8 = 0;

impl<R: Rank, E: SurveyTargets> Survey<R, E> {
    fn elect<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.phase = Phase::Elect;
        cx.learn(Fact::Stage(Stage::Elect));
        self.ask(state, 0, cx);
    }

    /// Asks the nodes of a round. If there is no such round, no other node is up and this one wins.
    fn ask<C: Context<Self>>(&self, state: &mut State, round: u8, cx: &mut C) {
        (state.round, state.greatest) = (round, None);
        match E::ask(round, cx) {
            None => self.announce(state, cx.rank(), cx),
            Some(0) if self.highest == Highest::Announce => self.ask(state, round + 1, cx),
            Some(_) => state.timer.set(WAIT, self.timeouts.answer(), cx),
        }
    }

    fn announce<C: Context<Self>>(&self, state: &mut State, winner: R, cx: &mut C) {
        self.finish(state, winner, cx);
        cx.send_all_but(None, Message::Coordinator(winner));
    }

    fn finish<C: Context<Self>>(&self, state: &mut State, leader: R, cx: &mut C) {
        state.phase = Phase::Settled;
        set_leader(leader, cx);
        cx.learn(Fact::Stage(Stage::Normal));
    }
}

impl<R: Rank, E: SurveyTargets> Protocol for Survey<R, E> {
    type Rank = R;
    type State = State;
    type Message = Message<R>;

    fn init(&self) -> State {
        State { phase: Phase::Idle, round: 0, timer: SingleTimer::default(), greatest: None }
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
                    state.timer.set(WAIT, self.timeouts.coordinator(), cx);
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
                Phase::Elect => set_leader(winner, cx),
                _ if winner < cx.rank() => self.elect(state, cx),
                _ => self.finish(state, winner, cx),
            },
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut State, timer: Timer, cx: &mut C) {
        if !state.timer.is_due(timer) {
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
