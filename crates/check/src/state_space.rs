//! The state space of an election, as a model for stateright, and the labels of its states.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hustings_algorithms::Goal;
use stateright::Property as Claim;

use crate::check::{Limit, Limits};
use crate::counterexample::{ActionClass, action_class};
use crate::global_state::{GlobalState, NodeState};
use crate::model::Model;
use crate::property::{Labels, Property};
use crate::spec::{ExpectedLeader, Spec};
use crate::state_graph::{Edge, Expanded, StateRecorder};
use crate::steps::{Step, TransitionRelation};
use crate::transition_table::TransitionTable;

/// The progress of an exploration, and a request to stop it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The number of states that were explored.
    pub(crate) states: AtomicU64,
    /// The number of steps between them.
    transitions: AtomicU64,
    /// When exploring began, and with how many threads.
    started: Mutex<Option<(Instant, u32)>>,
    /// The limit that ended the exploration, if one did.
    limit: Mutex<Option<Limit>>,
    /// Set to stop the exploration.
    pub(crate) stop: AtomicBool,
}

impl Progress {
    /// Exploring begins, with so many threads.
    pub(crate) fn begin(&self, threads: usize) {
        self.transitions.store(0, Ordering::Relaxed);
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), threads as u32));
    }

    /// So many more steps were explored.
    pub(crate) fn count_transitions(&self, steps: u64) {
        self.transitions.fetch_add(steps, Ordering::Relaxed);
    }

    /// The number of steps between the states that were explored.
    pub(crate) fn transitions(&self) -> u64 {
        self.transitions.load(Ordering::Relaxed)
    }

    /// The limit that ended the exploration, if one did.
    pub(crate) fn limit(&self) -> Option<Limit> {
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the exploration because of a limit.
    fn stop_at(&self, limit: Limit) {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(limit);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The time that all threads together have explored.
    fn worked(&self) -> Duration {
        let started = *self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.map_or(Duration::ZERO, |(started, threads)| started.elapsed() * threads)
    }
}

/// The number of states after which time and memory are looked at.
const STATES_BETWEEN_LIMITS: u64 = 512;

/// All states of a protocol in a model, with the specification that labels them.
pub(crate) struct StateSpace<R> {
    pub(crate) model: Arc<Model<R>>,
    pub(crate) table: Arc<dyn TransitionTable>,
    pub(crate) spec: Arc<Spec>,
    /// Each member's position in the order of ranks.
    pub(crate) order: Arc<[u32]>,
    pub(crate) limits: Limits,
    pub(crate) progress: Arc<Progress>,
    pub(crate) recorder: Arc<StateRecorder>,
}

impl<R> Clone for StateSpace<R> {
    fn clone(&self) -> Self {
        StateSpace {
            model: Arc::clone(&self.model),
            table: Arc::clone(&self.table),
            spec: Arc::clone(&self.spec),
            order: Arc::clone(&self.order),
            limits: self.limits,
            progress: Arc::clone(&self.progress),
            recorder: Arc::clone(&self.recorder),
        }
    }
}

impl<R> StateSpace<R> {
    fn relation(&self) -> TransitionRelation<'_, R> {
        TransitionRelation { model: &self.model, table: &*self.table }
    }

    pub(crate) fn initial(&self) -> GlobalState {
        let mut global = self.relation().initial();
        global.labels = self.labels(&global);
        global
    }

    pub(crate) fn steps(&self, global: &GlobalState) -> Vec<Step> {
        let mut steps = self.all_steps(global);
        self.keep_changes(global, &mut steps);
        steps
    }

    /// Leaves the steps out that do not change the state, and labels the next states.
    fn keep_changes(&self, global: &GlobalState, steps: &mut Vec<Step>) {
        steps.retain(|step| step.next.fingerprint != global.fingerprint);
        for step in steps {
            step.next.labels = self.labels(&step.next);
        }
    }

    /// A step of each class of actions that leaves the state as it is. `None` if some class has no such step.
    pub(crate) fn idle_cycle(&self, global: &GlobalState) -> Option<Vec<Step>> {
        let mut by_class: BTreeMap<ActionClass, Option<Step>> = BTreeMap::new();
        let mut steps = self.all_steps(global);
        steps.retain(|step| !step.action.is_fault());
        for outcomes in self.actions_of(&steps) {
            let idle =
                outcomes.iter().all(|step| step.next.fingerprint == global.fingerprint).then(|| outcomes[0].clone());
            let of_class = by_class.entry(action_class(self, global, outcomes[0].action)).or_default();
            *of_class = of_class.take().or(idle);
        }
        by_class.into_values().collect()
    }

    /// All steps, also those that leave the state as it is, which the graph leaves out.
    pub(crate) fn all_steps(&self, global: &GlobalState) -> Vec<Step> {
        let mut steps = Vec::new();
        self.relation().steps(global, &mut steps);
        steps
    }

    /// The outcomes of each action. Where coins are not fair, each outcome is an action of its own: the scheduler
    /// chooses it.
    pub(crate) fn actions_of<'a>(&self, steps: &'a [Step]) -> impl Iterator<Item = &'a [Step]> {
        let has_fair_coins = self.spec.has_fair_coins;
        steps.chunk_by(move |one, other| has_fair_coins && one.action == other.action)
    }

    /// The edges of the graph for the steps from a state.
    fn edges(&self, steps: &[Step]) -> Box<[(u64, Edge)]> {
        let edges = self.actions_of(steps).flat_map(|outcomes| {
            outcomes.iter().enumerate().map(|(place, step)| {
                let is_drawn = outcomes.len() > 1;
                let edge = if is_drawn { Edge::drawn(step.sent, place == 0) } else { Edge::new(step.sent) };
                (step.next.fingerprint, edge)
            })
        });
        edges.collect()
    }

    /// Whether a limit is reached or a stop was requested. Counts one more state.
    fn should_stop(&self) -> bool {
        let states = self.progress.states.fetch_add(1, Ordering::Relaxed);
        if states >= self.limits.max_states {
            self.progress.stop_at(Limit::States);
        } else if states % STATES_BETWEEN_LIMITS == STATES_BETWEEN_LIMITS - 1 {
            let transitions = self.progress.transitions.load(Ordering::Relaxed);
            let reached = self.limits.reached(self.progress.worked(), states, transitions);
            reached.into_iter().for_each(|limit| self.progress.stop_at(limit));
        }
        self.progress.stop.load(Ordering::Relaxed)
    }

    fn checks(&self, property: Property) -> bool {
        self.spec.properties.contains(&property)
    }

    /// The labels of a state.
    fn labels(&self, global: &GlobalState) -> Labels {
        let mut labels = Labels::default();
        let members = &global.nodes[..self.model.members as usize];
        let is_faultless = self.model.budget == Default::default();
        let leaders = || (0u8..).zip(members).filter(|(_, node)| node.is_live && node.is_leader);
        labels.insert_if(Labels::LEADER, leaders().next().is_some());
        if self.checks(Property::OneLeader) && leaders().nth(1).is_some() {
            let mut epochs: Vec<_> = leaders().map(|(_, node)| self.table.epoch(node.state)).collect();
            epochs.sort_unstable();
            labels.insert_if(Labels::TWO_LEADERS, epochs.windows(2).any(|pair| pair[0] == pair[1]));
        }
        labels.insert_if(Labels::LEADER_CHANGED, global.leader_changed && self.checks(Property::Stability));
        labels.insert_if(Labels::RENEWED, global.candidacy_renewed && self.checks(Property::Withdrawal));
        let agreed = self.agreed(global);
        labels.insert_if(Labels::AGREEMENT, agreed.is_some());
        labels.insert_if(Labels::PERIODIC, agreed.is_some() && self.is_periodic(global));
        if is_faultless && self.checks(Property::RightLeader) {
            let expected = match self.spec.leader {
                ExpectedLeader::Position(at) => Some(at as u8),
                ExpectedLeader::GreatestStarter => self.greatest(global, |node| node.started_itself),
                ExpectedLeader::GreatestLive | ExpectedLeader::Anyone => None,
            };
            let is_wrong = |node: &NodeState| node.is_live && node.leader.is_some() && node.leader != expected;
            labels.insert_if(Labels::WRONG_LEADER, expected.is_some() && members.iter().any(is_wrong));
        }
        if !self.relation().is_quiescent(global) {
            return labels;
        }
        // If all initiators crash before they start, there is no election to judge.
        if self.is_unstarted(global) {
            labels.insert_if(Labels::UNSTARTED, true);
            return labels;
        }
        labels.insert_if(Labels::TERMINAL, true);
        labels.insert_if(Labels::TERMINAL_AGREEMENT, agreed.is_some());
        labels.insert_if(Labels::DISAGREEMENT, agreed.is_none() && self.checks(Property::Agreement));
        let is_electing = members.iter().any(|node| node.is_live && node.is_electing);
        labels.insert_if(Labels::ELECTING, is_electing && self.checks(Property::AllNormal));
        if let (ExpectedLeader::GreatestLive, Some(Some(leader))) = (self.spec.leader, agreed) {
            let is_right = self.greatest(global, |node| node.is_live) == Some(leader);
            labels.insert_if(Labels::WRONG_LEADER, !is_right && self.checks(Property::RightLeader));
        }
        labels
    }

    /// The greatest of the matching members.
    fn greatest(&self, global: &GlobalState, matches: impl Fn(&NodeState) -> bool) -> Option<u8> {
        let members = (0u8..).zip(&global.nodes[..self.model.members as usize]);
        let matching = members.filter(|(_, node)| matches(node)).map(|(at, _)| at);
        matching.max_by_key(|&at| self.order[usize::from(at)])
    }

    /// `Some` if all live members agree: with the leader, if the goal is to elect one.
    fn agreed(&self, global: &GlobalState) -> Option<Option<u8>> {
        let mut live = global.nodes[..self.model.members as usize].iter().filter(|node| node.is_live);
        let first = live.next()?;
        match self.spec.goal {
            Goal::Leader => {
                let leader = first.leader?;
                let node = &global.nodes[usize::from(leader)];
                let is_leader = node.is_live && node.is_leader;
                (is_leader && live.all(|node| node.leader == Some(leader))).then_some(Some(leader))
            }
            Goal::Estimate => {
                let size = first.estimate?;
                let is_possible = size <= self.model.members;
                (is_possible && live.all(|node| node.estimate == Some(size))).then_some(None)
            }
        }
    }

    /// Whether only periodic traffic is left.
    fn is_periodic(&self, global: &GlobalState) -> bool {
        global.timers.iter().all(|pending| pending.timer.is_periodic())
            && global.envelopes.iter().all(|envelope| self.table.is_periodic(envelope.message))
    }

    /// Whether no live member has handled anything yet.
    fn is_unstarted(&self, global: &GlobalState) -> bool {
        let init = self.table.init();
        global.nodes[..self.model.members as usize].iter().all(|node| !node.is_live || node.state == init)
    }
}

impl<R: Send + Sync + 'static> stateright::Model for StateSpace<R> {
    type State = GlobalState;
    type Action = Step;

    fn init_states(&self) -> Vec<GlobalState> {
        vec![self.initial()]
    }

    /// Computes and records all steps here, because they share most of the work.
    fn actions(&self, global: &GlobalState, actions: &mut Vec<Step>) {
        if self.should_stop() {
            return;
        }
        let mut steps = self.all_steps(global);
        let mut labels = global.labels;
        let changes = |step: &Step| step.next.fingerprint != global.fingerprint;
        let is_over = labels.has(Labels::TERMINAL) || labels.has(Labels::UNSTARTED);
        let may_be_idle = !is_over && (steps.iter().any(|step| !changes(step)) || steps.is_empty());
        labels.insert_if(Labels::IDLE, may_be_idle && self.idle_cycle(global).is_some());
        self.keep_changes(global, &mut steps);
        self.progress.count_transitions(steps.len() as u64);
        self.recorder.record(Expanded { fingerprint: global.fingerprint, labels, next: self.edges(&steps) });
        actions.extend(steps);
    }

    fn next_state(&self, _: &GlobalState, step: Step) -> Option<GlobalState> {
        Some(step.next)
    }

    fn properties(&self) -> Vec<Claim<Self>> {
        vec![
            Claim::always("no violation", |_, global: &GlobalState| !global.labels.has(Labels::VIOLATION)),
            // The checker stops once it has a discovery for every property. There is never one for this.
            Claim::always(NEVER_DISCOVERED, |_, _| true),
        ]
    }
}

/// The name of a property that always holds.
pub(crate) const NEVER_DISCOVERED: &str = "explored";
