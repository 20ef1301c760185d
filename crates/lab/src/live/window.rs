//! What belongs to a failover, cut out of the records of all nodes that could be asked.

use std::collections::{BTreeMap, BTreeSet};

use hustings_cluster::api::TraceEvent;
use hustings_timeline::{Timeline, TimelineEvent};

/// How much is shown before the last sign of the former holder, and after the next one holds the office.
const BEFORE_NS: i64 = 20_000_000;
const AFTER_NS: i64 = 15_000_000;
/// A failover that took longer is shown from this long before its end.
const MAX_LENGTH_NS: i64 = 20_000_000_000;
/// How long before the end the picture begins if nobody knows when the office was lost.
const UNKNOWN_LENGTH_NS: i64 = 500_000_000;
/// The kinds of messages that go on all the time and say nothing about a failover.
const HIDDEN_KINDS: [&str; 3] = ["heartbeat", "time-request", "time-response"];
/// Why a connection ended, if this node did not end it.
const ENDED: [&str; 4] = ["closed", "lost", "reset", "network-error"];
/// At most so many nodes and records of messages are shown.
const MAX_LANES: usize = 16;
const MAX_RECORDS: usize = 600;

/// A change of the holder, as the history has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Handover {
    pub(super) office: String,
    /// Who held the office before, and its token.
    pub(super) former: String,
    pub(super) former_token: u64,
    /// Who holds it from then on, and its token.
    pub(super) holder: String,
    pub(super) token: u64,
    /// When a node here learned of it, for the case that the trace of the new holder is not to be had.
    pub(super) learned_ns: i64,
}

/// The last sign of the former holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LastSign {
    /// Its own trace says that it gave up.
    GaveUp,
    /// The first connection to it that ended by itself: its process ended.
    Closed,
    /// Its last message. Members that have nothing to say to each other are silent for longer.
    Message,
}

/// The records of a failover.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Window {
    /// When the last sign of the former holder was, and what it was.
    pub(super) lost_ns: i64,
    pub(super) last_sign: LastSign,
    /// When the new holder held the office.
    pub(super) held_ns: i64,
    /// Whether the new holder's own trace says so.
    pub(super) is_exact: bool,
    /// Nodes from top to bottom.
    pub(super) lanes: Vec<String>,
    pub(super) timeline: Timeline,
    /// What is not shown, in sentences.
    pub(super) notes: Vec<String>,
}

impl Window {
    /// Cuts the window out of the records of several nodes. `None` if they do not reach back far enough.
    pub(super) fn cut(mut timeline: Timeline, handover: &Handover) -> Option<Window> {
        let first = timeline.events.iter().map(|event| event.at_ns).min()?;
        let held = held_at(&timeline, handover);
        let held_ns = held.unwrap_or(handover.learned_ns);
        let (lost, last_sign) = lost_at(&timeline, handover, held_ns);
        let lost_ns = lost.unwrap_or(held_ns.saturating_sub(UNKNOWN_LENGTH_NS));
        if held_ns < first || !timeline.events.iter().any(|event| event.at_ns <= held_ns && event.at_ns >= lost_ns) {
            return None;
        }
        let (from, to) = (lost_ns.saturating_sub(BEFORE_NS), held_ns.saturating_add(AFTER_NS));
        timeline.retain(|event| (from..=to).contains(&event.at_ns));
        let mut notes = Vec::new();
        hide(&mut timeline, handover, &mut notes);
        let lanes = choose_lanes(&mut timeline, handover, &mut notes);
        thin_out(&mut timeline, lost_ns, &mut notes);
        Some(Window { lost_ns, last_sign, held_ns, is_exact: held.is_some(), lanes, timeline, notes })
    }

    /// How many messages are shown.
    pub(super) fn message_count(&self) -> usize {
        self.timeline.transmissions().iter().flatten().count()
    }
}

/// When the new holder's own trace says that it held the office.
fn held_at(timeline: &Timeline, handover: &Handover) -> Option<i64> {
    let is_it = |event: &&TimelineEvent| match &event.event {
        TraceEvent::Held { office, token } => *office == handover.office && *token == handover.token,
        _ => false,
    };
    timeline.events.iter().rfind(is_it).map(|event| event.at_ns)
}

/// The last sign of the former holder before a time.
fn lost_at(timeline: &Timeline, handover: &Handover, held_ns: i64) -> (Option<i64>, LastSign) {
    let former = handover.former.as_str();
    let (mut last_message, mut gave_up) = (None, None);
    let mut closed: BTreeMap<usize, i64> = BTreeMap::new();
    let earliest = held_ns.saturating_sub(MAX_LENGTH_NS);
    let earlier = timeline.events.iter().filter(|event| (earliest..held_ns).contains(&event.at_ns));
    for event in earlier {
        match &event.event {
            TraceEvent::Received(message) if message.peer == former && former != handover.holder => {
                last_message = Some(event.at_ns);
            }
            // A node that drops a connection because nothing comes over it does so long after the last sign.
            TraceEvent::Disconnected { peer, reason } if peer == former && ENDED.contains(&reason.as_str()) => {
                closed.insert(event.node, event.at_ns);
            }
            // A connection that came back has nothing to do with it.
            TraceEvent::Connected { peer } if peer == former => _ = closed.remove(&event.node),
            TraceEvent::Lost { office, token } if *office == handover.office && *token == handover.former_token => {
                gave_up = Some(event.at_ns);
            }
            _ => {}
        }
    }
    let closed = closed.into_values().min();
    let silent = closed.or(last_message);
    let is_first = |gave_up: &i64| silent.is_none_or(|silent| *gave_up <= silent);
    match (gave_up.filter(is_first), closed) {
        (Some(gave_up), _) => (Some(gave_up), LastSign::GaveUp),
        (None, Some(closed)) => (Some(closed), LastSign::Closed),
        (None, None) => (last_message, LastSign::Message),
    }
}

/// Hides what goes on all the time, and other offices, of which there may be thousands.
fn hide(timeline: &mut Timeline, handover: &Handover, notes: &mut Vec<String>) {
    let mut hidden: BTreeSet<String> = BTreeSet::new();
    let mut other_offices = BTreeSet::new();
    timeline.retain(|event| match &event.event {
        TraceEvent::Sent(message) | TraceEvent::Received(message) => {
            let is_other = message.office.as_ref().is_some_and(|office| *office != handover.office);
            let is_hidden = HIDDEN_KINDS.contains(&message.kind.as_str());
            if is_hidden {
                hidden.insert(message.kind.clone());
            }
            other_offices.extend(message.office.clone().filter(|_| is_other));
            !is_hidden && !is_other
        }
        TraceEvent::Held { office, .. } | TraceEvent::Lost { office, .. } if *office != handover.office => {
            other_offices.insert(office.clone());
            false
        }
        _ => true,
    });
    if !hidden.is_empty() {
        let kinds: Vec<String> = hidden.into_iter().collect();
        notes.push(format!("Not shown: {}.", kinds.join(", ")));
    }
    if !other_offices.is_empty() {
        notes.push(format!("Other offices ({}) are not shown.", other_offices.len()));
    }
}

/// Sorts the nodes by name. If there are too many, those stay that hold or held the office, then those that told
/// something themselves, then those with most messages.
fn choose_lanes(timeline: &mut Timeline, handover: &Handover, notes: &mut Vec<String>) -> Vec<String> {
    let mut weights: BTreeMap<String, usize> =
        timeline.participants().into_iter().map(|name| (name.to_string(), 0)).collect();
    weights.extend(timeline.nodes.iter().map(|clock| (clock.node.clone(), usize::MAX / 2)));
    weights.insert(handover.former.clone(), usize::MAX);
    weights.insert(handover.holder.clone(), usize::MAX);
    for sent in timeline.transmissions().into_iter().flatten() {
        for name in [sent.from, sent.to] {
            if let Some(weight) = weights.get_mut(name) {
                *weight = weight.saturating_add(1);
            }
        }
    }
    if weights.len() <= MAX_LANES {
        return weights.into_keys().collect();
    }
    let mut by_weight: Vec<(usize, String)> = weights.into_iter().map(|(name, weight)| (weight, name)).collect();
    by_weight.sort_by(|one, other| other.cmp(one));
    notes.push(format!("{} nodes with fewer messages are not shown.", by_weight.len() - MAX_LANES));
    by_weight.truncate(MAX_LANES);
    let mut lanes: Vec<String> = by_weight.into_iter().map(|(_, name)| name).collect();
    lanes.sort();
    let shown: Vec<bool> = timeline.nodes.iter().map(|clock| lanes.contains(&clock.node)).collect();
    timeline.retain(|event| match &event.event {
        TraceEvent::Sent(message) | TraceEvent::Received(message) => shown[event.node] && lanes.contains(&message.peer),
        _ => shown[event.node],
    });
    lanes
}

/// If there are too many messages, those in the middle are left out: a failover is read from its ends.
fn thin_out(timeline: &mut Timeline, lost_ns: i64, notes: &mut Vec<String>) {
    let is_message = |event: &TimelineEvent| matches!(event.event, TraceEvent::Sent(_) | TraceEvent::Received(_));
    let times: Vec<i64> = timeline.events.iter().filter(|event| is_message(event)).map(|event| event.at_ns).collect();
    if times.len() <= MAX_RECORDS {
        return;
    }
    let (from, to) = (MAX_RECORDS / 2, times.len() - MAX_RECORDS / 2);
    let [start, end] = [from, to - 1].map(|place| times[place].saturating_sub(lost_ns) as f64 / 1e6);
    notes.push(format!("{} records of messages between {start:.1} and {end:.1} ms are left out.", to - from));
    let mut place = 0;
    timeline.retain(|event| {
        place += usize::from(is_message(event));
        !is_message(event) || !(from..to).contains(&(place - 1))
    });
}

#[cfg(test)]
mod tests {
    use hustings_cluster::api::TracedMessage;
    use hustings_timeline::NodeClock;

    use super::*;

    const MS: i64 = 1_000_000;

    fn message(peer: &str, kind: &str) -> TracedMessage {
        let (peer, kind) = (peer.to_string(), kind.to_string());
        TracedMessage { peer, kind, stream: 1, number: 1, bytes: 9, office: None, term: None, token: None }
    }

    fn received(peer: &str, kind: &str) -> TraceEvent {
        TraceEvent::Received(message(peer, kind))
    }

    fn closed(peer: &str) -> TraceEvent {
        TraceEvent::Disconnected { peer: peer.to_string(), reason: "lost".to_string() }
    }

    fn held(office: &str, token: u64) -> TraceEvent {
        TraceEvent::Held { office: office.to_string(), token }
    }

    /// Events of these nodes at these milliseconds.
    fn timeline(nodes: &[&str], events: Vec<(i64, usize, TraceEvent)>) -> Timeline {
        let event = |(at, node, event)| TimelineEvent { at_ns: at * MS, node, cause: None, contradiction_ns: 0, event };
        Timeline {
            cluster: "shop".to_string(),
            nodes: nodes.iter().map(|node| NodeClock { node: node.to_string(), offset_ns: 0, error_ns: 0 }).collect(),
            events: events.into_iter().map(event).collect(),
        }
    }

    fn handover(learned_ms: i64) -> Handover {
        Handover {
            office: "leader".to_string(),
            former: "a".to_string(),
            former_token: 6,
            holder: "b".to_string(),
            token: 9,
            learned_ns: learned_ms * MS,
        }
    }

    /// The former holder is killed at 1,000, and b holds the office at 1,300.
    fn killed() -> Vec<(i64, usize, TraceEvent)> {
        vec![
            (100, 0, closed("a")),
            (110, 0, TraceEvent::Connected { peer: "a".to_string() }),
            (985, 1, received("b", "raft-append")),
            (999, 0, received("a", "heartbeat")),
            (1_001, 0, closed("a")),
            (1_002, 1, closed("a")),
            (1_010, 1, received("b", "heartbeat")),
            (1_200, 0, received("c", "raft-vote-response")),
            (1_250, 0, held("billing", 77)),
            (1_300, 0, held("leader", 9)),
            (1_310, 1, received("b", "raft-append")),
            (1_400, 1, received("b", "raft-append")),
        ]
    }

    #[test]
    fn a_window_begins_before_the_last_sign_and_ends_after_the_office_is_held() {
        let window = Window::cut(timeline(&["b", "c"], killed()), &handover(0)).expect("it is remembered");
        assert_eq!((window.lost_ns / MS, window.held_ns / MS), (1_001, 1_300));
        assert_eq!((window.last_sign, window.is_exact), (LastSign::Closed, true));
        let times: Vec<i64> = window.timeline.events.iter().map(|event| event.at_ns / MS).collect();
        assert_eq!(times, [985, 1_001, 1_002, 1_200, 1_300, 1_310]);
        assert_eq!(window.lanes, ["a", "b", "c"], "the former holder has a lane without a trace");
        assert_eq!(window.notes, ["Not shown: heartbeat.", "Other offices (1) are not shown."]);
        assert_eq!(window.message_count(), 3);
    }

    #[test]
    fn a_holder_that_gives_up_says_so_itself() {
        let mut events = killed();
        events.insert(3, (990, 2, TraceEvent::Lost { office: "leader".to_string(), token: 6 }));
        let window = Window::cut(timeline(&["b", "c", "a"], events), &handover(0)).expect("it is remembered");
        assert_eq!((window.lost_ns / MS, window.last_sign), (990, LastSign::GaveUp));
        // What another member lost before that is another failover.
        let mut events = killed();
        events.insert(3, (990, 1, TraceEvent::Lost { office: "leader".to_string(), token: 5 }));
        let window = Window::cut(timeline(&["b", "c"], events), &handover(0)).expect("it is remembered");
        assert_eq!((window.lost_ns / MS, window.last_sign), (1_001, LastSign::Closed));
    }

    #[test]
    fn the_last_sign_of_a_silent_holder_is_its_last_message() {
        let silent = |event: TraceEvent| match event {
            TraceEvent::Disconnected { peer, .. } => TraceEvent::Disconnected { peer, reason: "dropped".to_string() },
            event => event,
        };
        let events = killed().into_iter().map(|(at, node, event)| (at, node, silent(event))).collect();
        let window = Window::cut(timeline(&["b", "c"], events), &handover(0)).expect("it is remembered");
        assert_eq!((window.lost_ns / MS, window.last_sign), (999, LastSign::Message));
    }

    #[test]
    fn without_the_trace_of_the_new_holder_it_is_when_a_node_learned_of_it() {
        let events = killed().into_iter().filter(|(_, node, _)| *node == 1).map(|(at, _, event)| (at, 0, event));
        let window = Window::cut(timeline(&["c"], events.collect()), &handover(1_305)).expect("it is remembered");
        assert_eq!((window.lost_ns / MS, window.held_ns / MS, window.is_exact), (1_002, 1_305, false));
        assert_eq!(window.lanes, ["a", "b", "c"]);
    }

    #[test]
    fn what_is_forgotten_cannot_be_shown() {
        let late = vec![(5_000, 0, received("c", "raft-append"))];
        assert_eq!(Window::cut(timeline(&["b"], late), &handover(1_300)), None);
        assert_eq!(Window::cut(timeline(&["b"], Vec::new()), &handover(1_300)), None);
    }

    #[test]
    fn too_many_messages_and_nodes_are_left_out_and_counted() {
        let mut events = killed();
        let many =
            (0..2_000).map(|number| (1_020 + number / 10, 0, received(&format!("n{:02}", number % 40), "election")));
        events.splice(7..7, many);
        events.sort_by_key(|(at, ..)| *at);
        let window = Window::cut(timeline(&["b", "c"], events), &handover(0)).expect("it is remembered");
        assert_eq!(window.lanes.len(), MAX_LANES);
        assert!(["a", "b", "c"].iter().all(|name| window.lanes.iter().any(|lane| lane == name)), "{:?}", window.lanes);
        let local = window.timeline.events.len() - window.message_count();
        assert_eq!((local, window.message_count()), (3, MAX_RECORDS), "what the nodes did themselves stays");
        assert_eq!(window.notes[2], "27 nodes with fewer messages are not shown.");
        assert!(window.notes[3].contains("are left out."), "{:?}", window.notes);
    }
}
