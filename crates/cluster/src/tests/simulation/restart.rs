//! What a node knows after a restart.

use raft::eraftpb::{ConfState, Snapshot};

use crate::clock::Timestamp;
use crate::core::table::Table;
use crate::core::{Core, Exit, Output, Setup};
use crate::faults::DisabledRules;
use crate::member::Member;
use crate::store::{RaftStorage, Write};
use crate::tests::cluster::SimCluster;
use crate::tests::faults::Options;

/// The first outputs of a node whose disk has a snapshot with changed members.
fn outputs_after_restart(members: impl Fn(&mut Vec<Member>)) -> Vec<Output> {
    let config = SimCluster::new(3, 1, Options::default()).config(0);
    let mut stored = config.members.clone();
    members(&mut stored);
    let mut snapshot = Snapshot { data: Table::with_members(&stored).encode().into(), ..Default::default() };
    let voters: Vec<u64> = stored.iter().map(|member| member.id.0).collect();
    (snapshot.mut_metadata().index, snapshot.mut_metadata().term) = (9, 2);
    snapshot.mut_metadata().set_conf_state(ConfState::from((voters, Vec::new())));
    let snapshot = Some(snapshot);
    let storage = RaftStorage::empty();
    let write = Write { number: 1, snapshot, sync: true, ..Write::default() };
    storage.apply(&write).expect("the write is valid");
    let setup = Setup {
        config,
        incarnation: 5,
        store_id: 77,
        storage,
        seed: 1,
        disabled_rules: DisabledRules::default(),
        formats: Default::default(),
    };
    Core::new(setup, Timestamp(1 << 40)).expect("the disk is valid").take_outputs()
}

#[test]
fn a_restarted_node_knows_members_that_were_added_later() {
    let outputs = outputs_after_restart(|members| {
        members[1].id.0 = 7;
    });
    let published = outputs.iter().find_map(|output| match output {
        Output::Members { members, .. } => Some(members.iter().map(|member| member.id.0).collect::<Vec<u64>>()),
        _ => None,
    });
    assert_eq!(published, Some(vec![1, 3, 7]));
}

#[test]
fn addresses_in_the_configuration_take_precedence() {
    let outputs = outputs_after_restart(|members| {
        members[1].address = "old-address:1".to_string();
        members[2].id.0 = 7;
        members[2].address = "new-address:1".to_string();
    });
    let published = outputs.iter().find_map(|output| match output {
        Output::Members { members, .. } => {
            Some(members.iter().map(|member| member.address.as_str()).collect::<Vec<&str>>())
        }
        _ => None,
    });
    assert_eq!(published, Some(vec!["h1:1", "h2:1", "new-address:1"]));
}

#[test]
fn after_a_restart_of_all_a_replaced_disk_counts_for_nothing() {
    for seed in 0..10 {
        let mut cluster = SimCluster::new(3, seed, Options { jitter: false, ..Options::default() });
        cluster.run_ms(3_000);
        let before = cluster.leases.highest_token("job");
        (0..3).for_each(|node| cluster.kill(node));
        // The third node stays down. It may have all that the second one has lost.
        cluster.start(0);
        cluster.replace_disk(1);
        cluster.run_ms(3_000);
        assert_eq!(cluster.leases.highest_token("job"), before, "seed {seed}: {}", cluster.debug_state());
        assert!(!cluster.is_running(1), "seed {seed}: it is told that its disk is not the registered one");
        cluster.heal();
        cluster.run_ms(3_000);
        cluster.check_converged();
    }
}

#[test]
fn a_member_that_is_restarted_behind_a_cut_link_takes_part() {
    let mut restarted = 0;
    for seed in 0..12 {
        let mut cluster = SimCluster::new(3, seed, Options { jitter: false, ..Options::default() });
        cluster.run_ms(3_000);
        let Some(leader) = cluster.arbiter_leader(0) else { panic!("seed {seed}: the arbiter has no leader") };
        if leader == 2 {
            continue;
        }
        cluster.cut(leader, 2);
        cluster.disconnect(leader, 2);
        cluster.kill(2);
        cluster.run_ms(1_000);
        cluster.start(2);
        cluster.run_ms(2_000);
        // The best node, which the leader hears through the third one only.
        assert_eq!(cluster.holders("job"), [2], "seed {seed}: {}", cluster.debug_state());
        cluster.check_converged();
        restarted += 1;
    }
    assert!(restarted > 5, "the best node led the arbiter in all but {restarted} clusters");
}

#[test]
fn a_removed_node_exits_after_a_restart() {
    let outputs = outputs_after_restart(|members| {
        members.remove(0);
    });
    assert!(outputs.iter().any(|output| matches!(output, Output::Exit(Exit::Removed))), "{outputs:?}");
}
