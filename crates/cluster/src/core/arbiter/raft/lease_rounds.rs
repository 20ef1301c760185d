//! Heartbeats, and what they prove: that a quorum still follows the leader.
//!
//! The leader sends *rounds* of heartbeats, and every member answers each of them. A member numbers its answers and
//! remembers when it sent each one. The leader tells a member which of its answers is *confirmed*: a quorum still
//! followed the leader when that answer arrived, or later. The member's leases count from a time *before* it sent the
//! confirmed answer, on its own clock.
//!
//! Answers also carry how much of the log their sender has applied. The leader confirms an answer only if the sender
//! has applied every entry that took an office from it, and the first entry of the leader's term. A member that does
//! not know yet that it lost an office must not be told that it may go on.
//!
//! Why this is safe: let an answer that a holder sent at time *s* be confirmed by a leader. Then each voter of a quorum
//! *supported* that leader after *s*: it answered a round that began after the holder's answer had arrived, or it is
//! the leader itself. A later leader is elected by a quorum, which shares a voter with the first one. That voter voted
//! after it supported the old leader, because it supports no leader of an earlier term. Its vote carries the age of its
//! last support, of whatever leader ([`RaftMessage::lease_age`](crate::wire::RaftMessage::lease_age)). So the time at
//! which the vote arrived, less that age, is later than *s*. The new leader takes the latest such time among the votes
//! that elected it, its own included, and lets every lease run its full length, plus a margin for clock drift, from
//! there. A voter that does not know its last support, because it was restarted, counts from its start. Pre-votes say
//! nothing: a voter may support the old leader after it granted one. The argument needs no bound on message delays.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::Id;

use crate::clock::Timestamp;
use crate::core::table::Holder;
use crate::wire::FollowerHeartbeat;

/// How many rounds and answers are remembered until they are confirmed.
const MAX_UNCONFIRMED: usize = 64;
/// How many of its own answers a member remembers until they are confirmed.
const MAX_SENT_ANSWERS: usize = 256;

/// What the leader knows about its followers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct LeaseRounds {
    /// The last round, and the start of each round that is not confirmed yet.
    round: u64,
    open_rounds: VecDeque<(u64, Timestamp)>,
    followers: BTreeMap<Id, Follower>,
    /// When this node became the leader.
    leader_since: Timestamp,
    /// The latest time from which a lease that an earlier leader confirmed may count.
    earlier_leases: Timestamp,
    /// The index of the first entry of its term.
    term_start: u64,
}

/// What the leader knows about one follower.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Follower {
    /// The last round that it answered.
    last_round: u64,
    /// When its last answer arrived that can be confirmed, and from which incarnation.
    last_heard: Timestamp,
    incarnation: u64,
    /// The same of an earlier incarnation.
    previous_last_heard: Timestamp,
    /// How much of the log it has applied.
    applied: u64,
    /// Answers that are not confirmed yet: number, and the last round when the answer arrived.
    unconfirmed: VecDeque<(u64, u64)>,
    confirmed: u64,
    /// The index that it must have applied before anything is confirmed to it.
    required_index: u64,
}

impl LeaseRounds {
    /// This node became the leader. `term_start` is the index of the first entry of its term; `earlier_leases` is the
    /// latest time from which a lease that an earlier leader confirmed may count.
    pub(super) fn reset(&mut self, term_start: u64, earlier_leases: Timestamp, now: Timestamp) {
        let round = self.round;
        *self = LeaseRounds { round, leader_since: now, earlier_leases, term_start, ..LeaseRounds::default() };
    }

    pub(super) fn leader_since(&self) -> Timestamp {
        self.leader_since
    }

    pub(super) fn round(&self) -> u64 {
        self.round
    }

    /// Begins a round.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.round += 1;
        if self.open_rounds.len() >= MAX_UNCONFIRMED {
            self.open_rounds.pop_front();
        }
        self.open_rounds.push_back((self.round, now));
    }

    /// How much of the log a member has applied.
    pub(super) fn applied_by(&self, id: Id) -> u64 {
        self.followers.get(&id).map_or(0, |follower| follower.applied)
    }

    /// The latest time from which this holder may count its leases.
    pub(super) fn lease_start(&self, holder: Holder) -> Timestamp {
        let heard = self.followers.get(&holder.id).map_or(Timestamp::ZERO, |follower| {
            if follower.incarnation == holder.incarnation { follower.last_heard } else { follower.previous_last_heard }
        });
        heard.max(self.earlier_leases)
    }

    /// The highest number of this member's answers that is confirmed, if it is still in this incarnation.
    pub(super) fn confirmed(&self, id: Id, incarnation: Option<u64>) -> u64 {
        let follower = self.followers.get(&id).filter(|follower| Some(follower.incarnation) == incarnation);
        follower.map_or(0, |follower| follower.confirmed)
    }

    /// The entry at `index` takes an office from a member. Nothing is confirmed to the member until it has applied that
    /// entry.
    pub(super) fn require_applied(&mut self, id: Id, index: u64) {
        let follower = self.followers.entry(id).or_default();
        follower.required_index = follower.required_index.max(index);
        follower.unconfirmed.clear();
    }

    /// A member answered a round.
    pub(super) fn handle_answer(&mut self, from: Holder, number: u64, heartbeat: FollowerHeartbeat, now: Timestamp) {
        let (round, term_start) = (self.round, self.term_start);
        let follower = self.followers.entry(from.id).or_default();
        if follower.incarnation != from.incarnation {
            let (required_index, previous_last_heard) = (follower.required_index, follower.last_heard);
            let incarnation = from.incarnation;
            *follower = Follower { incarnation, required_index, previous_last_heard, ..Follower::default() };
        }
        follower.applied = heartbeat.applied;
        follower.last_round = follower.last_round.max(heartbeat.round);
        let has_learned = heartbeat.applied >= follower.required_index.max(term_start);
        if has_learned && follower.unconfirmed.len() < MAX_UNCONFIRMED {
            follower.unconfirmed.push_back((number, round));
            follower.last_heard = now;
        }
    }

    /// Determines which answers, and which of the leader's own rounds, a quorum has confirmed. Returns the start of the
    /// leader's last round that is confirmed now. `is_quorum` says whether the supporters are a quorum.
    pub(super) fn confirm(&mut self, own: Id, is_quorum: impl Fn(&dyn Fn(Id) -> bool) -> bool) -> Option<Timestamp> {
        let last_rounds: BTreeMap<Id, u64> =
            self.followers.iter().map(|(id, follower)| (*id, follower.last_round)).collect();
        let has_quorum_after = |after: u64, also: Option<Id>| {
            let supports =
                |id: Id| id == own || Some(id) == also || last_rounds.get(&id).is_some_and(|round| *round > after);
            is_quorum(&supports)
        };
        for (id, follower) in &mut self.followers {
            while let Some((number, _)) =
                follower.unconfirmed.pop_front_if(|(_, round)| has_quorum_after(*round, Some(*id)))
            {
                follower.confirmed = follower.confirmed.max(number);
            }
        }
        let mut confirmed = None;
        while let Some((_, started)) = self.open_rounds.pop_front_if(|(round, _)| has_quorum_after(*round - 1, None)) {
            confirmed = Some(started);
        }
        confirmed
    }
}

/// The answers that this member sent to leaders, until they are confirmed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct SentAnswers {
    last_number: u64,
    sent: VecDeque<(u64, Timestamp)>,
}

impl SentAnswers {
    /// Numbers the answer that is sent now.
    pub(super) fn next_number(&mut self, now: Timestamp) -> u64 {
        self.last_number += 1;
        if self.sent.len() >= MAX_SENT_ANSWERS {
            self.sent.pop_front();
        }
        self.sent.push_back((self.last_number, now));
        self.last_number
    }

    /// When the answer with this number was sent. Forgets earlier ones.
    pub(super) fn sent_at(&mut self, number: u64) -> Option<Timestamp> {
        while self.sent.pop_front_if(|(sent, _)| *sent < number).is_some() {}
        self.sent.front().filter(|(sent, _)| *sent == number).map(|(_, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leader, node 1, of five voters, after its first round.
    fn leader(term_start: u64) -> LeaseRounds {
        let mut rounds = LeaseRounds::default();
        rounds.reset(term_start, Timestamp(0), Timestamp(1));
        rounds.begin(Timestamp(10));
        rounds
    }

    /// A voter answers a round.
    fn answer(rounds: &mut LeaseRounds, from: u64, number: u64, round: u64, applied: u64) {
        let heartbeat = FollowerHeartbeat { term: 1, round, applied };
        rounds.handle_answer(Holder { id: Id(from), incarnation: 1 }, number, heartbeat, Timestamp(20));
    }

    /// The answer of node 2 that is confirmed.
    fn confirmed(rounds: &mut LeaseRounds) -> u64 {
        let is_quorum = |supports: &dyn Fn(Id) -> bool| (1..=5).filter(|id| supports(Id(*id))).count() >= 3;
        rounds.confirm(Id(1), is_quorum);
        rounds.confirmed(Id(2), Some(1))
    }

    #[test]
    fn an_answer_is_confirmed_by_a_round_that_began_after_it() {
        let mut rounds = leader(0);
        answer(&mut rounds, 2, 7, 1, 9);
        answer(&mut rounds, 3, 1, 1, 9);
        assert_eq!(confirmed(&mut rounds), 0, "the third voter may have answered before");
        rounds.begin(Timestamp(30));
        assert_eq!(confirmed(&mut rounds), 0);
        answer(&mut rounds, 3, 2, 2, 9);
        assert_eq!(confirmed(&mut rounds), 7);
    }

    /// Whether an answer of node 2 is confirmed in the end.
    fn is_confirmed(rounds: &mut LeaseRounds, number: u64, applied: u64) -> bool {
        let round = rounds.round();
        answer(rounds, 2, number, round, applied);
        rounds.begin(Timestamp(30));
        answer(rounds, 3, number, round + 1, applied);
        confirmed(rounds) == number
    }

    #[test]
    fn nothing_is_confirmed_to_a_member_that_does_not_know_of_its_loss() {
        let mut rounds = leader(0);
        answer(&mut rounds, 2, 1, 1, 9);
        rounds.require_applied(Id(2), 20);
        rounds.begin(Timestamp(30));
        answer(&mut rounds, 3, 1, 2, 9);
        assert_eq!(confirmed(&mut rounds), 0, "the answer came before the loss");
        assert!(!is_confirmed(&mut rounds, 2, 19));
        assert!(is_confirmed(&mut rounds, 3, 20));
    }

    #[test]
    fn nothing_is_confirmed_to_a_member_that_does_not_know_the_leaders_first_entry() {
        let mut rounds = leader(5);
        assert!(!is_confirmed(&mut rounds, 1, 4));
        assert!(is_confirmed(&mut rounds, 2, 5));
    }
}
