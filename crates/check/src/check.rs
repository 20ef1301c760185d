//! Checks one election: explores its state space, then evaluates the properties.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hustings_algorithms::Goal;
use hustings_protocol::{Protocol, Record};
use hustings_sim::memory::resident_memory;
use stateright::{Checker, HasDiscoveries, Model as _};

use crate::components::end_components;
use crate::counterexample::{self, Counterexample, Cycle};
use crate::meter::{LimitReached, Meter};
use crate::model::Model;
use crate::property::{Labels, Property};
use crate::spec::Spec;
use crate::state_graph::{MaxMessages, StateGraph, StateRecorder};
use crate::state_space::{NEVER_DISCOVERED, Progress, StateSpace};
use crate::transition_table::{ProtocolTable, TransitionTable};

/// A check of one election: a protocol, a model of its environment, and the properties that it must have.
pub struct Check<P: Protocol> {
    table: Arc<ProtocolTable<P>>,
    space: StateSpace<P::Rank>,
    /// The number of threads that explore.
    pub threads: usize,
    /// Whether to explore everything although a property is violated.
    pub keep_going: bool,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The number of distinct states.
    pub states: u64,
    /// The number of generated states: the initial one, and one for each step.
    pub generated: u64,
    /// The distance of the farthest state from the initial one, in steps; 0 if a limit was reached before it was
    /// computed.
    pub depth: u32,
    /// The number of terminal states; 0 likewise.
    pub terminal_states: u64,
    /// The maximum number of messages of an execution, as far as explored.
    pub max_messages: MaxMessages,
    /// Whether everything was explored.
    pub is_complete: bool,
    /// The limit that ended it, if one did.
    pub limit: Option<Limit>,
    /// Whether no node ever leads, or no execution ends in agreement. Then the other verdicts say little.
    pub is_vacuous: bool,
    /// The verdict on each property.
    pub verdicts: Vec<(Property, Verdict)>,
    /// An execution that violates the first of the violated properties.
    pub counterexample: Option<Counterexample>,
    /// The time that the check took.
    pub elapsed: Duration,
}

/// The verdict on a property. The greater of two verdicts is the worse one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// It holds in every execution.
    Holds,
    /// No execution violates it as far as explored, which is not everything.
    Unknown,
    /// Some execution violates it.
    Violated,
}

impl Verdict {
    /// The worst of several verdicts, given whether everything was explored.
    pub(crate) fn worst(verdicts: impl IntoIterator<Item = Verdict>, is_complete: bool) -> Verdict {
        let of_rest = if is_complete { Verdict::Holds } else { Verdict::Unknown };
        verdicts.into_iter().fold(of_rest, Verdict::max)
    }
}

/// The path of an execution that violates a property, and the cycle at its end if it is infinite.
type Violation = (Vec<u64>, Option<Cycle>);

/// The maximum effort of a check.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of states.
    pub max_states: u64,
    /// The maximum memory of the process, in bytes, where the system tells how much that is.
    pub max_memory: Option<u64>,
    /// When the result must be there.
    pub deadline: Option<Instant>,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits = Limits { max_states: u64::MAX, max_memory: None, deadline: None };

    /// Whether the deadline has passed, or would pass if the work went on for this time.
    fn is_late_after(&self, more: Duration) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() + more >= deadline)
    }

    /// Whether the process occupies too much memory, or would with this many bytes more.
    fn is_too_large_with(&self, more: u64) -> bool {
        self.max_memory.is_some_and(|max| resident_memory().is_some_and(|used| used + more > max))
    }

    /// The limit because of which exploring must end, so that the properties can still be evaluated. `worked` is the
    /// time that all threads together have explored.
    pub(crate) fn reached(&self, worked: Duration, states: u64, transitions: u64) -> Option<Limit> {
        let evaluation = states * EVALUATION_BYTES.0 + transitions * EVALUATION_BYTES.1;
        match self.is_late_after(worked.mul_f64(EVALUATION_TIME)) {
            true => Some(Limit::Time),
            false => self.is_too_large_with(evaluation).then_some(Limit::Memory),
        }
    }

    /// Whether evaluating must end, and nothing more may begin.
    pub(crate) fn are_exhausted(&self) -> bool {
        self.is_late_after(Duration::ZERO) || self.is_too_large_with(0)
    }
}

/// What ended a check before everything was explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The number of states.
    States,
    /// The memory.
    Memory,
    /// The time.
    Time,
}

/// The time to evaluate the properties, as a part of the time to explore, for each thread that explores: one thread
/// evaluates. If it takes longer, it is ended.
const EVALUATION_TIME: f64 = 0.35;
/// The memory for that, for each state and each transition, beside what exploring occupied and frees before.
const EVALUATION_BYTES: (u64, u64) = (5, 3);

impl Findings {
    /// The verdict on all properties together.
    pub fn verdict(&self) -> Verdict {
        Verdict::worst(self.verdicts.iter().map(|(_, verdict)| *verdict), self.is_complete)
    }

    /// The verdict on one property; `None` if it was not checked.
    pub fn of(&self, property: Property) -> Option<Verdict> {
        self.verdicts.iter().find(|(checked, _)| *checked == property).map(|(_, verdict)| *verdict)
    }
}

impl<P: Protocol> Check<P> {
    /// A check without limits, on one thread.
    pub fn new(protocol: P, model: Model<P::Rank>, spec: Spec) -> Self {
        let members = &model.ranks[..model.members as usize];
        let order = members.iter().map(|rank| members.iter().filter(|other| *other < rank).count() as u32).collect();
        let table = Arc::new(ProtocolTable::new(protocol, &model));
        let space = StateSpace {
            model: Arc::new(model),
            table: Arc::clone(&table) as Arc<dyn TransitionTable>,
            spec: Arc::new(spec),
            order,
            limits: Limits::NONE,
            progress: Arc::new(Progress::default()),
            recorder: Arc::new(StateRecorder::default()),
        };
        Check { table, space, threads: 1, keep_going: false }
    }

    /// Limits the effort.
    pub fn limit(&mut self, limits: Limits) {
        self.space.limits = limits;
    }

    #[cfg(test)]
    pub(crate) fn space(&self) -> &StateSpace<P::Rank> {
        &self.space
    }

    /// The progress of the check, which also allows to stop it.
    pub(crate) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.space.progress)
    }

    /// Explores the state space and evaluates the properties.
    pub fn run(&self) -> Findings {
        let started = Instant::now();
        let findings = self.explore_and_evaluate(self.threads, started);
        let is_stopped = self.space.progress.stop.load(Ordering::Relaxed);
        if self.threads == 1 || findings.counterexample.is_none() || is_stopped {
            return findings;
        }
        // Several threads do not explore strictly by distance, and their order varies. So that the counterexample is
        // the shortest and always the same, one thread explores again.
        self.space.progress.states.store(0, Ordering::Relaxed);
        self.table.clear();
        let again = self.explore_and_evaluate(1, started);
        // If the time was too short for that, the first result stands.
        if again.counterexample.is_some() { again } else { findings }
    }

    fn explore_and_evaluate(&self, threads: usize, started: Instant) -> Findings {
        self.explore(threads);
        let limits = self.space.limits;
        let meter = Meter::new(move || limits.are_exhausted());
        let mut findings = self.evaluate(meter);
        if !findings.is_complete && findings.limit.is_none() {
            findings.limit = self.space.limits.reached(Duration::ZERO, 0, 0);
        }
        findings.elapsed = started.elapsed();
        findings
    }

    fn explore(&self, threads: usize) {
        let never = || HasDiscoveries::AllOf(BTreeSet::from([NEVER_DISCOVERED]));
        let finish = if self.keep_going { never() } else { HasDiscoveries::AnyFailures };
        self.space.progress.begin(threads);
        self.space.clone().checker().threads(threads).finish_when(finish).spawn_bfs().join();
    }

    /// What follows from the states that were explored; of that, as much as the meter allows.
    fn evaluate(&self, meter: Meter) -> Findings {
        let mut findings = Findings {
            states: self.space.recorder.states(),
            generated: self.space.progress.transitions() + 1,
            depth: 0,
            terminal_states: 0,
            max_messages: MaxMessages::Unknown,
            is_complete: false,
            limit: self.space.progress.limit(),
            is_vacuous: false,
            verdicts: Vec::new(),
            counterexample: None,
            elapsed: Duration::ZERO,
        };
        match self.space.recorder.graph(self.space.initial().fingerprint, meter) {
            Ok(graph) => self.evaluate_graph(&graph, &mut findings),
            // Nothing is known then.
            Err(LimitReached) => {
                findings.verdicts =
                    self.space.spec.properties.iter().map(|&property| (property, Verdict::Unknown)).collect();
            }
        }
        findings
    }

    fn evaluate_graph(&self, graph: &StateGraph, findings: &mut Findings) {
        let is_estimate = self.space.spec.goal == Goal::Estimate;
        findings.states = graph.states();
        findings.generated = graph.transitions() + 1;
        findings.depth = graph.depth();
        findings.terminal_states = graph.count(Labels::TERMINAL);
        findings.is_vacuous = !(graph.any(Labels::TERMINAL_AGREEMENT) && (is_estimate || graph.any(Labels::LEADER)));
        let components = graph.strongly_connected_components();
        let longest = components.as_ref().map_err(|limit| *limit).and_then(|found| graph.max_messages(found));
        findings.max_messages = longest.as_ref().map_or(MaxMessages::Unknown, |(max, _)| *max);
        findings.is_complete = longest.is_ok() && !graph.is_cut_off && !self.space.table.has_unexplored_coins();
        for &property in &self.space.spec.properties {
            let violation = match property {
                Property::Termination => {
                    let found = components.as_ref().map_err(|limit| *limit);
                    let violation = found.and_then(|found| self.nontermination(graph, found));
                    violation.unwrap_or_else(|LimitReached| {
                        findings.is_complete = false;
                        None
                    })
                }
                Property::MessageBound => match (findings.max_messages, self.space.spec.max_messages, &longest) {
                    (_, None, _) => continue,
                    (MaxMessages::Bounded(max), Some(bound), _) if max <= bound => None,
                    (_, _, longest) => longest.as_ref().ok().map(|(_, path)| (path.clone(), None)),
                },
                other => other.violation_label().and_then(|label| {
                    let nearest = graph.nearest(|at| graph.labels(at).has(label))?;
                    Some((graph.path_to(nearest), None))
                }),
            };
            let verdict = match (&violation, findings.is_complete) {
                (Some(_), _) => Verdict::Violated,
                (None, true) => Verdict::Holds,
                (None, false) => Verdict::Unknown,
            };
            findings.verdicts.push((property, verdict));
            if let (Some((path, cycle)), None) = (violation, &findings.counterexample) {
                findings.counterexample = Some(counterexample::counterexample(&self.space, property, &path, cycle));
            }
        }
    }

    /// An infinite execution that is weakly fair and does not end in agreement, if the scheduler can force one with a
    /// positive probability: a path, and a cycle at its end.
    ///
    /// With probability 1 an execution ends, or stays in an end component and takes all its actions again and again.
    /// So it suffices to look at the maximal end components: see docs/checking.md.
    fn nontermination(&self, graph: &StateGraph, components: &[u32]) -> Result<Option<Violation>, LimitReached> {
        // Which actions stay in a component, or in a state, depends on all outcomes of their coins.
        if self.space.spec.has_fair_coins && self.space.table.has_unexplored_coins() {
            return Ok(None);
        }
        // An execution that stays in agreement with nothing but periodic traffic counts as terminated.
        let is_at_rest = |at: u32| graph.labels(at).has(Labels::AGREEMENT) && graph.labels(at).has(Labels::PERIODIC);
        if let Some(idle) = graph.nearest(|at| graph.labels(at).has(Labels::IDLE) && !is_at_rest(at)) {
            let path = graph.path_to(idle);
            let last = counterexample::last_state(&self.space, &path);
            return Ok(Some((path, self.space.idle_cycle(&last))));
        }
        for component in &end_components(graph, components)? {
            // The cycle must visit a state that is not at rest.
            let not_at_rest = component.iter().filter(|&&at| !is_at_rest(at));
            let Some(&entry) = not_at_rest.min_by_key(|&&at| graph.depth_of(at)) else { continue };
            let path = graph.path_to(entry);
            let members: BTreeSet<u64> = component.iter().map(|&at| graph.fingerprint(at)).collect();
            let cycle = counterexample::fair_cycle(&self.space, &path, &members, graph.meter())?;
            if let Some(cycle) = cycle {
                return Ok(Some((path, Some(cycle))));
            }
        }
        // Whether an execution that ends does so in agreement is another property.
        Ok(None)
    }

    /// The expected number of rounds with fair coins: the minimum and the maximum over all schedulers. `None` if there
    /// are more than `max_states` states.
    pub fn expected_rounds(&self, max_states: usize) -> Option<(f64, f64)> {
        crate::expected_rounds::rounds(&self.space, max_states)
    }

    /// The counterexample as a trace that the simulator can replay.
    pub fn records(&self, counterexample: &Counterexample) -> Vec<Record<P::Message>> {
        crate::trace::records(&self.table, &self.space, counterexample)
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
