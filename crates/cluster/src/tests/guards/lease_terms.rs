//! Every office has its own lease and time to stop.

use std::time::Duration;

use super::harness::{TestCluster, config};
use crate::api::{ChangeReason, Reply, Request};
use crate::config::{Config, Policy};
use crate::member::Role;
use crate::wire::Message;

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

fn ms(ms: u64) -> Option<Duration> {
    Some(Duration::from_millis(ms))
}

/// Three nodes, on which the office `slow` has these terms. Node 3 ranks highest and holds `slow` and `job`.
fn cluster_with_terms(lease: u64, stop: u64) -> TestCluster {
    let slow = Policy { lease: ms(lease), stop: ms(stop), ..config(1, &THREE).default_policy };
    let config = |node| Config { offices: vec![("slow".to_string(), slow)], ..config(node, &THREE) };
    let mut cluster = TestCluster::new([1, 2, 3].map(config).to_vec());
    for (node, office) in [1, 2, 3].into_iter().flat_map(|node| [(node, "slow"), (node, "job")]) {
        cluster.campaign(node, node, office, None);
    }
    cluster.advance_ms(1_000);
    assert!(cluster.token(3, "slow").is_some() && cluster.token(3, "job").is_some());
    cluster.take_replies(3, 3);
    cluster
}

#[test]
fn a_long_lease_of_one_office_does_not_delay_the_others() {
    let mut cluster = cluster_with_terms(2_000, 100);
    cluster.kill(3);
    cluster.advance_ms(450);
    assert!(cluster.token(2, "job").is_some(), "its lease is 300 ms");
    cluster.advance_ms(1_450);
    assert_eq!(cluster.token(2, "slow"), None, "the lost holder may still act");
    cluster.advance_ms(200);
    assert!(cluster.token(2, "slow").is_some());
}

/// Isolates node 3 and lets time pass. Returns when its client was told to stop the office, and that it has lost it.
fn isolated(cluster: &mut TestCluster, office: &str, until: u64) -> (Option<u64>, Option<u64>) {
    let (mut told, mut lost) = (None, None);
    for now in 0..until {
        cluster.advance_ms(1);
        for reply in cluster.take_replies(3, 3) {
            match reply {
                Reply::Stop { office: name, reason: ChangeReason::Expired, .. } if name == office => told = Some(now),
                Reply::Lost { office: name, .. } if name == office => lost = Some(now),
                _ => {}
            }
        }
    }
    (told, lost)
}

#[test]
fn a_client_is_told_to_stop_in_time_and_keeps_the_office_until_the_deadline() {
    let mut cluster = cluster_with_terms(1_000, 400);
    cluster.isolate(3);
    let (told, lost) = isolated(&mut cluster, "slow", 1_200);
    let (told, lost) = (told.expect("it is told to stop"), lost.expect("it loses the office"));
    assert!((395..=405).contains(&(lost - told)), "told at {told} ms, lost at {lost} ms");
    let released =
        |(_, message): &(_, Message)| matches!(message, Message::SteppedDown { office, .. } if &**office == "slow");
    assert!(!cluster.node(3).sent.iter().any(released), "nobody could be told");
}

/// A part of the time has passed when the successor is elected. What is left must be enough to stop.
#[test]
fn who_resigned_for_a_holder_hears_of_the_outcome_however_long_it_stops() {
    let mut cluster = cluster_with_terms(4_000, 2_500);
    let token = cluster.token(3, "slow").expect("it is held");
    cluster.request(1, 9, Request::Resign { office: "slow".to_string() });
    // More than half of `hand-over`.
    cluster.advance_ms(1_800);
    assert_eq!(cluster.take_replies(1, 9), [], "the holder is stopping");
    cluster.request(3, 3, Request::Stopped { office: "slow".to_string(), token });
    cluster.advance_ms(300);
    assert_eq!(cluster.take_replies(1, 9), [Reply::Done]);
    assert!(cluster.token(2, "slow").is_some());
}

/// Nobody else campaigns, so the search for a successor takes its whole time. The holder gets only the rest.
#[test]
fn who_resigned_for_a_holder_without_a_successor_hears_of_the_outcome() {
    let slow = Policy { lease: ms(60_000), stop: ms(100), ..config(1, &THREE).default_policy };
    let config = |node| {
        let mut config = Config { offices: vec![("slow".to_string(), slow)], ..config(node, &THREE) };
        config.timing.hand_over = Duration::from_secs(6);
        config
    };
    let mut cluster = TestCluster::new([1, 2, 3].map(config).to_vec());
    cluster.campaign(3, 3, "slow", None);
    cluster.advance_ms(1_000);
    assert!(cluster.token(3, "slow").is_some());
    cluster.request(1, 9, Request::Resign { office: "slow".to_string() });
    cluster.advance_ms(3_500);
    assert_eq!(cluster.take_replies(1, 9), [], "nobody was found, so the holder is stopping");
    let replies = cluster.take_replies(3, 3);
    assert!(replies.iter().any(|reply| matches!(reply, Reply::Stop { .. })), "{replies:?}");
    // The client does not stop. The request itself would be given up after 8 seconds.
    cluster.advance_ms(3_000);
    let replies = cluster.take_replies(1, 9);
    let [Reply::Error(error)] = &replies[..] else { panic!("{replies:?}") };
    assert!(error.message.contains("not handed over in time"), "{}", error.message);
}

#[test]
fn an_office_is_not_released_while_its_client_may_still_stop() {
    let mut cluster = cluster_with_terms(1_000, 400);
    let before = cluster.token(3, "slow");
    cluster.request(1, 9, Request::Transfer { office: "slow".to_string(), to: "n2".to_string() });
    let replies = cluster.take_replies(3, 3);
    assert!(replies.iter().any(|reply| matches!(reply, Reply::Stop { .. })), "{replies:?}");
    cluster.advance_ms(500);
    assert_eq!(cluster.token(2, "slow"), None, "the client has not confirmed that it stopped");
    cluster.request(3, 3, Request::Stopped { office: "slow".to_string(), token: before.expect("it is held") });
    cluster.advance_ms(5);
    assert!(cluster.token(2, "slow") > before);
}
