//! Who should lead: one race per set of candidates, shared by all offices that have that set.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use hustings_protocol::Id;

use super::Machine;
use crate::clock::Moment;
use crate::election::{Act, Alarm, Memory, Race, key};
use crate::member::Worth;
use crate::wire::Message;

/// A race and the offices that go by it.
struct Held {
    race: Race,
    candidates: Vec<Worth>,
}

/// An alarm that a race has set.
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

/// All races that a node takes part in.
pub(super) struct Races {
    memory: Memory,
    held: BTreeMap<u64, Held>,
    alarms: BinaryHeap<Reverse<Set>>,
    /// The race of each office that the node stands for.
    by_office: BTreeMap<String, u64>,
    acts: Vec<Act>,
}

impl Races {
    pub(super) fn new(memory: Memory) -> Self {
        Races { memory, held: BTreeMap::new(), alarms: BinaryHeap::new(), by_office: BTreeMap::new(), acts: Vec::new() }
    }

    /// Test only: the key of the race that mail of a race which is over is taken for mail of. Mail of races that are
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

    /// The offices that the node stands for, with whom their races have elected.
    pub(super) fn elected(&self) -> impl Iterator<Item = (&str, Option<Id>)> {
        self.by_office
            .iter()
            .map(|(office, key)| (office.as_str(), self.held.get(key).and_then(|held| held.race.leader())))
    }
}

impl Machine {
    /// The candidates of the offices that this node stands for may have changed: begins races that are new, and leaves
    /// those that are over.
    pub(super) fn recount(&mut self) {
        let mut by_office = BTreeMap::new();
        let mut wanted: BTreeMap<u64, Vec<Worth>> = BTreeMap::new();
        for office in &self.standing.offices {
            let stands = |id: &&Id| self.stands_for(**id, office);
            let mut candidates: Vec<Worth> = self.view.iter().filter(stands).map(|&id| self.worth(id)).collect();
            if !candidates.iter().any(|one| one.id == self.setup.own) {
                candidates.push(self.worth(self.setup.own));
            }
            candidates.sort_unstable_by_key(|one| one.id);
            let key = key(&candidates);
            by_office.insert(office.clone(), key);
            wanted.entry(key).or_insert(candidates);
        }
        self.races.by_office = by_office;
        let races = &mut self.races;
        races.held.retain(|key, held| wanted.contains_key(key) && !held.race.is_shaken(&races.memory));
        for (key, candidates) in wanted {
            if self.races.held.contains_key(&key) {
                continue;
            }
            let races = &mut self.races;
            let entered =
                Race::enter(&self.setup.choice, self.setup.own, &candidates, &mut races.memory, &mut races.acts);
            // The choice was checked when the node started; a set that does not fit has no race, and no leader.
            if let Ok(race) = entered {
                races.held.insert(key, Held { race, candidates });
            }
            self.act(key);
        }
    }

    /// Does what a race wants.
    fn act(&mut self, key: u64) {
        for act in std::mem::take(&mut self.races.acts) {
            match act {
                Act::Send { to, bytes } => self.send(to, Message::Race { key, bytes }),
                Act::SetAlarm { ticks, alarm } => {
                    let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
                    let at = self.now + self.setup.timing.tick.saturating_mul(ticks);
                    self.races.alarms.push(Reverse(Set(at, key, alarm)));
                }
            }
        }
    }

    /// Mail of a race came in.
    pub(super) fn got_race(&mut self, from: Id, key: u64, bytes: &[u8]) {
        let key = if self.setup.takes_stale_mail { self.races.mistake(key, bytes) } else { key };
        let races = &mut self.races;
        let result = match races.held.get_mut(&key) {
            Some(held) if held.candidates.iter().any(|one| one.id == from) => {
                held.race.receive(from, bytes, &mut races.memory, &mut races.acts)
            }
            Some(_) => Ok(()),
            None => races.memory.keep(key, from, bytes),
        };
        if result.is_err() {
            self.count("garbled-election-messages");
        }
        self.act(key);
    }

    /// A peer that this node was in touch with is not up any more.
    pub(super) fn race_lost(&mut self, id: Id) {
        self.races.memory.lost(id);
    }

    /// Rings alarms that are due.
    pub(super) fn ring(&mut self) {
        while self.races.next() <= self.now {
            let Some(Reverse(Set(_, key, alarm))) = self.races.alarms.pop() else { return };
            let races = &mut self.races;
            if let Some(held) = races.held.get_mut(&key) {
                held.race.ring(alarm, &mut races.memory, &mut races.acts);
            }
            self.act(key);
        }
    }
}
