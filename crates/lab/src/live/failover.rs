//! The last failover, as the messages that the nodes really sent.
//!
//! After a change of the leader every node that can be asked tells what it remembers. That is soon forgotten, so it is
//! asked for at once, whether or not somebody looks.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::thread;
use std::time::Duration;

use hustings_cluster::api::{Change, Client, PeerClock, Trace, TraceEvent};
use hustings_cluster::clock::{Clock, Timestamp};
use hustings_timeline::{Mark, MarkKind, Picture, Timeline};
use serde_json::{Value, json};

use super::window::{Handover, LastSign, Window};
use super::{LiveNode, Monitor};

/// How often a change is looked for, and how long after one the nodes are asked: until then they have heard of it.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const SETTLE_TIME: Duration = Duration::from_millis(150);
/// How long a node may take for each part of its answer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// How many steps are told in words.
const MAX_STEPS: usize = 10;
/// The width that the page has for a picture on a small screen.
const FIT_WIDTH: f64 = 600.0;
/// A picture that is larger than this is not sent.
const MAX_BYTES: usize = 400_000;

/// The last failover.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Failover {
    /// The token of the leader that it belongs to.
    pub(super) token: u64,
    /// What the page gets: an object, or null if there was no failover.
    pub(super) content: Value,
}

/// Looks for changes of the leader until the monitor is gone.
pub(super) fn follow(monitor: &Weak<Monitor>) {
    while let Some(strong) = monitor.upgrade() {
        let wanted = {
            let known = strong.known();
            last_handover(&known.history, known.leader_noticed).filter(|last| last.token != known.failover.token)
        };
        if let Some(handover) = wanted {
            thread::sleep(SETTLE_TIME);
            let content = describe(&strong.nodes, &handover);
            strong.known().failover = Failover { token: handover.token, content };
            strong.notify();
        }
        drop(strong);
        thread::sleep(POLL_INTERVAL);
    }
}

/// The last change from one holder to the next, if there was one. An office may be vacant in between.
fn last_handover(history: &[Change], noticed: Option<Timestamp>) -> Option<Handover> {
    let last = history.last()?;
    let holder = last.holder.clone()?;
    let (former, former_token) =
        history.iter().rev().skip(1).find_map(|change| Some((change.holder.clone()?, change.token)))?;
    let learned_ns = i64::try_from(noticed?.0).unwrap_or(i64::MAX);
    Some(Handover { office: last.office.clone(), former, former_token, holder, token: last.token, learned_ns })
}

/// Asks all nodes and draws what they say.
fn describe(nodes: &[LiveNode], handover: &Handover) -> Value {
    let before = Clock::new().now();
    let mut traces = fetch(nodes);
    let after = Clock::new().now();
    share_clock(&mut traces, before, after);
    let told: Vec<String> = traces.iter().map(|trace| trace.node.clone()).collect();
    let window = match Timeline::merge(traces) {
        Ok(timeline) => Window::cut(timeline, handover).ok_or_else(|| "no node remembers it any more".to_string()),
        Err(error) => Err(error.to_string()),
    };
    match window {
        Ok(window) => draw(&window, handover, &told),
        Err(problem) => json!({
            "former": handover.former, "holder": handover.holder, "token": handover.token, "problem": problem,
        }),
    }
}

/// Asks all nodes at once, since one that is frozen does not answer. A node whose name is there twice counts once.
fn fetch(nodes: &[LiveNode]) -> Vec<Trace> {
    let ask = |node: &LiveNode| Client::connect(&node.socket, Duration::ZERO)?.trace(REPLY_TIMEOUT);
    let answers: Vec<_> = thread::scope(|scope| {
        let asked: Vec<_> = nodes.iter().map(|node| scope.spawn(move || ask(node))).collect();
        asked.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let traces = answers.into_iter().filter_map(|answer| answer.ok()?.ok());
    let by_name: BTreeMap<String, Trace> = traces.map(|trace| (trace.node.clone(), trace)).collect();
    by_name.into_values().collect()
}

/// All sockets are on this host, so all nodes read the same clock, and no estimate is needed: a node that has just
/// started has none. Only in a time namespace of its own does a node read another clock; then its estimates count.
fn share_clock(traces: &mut [Trace], before: Timestamp, after: Timestamp) {
    if !traces.iter().all(|trace| (before..=after).contains(&trace.now)) {
        return;
    }
    let same = |trace: &Trace| PeerClock { peer: trace.node.clone(), offset_ns: 0, error_ns: 0, rtt_ns: 0, samples: 0 };
    let clocks: Vec<PeerClock> = traces.iter().skip(1).map(same).collect();
    for trace in traces.iter_mut() {
        trace.clocks.clear();
    }
    if let Some(first) = traces.first_mut() {
        first.clocks = clocks;
    }
}

/// The picture and its words.
fn draw(window: &Window, handover: &Handover, told: &[String]) -> Value {
    let mut picture = Picture::new(&window.timeline);
    picture.lanes = window.lanes.iter().map(String::as_str).collect();
    picture.zero_ns = window.lost_ns;
    picture.fit_width = Some(FIT_WIDTH);
    picture.notes.clone_from(&window.notes);
    let is_told = |name: &String| told.contains(name);
    let label = match window.last_sign {
        LastSign::GaveUp => None,
        LastSign::Closed => Some(format!("connections to {} closed", handover.former)),
        LastSign::Message => Some(format!("last message from {}", handover.former)),
    };
    if let Some(label) = label.filter(|_| handover.former != handover.holder) {
        picture.marks.push(Mark { node: &handover.former, at_ns: window.lost_ns, kind: MarkKind::Gone, label });
    }
    if !window.is_exact {
        let label = format!("holds {} (token {})", handover.office, handover.token);
        picture.marks.push(Mark { node: &handover.holder, at_ns: window.held_ns, kind: MarkKind::Held, label });
    }
    let svg = picture.to_svg();
    let is_small = svg.len() <= MAX_BYTES;
    json!({
        "former": handover.former,
        "holder": handover.holder,
        "token": handover.token,
        "took_ms": window.held_ns.saturating_sub(window.lost_ns) as f64 / 1e6,
        "last_sign": match window.last_sign {
            LastSign::GaveUp => "gave-up",
            LastSign::Closed => "closed",
            LastSign::Message => "message",
        },
        "is_exact": window.is_exact,
        "told_by": told,
        "silent": window.lanes.iter().filter(|name| !is_told(name)).collect::<Vec<_>>(),
        "messages": window.message_count(),
        "steps": steps(&picture, window),
        "notes": window.notes,
        "svg": is_small.then_some(svg),
        "problem": (!is_small).then_some("the picture is too large"),
    })
}

/// The events of the nodes themselves, in words. Those that several nodes tell are one step, at the time of the first.
fn steps(picture: &Picture<'_>, window: &Window) -> Vec<Value> {
    let mut steps: Vec<(i64, String, Vec<&str>, bool)> = Vec::new();
    let events = window.timeline.events.iter().filter_map(|event| {
        let is_held = matches!(event.event, TraceEvent::Held { .. });
        let text = match &event.event {
            TraceEvent::Connected { .. } => return None,
            other => other.local()?,
        };
        Some((event.at_ns, text, window.timeline.nodes[event.node].node.as_str(), is_held))
    });
    let marks =
        picture.marks.iter().map(|mark| (mark.at_ns, mark.label.clone(), mark.node, mark.kind == MarkKind::Held));
    let mut all: Vec<_> = events.chain(marks).collect();
    all.sort_by_key(|(at, ..)| *at);
    for (at, text, node, is_held) in all {
        match steps.iter_mut().find(|(_, known, ..)| *known == text) {
            Some((_, _, nodes, _)) if nodes.contains(&node) => {}
            Some((_, _, nodes, _)) => nodes.push(node),
            None => steps.push((at, text, vec![node], is_held)),
        }
    }
    // The end is what one wants to know most.
    let skipped = steps.len().saturating_sub(MAX_STEPS);
    let shown = steps.into_iter().skip(skipped);
    let step = |(at, text, nodes, is_held): (i64, String, Vec<&str>, bool)| json!({ "at_ms": at.saturating_sub(window.lost_ns) as f64 / 1e6, "nodes": nodes, "text": text, "held": is_held });
    shown.map(step).collect()
}

#[cfg(test)]
mod tests {
    use hustings_cluster::api::ChangeReason;

    use super::*;

    fn change(holder: Option<&str>, token: u64) -> Change {
        let holder = holder.map(str::to_string);
        Change { office: "leader".to_string(), holder, token, reason: ChangeReason::Vacant, since_unix_ms: 0 }
    }

    #[test]
    fn a_handover_has_a_former_holder_and_a_next_one() {
        let last = |changes: &[Change]| {
            let last = last_handover(changes, Some(Timestamp(5)))?;
            Some((last.former, last.former_token, last.holder, last.token))
        };
        let names = |former: &str, holder: &str| Some((former.to_string(), 3, holder.to_string(), 5));
        assert_eq!(last(&[]), None);
        assert_eq!(last(&[change(Some("a"), 3)]), None, "the first leader takes over from nobody");
        assert_eq!(last(&[change(Some("a"), 3), change(Some("b"), 5)]), names("a", "b"));
        assert_eq!(last(&[change(Some("a"), 3), change(None, 3), change(Some("b"), 5)]), names("a", "b"));
        assert_eq!(last(&[change(Some("a"), 3), change(None, 3)]), None, "it is not over yet");
    }

    fn trace(node: &str, now: u64, peer: &str) -> Trace {
        let clock = PeerClock { peer: peer.to_string(), offset_ns: 77, error_ns: 5, rtt_ns: 10, samples: 1 };
        Trace {
            cluster: "shop".to_string(),
            node: node.to_string(),
            incarnation: "1".to_string(),
            now: Timestamp(now),
            now_unix_ms: 0,
            first: 0,
            next: 0,
            end: 0,
            clocks: vec![clock],
            records: Vec::new(),
        }
    }

    #[test]
    fn nodes_on_this_host_share_its_clock() {
        let offsets = |now: [u64; 2]| {
            let mut traces = vec![trace("a", now[0], "b"), trace("b", now[1], "a")];
            share_clock(&mut traces, Timestamp(10), Timestamp(20));
            Timeline::merge(traces).expect("they fit").nodes[1].offset_ns
        };
        assert_eq!(offsets([12, 14]), 0);
        assert_eq!(offsets([12, 9_000]), 77, "a clock of its own");
    }

    #[test]
    fn if_nobody_answers_that_is_said() {
        let nodes = [LiveNode { name: "a".to_string(), socket: "/nonexistent/hustings.sock".into() }];
        let history = [change(Some("a"), 6), change(Some("b"), 9)];
        let told = describe(&nodes, &last_handover(&history, Some(Timestamp(5))).expect("there is one"));
        assert_eq!((&told["holder"], &told["problem"]), (&"b".into(), &"there is no trace to merge".into()));
        assert_eq!(told["svg"], Value::Null);
    }
}
