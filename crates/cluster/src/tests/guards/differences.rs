//! Members say where their configurations differ although they must not.

use std::time::Duration;

use hustings_protocol::Id;

use super::harness::{TestCluster, config};
use crate::api::{Reply, Request};
use crate::config::{AlgorithmConfig, Config, Mode, Policy};
use crate::member::Role;

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

/// Starts three nodes, the third with another configuration. Returns what the first one says about the others, when it
/// happens and in its status.
fn differences(change: impl FnOnce(&mut Config)) -> Vec<&'static str> {
    let mut configs = [1, 2, 3].map(|node| config(node, &THREE)).to_vec();
    change(&mut configs[2]);
    let mut cluster = TestCluster::new(configs);
    cluster.advance_ms(500);
    let reported = cluster.node(1).differences.clone();
    assert!(!reported.contains_key(&Id(2)), "{reported:?}");
    cluster.request(1, 9, Request::Status);
    cluster.advance_ms(50);
    let status = cluster.take_replies(1, 9).into_iter().find_map(|reply| match reply {
        Reply::Status(status) => Some(status),
        _ => None,
    });
    let members = status.expect("the status is answered").members;
    let shown = |id| members.iter().find(|member| member.id == id).map(|member| member.differs_in.clone());
    let reported = reported.get(&Id(3)).cloned().unwrap_or_default();
    let as_text: Vec<String> = reported.iter().map(|part| part.to_string()).collect();
    assert_eq!((shown(1), shown(2), shown(3)), (Some(vec![]), Some(vec![]), Some(as_text)));
    reported
}

#[test]
fn equal_configurations_do_not_differ() {
    assert_eq!(differences(|_| {}), [] as [&str; 0]);
    let reordered = |config: &mut Config| config.members.reverse();
    assert_eq!(differences(reordered), [] as [&str; 0]);
}

#[test]
fn each_part_is_named() {
    assert_eq!(differences(|config| config.timing.lease = Duration::from_secs(1)), ["[timing]"]);
    assert_eq!(differences(|config| config.timing.drift_ppm += 1), ["[timing] drift"]);
    let fenced = Policy { mode: Mode::Fenced, ..Policy::default() };
    assert_eq!(differences(|config| config.offices.push(("job".to_string(), fenced))), ["[[office]]"]);
    let other = || AlgorithmConfig::named("bully", Some(vec!["highest=wait".to_string()]));
    assert_eq!(differences(|config| config.algorithm = other()), ["algorithm"]);
}
