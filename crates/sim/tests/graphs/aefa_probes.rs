//! AEFA's probes and beacons one by one: what they cost, what they notice, how leaders meet.

use crate::common::diffusion::{BEACON, PROBE, QUIET, run, survives};
use crate::common::elections::simulate;
use crate::common::waves::{neighbours, predicted, started};
use hustings_algorithms::graph::{Aefa, AefaParams, Preference};
use hustings_sim::scenario::{Delay, Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::{Network, Topology};
use proptest::prelude::*;

fn shaped(shape: &str, size: u32) -> Network {
    shape.parse::<Topology>().unwrap().build(size, 1).unwrap()
}

/// A beacon goes over every link like an announcement: 2E-(n-1). It says nothing about when a run is quiet.
#[test]
fn a_beacon_costs_what_an_announcement_costs() {
    for (shape, size) in [("complete", 6), ("grid:3x4", 12), ("random:5-10", 20), ("line", 2)] {
        let network = shaped(shape, size);
        let (mut by_kind, times) = predicted(&network, 0, size - 1);
        let beacon = 40;
        let scenario = Scenario { until: 1000, ..started(network, 0) };
        let outcome = simulate::<Aefa>(&AefaParams { beacon, ..AefaParams::default() }, &scenario);
        // The winner's periods began when the election reached it; it leads from tick `elected` on.
        let sent = outcome.by_kind[7] / by_kind[0];
        assert_eq!(outcome.by_kind[7] % by_kind[0], 0, "{shape}: none was cut short");
        assert!((1000 - 2 * beacon) / beacon <= sent && sent <= 1000 / beacon, "{shape}: {sent}");
        by_kind[7] = outcome.by_kind[7];
        assert_eq!((outcome.by_kind, outcome.time, outcome.hung), (by_kind, times, false), "{shape}");
    }
}

/// Probes are answered, and change no time, where nothing goes wrong. (Where a probe crosses an answer, that is sent
/// twice.)
#[test]
fn probes_change_nothing_where_nothing_goes_wrong() {
    for (shape, size) in [("line", 9), ("grid:3x4", 12), ("random:5-10", 30)] {
        let network = shaped(shape, size);
        let (by_kind, times) = predicted(&network, 0, size - 1);
        for probe in [1, 2, 3, 7] {
            let params = AefaParams { probe, ..AefaParams::default() };
            let outcome = simulate::<Aefa>(&params, &started(network.clone(), 0));
            assert_eq!((outcome.by_kind[0], outcome.by_kind[2]), (by_kind[0], by_kind[2]), "{shape} {probe}");
            assert!(outcome.by_kind[5] > 0 && outcome.by_kind[6] > 0, "{shape} {probe}");
            assert_eq!((outcome.time.elected, outcome.time.agreed), (times.elected, times.agreed), "{shape} {probe}");
        }
    }
}

/// docs/model.md#aefa: no beacon for six periods starts an election.
#[test]
fn a_leader_that_dies_is_missed_after_six_periods() {
    for size in [2, 5, 12] {
        let crash = 200;
        let faults = vec![Fault { tick: crash, what: FaultKind::Crash(size - 1) }];
        let scenario = Scenario { faults, until: crash + QUIET, ..started(shaped("complete", size), 0) };
        let (parts, outcome) = run(&scenario, PROBE, BEACON);
        assert_eq!(parts.check(&scenario.network, &scenario.ids), Ok(()));
        assert_eq!((outcome.leaders, outcome.agreement), (vec![size - 2], true));
        let elected = outcome.time.elected.unwrap();
        assert!(crash + 5 * BEACON < elected && elected < crash + 8 * BEACON + 12, "{elected}");
    }
}

/// docs/model.md#aefa: two leaders that meet: the greater stays.
#[test]
fn parts_have_a_leader_each_and_merge() {
    let network = shaped("grid:3x4", 12);
    let sides: Vec<u32> = (0..12).map(|at| u32::from(at >= 6)).collect();
    let apart = vec![Fault { tick: 3, what: FaultKind::Partition(sides) }];
    let scenario = Scenario { faults: apart.clone(), until: QUIET, ..started(network, 0) };
    let (parts, outcome) = run(&scenario, PROBE, BEACON);
    assert_eq!(parts.check(&scenario.network, &scenario.ids), Ok(()));
    assert_eq!(outcome.leaders, [5, 11], "the greatest of each side");
    let mended = [apart, vec![Fault { tick: QUIET, what: FaultKind::HealAll }]].concat();
    let (parts, outcome) =
        run(&Scenario { faults: mended, until: QUIET + 3 * BEACON, ..scenario.clone() }, PROBE, BEACON);
    assert_eq!(parts.check(&scenario.network, &scenario.ids), Ok(()));
    assert_eq!((outcome.leaders, outcome.agreement), (vec![11], true), "and nobody had to vote");
}

/// A message by id does not get through a partition, even where a link does: the winner is told by its neighbours.
#[test]
fn a_winner_that_cannot_be_told_directly_is_told_by_others() {
    let network = shaped("line", 4);
    let faults = vec![
        Fault { tick: 0, what: FaultKind::Partition(vec![0, 0, 1, 1]) },
        Fault { tick: 0, what: FaultKind::Heal(1, 2) },
    ];
    let (_, outcome) = run(&Scenario { faults, until: QUIET, ..started(network, 0) }, PROBE, BEACON);
    assert_eq!((outcome.leaders, outcome.agreement), (vec![3], true));
}

/// A node that comes back to nobody leads itself, and follows again when there is somebody.
#[test]
fn a_node_that_is_back_follows_or_leads_itself() {
    let network = shaped("line", 3);
    let faults = vec![
        Fault { tick: 50, what: FaultKind::Crash(2) },
        Fault { tick: 51, what: FaultKind::Cut(1, 2) },
        Fault { tick: 150, what: FaultKind::Recover(2) },
    ];
    let scenario = Scenario { faults, until: 150 + QUIET, ..started(network, 0) };
    let (_, outcome) = run(&scenario, PROBE, BEACON);
    assert_eq!(outcome.leaders, [1, 2]);
    let healed = [scenario.faults.clone(), vec![Fault { tick: 500, what: FaultKind::Heal(1, 2) }]].concat();
    let (_, outcome) = run(&Scenario { faults: healed, until: 500 + 4 * BEACON, ..scenario }, PROBE, BEACON);
    assert_eq!((outcome.leaders, outcome.agreement), (vec![2], true));
}

/// A node that is down from the start: its neighbours' messages come back, and count as answers.
#[test]
fn a_node_that_is_down_from_the_start_costs_a_message_a_neighbour_and_wave() {
    for (shape, size) in [("complete", 6), ("random:5-10", 20)] {
        let network = shaped(shape, size);
        let dead = u64::from(network.degree(size - 1));
        let each = 2 * (network.links() - dead) - (u64::from(size) - 2);
        let faults = vec![Fault { tick: 0, what: FaultKind::Crash(size - 1) }];
        let outcome = simulate::<Aefa>(&AefaParams::default(), &Scenario { faults, ..started(network, 0) });
        assert_eq!(outcome.by_kind, [each + dead, each, 1, each + dead, each, 0, 0, 0], "{shape}");
        assert_eq!((outcome.leaders, outcome.agreement, outcome.lost), (vec![size - 2], true, 2 * dead), "{shape}");
    }
}

/// Votes are gathered under faults too: whoever is gone cannot win.
#[test]
fn preference_survives_the_loss_of_its_leader() {
    let network = shaped("complete", 6);
    let votes = (0..6).map(|voter| (voter, 2)).collect();
    let faults = vec![Fault { tick: 100, what: FaultKind::Crash(2) }];
    let scenario = Scenario { votes, faults, until: 100 + QUIET, ..started(network, 0) };
    let outcome = simulate::<Preference>(&AefaParams { probe: PROBE, beacon: BEACON }, &scenario);
    assert_eq!((outcome.leaders, outcome.agreement), (vec![5], true));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// One message in ten is lost, all the time: what is not answered is asked again, and who missed a beacon hears it
    /// from those who did not.
    #[test]
    fn lost_messages_are_made_good(size in 2u32..16, more in 0u32..20, seed: u64, loss in 0.0..0.1) {
        let network = crate::common::gossip::graph(size, more, seed);
        let scenario = Scenario { loss, seed, until: 2 * QUIET, ..started(network, 0) };
        let (parts, _) = run(&scenario, PROBE, BEACON);
        prop_assert_eq!(parts.check(&scenario.network, &scenario.ids), Ok(()));
    }

    /// Copies of messages, at any time and in any order, change no result.
    #[test]
    fn copies_change_nothing(size in 2u32..16, more in 0u32..20, seed: u64, duplicate in 0.0..0.9, unordered: bool) {
        let network = crate::common::gossip::graph(size, more, seed);
        let delay = Delay::Uniform(1, 7);
        let scenario = Scenario { duplicate, delay, unordered, seed, ..started(network, 0) };
        let outcome = simulate::<Aefa>(&AefaParams::default(), &scenario);
        prop_assert_eq!((outcome.leaders, outcome.agreement, outcome.hung), (vec![size - 1], true, false));
    }

    /// Nodes that come and go forever, and messages that get lost, until they stop.
    #[test]
    fn it_settles_after_hard_times(
        size in 2u32..12, more in 0u32..12, seed: u64, toggles in prop::collection::vec((0u32..12, 1u64..9), 5..40),
    ) {
        let network = crate::common::gossip::graph(size, more, seed);
        let mut up = vec![true; size as usize];
        let (mut faults, mut tick) = (Vec::new(), 0);
        for (at, after) in toggles {
            let at = at % size;
            tick += after;
            up[at as usize] = !up[at as usize];
            let what = if up[at as usize] { FaultKind::Recover(at) } else { FaultKind::Crash(at) };
            faults.push(Fault { tick, what });
        }
        let peer = neighbours(&network, 0).next().expect("it has two nodes at least");
        faults.push(Fault { tick: tick + 1, what: FaultKind::Cut(0, peer) });
        let starts = vec![Start { at: 0, tick: 0 }, Start { at: size - 1, tick: 7 }];
        let scenario = Scenario { faults, starts, seed, loss: 0.02, until: tick + 2 * QUIET, ..Scenario::new(network) };
        prop_assert_eq!(survives(&scenario), Ok(()));
    }
}
