//! Heartbeats, and what they prove: that a quorum still follows the arbiter's leader.
//!
//! The leader sends *rounds* of heartbeats, and every member answers each of them. A member numbers its answers and
//! remembers when it sent each one. The leader tells a member which of its answers is *confirmed*: a quorum still
//! followed the leader when that answer arrived, or later. The member's **deadline** follows from this. It may act as a
//! holder until its lease is over, measured on its own clock from a time *before* it sent the confirmed answer, minus a
//! margin for clock drift.
//!
//! Why this is safe: a new leader is elected by a quorum, which shares a voter with the quorum that confirmed the
//! answer. That voter followed the old leader at or after the time when the answer was sent, and voted for the new
//! leader later. So the new leader was elected after the answer was sent. It lets every lease run its full length, plus
//! a margin for clock drift, from its own election. The argument needs no bound on message delays.
//!
//! Answers also carry how much of the log their sender has applied. The leader confirms an answer only if the sender
//! has applied every entry that took an office from it, and the first entry of the leader's term. A member that does
//! not know yet that it lost an office must not be told that it may go on.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::Id;

use super::{Core, Output};
use crate::clock::Timestamp;
use crate::wire::{FollowerHeartbeat, Heartbeat, LeaderHeartbeat, Message};

/// How many rounds and answers are remembered until they are confirmed.
const MAX_UNCONFIRMED: usize = 64;

/// What the arbiter's leader knows about its followers.
#[derive(Debug, Default)]
pub(super) struct LeaseRounds {
    /// The last round, and the start of each round that is not confirmed yet.
    round: u64,
    open_rounds: VecDeque<(u64, Timestamp)>,
    /// When the next round is due.
    pub(super) next_round: Timestamp,
    followers: BTreeMap<Id, Follower>,
    /// When this node became the leader.
    pub(super) leader_since: Timestamp,
    /// The index of the first entry of its term.
    pub(super) term_start: u64,
}

/// What the leader knows about one follower.
#[derive(Debug, Default)]
struct Follower {
    /// The last round that it answered.
    last_round: u64,
    /// When its last answer arrived, and from which incarnation.
    last_heard: Timestamp,
    incarnation: u64,
    /// When the last answer of an earlier incarnation arrived.
    previous_last_heard: Timestamp,
    /// Answers that are not confirmed yet: number, and the last round when the answer arrived.
    unconfirmed: VecDeque<(u64, u64)>,
    confirmed: u64,
    /// The index that it must have applied before anything is confirmed to it.
    required_index: u64,
}

impl LeaseRounds {
    /// This node became the leader; `term_start` is the index of the first entry of its term.
    pub(super) fn reset(&mut self, term_start: u64, now: Timestamp) {
        *self =
            LeaseRounds { round: self.round, leader_since: now, term_start, next_round: now, ..LeaseRounds::default() };
    }

    /// From when the lease of this incarnation of a member is counted.
    pub(super) fn lease_start(&self, id: Id, incarnation: u64) -> Timestamp {
        let heard = self.followers.get(&id).map_or(Timestamp::ZERO, |follower| {
            if follower.incarnation == incarnation { follower.last_heard } else { follower.previous_last_heard }
        });
        heard.max(self.leader_since)
    }

    /// The entry at `index` takes an office from a member. Nothing is confirmed to the member until it has applied that
    /// entry.
    pub(super) fn require_applied(&mut self, id: Id, index: u64) {
        let follower = self.followers.entry(id).or_default();
        follower.required_index = follower.required_index.max(index);
        follower.unconfirmed.clear();
    }
}

impl Core {
    /// What the leader adds to its heartbeat for this peer.
    pub(super) fn leader_heartbeat_for(&self, id: Id) -> Option<LeaderHeartbeat> {
        let consensus = self.consensus.as_ref().filter(|consensus| consensus.is_leader())?;
        let follower = self
            .lease_rounds
            .followers
            .get(&id)
            .filter(|follower| Some(follower.incarnation) == self.incarnation_of(id));
        let confirmed = follower.map_or(0, |follower| follower.confirmed);
        Some(LeaderHeartbeat {
            term: consensus.term(),
            commit: consensus.commit_for(id),
            round: self.lease_rounds.round,
            confirmed,
        })
    }

    /// If a heartbeat is due: starts a round as the leader, or sends plain heartbeats while there is no leader.
    pub(super) fn heartbeat_if_due(&mut self) {
        if self.now < self.lease_rounds.next_round {
            return;
        }
        self.lease_rounds.next_round = self.now + self.settings.timing.heartbeat;
        if let Some(consensus) = &mut self.consensus {
            consensus.tick();
        }
        if self.is_arbiter_leader() {
            self.lease_rounds.round += 1;
            if self.lease_rounds.open_rounds.len() >= MAX_UNCONFIRMED {
                self.lease_rounds.open_rounds.pop_front();
            }
            self.lease_rounds.open_rounds.push_back((self.lease_rounds.round, self.now));
            let others: Vec<Id> = self.table.members.keys().copied().filter(|id| *id != self.settings.own).collect();
            others.into_iter().for_each(|id| self.send_heartbeat(id));
            self.confirm_rounds();
            self.report_relinquished();
        } else if self.arbiter_leader().is_none() {
            let connected: Vec<Id> = self.peers.iter().filter(|(_, peer)| peer.connected).map(|(id, _)| *id).collect();
            connected.into_iter().for_each(|id| self.send_heartbeat(id));
        }
    }

    /// A heartbeat arrived.
    pub(super) fn handle_heartbeat(&mut self, from: Id, heartbeat: Heartbeat) {
        if let Some(leader) = heartbeat.leader {
            self.handle_leader_heartbeat(from, leader);
        }
        if let Some(follower) = heartbeat.follower {
            self.handle_follower_heartbeat(from, heartbeat.number, follower);
        }
    }

    fn handle_leader_heartbeat(&mut self, from: Id, leader: LeaderHeartbeat) {
        let Some(consensus) = &mut self.consensus else { return };
        if leader.term > crate::wire::MAX_INDEX {
            return;
        }
        if leader.term < consensus.term() {
            // The sender is no longer the leader. The library's response tells it so.
            consensus.step_leader_heartbeat(from, leader.term, 0);
            return;
        }
        consensus.step_leader_heartbeat(from, leader.term, leader.commit);
        let (term, applied) = (consensus.term(), consensus.applied());
        let now = self.now;
        let Some(peer) = self.peers.get_mut(&from) else { return };
        // The leader had a quorum at that time. That stays true whoever leads now.
        if let Some(sent) = peer.sent_at(leader.confirmed) {
            let until = sent + self.settings.lease_at_holder;
            self.deadline = self.deadline.max(until);
        }
        let number = peer.next_number(now);
        let follower = Some(FollowerHeartbeat { term, round: leader.round, applied });
        let response = Message::Heartbeat(Heartbeat { number, leader: None, follower });
        if self.relayed_by.is_some() {
            self.send_relayed(from, &response);
        } else {
            self.send(from, response);
        }
        self.report_relinquished();
    }

    fn handle_follower_heartbeat(&mut self, from: Id, number: u64, heartbeat: FollowerHeartbeat) {
        let (now, incarnation) = (self.now, self.incarnation_of(from).unwrap_or(0));
        let Some(consensus) = self.consensus.as_mut().filter(|consensus| consensus.is_leader()) else { return };
        let is_ahead = heartbeat.round > self.lease_rounds.round;
        if heartbeat.term != consensus.term() || is_ahead || self.unknown_disks.contains(&from) {
            return;
        }
        consensus.step_follower_heartbeat(from, heartbeat.term);
        let round = self.lease_rounds.round;
        let term_start = self.lease_rounds.term_start;
        let follower = self.lease_rounds.followers.entry(from).or_default();
        if follower.incarnation != incarnation {
            let (required_index, previous_last_heard) = (follower.required_index, follower.last_heard);
            *follower = Follower { incarnation, required_index, previous_last_heard, ..Follower::default() };
        }
        follower.last_heard = now;
        follower.last_round = follower.last_round.max(heartbeat.round);
        if heartbeat.applied >= follower.required_index.max(term_start) && follower.unconfirmed.len() < MAX_UNCONFIRMED
        {
            follower.unconfirmed.push_back((number, round));
        }
        self.confirm_rounds();
    }

    /// Determines which answers, and which of the leader's own rounds, a quorum has confirmed.
    fn confirm_rounds(&mut self) {
        let own = self.settings.own;
        let Some(consensus) = self.consensus.as_ref().filter(|consensus| consensus.is_established()) else { return };
        let last_rounds: BTreeMap<Id, u64> =
            self.lease_rounds.followers.iter().map(|(id, follower)| (*id, follower.last_round)).collect();
        let has_quorum_after = |after: u64, also: Option<Id>| {
            let supports =
                |id: Id| id == own || Some(id) == also || last_rounds.get(&id).is_some_and(|round| *round > after);
            consensus.has_quorum(supports)
        };
        for (id, follower) in &mut self.lease_rounds.followers {
            while let Some((number, _)) =
                follower.unconfirmed.pop_front_if(|(_, round)| has_quorum_after(*round, Some(*id)))
            {
                follower.confirmed = follower.confirmed.max(number);
            }
        }
        let mut until = None;
        while let Some((_, started)) =
            self.lease_rounds.open_rounds.pop_front_if(|(round, _)| has_quorum_after(*round - 1, None))
        {
            until = Some(started + self.settings.lease_at_holder);
        }
        self.deadline = self.deadline.max(until.unwrap_or(Timestamp::ZERO));
    }

    /// Relays a message from one peer to another.
    pub(super) fn relay(&mut self, from: Id, incarnation: u64, to: Id, bytes: Vec<u8>) {
        if self.peers.get(&to).is_some_and(|peer| peer.connected) && from != to {
            self.outputs.push(Output::Send(to, Message::Relay { from, incarnation, to, bytes }));
        }
    }
}
