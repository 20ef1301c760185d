//! A new leader of the arbiter waits for the leases that earlier ones confirmed, and not longer.

use crate::faults::{DisabledRules, Rule};
use crate::tests::cluster::{MS, SimCluster};
use crate::tests::faults::Options;

/// A cluster in which the leader of the arbiter holds `job`. Also returns that node, and the others, of which the first
/// campaigns first.
fn led_by_the_holder(seed: u64) -> (SimCluster, usize, [usize; 2]) {
    led_by_the_holder_with(Options { jitter: false, preempt: false, ..Options::default() }, seed)
}

/// The same with these options.
fn led_by_the_holder_with(options: Options, seed: u64) -> (SimCluster, usize, [usize; 2]) {
    let mut cluster = SimCluster::new(3, seed, options);
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
        assert!(cluster.now < began + 15_000 * MS, "seed {}: the office is not granted again", cluster.seed);
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
        // One node hears nobody, while the leader and the third node confirm the holder's lease. It gives its
        // connections up in the end; with a new one it campaigns in its turn.
        cluster.cut.extend([(leader, deaf), (other, deaf)]);
        cluster.run_ms(1_400);
        cluster.cut.clear();
        cluster.cut(leader, deaf);
        cluster.cut(leader, other);
        takeover_ms(&mut cluster, before);
        led += usize::from(cluster.arbiter_leader(other) == Some(deaf));
    }
    assert!(led > 5, "the node that heard nobody was elected only {led} times, so the test shows little");
}

/// Every combination of clocks that are as slow or as fast as allowed. The holder is cut off, and the next leader is
/// elected when half of the lease has passed: that half is measured by the voter, and the rest by the leader.
fn takeover_with_clocks_at_the_bounds(disabled_rules: DisabledRules) -> u64 {
    const SLOW: [&[usize]; 8] = [&[], &[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]];
    let (mut fastest, mut voted) = (u64::MAX, 0);
    for (slow, seed) in SLOW.into_iter().flat_map(|slow| (0..4).map(move |seed| (slow, seed))) {
        let clocks = Options { lease_ms: 10_000, drift_ppm: 4_990, slow_clocks: Some(slow), ..Options::default() };
        let options = Options { jitter: false, preempt: false, disabled_rules, ..clocks };
        let (mut cluster, leader, [deaf, other]) = led_by_the_holder_with(options, seed);
        let before = cluster.leases.highest_token("job");
        // One of the two has heard nobody for longer, so that it must count from the support of the other.
        cluster.cut.extend([(leader, deaf), (other, deaf)]);
        cluster.run_ms(400);
        let last_support = cluster.now;
        for (one, another) in [(leader, deaf), (leader, other), (deaf, other)] {
            cluster.cut(one, another);
        }
        cluster.run_ms(5_000);
        cluster.heal_link(deaf, other);
        takeover_ms(&mut cluster, before);
        voted += usize::from(cluster.arbiter_leader(other) == Some(deaf));
        let took = (cluster.now - last_support) / MS;
        assert!(took < 10_300, "seed {seed}, {slow:?}: it took {took} ms, although nobody could act for that long");
        fastest = fastest.min(took);
    }
    assert!(voted > 5, "the node that heard nobody was elected only {voted} times, so the test shows little");
    fastest
}

#[test]
fn the_age_of_a_vote_and_the_rest_of_the_wait_may_be_measured_on_different_clocks() {
    let fastest = takeover_with_clocks_at_the_bounds(DisabledRules::default());
    assert!((9_900..10_080).contains(&fastest), "the allowance for the drift is used up: {fastest} ms");
}

#[test]
#[should_panic(expected = "but also")]
fn without_the_drift_margin_the_age_of_a_vote_is_not_enough() {
    takeover_with_clocks_at_the_bounds(Rule::DriftMargin.into());
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
