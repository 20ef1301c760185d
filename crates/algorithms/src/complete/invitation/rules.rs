//! The state machine of invitation.

use alloc::{sync::Arc, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Fact, Port, Protocol, Rank, Stage as Shown, StartReason, Timer};

use super::message::{Call, Message};
use crate::complete::adaptive_timeout::AdaptiveTimeout;
use crate::complete::single_timer::SingleTimer;
use crate::complete::{Timeouts, count_higher};

/// The protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rules<R> {
    pub(super) timeouts: Timeouts,
    pub(super) period: u64,
    pub(super) rank: PhantomData<R>,
}

/// The state of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    stage: Stage,
    timeout: AdaptiveTimeout,
    timer: SingleTimer,
    /// The number of groups founded so far, and the number of the current group as its leader counts.
    founded: u32,
    group: u32,
    /// The port of the leader whose group this node has joined.
    leader: u32,
    /// Present at a leader.
    lists: Option<Arc<Lists>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    /// Has not been called yet.
    Idle,
    /// Leads its group.
    Leading,
    /// Leads, and will call later unless it is invited first.
    Scheduled,
    /// The same, after losing its leader.
    ScheduledAfterLoss,
    /// Leads, and has called.
    Calling,
    /// Leads, and has invited.
    Inviting,
    /// Has accepted an invitation, and waits for `ready`.
    Joining,
    /// In another node's group.
    Member,
    /// In another node's group, and has asked whether the leader is up.
    Checking(Attempt),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Attempt {
    First,
    Second,
    Last,
}

impl Stage {
    const fn leads(self) -> bool {
        matches!(self, Stage::Leading | Stage::Scheduled | Stage::ScheduledAfterLoss | Stage::Calling | Stage::Inviting)
    }
}

/// The lists of a leader: ports, ascending.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Lists {
    members: Vec<u32>,
    /// Other known leaders; while inviting, the nodes that have accepted.
    found: Vec<u32>,
}

fn insert(list: &mut Vec<u32>, port: u32) {
    if let Err(place) = list.binary_search(&port) {
        list.insert(place, port);
    }
}

fn remove(list: &mut Vec<u32>, port: u32) {
    if let Ok(place) = list.binary_search(&port) {
        list.remove(place);
    }
}

impl State {
    fn lists(&mut self) -> &mut Lists {
        Arc::make_mut(self.lists.get_or_insert_default())
    }

    fn take_found(&mut self) -> Vec<u32> {
        self.lists.as_mut().map(|lists| core::mem::take(&mut Arc::make_mut(lists).found)).unwrap_or_default()
    }
}

/// The kinds of timers: one of a merge, and one of periodic traffic.
const WAIT: u8 = 0;
const PERIODIC: u8 = Timer::PERIODIC;

impl<R: Rank> Rules<R> {
    fn set_timer<C: Context<Self>>(&self, state: &mut State, kind: u8, after: u64, cx: &mut C) {
        state.timer.set(kind, state.timeout.scale(after), cx);
    }

    /// Schedules the next periodic call, if there is a period.
    fn schedule_periodic_call<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        match self.period {
            0 => state.timer.stop(),
            period => state.timer.set(PERIODIC, period, cx),
        }
    }

    fn found_group<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.founded += 1;
        state.group = state.founded;
        state.stage = Stage::Leading;
        state.lists = None;
        cx.lead();
    }

    /// Schedules this node's call; the higher its id, the sooner.
    fn schedule_call<C: Context<Self>>(&self, state: &mut State, lost: bool, cx: &mut C) {
        let above = u64::from(count_higher(cx));
        if above == 0 {
            return self.call(state, lost, cx);
        }
        state.stage = if lost { Stage::ScheduledAfterLoss } else { Stage::Scheduled };
        self.set_timer(state, WAIT, self.timeouts.answer().saturating_mul(2 * above), cx);
    }

    fn call<C: Context<Self>>(&self, state: &mut State, lost: bool, cx: &mut C) {
        state.stage = Stage::Calling;
        state.timeout.new_question();
        cx.learn(Fact::Stage(Shown::Elect));
        self.call_others(state, lost, false, cx);
        self.set_timer(state, WAIT, self.timeouts.answer(), cx);
    }

    fn call_others<C: Context<Self>>(&self, state: &State, lost: bool, periodic: bool, cx: &mut C) {
        let message = Message::AreYouCoordinator { call: Call::Others { lost }, periodic };
        let members = state.lists.as_ref().map_or(&[][..], |lists| &lists.members);
        if members.is_empty() {
            return cx.send_all_but(None, message);
        }
        let mut next = 0;
        for &member in members.iter().chain([&cx.degree()]) {
            if next < member {
                cx.send_range(next..member, message);
            }
            next = member + 1;
        }
    }

    /// The wait for answers is over: all other leaders have answered.
    fn decide<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        let own = cx.rank();
        let is_above = |port: &u32| cx.peer_rank(Port(*port)).is_some_and(|rank| rank > own);
        let found = state.lists.as_ref().map_or(&[][..], |lists| &lists.found);
        if found.is_empty() {
            self.finish_merge(state, cx);
        } else if found.iter().any(is_above) {
            state.lists().found.retain(|port| !is_above(port));
            self.schedule_call(state, false, cx);
        } else {
            self.invite(state, cx);
        }
    }

    /// Invites all known leaders.
    fn invite<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.stage = Stage::Inviting;
        cx.learn(Fact::Stage(Shown::Reorganize));
        let message = Message::Invitation { leader: cx.rank(), group: state.group };
        for port in state.take_found() {
            cx.send(Port(port), message);
        }
        self.set_timer(state, WAIT, self.timeouts.forwarded(), cx);
    }

    /// The wait for `accept` is over.
    fn complete<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        for port in state.take_found() {
            cx.send(Port(port), Message::Ready(state.group));
            insert(&mut state.lists().members, port);
        }
        self.finish_merge(state, cx);
    }

    fn finish_merge<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        state.stage = Stage::Leading;
        cx.learn(Fact::Stage(Shown::Normal));
        self.schedule_periodic_call(state, cx);
    }

    /// This leader has learned that the peer behind this port leads too.
    fn handle_other_leader<C: Context<Self>>(&self, state: &mut State, other: Port, cx: &mut C) {
        let is_below = cx.peer_rank(other).is_some_and(|rank| rank < cx.rank());
        match state.stage {
            Stage::Leading if is_below => {
                insert(&mut state.lists().found, other.0);
                self.invite(state, cx);
            }
            Stage::Inviting if is_below => {
                cx.send(other, Message::Invitation { leader: cx.rank(), group: state.group });
            }
            Stage::Scheduled | Stage::ScheduledAfterLoss | Stage::Calling => insert(&mut state.lists().found, other.0),
            _ => {}
        }
    }

    /// Handles a call of another leader.
    fn handle_call<C: Context<Self>>(&self, state: &mut State, from: Port, lost: bool, periodic: bool, cx: &mut C) {
        if state.stage == Stage::Idle {
            self.found_group(state, cx);
        }
        if !state.stage.leads() {
            if state.stage == Stage::Member && (lost || from.0 == state.leader) {
                self.check_leader(state, Attempt::Last, false, cx);
            }
            return;
        }
        cx.send(from, Message::Yes { periodic });
        if let Some(lists) = &mut state.lists {
            remove(&mut Arc::make_mut(lists).members, from.0);
        }
        if state.stage == Stage::Leading {
            insert(&mut state.lists().found, from.0);
            self.schedule_call(state, false, cx);
        } else {
            self.handle_other_leader(state, from, cx);
        }
    }

    fn check_leader<C: Context<Self>>(&self, state: &mut State, again: Attempt, periodic: bool, cx: &mut C) {
        state.stage = Stage::Checking(again);
        state.timeout.new_question();
        cx.send(Port(state.leader), Message::AreYouCoordinator { call: Call::Own(state.group), periodic });
        self.set_timer(state, if periodic { PERIODIC } else { WAIT }, self.timeouts.answer(), cx);
    }

    /// The leader is down: founds a new group.
    fn leave<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        self.found_group(state, cx);
        self.schedule_call(state, true, cx);
    }

    fn handle_invitation<C: Context<Self>>(&self, state: &mut State, from: Port, leader: R, group: u32, cx: &mut C) {
        let own = cx.rank();
        let behind = |port: &Port| cx.peer_rank(*port) == Some(leader);
        let Some(port) = Some(from).filter(behind).or_else(|| (0..cx.degree()).map(Port).find(behind)) else { return };
        let is_alone = state.stage == Stage::Idle || state.stage.leads();
        let present = if is_alone { own } else { cx.peer_rank(Port(state.leader)).unwrap_or(own) };
        if leader < present {
            return self.handle_other_leader(state, port, cx);
        }
        if let Some(lists) = state.lists.take().filter(|_| state.stage.leads()) {
            let accepted: &[u32] = if state.stage == Stage::Inviting { &lists.found } else { &[] };
            for member in lists.members.iter().chain(accepted).filter(|&&member| member != port.0) {
                cx.send(Port(*member), Message::Invitation { leader, group });
            }
        }
        (state.stage, state.leader, state.group) = (Stage::Joining, port.0, group);
        state.timeout.new_question();
        cx.follow(leader.id());
        cx.learn(Fact::Stage(Shown::Reorganize));
        cx.send(port, Message::Accept(group));
        self.set_timer(state, WAIT, self.timeouts.coordinator(), cx);
    }

    fn handle_accept<C: Context<Self>>(&self, state: &mut State, from: Port, group: u32, cx: &mut C) {
        if state.stage.leads() {
            if group != state.group {
                return;
            }
            if state.stage == Stage::Inviting {
                insert(&mut state.lists().found, from.0);
            } else {
                let lists = state.lists();
                remove(&mut lists.found, from.0);
                insert(&mut lists.members, from.0);
                cx.send(from, Message::Ready(group));
            }
        } else if let Some(leader) = cx.peer_rank(Port(state.leader)) {
            // This node has joined another group in the meantime.
            cx.send(from, Message::Invitation { leader, group: state.group });
        }
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State;
    type Message = Message<R>;

    fn init(&self) -> State {
        State {
            stage: Stage::Idle,
            timeout: AdaptiveTimeout::default(),
            timer: SingleTimer::default(),
            founded: 0,
            group: 0,
            leader: u32::MAX,
            lists: None,
        }
    }

    fn handles_rejoin(&self) -> bool {
        true
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State, reason: StartReason, cx: &mut C) {
        let is_lost = reason == StartReason::LeaderLost;
        if state.stage == Stage::Idle || is_lost && !state.stage.leads() {
            self.found_group(state, cx);
            self.call(state, is_lost, cx);
        }
    }

    fn handle_rejoin<C: Context<Self>>(&self, state: &mut State, cx: &mut C) {
        self.handle_start(state, StartReason::Start, cx);
    }

    fn handle_message<C: Context<Self>>(&self, state: &mut State, from: Port, message: Message<R>, cx: &mut C) {
        match message {
            Message::AreYouCoordinator { call: Call::Others { lost }, periodic } => {
                self.handle_call(state, from, lost, periodic, cx);
            }
            Message::AreYouCoordinator { call: Call::Own(group), periodic } => {
                // A leader that has recovered numbers its groups from 1 again, but it has no members.
                let is_member = state.lists.as_ref().is_some_and(|lists| lists.members.binary_search(&from.0).is_ok());
                if state.stage.leads() && group == state.group && is_member {
                    cx.send(from, Message::Yes { periodic });
                }
            }
            Message::Yes { periodic } => match state.stage {
                Stage::Checking(_) if from.0 == state.leader => {
                    state.stage = Stage::Member;
                    self.schedule_periodic_call(state, cx);
                }
                stage if stage.leads() => {
                    let is_late = match stage {
                        Stage::Calling => false,
                        Stage::ScheduledAfterLoss => true,
                        _ => !periodic,
                    };
                    if is_late {
                        state.timeout.double();
                    }
                    self.handle_other_leader(state, from, cx);
                }
                _ => {}
            },
            Message::Invitation { leader, group } => self.handle_invitation(state, from, leader, group, cx),
            Message::Accept(group) => self.handle_accept(state, from, group, cx),
            Message::Ready(group) => {
                if state.stage == Stage::Joining && (from.0, group) == (state.leader, state.group) {
                    state.stage = Stage::Member;
                    cx.learn(Fact::Stage(Shown::Normal));
                    self.schedule_periodic_call(state, cx);
                } else if state.stage.leads() {
                    // It came too late. Its sender must not count this node as a member.
                    state.timeout.double();
                    cx.send(from, Message::AreYouCoordinator { call: Call::Others { lost: false }, periodic: false });
                }
            }
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut State, timer: Timer, cx: &mut C) {
        if !state.timer.is_due(timer) {
            return;
        }
        match state.stage {
            Stage::Idle => {}
            Stage::Leading => {
                self.call_others(state, false, true, cx);
                cx.set_timer(self.period, timer);
            }
            Stage::Scheduled => self.call(state, false, cx),
            Stage::ScheduledAfterLoss => self.call(state, true, cx),
            Stage::Calling => self.decide(state, cx),
            Stage::Inviting => self.complete(state, cx),
            Stage::Joining | Stage::Checking(Attempt::Last) => self.leave(state, cx),
            Stage::Member => self.check_leader(state, Attempt::First, true, cx),
            Stage::Checking(Attempt::First) => self.check_leader(state, Attempt::Second, true, cx),
            Stage::Checking(Attempt::Second) => self.check_leader(state, Attempt::Last, true, cx),
        }
    }
}
