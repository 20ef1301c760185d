//! Older copies of disks, in clusters with slow and lost messages.

use crate::tests::cluster::SimCluster;
use crate::tests::faults::Options;

#[test]
fn an_old_copy_that_another_member_has_heard_of_stops_before_it_is_counted() {
    let mut stopped = 0;
    for seed in 0..40 {
        let mut cluster = SimCluster::new(3, seed, Options { preempt: false, ..Options::default() });
        cluster.run_ms(3_000);
        let copy = cluster.copy_disk(1);
        for _ in 0..4 {
            cluster.transfer(0, "job", 0);
            cluster.run_ms(400);
            cluster.transfer(0, "job", 1);
            cluster.run_ms(400);
        }
        let before = cluster.leases.highest_token("job");
        cluster.kill(0);
        cluster.restart_with(&copy);
        cluster.run_ms(3_000);
        assert!(cluster.refused_as(1).is_some(), "seed {seed}: it is written before the process stops");
        stopped += usize::from(!cluster.is_running(1));
        cluster.heal();
        cluster.run_ms(6_000);
        // Tokens that go back are noticed when they are granted.
        assert!(cluster.leases.highest_token("job") >= before, "seed {seed}");
        cluster.check_converged();
    }
    assert_eq!(stopped, 40, "the third host remembers how far the second one was");
}

#[test]
fn a_disk_that_lost_nothing_is_never_refused() {
    for seed in 0..40 {
        let mut cluster = SimCluster::new(3, seed, Options { slow_disk: seed % 4 == 0, ..Options::default() });
        cluster.run_ms(3_000);
        for node in (0..30).map(|step| step % 3) {
            cluster.transfer(node, "job", (node + 1) % 3);
            cluster.run_ms(37 * (seed % 7 + 1));
            // Another exit than that of a member with a blank disk is an error.
            cluster.kill(node);
            cluster.run_ms(20);
            cluster.start(node);
            cluster.run_ms(200);
        }
    }
}
