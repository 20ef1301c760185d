//! What the catalogue says of the algorithms on complete networks: formulas, costs, sizes; and both engines.

use hustings_algorithms::complete::{Bully, Campaigner, ImprovedBully, Invitation};
use hustings_algorithms::{Algorithm, Case, DefaultIds, Initiators, Params};
use hustings_protocol::{Best, Id, Protocol, Value};
use hustings_sim::scenario::{FaultKind, Scenario};
use hustings_sim::simulate::{ElectionSpec, Field, params, simulate_fast};
use proptest::prelude::*;

use super::{any_ids, detected, fault, start, with_ids};
use crate::common::elections::{election, expected, simulate, with};
use crate::common::erased::run_algorithm;

/// The formula, where there is one, gives what is measured.
fn holds<A: Algorithm>(texts: &[&str], scenario: &Scenario) -> bool {
    let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
    let params = params::<A>(&texts).expect("the parameters are written correctly");
    expected::<A>(&params, scenario).is_none_or(|formula| formula == simulate::<A>(&params, scenario).by_kind)
}

proptest! {
    #[test]
    fn formulas(
        ids in any_ids(1..12),
        starts in proptest::collection::vec(any::<bool>(), 12),
        travel in 1..5u64,
        handling in 0..4u64,
        prepare in 0..12u64,
        announce in any::<bool>(),
    ) {
        let starts = (0..ids.len() as u32).filter(|&at| starts[at as usize]).map(|at| start(at, 0)).collect();
        let scenario = Scenario { starts, ..with_ids(&ids) };
        let [travel, handling, prepare] =
            [format!("T={travel}"), format!("M={handling}"), format!("prepare={prepare}")];
        let highest = if announce { "highest=announce" } else { "highest=wait" };
        prop_assert!(holds::<Bully>(&[&travel, &handling, highest, &prepare], &scenario));
        prop_assert!(holds::<ImprovedBully>(&[&travel, &handling, highest], &scenario));
        prop_assert!(holds::<Campaigner>(&[&travel, &handling, highest], &scenario));
        prop_assert!(holds::<Invitation>(&[&travel, &handling], &scenario));
    }

    /// The fast engine and the general one agree on all of them.
    #[test]
    fn engines(scenario in detected(), crashes in proptest::collection::btree_map(0..14u32, 1..9u64, 0..4)) {
        let mut scenario = scenario;
        let is_there = |at: u32| (at as usize) < scenario.ids.len();
        let is_up = |at: u32| scenario.faults.iter().all(|fault| fault.what != FaultKind::Crash(at));
        let crashes: Vec<_> = crashes.into_iter().filter(|&(at, _)| is_there(at) && is_up(at)).collect();
        scenario.faults.extend(crashes.into_iter().map(|(at, tick)| fault(tick, FaultKind::Crash(at))));
        scenario.faults.sort_by_key(|fault| fault.tick);
        prop_assert!(agree::<Bully>(&scenario) && agree::<ImprovedBully>(&scenario));
        prop_assert!(agree::<Campaigner>(&scenario) && agree::<Invitation>(&scenario));
    }

    /// The texts' "best leader": values before ids, and the least instead of the greatest.
    #[test]
    fn values_and_the_least(
        ids in any_ids(1..9),
        values in proptest::collection::vec(0..4u8, 9),
        least in any::<bool>(),
    ) {
        let values = values[..ids.len()].iter().map(|&value| Value::new(value.into()).expect("it is finite")).collect();
        let mut scenario = Scenario { values: Some(values), starts: vec![start(0, 0)], ..with_ids(&ids) };
        scenario.best = if least { Best::Min } else { Best::Max };
        let key = |at: &u32| (scenario.values.as_ref().map(|values| values[*at as usize]), ids[*at as usize]);
        let all = 0..ids.len() as u32;
        let best = if least { all.min_by_key(key) } else { all.max_by_key(key) };
        for outcome in [
            super::run::<Bully>(&[], &scenario),
            super::run::<ImprovedBully>(&[], &scenario),
            super::run::<Campaigner>(&[], &scenario),
            super::run::<Invitation>(&[], &scenario),
        ] {
            prop_assert_eq!((outcome.leader, outcome.agreement), (best, true));
        }
    }
}

fn agree<A: Algorithm>(scenario: &Scenario) -> bool {
    let (protocol, ranks) = election::<A>(&A::Params::default()).protocol(scenario);
    let fast = simulate_fast(&protocol, &ranks, scenario, false).expect("the fast engine serves crashes");
    // Some algorithms have a fast engine of their own.
    let own = simulate::<A>(&A::Params::default(), scenario);
    let general = run_algorithm::<A>(&A::Params::default(), scenario, None);
    fast == general && own == general
}

/// The costs in the catalogue, against every order of up to six ids.
fn costs<A: Algorithm>() {
    for size in 1..=6u64 {
        let totals: Vec<u64> = orders(size)
            .iter()
            .map(|ids| {
                simulate::<A>(&A::Params::default(), &Scenario { starts: vec![start(0, 0)], ..with_ids(ids) }).total()
            })
            .collect();
        let mean = totals.iter().sum::<u64>() as f64 / totals.len() as f64;
        for cost in A::ABOUT.costs {
            let claimed = cost.messages.expect("all of them have a formula")(size);
            let measured = match cost.case {
                Case::Best => *totals.iter().min().expect("there is an order") as f64,
                Case::Average => mean,
                Case::Worst => *totals.iter().max().expect("there is an order") as f64,
            };
            let name = A::ABOUT.name;
            assert!((claimed - measured).abs() < 1e-9, "{name}, n = {size}, {cost}: {claimed}, measured {measured}");
        }
    }
}

fn orders(size: u64) -> Vec<Vec<u64>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(size - 1).into_iter();
    let with_last = |order: Vec<u64>| {
        (0..=order.len()).map(move |place| {
            let mut longer = order.clone();
            longer.insert(place, size);
            longer
        })
    };
    shorter.flat_map(with_last).collect()
}

#[test]
fn the_catalogue_tells_the_truth_about_costs() {
    costs::<Bully>();
    costs::<ImprovedBully>();
    costs::<Campaigner>();
    costs::<Invitation>();
}

/// docs/model.md#model: default ids are position + 1, and the lowest live position starts.
#[test]
fn defaults() {
    fn defaults<A: Algorithm>() {
        assert_eq!(A::ABOUT.default_ids, DefaultIds::PositionsFromOne);
        assert_eq!(A::ABOUT.initiators, Initiators::LowestLive);
        let five = ElectionSpec { nodes: Some(5), ..ElectionSpec::default() };
        let request = with(five, &[(Field::Crashes, "0@0")]);
        let scenario = request.build::<A>(&Default::default()).expect("nothing is wrong with it").scenario;
        assert_eq!((scenario.ids, scenario.starts), (vec![1, 2, 3, 4, 5], vec![start(1, 0)]));
        assert!(A::Params::default().get("T").is_some_and(|travel| travel == "1"));
    }
    defaults::<Bully>();
    defaults::<ImprovedBully>();
    defaults::<Campaigner>();
    defaults::<Invitation>();
}

/// A message of bully is a byte: the matrix mailbox of the fast engine reserves a place for one per link.
#[test]
fn small_messages_and_states() {
    fn sizes<A: Algorithm>() -> (usize, usize) {
        type Of<A> = <A as Algorithm>::Protocol<Id>;
        (size_of::<<Of<A> as Protocol>::Message>(), size_of::<<Of<A> as Protocol>::State>())
    }
    assert_eq!(sizes::<Bully>(), (1, 8));
    assert_eq!(sizes::<ImprovedBully>(), (16, 12));
    assert_eq!(sizes::<Campaigner>(), (16, 12));
    assert_eq!(sizes::<Invitation>(), (16, 24));
}
