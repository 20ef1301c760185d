//! The algorithm in the simulator, used as a library: both engines, traces, the formula.

use hustings::algorithms::NoParams;
use hustings::sim::simulate::{ElectionSpec, expected, simulate, simulate_traced};
use hustings::sim::trace::Format;
use own_algorithm::ThreeLaps;

fn request(nodes: u32, seed: u64) -> ElectionSpec {
    ElectionSpec { nodes: Some(nodes), ids: Some("random".parse().unwrap()), seed, ..ElectionSpec::default() }
}

#[test]
fn the_best_leads_at_the_cost_that_the_formula_gives() {
    for nodes in [1, 2, 3, 8, 100] {
        for seed in 0..20 {
            let scenario = request(nodes, seed).build::<ThreeLaps>(&NoParams).unwrap().scenario;
            let outcome = simulate::<ThreeLaps>(&NoParams, &scenario);
            assert!(outcome.agreement, "{nodes} nodes, seed {seed}: {outcome:?}");
            let leader = outcome.leader.unwrap();
            assert_eq!(scenario.ids[leader as usize], *scenario.ids.iter().max().unwrap());
            assert_eq!(Some(outcome.by_kind), expected::<ThreeLaps>(&NoParams, &scenario));
        }
    }
}

#[test]
fn any_set_of_starters_and_any_delays_will_do() {
    for seed in 0..200 {
        let mut request = request(9, seed);
        request.initiators = Some("random:4".parse().unwrap());
        request.delay = "uniform:1-9".parse().unwrap();
        let scenario = request.build::<ThreeLaps>(&NoParams).unwrap().scenario;
        let outcome = simulate::<ThreeLaps>(&NoParams, &scenario);
        assert!(outcome.agreement && outcome.leaders.len() == 1, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn its_trace_names_its_messages() {
    let scenario = request(4, 1).build::<ThreeLaps>(&NoParams).unwrap().scenario;
    let mut text = Vec::new();
    let traced = simulate_traced::<ThreeLaps>(&NoParams, &scenario, Format::Text, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for kind in ["ask", "find", "tell"] {
        assert!(text.contains(kind), "{text}");
    }
    assert_eq!(traced, simulate::<ThreeLaps>(&NoParams, &scenario));
}
