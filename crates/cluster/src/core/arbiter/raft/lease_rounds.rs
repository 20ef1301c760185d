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
//!
//! The age is measured on the voter's clock and the rest of the wait on the leader's, and yet the drift counts only
//! once: both clocks run too fast by at most the drift *d*. What they measure together is at least *lease* × (1 + *d*),
//! so in true time at least *lease* has passed since the support, however much of it each of them measured.

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
    /// The same of all earlier incarnations.
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
            let is_same = follower.incarnation == holder.incarnation;
            follower.previous_last_heard.max(if is_same { follower.last_heard } else { Timestamp::ZERO })
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
            // The last incarnation may have ended before it was heard, and the lease of the one before it may go on.
            let previous_last_heard = follower.previous_last_heard.max(follower.last_heard);
            let (incarnation, required_index) = (from.incarnation, follower.required_index);
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
    /// leader's last round that is confirmed now. `voter_sets` are the voters; during a membership change, those of
    /// both configurations.
    pub(super) fn confirm(&mut self, own: Id, voter_sets: &[&[u64]]) -> Option<Timestamp> {
        // A leader follows itself, and so supports every round.
        let last_round = |id: Id| if id == own { u64::MAX } else { self.last_round_of(id) };
        let support: Vec<Support> = voter_sets.iter().map(|voters| Support::new(voters, last_round)).collect();
        for (id, follower) in &mut self.followers {
            let supported = support.iter().map(|set| set.last_round_with(*id, follower.last_round)).min();
            // The round must have begun after the answer arrived.
            let is_confirmed = |(_, round): &mut (u64, u64)| supported.is_some_and(|supported| supported > *round);
            while let Some((number, _)) = follower.unconfirmed.pop_front_if(is_confirmed) {
                follower.confirmed = follower.confirmed.max(number);
            }
        }
        let supported = support.iter().map(|set| set.last_round).min();
        let is_confirmed = |(round, _): &mut (u64, Timestamp)| supported.is_some_and(|supported| supported >= *round);
        let mut confirmed = None;
        while let Some((_, started)) = self.open_rounds.pop_front_if(is_confirmed) {
            confirmed = Some(started);
        }
        confirmed
    }

    fn last_round_of(&self, id: Id) -> u64 {
        self.followers.get(&id).map_or(0, |follower| follower.last_round)
    }
}

/// Which rounds a majority of some voters supports. The voters are sorted once, so that confirming the answers of all
/// of them costs little more than confirming one.
struct Support {
    /// The voters, ascending.
    voters: Vec<u64>,
    /// The last round that a majority supports.
    last_round: u64,
    /// The last round that all of a majority but one voter support.
    last_round_but_one: u64,
}

impl Support {
    fn new(voters: &[u64], last_round: impl Fn(Id) -> u64) -> Self {
        let mut voters = voters.to_vec();
        voters.sort_unstable();
        let mut rounds: Vec<u64> = voters.iter().map(|id| last_round(Id(*id))).collect();
        rounds.sort_unstable_by(|one, other| other.cmp(one));
        let majority = voters.len() / 2 + 1;
        // Nobody at all supports every round, but is a majority of nothing.
        let supported_by =
            |count: usize| if count == 0 { u64::MAX } else { rounds.get(count - 1).copied().unwrap_or(0) };
        Support { last_round: supported_by(majority), last_round_but_one: supported_by(majority - 1), voters }
    }

    /// The last round that a majority supports if this member, whose last answer was to `answered`, supports them all.
    fn last_round_with(&self, id: Id, answered: u64) -> u64 {
        let is_counted = answered > self.last_round || self.voters.binary_search(&id.0).is_err();
        if is_counted { self.last_round } else { self.last_round_but_one }
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
        rounds.confirm(Id(1), &[&[1, 2, 3, 4, 5]]);
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

    /// A member that is restarted twice, and the first time so briefly that nothing could be confirmed to it.
    #[test]
    fn the_lease_of_an_incarnation_is_remembered_after_any_number_of_restarts() {
        let mut rounds = leader(5);
        let holder = |incarnation| Holder { id: Id(2), incarnation };
        let mut answer = |incarnation, applied, at| {
            let heartbeat = FollowerHeartbeat { term: 1, round: 1, applied };
            rounds.handle_answer(holder(incarnation), 1, heartbeat, Timestamp(at));
            rounds.lease_start(holder(7))
        };
        assert_eq!(answer(7, 5, 100), Timestamp(100));
        assert_eq!(answer(8, 4, 200), Timestamp(100), "it does not know the leader's first entry");
        assert_eq!(answer(9, 5, 300), Timestamp(100));
        assert_eq!(answer(9, 5, 400), Timestamp(100), "what a later incarnation says does not prolong the lease");
        assert_eq!(answer(10, 5, 500), Timestamp(400), "which of the earlier ones it was is not known any more");
    }

    /// Whether the leader, this member, and all voters that answered a round after this one are a majority of each set.
    fn has_quorum_after(rounds: &LeaseRounds, voter_sets: &[&[u64]], after: u64, also: Option<Id>) -> bool {
        let supports = |id: Id| id == Id(1) || Some(id) == also || rounds.last_round_of(id) > after;
        let is_majority = |voters: &&[u64]| 2 * voters.iter().filter(|id| supports(Id(**id))).count() > voters.len();
        voter_sets.iter().all(is_majority)
    }

    #[test]
    fn exactly_the_answers_and_rounds_with_a_quorum_are_confirmed() {
        let mut rng = hustings_protocol::SplitMix64::new(15);
        let sets: [&[&[u64]]; 6] = [
            &[&[1]],
            &[&[2]],
            &[&[2, 1]],
            &[&[1, 2, 3, 4, 5]],
            &[&[5, 4, 3, 1], &[2, 3]],
            &[&[6, 5, 2, 3, 4], &[1, 2, 7]],
        ];
        let (mut confirmed, mut unconfirmed) = (0, 0);
        for case in 0..6_000 {
            let voter_sets = sets[case % sets.len()];
            let mut rounds = leader(0);
            for number in 1..=rng.below(30) {
                match rng.below(4) {
                    0 => rounds.begin(Timestamp(100 * number)),
                    _ => {
                        let answered = rng.below(rounds.round() + 1);
                        answer(&mut rounds, 2 + rng.below(6), number, answered, 0);
                    }
                }
            }
            let mut expected = rounds.clone();
            let started = rounds.confirm(Id(1), voter_sets);
            for (id, follower) in &mut expected.followers {
                let is_confirmed = |(_, round): &&(u64, u64)| has_quorum_after(&rounds, voter_sets, *round, Some(*id));
                let numbers = follower.unconfirmed.iter().take_while(is_confirmed).map(|(number, _)| *number);
                let count = numbers.clone().count();
                follower.confirmed = numbers.max().unwrap_or(0);
                follower.unconfirmed.drain(..count);
                (confirmed, unconfirmed) = (confirmed + count, unconfirmed + follower.unconfirmed.len());
            }
            let is_confirmed = |(round, _): &&(u64, Timestamp)| has_quorum_after(&rounds, voter_sets, *round - 1, None);
            let open = expected.open_rounds.iter().take_while(is_confirmed);
            let (count, expected_start) = (open.clone().count(), open.map(|(_, started)| *started).max());
            expected.open_rounds.drain(..count);
            assert_eq!((&rounds, started), (&expected, expected_start), "{voter_sets:?}");
        }
        assert!(confirmed > 1_000 && unconfirmed > 1_000, "{confirmed} {unconfirmed}");
    }
}
