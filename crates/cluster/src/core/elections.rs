//! Who should lead: one election per set of candidates, shared by all offices that have that set.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use hustings_protocol::Id;

use super::Core;
use crate::clock::Moment;
use crate::election::{Act, Alarm, Election, Memory, key};
use crate::member::MemberRank;
use crate::wire::Message;

/// A election and the offices that go by it.
struct Held {
    election: Election,
    candidates: Vec<MemberRank>,
}

/// An alarm that a election has set.
struct Set(Moment, u64, Alarm);

impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Set {}
impl PartialOrd for Set {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Set {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// All elections that a node takes part in.
pub(super) struct Elections {
    memory: Memory,
    held: BTreeMap<u64, Held>,
    alarms: BinaryHeap<Reverse<Set>>,
    /// The election of each office that the node stands for.
    by_office: BTreeMap<String, u64>,
    acts: Vec<Act>,
}

impl Elections {
    pub(super) fn new(memory: Memory) -> Self {
        Elections {
            memory,
            held: BTreeMap::new(),
            alarms: BinaryHeap::new(),
            by_office: BTreeMap::new(),
            acts: Vec::new(),
        }
    }

    /// Test only: the key of the election that mail of a election which is over is taken for mail of. Mail of elections that are
    /// not over, or have not begun yet, stays what it is.
    fn mistake(&self, key: u64, bytes: &[u8]) -> u64 {
        match self.held.first_key_value() {
            Some((current, _)) if !self.held.contains_key(&key) && self.memory.is_over(key, bytes) => *current,
            _ => key,
        }
    }

    /// When the next alarm is due.
    pub(super) fn next(&self) -> Moment {
        self.alarms.peek().map_or(Moment::NEVER, |Reverse(Set(at, ..))| *at)
    }

    /// Whether the node stands for an office.
    pub(super) fn has(&self, office: &str) -> bool {
        self.by_office.contains_key(office)
    }

    /// The offices that the node stands for, with whom their elections have elected.
    pub(super) fn elected(&self) -> impl Iterator<Item = (&str, Option<Id>)> {
        self.by_office
            .iter()
            .map(|(office, key)| (office.as_str(), self.held.get(key).and_then(|held| held.election.leader())))
    }
}

impl Core {
    /// The candidates of the offices that this node stands for may have changed: begins elections that are new, and leaves
    /// those that are over.
    pub(super) fn recount(&mut self) {
        let mut by_office = BTreeMap::new();
        let mut wanted: BTreeMap<u64, Vec<MemberRank>> = BTreeMap::new();
        for office in &self.candidacy.offices {
            let stands = |id: &&Id| self.stands_for(**id, office);
            let mut candidates: Vec<MemberRank> = self.view.iter().filter(stands).map(|&id| self.rank(id)).collect();
            if !candidates.iter().any(|one| one.id == self.setup.own) {
                candidates.push(self.rank(self.setup.own));
            }
            candidates.sort_unstable_by_key(|one| one.id);
            let key = key(&candidates);
            by_office.insert(office.clone(), key);
            wanted.entry(key).or_insert(candidates);
        }
        self.elections.by_office = by_office;
        let elections = &mut self.elections;
        elections.held.retain(|key, held| wanted.contains_key(key) && !held.election.is_shaken(&elections.memory));
        for (key, candidates) in wanted {
            if self.elections.held.contains_key(&key) {
                continue;
            }
            let elections = &mut self.elections;
            let entered = Election::enter(
                &self.setup.choice,
                self.setup.own,
                &candidates,
                &mut elections.memory,
                &mut elections.acts,
            );
            // The choice was checked when the node started; a set that does not fit has no election, and no leader.
            if let Ok(election) = entered {
                elections.held.insert(key, Held { election, candidates });
            }
            self.act(key);
        }
    }

    /// Does what a election wants.
    fn act(&mut self, key: u64) {
        for act in std::mem::take(&mut self.elections.acts) {
            match act {
                Act::Send { to, bytes } => self.send(to, Message::Election { key, bytes }),
                Act::SetAlarm { ticks, alarm } => {
                    let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
                    let at = self.now + self.setup.timing.tick.saturating_mul(ticks);
                    self.elections.alarms.push(Reverse(Set(at, key, alarm)));
                }
            }
        }
    }

    /// Mail of a election came in.
    pub(super) fn handle_race(&mut self, from: Id, key: u64, bytes: &[u8]) {
        let key = if self.setup.takes_stale_mail { self.elections.mistake(key, bytes) } else { key };
        let elections = &mut self.elections;
        let result = match elections.held.get_mut(&key) {
            Some(held) if held.candidates.iter().any(|one| one.id == from) => {
                held.election.receive(from, bytes, &mut elections.memory, &mut elections.acts)
            }
            Some(_) => Ok(()),
            None => elections.memory.keep(key, from, bytes),
        };
        if result.is_err() {
            self.count("garbled-election-messages");
        }
        self.act(key);
    }

    /// A peer that this node was in touch with is not up any more.
    pub(super) fn race_lost(&mut self, id: Id) {
        self.elections.memory.lost(id);
    }

    /// Rings alarms that are due.
    pub(super) fn fire_timers(&mut self) {
        while self.elections.next() <= self.now {
            let Some(Reverse(Set(_, key, alarm))) = self.elections.alarms.pop() else { return };
            let elections = &mut self.elections;
            if let Some(held) = elections.held.get_mut(&key) {
                held.election.ring(alarm, &mut elections.memory, &mut elections.acts);
            }
            self.act(key);
        }
    }
}
