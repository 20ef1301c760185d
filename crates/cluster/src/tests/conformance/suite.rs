//! What every arbiter must do. The clients of the simulated cluster check on their own that tokens of exclusive offices
//! only grow, that exclusive leases never overlap in true time, and that reads are current: `lease_checker`.

use super::Subject;
use crate::api::{Change, Reply, Request};
use crate::tests::cluster::SimCluster;
use crate::tests::faults::{FaultInjector, Options};

/// Calm links and disks, and no preemption.
fn calm() -> Options {
    Options { preempt: false, jitter: false, ..Options::default() }
}

/// Runs until exactly this node holds an office. Returns after how many milliseconds.
fn run_until_held_by(cluster: &mut SimCluster, office: &str, node: usize, limit_ms: u64) -> u64 {
    for passed in 0..limit_ms {
        if cluster.holders(office) == [node] {
            return passed;
        }
        cluster.run_ms(1);
    }
    let holders = cluster.holders(office);
    panic!("{office} is held by {holders:?} after {limit_ms} ms, not by {node}: {}", cluster.debug_state());
}

/// Runs until anybody but this node holds an office. Returns the holder.
fn run_until_held_by_other(cluster: &mut SimCluster, office: &str, than: usize, limit_ms: u64) -> usize {
    for _ in 0..limit_ms {
        if let [holder] = cluster.holders(office)[..]
            && holder != than
        {
            return holder;
        }
        cluster.run_ms(1);
    }
    panic!("nobody else holds {office} after {limit_ms} ms: {}", cluster.debug_state());
}

/// The answer to an operator's request.
fn ask(cluster: &mut SimCluster, node: usize, request: Request, limit_ms: u64) -> Reply {
    cluster.take_operator_replies();
    let text = format!("{request:?}");
    cluster.request(node, request);
    for _ in 0..limit_ms {
        match cluster.take_operator_replies().pop() {
            Some(reply) => return reply,
            None => cluster.run_ms(1),
        }
    }
    panic!("{text} is not answered: {}", cluster.debug_state());
}

/// An operator's request that must succeed.
fn operate(cluster: &mut SimCluster, node: usize, request: Request, limit_ms: u64) {
    let text = format!("{request:?}");
    let reply = ask(cluster, node, request, limit_ms);
    assert!(reply == Reply::Done, "{text}: {reply:?}");
}

/// Transfers an office, which must succeed.
fn transfer(cluster: &mut SimCluster, office: &str, to: usize, limit_ms: u64) {
    let request = Request::Transfer { office: office.to_string(), to: format!("n{}", to + 1) };
    operate(cluster, 0, request, limit_ms);
    run_until_held_by(cluster, office, to, limit_ms);
}

/// Runs until the last node holds the office `job`. Whoever was up first may have been granted it before.
fn settle(cluster: &mut SimCluster, limit_ms: u64) {
    run_until_held_by_other(cluster, "job", usize::MAX, limit_ms);
    cluster.run_ms(limit_ms / 2);
    if cluster.holders("job") != [2] {
        transfer(cluster, "job", 2, limit_ms);
    }
}

/// The changes of an office as a node knows them.
fn history(cluster: &mut SimCluster, node: usize, office: &str) -> Vec<Change> {
    cluster.take_operator_replies();
    cluster.request(node, Request::History { office: Some(office.to_string()) });
    match cluster.take_operator_replies().pop() {
        Some(Reply::History { changes }) => changes,
        other => panic!("node {node} answers {other:?}"),
    }
}

pub(crate) fn tokens_only_grow(subject: &dyn Subject) {
    let mut cluster = subject.cluster(3, 1, calm(), 0);
    settle(&mut cluster, 3_000);
    for round in 0..6 {
        let before = cluster.leases.highest_token("job");
        transfer(&mut cluster, "job", round % 3, 3_000);
        let after = cluster.leases.highest_token("job");
        assert!(after > before, "token {after} after {before}");
    }
    for round in 0..3 {
        let [holder] = cluster.holders("job")[..] else { panic!("round {round}: nobody holds the office") };
        let before = cluster.leases.highest_token("job");
        cluster.kill(holder);
        run_until_held_by_other(&mut cluster, "job", holder, 3_000);
        assert!(cluster.leases.highest_token("job") > before);
        cluster.start(holder);
        cluster.run_ms(2_000);
    }
    let changes = history(&mut cluster, 0, "job");
    let granted: Vec<u64> =
        changes.iter().filter(|change| change.holder.is_some()).map(|change| change.token).collect();
    assert!(granted.len() >= 9 && granted.is_sorted_by(|one, next| one < next), "tokens {granted:?}");
}

pub(crate) fn exclusive_leases_never_overlap_under_faults(subject: &dyn Subject) {
    for seed in 0..12 {
        let nodes = if seed % 3 == 0 { 5 } else { 3 };
        let options = Options { preempt: seed % 2 == 0, ..Options::default() };
        let mut cluster = subject.cluster(nodes, seed, options, 0);
        cluster.run_ms(1_000);
        let mut faults = FaultInjector::new(seed);
        for round in 0..6 {
            faults.run_ms_with_faults(&mut cluster, 2_000);
            match (seed + round) % 4 {
                0 => cluster.isolate((seed + round) as usize % nodes),
                1 => cluster.silence_authority(),
                2 => cluster.restore_authority(),
                _ => cluster.restart_authority(),
            }
        }
        assert!(cluster.leases.acquired > 0 && cluster.leases.current_answers > 0, "seed {seed}: nothing happened");
        cluster.heal_everything();
        cluster.run_ms(8_000);
        cluster.check_converged();
    }
}

pub(crate) fn a_lease_that_is_renewed_in_time_continues(subject: &dyn Subject) {
    let mut cluster = subject.cluster(3, 2, Options { lease_ms: 1_000, ..calm() }, 0);
    settle(&mut cluster, 3_000);
    cluster.run_ms(1_000);
    let token = cluster.leases.highest_token("job");
    for _ in 0..5 {
        cluster.silence_authority();
        cluster.run_ms(subject.longest_silence_ms());
        cluster.restore_authority();
        cluster.run_ms(600);
        assert_eq!(cluster.holders("job"), [2]);
    }
    assert_eq!(cluster.leases.highest_token("job"), token, "the office was granted again");
}

pub(crate) fn a_lease_that_is_not_renewed_ends_at_its_deadline(subject: &dyn Subject) {
    let mut cluster = subject.cluster(3, 3, Options { lease_ms: 1_000, ..calm() }, 0);
    settle(&mut cluster, 3_000);
    cluster.run_ms(1_000);
    cluster.isolate(2);
    cluster.run_ms(600);
    assert_eq!(cluster.holders("job"), [2], "the lease still runs");
    let took = 600
        + (0..)
            .find(|_| {
                cluster.run_ms(1);
                cluster.holders("job") != [2]
            })
            .unwrap_or(0);
    // The client is told to stop 10 ms before the end, and the last renewal may be 50 ms older than the fault.
    assert!(took <= 1_000, "the holder went on for {took} ms");
    run_until_held_by(&mut cluster, "job", 1, 600);
}

/// Answers reach the holder late, but not the others: only then does it show from when a lease counts. Where all
/// answers are as late, whoever waits for the lease to end begins to count later, too.
pub(crate) fn a_lease_counts_from_when_its_renewal_was_sent(subject: &dyn Subject) {
    for seed in 0..5 {
        let mut cluster = subject.cluster(3, seed, Options { lease_ms: 1_000, ..calm() }, 0);
        settle(&mut cluster, 3_000);
        let token = cluster.leases.highest_token("job");
        cluster.delay_answers(2, subject.longest_silence_ms().min(200));
        cluster.run_ms(2_000);
        assert_eq!((cluster.holders("job"), cluster.leases.highest_token("job")), (vec![2], token), "it lapsed");
        cluster.isolate(2);
        run_until_held_by(&mut cluster, "job", 1, 2_000);
    }
}

pub(crate) fn a_released_office_goes_to_the_next_candidate(subject: &dyn Subject) {
    let mut cluster = subject.cluster(3, 4, Options { lease_ms: 5_000, ..calm() }, 0);
    settle(&mut cluster, 3_000);
    cluster.run_ms(500);
    cluster.withdraw(2, "job");
    // Nobody waits for the end of the lease.
    run_until_held_by(&mut cluster, "job", 1, 1_500);
}

pub(crate) fn a_transfer_moves_an_office(subject: &dyn Subject) {
    let mut cluster = subject.cluster(3, 5, Options { lease_ms: 5_000, ..calm() }, 0);
    settle(&mut cluster, 3_000);
    cluster.run_ms(500);
    let before = cluster.leases.highest_token("job");
    transfer(&mut cluster, "job", 0, 1_500);
    assert!(cluster.leases.highest_token("job") > before);
    cluster.run_ms(3_000);
    assert_eq!(cluster.leaders("job"), vec![Some("n1".to_string()); 3], "the operator's choice stays");
}

pub(crate) fn completions_are_recorded_by_the_holder_alone(subject: &dyn Subject) {
    let complete = |token, key: &str| Request::Complete { office: "job".to_string(), token, key: key.to_string() };
    // The token of the record, if there is one.
    let recorded = |cluster: &mut SimCluster, node, key: &str| {
        let request = Request::Completed { office: "job".to_string(), key: key.to_string() };
        match ask(cluster, node, request, 1_500) {
            Reply::Completed { completion, current: true } => completion.map(|completion| completion.token),
            other => panic!("no current answer: {other:?}"),
        }
    };
    for seed in 0..5 {
        let mut cluster = subject.cluster(3, seed, calm(), 0);
        settle(&mut cluster, 3_000);
        let first = cluster.leases.highest_token("job");
        assert_eq!(recorded(&mut cluster, 0, "k"), None);
        operate(&mut cluster, 1, complete(first, "k"), 3_000);
        transfer(&mut cluster, "job", 0, 3_000);
        let second = cluster.leases.highest_token("job");
        for token in [first, second + 1] {
            let refused = ask(&mut cluster, 2, complete(token, "late"), 3_000);
            assert!(matches!(&refused, Reply::Error(error) if error.code == "stale-token"), "seed {seed}: {refused:?}");
        }
        operate(&mut cluster, 2, complete(second, "k"), 3_000);
        cluster.restart_authority();
        cluster.run_ms(4_000);
        for node in 0..3 {
            assert_eq!(recorded(&mut cluster, node, "late"), None, "seed {seed}: a stale holder recorded something");
            assert_eq!(recorded(&mut cluster, node, "k"), Some(first), "seed {seed}: the first record is kept");
        }
    }
}

pub(crate) fn nothing_is_granted_while_elections_are_paused(subject: &dyn Subject) {
    let mut cluster = subject.cluster(3, 6, calm(), 0);
    settle(&mut cluster, 3_000);
    cluster.run_ms(500);
    operate(&mut cluster, 0, Request::Pause, 1_500);
    let before = cluster.leases.highest_token("job");
    cluster.kill(2);
    cluster.run_ms(3_000);
    assert_eq!((cluster.holders("job"), cluster.leases.highest_token("job")), (vec![], before));
    operate(&mut cluster, 1, Request::Resume, 1_500);
    run_until_held_by(&mut cluster, "job", 1, 1_500);
}

pub(crate) fn a_better_candidate_preempts(subject: &dyn Subject) {
    let mut cluster = subject.cluster(3, 7, Options { preempt: true, ..calm() }, 0);
    run_until_held_by(&mut cluster, "job", 2, 3_000);
    cluster.kill(2);
    run_until_held_by(&mut cluster, "job", 1, 3_000);
    cluster.start(2);
    run_until_held_by(&mut cluster, "job", 2, 3_000);
}

pub(crate) fn every_node_sees_every_change_in_order(subject: &dyn Subject) {
    let mut cluster = subject.cluster(4, 8, calm(), 0);
    run_until_held_by_other(&mut cluster, "job", usize::MAX, 3_000);
    // Two nodes take turns, and so know every change. The others only see it, and at most one of them coordinates.
    for round in 0..12 {
        transfer(&mut cluster, "job", round % 2, 3_000);
    }
    cluster.run_ms(1_000);
    let expected = history(&mut cluster, 1, "job");
    assert!(expected.len() >= 12, "{} changes", expected.len());
    for node in [0, 2, 3] {
        assert_eq!(history(&mut cluster, node, "job"), expected, "node {node} sees other changes");
    }
    // A node that was away catches up without a gap.
    cluster.isolate(2);
    cluster.run_ms(1_500);
    transfer(&mut cluster, "job", 1, 3_000);
    transfer(&mut cluster, "job", 0, 3_000);
    cluster.heal_everything();
    cluster.run_ms(2_000);
    let expected = history(&mut cluster, 0, "job");
    assert_eq!(history(&mut cluster, 2, "job"), expected, "node 2 sees other changes");
}

pub(crate) fn nothing_is_granted_while_the_authority_is_silent(subject: &dyn Subject) {
    let mut cluster = subject.cluster(3, 9, calm(), 0);
    settle(&mut cluster, 3_000);
    cluster.run_ms(500);
    let acquired = cluster.leases.acquired;
    cluster.silence_authority();
    cluster.run_ms(400);
    assert_eq!((cluster.holders("job"), cluster.holders("fast")), (vec![], vec![]), "a lease outlives its length");
    cluster.run_ms(5_000);
    assert_eq!(cluster.leases.acquired, acquired, "something was granted");
    assert_eq!(cluster.leaders("job"), vec![None; 3], "nobody is shown as current");
    cluster.heal_everything();
    cluster.run_ms(4_000);
    cluster.check_converged();
}

pub(crate) fn tokens_do_not_regress_when_everything_is_restarted(subject: &dyn Subject) {
    for seed in 0..5 {
        let mut cluster = subject.cluster(3, seed, calm(), 0);
        settle(&mut cluster, 3_000);
        for round in 0..4 {
            transfer(&mut cluster, "job", round % 2, 3_000);
        }
        for round in 0..4 {
            let before = cluster.leases.highest_token("job");
            cluster.restart_authority();
            (0..3).filter(|node| (seed + round) & (1 << node) != 0).for_each(|node| {
                cluster.kill(node as usize);
                cluster.start(node as usize);
            });
            cluster.run_ms(4_000);
            cluster.check_converged();
            let changes = history(&mut cluster, 0, "job");
            let last = changes.last().map_or(0, |change| change.token);
            assert!(last >= before, "seed {seed}: token {last} after {before}");
        }
    }
}

pub(crate) fn a_thousand_offices_are_held_and_move(subject: &dyn Subject) {
    let mut cluster = subject.cluster(3, 10, Options { extra_offices: 1_000, lease_ms: 1_000, ..calm() }, 0);
    let all_held_by = |cluster: &mut SimCluster, node: usize| {
        for _ in 0..100 {
            if cluster.held_count(node) == 1_002 {
                return;
            }
            cluster.run_ms(100);
        }
        panic!("node {node} holds {} offices", cluster.held_count(node));
    };
    all_held_by(&mut cluster, 2);
    let token = cluster.leases.highest_token("office-500");
    cluster.run_ms(3_000);
    assert_eq!((cluster.held_count(2), cluster.leases.highest_token("office-500")), (1_002, token), "leases lapsed");
    cluster.kill(2);
    all_held_by(&mut cluster, 1);
}

pub(crate) fn a_slow_authority_delays_grants_but_loses_none(subject: &dyn Subject) {
    for seed in 0..3 {
        let options = Options { lease_ms: 2_000, drift_ppm: 0, ..calm() };
        let mut cluster = subject.cluster(3, seed, options, subject.slow_ms());
        settle(&mut cluster, 20_000);
        let token = cluster.leases.highest_token("job");
        cluster.run_ms(10_000);
        assert_eq!((cluster.holders("job"), cluster.leases.highest_token("job")), (vec![2], token), "it lapsed");
        cluster.isolate(2);
        run_until_held_by(&mut cluster, "job", 1, 15_000);
        cluster.heal_everything();
        cluster.run_ms(5_000);
        assert_eq!(cluster.holders("job"), [1]);
    }
}

pub(crate) fn clocks_may_drift_and_jump(subject: &dyn Subject) {
    let options = Options { lease_ms: 10_000, drift_ppm: 4_990, slow_clocks: Some(&[2]), ..calm() };
    let mut cluster = subject.cluster(3, 11, options, 0);
    settle(&mut cluster, 3_000);
    cluster.run_ms(3_000);
    // The holder's clock is as slow as allowed, and those of the others are as fast as allowed.
    cluster.isolate(2);
    run_until_held_by(&mut cluster, "job", 1, 12_000);
    cluster.heal_everything();
    cluster.run_ms(2_000);
    // The host is suspended for longer than its lease. It finds out when its clock has jumped.
    let [holder] = cluster.holders("job")[..] else { panic!("nobody holds the office") };
    cluster.freeze(holder);
    cluster.run_ms(12_000);
    cluster.resume(holder);
    cluster.run_ms(50);
    assert!(!cluster.holders("job").contains(&holder), "the holder goes on after its lease");
    // Wall clocks are only displayed.
    cluster.heal_everything();
    cluster.run_ms(3_000);
    let before = (cluster.holders("job"), cluster.leases.highest_token("job"));
    cluster.wall_offset_ms = 1_000_000_000;
    cluster.run_ms(2_000);
    cluster.wall_offset_ms = 0;
    cluster.run_ms(2_000);
    assert_eq!((cluster.holders("job"), cluster.leases.highest_token("job")), before);
}

pub(crate) fn a_node_that_leaves_hands_over(subject: &dyn Subject) {
    for node in 0..3 {
        let mut cluster = subject.cluster(3, 12, Options { lease_ms: 5_000, ..calm() }, 0);
        settle(&mut cluster, 3_000);
        transfer(&mut cluster, "job", node, 2_000);
        cluster.run_ms(500);
        cluster.leave(node);
        run_until_held_by_other(&mut cluster, "job", node, 2_500);
        cluster.run_ms(2_500);
        assert!(!cluster.is_running(node), "it did not stop");
    }
}
