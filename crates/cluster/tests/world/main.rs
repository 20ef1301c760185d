//! Whole clusters of machines in one thread: simulated links, disks and clocks, and every fault that they can have.

mod claims;
mod faults;
mod net;

use faults::{Chaos, Plan};
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
fn without_the_drift_margin_somebody_acts_too_long() {
    let broken = hustings_cluster::machine::Broken { drift_margin: true, ..Default::default() };
    let found = (0..60).any(|seed| {
        std::panic::catch_unwind(|| {
            let plan = Plan { broken, lease_ms: 2_000, drift: 9_900, ..Plan::default() };
            let mut world = World::new(3, seed, plan);
            world.run_ms(1_000);
            Chaos::new(seed).harm(&mut world, 30_000);
        })
        .is_err()
    });
    assert!(found, "nothing was noticed");
}
