//! Disks that fail while their hosts store votes, grants, states of offices, members and snapshots. The hosts run the
//! real store on disks in memory.

use super::states::Programs;
use crate::api::Request;
use crate::member::Role;
use crate::store::tests::fake::{Fault, Operations};
use crate::tests::cluster::SimCluster;
use crate::tests::faults::{FaultInjector, Options};
use crate::tests::seeds;

/// A disk that fails, and whether its process is killed soon after the first failure.
#[derive(Clone, Copy, Debug)]
struct Failure {
    fault: Fault,
    is_killed: bool,
}

/// Programs store states, an office moves, a member is added, for which the log is compacted, and it is removed. Then
/// everything is killed, and two of the three nodes are started. Returns how many operations the disk of `node` had,
/// and whether one of them failed.
fn story(node: usize, failure: Option<Failure>) -> (usize, bool) {
    let mut cluster = SimCluster::new(3, 5, Options { jitter: false, preempt: false, ..Options::default() });
    let mut programs = Programs::default();
    cluster.run_ms(400);
    cluster.fail_disk(node, failure.map_or(Fault::once(usize::MAX, false), |failure| failure.fault));
    let has_failed =
        |cluster: &SimCluster| failure.is_some_and(|failure| cluster.disk_steps(node) > failure.fault.step);
    let (mut steps, mut failed) = (0, false);
    for moment in 0..20 {
        match moment {
            0 | 9 => programs.change(&mut cluster),
            3 => cluster.transfer(0, "fast", 1),
            5 => {
                let (name, address) = ("n4".to_string(), "h4:1".to_string());
                cluster.request(0, Request::AddMember { id: 4, name, address, priority: 0, role: Role::Observer });
            }
            13 => cluster.request(1, Request::RemoveMember { name: "n4".to_string(), force: false }),
            _ => {}
        }
        cluster.run_ms(20);
        programs.handle_replies(&mut cluster);
        steps = cluster.disk_steps(node).max(steps);
        if !failed && has_failed(&cluster) {
            failed = true;
            if failure.is_some_and(|failure| failure.is_killed) {
                cluster.kill(node);
                cluster.run_ms(10);
                cluster.start(node);
            }
        }
    }
    cluster.heal_disk(node);
    cluster.run_ms(200);
    programs.handle_replies(&mut cluster);
    // The disk that failed has to have what it acknowledged.
    (0..3).for_each(|node| cluster.kill(node));
    cluster.start(node);
    cluster.start((node + 1) % 3);
    cluster.run_ms(600);
    cluster.heal();
    cluster.run_ms(1_000);
    cluster.check_converged();
    programs.check_all(&mut cluster);
    (steps, failed)
}

#[test]
#[expect(clippy::print_stdout, reason = "says how much was tried")]
fn any_operation_of_a_disk_may_fail_in_a_cluster() {
    let (mut runs, mut failed) = (0, 0);
    for node in 0..3 {
        let (steps, _) = story(node, None);
        assert!(steps > 50, "{steps}");
        for step in 0..steps {
            let kinds = [
                Fault::once(step, step % 2 == 0),
                Fault::lasting(step, step % 2 == 1, Operations::Growing),
                Fault::lasting(step, false, Operations::Syncing),
            ];
            for (fault, is_killed) in kinds.into_iter().flat_map(|fault| [(fault, false), (fault, true)]) {
                let failure = Failure { fault, is_killed };
                let told = std::panic::catch_unwind(|| story(node, Some(failure)));
                let (_, has_failed) = told.unwrap_or_else(|_| panic!("node {node}: {failure:?}"));
                (runs, failed) = (runs + 1, failed + usize::from(has_failed));
            }
        }
    }
    println!("{failed} of {runs} disks failed");
    assert!(3 * failed > 2 * runs, "only {failed} of {runs} disks failed");
}

/// `HUSTINGS_DISK_CLUSTER_SEEDS=0-100000` tries more seeds.
#[test]
#[expect(clippy::print_stdout, reason = "says how much was tried")]
fn random_failures_of_disks_affect_no_promise() {
    let seeds = seeds("HUSTINGS_DISK_CLUSTER_SEEDS", 0..60);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let mut cluster = SimCluster::new(3, seed, Options { preempt: seed % 2 == 0, ..Options::default() });
        let (mut programs, mut faults) = (Programs::default(), FaultInjector::new(seed));
        programs.run_ms(&mut cluster, 500);
        for _ in 0..10 {
            faults.fail_disks(&mut cluster);
            programs.run_ms(&mut cluster, 100);
        }
        cluster.heal();
        cluster.run_ms(3_000);
        cluster.check_converged();
        programs.check_all(&mut cluster);
    }
    println!("{count} seeds");
}
