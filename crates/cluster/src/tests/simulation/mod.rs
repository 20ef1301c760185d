//! Clusters of cores in one thread, with simulated links, disks and clocks, and with faults in all of them.

mod disks;
mod earlier_leases;
mod membership;
mod old_disks;
mod restart;
mod rolling_changes;
mod rolling_upgrade;
mod states;

use std::time::Duration;

use crate::faults::{DisabledRules, Rule};
use crate::tests::cluster::{MS, SimCluster};
use crate::tests::faults::{FaultInjector, Options};
use crate::tests::seeds;
use crate::timing::Timing;

#[test]
fn three_nodes_agree_on_the_best_candidate() {
    for seed in 0..10 {
        let mut cluster = SimCluster::new(3, seed, Options::default());
        cluster.run_ms(2_000);
        let leaders = cluster.leaders("leader");
        assert_eq!(leaders, vec![Some("n3".to_string()); 3], "seed {seed}");
    }
}

#[test]
fn a_killed_holder_of_a_fenced_office_is_replaced_within_milliseconds() {
    for seed in 0..10 {
        let mut cluster = SimCluster::new(3, seed, Options { fenced: true, jitter: false, ..Options::default() });
        cluster.run_ms(2_000);
        cluster.kill(2);
        cluster.run_ms(20);
        assert_eq!(cluster.leaders("leader")[..2], vec![Some("n2".to_string()); 2], "seed {seed}");
    }
}

#[test]
fn exclusive_leases_never_overlap_under_random_faults() {
    for seed in seeds("HUSTINGS_SEEDS", 0..400) {
        for nodes in [3, 5] {
            let mut cluster = SimCluster::new(nodes, seed, Options { preempt: seed % 2 == 0, ..Options::default() });
            cluster.run_ms(1_000);
            FaultInjector::new(seed).run_ms_with_faults(&mut cluster, 20_000);
            cluster.heal();
            cluster.run_ms(8_000);
            cluster.check_converged();
        }
    }
}

#[test]
fn a_resumed_arbiter_leader_does_not_show_a_former_holder_as_current() {
    let mut moved = 0;
    for seed in 0..20 {
        let mut cluster =
            SimCluster::new(3, seed, Options { jitter: false, preempt: false, lease_ms: 1_000, ..Options::default() });
        cluster.run_ms(3_000);
        let Some(frozen) = cluster.arbiter_leader(0) else { panic!("seed {seed}: the arbiter has no leader") };
        let operator = (frozen + 1) % 3;
        assert_eq!(cluster.leaders("fast"), vec![Some("n3".to_string()); 3], "seed {seed}");
        cluster.freeze(frozen);
        cluster.run_ms(300);
        let acquired_before = cluster.leases.acquired;
        let next = (0..2).find(|node| *node != frozen).expect("there are two candidates");
        cluster.transfer(operator, "fast", next);
        cluster.run_ms(100);
        moved += usize::from(frozen != 2 && cluster.leases.acquired > acquired_before);
        let answers_before = cluster.leases.current_answers;
        cluster.resume_and_read(frozen, Some("fast"));
        cluster.run_ms(500);
        assert!(cluster.leases.current_answers > answers_before, "seed {seed}: no read was answered as current");
    }
    assert!(moved > 5, "the office moved while the leader was frozen in only {moved} clusters");
}

#[test]
fn a_killed_holder_of_an_exclusive_office_is_replaced_when_its_lease_ends() {
    for seed in 0..20 {
        let mut cluster = SimCluster::new(3, seed, Options { jitter: false, preempt: false, ..Options::default() });
        cluster.run_ms(3_000 + 7 * seed);
        let (before, killed_at) = (cluster.leases.highest_token("job"), cluster.now);
        cluster.kill(2);
        while cluster.leases.highest_token("job") == before {
            assert!(cluster.now < killed_at + 2_000 * MS, "seed {seed}: the office is not granted again");
            cluster.run_ms(1);
        }
        let took = (cluster.now - killed_at) / MS;
        // The lease and the drift, counted from the holder's last answer.
        assert!(took <= 310, "seed {seed}: it took {took} ms");
    }
}

#[test]
fn a_frozen_holder_that_also_led_the_arbiter_is_replaced_when_its_lease_ends() {
    for seed in 0..20 {
        let mut cluster = SimCluster::new(3, seed, Options { jitter: false, preempt: false, ..Options::default() });
        cluster.run_ms(3_000);
        let Some(leader) = cluster.arbiter_leader(0) else { panic!("seed {seed}: the arbiter has no leader") };
        cluster.transfer(leader, "job", leader);
        cluster.run_ms(200);
        assert_eq!(cluster.leaders("job")[leader], Some(format!("n{}", leader + 1)), "seed {seed}");
        let (before, frozen_at) = (cluster.leases.highest_token("job"), cluster.now);
        cluster.freeze(leader);
        while cluster.leases.highest_token("job") == before {
            assert!(cluster.now < frozen_at + 2_000 * MS, "seed {seed}: the office is not granted again");
            cluster.run_ms(1);
        }
        let took = (cluster.now - frozen_at) / MS;
        // The lease, twice the drift, and a heartbeat; not the lease counted again from the election of the next
        // leader.
        assert!(took <= 365, "seed {seed}: it took {took} ms");
    }
}

/// Isolates the best node, whose clock is as slow as allowed, while those of the others are as fast as allowed.
fn isolate_holder_with_slow_clock(disabled_rules: DisabledRules) {
    let mut cluster = SimCluster::new(
        3,
        1,
        Options { disabled_rules, lease_ms: 10_000, drift_ppm: 4_990, slow_clocks: Some(&[2]), ..Options::default() },
    );
    cluster.run_ms(5_000);
    assert_eq!(cluster.leaders("job"), vec![Some("n3".to_string()); 3]);
    cluster.cut(2, 0);
    cluster.cut(2, 1);
    cluster.run_ms(12_000);
    assert_eq!(cluster.leaders("job")[..2], vec![Some("n2".to_string()); 2]);
}

#[test]
fn a_holder_with_a_slow_clock_stops_in_time() {
    isolate_holder_with_slow_clock(DisabledRules::default());
}

#[test]
#[should_panic(expected = "but also")]
fn without_the_drift_margin_leases_overlap() {
    isolate_holder_with_slow_clock(Rule::DriftMargin.into());
}

#[test]
fn a_single_cut_link_moves_no_office() {
    for seed in 0..6 {
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            for ends in [false, true] {
                let mut cluster = SimCluster::new(3, seed, Options { jitter: false, ..Options::default() });
                cluster.run_ms(3_000);
                let acquired_before = cluster.leases.acquired;
                cluster.cut(one, other);
                if ends {
                    cluster.disconnect(one, other);
                }
                cluster.run_ms(5_000);
                let acquired = cluster.leases.acquired - acquired_before;
                assert_eq!(acquired, 0, "seed {seed}: between {one} and {other}: {}", cluster.debug_state());
                cluster.check_converged();
            }
        }
    }
}

#[test]
fn voters_on_slow_links_do_not_compete_for_long() {
    let timing = |timing: &mut Timing| {
        timing.tick = Duration::from_millis(250);
        timing.silence_floor = Duration::from_millis(600);
        timing.silence_ceiling = Duration::from_millis(2_000);
    };
    for seed in 0..20 {
        // A message takes much longer than all voters need to begin their campaigns.
        let options = Options { extra_delay_ms: 200, lease_ms: 2_000, jitter: false, timing, ..Options::default() };
        let mut cluster = SimCluster::new(if seed % 2 == 0 { 3 } else { 5 }, seed, options);
        let mut took_ms = 0;
        while (0..cluster.size()).any(|node| cluster.arbiter_leader(node).is_none()) {
            cluster.run_ms(100);
            took_ms += 100;
            assert!(took_ms < 8_000, "seed {seed}: the arbiter has no leader: {}", cluster.debug_state());
        }
    }
}

#[test]
fn a_minority_grants_nothing_and_its_holder_stops_in_time() {
    for seed in 0..10 {
        let mut cluster = SimCluster::new(5, seed, Options::default());
        cluster.run_ms(3_000);
        assert_eq!(cluster.leaders("job"), vec![Some("n5".to_string()); 5], "seed {seed}");
        for minority in [3, 4] {
            (0..3).for_each(|majority| cluster.cut(minority, majority));
        }
        cluster.run_ms(3_000);
        let n3 = Some("n3".to_string());
        assert_eq!(cluster.leaders("job"), [n3.clone(), n3.clone(), n3, None, None], "seed {seed}");
    }
}

#[test]
fn a_thousand_offices_move_together() {
    let mut cluster = SimCluster::new(3, 1, Options { extra_offices: 1_000, jitter: false, ..Options::default() });
    cluster.run_ms(4_000);
    assert_eq!(cluster.leaders("office-999"), vec![Some("n3".to_string()); 3]);
    cluster.kill(2);
    cluster.run_ms(1_000);
    for office in ["office-0", "office-500", "office-999"] {
        assert_eq!(cluster.leaders(office)[..2], vec![Some("n2".to_string()); 2]);
    }
}

#[test]
fn acknowledging_before_durability_is_detected() {
    let disabled_rules = DisabledRules::from(Rule::DurableBeforeSend);
    let is_detected = |seed: u64| {
        std::panic::catch_unwind(|| {
            let mut cluster =
                SimCluster::new(3, seed, Options { disabled_rules, slow_disk: true, ..Options::default() });
            cluster.run_ms(1_000);
            FaultInjector::new(seed).run_ms_with_faults(&mut cluster, 30_000);
        })
        .is_err()
    };
    assert!((0..40).any(is_detected), "no violation was detected");
}

#[test]
fn very_slow_disks_do_not_affect_safety() {
    for seed in 0..500 {
        let mut cluster = SimCluster::new(3, seed, Options { slow_disk: true, ..Options::default() });
        // Until all disks are registered.
        cluster.run_ms(20_000);
        FaultInjector::new(seed).run_ms_with_faults(&mut cluster, 40_000);
        cluster.heal();
        cluster.run_ms(40_000);
        cluster.check_converged();
    }
}

/// Without an arbiter and on slow links, kills the best node and restarts it after `down_ms`: while the others elect a
/// successor, while they announce it, or after that. Returns the leader that each node names in the end.
fn leaders_after_best_restarts(disabled_rules: DisabledRules, down_ms: u64) -> Vec<Option<String>> {
    let mut cluster = SimCluster::new(
        5,
        1,
        Options { disabled_rules, without_arbiter: true, extra_delay_ms: 40, jitter: false, ..Options::default() },
    );
    cluster.run_ms(3_000);
    cluster.kill(4);
    cluster.run_ms(down_ms);
    cluster.start(4);
    cluster.run_ms(5_000);
    cluster.leaders("job")
}

#[test]
fn messages_of_earlier_elections_have_no_effect() {
    let best = vec![Some("n5".to_string()); 5];
    let disabled_rules = DisabledRules::from(Rule::StaleRuns);
    let mut wrong = 0;
    for down_ms in (0..400).step_by(10) {
        assert_eq!(leaders_after_best_restarts(DisabledRules::default(), down_ms), best, "down for {down_ms} ms");
        wrong += usize::from(leaders_after_best_restarts(disabled_rules, down_ms) != best);
    }
    assert!(
        wrong > 4,
        "accepting messages of earlier elections must have lasting effects, but had them only {wrong} times"
    );
}
