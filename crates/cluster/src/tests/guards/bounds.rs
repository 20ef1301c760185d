//! The bounds on offices, members and requests.

use std::collections::BTreeSet;
use std::time::Duration;

use hustings_protocol::Id;

use super::harness::{TestCluster, config, disk_with, members};
use crate::api::{ChangeReason, Reply, Request};
use crate::config::{Config, Health, MAX_MEMBERS, MAX_OFFICES, Mode, Probe};
use crate::core::ClientId;
use crate::core::table::{Command, Holder, Table};
use crate::member::Role;
use crate::wire::Message;

const ROLES: [(u64, Role); 2] = [(1, Role::Elector), (2, Role::Observer)];
/// The incarnation of node 2, which the test simulates.
const INCARNATION: u64 = 7;

/// Node 1, with a table in which node 2 holds `count` offices: `o0`, `o1`, …
fn with_offices(count: usize) -> TestCluster {
    let mut table = Table::with_members(&members(&ROLES));
    let holder = Holder { id: Id(2), incarnation: INCARNATION };
    for number in 0..count {
        let office = format!("o{number}").into();
        let (expected_token, mode, cause) = (0, Mode::Exclusive, ChangeReason::Vacant);
        let terms = config(1, &ROLES).timing.terms();
        let grant = Command::Grant { office, holder, expected_token, mode, terms, cause, pinned: false, unix_ms: 0 };
        assert!(table.apply(number as u64 + 1, grant), "there is room for all offices");
    }
    let disk = disk_with(&table, count as u64 + 1, &[2]);
    let mut cluster = TestCluster::with_disks(vec![(config(1, &ROLES), disk)]);
    cluster.drive(1, |core, now| core.handle_connected(Id(2), INCARNATION, now));
    cluster
}

#[test]
fn rejects_campaigns_for_new_offices_when_all_are_held() {
    let mut cluster = with_offices(MAX_OFFICES);
    cluster.campaign(1, 1, "new", None);
    assert_eq!(cluster.take_refusal_code(1, 1), Some("too-many".to_string()));
    for office in ["o5", "leader"] {
        cluster.campaign(1, 1, office, None);
        assert_eq!(cluster.take_replies(1, 1), [Reply::Done], "{office}");
    }
}

#[test]
fn changes_of_offices_that_wait_for_the_disk_are_bounded() {
    let roles = [(1, Role::Elector)];
    let mut cluster = TestCluster::new(vec![config(1, &roles)]);
    cluster.advance_ms(1_000);
    cluster.node(1).is_disk_stuck = true;
    let before = cluster.node(1).disk.len();
    let offices: Vec<String> = (0..1_500).map(|number| format!("o{number}")).collect();
    offices.iter().for_each(|office| cluster.campaign(1, 1, office, None));
    cluster.advance_ms(1_000);
    assert_eq!(cluster.node(1).disk.len() - before, 512);
    cluster.complete_writes(1);
    cluster.advance_ms(1_000);
    let held = offices.iter().filter(|office| cluster.token(1, office).is_some()).count();
    assert_eq!(held, offices.len(), "the others follow");
}

#[test]
fn a_turn_looks_at_a_bounded_number_of_offices() {
    let mut cluster = with_offices(1_000);
    for _ in 0..10 {
        cluster.advance_ms(50);
        cluster.deliver(2, 1, Message::ReadinessRequest { office: "leader".into() });
    }
    let now = cluster.now;
    let core = &mut cluster.node(1).core;
    assert!(core.poll_timeout() > now, "there is nothing to do");
    core.handle_disconnected(Id(2), now);
    let mut turns = 1;
    while core.poll_timeout() <= now {
        core.handle_timeout(now);
        turns += 1;
    }
    // Other events get their turn after every 128 offices.
    assert!((8..=12).contains(&turns), "{turns}");
}

#[test]
fn a_new_office_replaces_one_that_becomes_vacant() {
    let mut cluster = with_offices(MAX_OFFICES - 1);
    let new = ["new-1", "new-2"];
    for office in new {
        cluster.campaign(1, 1, office, None);
    }
    // Node 2 sends something now and then, so that it does not count as lost.
    let run = |cluster: &mut TestCluster| {
        for _ in 0..10 {
            cluster.advance_ms(50);
            cluster.deliver(2, 1, Message::ReadinessRequest { office: "leader".into() });
        }
    };
    run(&mut cluster);
    let (first, second) = (cluster.token(1, new[0]), cluster.token(1, new[1]));
    assert!(first.is_some() && second.is_none(), "there is room for one: {first:?}, {second:?}");
    let stepped_down = Message::SteppedDown { office: "o5".into(), token: 6, cause: ChangeReason::Resigned };
    cluster.deliver(2, 1, stepped_down);
    run(&mut cluster);
    let second = cluster.token(1, new[1]);
    assert!(second > first, "{second:?} after {first:?}");
    // No grants were proposed in the meantime that the table would have rejected.
    assert!(second <= first.map(|first| first + 4), "{second:?} after {first:?}");
    cluster.request(1, 1, Request::History { office: Some("o5".to_string()) });
    let replies = cluster.take_replies(1, 1);
    assert_eq!(replies.last(), Some(&Reply::History { changes: Vec::new() }), "the office is forgotten");
}

#[test]
fn the_largest_candidacy_is_a_valid_message() {
    // An unhealthy node is not a candidate for anything, which makes this test fast.
    let second = Duration::from_secs(1);
    let health = Health { probe: Probe::Command(Vec::new()), every: second, timeout: second, threshold: 50 };
    let mut cluster = TestCluster::new(vec![Config { health: Some(health), ..config(1, &ROLES) }]);
    let clients = 2..(2 + MAX_OFFICES as u64 / 2_000);
    for client in clients {
        (0..2_000).for_each(|number| cluster.campaign(1, client, &format!("o-{client}-{number}"), None));
        assert!(cluster.take_replies(1, client).iter().all(|reply| *reply == Reply::Done));
    }
    cluster.campaign(1, 1, "one-more", None);
    assert_eq!(cluster.take_refusal_code(1, 1), Some("too-many".to_string()));
    cluster.campaign(1, 1, "o-2-7", None);
    assert_eq!(cluster.take_replies(1, 1), [Reply::Done], "another client already campaigns for this office");
    cluster.drive(1, |core, now| core.set_health(100, now));
    cluster.drive(1, |core, now| core.handle_connected(Id(2), INCARNATION, now));
    let mut offices = BTreeSet::new();
    for (_, message) in &cluster.node(1).sent {
        if let Message::Candidacy(candidacy) = message {
            assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(message));
            if candidacy.base.is_none() {
                offices.clear();
            }
            offices.extend(candidacy.added.iter().cloned());
        }
    }
    assert_eq!(offices.len(), MAX_OFFICES + 1);
}

#[test]
fn rejects_more_members_than_the_maximum() {
    let mut roles = vec![(1, Role::Elector)];
    roles.extend((2..=MAX_MEMBERS as u64).map(|id| (id, Role::Observer)));
    let mut cluster = TestCluster::new(vec![config(1, &roles)]);
    cluster.advance_ms(500);
    let (name, address) = ("new-member".to_string(), "h:1".to_string());
    cluster.request(1, 1, Request::AddMember { id: 1_000, name, address, priority: 0, role: Role::Observer });
    assert_eq!(cluster.take_refusal_code(1, 1), Some("too-many".to_string()));
}

#[test]
fn refuses_requests_of_a_client_with_too_many_pending() {
    let roles = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &roles)).to_vec());
    cluster.advance_ms(1_000);
    // Node 3 forwards its requests to node 1, which leads the arbiter. All requests arrive before the first response.
    let mut send = |count: usize, request: Request| {
        let all = vec![request; count];
        cluster.drive(3, |core, now| all.into_iter().for_each(|one| core.handle_request(ClientId(1), one, now)));
        // What is answered takes a few turns.
        cluster.advance_ms(10);
        let (refused, answered): (Vec<Reply>, Vec<Reply>) =
            cluster.take_replies(3, 1).into_iter().partition(|reply| matches!(reply, Reply::Error(_)));
        (answered.len(), refused.len())
    };
    assert_eq!(send(500, Request::Leader { office: "leader".to_string() }), (500, 0));
    let (answered, refused) = send(20, Request::Status);
    assert!((3..10).contains(&answered) && answered + refused == 20, "{answered}, {refused}");
}
