//! Termination, compared with another algorithm on small random protocols.
//!
//! The other algorithm computes fixed points: the states from which a scheduler can, with probability 1, give every
//! class of actions its due again and again. It uses neither components nor cycles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hustings_algorithms::Goal;
use hustings_protocol::{Context, Id, Port, Protocol, StartReason, Timer, kinds};
use serde::{Deserialize, Serialize};

use super::*;
use crate::check::{Check, Verdict};
use crate::model::Model;
use crate::spec::{ExpectedLeader, Spec};

const STATES: u8 = 3;
const WORDS: u8 = 2;
const TIMER: Timer = Timer { kind: 0, token: 0 };

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Word {
    Word(u8),
}
kinds!(Word: Word = "word");

/// What a node does next: nothing, send a word, or set the timer. As each event leads to at most one other, the state
/// space is finite.
#[derive(Clone, Copy, Debug)]
enum Emit {
    Nothing,
    Send(Port, u8),
    Timer,
}

/// A protocol of random rules: for each state and event, one outcome, or two for the sides of a coin.
#[derive(Clone, Debug)]
struct RandomRules {
    start: [Emit; 2],
    rules: Vec<Vec<(u8, Emit)>>,
}

impl RandomRules {
    fn new(seed: &mut u64) -> Self {
        let emit = |seed: &mut u64| match draw(seed, 6) {
            0 => Emit::Nothing,
            1 => Emit::Timer,
            place => Emit::Send(Port((place % 2) as u32), draw(seed, WORDS.into()) as u8),
        };
        let outcome = |seed: &mut u64| (draw(seed, STATES.into()) as u8, emit(seed));
        let rule = |seed: &mut u64| {
            let sides = 1 + draw(seed, 2);
            (0..sides).map(|_| outcome(seed)).collect()
        };
        let rules = (0..STATES * (WORDS + 1)).map(|_| rule(seed)).collect();
        RandomRules { start: [emit(seed), emit(seed)], rules }
    }

    fn react<C: Context<Self>>(&self, state: &mut u8, event: u8, cx: &mut C) {
        let outcomes = &self.rules[usize::from(*state * (WORDS + 1) + event)];
        let side = if outcomes.len() > 1 { cx.draw(outcomes.len() as u64) } else { 0 };
        let (next, emit) = outcomes[side as usize];
        *state = next;
        Self::emit(emit, cx);
    }

    fn emit<C: Context<Self>>(emit: Emit, cx: &mut C) {
        match emit {
            Emit::Nothing => {}
            Emit::Send(port, word) => cx.send(port, Word::Word(word)),
            Emit::Timer => cx.set_timer(1, TIMER),
        }
    }
}

impl Protocol for RandomRules {
    type Rank = Id;
    type State = u8;
    type Message = Word;

    fn init(&self) -> u8 {
        0
    }
    fn handle_start<C: Context<Self>>(&self, _: &mut u8, _: StartReason, cx: &mut C) {
        self.start.iter().for_each(|&emit| Self::emit(emit, cx));
    }
    fn handle_message<C: Context<Self>>(&self, state: &mut u8, _: Port, Word::Word(word): Word, cx: &mut C) {
        self.react(state, word, cx);
    }
    fn handle_timer<C: Context<Self>>(&self, state: &mut u8, _: Timer, cx: &mut C) {
        self.react(state, WORDS, cx);
    }
}

/// An action in some state: its class, and its outcomes.
type ClassAction = (ActionClass, Vec<usize>);

/// All states, each with its actions, also those that change nothing.
fn explore<R: Send + Sync + 'static>(space: &StateSpace<R>) -> Vec<Vec<ClassAction>> {
    let first = space.initial();
    let mut numbers = BTreeMap::from([(first.fingerprint, 0)]);
    let mut queue = VecDeque::from([first]);
    let mut all = Vec::new();
    while let Some(global) = queue.pop_front() {
        let steps = space.all_steps(&global);
        let mut number = |step: &Step| {
            let count = numbers.len();
            *numbers.entry(step.next.fingerprint).or_insert_with(|| {
                queue.push_back(step.next.clone());
                count
            })
        };
        let chunks = space.actions_of(&steps);
        let action = |outcomes: &[Step]| {
            let next = outcomes.iter().map(&mut number).collect();
            (action_class(space, &global, outcomes[0].action), next)
        };
        all.push(chunks.map(action).collect());
    }
    all
}

/// Whether a scheduler can go on forever and be fair, with probability 1 from some state on.
fn can_go_on_forever(all: &[Vec<ClassAction>]) -> bool {
    let classes: BTreeSet<ActionClass> = all.iter().flatten().map(|(class, _)| *class).collect();
    let mut winning: BTreeSet<usize> = (0..all.len()).collect();
    loop {
        let before = winning.len();
        for class in &classes {
            winning = gives_due(all, &winning, *class);
        }
        // Even if no class is ever enabled all the time, some action must be possible.
        let stays = |at: &usize| all[*at].iter().any(|(_, next)| next.iter().all(|next| winning.contains(next)));
        winning = winning.iter().copied().filter(stays).collect();
        if winning.len() == before {
            return !winning.is_empty();
        }
    }
}

/// The greatest set of states in which the scheduler can stay and reach, with probability 1, a state in which the class
/// is disabled, or take an action of it.
fn gives_due(all: &[Vec<ClassAction>], within: &BTreeSet<usize>, due: ActionClass) -> BTreeSet<usize> {
    let mut outer = within.clone();
    loop {
        let mut inner: BTreeSet<usize> = BTreeSet::new();
        loop {
            let is_near = |at: &&usize| {
                let is_disabled = all[**at].iter().all(|(class, _)| *class != due);
                let mut inside = all[**at].iter().filter(|(_, next)| next.iter().all(|next| outer.contains(next)));
                inside.any(|(class, next)| is_disabled || *class == due || next.iter().any(|next| inner.contains(next)))
            };
            let grown: BTreeSet<usize> = outer.iter().filter(is_near).copied().collect();
            if grown == inner {
                break;
            }
            inner = grown;
        }
        if inner == outer {
            return outer;
        }
        outer = inner;
    }
}

/// Asserts that the end of a counterexample is a cycle in which every class is taken or disabled somewhere.
fn assert_fair<R: Send + Sync + 'static>(space: &StateSpace<R>, counterexample: &Counterexample) {
    let from = counterexample.repeats_from.expect("it is infinite");
    let mut global = counterexample.steps[..from].last().map_or_else(|| space.initial(), |step| step.next.clone());
    let first = global.fingerprint;
    let (mut always_enabled, mut taken): (Option<BTreeSet<ActionClass>>, BTreeSet<ActionClass>) =
        (None, BTreeSet::new());
    for step in &counterexample.steps[from..] {
        let steps = space.all_steps(&global);
        assert!(
            steps
                .iter()
                .any(|possible| possible.action == step.action && possible.next.fingerprint == step.next.fingerprint)
        );
        let enabled: BTreeSet<ActionClass> =
            steps.iter().map(|step| action_class(space, &global, step.action)).collect();
        always_enabled = Some(always_enabled.map_or_else(|| enabled.clone(), |always| &always & &enabled));
        taken.insert(action_class(space, &global, step.action));
        global = step.next.clone();
    }
    assert_eq!(global.fingerprint, first, "it is a cycle");
    assert!(always_enabled.expect("it has steps").is_subset(&taken), "it is fair");
}

/// The next of a sequence of numbers below `bound` that look random.
fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

#[test]
fn termination_is_what_fixed_points_say() {
    let mut seed = 7;
    let mut verdicts: BTreeMap<(bool, bool), u32> = BTreeMap::new();
    for number in 0..600 {
        let rules = RandomRules::new(&mut seed);
        let channels = if number % 3 == 0 { Channels::Unordered } else { Channels::Fifo };
        let model = Model { initiators: vec![0], channels, ..Model::ring(vec![Id(0), Id(1)]) };
        let has_fair_coins = number % 4 != 0;
        let spec = Spec {
            goal: Goal::Leader,
            leader: ExpectedLeader::Anyone,
            properties: vec![Property::Termination],
            max_messages: None,
            has_fair_coins,
        };
        let check = Check::new(rules.clone(), model, spec);
        let findings = check.run();
        let goes_on = can_go_on_forever(&explore(check.space()));
        let expected = if goes_on { Verdict::Violated } else { Verdict::Holds };
        assert_eq!(findings.of(Property::Termination), Some(expected), "{number}: {rules:?}");
        if let Some(counterexample) = &findings.counterexample {
            assert_fair(check.space(), counterexample);
        }
        let has_cycle = findings.max_messages == crate::state_graph::MaxMessages::Unbounded;
        *verdicts.entry((goes_on, has_cycle)).or_default() += 1;
    }
    // Some go on; some end although they have cycles.
    assert!(verdicts[&(true, true)] > 50 && verdicts[&(false, true)] > 50, "{verdicts:?}");
}
