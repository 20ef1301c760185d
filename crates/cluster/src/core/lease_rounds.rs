//! Beats, and what they prove: that a majority is still with the leader of the arbiter.
//!
//! The leader sends *rounds* of heartbeats, which everybody answers. Each answer is numbered by its sender, who remembers
//! when it sent it. The leader tells a node which of its answers is *confirmed*: when it came in, or later, a majority
//! was still with that leader. From this follows the node's **deadline**: it may act as a holder until its lease is
//! over, counted on its own clock from *before* it sent the confirmed answer, less the drift of clocks.
//!
//! Why that is safe: a new leader is elected by a majority, which shares a voter with the majority that confirmed. That
//! voter was with the old leader at or after the moment the answer was sent, and voted for the new one later. So the
//! new leader was elected later than the answer was sent, and it lets every lease run its full length, and the drift
//! of clocks, from its election. No bound on how long messages take is needed.
//!
//! Answers also say how much of the log their sender has acted on. The leader confirms only those whose sender has
//! acted on everything that took an office from it, and on the first entry of the leader's term: a node that does not
//! know yet that it lost an office must not be told that it may go on.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::Id;

use super::{Core, Output};
use crate::clock::Moment;
use crate::wire::{Follow, Heartbeat, Lead, Message};

/// How many rounds and answers are remembered until they are confirmed.
const MAX_OPEN: usize = 64;

/// What the leader of the arbiter knows of its followers.
#[derive(Debug, Default)]
pub(super) struct LeaseRounds {
    /// The last round, and when each open one was started.
    round: u64,
    started: VecDeque<(u64, Moment)>,
    /// The next is due.
    pub(super) next: Moment,
    followers: BTreeMap<Id, Follower>,
    /// When this node became the leader.
    pub(super) elected: Moment,
    /// The first entry of its term.
    pub(super) term_begins: u64,
}

/// What the leader knows of a follower.
#[derive(Debug, Default)]
struct Follower {
    /// The last round that it answered.
    round: u64,
    /// When an answer last came in, of which of its incarnations.
    heard: Moment,
    incarnation: u64,
    /// When an answer last came in of an earlier incarnation.
    earlier: Moment,
    /// Answers that are not confirmed yet: their number, and the last round when they came in.
    open: VecDeque<(u64, u64)>,
    confirmed: u64,
    /// What it must have acted on before anything is confirmed.
    must_know: u64,
}

impl LeaseRounds {
    /// This node is the leader from now on, with the first entry of its term at this place.
    pub(super) fn begin(&mut self, term_begins: u64, now: Moment) {
        *self = LeaseRounds { round: self.round, elected: now, term_begins, next: now, ..LeaseRounds::default() };
    }

    /// The lease of a member's incarnation is counted from then.
    pub(super) fn lease_counts_from(&self, id: Id, incarnation: u64) -> Moment {
        let heard = self.followers.get(&id).map_or(Moment::ZERO, |follower| {
            if follower.incarnation == incarnation { follower.heard } else { follower.earlier }
        });
        heard.max(self.elected)
    }

    /// A member loses an office by the entry at this place: until it has acted on it, nothing is confirmed.
    pub(super) fn must_know(&mut self, id: Id, index: u64) {
        let follower = self.followers.entry(id).or_default();
        follower.must_know = follower.must_know.max(index);
        follower.open.clear();
    }
}

impl Core {
    /// What the leader adds to a heartbeat for this peer.
    pub(super) fn lead_for(&self, id: Id) -> Option<Lead> {
        let consensus = self.consensus.as_ref().filter(|consensus| consensus.is_leader())?;
        let follower = self.rounds.followers.get(&id).filter(|follower| Some(follower.incarnation) == self.life_of(id));
        let confirmed = follower.map_or(0, |follower| follower.confirmed);
        Some(Lead { term: consensus.term(), commit: consensus.commit_for(id), round: self.rounds.round, confirmed })
    }

    /// Starts a round, or sends plain heartbeats, if it is time to.
    pub(super) fn beat_if_due(&mut self) {
        if self.now < self.rounds.next {
            return;
        }
        self.rounds.next = self.now + self.setup.timing.heartbeat;
        if let Some(consensus) = &mut self.consensus {
            consensus.tick();
        }
        if self.leads() {
            self.rounds.round += 1;
            if self.rounds.started.len() >= MAX_OPEN {
                self.rounds.started.pop_front();
            }
            self.rounds.started.push_back((self.rounds.round, self.now));
            let others: Vec<Id> = self.table.members.keys().copied().filter(|id| *id != self.setup.own).collect();
            others.into_iter().for_each(|id| self.heartbeat(id));
            self.confirm();
            self.report_given_up();
        } else if self.arbiter_leader().is_none() {
            let connected: Vec<Id> = self.peers.iter().filter(|(_, peer)| peer.connected).map(|(id, _)| *id).collect();
            connected.into_iter().for_each(|id| self.heartbeat(id));
        }
    }

    /// A heartbeat came in.
    pub(super) fn handle_heartbeat(&mut self, from: Id, heartbeat: Heartbeat) {
        if let Some(lead) = heartbeat.lead {
            self.handle_lead(from, lead);
        }
        if let Some(follow) = heartbeat.follow {
            self.handle_follow(from, heartbeat.number, follow);
        }
    }

    fn handle_lead(&mut self, from: Id, lead: Lead) {
        let Some(consensus) = &mut self.consensus else { return };
        if lead.term > crate::wire::MAX_INDEX {
            return;
        }
        if lead.term < consensus.term() {
            // An old leader: the library tells it so.
            consensus.beat_from_leader(from, lead.term, 0);
            return;
        }
        consensus.beat_from_leader(from, lead.term, lead.commit);
        let (term, applied) = (consensus.term(), consensus.applied());
        let now = self.now;
        let Some(peer) = self.peers.get_mut(&from) else { return };
        // That a majority was with it then stays true, whoever leads now.
        if let Some(sent) = peer.sent_at(lead.confirmed) {
            let until = sent + self.setup.holds_for;
            self.deadline = self.deadline.max(until);
        }
        let number = peer.next_number(now);
        let follow = Some(Follow { term, round: lead.round, applied });
        let answer = Message::Heartbeat(Heartbeat { number, lead: None, follow });
        if self.by_way_of.is_some() {
            self.send_by_way_of_others(from, &answer);
        } else {
            self.send(from, answer);
        }
        self.report_given_up();
    }

    fn handle_follow(&mut self, from: Id, number: u64, follow: Follow) {
        let (now, incarnation) = (self.now, self.life_of(from).unwrap_or(0));
        let Some(consensus) = self.consensus.as_mut().filter(|consensus| consensus.is_leader()) else { return };
        let is_ahead = follow.round > self.rounds.round;
        if follow.term != consensus.term() || is_ahead || self.unknown_disks.contains(&from) {
            return;
        }
        consensus.beat_from_follower(from, follow.term);
        let round = self.rounds.round;
        let term_begins = self.rounds.term_begins;
        let follower = self.rounds.followers.entry(from).or_default();
        if follower.incarnation != incarnation {
            let (must_know, earlier) = (follower.must_know, follower.heard);
            *follower = Follower { incarnation, must_know, earlier, ..Follower::default() };
        }
        follower.heard = now;
        follower.round = follower.round.max(follow.round);
        if follow.applied >= follower.must_know.max(term_begins) && follower.open.len() < MAX_OPEN {
            follower.open.push_back((number, round));
        }
        self.confirm();
    }

    /// Finds out which answers a majority has confirmed, and which of the leader's own rounds.
    fn confirm(&mut self) {
        let own = self.setup.own;
        let Some(consensus) = self.consensus.as_ref().filter(|consensus| consensus.is_established()) else { return };
        let answered: BTreeMap<Id, u64> =
            self.rounds.followers.iter().map(|(id, follower)| (*id, follower.round)).collect();
        let is_with_us = |after: u64, also: Option<Id>| {
            let has = |id: Id| id == own || Some(id) == also || answered.get(&id).is_some_and(|round| *round > after);
            consensus.is_majority(has)
        };
        for (id, follower) in &mut self.rounds.followers {
            while let Some((number, _)) = follower.open.pop_front_if(|(_, round)| is_with_us(*round, Some(*id))) {
                follower.confirmed = follower.confirmed.max(number);
            }
        }
        let mut until = None;
        while let Some((_, started)) = self.rounds.started.pop_front_if(|(round, _)| is_with_us(*round - 1, None)) {
            until = Some(started + self.setup.holds_for);
        }
        self.deadline = self.deadline.max(until.unwrap_or(Moment::ZERO));
    }

    /// Passes on what one peer says to another.
    pub(super) fn relay(&mut self, from: Id, incarnation: u64, to: Id, bytes: Vec<u8>) {
        if self.peers.get(&to).is_some_and(|peer| peer.connected) && from != to {
            self.out.push(Output::Send(to, Message::Relay { from, incarnation, to, bytes }));
        }
    }
}
