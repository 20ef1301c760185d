//! What can be expected where coins are fair: how many rounds an election takes on average.
//!
//! Who acts when is not up to coins but to an opponent. So there are two answers: the least and the most that any
//! opponent can bring about. Where they are equal, the number of rounds depends on coins alone.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use ahash::AHasher;

use crate::machine::Machine;
use crate::space::Space;
use crate::steps::{Step, What};
use crate::world::World;

/// One thing that can happen in a world: the ways in which its coins may fall.
type Choice = Box<[Fall]>;

/// One way: how likely it is, how many rounds begin by it, and the world that follows.
struct Fall {
    chance: f64,
    rounds: f64,
    next: u32,
}

/// The expected number of rounds, for the opponent that wants few and for the one that wants many. `None` if there are
/// more worlds than that.
pub(crate) fn rounds<R>(space: &Space<R>, most_worlds: usize) -> Option<(f64, f64)> {
    let choices = choices(space, most_worlds)?;
    let few = settle(&choices, f64::INFINITY, f64::min);
    let many = settle(&choices, f64::NEG_INFINITY, f64::max);
    // The first round begins when anybody does: from then on, each is counted when it begins.
    Some((1.0 + few, 1.0 + many))
}

fn choices<R>(space: &Space<R>, most_worlds: usize) -> Option<Vec<Vec<Choice>>> {
    let first = space.first();
    let mut numbers: HashMap<u64, u32, BuildHasherDefault<AHasher>> = HashMap::default();
    numbers.insert(first.fingerprint, 0);
    let (mut worlds, mut choices) = (vec![first], Vec::new());
    while choices.len() < worlds.len() {
        // Each is needed once only.
        let world = std::mem::replace(&mut worlds[choices.len()], World::none());
        let steps = space.steps(&world);
        let mut here: Vec<Choice> = Vec::new();
        for alike in steps.chunk_by(|one, other| one.what == other.what) {
            let falls = alike.iter().map(|step| Fall {
                chance: chance(&*space.machine, &world, step),
                rounds: step.raised.into(),
                next: *numbers.entry(step.next.fingerprint).or_insert_with(|| {
                    worlds.push(step.next.clone());
                    worlds.len() as u32 - 1
                }),
            });
            here.push(falls.collect());
        }
        choices.push(here);
        if worlds.len() > most_worlds {
            return None;
        }
    }
    Some(choices)
}

/// How likely it is that the coins of a step fall so.
fn chance(machine: &dyn Machine, world: &World, step: &Step) -> f64 {
    let Some((at, input)) = step.handled else { return 1.0 };
    let state = match step.what {
        What::Recover(_) => machine.init(),
        _ => world.seats[usize::from(at)].state,
    };
    let outcomes = machine.outcomes(at, state, input);
    let coins = outcomes.get(step.fall as usize).map_or(&[][..], |outcome| &outcome.coins);
    coins.iter().map(|&(sides, _)| 1.0 / sides as f64).product()
}

/// Goes over all worlds, later ones first, until nothing changes any more.
fn settle(choices: &[Vec<Choice>], worst: f64, better: fn(f64, f64) -> f64) -> f64 {
    const ENOUGH: f64 = 1e-15;
    const MAX_SWEEPS: u32 = 100_000;
    let mut expected = vec![0.0f64; choices.len()];
    for _ in 0..MAX_SWEEPS {
        let mut change = 0.0f64;
        for (world, here) in choices.iter().enumerate().rev().filter(|(_, here)| !here.is_empty()) {
            let of = |choice: &Choice| -> f64 {
                choice.iter().map(|fall| fall.chance * (fall.rounds + expected[fall.next as usize])).sum()
            };
            let now = here.iter().map(of).fold(worst, better);
            change = change.max((now - expected[world]).abs());
            expected[world] = now;
        }
        if change < ENOUGH {
            break;
        }
    }
    expected.first().copied().unwrap_or(0.0)
}
