//! Sun, divided and sun-divided against docs/model.md#hierarchies, topic by topic.

mod crashes;
mod dead;
mod divided;
mod fitting;
mod starters;
mod sun;
mod sun_divided;

use hustings_algorithms::hierarchy::{Divided, Sun, SunDivided};
use hustings_algorithms::{Algorithm, NetworkKind, Params};
use hustings_protocol::Id;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::Network;

use crate::common::elections::{expected, simulate};
use crate::common::erased::run_algorithm;

/// Parameters as they are typed, with blanks between.
fn params<A: Algorithm>(texts: &str) -> A::Params {
    let mut params = A::Params::default();
    for text in texts.split_whitespace() {
        let (name, value) = text.split_once('=').expect("name=value");
        params.set(name, value).expect("the parameter is allowed");
    }
    params
}

/// An election on the algorithm's own kind of ring, started by these at tick 0.
fn ring<A: Algorithm>(size: u32, starters: &[u32]) -> Scenario {
    let network = match A::ABOUT.network {
        NetworkKind::InformedRing => Network::InformedRing(size),
        _ => Network::Ring(size),
    };
    Scenario { starts: starters.iter().map(|&at| Start { at, tick: 0 }).collect(), ..Scenario::new(network) }
}

fn crash(at: u32, tick: u64) -> Fault {
    Fault { tick, what: FaultKind::Crash(at) }
}

/// Down from the start.
fn dead(mut nodes: Vec<u32>) -> Vec<Fault> {
    nodes.sort_unstable();
    nodes.into_iter().map(|at| crash(at, 0)).collect()
}

/// Runs an election by whichever engine suits, checks that the general one agrees, and that the counts are those of the
/// formula where there is one.
fn run<A: Algorithm>(texts: &str, scenario: &Scenario) -> Outcome {
    let params = params::<A>(texts);
    let outcome = simulate::<A>(&params, scenario);
    if let Some(counts) = expected::<A>(&params, scenario) {
        assert_eq!(outcome.by_kind, counts, "{texts}, {scenario:?}");
    }
    if scenario.values.is_none() && scenario.best == Default::default() {
        assert_eq!(run_algorithm::<A>(&params, scenario, None), outcome, "{texts}, {scenario:?}");
    }
    outcome
}

/// The live position with the greatest id, where nobody goes down but from the start.
fn greatest(scenario: &Scenario) -> u32 {
    let is_dead = |at: &u32| scenario.faults.iter().any(|fault| fault.what == FaultKind::Crash(*at));
    let live = (0..scenario.network.members()).filter(|at| !is_dead(at));
    live.max_by_key(|&at| scenario.ids[at as usize]).expect("somebody is up")
}

/// Fails unless everybody names the greatest, and nothing is under way any more.
fn assert_elects_the_greatest(outcome: &Outcome, scenario: &Scenario) {
    let greatest = greatest(scenario);
    assert!(outcome.agreement && !outcome.hung, "{scenario:?}: {outcome:?}");
    assert_eq!((outcome.leader, outcome.leaders.as_slice()), (Some(greatest), &[greatest][..]), "{scenario:?}");
}

/// Calls with each of the three, and parameters under which 16 and 64 nodes fit.
macro_rules! each {
    ($call:ident $(, $more:expr)*) => {
        for texts in ["u=4", "u=4 depth=2", "u=4 depth=2 aggregate=eager", "u=2 depth=3"] {
            $call::<Sun>(texts $(, $more)*);
        }
        for texts in ["u=4", "u=4 depth=2", "u=2 depth=3", "u=2"] {
            $call::<Divided>(texts $(, $more)*);
        }
        for texts in ["u=4", "u=2 depth=2 sun-depth=2", "u=2 sun-depth=3 aggregate=eager"] {
            $call::<SunDivided>(texts $(, $more)*);
        }
    };
}
use each;

/// Numbers that look random: the middle of a linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }

    fn shuffled<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
        items
    }

    /// So many different numbers below `bound`, ascending.
    fn some(&mut self, count: u32, bound: u32) -> Vec<u32> {
        let mut chosen = self.shuffled((0..bound).collect());
        chosen.truncate(count as usize);
        chosen.sort_unstable();
        chosen
    }
}
