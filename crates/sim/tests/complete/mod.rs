//! The algorithms on complete networks: every count and time of docs/model.md#complete-networks, and what they survive.

mod adapted;
mod bully;
mod catalogue;
mod crashes;
mod invitation;
mod recoveries;
mod survey;
mod waits;

use hustings_algorithms::Algorithm;
use hustings_protocol::Id;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Delay, Fault, FaultKind, Scenario, Start};
use hustings_sim::simulate::params;
use hustings_sim::topology::Network;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::common::elections::simulate;

/// Ids 1 to `size` by position, nobody starting, nothing going wrong.
fn network(size: u32) -> Scenario {
    with_ids(&(1..=u64::from(size)).collect::<Vec<_>>())
}

fn with_ids(ids: &[u64]) -> Scenario {
    Scenario { ids: ids.to_vec(), ..Scenario::new(Network::Complete(ids.len() as u32)) }
}

fn start(at: u32, tick: u64) -> Start {
    Start { at, tick }
}

fn fault(tick: u64, what: FaultKind) -> Fault {
    Fault { tick, what }
}

fn down(positions: impl IntoIterator<Item = u32>) -> Vec<Fault> {
    positions.into_iter().map(|at| fault(0, FaultKind::Crash(at))).collect()
}

/// `size` nodes with ids by position, the greatest down, and the node with id `detector` noticing.
fn greatest_down(size: u32, detector: u32) -> Scenario {
    Scenario { starts: vec![start(detector - 1, 0)], faults: down([size - 1]), ..network(size) }
}

fn run<A: Algorithm>(texts: &[&str], scenario: &Scenario) -> Outcome {
    let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
    let params = params::<A>(&texts).expect("the parameters are written correctly");
    A::check(&params, scenario.network.members()).expect("the parameters fit");
    simulate::<A>(&params, scenario)
}

/// The three times.
fn times(outcome: &Outcome) -> [Option<u64>; 3] {
    [outcome.time.elected, outcome.time.agreed, outcome.time.quiescent]
}

/// The greatest of these positions.
fn greatest(scenario: &Scenario, live: impl IntoIterator<Item = u32>) -> Option<u32> {
    live.into_iter().max_by_key(|&at| Id(scenario.ids[at as usize]))
}

/// Whether there is one leader, the greatest of those that are up at the end, and everybody up names it.
fn is_settled(scenario: &Scenario, outcome: &Outcome) -> bool {
    let mut up: Vec<bool> = vec![true; scenario.ids.len()];
    let mut faults = scenario.faults.clone();
    faults.sort_by_key(|fault| fault.tick);
    for fault in &faults {
        match fault.what {
            FaultKind::Crash(at) => up[at as usize] = false,
            FaultKind::Recover(at) => up[at as usize] = true,
            _ => {}
        }
    }
    let best = greatest(scenario, (0..up.len() as u32).filter(|&at| up[at as usize]));
    match best {
        Some(best) => outcome.leaders == [best] && outcome.agreement && !outcome.hung,
        None => outcome.leaders.is_empty(),
    }
}

/// So many cases, always the same: how long waits take to grow depends on luck, and a run has an end.
fn chosen(cases: u32) -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(cases) }
}

/// Different ids in any order.
fn any_ids(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    sizes.prop_flat_map(|size| Just((1..=size as u64).map(|id| id * 5).collect::<Vec<_>>()).prop_shuffle())
}

proptest::prop_compose! {
    /// Any order of ids, some nodes down from the start (not all), and some of the others (not none) starting at once.
    fn detected()(ids in any_ids(1..14))(
        down in proptest::collection::vec(any::<bool>(), ids.len()),
        spared in 0..ids.len(),
        starts in proptest::collection::vec(proptest::bool::weighted(0.2), ids.len()),
        starter in any::<proptest::sample::Index>(),
        ids in Just(ids),
    ) -> Scenario {
        let live: Vec<u32> = (0..ids.len()).filter(|&at| !down[at] || at == spared).map(|at| at as u32).collect();
        let first = live[starter.index(live.len())];
        let mut scenario = with_ids(&ids);
        scenario.faults = self::down((0..ids.len() as u32).filter(|at| !live.contains(at)));
        let starts = live.iter().filter(|&&at| starts[at as usize] || at == first);
        scenario.starts = starts.map(|&at| start(at, 0)).collect();
        scenario
    }
}

proptest::prop_compose! {
    /// Partitions in up to so many parts, crashes, recoveries and delays, in any order, until tick 300; then time.
    fn with_faults(parts: u32)(
        ids in any_ids(2..7),
        parts in proptest::collection::btree_map(0..290u64, proptest::collection::vec(0..parts, 7), 0..4),
        turns in proptest::collection::vec(proptest::collection::btree_set(0..300u64, 0..3), 7),
        slowest in 1..12u64,
        seed in any::<u64>(),
    ) -> Scenario {
        let size = ids.len();
        let mut scenario = with_ids(&ids);
        for (tick, mut groups) in parts {
            groups.truncate(size);
            scenario.faults.push(fault(tick, FaultKind::Partition(groups)));
        }
        for (at, ticks) in (0..size as u32).zip(&turns) {
            let kinds = [FaultKind::Crash(at), FaultKind::Recover(at)];
            scenario.faults.extend(ticks.iter().zip(kinds).map(|(&tick, kind)| fault(tick, kind)));
        }
        scenario.faults.push(fault(300, FaultKind::HealAll));
        scenario.faults.sort_by_key(|fault| fault.tick);
        scenario.starts = (0..size as u32).flat_map(|at| [start(at, 0), start(at, 400)]).collect();
        scenario.starts.sort_by_key(|start| (start.tick, start.at));
        (scenario.delay, scenario.seed) = (Delay::Uniform(1, slowest), seed);
        scenario
    }
}

/// What a formula needs of a scenario whose faults are all at the start.
struct DynRank {
    size: u64,
    /// Who is up, by place in the order of ids (0 is the lowest).
    up: Vec<bool>,
    /// The places of the starters.
    starters: Vec<usize>,
}

impl DynRank {
    fn of(scenario: &Scenario) -> Self {
        let mut by_id: Vec<usize> = (0..scenario.ids.len()).collect();
        by_id.sort_by_key(|&at| scenario.ids[at]);
        let place = |at: u32| by_id.iter().position(|&other| other == at as usize).expect("every position has a place");
        let mut up = vec![true; by_id.len()];
        for fault in &scenario.faults {
            if let FaultKind::Crash(at) = fault.what {
                up[place(at)] = false;
            }
        }
        let starters = scenario.starts.iter().map(|start| place(start.at)).collect();
        DynRank { size: by_id.len() as u64, up, starters }
    }

    /// How many nodes, and how many live ones, have places in this range.
    fn among(&self, places: std::ops::Range<usize>) -> (u64, u64) {
        let live = self.up[places.clone()].iter().filter(|up| **up).count();
        (places.len() as u64, live as u64)
    }

    fn above(&self, place: usize) -> (u64, u64) {
        self.among(place + 1..self.up.len())
    }

    fn highest_live(&self) -> usize {
        self.up.iter().rposition(|up| *up).expect("somebody is up")
    }

    fn live(&self) -> u64 {
        self.among(0..self.up.len()).1
    }
}
