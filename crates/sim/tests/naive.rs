//! Compares the simulator with the simple second implementation of the model in the tests of the algorithms: all ring
//! algorithms, any starters, any crashes, down to a single survivor.

#[path = "../../algorithms/tests/support/mod.rs"]
mod support;

use hustings_algorithms::Algorithm;
use hustings_algorithms::catalogue::{ENTRIES, Visitor};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::simulate::params;
use hustings_sim::topology::Network;
use proptest::prelude::*;
use support::Setup;

use crate::common::elections::simulate;

struct Simulate(Scenario);

impl Visitor for Simulate {
    type Output = Outcome;
    fn visit<A: Algorithm>(self) -> Outcome {
        simulate::<A>(&params::<A>(&[]).expect("nothing is set"), &self.0)
    }
}

fn simulated(name: &str, setup: &Setup) -> support::Outcome {
    let mut scenario = Scenario::new(Network::Ring(setup.ids.len() as u32));
    scenario.ids.clone_from(&setup.ids);
    scenario.starts = setup.starts.iter().map(|&(at, tick)| Start { at: at as u32, tick }).collect();
    scenario.starts.sort_by_key(|start| (start.tick, start.at));
    let crash = |&(at, tick): &(usize, u64)| Fault { tick, what: FaultKind::Crash(at as u32) };
    scenario.faults = setup.crashes.iter().map(crash).collect();
    scenario.faults.sort_by_key(|fault| fault.tick);
    let outcome = support::visit_ring(name, Simulate(scenario));
    support::Outcome {
        by_kind: outcome.by_kind,
        leaders: outcome.leaders.into_iter().map(|at| at as usize).collect(),
        agreement: outcome.agreement,
        hung: outcome.hung,
        lost: outcome.lost,
        entered: Vec::new(),
        elected: outcome.time.elected,
        agreed: outcome.time.agreed,
        quiescent: outcome.time.quiescent,
    }
}

prop_compose! {
    fn setup()(size in 1..10usize)(
        ids in Just((0..size as u64).map(|id| id * 7 + 3).collect::<Vec<_>>()).prop_shuffle(),
        starts in proptest::collection::btree_map(0..size, prop_oneof![3 => Just(0), 1 => 0..30u64], 1..=size),
        crashes in proptest::collection::btree_map(0..size, prop_oneof![1 => Just(0), 2 => 0..25u64], 0..=size),
    ) -> Setup {
        Setup { ids, starts: starts.into_iter().collect(), crashes: crashes.into_iter().collect(), ..Setup::default() }
    }
}

fn rings() -> Vec<&'static str> {
    ENTRIES.iter().filter(|entry| support::is_plain_ring(&entry.about)).map(|entry| entry.about.name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn both_implementations_of_the_model_agree(setup in setup(), name in proptest::sample::select(rings())) {
        let naive = support::Outcome { entered: Vec::new(), ..setup.run(name) };
        prop_assert_eq!(simulated(name, &setup), naive, "{}", name);
    }
}
