//! Measures one workload: a hand-written loop and the engine run alternately and must count the same.

use crate::reference::Counted;
use hustings_protocol::{Id, Protocol};
use hustings_sim::engine::{Driver, EngineInput};
use hustings_sim::scenario::Start;
use hustings_sim::topology::Network;

use super::Plan;
use super::clock::{Took, time};
use super::report::{Row, Speeds};
use super::workload::Workload;

/// The work of the engine.
pub(super) struct Work<'a, P: Protocol<Rank = Id>> {
    pub(super) workload: Workload,
    pub(super) rules: &'a P,
    pub(super) ids: &'a [Id],
    pub(super) network: &'a Network,
    /// Those who start; `None` if all do.
    pub(super) starts: Option<Vec<Start>>,
    /// The position that is down from the start.
    pub(super) down: Option<u32>,
    /// The driver of the fast engine for its network.
    pub(super) driver: Driver<P>,
    /// The number of messages by the formula, if the loop belongs to another workload.
    pub(super) expected: Option<u64>,
}

impl<P: Protocol<Rank = Id>> Work<'_, P> {
    /// Compares with the loop of this workload.
    pub(super) fn against_own(&self, plan: &Plan, plain: impl FnMut() -> Counted) -> Row {
        self.measure(plan, plain, true)
    }

    /// Compares with the loop of another workload: only messages per second are comparable.
    pub(super) fn against_other(&self, plan: &Plan, plain: impl FnMut() -> Counted) -> Row {
        self.measure(plan, plain, false)
    }

    fn measure(&self, plan: &Plan, mut plain: impl FnMut() -> Counted, is_own: bool) -> Row {
        let (mut reference, mut engine) = (Speeds::default(), Speeds::default());
        let (mut one_thread, mut threads) = (Speeds::default(), Speeds::default());
        let (mut messages, mut bytes) = (0, 0);
        for _ in 0..plan.rounds.max(1) {
            let (counted, took) = time(&mut plain);
            reference.add(counted.messages, took.cpu);
            let (got, memory, took) = self.engine(plan, 1);
            if is_own {
                assert_eq!(got, counted, "the engine and the loop must count the same");
            }
            (messages, bytes) = (got.messages, memory);
            engine.add(messages, took.cpu);
            one_thread.add(messages, took.wall);
            if plan.threads > 1 {
                let (again, _, took) = self.engine(plan, plan.threads);
                assert_eq!(again, got, "threads must not change the counts");
                threads.add(messages, took.wall);
            }
        }
        Row {
            workload: self.workload,
            nodes: self.network.members(),
            messages,
            bytes_per_node: bytes as f64 / f64::from(self.network.size().max(1)),
            reference,
            engine,
            one_thread,
            threads: (plan.threads > 1).then_some((plan.threads, threads)),
        }
    }

    /// Runs the engine once: its counts, its memory and its duration.
    fn engine(&self, plan: &Plan, threads: usize) -> (Counted, usize, Took) {
        let crashes = self.down.map(|at| (0, at)).into_iter().collect();
        let input = EngineInput {
            starts: self.starts.clone(),
            crashes,
            seed: plan.seed,
            until: u64::MAX >> 1,
            threads,
            max_memory: None,
        };
        let prepared = (self.driver)(self.rules, self.ids, self.network, &input);
        let prepared = prepared.expect("every workload suits the fast engine");
        let memory = prepared.memory();
        let (outcome, took) = time(|| prepared.run());
        let outcome = outcome.expect("no workload asks for more than the fast engine does");
        let got = Counted { messages: outcome.total(), quiescent: outcome.time.quiescent.unwrap_or(0) };
        if let Some(expected) = self.expected {
            assert_eq!(got.messages, expected, "the engine must count what the formula says");
        }
        (got, memory, took)
    }
}
