//! A new leader of the arbiter waits for the leases that earlier ones confirmed, and not longer.

use crate::tests::cluster::{MS, SimCluster};
use crate::tests::faults::Options;

/// A cluster in which the leader of the arbiter holds `job`. Also returns that node, and the others, of which the first
/// campaigns first.
fn led_by_the_holder(seed: u64) -> (SimCluster, usize, [usize; 2]) {
    let mut cluster = SimCluster::new(3, seed, Options { jitter: false, preempt: false, ..Options::default() });
    cluster.run_ms(3_000);
    let Some(leader) = cluster.arbiter_leader(0) else { panic!("seed {seed}: the arbiter has no leader") };
    cluster.transfer(leader, "job", leader);
    cluster.run_ms(300);
    assert_eq!(cluster.holders("job"), [leader], "seed {seed}");
    let others = [[1, 2], [0, 2], [0, 1]][leader];
    (cluster, leader, others)
}

/// Runs until another node holds `job`. Returns how long that took; an overlap is found by the checker.
fn takeover_ms(cluster: &mut SimCluster, before: u64) -> u64 {
    let began = cluster.now;
    while cluster.leases.highest_token("job") == before {
        assert!(cluster.now < began + 3_000 * MS, "seed {}: the office is not granted again", cluster.seed);
        cluster.run_ms(1);
    }
    (cluster.now - began) / MS
}

#[test]
fn a_candidate_that_heard_nothing_for_long_counts_from_the_support_of_its_voters() {
    let mut led = 0;
    for seed in 0..60 {
        let (mut cluster, leader, [deaf, other]) = led_by_the_holder(seed);
        let before = cluster.leases.highest_token("job");
        // One node hears nobody, while the leader and the third node confirm the holder's lease.
        cluster.cut.extend([(leader, deaf), (other, deaf)]);
        cluster.run_ms(400);
        cluster.cut.clear();
        cluster.cut(leader, deaf);
        cluster.cut(leader, other);
        takeover_ms(&mut cluster, before);
        led += usize::from(cluster.arbiter_leader(other) == Some(deaf));
    }
    assert!(led > 5, "the node that heard nobody was elected only {led} times, so the test shows little");
}

#[test]
fn voters_that_were_restarted_count_from_their_start() {
    for seed in 0..20 {
        let (mut cluster, leader, others) = led_by_the_holder(seed);
        let before = cluster.leases.highest_token("job");
        for node in others {
            cluster.cut(leader, node);
            cluster.kill(node);
            cluster.start(node);
        }
        let took = takeover_ms(&mut cluster, before);
        assert!((290..400).contains(&took), "seed {seed}: it took {took} ms");
    }
}
