//! The arbiter: its members, its disk, and how long it waits for a holder.

use std::time::Duration;

use hustings_cluster::api::{Reply, Request};
use hustings_cluster::config::{Config, Mode, Policy, Preempt};
use hustings_cluster::member::Role;
use hustings_cluster::timing::Timing;
use hustings_cluster::wire::Message;
use hustings_protocol::Id;

use crate::town::{Town, config};

fn lone_voter() -> Town {
    let mut town = Town::new(vec![config(1, &[(1, Role::Elector), (2, Role::Observer)])]);
    town.pass(500);
    assert_eq!(town.node(1).core.arbiter_leader(), Some(Id(1)));
    town
}

fn add(town: &mut Town, client: u64, name: &str) {
    let (id, name, address) = (10 + client, name.to_string(), "h:1".to_string());
    town.ask(1, client, Request::AddMember { id, name, address, priority: 0, role: Role::Observer });
}

#[test]
fn the_last_voter_cannot_be_removed() {
    let mut town = lone_voter();
    town.ask(1, 1, Request::RemoveMember { name: "n1".to_string() });
    assert_eq!(town.refused(1, 1), Some("last-voter".to_string()));
    town.ask(1, 1, Request::RemoveMember { name: "n2".to_string() });
    assert_eq!(town.told(1, 1), [Reply::Done], "others can be");
}

#[test]
fn members_change_one_at_a_time() {
    let mut town = lone_voter();
    town.node(1).is_disk_stuck = true;
    add(&mut town, 1, "first");
    assert_eq!(town.told(1, 1), [], "it is not agreed on yet");
    add(&mut town, 2, "second");
    assert_eq!(town.refused(1, 2), Some("busy".to_string()));
    town.write(1);
    assert_eq!(town.told(1, 1), [Reply::Done]);
    add(&mut town, 2, "second");
    assert_eq!(town.told(1, 2), [Reply::Done]);
}

/// A node that decides alone has given up its lead, since its disk failed, and has entries that are not on the disk.
fn with_unwritten_entries() -> (Town, u64) {
    let mut town = lone_voter();
    town.node(1).is_disk_stuck = true;
    town.ask(1, 1, Request::Pause);
    town.act(1, |core, now| core.disk_failed(now));
    assert_eq!(town.node(1).core.arbiter_leader(), None);
    let earlier = town.node(1).unwritten[0] - 1;
    (town, earlier)
}

#[test]
fn nobody_stands_while_its_log_is_not_written() {
    let (mut town, earlier) = with_unwritten_entries();
    // The disk is better, but what it has done is something earlier: the library must not win now.
    town.act(1, |core, now| core.persisted(earlier, now));
    town.pass(2_000);
    assert_eq!(town.node(1).core.arbiter_leader(), None);
    town.write(1);
    town.pass(10_000);
    assert_eq!(town.node(1).core.arbiter_leader(), Some(Id(1)));
}

#[test]
fn the_library_does_not_stand_by_itself_while_its_log_is_not_written() {
    let (mut town, _) = with_unwritten_entries();
    town.pass(60_000);
    assert_eq!(town.node(1).core.arbiter_leader(), None);
    town.write(1);
    town.pass(10_000);
    assert_eq!(town.node(1).core.arbiter_leader(), Some(Id(1)));
}

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

#[test]
fn a_holder_that_was_told_of_a_longer_lease_is_waited_for() {
    let timing = |lease| Timing { lease: Duration::from_millis(lease), ..config(1, &THREE).timing };
    let long = timing(2_000);
    let mut town = Town::new(vec![config(1, &THREE), config(2, &THREE), Config { timing: long, ..config(3, &THREE) }]);
    for node in [1, 2, 3] {
        town.campaign(node, node, "job", None);
    }
    town.pass(1_000);
    let before = town.token(3, "job");
    assert!(before.is_some(), "the best holds it");
    town.kill(3);
    // It may have been heard a moment before.
    let waits = long.waits_for().as_millis() as u64 - 100;
    town.pass(waits);
    assert_eq!((town.token(1, "job"), town.token(2, "job")), (None, None), "it may still act");
    town.pass(200);
    assert!(town.token(2, "job") > before, "it has stopped for certain");
}

#[test]
fn what_others_saw_of_an_earlier_end_proves_no_later_one() {
    let fenced = Policy { mode: Mode::Fenced, preempt: Preempt::Better };
    // Node 1, the least, leads the arbiter; node 3, the best, holds the office.
    let configs = [1, 2, 3].map(|node| Config { default_policy: fenced, ..config(node, &THREE) });
    let token_after_an_end = |seen_before: u64| {
        let mut town = Town::new(configs.to_vec());
        town.pass(1_000);
        assert_eq!(town.node(1).core.arbiter_leader(), Some(Id(1)));
        let before = town.token(3, "leader");
        assert!(before.is_some(), "the best holds it");
        town.say(2, 1, Message::Ended(Id(3)));
        town.pass(seen_before);
        town.act(1, |core, now| core.down(Id(3), now));
        town.pass(1);
        (before, town.token(2, "leader"))
    };
    let (before, after) = token_after_an_end(0);
    assert!(after > before, "two of two have seen it just now");
    let (_, after) = token_after_an_end(1_000);
    assert_eq!(after, None, "one link was cut, and another one long before");
}
