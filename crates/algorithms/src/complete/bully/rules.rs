//! The state machine of bully.

use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, Timer};
use serde::{Deserialize, Serialize};

use super::{Adapt, BullyParams, Recovery, Tell};
use crate::complete::clock::Clock;
use crate::complete::patience::Patience;
use crate::complete::{Highest, Waits, send_where};

/// Whoever does not hear its leader for so many periods gives it up.
const PERIODS_OF_SILENCE: u64 = 6;

/// The protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rules<R> {
    pub(super) waits: Waits,
    pub(super) params: BullyParams,
    pub(super) rank: PhantomData<R>,
}

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    stage: Stage,
    patience: Patience,
    clock: Clock,
    /// The port of the leader that was accepted last; for the adapted version.
    leader: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    /// Knows of no election and names nobody.
    Idle,
    /// Is back, and has asked who leads.
    Returning,
    /// Holds an election, and has asked the higher ones.
    Asking,
    /// Holds an election, and has been told that a higher one takes over.
    Waiting,
    /// Holds an election, has won it, and collects state.
    Preparing,
    Leading,
    Following,
}

impl Stage {
    /// Holding an election lasts until a `coordinator` is accepted.
    #[inline(always)]
    const fn holds(self) -> bool {
        matches!(self, Stage::Asking | Stage::Waiting | Stage::Preparing)
    }
}

/// What nodes say: a byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Are you up?
    Election,
    /// I am, and I take over.
    Ok,
    /// I lead from now on.
    Coordinator,
    /// I still lead.
    StillCoordinator,
    /// Do you lead?
    Query,
    /// I do not.
    Answer,
    /// I do.
    AnswerLeader,
}

impl hustings_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["election", "ok", "coordinator", "query", "answer"];

    #[inline(always)]
    fn kind(&self) -> usize {
        match self {
            Message::Election => 0,
            Message::Ok => 1,
            Message::Coordinator | Message::StillCoordinator => 2,
            Message::Query => 3,
            Message::Answer | Message::AnswerLeader => 4,
        }
    }

    #[inline(always)]
    fn is_periodic(&self) -> bool {
        matches!(self, Message::StillCoordinator)
    }
}

/// A timer of an election, and one of the traffic that never ends.
const WAIT: u8 = 0;
const WATCH: u8 = Timer::PERIODIC;

impl<R: Rank> Rules<R> {
    #[inline(always)]
    fn adapts(&self) -> bool {
        self.params.adapt == Adapt::On
    }

    fn set_timer<C: Context<Self>>(&self, state: &mut State, kind: u8, after: u64, cx: &mut C) {
        state.clock.set(kind, state.patience.stretch(after), cx);
    }

    fn hold<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.stage = Stage::Asking;
        state.patience.asks();
        let own = cx.rank();
        let asked = send_where(cx, Message::Election, |rank| rank > own);
        if asked == 0 && self.params.highest == Highest::Announce {
            self.win(state, cx);
        } else {
            self.set_timer(state, WAIT, self.waits.answer(), cx);
        }
    }

    fn win<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        if self.params.prepare == 0 {
            return self.announce(state, cx);
        }
        state.stage = Stage::Preparing;
        state.clock.set(WAIT, self.params.prepare, cx);
    }

    fn announce<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.stage = Stage::Leading;
        cx.lead();
        self.tell(Message::Coordinator, cx);
        if self.adapts() {
            state.clock.set(WATCH, self.params.period.get(), cx);
        }
    }

    fn tell<C: Context<Self>>(&self, message: Message, cx: &mut C) {
        match self.params.tell {
            Tell::All => cx.send_all_but(None, message),
            Tell::Lower => {
                let own = cx.rank();
                send_where(cx, message, |rank| rank < own);
            }
        }
    }

    /// The leader behind this port.
    fn follow<C: Context<Self>>(&self, state: &mut State, leader: Port, rank: R, cx: &mut C) {
        state.stage = Stage::Following;
        state.leader = leader.0;
        cx.follow(rank.id());
        if self.adapts() {
            self.set_timer(state, WATCH, self.params.period.get().saturating_mul(PERIODS_OF_SILENCE), cx);
        }
    }

    fn receive_coordinator<C: Context<Self>>(&self, state: &mut State, from: Port, still: bool, cx: &mut C) {
        let Some(sender) = cx.peer_rank(from) else { return };
        if sender < cx.rank() {
            if !state.stage.holds() {
                self.hold(state, cx);
            }
            return;
        }
        if still {
            let follows_higher = || cx.peer_rank(Port(state.leader)).is_some_and(|leader| leader > sender);
            if state.stage == Stage::Following && follows_higher() {
                return;
            }
            if state.stage.holds() && state.leader == from.0 {
                state.patience.grow(); // it was given up too early
            }
        }
        self.follow(state, from, sender, cx);
    }

    /// An `ok` that came too late: somebody above is up, and takes over.
    fn stand_back<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.patience.grow();
        state.stage = Stage::Waiting;
        cx.forget();
        self.set_timer(state, WAIT, self.waits.coordinator(), cx);
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State;
    type Message = Message;

    fn init(&self) -> State {
        State { stage: Stage::Idle, patience: Patience::default(), clock: Clock::default(), leader: u32::MAX }
    }

    fn handles_rejoin(&self) -> bool {
        true
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State, reason: StartReason, cx: &mut C) {
        match (reason, state.stage) {
            (StartReason::Start, Stage::Idle) => self.hold(state, cx),
            (StartReason::LeaderLost, Stage::Idle | Stage::Leading | Stage::Following) => self.hold(state, cx),
            _ => {}
        }
    }

    fn handle_rejoin<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        match self.params.recovery {
            Recovery::Return(way) if way.announces(cx) => self.announce(state, cx),
            Recovery::Return(_) => self.hold(state, cx),
            Recovery::Defer => {
                state.stage = Stage::Returning;
                cx.send_all_but(None, Message::Query);
                self.set_timer(state, WAIT, self.waits.answer(), cx);
            }
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State, from: Port, message: Message, cx: &mut C) {
        match message {
            // It comes from a lower id: nobody else asks.
            Message::Election => {
                cx.send(from, Message::Ok);
                if !state.stage.holds() {
                    self.hold(state, cx);
                }
            }
            Message::Ok => match state.stage {
                Stage::Asking => {
                    state.stage = Stage::Waiting;
                    self.set_timer(state, WAIT, self.waits.coordinator(), cx);
                }
                Stage::Preparing | Stage::Leading if self.adapts() => self.stand_back(state, cx),
                _ => {}
            },
            Message::Coordinator => self.receive_coordinator(state, from, false, cx),
            Message::StillCoordinator => self.receive_coordinator(state, from, true, cx),
            Message::Query => {
                let leads = state.stage == Stage::Leading;
                cx.send(from, if leads { Message::AnswerLeader } else { Message::Answer });
            }
            Message::Answer => {}
            Message::AnswerLeader => {
                if let (Stage::Returning, Some(leader)) = (state.stage, cx.peer_rank(from))
                    && leader > cx.rank()
                {
                    self.follow(state, from, leader, cx);
                }
            }
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut State, timer: Timer, cx: &mut C) {
        if !state.clock.is_due(timer) {
            return;
        }
        match state.stage {
            Stage::Returning | Stage::Waiting => self.hold(state, cx),
            Stage::Asking => self.win(state, cx),
            Stage::Preparing => self.announce(state, cx),
            Stage::Leading if self.adapts() => {
                self.tell(Message::StillCoordinator, cx);
                cx.set_timer(self.params.period.get(), timer);
            }
            Stage::Following if self.adapts() => self.hold(state, cx),
            Stage::Idle | Stage::Leading | Stage::Following => {}
        }
    }
}
