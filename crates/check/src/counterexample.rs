//! Counterexamples: a path to a state, followed by a fair cycle if the execution is infinite (a lasso).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::global_state::{Channel, GlobalState};
use crate::meter::{LimitReached, Meter};
use crate::model::Channels;
use crate::property::Property;
use crate::state_space::StateSpace;
use crate::steps::{Action, Step};

/// An execution that violates a property.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The property.
    pub property: Property,
    /// The steps from the initial state.
    pub(crate) steps: Vec<Step>,
    /// For an infinite execution: the index of the step with which the repeated part begins; it lasts until the end.
    pub repeats_from: Option<usize>,
}

impl Counterexample {
    /// The number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The part of an infinite execution before its cycle.
    pub(crate) fn stem(&self) -> Option<Counterexample> {
        let stem = self.steps.get(..self.repeats_from?)?;
        Some(Counterexample { property: self.property, steps: stem.to_vec(), repeats_from: None })
    }

    /// Whether the initial state already violates the property.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// The steps of a cycle, from a state back to it.
pub(crate) type Cycle = Vec<Step>;

/// Turns a path of fingerprints into steps.
pub(crate) fn counterexample<R>(
    space: &StateSpace<R>,
    property: Property,
    path: &[u64],
    cycle: Option<Cycle>,
) -> Counterexample
where
    R: Send + Sync + 'static,
{
    let mut steps = walk(space, path);
    let repeats_from = cycle.as_ref().map(|_| steps.len());
    steps.extend(cycle.into_iter().flatten());
    Counterexample { property, steps, repeats_from }
}

fn walk<R: Send + Sync + 'static>(space: &StateSpace<R>, path: &[u64]) -> Vec<Step> {
    let mut global = space.initial();
    let mut steps = Vec::new();
    for &next in path.iter().skip(1) {
        // Every path follows steps that were explored.
        let Some(step) = space.steps(&global).into_iter().find(|step| step.next.fingerprint == next) else { break };
        global = step.next.clone();
        steps.push(step);
    }
    steps
}

/// The state at the end of a path.
pub(crate) fn last_state<R: Send + Sync + 'static>(space: &StateSpace<R>, path: &[u64]) -> GlobalState {
    walk(space, path).pop().map_or_else(|| space.initial(), |step| step.next)
}

/// An action that keeps its identity from state to state, independent of list indices. Fairness is defined over these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ActionClass {
    Channel(Channel, u32),
    Timer(u8, hustings_protocol::Timer),
    ReachabilityUpdate(u8),
    Other(Action),
}

pub(crate) fn action_class<R>(space: &StateSpace<R>, global: &GlobalState, action: Action) -> ActionClass {
    match action {
        Action::Deliver(place) | Action::Bounce(place) | Action::Return(place) => {
            let envelope = &global.envelopes[place];
            let is_fifo = space.model.channels == Channels::Fifo;
            ActionClass::Channel(envelope.channel, if is_fifo { 0 } else { envelope.message })
        }
        Action::Timeout(place) => ActionClass::Timer(global.timers[place].at, global.timers[place].timer),
        Action::UpdateReachability(place) => ActionClass::ReachabilityUpdate(global.reachability_updates[place].at),
        Action::Tick(_) => ActionClass::Other(Action::Tick(0)),
        other => ActionClass::Other(other),
    }
}

/// A step inside a component.
#[derive(Clone)]
struct InnerStep {
    class: ActionClass,
    /// Classes of messages whose numbers change in the step, because rounds are lowered. What has such a class
    /// afterwards is another message, so that nothing was refused to this one. A message that is never delivered comes
    /// to round 0 and keeps its number from then on.
    renumbered: Vec<ActionClass>,
    step: Step,
    /// The index of the next state.
    to: usize,
}

impl InnerStep {
    fn new<R>(
        space: &StateSpace<R>,
        from: &GlobalState,
        enabled: &BTreeSet<ActionClass>,
        step: &Step,
        to: usize,
    ) -> Self {
        let by = step.rounds_lowered;
        let is_renumbered = |class: &&ActionClass| match **class {
            ActionClass::Channel(_, message) if space.model.channels != Channels::Fifo && by > 0 => {
                space.table.lower_message(message, by) != message
            }
            _ => false,
        };
        let renumbered = enabled.iter().filter(is_renumbered).copied().collect();
        InnerStep { class: action_class(space, from, step.action), renumbered, step: step.clone(), to }
    }

    /// Whether an action of this class is not kept waiting by the step.
    fn serves(&self, class: &ActionClass) -> bool {
        self.class == *class || self.renumbered.contains(class)
    }
}

/// An end component, with its steps.
struct Component {
    states: Vec<GlobalState>,
    /// The steps of each state whose actions stay inside, whatever coins show.
    inside: Vec<Vec<InnerStep>>,
    /// The classes of all steps of each state, also of those that leave the component.
    enabled: Vec<BTreeSet<ActionClass>>,
}

/// A weakly fair cycle of an end component, if it has one: every action class is taken in it, or disabled somewhere on
/// it. It contains no faults, and only actions whose outcomes are all in the component.
pub(crate) fn fair_cycle<R: Send + Sync + 'static>(
    space: &StateSpace<R>,
    path: &[u64],
    members: &BTreeSet<u64>,
    meter: &Meter,
) -> Result<Option<Cycle>, LimitReached> {
    Component::new(space, last_state(space, path), members, meter).map(|component| component.fair_cycle())
}

impl Component {
    /// A weakly fair cycle from the first state back to it.
    fn fair_cycle(&self) -> Option<Cycle> {
        let mut obligations: BTreeSet<ActionClass> = self.enabled.iter().flatten().copied().collect();
        // A state in which the class is disabled discharges the obligation, and so does a step of the class.
        let discharges = |at: usize, taken: Option<&InnerStep>, obligation: &ActionClass| {
            !self.enabled[at].contains(obligation) || taken.is_some_and(|step| step.serves(obligation))
        };
        let can_be_discharged = |obligation: &ActionClass| {
            (0..self.states.len()).any(|at| {
                discharges(at, None, obligation) || self.inside[at].iter().any(|step| step.serves(obligation))
            })
        };
        if !obligations.iter().all(can_be_discharged) {
            return None;
        }
        let mut cycle = Vec::new();
        let mut at = 0;
        obligations.retain(|obligation| !discharges(0, None, obligation));
        while let Some(&obligation) = obligations.first() {
            let (steps, end) = self.path(at, |at, taken| discharges(at, taken, &obligation))?;
            for taken in steps {
                obligations.retain(|obligation| !discharges(taken.to, Some(&taken), obligation));
                cycle.push(taken.step);
            }
            at = end;
        }
        if at != 0 || cycle.is_empty() {
            let (back, _) = self.path(at, |to, taken| to == 0 && taken.is_some())?;
            cycle.extend(back.into_iter().map(|taken| taken.step));
        }
        Some(cycle)
    }

    fn new<R: Send + Sync + 'static>(
        space: &StateSpace<R>,
        entry: GlobalState,
        members: &BTreeSet<u64>,
        meter: &Meter,
    ) -> Result<Self, LimitReached> {
        let mut places: BTreeMap<u64, usize> = BTreeMap::from([(entry.fingerprint, 0)]);
        let mut component = Component { states: vec![entry], inside: Vec::new(), enabled: Vec::new() };
        while component.inside.len() < component.states.len() {
            let global = component.states[component.inside.len()].clone();
            let steps: Vec<Step> =
                space.all_steps(&global).into_iter().filter(|step| !step.action.is_fault()).collect();
            let enabled = steps.iter().map(|step| action_class(space, &global, step.action)).collect();
            let mut inside = Vec::new();
            let stays = |outcomes: &&[Step]| outcomes.iter().all(|step| members.contains(&step.next.fingerprint));
            for step in space.actions_of(&steps).filter(stays).flatten() {
                let to = *places.entry(step.next.fingerprint).or_insert_with(|| {
                    component.states.push(step.next.clone());
                    component.states.len() - 1
                });
                meter.work()?;
                inside.push(InnerStep::new(space, &global, &enabled, step, to));
            }
            component.enabled.push(enabled);
            component.inside.push(inside);
        }
        Ok(component)
    }

    /// A shortest path to a state that matches, given the last step.
    fn path(
        &self,
        from: usize,
        matches: impl Fn(usize, Option<&InnerStep>) -> bool,
    ) -> Option<(Vec<InnerStep>, usize)> {
        if matches(from, None) {
            return Some((Vec::new(), from));
        }
        let mut before: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for (place, taken) in self.inside[at].iter().enumerate() {
                let to = taken.to;
                let is_new = to != from && !before.contains_key(&to);
                if matches(to, Some(taken)) {
                    let mut path = vec![self.inside[at][place].clone()];
                    let mut back = at;
                    while back != from {
                        let (earlier, step) = before[&back];
                        path.push(self.inside[earlier][step].clone());
                        back = earlier;
                    }
                    path.reverse();
                    return Some((path, to));
                }
                if is_new {
                    before.insert(to, (at, place));
                    queue.push_back(to);
                }
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "fairness_tests.rs"]
mod tests;
