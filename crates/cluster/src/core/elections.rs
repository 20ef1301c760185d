//! Who should lead: one election per set of candidates, shared by all offices that have this set.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use hustings_protocol::Id;

use super::Core;
use crate::clock::Timestamp;
use crate::election::{Action, Election, SharedState, TimerToken, key};
use crate::faults::Rule;
use crate::member::MemberRank;
use crate::wire::Message;

/// A running election and its candidates.
struct RunningElection {
    election: Election,
    candidates: Vec<MemberRank>,
}

/// A timer of an election: when it is due, the key of the election, and its token.
struct ScheduledTimer(Timestamp, u64, TimerToken);

impl PartialEq for ScheduledTimer {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for ScheduledTimer {}
impl PartialOrd for ScheduledTimer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ScheduledTimer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// All elections that this node takes part in.
pub(super) struct Elections {
    shared: SharedState,
    running: BTreeMap<u64, RunningElection>,
    timers: BinaryHeap<Reverse<ScheduledTimer>>,
    /// The key of the election for each office that the node is a candidate for.
    by_office: BTreeMap<String, u64>,
    actions: Vec<Action>,
}

impl Elections {
    pub(super) fn new(shared: SharedState) -> Self {
        Elections {
            shared,
            running: BTreeMap::new(),
            timers: BinaryHeap::new(),
            by_office: BTreeMap::new(),
            actions: Vec::new(),
        }
    }

    /// Test only: delivers a message of an earlier election to the current one. Messages of running and of future
    /// elections keep their key.
    fn misdirect(&self, key: u64, bytes: &[u8]) -> u64 {
        match self.running.first_key_value() {
            Some((current, _)) if !self.running.contains_key(&key) && self.shared.is_stale(key, bytes) => *current,
            _ => key,
        }
    }

    /// When the next timer is due.
    pub(super) fn next_timeout(&self) -> Timestamp {
        self.timers.peek().map_or(Timestamp::NEVER, |Reverse(ScheduledTimer(at, ..))| *at)
    }

    /// Whether the node is a candidate for an office.
    pub(super) fn contains(&self, office: &str) -> bool {
        self.by_office.contains_key(office)
    }

    /// The offices that the node is a candidate for, each with the leader that its election has elected.
    pub(super) fn elected(&self) -> impl Iterator<Item = (&str, Option<Id>)> {
        self.by_office
            .iter()
            .map(|(office, key)| (office.as_str(), self.running.get(key).and_then(|running| running.election.leader())))
    }
}

impl Core {
    /// Recomputes the candidates of each office, starts elections that are new, and drops those that no office needs.
    pub(super) fn refresh_elections(&mut self) {
        let mut by_office = BTreeMap::new();
        let mut needed: BTreeMap<u64, Vec<MemberRank>> = BTreeMap::new();
        for office in &self.candidacy.offices {
            let is_candidate = |id: &&Id| self.is_candidate_for(**id, office);
            let mut candidates: Vec<MemberRank> =
                self.view.iter().filter(is_candidate).map(|&id| self.rank(id)).collect();
            if !candidates.iter().any(|one| one.id == self.settings.own) {
                candidates.push(self.rank(self.settings.own));
            }
            candidates.sort_unstable_by_key(|one| one.id);
            let key = key(&candidates);
            by_office.insert(office.clone(), key);
            needed.entry(key).or_insert(candidates);
        }
        self.elections.by_office = by_office;
        let elections = &mut self.elections;
        elections
            .running
            .retain(|key, running| needed.contains_key(key) && !running.election.is_interrupted(&elections.shared));
        for (key, candidates) in needed {
            if self.elections.running.contains_key(&key) {
                continue;
            }
            let elections = &mut self.elections;
            let started = Election::start(
                &self.settings.choice,
                self.settings.own,
                &candidates,
                &mut elections.shared,
                &mut elections.actions,
            );
            // The algorithm was checked when the node started. A candidate list that it cannot handle has no election,
            // and thus no leader.
            if let Ok(election) = started {
                elections.running.insert(key, RunningElection { election, candidates });
            }
            self.execute_actions(key);
        }
    }

    /// Carries out the actions of an election.
    fn execute_actions(&mut self, key: u64) {
        for action in std::mem::take(&mut self.elections.actions) {
            match action {
                Action::Send { to, bytes } => self.send(to, Message::Election { key, bytes }),
                Action::SetTimer { ticks, token } => {
                    let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
                    let at = self.now + self.settings.timing.tick.saturating_mul(ticks);
                    self.elections.timers.push(Reverse(ScheduledTimer(at, key, token)));
                }
            }
        }
    }

    /// A message of an election arrived.
    pub(super) fn handle_election_message(&mut self, from: Id, key: u64, bytes: &[u8]) {
        let key = if self.settings.disabled_rules.contains(Rule::StaleRuns) {
            self.elections.misdirect(key, bytes)
        } else {
            key
        };
        let elections = &mut self.elections;
        let result = match elections.running.get_mut(&key) {
            Some(running) if running.candidates.iter().any(|one| one.id == from) => {
                running.election.handle_message(from, bytes, &mut elections.shared, &mut elections.actions)
            }
            Some(_) => Ok(()),
            None => elections.shared.buffer(key, from, bytes),
        };
        if result.is_err() {
            self.increment("invalid-election-messages");
        }
        self.execute_actions(key);
    }

    /// A connection to a peer was lost or replaced: messages of its elections may be lost.
    pub(super) fn interrupt_elections(&mut self, id: Id) {
        self.elections.shared.handle_disconnect(id);
    }

    /// Fires the timers that are due.
    pub(super) fn fire_election_timers(&mut self) {
        while self.elections.next_timeout() <= self.now {
            let Some(Reverse(ScheduledTimer(_, key, token))) = self.elections.timers.pop() else { return };
            let elections = &mut self.elections;
            if let Some(running) = elections.running.get_mut(&key) {
                running.election.handle_timer(token, &mut elections.shared, &mut elections.actions);
            }
            self.execute_actions(key);
        }
    }
}
