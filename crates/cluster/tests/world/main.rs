//! Whole clusters of cores in one thread: simulated links, disks and clocks, and every fault that they can have.

mod claims;
mod faults;
mod net;
mod restart;

use faults::{Chaos, Plan};
use hustings_cluster::core::Broken;
use net::World;

fn seeds() -> std::ops::Range<u64> {
    match std::env::var("HUSTINGS_SEEDS")
        .ok()
        .and_then(|text| text.split_once('-').map(|(a, b)| (a.to_string(), b.to_string())))
    {
        Some((from, to)) => from.parse().expect("a number")..to.parse().expect("a number"),
        None => 0..30,
    }
}

#[test]
fn three_nodes_elect_the_best_and_agree() {
    for seed in 0..10 {
        let mut world = World::new(3, seed, Plan::default());
        world.run_ms(2_000);
        let leaders = world.leaders("leader");
        assert_eq!(leaders, vec![Some("n3".to_string()); 3], "seed {seed}");
    }
}

#[test]
fn a_killed_holder_is_replaced_in_no_time_if_the_office_is_fenced() {
    for seed in 0..10 {
        let mut world = World::new(3, seed, Plan { fenced: true, slow: false, ..Plan::default() });
        world.run_ms(2_000);
        world.kill(2);
        world.run_ms(20);
        assert_eq!(world.leaders("leader")[..2], vec![Some("n2".to_string()); 2], "seed {seed}");
    }
}

#[test]
fn whatever_is_broken_no_two_hold_an_exclusive_office() {
    for seed in seeds() {
        for nodes in [3, 5] {
            let mut world = World::new(nodes, seed, Plan { preempt: seed % 2 == 0, ..Plan::default() });
            world.run_ms(1_000);
            Chaos::new(seed).harm(&mut world, 20_000);
            world.heal();
            world.run_ms(8_000);
            world.check_calm();
        }
    }
}

#[test]
fn a_leader_of_the_arbiter_that_was_frozen_does_not_show_an_old_holder_as_current() {
    let mut tried = 0;
    for seed in 0..20 {
        let mut world = World::new(3, seed, Plan { slow: false, preempt: false, lease_ms: 1_000, ..Plan::default() });
        world.run_ms(3_000);
        let Some(frozen) = world.arbiter_leader(0) else { panic!("seed {seed}: the arbiter has no leader") };
        let operator = (frozen + 1) % 3;
        assert_eq!(world.leaders("fast"), vec![Some("n3".to_string()); 3], "seed {seed}");
        world.freeze(frozen);
        world.run_ms(300);
        let claims = world.claims.count;
        let next = (0..2).find(|node| *node != frozen).expect("there are two");
        world.transfer(operator, "fast", next);
        world.run_ms(100);
        tried += usize::from(frozen != 2 && world.claims.count > claims);
        let current = world.claims.current;
        world.thaw_and_ask(frozen, Some("fast"));
        world.run_ms(500);
        assert!(world.claims.current > current, "seed {seed}: it never knew");
    }
    assert!(tried > 5, "the office moved while the leader was frozen in {tried} worlds only");
}

/// The best node's clock is as slow, and those of the others are as fast, as they may be; then it is cut off.
fn cut_off_a_slow_holder(broken: Broken) {
    let mut world =
        World::new(3, 1, Plan { broken, lease_ms: 10_000, drift: 4_990, slow_best: true, ..Plan::default() });
    world.run_ms(5_000);
    assert_eq!(world.leaders("job"), vec![Some("n3".to_string()); 3]);
    world.cut(2, 0);
    world.cut(2, 1);
    world.run_ms(12_000);
    assert_eq!(world.leaders("job")[..2], vec![Some("n2".to_string()); 2]);
}

#[test]
fn a_holder_whose_clock_is_slow_stops_in_time() {
    cut_off_a_slow_holder(Broken::default());
}

#[test]
#[should_panic(expected = "but also")]
fn without_the_drift_margin_it_acts_too_long() {
    cut_off_a_slow_holder(Broken { drift_margin: true, ..Broken::default() });
}

#[test]
fn one_cut_link_moves_no_office() {
    for seed in 0..6 {
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            for ends in [false, true] {
                let mut world = World::new(3, seed, Plan { slow: false, ..Plan::default() });
                world.run_ms(3_000);
                let claims = world.claims.count;
                world.cut(one, other);
                if ends {
                    world.disconnect(one, other);
                }
                world.run_ms(5_000);
                let news = world.claims.count - claims;
                assert_eq!(news, 0, "seed {seed}: between {one} and {other}: {}", world.dump());
                world.check_calm();
            }
        }
    }
}

#[test]
fn a_minority_grants_nothing_and_its_holder_stops_first() {
    for seed in 0..10 {
        let mut world = World::new(5, seed, Plan::default());
        world.run_ms(3_000);
        assert_eq!(world.leaders("job"), vec![Some("n5".to_string()); 5], "seed {seed}");
        for minor in [3, 4] {
            (0..3).for_each(|major| world.cut(minor, major));
        }
        world.run_ms(3_000);
        let n3 = Some("n3".to_string());
        assert_eq!(world.leaders("job"), [n3.clone(), n3.clone(), n3, None, None], "seed {seed}");
    }
}

#[test]
fn a_thousand_offices_move_together() {
    let mut world = World::new(3, 1, Plan { offices: 1_000, slow: false, ..Plan::default() });
    world.run_ms(4_000);
    assert_eq!(world.leaders("office-999"), vec![Some("n3".to_string()); 3]);
    world.kill(2);
    world.run_ms(1_000);
    for office in ["office-0", "office-500", "office-999"] {
        assert_eq!(world.leaders(office)[..2], vec![Some("n2".to_string()); 2]);
    }
}

#[test]
fn promises_before_the_disk_has_them_are_broken() {
    let broken = Broken { durable_before_send: true, ..Broken::default() };
    let is_noticed = |seed: u64| {
        std::panic::catch_unwind(|| {
            let mut world = World::new(3, seed, Plan { broken, lazy_disk: true, ..Plan::default() });
            world.run_ms(1_000);
            Chaos::new(seed).harm(&mut world, 30_000);
        })
        .is_err()
    };
    assert!((0..40).any(is_noticed), "nothing was noticed");
}

#[test]
fn disks_that_take_a_second_make_it_slow_and_not_wrong() {
    for seed in 0..10 {
        let mut world = World::new(3, seed, Plan { lazy_disk: true, ..Plan::default() });
        world.run_ms(5_000);
        Chaos::new(seed).harm(&mut world, 40_000);
        world.heal();
        world.run_ms(40_000);
        world.check_calm();
    }
}

/// Without an arbiter and on slow links, the best node is killed and comes back so much later: while the others elect
/// its deputy, while word of the deputy goes round, or when that is over. Who leads in the end, everywhere.
fn after_the_best_came_back(broken: Broken, gone_ms: u64) -> Vec<Option<String>> {
    let mut world = World::new(5, 1, Plan { broken, alone: true, late_ms: 40, slow: false, ..Plan::default() });
    world.run_ms(3_000);
    world.kill(4);
    world.run_ms(gone_ms);
    world.start(4);
    world.run_ms(5_000);
    world.leaders("job")
}

#[test]
fn mail_of_an_election_that_is_over_decides_nothing() {
    let best = vec![Some("n5".to_string()); 5];
    let broken = Broken { stale_runs: true, ..Broken::default() };
    let mut harmed = 0;
    for gone_ms in (0..400).step_by(10) {
        assert_eq!(after_the_best_came_back(Broken::default(), gone_ms), best, "gone for {gone_ms} ms");
        harmed += usize::from(after_the_best_came_back(broken, gone_ms) != best);
    }
    assert!(harmed > 4, "where old mail is taken, it does lasting harm: {harmed}");
}
