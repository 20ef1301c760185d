//! Applies the transition of one node to the global state.

use std::cmp::Ordering;

use hustings_protocol::Port;

use crate::global_state::{Channel, DIRECT, Envelope, GlobalState, MessageNo, PendingTimer};
use crate::model::Timing;
use crate::steps::{Action, Bounced, Step, TransitionRelation};
use crate::transition_table::{Input, TableEffect, Transition};

impl<R> TransitionRelation<'_, R> {
    /// Adds a step in which no node handles an input.
    pub(crate) fn push_step(&self, action: Action, mut next: GlobalState, steps: &mut Vec<Step>) {
        next.update_fingerprint();
        steps.push(Step { action, handled: None, branch: 0, sent: 0, rounds_begun: 0, rounds_lowered: 0, next });
    }

    /// Adds the steps in which a node handles an input: one for each outcome of its coin tosses.
    pub(crate) fn push_handled(
        &self,
        global: &GlobalState,
        at: u8,
        input: Input,
        action: Action,
        bounced: Option<Bounced>,
        steps: &mut Vec<Step>,
    ) {
        let before = self.greatest_round(global);
        let transitions = self.table.transitions(at, global.nodes[usize::from(at)].state, input);
        for (branch, transition) in (0..).zip(transitions.iter()) {
            let mut next = global.clone();
            let sent = self.apply_effects(&mut next, at, transition, bounced);
            let rounds_begun = self.greatest_round(&next).map_or(0, |after| after.saturating_sub(before.unwrap_or(0)));
            let rounds_lowered = self.lower_rounds(&mut next);
            next.update_fingerprint();
            steps.push(Step { action, handled: Some((at, input)), branch, sent, rounds_begun, rounds_lowered, next });
        }
    }

    /// Applies the effects of a transition. Returns the number of messages sent.
    fn apply_effects(
        &self,
        global: &mut GlobalState,
        at: u8,
        transition: &Transition,
        bounced: Option<Bounced>,
    ) -> u32 {
        let node = &mut global.nodes[usize::from(at)];
        let (state_before, leader_before) = (node.state, node.leader);
        node.state = transition.state;
        let mut sent = 0;
        for &effect in &transition.effects {
            let node = &mut global.nodes[usize::from(at)];
            match effect {
                TableEffect::Send(port, message) => {
                    sent += 1;
                    if self.model.tracks_withdrawals {
                        match self.table.candidacy(at, message) {
                            Some(Ordering::Greater) => node.has_withdrawn |= node.started_itself,
                            Some(Ordering::Equal) if node.has_withdrawn => global.candidacy_renewed = true,
                            _ => {}
                        }
                    }
                    let node = &global.nodes[usize::from(at)];
                    if let Some((to, _)) = self.model.target(at, port, node.skipped) {
                        self.send(
                            global,
                            Channel { is_returning: false, from: at, to, out_port: port.0 as u8 },
                            message,
                        );
                    }
                }
                TableEffect::Direct(to, message) => {
                    sent += 1;
                    if let Some(to) = to {
                        self.send(global, Channel { is_returning: false, from: at, to, out_port: DIRECT }, message);
                    }
                }
                TableEffect::Timer(after, timer) => {
                    let ticks_left = match self.model.timing {
                        Timing::Free => 0,
                        Timing::Bounded(_) | Timing::Patient => after.min(u64::from(u32::MAX)) as u32,
                    };
                    global.set_timer(PendingTimer { at, timer, ticks_left });
                }
                TableEffect::Lead => (node.leader, node.is_leader) = (Some(at), true),
                TableEffect::Follow(leader) => (node.leader, node.is_leader) = (leader, false),
                TableEffect::Forget => (node.leader, node.is_leader) = (None, false),
                TableEffect::Estimate(size) => node.estimate = Some(size),
                TableEffect::Electing(is_electing) => node.is_electing = is_electing,
                TableEffect::Skip(port) => sent += self.skip(global, at, port, bounced),
            }
        }
        let node = &mut global.nodes[usize::from(at)];
        let leader = node.leader;
        node.has_withdrawn &= leader.is_none();
        // After a fault, and in another epoch, a node may name another leader.
        let may_change = || {
            global.faults_left != self.model.budget
                || self.table.epoch(state_before) != self.table.epoch(transition.state)
        };
        if leader_before.is_some() && leader != leader_before && !may_change() {
            global.leader_changed = true;
        }
        sent
    }

    fn send(&self, global: &mut GlobalState, channel: Channel, message: MessageNo) {
        global.send(
            Envelope { channel, message, ticks_left: self.max_delay(), sender_crashed: false, duplicated: false },
            self.is_fifo(),
        );
    }

    /// Skips the neighbour that could not be reached, and sends the messages to it, from the bounced one on, to the
    /// next neighbour instead. Returns the number of messages sent.
    fn skip(&self, global: &mut GlobalState, at: u8, port: Port, bounced: Option<Bounced>) -> u32 {
        let Some(bounced) = bounced.filter(|bounced| self.model.is_ring && bounced.port == port) else { return 0 };
        let node = &mut global.nodes[usize::from(at)];
        if self.model.target(at, port, node.skipped).is_some_and(|(to, _)| to == bounced.peer) && bounced.peer != at {
            node.skipped[port.index()] += 1;
        }
        let skipped = node.skipped;
        let Some((to, _)) = self.model.target(at, port, skipped) else { return 0 };
        let channel = |is_returning| Channel { is_returning, from: at, to: bounced.peer, out_port: port.0 as u8 };
        let mut resent = vec![bounced.message];
        for channel in [channel(true), channel(false)] {
            let on_channel = global.envelopes.extract_if(.., |envelope| envelope.channel == channel);
            resent.extend(on_channel.map(|envelope| envelope.message));
        }
        for &message in &resent {
            self.send(global, Channel { is_returning: false, from: at, to, out_port: port.0 as u8 }, message);
        }
        resent.len() as u32
    }

    fn greatest_round(&self, global: &GlobalState) -> Option<u32> {
        if !self.table.counts_rounds() {
            return None;
        }
        let states = global.nodes.iter().filter_map(|node| self.table.rounds_of(node.state));
        let messages = global.envelopes.iter().filter_map(|envelope| self.table.rounds_in(envelope.message));
        states.chain(messages).map(|(_, greatest)| greatest).max()
    }

    /// Subtracts the same number from all rounds, so that the least round of any node is 1. Returns that number.
    ///
    /// This makes the state space of a protocol finite whose rounds grow without bound.
    fn lower_rounds(&self, global: &mut GlobalState) -> u32 {
        if !self.table.counts_rounds() {
            return 0;
        }
        let init = self.table.init();
        let states = global.nodes.iter().filter_map(|node| match node.state == init {
            // Such a node may still begin with the first round.
            true => Some((0, 0)),
            false => self.table.rounds_of(node.state),
        });
        let messages = global.envelopes.iter().filter_map(|envelope| self.table.rounds_in(envelope.message));
        // Messages of rounds that every node has left behind are equivalent: all may carry the round before the least.
        let least = match states.map(|(least, _)| least).min() {
            Some(least) => least.saturating_sub(1),
            None => messages.map(|(_, greatest)| greatest).max().unwrap_or(0),
        };
        if least == 0 {
            return 0;
        }
        for node in &mut global.nodes {
            node.state = self.table.lower_state(node.state, least);
        }
        for envelope in &mut global.envelopes {
            envelope.message = self.table.lower_message(envelope.message, least);
        }
        if !self.is_fifo() {
            global.envelopes.sort_unstable();
        }
        least
    }
}
