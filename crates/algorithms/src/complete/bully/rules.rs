//! The state machine of bully.

use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, Timer};
use serde::{Deserialize, Serialize};

use super::{Adapt, BullyParams, Recovery, Tell};
use crate::complete::adaptive_timeout::AdaptiveTimeout;
use crate::complete::single_timer::SingleTimer;
use crate::complete::{Highest, Timeouts, send_where};

/// After this many periods without a message, a node gives up its leader.
const MAX_SILENT_PERIODS: u64 = 6;

/// The protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rules<R> {
    pub(super) timeouts: Timeouts,
    pub(super) params: BullyParams,
    pub(super) rank: PhantomData<R>,
}

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    stage: Stage,
    timeout: AdaptiveTimeout,
    timer: SingleTimer,
    /// The port of the leader accepted last; used with `adapt=on`.
    leader: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    /// Knows of no election and names nobody.
    Idle,
    /// Has recovered, and has asked for the leader.
    Returning,
    /// Holds an election, and has asked all higher nodes.
    Asking,
    /// Holds an election, and was told that a higher node takes over.
    Waiting,
    /// Holds an election, has won it, and collects state.
    Preparing,
    Leading,
    Following,
}

impl Stage {
    /// A node holds an election until it accepts a `coordinator`.
    #[inline(always)]
    const fn is_in_election(self) -> bool {
        matches!(self, Stage::Asking | Stage::Waiting | Stage::Preparing)
    }
}

/// The messages, one byte each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Asks whether the receiver is up.
    Election,
    /// The sender is up and takes over.
    Ok,
    /// The sender leads from now on.
    Coordinator,
    /// The sender still leads.
    StillCoordinator,
    /// Asks whether the receiver leads.
    Query,
    /// The sender does not lead.
    Answer,
    /// The sender leads.
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

/// The kinds of timers: one of an election, and one of periodic traffic.
const WAIT: u8 = 0;
const PERIODIC: u8 = Timer::PERIODIC;

impl<R: Rank> Rules<R> {
    #[inline(always)]
    fn adapts(&self) -> bool {
        self.params.adapt == Adapt::On
    }

    fn set_timer<C: Context<Self>>(&self, state: &mut State, kind: u8, after: u64, cx: &mut C) {
        state.timer.set(kind, state.timeout.scale(after), cx);
    }

    fn start_election<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.stage = Stage::Asking;
        state.timeout.new_question();
        let own = cx.rank();
        let asked = send_where(cx, Message::Election, |rank| rank > own);
        if asked == 0 && self.params.highest == Highest::Announce {
            self.win(state, cx);
        } else {
            self.set_timer(state, WAIT, self.timeouts.answer(), cx);
        }
    }

    fn win<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        if self.params.prepare == 0 {
            return self.announce(state, cx);
        }
        state.stage = Stage::Preparing;
        state.timer.set(WAIT, self.params.prepare, cx);
    }

    fn announce<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.stage = Stage::Leading;
        cx.lead();
        self.tell(Message::Coordinator, cx);
        if self.adapts() {
            state.timer.set(PERIODIC, self.params.period.get(), cx);
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

    /// Accepts the leader behind this port.
    fn follow<C: Context<Self>>(&self, state: &mut State, leader: Port, rank: R, cx: &mut C) {
        state.stage = Stage::Following;
        state.leader = leader.0;
        cx.follow(rank.id());
        if self.adapts() {
            self.set_timer(state, PERIODIC, self.params.period.get().saturating_mul(MAX_SILENT_PERIODS), cx);
        }
    }

    fn handle_coordinator<C: Context<Self>>(&self, state: &mut State, from: Port, still: bool, cx: &mut C) {
        let Some(sender) = cx.peer_rank(from) else { return };
        if sender < cx.rank() {
            if !state.stage.is_in_election() {
                self.start_election(state, cx);
            }
            return;
        }
        if still {
            let follows_higher = || cx.peer_rank(Port(state.leader)).is_some_and(|leader| leader > sender);
            if state.stage == Stage::Following && follows_higher() {
                return;
            }
            if state.stage.is_in_election() && state.leader == from.0 {
                state.timeout.double(); // it was given up too early
            }
        }
        self.follow(state, from, sender, cx);
    }

    /// An `ok` came too late: a higher node is up and takes over.
    fn step_down<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.timeout.double();
        state.stage = Stage::Waiting;
        cx.forget();
        self.set_timer(state, WAIT, self.timeouts.coordinator(), cx);
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State;
    type Message = Message;

    fn init(&self) -> State {
        State {
            stage: Stage::Idle,
            timeout: AdaptiveTimeout::default(),
            timer: SingleTimer::default(),
            leader: u32::MAX,
        }
    }

    fn handles_rejoin(&self) -> bool {
        true
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State, reason: StartReason, cx: &mut C) {
        match (reason, state.stage) {
            (StartReason::Start, Stage::Idle) => self.start_election(state, cx),
            (StartReason::LeaderLost, Stage::Idle | Stage::Leading | Stage::Following) => {
                self.start_election(state, cx)
            }
            _ => {}
        }
    }

    fn handle_rejoin<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        match self.params.recovery {
            Recovery::Rejoin(way) if way.announces(cx) => self.announce(state, cx),
            Recovery::Rejoin(_) => self.start_election(state, cx),
            Recovery::Defer => {
                state.stage = Stage::Returning;
                cx.send_all_but(None, Message::Query);
                self.set_timer(state, WAIT, self.timeouts.answer(), cx);
            }
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State, from: Port, message: Message, cx: &mut C) {
        match message {
            // Only lower ids send it.
            Message::Election => {
                cx.send(from, Message::Ok);
                if !state.stage.is_in_election() {
                    self.start_election(state, cx);
                }
            }
            Message::Ok => match state.stage {
                Stage::Asking => {
                    state.stage = Stage::Waiting;
                    self.set_timer(state, WAIT, self.timeouts.coordinator(), cx);
                }
                Stage::Preparing | Stage::Leading if self.adapts() => self.step_down(state, cx),
                _ => {}
            },
            Message::Coordinator => self.handle_coordinator(state, from, false, cx),
            Message::StillCoordinator => self.handle_coordinator(state, from, true, cx),
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
        if !state.timer.is_due(timer) {
            return;
        }
        match state.stage {
            Stage::Returning | Stage::Waiting => self.start_election(state, cx),
            Stage::Asking => self.win(state, cx),
            Stage::Preparing => self.announce(state, cx),
            Stage::Leading if self.adapts() => {
                self.tell(Message::StillCoordinator, cx);
                cx.set_timer(self.params.period.get(), timer);
            }
            Stage::Following if self.adapts() => self.start_election(state, cx),
            Stage::Idle | Stage::Leading | Stage::Following => {}
        }
    }
}
