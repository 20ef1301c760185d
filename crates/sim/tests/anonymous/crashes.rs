//! What the anonymous algorithms do not claim: nodes that are down.

use hustings_algorithms::anonymous::{
    AnonymousEcho, AnonymousEchoParams, ItaiRodeh, ItaiRodehParams, RingSize, RingSizeParams,
};
use hustings_algorithms::{Algorithm, Params};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario};
use hustings_sim::topology::Network;

use crate::common::elections::simulate;

const SIZE: u32 = 5;

fn ring() -> Network {
    Network::Ring(SIZE)
}

fn complete() -> Network {
    Network::Complete(SIZE)
}

/// Everybody starts that is up then; this node goes down.
fn without<A: Algorithm>(params: &A::Params, network: Network, (at, tick): (u32, u64), seed: u64) -> Outcome {
    let faults = vec![Fault { tick, what: FaultKind::Crash(at) }];
    // Messages that circulate forever need not do so for long.
    let mut scenario = Scenario { faults, seed, until: 1_000, ..Scenario::new(network).started_by_all() };
    scenario.starts.retain(|start| tick > 0 || start.at != at);
    simulate::<A>(params, &scenario)
}

/// Every node, and some coins.
fn nodes_and_seeds() -> impl Iterator<Item = (u32, u64)> {
    (0..SIZE).flat_map(|at| (0..20).map(move |seed| (at, seed)))
}

/// Every node, every tick on the way, and some coins.
fn on_the_way() -> impl Iterator<Item = ((u32, u64), u64)> {
    nodes_and_seeds().flat_map(|(at, seed)| (1..12).map(move |tick| ((at, tick), seed)))
}

#[test]
fn itai_rodeh_circles_for_ever_if_a_node_is_down_from_the_start() {
    for (at, seed) in nodes_and_seeds() {
        let outcome = without::<ItaiRodeh>(&ItaiRodehParams::default(), ring(), (at, 0), seed);
        assert_eq!((outcome.leaders, outcome.hung), (vec![], true), "{at}, seed {seed}");
    }
}

#[test]
fn itai_rodeh_ends_before_a_crash_or_circles_for_ever() {
    let (mut ended, mut circles) = (0, 0);
    for (crash, seed) in on_the_way() {
        let outcome = without::<ItaiRodeh>(&ItaiRodehParams::default(), ring(), crash, seed);
        assert!(outcome.leaders.len() <= 1, "{crash:?}, seed {seed}: {outcome:?}");
        ended += u32::from(outcome.agreement);
        circles += u32::from(outcome.hung);
    }
    assert!(ended > 0 && circles > 0, "{ended} ended, {circles} circle");
}

#[test]
fn anonymous_echo_has_no_leader_if_a_node_is_down_from_the_start() {
    for (at, seed) in nodes_and_seeds() {
        let outcome = without::<AnonymousEcho>(&AnonymousEchoParams::default(), complete(), (at, 0), seed);
        assert_eq!((outcome.leaders, outcome.hung), (vec![], false), "{at}, seed {seed}");
    }
}

#[test]
fn anonymous_echo_has_one_leader_or_none_after_a_crash() {
    let (mut nobody, mut one) = (0, 0);
    for (crash, seed) in on_the_way() {
        let outcome = without::<AnonymousEcho>(&AnonymousEchoParams::default(), complete(), crash, seed);
        assert!(outcome.leaders.len() <= 1 && !outcome.hung, "{crash:?}, seed {seed}: {outcome:?}");
        nobody += u32::from(outcome.leaders.is_empty());
        one += u32::from(outcome.leaders.len() == 1);
    }
    assert!(nobody > 0 && one > 0, "{nobody} times nobody, {one} times one");
}

/// So many ids that two are hardly ever the same.
fn many_ids() -> RingSizeParams {
    let mut params = RingSizeParams::default();
    params.set("R", "1000000").expect("it is a number");
    params
}

#[test]
fn ring_size_counts_those_who_are_up_at_the_start() {
    for (at, seed) in nodes_and_seeds() {
        let outcome = without::<RingSize>(&many_ids(), ring(), (at, 0), seed);
        assert_eq!((outcome.estimate, outcome.hung), (Some(u64::from(SIZE) - 1), false), "{at}, seed {seed}");
    }
}

/// Messages of a greater ring come home too early in a smaller one: nobody's own id is where it should be.
#[test]
fn ring_size_may_estimate_too_much_after_a_crash() {
    let estimates = on_the_way().map(|(crash, seed)| {
        let outcome = without::<RingSize>(&many_ids(), ring(), crash, seed);
        assert!(!outcome.hung, "{crash:?}, seed {seed}: {outcome:?}");
        outcome.estimate
    });
    let estimates: Vec<Option<u64>> = estimates.collect();
    let too_great = estimates.iter().flatten().filter(|&&size| size > SIZE.into()).count();
    assert!(too_great > 0, "{estimates:?}");
}
