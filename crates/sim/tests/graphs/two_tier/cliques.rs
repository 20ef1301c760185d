//! The clique after an election: counts, times, who is chosen, what travels.

use hustings_algorithms::graph::two_tier::{Membership, Message, TwoTierParams};
use hustings_algorithms::graph::{Aefa, AefaParams};
use hustings_algorithms::{Algorithm, Params};
use hustings_protocol::{Best, Effect, Id, TraceEvent, Value};
use hustings_sim::scenario::{Delay, Medium, Scenario};
use proptest::prelude::*;

use super::*;
use crate::common::elections::{expected, simulate};

/// The last roll that went out with an invitation.
pub(super) fn last_roll(records: &[Record<Message<Id>>]) -> Option<Membership<Id>> {
    let effects = records.iter().rev().filter_map(|record| match &record.what {
        TraceEvent::Handled { effects, .. } => Some(effects),
        _ => None,
    });
    effects.flatten().find_map(|effect| match effect {
        Effect::SendDirect(_, Message::Invite(roll)) => Some((**roll).clone()),
        _ => None,
    })
}

fn subordinates(params: &TwoTierParams, scenario: &Scenario) -> Vec<u64> {
    let (outcome, records) = watch(params, scenario);
    assert!(outcome.agreement);
    last_roll(&records).map_or_else(Vec::new, |roll| roll.subordinates.iter().map(|id| id.0).collect())
}

/// Two-tier costs what aefa does and s + s(s+1)/2 + s(s+1)/2 + s more, in four ticks more.
fn is_aefa_and_a_clique(scenario: &Scenario, params: &TwoTierParams) {
    let (plain, ours) = (simulate::<Aefa>(&AefaParams::default(), scenario), run(params, scenario));
    let s = params.subordinates;
    let mut by_kind = plain.by_kind.clone();
    by_kind.extend([s, s * (s + 1) / 2, s * (s + 1) / 2, s, 0, 0, 0]);
    assert_eq!(ours.by_kind, by_kind);
    assert_eq!((ours.time.elected, ours.time.agreed), (plain.time.elected, plain.time.agreed));
    let later = if s == 0 { 0 } else { 4 };
    assert_eq!(ours.time.quiescent, plain.time.quiescent.map(|tick| tick + later));
    assert_eq!((ours.leaders, ours.agreement, ours.lost), (plain.leaders, true, 0));
}

/// docs/model.md#two-tier: 3 `invite`, 6 `ping`, 6 `pong`, 3 `confirm`, in 4 ticks.
#[test]
fn three_subordinates_take_eighteen_messages_and_four_ticks() {
    let scenario = started(shaped("complete", 8, 0), 0);
    let outcome = run(&TwoTierParams::default(), &scenario);
    assert_eq!(words(&outcome), [3, 6, 6, 3, 0, 0]);
    let plain = simulate::<Aefa>(&AefaParams::default(), &scenario);
    assert_eq!(outcome.time.quiescent, plain.time.quiescent.map(|tick| tick + 4));
}

/// docs/model.md#two-tier: aefa first, whatever the network, the source and s ≤ n-1.
#[test]
fn on_every_shape_a_clique_is_added_to_aefa() {
    for (shape, size) in
        [("complete", 7), ("line", 6), ("star", 9), ("tree:2", 10), ("grid:3x4", 12), ("random:5-10", 40)]
    {
        let network = shaped(shape, size, 3);
        for source in 0..size.min(12) {
            for s in [0, 1, 2, 3, 5] {
                let params = TwoTierParams { subordinates: s, ..TwoTierParams::default() };
                is_aefa_and_a_clique(&started(network.clone(), source), &params);
            }
        }
    }
}

/// docs/model.md#two-tier: s ≤ n-1; the whole network may be one clique, or a node alone.
#[test]
fn subordinates_are_at_most_everybody_else() {
    for size in 1..8u32 {
        for s in 0..12 {
            let params = TwoTierParams { subordinates: s, ..TwoTierParams::default() };
            assert_eq!(TwoTier::check(&params, size).is_ok(), s < u64::from(size));
        }
        let params = TwoTierParams { subordinates: u64::from(size) - 1, ..TwoTierParams::default() };
        is_aefa_and_a_clique(&started(shaped("complete", size, 0), 0), &params);
    }
    let error = TwoTier::check(&TwoTierParams::default(), 3).unwrap_err().to_string();
    assert_eq!(
        error,
        "parameter `subordinates` cannot be `3` with 3 nodes: a leader and its subordinates are all different nodes"
    );
    let mut params = TwoTierParams::default();
    for (name, value) in [("noticing", "0"), ("state", "16777217")] {
        assert!(params.set(name, value).is_err(), "{name}={value}");
    }
    assert!(params.set("state", "16777216").is_ok());
}

/// docs/model.md#two-tier: `choice=neighbours` by position, then the others by position.
#[test]
fn neighbours_come_first_then_the_others_by_position() {
    let default = TwoTierParams::default();
    assert_eq!(subordinates(&default, &started(shaped("complete", 9, 0), 4)), [0, 1, 2]);
    assert_eq!(subordinates(&default, &started(shaped("line", 9, 0), 4)), [7, 0, 1]);
    // The leader is the greatest id, wherever it is: here position 2, between 1 and 3.
    let ids: Vec<u64> = vec![10, 20, 90, 30, 40, 50];
    let scenario = Scenario { ids, ..started(shaped("line", 6, 0), 0) };
    assert_eq!(subordinates(&default, &scenario), [20, 30, 10]);
}

/// docs/model.md#two-tier: `choice=best`, by rank, also where values are compared or the least wins.
#[test]
fn the_best_are_the_next_best() {
    let best = params(&[("choice", "best")]);
    assert_eq!(subordinates(&best, &started(shaped("line", 9, 0), 4)), [7, 6, 5]);
    let scenario = Scenario { ids: vec![7, 3, 9, 1, 5], ..started(shaped("star", 5, 0), 0) };
    assert_eq!(subordinates(&best, &scenario), [7, 5, 3]);
    let value = |number: f64| Value::new(number).expect("finite");
    let values = Some([1.5, 4.0, 2.0, 9.0, 3.0].map(value).to_vec());
    let scenario = Scenario { values, best: Best::Min, ..started(shaped("complete", 5, 0), 3) };
    let after = with_faults(scenario, &[(20, FaultKind::Crash(0))]);
    // The least value leads, and the best subordinate is the one with the least of the others.
    assert_eq!(run(&best, &after).leader, Some(2));
}

/// docs/model.md#two-tier: `choice=random` takes anybody, each as often as the others, and the seed decides.
#[test]
fn random_subordinates_are_spread_evenly() {
    let random = params(&[("choice", "random"), ("subordinates", "2")]);
    let network = shaped("line", 6, 0);
    let mut times = [0u32; 6];
    for seed in 0..600 {
        let scenario = Scenario { seed, ..started(network.clone(), 0) };
        let chosen = subordinates(&random, &scenario);
        assert!(chosen.len() == 2 && chosen[0] != chosen[1] && !chosen.contains(&5));
        chosen.iter().for_each(|id| times[*id as usize] += 1);
        if seed < 20 {
            assert_eq!(subordinates(&random, &scenario), chosen);
        }
    }
    assert!(times[..5].iter().all(|times| (190..290).contains(times)), "each is expected 240 times: {times:?}");
}

/// docs/model.md#two-tier: `state=BYTES` travels with each invitation, and changes no count.
#[test]
fn what_the_leader_knows_shows_in_the_bytes() {
    let scenario = started(shaped("complete", 8, 0), 0);
    let plain = run(&TwoTierParams::default(), &scenario);
    for bytes in [1u64, 100, 5000] {
        let knowing = run(&params(&[("state", &bytes.to_string())]), &scenario);
        assert_eq!((&knowing.by_kind, knowing.time), (&plain.by_kind, plain.time));
        // The length itself takes another byte from 128 on.
        let each = bytes + u64::from(bytes > 127);
        assert_eq!(knowing.bytes, plain.bytes + 3 * each);
    }
}

/// A broadcast medium makes waves cheaper, not the clique.
#[test]
fn on_a_broadcast_medium_the_clique_costs_the_same() {
    let scenario = Scenario { medium: Medium::Broadcast, ..started(shaped("random:5-10", 30, 1), 0) };
    assert_eq!(words(&run(&TwoTierParams::default(), &scenario)), [3, 6, 6, 3, 0, 0]);
}

/// Who is down from the start is no subordinate, whatever the choice.
#[test]
fn nobody_who_is_down_is_chosen() {
    for choice in ["neighbours", "best", "random"] {
        let down = [(0, FaultKind::Crash(3)), (0, FaultKind::Crash(6))];
        let scenario = with_faults(started(shaped("grid:4x4", 16, 0), 0), &down);
        let outcome = run(&params(&[("choice", choice)]), &scenario);
        assert_eq!((words(&outcome), outcome.agreement), ([3, 6, 6, 3, 0, 0], true), "{choice}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// docs/model.md#two-tier, on random graphs with random ids; both engines agree with the formula.
    #[test]
    fn on_random_graphs_too(size in 1u32..30, more in 0u32..60, seed: u64, place: u32, s in 0u64..6, best: bool) {
        let network = crate::common::gossip::graph(size, more, seed);
        let mut ids: Vec<u64> = (0..u64::from(size)).map(|at| at * 3 + 1).collect();
        ids.sort_by_key(|id| id.wrapping_mul(seed | 1) >> 20);
        let scenario = Scenario { ids, seed, ..started(network, place % size) };
        let mut params = TwoTierParams { subordinates: s.min(u64::from(size) - 1), ..TwoTierParams::default() };
        if best {
            params = self::params(&[("choice", "best"), ("subordinates", &params.subordinates.to_string())]);
        }
        is_aefa_and_a_clique(&scenario, &params);
        let outcome = run(&params, &scenario);
        prop_assert_eq!(expected::<TwoTier>(&params, &scenario), Some(outcome.by_kind.clone()));
        prop_assert_eq!(watch(&params, &scenario).0, outcome);
    }

    /// Whatever the delays, as long as nobody loses patience, the counts are the same; the leader is too, always.
    #[test]
    fn delays_change_nothing_that_matters(size in 4u32..20, more in 0u32..40, seed: u64, unordered: bool, slow: bool) {
        let delay = if slow { Delay::Uniform(1, 60) } else { Delay::Uniform(1, 4) };
        let graph = crate::common::gossip::graph(size, more, seed);
        let scenario = Scenario { delay, unordered, seed, ..started(graph, 0) };
        let outcome = run(&TwoTierParams::default(), &scenario);
        prop_assert!(outcome.agreement && !outcome.hung && outcome.leaders == [size - 1]);
        if !slow {
            prop_assert_eq!(words(&outcome), [3, 6, 6, 3, 0, 0]);
        }
    }
}
