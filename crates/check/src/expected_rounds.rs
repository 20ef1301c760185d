//! The expected number of rounds of a randomised algorithm with fair coins.
//!
//! The order of steps is not random: a scheduler chooses it. So the result is the minimum and the maximum over all
//! schedulers of a Markov decision process. If both are equal, the number of rounds depends on the coins alone.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use ahash::AHasher;

use crate::global_state::GlobalState;
use crate::state_space::StateSpace;
use crate::steps::Step;
use crate::transition_table::TransitionTable;

/// An action of the scheduler: its random outcomes.
type Choice = Box<[Branch]>;

/// A random outcome.
struct Branch {
    probability: f64,
    /// The number of rounds that begin with it.
    rounds: f64,
    next: u32,
}

/// The minimum and the maximum expected number of rounds over all schedulers. `None` if there are more than
/// `max_states` states.
pub(crate) fn rounds<R>(space: &StateSpace<R>, max_states: usize) -> Option<(f64, f64)> {
    let choices = choices(space, max_states)?;
    let min = iterate(&choices, f64::INFINITY, f64::min);
    let max = iterate(&choices, f64::NEG_INFINITY, f64::max);
    // The first round begins with the first start. Each later round is counted when it begins.
    Some((1.0 + min, 1.0 + max))
}

fn choices<R>(space: &StateSpace<R>, max_states: usize) -> Option<Vec<Vec<Choice>>> {
    let first = space.initial();
    let mut numbers: HashMap<u64, u32, BuildHasherDefault<AHasher>> = HashMap::default();
    numbers.insert(first.fingerprint, 0);
    let (mut states, mut choices) = (vec![first], Vec::new());
    while choices.len() < states.len() {
        // Each state is needed only once.
        let global = std::mem::replace(&mut states[choices.len()], GlobalState::empty());
        let steps = space.steps(&global);
        let mut here: Vec<Choice> = Vec::new();
        for same_action in steps.chunk_by(|one, other| one.action == other.action) {
            let branches = same_action.iter().map(|step| Branch {
                probability: probability(&*space.table, &global, step),
                rounds: step.rounds_begun.into(),
                next: *numbers.entry(step.next.fingerprint).or_insert_with(|| {
                    states.push(step.next.clone());
                    states.len() as u32 - 1
                }),
            });
            here.push(branches.collect());
        }
        choices.push(here);
        if states.len() > max_states {
            return None;
        }
    }
    Some(choices)
}

/// The probability of the random draws of a step.
fn probability(table: &dyn TransitionTable, global: &GlobalState, step: &Step) -> f64 {
    let Some((at, input)) = step.handled else { return 1.0 };
    let transitions = table.transitions(at, step.state_before(global, at, table), input);
    let coins = transitions.get(step.branch as usize).map_or(&[][..], |transition| &transition.coins);
    coins.iter().map(|&(sides, _)| 1.0 / sides as f64).product()
}

/// Value iteration over all states, later ones first, until the values converge.
fn iterate(choices: &[Vec<Choice>], worst: f64, better: fn(f64, f64) -> f64) -> f64 {
    const TOLERANCE: f64 = 1e-15;
    const MAX_SWEEPS: u32 = 100_000;
    let mut expected = vec![0.0f64; choices.len()];
    for _ in 0..MAX_SWEEPS {
        let mut change = 0.0f64;
        for (global, here) in choices.iter().enumerate().rev().filter(|(_, here)| !here.is_empty()) {
            let of = |choice: &Choice| -> f64 {
                choice.iter().map(|branch| branch.probability * (branch.rounds + expected[branch.next as usize])).sum()
            };
            let now = here.iter().map(of).fold(worst, better);
            change = change.max((now - expected[global]).abs());
            expected[global] = now;
        }
        if change < TOLERANCE {
            break;
        }
    }
    expected.first().copied().unwrap_or(0.0)
}
