//! The heartbeats of the leader and the answers of the others. What they prove is in [`super::lease_rounds`].

use hustings_protocol::Id;

use super::RaftArbiter;
use crate::clock::Timestamp;
use crate::core::context::Context;
use crate::core::table::Holder;
use crate::wire::{FollowerHeartbeat, Heartbeat, LeaderHeartbeat, Message};

impl RaftArbiter {
    pub(super) fn begin_round(&mut self, context: &mut Context<'_>) {
        self.rounds.begin(context.now);
        let others: Vec<Id> = self.table.members.keys().copied().filter(|id| *id != self.own).collect();
        others.into_iter().for_each(|id| self.send_leader_heartbeat(id, context));
        self.confirm_rounds(context);
    }

    pub(super) fn send_leader_heartbeat(&mut self, id: Id, context: &mut Context<'_>) {
        let leader = LeaderHeartbeat {
            term: self.consensus.term(),
            commit: self.consensus.commit_for(id),
            round: self.rounds.round(),
            confirmed: self.rounds.confirmed(id, context.liveness.incarnation_of(id)),
        };
        let heartbeat = Heartbeat { number: 0, leader: Some(leader), follower: None };
        context.send_heartbeat(id, Message::Heartbeat(heartbeat), true);
    }

    pub(super) fn handle_heartbeat(&mut self, from: Id, heartbeat: Heartbeat, context: &mut Context<'_>) {
        let is_plain = heartbeat.leader.is_none() && heartbeat.follower.is_none();
        if is_plain && self.consensus.leader() == Some(from) {
            // A leader says so with every heartbeat: it has stepped down.
            self.handle_leader_lost(context);
        }
        if let Some(leader) = heartbeat.leader {
            self.handle_leader_heartbeat(from, leader, context);
        }
        if let Some(follower) = heartbeat.follower {
            self.handle_follower_heartbeat(from, heartbeat.number, follower, context);
        }
    }

    fn handle_leader_heartbeat(&mut self, from: Id, leader: LeaderHeartbeat, context: &mut Context<'_>) {
        if leader.term < self.consensus.term() {
            // The sender is no longer the leader. The library's response tells it so.
            self.consensus.step_leader_heartbeat(from, leader.term, 0);
            return;
        }
        self.consensus.step_leader_heartbeat(from, leader.term, leader.commit);
        // The leader had a quorum at that time. That stays true whoever leads now.
        if let Some(sent) = self.answers.sent_at(leader.confirmed) {
            self.confirmed_at = self.confirmed_at.max(sent);
        }
        let (term, applied, round) = (self.consensus.term(), self.consensus.applied(), leader.round);
        self.last_support = self.last_support.max(context.now);
        let number = self.answers.next_number(context.now);
        let follower = Some(FollowerHeartbeat { term, round, applied });
        context.answer(from, Message::Heartbeat(Heartbeat { number, leader: None, follower }));
    }

    fn handle_follower_heartbeat(
        &mut self,
        from: Id,
        number: u64,
        heartbeat: FollowerHeartbeat,
        context: &mut Context<'_>,
    ) {
        let is_ahead = heartbeat.round > self.rounds.round();
        let is_current = self.consensus.is_leader() && heartbeat.term == self.consensus.term() && !is_ahead;
        if !is_current {
            return;
        }
        self.consensus.step_follower_heartbeat(from, heartbeat.term);
        let incarnation = context.liveness.incarnation_of(from).unwrap_or(0);
        self.rounds.handle_answer(Holder { id: from, incarnation }, number, heartbeat, context.now);
        self.confirm_rounds(context);
    }

    fn confirm_rounds(&mut self, context: &Context<'_>) {
        if self.consensus.is_established() {
            self.last_support = self.last_support.max(context.now);
            let confirmed = self.rounds.confirm(self.own, &self.consensus.voter_sets());
            self.confirmed_at = self.confirmed_at.max(confirmed.unwrap_or(Timestamp::ZERO));
        }
    }
}
