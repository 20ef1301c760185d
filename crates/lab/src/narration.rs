//! One sentence for every event: what happened, why, and what the node did about it.
//!
//! Sentences come from the trace alone: the record, its cause, and what it sent. The verb of a message comes from the
//! name of its kind; a kind without a verb is "sent".

use hustings_protocol::{Change, Effect, Event, Fact, Message, NoticeKind, Record, StartReason, TraceEvent};
use hustings_sim::erased::DynMessage;

/// A message that the event sent.
pub(crate) struct Sending {
    pub(crate) to: u32,
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

/// How the state of a node changes with a record.
pub(crate) enum StateChange<'a> {
    /// Not at all.
    Nothing,
    /// It enters a stage, which its algorithm calls so.
    Stage(&'a str),
    /// In another way.
    Other,
}

/// What a node does with a message of this kind, before its receivers.
const VERBS: &[(&str, &str)] = &[
    ("accept", "accepts the invitation of"),
    ("ack", "acknowledges to"),
    ("agree", "agrees with"),
    ("answer", "answers"),
    ("appoint", "appoints"),
    ("areyoucoordinator", "asks for coordinators:"),
    ("beacon", "signals that it lives to"),
    ("candidate", "passes a candidacy to"),
    ("climb", "climbs towards the inner ring at"),
    ("confirm", "confirms to"),
    ("coordinator", "announces the leader to"),
    ("count", "counts, at"),
    ("crash", "reports the crash to"),
    ("decline", "declines to"),
    ("divide", "divides the ring at"),
    ("elected", "announces the leader to"),
    ("election", "sends election to"),
    ("estimate", "passes an estimate to"),
    ("failed", "reports the failure to"),
    ("first", "sends the first number of the round to"),
    ("info", "informs"),
    ("invitation", "invites"),
    ("invite", "invites"),
    ("leader", "announces the leader to"),
    ("leader-ack", "confirms the leader to"),
    ("m-coordinator", "sends the result of a segment to"),
    ("name", "passes names to"),
    ("notify", "notifies"),
    ("number", "reports its number to"),
    ("ok", "answers ok to"),
    ("parent", "takes as its parent"),
    ("ping", "pings"),
    ("pong", "answers the ping of"),
    ("probe", "probes"),
    ("query", "asks who leads:"),
    ("ready", "declares the group ready to"),
    ("reply", "replies to"),
    ("second", "passes the second number of the round to"),
    ("size", "tells the size to"),
    ("view", "proposes a view to"),
    ("wakeup", "wakes"),
    ("wave", "sends the wave to"),
    ("yes", "says yes to"),
];

/// Writes the sentences of a run.
pub(crate) struct Narrator {
    labels: Vec<String>,
    is_ring: bool,
}

impl Narrator {
    pub(crate) fn new(labels: Vec<String>, is_ring: bool) -> Self {
        Narrator { labels, is_ring }
    }

    /// The sentence of a record that sent these messages, `since` so many ticks after its cause.
    pub(crate) fn sentence(
        &self,
        record: &Record<DynMessage>,
        sends: &[Sending],
        since: Option<u64>,
        change: &StateChange<'_>,
    ) -> String {
        let me = self.node(record.node);
        let subject = capital(&me);
        match &record.what {
            TraceEvent::Handled { event, peer, coins, effects } => {
                let why = self.why(&subject, event, *peer, record.copy, since);
                let drawn = coins.first().map(|(bound, coin)| format!("draws {} of {bound}", coin + 1));
                let did = self.actions(effects, sends, drawn);
                match change {
                    _ if !did.is_empty() => format!("{why}: it {did}."),
                    StateChange::Stage(stage) => format!("{why}: it is now {stage}."),
                    StateChange::Other => format!("{why}: it takes note."),
                    StateChange::Nothing => format!("{why}. Nothing changes."),
                }
            }
            TraceEvent::Lost { peer, message, why } => {
                let (kind, from) = (message.kind_name(), self.node(*peer));
                let reason = match why {
                    hustings_protocol::Loss::ReceiverDown => format!("{me} is down"),
                    hustings_protocol::Loss::Chance => "it is lost on the way".to_string(),
                    hustings_protocol::Loss::Cut => "the link is cut".to_string(),
                    hustings_protocol::Loss::Dropped => "you dropped it".to_string(),
                };
                format!("“{kind}” from {from} does not reach {me}: {reason}.")
            }
            TraceEvent::Crashed => {
                format!("{subject} crashes. It loses its state, and hears nothing while it is down.")
            }
            TraceEvent::Recovered => format!("{subject} comes back, with fresh state."),
            TraceEvent::Joined => format!("{subject} joins."),
            TraceEvent::Retired => format!("{subject} leaves in good order."),
            TraceEvent::LinkCut { peer } => format!("The link between {me} and {} is cut.", self.node(*peer)),
            TraceEvent::LinkHealed { peer } => format!("The link between {me} and {} works again.", self.node(*peer)),
            TraceEvent::Notice { kind: NoticeKind::Poll, count } => format!("{count} nodes poll {me}."),
            TraceEvent::Notice { kind: NoticeKind::Alive, count } => format!("{subject} answers {count} polls."),
            TraceEvent::Notice { kind: NoticeKind::Heartbeat, count } => {
                format!("{subject} sends heartbeats to {count} nodes.")
            }
        }
    }

    fn node(&self, at: u32) -> String {
        match self.labels.get(at as usize) {
            Some(label) if label == "informer" => "the informer".to_string(),
            Some(label) => format!("node {label}"),
            None => format!("position {at}"),
        }
    }

    /// Why the node acts.
    fn why(
        &self,
        subject: &str,
        event: &Event<DynMessage>,
        peer: Option<u32>,
        is_copy: bool,
        since: Option<u64>,
    ) -> String {
        let peer = || peer.map_or_else(|| "somebody".to_string(), |peer| self.node(peer));
        match event {
            Event::Start(StartReason::Start) => format!("{subject} starts an election"),
            Event::Start(StartReason::LeaderLost) => {
                // A failure detector may be wrong: a winner that does not know it yet sends no heartbeats.
                format!("{subject} believes that its leader is gone")
            }
            Event::Message { message, .. } | Event::Direct { message, .. } => {
                let what = said(message.kind_name(), &hustings_sim::trace::payload_text(message));
                let copy = if is_copy { " a second time" } else { "" };
                format!("{subject} hears {what} from {}{copy}", peer())
            }
            Event::Unreachable { message, .. } | Event::UnreachableDirect { message, .. } => {
                let kind = message.kind_name();
                format!("{subject} learns that its “{kind}” could not be delivered: {} was down", peer())
            }
            Event::Timer(_) => match since {
                Some(1) => format!("{subject} has waited 1 tick"),
                Some(ticks) => format!("{subject} has waited {ticks} ticks"),
                None => format!("{subject}’s timer is due"),
            },
            Event::Change(Change::Reachable(ids)) => match ids.len() {
                1 => format!("{subject} can reach nobody else"),
                many => format!("{subject} finds that it can reach {} others", many - 1),
            },
            Event::Change(Change::LinkDown(_)) => format!("{subject} sees a link go down"),
            Event::Change(Change::LinkUp(_)) => format!("{subject} sees a link come up"),
            Event::Change(Change::PeerRank(_)) => format!("{subject} sees a neighbour change its rank"),
            Event::Rejoin => format!("{subject} is back"),
            Event::Retire => format!("{subject} is asked to leave"),
        }
    }

    /// What the node does: decisions first, then messages, then waiting.
    fn actions(&self, effects: &[Effect<DynMessage>], sends: &[Sending], drawn: Option<String>) -> String {
        let mut done: Vec<String> = drawn.into_iter().collect();
        let mut wait = None;
        for effect in effects {
            match effect {
                Effect::Lead => done.push("leads".to_string()),
                Effect::Follow(leader) => done.push(format!("accepts {leader} as its leader")),
                Effect::Forget => done.push("no longer names a leader".to_string()),
                Effect::Learn(Fact::Size(size)) => done.push(format!("counts {size} nodes")),
                Effect::Learn(Fact::Name(name)) => done.push(format!("takes the name {name}")),
                Effect::Skip(_) => done.push("closes the ring without it".to_string()),
                Effect::SetTimer(ticks, timer) if !timer.is_periodic() => wait = Some(*ticks),
                _ => {}
            }
        }
        done.extend(self.sent(sends));
        if let Some(ticks) = wait.filter(|ticks| *ticks > 0) {
            done.push(format!("waits up to {ticks} tick{}", if ticks == 1 { "" } else { "s" }));
        }
        // Two decisions with the same words are one.
        done.dedup();
        join(&done)
    }

    /// Equal messages to several nodes are one action.
    fn sent(&self, sends: &[Sending]) -> Vec<String> {
        let same = |one: &Sending, other: &Sending| (one.kind, &one.text) == (other.kind, &other.text);
        let groups = sends.chunk_by(same);
        let phrase = |group: &[Sending]| {
            let verb = VERBS.iter().find(|(kind, _)| *kind == group[0].kind).map(|(_, verb)| *verb);
            let to = if group.len() == 1 && self.is_ring && self.labels.len() > 2 {
                self.node(group[0].to)
            } else {
                self.nodes(group)
            };
            let text = if group[0].text.is_empty() { String::new() } else { format!(" ({})", group[0].text) };
            match verb {
                Some(verb) => format!("{verb} {to}{text}"),
                None => format!("sends {} to {to}{text}", said(group[0].kind, "")),
            }
        };
        groups.map(phrase).collect()
    }

    /// `node 3`, `nodes 3, 4 and 5`, or `12 nodes`.
    fn nodes(&self, group: &[Sending]) -> String {
        const MAX_LISTED: usize = 6;
        match group {
            [one] => self.node(one.to),
            // In a ring of two, both neighbours are the same node.
            [first, rest @ ..] if rest.iter().all(|one| one.to == first.to) => {
                format!("{} {}", self.node(first.to), if rest.len() == 1 { "twice" } else { "several times" })
            }
            many if many.len() > MAX_LISTED => format!("{} nodes", many.len()),
            many => {
                let label = |one: &Sending| self.labels.get(one.to as usize).cloned().unwrap_or_default();
                format!("nodes {}", join(&many.iter().map(label).collect::<Vec<_>>()))
            }
        }
    }
}

/// A text that begins a sentence.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A message in a sentence.
fn said(kind: &str, text: &str) -> String {
    if text.is_empty() { format!("“{kind}”") } else { format!("“{kind} {text}”") }
}

/// `a`, `a and b`, `a, b and c`.
fn join(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
