//! A leader is killed: the counters, gauges and traces of the survivors show it.

use std::fs;

use hustings_cluster::api::{Trace, TraceEvent};
use hustings_timeline::{Timeline, TimelineEvent};

use super::Samples;
use crate::processes::Cluster;

const ALL: [&str; 3] = ["a", "b", "c"];
const LEADER: &str = "{office=\"leader\"}";

fn each(cluster: &Cluster, names: &[&str]) -> Vec<Samples> {
    names.iter().map(|name| Samples::of(cluster, name)).collect()
}

fn sum(samples: &[Samples], name: &str) -> f64 {
    samples.iter().filter_map(|samples| samples.get(name)).sum()
}

fn get(samples: &Samples, metric: &str, labels: &str) -> f64 {
    samples.get(&format!("{metric}{labels}")).unwrap_or_else(|| panic!("there is no {metric}{labels}"))
}

/// Whether these nodes know each other's round trips and agree that one of them leads.
fn is_settled(samples: &[Samples], names: &[&str]) -> bool {
    let knows_others = |(samples, own): (&Samples, &&str)| {
        let others = names.iter().filter(|name| *name != own);
        others
            .map(|name| format!("hustings_peer_rtt_seconds{{peer=\"{name}\"}}"))
            .all(|rtt| samples.get(&rtt) > Some(0.0))
    };
    let holders = sum(samples, &format!("hustings_is_leader{LEADER}"));
    let known = sum(samples, &format!("hustings_has_leader{LEADER}"));
    samples.iter().zip(names).all(knows_others) && holders == 1.0 && known == names.len() as f64
}

fn settled(cluster: &Cluster, names: &[&str]) -> Vec<Samples> {
    cluster.wait_until("metrics agree", || {
        let samples = each(cluster, names);
        is_settled(&samples, names).then_some(samples)
    })
}

fn trace(cluster: &Cluster, name: &str) -> Trace {
    let ran = cluster.run(name, &["trace", "--format", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out))
}

#[test]
fn survivors_count_and_remember_a_failover() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    cluster.start(&ALL);
    let first = cluster.wait_for_agreement(&ALL, |_| true);
    let before = settled(&cluster, &ALL);
    let rest: Vec<&str> = ALL.into_iter().filter(|name| *name != first).collect();
    cluster.kill(&first);
    let second = cluster.wait_for_agreement(&rest, |leader| leader != first);
    let after = settled(&cluster, &rest);
    for (samples, name) in after.iter().zip(&rest) {
        let earlier = &before[ALL.iter().position(|known| known == name).expect("it is one of them")];
        let grew = |metric: &str, labels: &str| get(samples, metric, labels) - get(earlier, metric, labels);
        assert!(grew("hustings_leader_changes_total", LEADER) >= 1.0, "{name}");
        assert!(grew("hustings_token", LEADER) > 0.0, "{name}");
        assert!(grew("hustings_messages_total", "{kind=\"heartbeat\",direction=\"sent\"}") > 0.0, "{name}");
        assert!(grew("hustings_messages_total", "{kind=\"heartbeat\",direction=\"received\"}") > 0.0, "{name}");
        assert!(grew("hustings_elections_total", "{algorithm=\"bully\",cause=\"members\"}") >= 1.0, "{name}");
        assert!(samples.sum("hustings_closed_connections_total", "") >= 1.0, "{name}");
        assert_eq!(get(samples, "hustings_peer_up", &format!("{{peer=\"{first}\"}}")), 0.0, "{name}");
        assert_eq!(samples.get(&format!("hustings_peer_rtt_seconds{{peer=\"{first}\"}}")), None, "{name}");
        assert_eq!((get(samples, "hustings_members_up", ""), get(samples, "hustings_members", "")), (2.0, 3.0));
        assert_eq!(get(samples, "hustings_has_quorum", ""), 1.0);
        assert_eq!(get(samples, "hustings_arbiter_has_leader", ""), 1.0);
        assert_eq!(get(samples, "hustings_candidates", LEADER), 2.0, "{name}");
        let holds = get(samples, "hustings_is_leader", LEADER) == 1.0;
        assert_eq!(holds, *name == second);
        assert_eq!(get(samples, "hustings_lease_remaining_seconds", LEADER) > 0.0, holds, "{name}");
    }
    assert_eq!(get(&after[0], "hustings_token", LEADER), get(&after[1], "hustings_token", LEADER));
    assert_eq!(sum(&after, "hustings_arbiter_is_leader"), 1.0);
    check_traces(&cluster, &rest, &first, &second, get(&after[0], "hustings_token", LEADER) as u64);
}

/// The traces of the survivors, on one time axis, contain the failover in causal order.
fn check_traces(cluster: &Cluster, rest: &[&str], first: &str, second: &str, token: u64) {
    let traces: Vec<Trace> = rest.iter().map(|name| trace(cluster, name)).collect();
    for trace in &traces {
        let other = rest.iter().find(|name| **name != trace.node).expect("there are two");
        let clock = trace.clocks.iter().find(|clock| clock.peer == **other).expect("it measured a round trip");
        // Both are on this host, and so is their clock.
        assert!(clock.offset_ns.unsigned_abs() <= clock.error_ns, "{clock:?}");
        assert!(trace.records.is_sorted_by_key(|record| record.sequence), "{}", trace.node);
        assert!(trace.records.is_sorted_by_key(|record| record.at), "{}", trace.node);
    }
    let timeline = Timeline::merge(traces).expect("the traces fit together");
    let error: u64 = timeline.nodes.iter().map(|clock| clock.error_ns).sum();
    let arrived: Vec<&TimelineEvent> = timeline.events.iter().filter(|event| event.cause.is_some()).collect();
    assert!(arrived.len() > 20, "only {} messages were matched", arrived.len());
    for event in arrived {
        let cause = event.cause.map(|cause| &timeline.events[cause]).expect("they were selected");
        assert!(event.contradiction_ns <= error, "{event:?} is earlier than {cause:?} by more than {error}");
        assert_ne!(event.node, cause.node);
    }
    let position = |node: &str, is_it: &dyn Fn(&TraceEvent) -> bool| {
        let is_wanted = |event: &TimelineEvent| timeline.nodes[event.node].node == node && is_it(&event.event);
        timeline.events.iter().rposition(is_wanted).unwrap_or_else(|| panic!("{node}: not in {timeline:#?}"))
    };
    let is_lost = |event: &TraceEvent| matches!(event, TraceEvent::Disconnected { peer, .. } if peer == first);
    let is_held = |event: &TraceEvent| matches!(event, TraceEvent::Held { office, token: held } if office == "leader" && *held == token);
    let held = position(second, &is_held);
    assert!(position(second, &is_lost) < held, "the loss is noticed before the office moves");
    // The grant is durable on both before the holder learns of it: the other one was asked to append it.
    let other = rest.iter().find(|name| **name != second).expect("there are two");
    let is_append = |event: &TimelineEvent| match &event.event {
        TraceEvent::Received(message) => message.kind.starts_with("raft-append") && message.peer == **other,
        _ => false,
    };
    let own = |event: &&TimelineEvent| timeline.nodes[event.node].node == second;
    assert!(timeline.events[position(second, &is_lost)..held].iter().filter(own).any(is_append));
    draw(cluster, rest, second);
}

/// The command line merges and draws the same traces.
fn draw(cluster: &Cluster, rest: &[&str], second: &str) {
    let files: Vec<String> = rest
        .iter()
        .map(|name| {
            let path = cluster.root().join(format!("{name}.trace.json"));
            let text = serde_json::to_string(&trace(cluster, name)).expect("plain data");
            fs::write(&path, text).expect("the folder is ours");
            path.display().to_string()
        })
        .collect();
    let merged = |options: &[&str]| {
        let args: Vec<&str> = ["trace"].into_iter().chain(files.iter().map(String::as_str)).collect();
        let ran = crate::common::binary(&[&args, options].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{options:?}");
        ran.out
    };
    let text = merged(&["--hide", "heartbeat"]);
    assert!(text.contains(&format!("{second}  holds leader (token ")), "{text}");
    assert!(!text.contains("heartbeat"), "{text}");
    assert!(text.contains(", after "), "{text}");
    let mermaid = merged(&["--format", "mermaid", "--hide", "heartbeat,time-request,time-response"]);
    assert!(mermaid.starts_with("sequenceDiagram\n") && mermaid.contains("holds leader"), "{mermaid}");
    let picture = merged(&["--format", "svg", "--last", "1h"]);
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
    let json: serde_json::Value = serde_json::from_str(&merged(&["--format", "json"])).expect("it is JSON");
    assert_eq!(json["nodes"].as_array().map(Vec::len), Some(2));
    let twice = crate::common::binary(&["trace", &files[0], &files[0]]);
    assert_eq!(twice.code, 2);
    assert!(twice.err.contains("two traces are of the same node"), "{}", twice.err);
    let wrong = crate::common::binary(&["trace", &cluster.config(rest[0]).display().to_string()]);
    assert_eq!(wrong.code, 3);
    assert!(wrong.err.contains("not a trace as `hustings trace --format json` writes it"), "{}", wrong.err);
}
