//! A node knows when its own host delayed it.

use std::time::Duration;

use super::harness::{TestCluster, config};
use crate::api::{Reply, Request};
use crate::member::Role;

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

#[test]
fn a_late_call_is_a_delay_of_the_host_and_no_silence_of_peers() {
    let mut cluster = TestCluster::new((1..=3).map(|id| config(id, &ROLES)).collect());
    cluster.advance_ms(1_000);
    assert_eq!(cluster.node(2).core.delays().last(), None);
    let late = Duration::from_millis(180);
    let due = cluster.node(2).core.poll_timeout();
    cluster.drive(2, |core, _| core.handle_timeout(due + late));
    let delay = cluster.node(2).core.delays().last().expect("it was called late");
    assert_eq!((delay.took, delay.ended), (late, due + late));
    let histogram = cluster.node(2).core.delays().to_histogram();
    assert_eq!(histogram.buckets.last().map(|(_, count)| *count), Some(0));
    assert_eq!(histogram.buckets.iter().find(|(bound, _)| *bound == 300_000_000).map(|(_, count)| *count), Some(1));
    cluster.request(2, 9, Request::Status);
    cluster.advance_ms(300);
    let [Reply::Status(status)] = &cluster.take_replies(2, 9)[..] else { panic!("it answers") };
    assert!(status.members.iter().all(|member| member.up), "nobody was silent: {:?}", status.members);
}

#[test]
fn what_waits_to_be_read_is_no_silence_of_peers() {
    let mut cluster = TestCluster::new((1..=3).map(|id| config(id, &ROLES)).collect());
    cluster.advance_ms(1_000);
    assert_eq!(cluster.arbiter_leader(2), Some(1));
    let began = cluster.now;
    // It is never late, but has so much to do that it does not come to read what its peers send.
    cluster.drive(2, |core, now| core.set_listened_until(now));
    for ms in (10..=600).step_by(10) {
        cluster.node(2).core.handle_timeout(began + Duration::from_millis(ms));
    }
    assert_eq!(cluster.arbiter_leader(2), Some(1), "nothing is known of the leader's silence");
    // When it has read, there was nothing.
    let now = began + Duration::from_millis(610);
    cluster.node(2).core.set_listened_until(now);
    cluster.node(2).core.handle_timeout(now);
    assert_eq!(cluster.arbiter_leader(2), None);
}
