//! The configuration is changed on one member after the other, while the cluster runs and its members fail.

use std::time::Duration;

use crate::config::{AlgorithmConfig, Config, Mode};
use crate::tests::cluster::SimCluster;
use crate::tests::faults::Options;

/// Restarts every node with a changed configuration, each after a crash at a random moment, and once more crashes the
/// holder, while the configurations differ. What must not happen is checked all the time.
fn roll_out(lease_ms: u64, change: fn(&mut Config)) {
    roll_out_in(Options { lease_ms, ..Options::default() }, change, |_| {});
}

/// The same in clusters with these options; `check` is called in the end.
fn roll_out_in(options: Options, change: fn(&mut Config), check: fn(&mut SimCluster)) {
    for seed in 0..12 {
        let mut cluster = SimCluster::new(3, seed, options);
        cluster.run_ms(3_000);
        // The best node holds the offices; it is changed first, last, or between the others.
        for step in 0..3 {
            let node = (step + seed as usize) % 3;
            cluster.changes.insert(node, change);
            cluster.kill(node);
            cluster.run_ms(20 + 37 * seed);
            cluster.start(node);
            cluster.run_ms(200 + 61 * seed);
            let holder = cluster.holders("job").first().copied();
            if let Some(holder) = holder.filter(|_| seed % 2 == 0) {
                cluster.kill(holder);
                cluster.run_ms(100);
                cluster.start(holder);
            }
            cluster.run_ms(700);
        }
        cluster.run_ms(25_000);
        cluster.check_converged();
        check(&mut cluster);
    }
}

#[test]
fn fenced_offices_become_exclusive() {
    let options = Options { fenced: true, lease_ms: 1_000, ..Options::default() };
    roll_out_in(options, |config| config.default_policy.mode = Mode::Exclusive, |cluster| check_mode(cluster, true));
}

#[test]
fn exclusive_offices_become_fenced() {
    let options = Options { lease_ms: 1_000, ..Options::default() };
    roll_out_in(options, |config| config.default_policy.mode = Mode::Fenced, |cluster| check_mode(cluster, false));
}

/// Checks that the offices have moved on to the new mode.
fn check_mode(cluster: &mut SimCluster, exclusive: bool) {
    for office in ["leader", "job"] {
        assert_eq!(cluster.is_held_exclusively(2, office), exclusive, "seed {}: {office}", cluster.seed);
    }
}

#[test]
fn a_lease_becomes_much_shorter() {
    roll_out(10_000, |config| config.timing.lease = Duration::from_millis(300));
}

#[test]
fn a_lease_becomes_much_longer() {
    roll_out(300, |config| config.timing.lease = Duration::from_secs(10));
}

#[test]
fn a_lease_of_one_office_becomes_much_shorter() {
    let lease = |config: &mut Config| config.default_policy.lease = Some(Duration::from_millis(400));
    roll_out(5_000, lease);
}

#[test]
fn heartbeats_become_rarer() {
    roll_out(1_000, |config| {
        config.timing.heartbeat *= 3;
        config.timing.silence_floor *= 3;
        config.timing.silence_ceiling *= 3;
    });
}

#[test]
fn a_larger_drift_is_allowed() {
    roll_out(1_000, |config| config.timing.drift_ppm *= 4);
}

#[test]
fn another_algorithm_elects() {
    roll_out(1_000, |config| config.algorithm = AlgorithmConfig::named("chang-roberts", Some(Vec::new())));
}
