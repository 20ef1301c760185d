//! The traces of several nodes, on one time axis.
//!
//! Every node measures time on its own clock. A trace tells how far the clocks of other members are apart from it, with
//! an error that is known. [`Timeline::merge`] expresses all times on the clock of the first trace, and orders the
//! records so that no node's own order changes and no message arrives before it was sent. [`Picture`] draws the result.

mod picture;
mod transmission;

use std::collections::{BTreeMap, BTreeSet};

use hustings_cluster::api::{Trace, TraceEvent, TraceRecord, TracedMessage};
use serde::Serialize;

pub use picture::{Mark, MarkKind, Picture};
pub use transmission::{Transmission, milliseconds};

/// Why traces cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MergeError {
    /// There is no trace.
    #[error("there is no trace to merge")]
    Nothing,
    /// The traces are of different clusters.
    #[error("the traces are of different clusters, `{0}` and `{1}`")]
    DifferentClusters(String, String),
    /// Two traces are of the same node.
    #[error("two traces are of the same node, `{0}`")]
    SameNode(String),
    /// No trace tells how far a clock is apart from the others.
    #[error("no trace tells how far the clock of `{0}` is apart from that of `{1}`")]
    UnknownClock(String, String),
}

/// The clock of a node, relative to that of the first trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NodeClock {
    /// The name of the node.
    pub node: String,
    /// How much it is ahead of the first node's clock, in nanoseconds.
    pub offset_ns: i64,
    /// The largest error of the offset.
    pub error_ns: u64,
}

/// A record on the common time axis.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TimelineEvent {
    /// When it happened, in nanoseconds of the first node's clock; not before its cause.
    pub at_ns: i64,
    /// The index of the node in [`Timeline::nodes`].
    pub node: usize,
    /// For a message that was received: the index of its sending in [`Timeline::events`], if a trace has it.
    pub cause: Option<usize>,
    /// How much earlier than its cause the clocks would have it, in nanoseconds; 0 if it is later. It does not exceed
    /// the errors of the two clocks unless a clock runs wrong.
    pub contradiction_ns: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: TraceEvent,
}

/// The records of several nodes, in causal order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Timeline {
    /// The name of the cluster.
    pub cluster: String,
    /// The nodes, in the order of the traces.
    pub nodes: Vec<NodeClock>,
    /// The records.
    pub events: Vec<TimelineEvent>,
}

/// Identifies a message in all traces: its stream, and its number in it.
type MessageKey = (u64, u64);

fn key(message: &TracedMessage) -> MessageKey {
    (message.stream, message.number)
}

impl Timeline {
    /// Merges the traces of different nodes of one cluster.
    pub fn merge(traces: Vec<Trace>) -> Result<Timeline, MergeError> {
        let cluster = traces.first().ok_or(MergeError::Nothing)?.cluster.clone();
        let mut names = BTreeSet::new();
        for trace in &traces {
            if trace.cluster != cluster {
                return Err(MergeError::DifferentClusters(cluster, trace.cluster.clone()));
            }
            if !names.insert(&trace.node) {
                return Err(MergeError::SameNode(trace.node.clone()));
            }
        }
        let nodes = node_clocks(&traces)?;
        let mut merge = Merge::new(&nodes, traces);
        while let Some(node) = merge.next_node() {
            merge.take(node);
        }
        let events = merge.events;
        Ok(Timeline { cluster, nodes, events })
    }

    /// Keeps the records of the last so many nanoseconds.
    pub fn keep_last(&mut self, nanoseconds: u64) {
        let last = self.events.iter().map(|event| event.at_ns).max().unwrap_or(0);
        let first = last.saturating_sub_unsigned(nanoseconds);
        self.retain(|event| event.at_ns >= first);
    }

    /// Drops so many of the first records.
    pub fn drop_first(&mut self, count: usize) {
        let mut place = 0;
        self.retain(|_| {
            place += 1;
            place > count
        });
    }

    /// Keeps the records that fulfil a condition. A message whose sending is not kept has no cause.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&TimelineEvent) -> bool) {
        let mut places = vec![None; self.events.len()];
        let mut kept = Vec::new();
        for (place, event) in std::mem::take(&mut self.events).into_iter().enumerate() {
            if is_kept(&event) {
                places[place] = Some(kept.len());
                kept.push(event);
            }
        }
        for event in &mut kept {
            event.cause = event.cause.and_then(|cause| places[cause]);
        }
        self.events = kept;
    }
}

/// How far the clocks are apart from the first one: directly, or over other nodes, with the smallest error.
fn node_clocks(traces: &[Trace]) -> Result<Vec<NodeClock>, MergeError> {
    let place = |name: &str| traces.iter().position(|trace| trace.node == name);
    // Each estimate is known to both of its ends: it can be used in either direction.
    let mut estimates = Vec::new();
    for (from, trace) in traces.iter().enumerate() {
        for clock in &trace.clocks {
            if let Some(to) = place(&clock.peer) {
                estimates.push((from, to, clock.offset_ns, clock.error_ns));
                estimates.push((to, from, clock.offset_ns.saturating_neg(), clock.error_ns));
            }
        }
    }
    let mut known: Vec<Option<(i64, u64)>> = vec![None; traces.len()];
    known[0] = Some((0, 0));
    // As often as there are nodes, every estimate may improve the clock at its end.
    for _ in 0..traces.len() {
        for (from, to, offset, error) in &estimates {
            let Some((base, base_error)) = known[*from] else { continue };
            let (offset, error) = (base.saturating_add(*offset), base_error.saturating_add(*error));
            if known[*to].is_none_or(|(_, known)| error < known) {
                known[*to] = Some((offset, error));
            }
        }
    }
    let clock = |(trace, known): (&Trace, Option<(i64, u64)>)| {
        let unknown = || MergeError::UnknownClock(trace.node.clone(), traces[0].node.clone());
        let (offset_ns, error_ns) = known.ok_or_else(unknown)?;
        Ok(NodeClock { node: trace.node.clone(), offset_ns, error_ns })
    };
    traces.iter().zip(known).map(clock).collect()
}

/// A merge in progress.
struct Merge<'a> {
    nodes: &'a [NodeClock],
    /// The records that are left of each node.
    left: Vec<std::iter::Peekable<std::vec::IntoIter<TraceRecord>>>,
    /// The time of the last event of each node.
    last: Vec<i64>,
    /// Messages whose sending is in a trace but not yet in the timeline.
    unsent: BTreeSet<MessageKey>,
    /// Where the sending of a message is in the timeline.
    sent: BTreeMap<MessageKey, usize>,
    events: Vec<TimelineEvent>,
}

impl<'a> Merge<'a> {
    fn new(nodes: &'a [NodeClock], traces: Vec<Trace>) -> Self {
        let sent_key = |record: &TraceRecord| match &record.event {
            TraceEvent::Sent(message) => Some(key(message)),
            _ => None,
        };
        let unsent = traces.iter().flat_map(|trace| &trace.records).filter_map(sent_key).collect();
        let left = traces.into_iter().map(|trace| trace.records.into_iter().peekable()).collect();
        Merge { nodes, left, last: vec![i64::MIN; nodes.len()], unsent, sent: BTreeMap::new(), events: Vec::new() }
    }

    /// The time of a record by the clocks.
    fn time(&self, node: usize, record: &TraceRecord) -> i64 {
        i64::try_from(record.at.0).unwrap_or(i64::MAX).saturating_sub(self.nodes[node].offset_ns)
    }

    /// The node whose next record comes next: the earliest one that does not wait for its cause.
    fn next_node(&mut self) -> Option<usize> {
        let mut heads = Vec::new();
        for node in 0..self.left.len() {
            let Some(record) = self.left[node].peek().cloned() else { continue };
            let waits = matches!(&record.event, TraceEvent::Received(message) if self.unsent.contains(&key(message)));
            heads.push((waits, self.time(node, &record), node));
        }
        // If all wait, the traces contradict each other, and the times decide.
        heads.into_iter().min().map(|(_, _, node)| node)
    }

    fn take(&mut self, node: usize) {
        let Some(record) = self.left[node].next() else { return };
        let time = self.time(node, &record);
        let cause = match &record.event {
            TraceEvent::Received(message) => self.sent.get(&key(message)).copied(),
            _ => None,
        };
        let caused_at = cause.map_or(i64::MIN, |cause| self.events[cause].at_ns);
        let at_ns = time.max(self.last[node]).max(caused_at);
        self.last[node] = at_ns;
        if let TraceEvent::Sent(message) = &record.event {
            self.unsent.remove(&key(message));
            self.sent.insert(key(message), self.events.len());
        }
        let contradiction_ns = if caused_at > time { caused_at.abs_diff(time) } else { 0 };
        self.events.push(TimelineEvent { at_ns, node, cause, contradiction_ns, event: record.event });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hustings_cluster::api::PeerClock;
    use hustings_cluster::clock::Timestamp;

    fn message(peer: &str, stream: u64, number: u64) -> TracedMessage {
        let (peer, kind) = (peer.to_string(), "heartbeat".to_string());
        TracedMessage { peer, kind, stream, number, bytes: 9, office: None, term: None, token: None }
    }

    fn trace(node: &str, clocks: &[(&str, i64, u64)], records: Vec<(u64, TraceEvent)>) -> Trace {
        let clock = |(peer, offset_ns, error_ns): &(&str, i64, u64)| PeerClock {
            peer: (*peer).to_string(),
            offset_ns: *offset_ns,
            error_ns: *error_ns,
            rtt_ns: 2 * error_ns,
            samples: 1,
        };
        let records = records.into_iter().enumerate();
        Trace {
            cluster: "shop".to_string(),
            node: node.to_string(),
            incarnation: "1".to_string(),
            now: Timestamp(0),
            now_unix_ms: 0,
            first: 0,
            next: 0,
            end: 0,
            clocks: clocks.iter().map(clock).collect(),
            records: records
                .map(|(sequence, (at, event))| TraceRecord { sequence: sequence as u64, at: Timestamp(at), event })
                .collect(),
        }
    }

    /// The clock of b is ahead by 1,000; a thinks by 990. The message takes 5, the answer 3.
    fn pair() -> Vec<Trace> {
        let a = vec![
            (5_000, TraceEvent::Sent(message("b", 1, 0))),
            (5_010, TraceEvent::Received(message("b", 2, 0))),
            (5_011, TraceEvent::Connected { peer: "c".to_string() }),
        ];
        let b = vec![(6_005, TraceEvent::Received(message("a", 1, 0))), (6_007, TraceEvent::Sent(message("a", 2, 0)))];
        vec![trace("a", &[("b", 990, 20)], a), trace("b", &[], b)]
    }

    #[test]
    fn messages_arrive_after_they_were_sent_although_the_offset_is_not_exact() {
        let timeline = Timeline::merge(pair()).expect("they fit");
        let order: Vec<_> = timeline.events.iter().map(|event| (event.at_ns, event.node, event.cause)).collect();
        // The answer seems to be sent at 5,017, and to arrive before that.
        assert_eq!(
            order,
            [(5_000, 0, None), (5_015, 1, Some(0)), (5_017, 1, None), (5_017, 0, Some(2)), (5_017, 0, None)]
        );
        assert_eq!(timeline.events[3].contradiction_ns, 7);
        assert!(timeline.events.iter().all(|event| event.contradiction_ns <= timeline.nodes[1].error_ns));
    }

    #[test]
    fn an_estimate_counts_in_both_directions_and_over_other_nodes() {
        let traces = |of_c: &[(&str, i64, u64)]| {
            let b = trace("b", &[("a", -100, 5)], Vec::new());
            vec![trace("a", &[("c", 7, 90)], Vec::new()), b, trace("c", of_c, Vec::new())]
        };
        let clocks = |traces| -> Vec<_> {
            let timeline = Timeline::merge(traces).expect("they fit");
            timeline.nodes.into_iter().map(|clock| (clock.offset_ns, clock.error_ns)).collect()
        };
        assert_eq!(clocks(traces(&[])), [(0, 0), (100, 5), (7, 90)]);
        assert_eq!(clocks(traces(&[("b", -50, 10)])), [(0, 0), (100, 5), (150, 15)]);
    }

    #[test]
    fn traces_that_do_not_fit_are_refused() {
        assert_eq!(Timeline::merge(Vec::new()), Err(MergeError::Nothing));
        let mut other = pair();
        other[1].cluster = "bank".to_string();
        let error = Timeline::merge(other).expect_err("another cluster").to_string();
        assert_eq!(error, "the traces are of different clusters, `shop` and `bank`");
        let twice = vec![pair().remove(0), pair().remove(0)];
        assert_eq!(Timeline::merge(twice), Err(MergeError::SameNode("a".to_string())));
        let mut unknown = pair();
        unknown[0].clocks.clear();
        let error = Timeline::merge(unknown).expect_err("no clock").to_string();
        assert_eq!(error, "no trace tells how far the clock of `b` is apart from that of `a`");
    }

    #[test]
    fn traces_that_contradict_each_other_still_end() {
        let a = vec![(10, TraceEvent::Received(message("b", 2, 0))), (20, TraceEvent::Sent(message("b", 1, 0)))];
        let b = vec![(10, TraceEvent::Received(message("a", 1, 0))), (20, TraceEvent::Sent(message("a", 2, 0)))];
        let timeline = Timeline::merge(vec![trace("a", &[("b", 0, 1)], a), trace("b", &[], b)]).expect("they fit");
        assert_eq!(timeline.events.len(), 4);
    }

    #[test]
    fn what_is_left_out_causes_nothing() {
        let mut timeline = Timeline::merge(pair()).expect("they fit");
        timeline.keep_last(2);
        let left: Vec<_> = timeline.events.iter().map(|event| (event.at_ns, event.cause)).collect();
        assert_eq!(left, [(5_015, None), (5_017, None), (5_017, Some(1)), (5_017, None)]);
        timeline.drop_first(3);
        assert!(matches!(timeline.events[0].event, TraceEvent::Connected { .. }));
        assert_eq!(timeline.events.len(), 1);
    }
}
