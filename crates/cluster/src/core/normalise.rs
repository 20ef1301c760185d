//! Times relative to now.
//!
//! The parts of the core hold points in time: when something is due, since when something is so. Two states that differ
//! only in *when* they were reached behave alike, but are not equal. [`Normalise`] replaces every time by its distance
//! from now, so that they are. A search through all executions of the parts needs that: otherwise it would never see a
//! state twice.
//!
//! Each implementation names all fields of its type, so that a new field cannot be forgotten.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Core;
use super::claims::Claims;
use super::coordinator::Coordinator;
use super::elections::Elections;
use super::liveness::Liveness;
use super::local_leases::LocalLeases;
use super::parts::Progress;
use super::requests::Requests;
use super::table::{OfficeName, Table};
use crate::clock::Timestamp;

/// What now becomes. It is far from [`Timestamp::ZERO`] and [`Timestamp::NEVER`], which stay as they are.
const ORIGIN: u64 = 1 << 62;

/// Something whose times can be expressed relative to now.
pub(super) trait Normalise {
    /// Replaces every time by its distance from `now`.
    fn normalise(&mut self, now: Timestamp);
}

impl Normalise for Timestamp {
    fn normalise(&mut self, now: Timestamp) {
        if *self != Timestamp::ZERO && *self != Timestamp::NEVER {
            self.0 = ORIGIN.wrapping_add(self.0).wrapping_sub(now.0);
        }
    }
}

impl<T: Normalise> Normalise for Option<T> {
    fn normalise(&mut self, now: Timestamp) {
        self.iter_mut().for_each(|value| value.normalise(now));
    }
}

impl<T: Normalise> Normalise for VecDeque<T> {
    fn normalise(&mut self, now: Timestamp) {
        self.iter_mut().for_each(|value| value.normalise(now));
    }
}

impl<K, T: Normalise> Normalise for BTreeMap<K, T> {
    fn normalise(&mut self, now: Timestamp) {
        self.values_mut().for_each(|value| value.normalise(now));
    }
}

/// What is due, and when.
impl Normalise for BTreeSet<(Timestamp, OfficeName)> {
    fn normalise(&mut self, now: Timestamp) {
        let due = std::mem::take(self).into_iter().map(|(mut at, office)| {
            at.normalise(now);
            (at, office)
        });
        *self = due.collect();
    }
}

/// The state of a core without the arbiter's consensus, with times relative to now.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct NormalisedState {
    liveness: Liveness,
    elections: Elections,
    claims: Claims,
    table: Table,
    coordinator: Coordinator,
    local_leases: LocalLeases,
    requests: Requests,
    progress: Progress,
    next_heartbeat: Timestamp,
}

impl Core {
    pub(super) fn normalised(&self) -> NormalisedState {
        let mut state = NormalisedState {
            liveness: self.liveness.clone(),
            elections: self.elections.clone(),
            claims: self.claims.clone(),
            table: self.arbiter.table().clone(),
            coordinator: self.coordinator.clone(),
            local_leases: self.local_leases.clone(),
            requests: self.requests.clone(),
            progress: self.progress.clone(),
            next_heartbeat: self.next_heartbeat,
        };
        let parts: [&mut dyn Normalise; 8] = [
            &mut state.liveness,
            &mut state.elections,
            &mut state.claims,
            &mut state.coordinator,
            &mut state.local_leases,
            &mut state.requests,
            &mut state.progress,
            &mut state.next_heartbeat,
        ];
        parts.into_iter().for_each(|part| part.normalise(self.now));
        state
    }

    /// A hash of the core's state without the arbiter's consensus. It does not depend on when the state was reached:
    /// times count relative to now.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.normalised().hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use hustings_protocol::Id;

    use super::*;
    use crate::api::Request;
    use crate::config::Config;
    use crate::core::{ClientId, Output, Setup};
    use crate::faults::DisabledRules;
    use crate::member::Role;
    use crate::store::RaftStorage;
    use crate::tests::member;

    const CLIENT: ClientId = ClientId(9);

    fn config(node: u64) -> Config {
        crate::tests::config(node, [1, 2, 3].map(|id| member(id, Role::Elector)).to_vec())
    }

    /// Three cores that reach each other at once.
    struct Three {
        now: Timestamp,
        cores: Vec<Core>,
    }

    impl Three {
        fn start(now: Timestamp) -> Self {
            let core = |node: u64| {
                let setup = Setup {
                    config: config(node),
                    incarnation: 100 + node,
                    store_id: 70 + node,
                    storage: RaftStorage::empty(),
                    seed: node,
                    disabled_rules: DisabledRules::default(),
                    formats: Default::default(),
                };
                Core::new(setup, now).expect("the disk is blank")
            };
            let mut three = Three { now, cores: (1..=3).map(core).collect() };
            for (one, other) in [(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)] {
                three.drive(one, |core, now| core.handle_connected(Id(other), 100 + other, now));
            }
            three
        }

        fn drive(&mut self, node: u64, input: impl FnOnce(&mut Core, Timestamp)) {
            let now = self.now;
            input(&mut self.cores[node as usize - 1], now);
            let mut waiting = VecDeque::from([node]);
            while let Some(node) = waiting.pop_front() {
                for output in self.cores[node as usize - 1].take_outputs() {
                    match output {
                        Output::Send(to, message) => {
                            self.cores[to.0 as usize - 1].handle_message(Id(node), message, now);
                            waiting.push_back(to.0);
                        }
                        Output::Write(write) => {
                            self.cores[node as usize - 1].handle_persisted(write.number, now);
                            waiting.push_back(node);
                        }
                        _ => {}
                    }
                }
            }
        }

        fn advance_ms(&mut self, ms: u64) {
            for _ in 0..ms {
                self.now = self.now + Duration::from_millis(1);
                for node in 1..=3 {
                    if self.cores[node as usize - 1].poll_timeout() <= self.now {
                        self.drive(node, |core, now| core.handle_timeout(now));
                    }
                }
            }
        }

        /// The state of each core, after one input of each kind, at several times.
        fn states(now: Timestamp) -> Vec<NormalisedState> {
            let mut three = Three::start(now);
            let mut states = Vec::new();
            let mut observe = |three: &Three| states.extend(three.cores.iter().map(Core::normalised));
            three.advance_ms(500);
            observe(&three);
            for (node, office) in [(2, "job"), (3, "job"), (1, "other")] {
                let request = Request::Campaign { office: office.to_string(), mode: None, guard: None };
                three.drive(node, |core, now| core.handle_request(CLIENT, request, now));
            }
            observe(&three);
            three.advance_ms(777);
            three.drive(2, |core, now| core.handle_request(CLIENT, Request::Watch { office: None }, now));
            let resign = Request::Resign { office: "job".to_string() };
            three.drive(1, |core, now| core.handle_request(CLIENT, resign, now));
            observe(&three);
            three.advance_ms(40);
            three.drive(3, |core, now| core.handle_disconnected(Id(2), now));
            three.drive(2, |core, now| core.handle_disconnected(Id(3), now));
            observe(&three);
            three.advance_ms(100);
            three.drive(1, |core, now| core.leave(now));
            observe(&three);
            states
        }
    }

    #[test]
    fn states_that_differ_only_in_when_they_were_reached_are_equal() {
        let (one, other) = (Three::states(Timestamp(1 << 50)), Three::states(Timestamp((1 << 50) + 987_654_321_987)));
        for (number, (one, other)) in one.iter().zip(&other).enumerate() {
            let differs = [
                ("liveness", one.liveness != other.liveness),
                ("elections", one.elections != other.elections),
                ("claims", one.claims != other.claims),
                ("table", one.table != other.table),
                ("coordinator", one.coordinator != other.coordinator),
                ("local leases", one.local_leases != other.local_leases),
                ("requests", one.requests != other.requests),
            ];
            assert_eq!(differs.into_iter().find(|(_, differs)| *differs), None, "state {number}");
            assert!(one == other, "state {number}");
        }
        let different: BTreeSet<usize> =
            (0..one.len()).filter(|number| one[..*number].iter().all(|earlier| *earlier != one[*number])).collect();
        assert!(different.len() > one.len() / 2, "the states hardly differ: {different:?}");
    }

    #[test]
    fn the_fingerprint_depends_on_the_state_alone() {
        let fingerprints = |now: Timestamp, ms: u64| {
            let mut three = Three::start(now);
            three.advance_ms(ms);
            three.cores.iter().map(Core::fingerprint).collect::<Vec<u64>>()
        };
        let (early, late) = (Timestamp(1 << 50), Timestamp(3 << 50));
        assert_eq!(fingerprints(early, 400), fingerprints(late, 400));
        assert_ne!(fingerprints(early, 400), fingerprints(early, 20));
    }
}
