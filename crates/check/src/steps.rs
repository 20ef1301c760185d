//! The transition relation: the steps that are possible in a global state.

use hustings_protocol::{Port, StartReason};

use crate::global_state::{
    Channel, Envelope, FaultBudget, GlobalState, MessageNo, NodeState, PendingTimer, ReachabilityUpdate, StateNo,
};
use crate::model::{Channels, Model, Timing};
use crate::property::Labels;
use crate::transition_table::{Input, TransitionTable};

/// A step from one global state to the next.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// The node that handles an input, if one does, and the input.
    pub(crate) handled: Option<(u8, Input)>,
    /// The outcome of its coin tosses: an index into its transitions.
    pub(crate) branch: u32,
    /// The number of messages sent.
    pub(crate) sent: u32,
    /// The growth of the greatest round.
    pub(crate) rounds_begun: u32,
    /// What was subtracted from all rounds afterwards.
    pub(crate) rounds_lowered: u32,
    pub(crate) next: GlobalState,
}

impl Step {
    /// The state in which a node handles the input of this step.
    pub(crate) fn state_before(&self, global: &GlobalState, at: u8, table: &dyn TransitionTable) -> StateNo {
        match self.action {
            Action::Recover(_) => table.init(),
            _ => global.nodes[usize::from(at)].state,
        }
    }
}

/// What happens in a step. A `usize` is an index into a list of the state before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Action {
    /// A node gets its start signal.
    Start(u8),
    /// A node wakes up without a start signal.
    Wakeup(u8),
    /// A node learns that its leader is dead.
    LeaderLost(u8),
    /// A node handles a reachability update.
    UpdateReachability(usize),
    /// A message is delivered.
    Deliver(usize),
    /// A copy of a message is delivered; the message stays in transit.
    Duplicate(usize),
    /// A message is lost.
    Lose(usize),
    /// A message finds its receiver down.
    Bounce(usize),
    /// The sender of such a message learns that the receiver is down.
    Return(usize),
    /// A timer fires.
    Timeout(usize),
    /// Time passes.
    Tick(u32),
    /// A node crashes.
    Crash(u8),
    /// A node recovers.
    Recover(u8),
}

impl Action {
    /// Whether it is a fault or a recovery. Fairness does not require those to happen.
    pub(crate) fn is_fault(self) -> bool {
        matches!(self, Action::Duplicate(_) | Action::Lose(_) | Action::Crash(_) | Action::Recover(_))
    }
}

/// The possible steps of a protocol in a model.
pub(crate) struct TransitionRelation<'a, R> {
    pub(crate) model: &'a Model<R>,
    pub(crate) table: &'a dyn TransitionTable,
}

/// A message that came back to its sender along a link.
#[derive(Clone, Copy)]
pub(crate) struct Bounced {
    pub(crate) port: Port,
    pub(crate) peer: u8,
    pub(crate) message: MessageNo,
}

impl<R> TransitionRelation<'_, R> {
    /// The initial state.
    pub(crate) fn initial(&self) -> GlobalState {
        let init = self.table.init();
        let starts = |at: u32| self.model.initiators.contains(&at) || self.model.requires_wakeup;
        let mut global = GlobalState {
            fingerprint: 0,
            nodes: (0..self.model.size() as u32).map(|at| NodeState::new(init, starts(at))).collect(),
            envelopes: Vec::new(),
            timers: Vec::new(),
            reachability_updates: Vec::new(),
            faults_left: self.model.budget,
            leader_changed: false,
            candidacy_renewed: false,
            labels: Labels::default(),
        };
        global.update_fingerprint();
        global
    }

    /// Whether only faults can still happen.
    pub(crate) fn is_quiescent(&self, global: &GlobalState) -> bool {
        let nothing_is_due =
            global.envelopes.is_empty() && global.timers.is_empty() && global.reachability_updates.is_empty();
        nothing_is_due && {
            let mut steps = Vec::new();
            self.signal_steps(global, &mut steps);
            steps.is_empty()
        }
    }

    pub(crate) fn is_fifo(&self) -> bool {
        self.model.channels == Channels::Fifo
    }

    /// Adds all steps that are possible in a state.
    pub(crate) fn steps(&self, global: &GlobalState, steps: &mut Vec<Step>) {
        self.signal_steps(global, steps);
        self.delivery_steps(global, steps);
        self.clock_steps(global, steps);
        self.fault_steps(global, steps);
    }

    fn signal_steps(&self, global: &GlobalState, steps: &mut Vec<Step>) {
        for (at, node) in (0u8..).zip(&global.nodes).filter(|(_, node)| node.is_live) {
            let leader_is_dead = node.leader.is_some_and(|leader| !global.nodes[usize::from(leader)].is_live);
            let reason = if leader_is_dead { StartReason::LeaderLost } else { StartReason::Start };
            if node.start_pending {
                let mut started = global.clone();
                let now = &mut started.nodes[usize::from(at)];
                now.start_pending = false;
                now.started_itself = self.model.tracks_starts && node.state == self.table.init();
                if self.model.initiators.contains(&u32::from(at)) {
                    self.push_handled(&started, at, Input::Start(reason), Action::Start(at), None, steps);
                } else {
                    self.push_step(Action::Wakeup(at), started, steps);
                }
            } else if leader_is_dead && self.model.reports_leader_loss {
                let before = steps.len();
                self.push_handled(
                    global,
                    at,
                    Input::Start(StartReason::LeaderLost),
                    Action::LeaderLost(at),
                    None,
                    steps,
                );
                // A node that ignores the loss would get the same signal again and again.
                if steps[before..].iter().all(|step| step.next.fingerprint == global.fingerprint) {
                    steps.truncate(before);
                }
            }
        }
        for (place, &ReachabilityUpdate { at, reachable }) in global.reachability_updates.iter().enumerate() {
            // A node may miss a change that was undone or overtaken: then it handles only the later update.
            let mut updated = global.clone();
            let mut places = 0..;
            updated.reachability_updates.retain(|update| places.next() > Some(place) || update.at != at);
            self.push_handled(
                &updated,
                at,
                Input::Reachability(reachable),
                Action::UpdateReachability(place),
                None,
                steps,
            );
        }
    }

    /// Whether a message may be the next one to arrive on its channel.
    fn is_next(&self, global: &GlobalState, place: usize) -> bool {
        let envelope = &global.envelopes[place];
        let before = global.envelopes[..place].iter().rev().take_while(|other| other.channel == envelope.channel);
        match self.is_fifo() {
            true => before.count() == 0,
            // Equal messages on a channel are interchangeable: take the first.
            false => !before.into_iter().any(|other| other == envelope),
        }
    }

    fn delivery_steps(&self, global: &GlobalState, steps: &mut Vec<Step>) {
        for (place, &envelope) in global.envelopes.iter().enumerate() {
            let Envelope { channel, message, .. } = envelope;
            let receiver = channel.receiver();
            let node = &global.nodes[usize::from(receiver)];
            if !self.is_next(global, place) || (self.model.requires_wakeup && node.start_pending) {
                continue;
            }
            let mut rest = global.clone();
            rest.envelopes.remove(place);
            if channel.is_returning {
                let (input, bounced) = match channel.port() {
                    Some(port) => {
                        (Input::Unreachable(port, message), Some(Bounced { port, peer: channel.to, message }))
                    }
                    None => (Input::UnreachableDirect(channel.to, message), None),
                };
                self.push_handled(&rest, receiver, input, Action::Return(place), bounced, steps);
                continue;
            }
            if !node.is_live {
                if !envelope.sender_crashed {
                    let channel = Channel { is_returning: true, ..channel };
                    let returning = Envelope { channel, ticks_left: self.return_delay(), ..envelope };
                    rest.send(returning, self.is_fifo());
                }
                self.push_step(Action::Bounce(place), rest, steps);
                continue;
            }
            let input = self.arrival(global, channel, message);
            self.push_handled(&rest, receiver, input, Action::Deliver(place), None, steps);
        }
    }

    fn arrival(&self, global: &GlobalState, channel: Channel, message: MessageNo) -> Input {
        let into = channel.port().and_then(|port| {
            let skipped = global.nodes[usize::from(channel.from)].skipped;
            self.model.target(channel.from, port, skipped).map(|(_, into)| into)
        });
        into.map_or(Input::Direct(channel.from, message), |into| Input::Message(into, message))
    }

    fn clock_steps(&self, global: &GlobalState, steps: &mut Vec<Step>) {
        let is_anything_due = match self.model.timing {
            Timing::Free => true,
            Timing::Bounded(_) => !global.timers.is_empty() || !global.envelopes.is_empty(),
            Timing::Patient => steps.is_empty() && !global.timers.is_empty(),
        };
        if !is_anything_due {
            return;
        }
        for (place, &PendingTimer { at, timer, ticks_left }) in global.timers.iter().enumerate() {
            let is_due = ticks_left == 0 && !global.envelopes.iter().any(|envelope| self.precedes(envelope, at));
            if !is_due || global.timers[..place].contains(&global.timers[place]) {
                continue;
            }
            let mut rest = global.clone();
            rest.timers.remove(place);
            self.push_handled(&rest, at, Input::Timer(timer), Action::Timeout(place), None, steps);
        }
        let is_overdue = global.envelopes.iter().any(|envelope| envelope.ticks_left == 0)
            || global.timers.iter().any(|pending| pending.ticks_left == 0);
        if self.model.timing == Timing::Free || is_overdue {
            return;
        }
        // If only timers can fire, time jumps to the next one.
        let is_idle = steps.is_empty() && global.envelopes.is_empty();
        let can_fail = global.faults_left.crashes > 0 || global.faults_left.recoveries > 0;
        let ticks = match global.timers.iter().map(|pending| pending.ticks_left).min() {
            Some(next) if self.model.timing == Timing::Patient || (is_idle && !can_fail) => next,
            _ => 1,
        };
        let mut later = global.clone();
        later.envelopes.iter_mut().for_each(|envelope| envelope.ticks_left -= ticks);
        later.timers.iter_mut().for_each(|pending| pending.ticks_left -= ticks);
        self.push_step(Action::Tick(ticks), later, steps);
    }

    /// Whether a message must arrive before a timer of this node may fire.
    fn precedes(&self, envelope: &Envelope, at: u8) -> bool {
        matches!(self.model.timing, Timing::Bounded(_)) && envelope.ticks_left == 0 && envelope.channel.receiver() == at
    }

    fn fault_steps(&self, global: &GlobalState, steps: &mut Vec<Step>) {
        let FaultBudget { crashes, recoveries, losses, duplicates } = global.faults_left;
        let members = self.model.members as usize;
        for (at, node) in (0u8..).zip(&global.nodes[..members]) {
            if node.is_live && crashes > 0 {
                let mut global = global.clone();
                global.faults_left.crashes -= 1;
                self.crash(&mut global, at);
                self.push_step(Action::Crash(at), global, steps);
            }
            if !node.is_live && recoveries > 0 {
                let mut global = global.clone();
                global.faults_left.recoveries -= 1;
                global.nodes[usize::from(at)].is_live = true;
                self.announce_reachability(&mut global);
                match self.table.handles_rejoin() {
                    true => self.push_handled(&global, at, Input::Rejoin, Action::Recover(at), None, steps),
                    false => self.push_step(Action::Recover(at), global, steps),
                }
            }
        }
        if losses == 0 && duplicates == 0 {
            return;
        }
        for (place, &Envelope { channel, message, duplicated: is_duplicated, .. }) in
            global.envelopes.iter().enumerate()
        {
            if channel.is_returning || !self.is_next(global, place) {
                continue;
            }
            if losses > 0 {
                let mut global = global.clone();
                global.faults_left.losses -= 1;
                global.envelopes.remove(place);
                self.push_step(Action::Lose(place), global, steps);
            }
            if duplicates > 0 && !is_duplicated && global.nodes[usize::from(channel.to)].is_live {
                let mut duplicated = global.clone();
                duplicated.faults_left.duplicates -= 1;
                duplicated.envelopes[place].duplicated = true;
                if !self.is_fifo() {
                    duplicated.envelopes.sort_unstable();
                }
                let input = self.arrival(global, channel, message);
                self.push_handled(&duplicated, channel.to, input, Action::Duplicate(place), None, steps);
            }
        }
    }

    fn crash(&self, global: &mut GlobalState, at: u8) {
        global.nodes[usize::from(at)] = NodeState { is_live: false, ..NodeState::new(self.table.init(), false) };
        global.timers.retain(|pending| pending.at != at);
        global.reachability_updates.retain(|update| update.at != at);
        global.envelopes.retain(|envelope| !(envelope.channel.is_returning && envelope.channel.from == at));
        let own = global.envelopes.iter_mut().filter(|envelope| envelope.channel.from == at);
        own.for_each(|envelope| envelope.sender_crashed = true);
        if !self.is_fifo() {
            global.envelopes.sort_unstable();
        }
        self.announce_reachability(global);
    }

    /// Queues an update for every live node about the nodes that it now reaches.
    fn announce_reachability(&self, global: &mut GlobalState) {
        if self.table.observes_reachability() {
            let members = u64::MAX >> (64 - self.model.members);
            let reachable = global.live_nodes() & members;
            let live = (0..self.model.members as u8).filter(|at| reachable >> at & 1 == 1);
            global.reachability_updates.extend(live.map(|at| ReachabilityUpdate { at, reachable }));
        }
    }

    /// The maximum delay of a message, in ticks.
    pub(crate) fn max_delay(&self) -> u32 {
        if let Timing::Bounded(ticks) = self.model.timing { ticks } else { 0 }
    }

    /// The maximum time until a sender learns that the receiver is down.
    fn return_delay(&self) -> u32 {
        self.max_delay().min(1)
    }
}
