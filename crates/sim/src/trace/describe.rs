//! Records as text, for the formats that people read.

use std::collections::BTreeMap;
use std::fmt::Write;

use hustings_protocol::{
    Change, Cheating, Effect, Event, Fact, Id, Loss, Message, NoticeKind, Port, Record, Stage, StartReason, Timer,
    TraceEvent,
};
use serde_json::Value;

use super::Names;
use crate::engine::general::RoutingTable;

/// A message's kind and contents: `candidate 7`.
pub(super) fn message<M: Message>(message: &M) -> String {
    let payload = payload(message);
    if payload.is_empty() { message.kind_name().to_string() } else { format!("{} {payload}", message.kind_name()) }
}

/// The contents of a message without its kind, from its serialised form.
pub(super) fn payload<M: Message>(message: &M) -> String {
    let Ok(value) = serde_json::to_value(message) else {
        return format!("{message:?}").escape_debug().to_string();
    };
    match &value {
        // A variant without contents is only a name, which repeats the kind.
        Value::String(name) if same_name(name, message.kind_name()) => String::new(),
        Value::Object(fields) if fields.len() == 1 => fields
            .values()
            .map(|value| wrapped(value, message.kind_name()).unwrap_or_else(|| contents(value)))
            .collect(),
        other => contents(other),
    }
}

/// The contents of a message inside a message. The kind is that of the inner message, so it needs no label.
fn wrapped(value: &Value, kind: &str) -> Option<String> {
    let Value::Object(mut fields) = value.clone() else { return None };
    let inner_contents = |value: &Value| match value {
        Value::String(name) if same_name(name, kind) => Some(String::new()),
        Value::Object(one) if one.len() == 1 => {
            one.iter().next().filter(|(name, _)| same_name(name, kind)).map(|(_, value)| contents(value))
        }
        _ => None,
    };
    let (name, inner) = fields.iter().find_map(|(name, value)| Some((name.clone(), inner_contents(value)?)))?;
    fields.shift_remove(&name);
    let rest = contents(&Value::Object(fields));
    Some(if inner.is_empty() { rest } else { format!("{inner} {rest}") })
}

/// Whether two names differ only in case and punctuation, such as `AreYouThere` and `are-you-there`.
fn same_name(one: &str, other: &str) -> bool {
    let letters =
        |name: &str| name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    letters(one) == letters(other)
}

fn contents(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(inner).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => rank(value).unwrap_or_else(|| {
            let mut parts = Vec::new();
            for (index, (name, value)) in fields.iter().enumerate() {
                match value {
                    Value::Null | Value::Bool(false) => {}
                    Value::Bool(true) => parts.push(name.clone()),
                    // The id or rank that the message is about needs no label.
                    _ if index == 0 && (name == "id" || name == "rank") => parts.push(inner(value)),
                    _ => parts.push(format!("{name} {}", inner(value))),
                }
            }
            parts.join(" ")
        }),
        Value::Null => String::new(),
        Value::String(text) => text.escape_debug().to_string(),
        other => other.to_string(),
    }
}

fn inner(value: &Value) -> String {
    match value {
        Value::Array(_) => format!("[{}]", contents(value)),
        Value::Object(_) if rank(value).is_none() => format!("({})", contents(value)),
        Value::Null => "-".to_string(),
        _ => contents(value),
    }
}

/// A rank with a value, in the form of its `Display`: `3.5:7`.
fn rank(value: &Value) -> Option<String> {
    let fields = value.as_object().filter(|fields| fields.len() == 2)?;
    let (value, id) = (fields.get("value")?.as_f64()?, fields.get("id")?.as_u64()?);
    Some(format!("{value}:{id}"))
}

/// Describes records. It must see all of them in order: when a ring skips a dead node, messages go to another node from
/// then on.
#[derive(Debug)]
pub(super) struct Describer<'a> {
    names: &'a Names,
    /// The position of each id.
    positions: BTreeMap<u64, u32>,
    /// The node that each port leads to now.
    routes: RoutingTable<'a>,
}

impl<'a> Describer<'a> {
    pub(super) fn new(names: &'a Names) -> Self {
        let positions = names.ids.iter().zip(0..).map(|(id, at)| (*id, at)).collect();
        Describer { names, positions, routes: RoutingTable::new(&names.network) }
    }

    /// The event and its effects: `candidate 7 from 3 → passes on candidate 7 to 5`.
    pub(super) fn describe<M: Message>(&mut self, record: &Record<M>) -> String {
        let at = record.node;
        match &record.what {
            TraceEvent::Handled { event, peer, coins, effects } => {
                let mut text = self.event(at, event, *peer);
                if record.copy {
                    text.insert_str(0, "copy of ");
                }
                for (bound, drawn) in coins {
                    let _ = write!(text, ", draws {drawn} of {bound}");
                }
                for (index, effect) in effects.iter().enumerate() {
                    text.push_str(if index == 0 { " → " } else { "; " });
                    text.push_str(&self.effect(at, effect, event, *peer));
                }
                text
            }
            TraceEvent::Lost { peer, message: lost, why } => {
                format!("{} from {peer} lost: {}", message(lost), loss(*why))
            }
            TraceEvent::Crashed => "crashed".to_string(),
            TraceEvent::Recovered => "recovered".to_string(),
            TraceEvent::Joined => "joined".to_string(),
            TraceEvent::Retired => "retired".to_string(),
            TraceEvent::LinkCut { peer } => format!("link to {peer} cut"),
            TraceEvent::LinkHealed { peer } => format!("link to {peer} healed"),
            TraceEvent::Notice { kind: NoticeKind::Poll, count } => format!("is polled by {count}"),
            TraceEvent::Notice { kind: NoticeKind::Alive, count } => format!("answers the polls of {count}"),
            TraceEvent::Notice { kind: NoticeKind::Heartbeat, count } => format!("sends heartbeats to {count}"),
        }
    }

    fn event<M: Message>(&self, at: u32, event: &Event<M>, peer: Option<u32>) -> String {
        let known = |peer: Option<u32>, otherwise: String| peer.map_or(otherwise, |peer| peer.to_string());
        match event {
            Event::Start(StartReason::Start) => "starts".to_string(),
            Event::Start(StartReason::LeaderLost) => "starts, its leader is lost".to_string(),
            Event::Message { from, message: received } => {
                format!("{} from {}", message(received), known(peer, self.behind(at, *from)))
            }
            Event::Direct { from, message: received } => {
                format!("{} directly from {}", message(received), known(peer, self.owner(*from)))
            }
            Event::Unreachable { port, message: received } => {
                format!("{} to {} came back", message(received), known(peer, self.behind(at, *port)))
            }
            Event::UnreachableDirect { to, message: received } => {
                format!("{} directly to {} came back", message(received), known(peer, self.owner(*to)))
            }
            Event::Timer(due) => format!("{} is due", timer(*due)),
            Event::Change(Change::LinkUp(port)) => format!("link to {} is up", self.behind(at, *port)),
            Event::Change(Change::LinkDown(port)) => format!("link to {} is down", self.behind(at, *port)),
            Event::Change(Change::PeerRank(port)) => format!("rank of {} changed", self.behind(at, *port)),
            Event::Change(Change::Reachable(ids)) => {
                format!("can reach {}", list(ids.len(), |index| self.owner(ids[index])))
            }
            Event::Rejoin => "rejoins".to_string(),
            Event::Retire => "is asked to retire".to_string(),
        }
    }

    fn effect<M: Message>(&mut self, at: u32, effect: &Effect<M>, event: &Event<M>, peer: Option<u32>) -> String {
        match effect {
            Effect::Send(port, said) => format!("{} to {}", sends(said, event), self.behind(at, *port)),
            Effect::SendAllBut(None, said) => format!("{} to all neighbours", sends(said, event)),
            Effect::SendAllBut(Some(port), said) => {
                format!("{} to all neighbours but {}", sends(said, event), self.behind(at, *port))
            }
            Effect::SendRange(ports, said) => {
                let behind = |index| self.behind(at, Port(ports.start + index as u32));
                format!("{} to {}", sends(said, event), list(ports.len(), behind))
            }
            Effect::SendDirect(to, said) => format!("{} directly to {}", sends(said, event), self.owner(*to)),
            Effect::SendTo(member, said) => format!("{} to {member}", sends(said, event)),
            Effect::SetTimer(after, set) => format!("sets {} for {after}", timer(*set)),
            Effect::Lead => "leads".to_string(),
            Effect::Follow(leader) => format!("follows {leader}"),
            Effect::Forget => "names nobody".to_string(),
            Effect::Learn(Fact::Size(size)) => format!("counts {size} nodes"),
            Effect::Learn(Fact::Name(name)) => format!("is given the name {name}"),
            Effect::Learn(Fact::Stage(stage)) => format!("state {}", stage_name(stage)),
            Effect::Learn(Fact::Cheating(cheating)) => cheating_text(*cheating).to_string(),
            Effect::Skip(port) => {
                // The node that a message came back from, otherwise the node behind the port.
                let dead = match event {
                    Event::Unreachable { port: back, .. } if back == port => peer,
                    _ => None,
                };
                match dead.or_else(|| self.peer(at, *port)) {
                    Some(dead) => {
                        if at < self.names.network.members() {
                            self.routes.remove_peer(at, *port, dead);
                        }
                        format!("skips {dead}")
                    }
                    None => format!("skips port {port}"),
                }
            }
        }
    }

    /// The position behind a port, as text.
    fn behind(&self, at: u32, port: Port) -> String {
        self.peer(at, port).map_or_else(|| format!("port {port}"), |peer| peer.to_string())
    }

    /// The position of an id, as text.
    fn owner(&self, id: Id) -> String {
        self.positions.get(&id.0).map_or_else(|| format!("id {id}"), |at| at.to_string())
    }

    /// The position behind a port; on a ring, the first that was not skipped.
    fn peer(&self, at: u32, port: Port) -> Option<u32> {
        if at >= self.names.network.members() {
            return None;
        }
        self.routes.target(at, port).map(|(peer, _)| peer)
    }
}

/// The serialised name of a stage.
fn stage_name(stage: &Stage) -> String {
    serde_json::to_value(stage).ok().and_then(|value| value.as_str().map(str::to_string)).unwrap_or_default()
}

fn cheating_text(cheating: Cheating) -> &'static str {
    match cheating {
        Cheating::Acted => "cheats",
        Cheating::SilentWinner => "notices a cheat: the winner is silent",
        Cheating::PassedOver => "notices a cheat: it was passed over",
    }
}

/// Why a message was lost.
pub(super) fn loss(why: Loss) -> &'static str {
    match why {
        Loss::ReceiverDown => "the receiver is down",
        Loss::Chance => "by chance",
        Loss::Cut => "the link is cut",
        Loss::Dropped => "it was dropped by hand",
    }
}

fn timer(timer: Timer) -> String {
    format!("timer {} (token {})", timer.kind, timer.token)
}

/// "Passes on" the message that came in, "sends" any other.
fn sends<M: Message>(sent: &M, event: &Event<M>) -> String {
    let received = match event {
        Event::Message { message, .. } | Event::Direct { message, .. } => Some(message),
        _ => None,
    };
    format!("{} {}", if received == Some(sent) { "passes on" } else { "sends" }, message(sent))
}

/// A short list: `1 2 3`, or `1 2 3 4 5 … 99 (97 in all)`. Items that are not shown are not computed.
fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    const MAX_ITEMS: usize = 8;
    if count == 0 {
        return "nobody".to_string();
    }
    let first = if count <= MAX_ITEMS { count } else { MAX_ITEMS - 3 };
    let mut shown = (0..first).map(&item).collect::<Vec<_>>().join(" ");
    if count > MAX_ITEMS {
        let _ = write!(shown, " … {} ({count} in all)", item(count - 1));
    }
    shown
}

#[cfg(test)]
mod tests {
    use hustings_algorithms::runs::{Envelope, ViewNumber};
    use hustings_protocol::{Ranked, kinds};
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::topology::Network;
    use crate::trace::sample::Word;

    #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    enum Topology {
        AreYouThere,
        Vote(Ranked),
        Pair(u64, Option<u64>),
        Nested { number: (u64, u64), rank: Ranked },
    }
    kinds!(Topology: AreYouThere = "areyouthere", Vote = "vote", Pair = "pair", Nested = "nested");

    #[test]
    fn messages_are_shown_as_kind_and_contents() {
        let rank = Ranked { value: 3.5.try_into().unwrap(), id: Id(7) };
        assert_eq!(message(&Topology::AreYouThere), "areyouthere");
        assert_eq!(message(&Topology::Vote(rank)), "vote 3.5:7");
        assert_eq!(message(&Topology::Pair(1, None)), "pair 1, -");
        assert_eq!(message(&Topology::Nested { number: (2, 9), rank }), "nested number [2, 9] rank 3.5:7");
        assert_eq!(message(&Word::Label("a\nb".to_string())), "label a\\nb");
        let wrapped = |says| Envelope::Inner { says, view: ViewNumber::FIRST, port: Some(Port(1)) };
        assert_eq!(message(&wrapped(Topology::Pair(1, Some(2)))), "pair 1, 2 view [0, 0, 0] port 1");
        assert_eq!(message(&wrapped(Topology::AreYouThere)), "areyouthere view [0, 0, 0] port 1");
    }

    #[test]
    fn long_lists_are_shortened() {
        let numbers = |count| list(count, |index| index.to_string());
        assert_eq!(numbers(0), "nobody");
        assert_eq!(numbers(8), "0 1 2 3 4 5 6 7");
        assert_eq!(numbers(100), "0 1 2 3 4 … 99 (100 in all)");
    }

    #[test]
    fn ports_are_shown_as_the_positions_behind_them() {
        let names = Names::new("", vec![10, 20, 30, 40], Network::Complete(4));
        let mut describer = Describer::new(&names);
        let start = Event::Start(StartReason::LeaderLost);
        let mut effect = |effect: Effect<Word>| describer.effect(1, &effect, &start, None);
        assert_eq!(effect(Effect::SendRange(1..3, Word::Wake)), "sends wake to 2 3");
        assert_eq!(
            effect(Effect::SendRange(0..u32::MAX, Word::Wake)),
            "sends wake to 0 2 3 port 3 port 4 … port 4294967294 (4294967295 in all)"
        );
        assert_eq!(effect(Effect::SendAllBut(Some(Port(0)), Word::Wake)), "sends wake to all neighbours but 0");
        assert_eq!(effect(Effect::Send(Port(3), Word::Wake)), "sends wake to port 3");
        assert_eq!(effect(Effect::SendDirect(Id(40), Word::Wake)), "sends wake directly to 3");
        assert_eq!(effect(Effect::SendDirect(Id(41), Word::Wake)), "sends wake directly to id 41");
        let change = Event::<Word>::Change(Change::Reachable([Id(10), Id(40)].into()));
        assert_eq!(describer.event(1, &change, None), "can reach 0 3");
    }
    #[test]
    fn skipping_the_only_peer_affects_both_ports() {
        let names = Names::new("", vec![0, 1], Network::Ring(2));
        let mut describer = Describer::new(&names);
        let back = Event::Unreachable { port: Port::NEXT, message: Word::Wake };
        let mut effect = |effect: Effect<Word>| describer.effect(0, &effect, &back, Some(1));
        assert_eq!(effect(Effect::Skip(Port::NEXT)), "skips 1");
        assert_eq!(effect(Effect::Send(Port::NEXT, Word::Wake)), "sends wake to 0");
        assert_eq!(effect(Effect::Send(Port::PREVIOUS, Word::Wake)), "sends wake to 0");
    }

    #[test]
    fn describes_copies_and_notices() {
        let names = Names::new("", vec![0, 1], Network::Ring(2));
        let describe = |copy, what| {
            Describer::new(&names).describe::<Word>(&Record {
                number: 4,
                tick: 2,
                node: 1,
                cause: None,
                nth: 0,
                copy,
                what,
            })
        };
        let event = Event::Message { from: Port::PREVIOUS, message: Word::Wake };
        let received = TraceEvent::Handled { event, peer: Some(0), coins: vec![], effects: vec![] };
        assert_eq!(describe(true, received), "copy of wake from 0");
        let notice = |kind| describe(false, TraceEvent::Notice { kind, count: 3 });
        assert_eq!(notice(NoticeKind::Poll), "is polled by 3");
        assert_eq!(notice(NoticeKind::Alive), "answers the polls of 3");
        assert_eq!(notice(NoticeKind::Heartbeat), "sends heartbeats to 3");
    }
}
