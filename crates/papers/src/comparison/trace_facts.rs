//! Messages and numbers from the trace of a run.

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::{Cheating, Event, Message, Record, TraceEvent};
use hustings_sim::outcome::Outcome;
use serde_json::Value;

/// A message and when it was sent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SentMessage {
    pub(super) tick: u64,
    /// The position of the sender.
    pub(super) from: u32,
    /// The position of the receiver.
    pub(super) to: u32,
    pub(super) kind: String,
    /// The contents as JSON; empty if there are none.
    pub(super) payload: String,
}

/// The names of these numbers, and what reports call them. In addition there are `first.KIND` and `last.KIND`.
pub(super) const FACTS: [(&str, &str); 11] = [
    ("steps", "steps"),
    ("ticks", "ticks with messages"),
    ("kinds", "kinds of messages"),
    ("wheels", "tokens on the ring"),
    ("coin_sides", "sides of the coin"),
    ("before_elected", "messages before the winner knows"),
    ("names", "different names"),
    ("cheats", "nodes that cheat"),
    ("noticed", "nodes that notice"),
    ("noticed.passed-over", "nodes that notice that they were passed over"),
    ("noticed.silent-winner", "nodes that notice that the winner is silent"),
];

/// Numbers from the trace of a run, in addition to its row of results.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct TraceFacts {
    numbers: BTreeMap<String, f64>,
}

/// The messages of a run, and the largest range of a random number.
pub(super) fn sent_messages<M: Message>(records: &[Record<M>]) -> (Vec<SentMessage>, u64) {
    let mut sent: Vec<SentMessage> = records.iter().filter_map(|record| arrived(record, records)).collect();
    sent.sort();
    let coins = records.iter().flat_map(|record| match &record.what {
        TraceEvent::Handled { coins, .. } => coins.as_slice(),
        _ => &[],
    });
    (sent, coins.map(|(sides, _)| *sides).max().unwrap_or(0))
}

/// The message that arrives or is lost in this record. Records are numbered from 0, so the cause is an index.
fn arrived<M: Message>(record: &Record<M>, records: &[Record<M>]) -> Option<SentMessage> {
    let (message, from) = match &record.what {
        TraceEvent::Handled { event: Event::Message { message, .. } | Event::Direct { message, .. }, peer, .. } => {
            (message, (*peer)?)
        }
        TraceEvent::Lost { message, peer, .. } => (message, *peer),
        _ => return None,
    };
    let tick = records.get(record.cause? as usize)?.tick;
    let payload = match serde_json::to_value(message) {
        Ok(Value::Object(fields)) => fields.values().next().map(Value::to_string).unwrap_or_default(),
        _ => String::new(),
    };
    Some(SentMessage { tick, from, to: record.node, kind: message.kind_name().to_string(), payload })
}

impl TraceFacts {
    /// Computes the numbers.
    pub(super) fn of(sent: &[SentMessage], sides: u64, size: u32, outcome: &Outcome) -> TraceFacts {
        let mut numbers = BTreeMap::new();
        let mut add = |name: &str, number: f64| {
            numbers.insert(name.to_string(), number);
        };
        let distinct = |count: usize| count as f64;
        // A step is a kind of message in a tick. Two kinds in one tick are overlapping steps.
        add("steps", distinct(sent.iter().map(|one| (one.tick, &one.kind)).collect::<BTreeSet<_>>().len()));
        add("ticks", distinct(sent.iter().map(|one| one.tick).collect::<BTreeSet<_>>().len()));
        add("kinds", distinct(sent.iter().map(|one| &one.kind).collect::<BTreeSet<_>>().len()));
        // A wheel is a kind of message that circulates on a ring with hops of a certain length.
        let hop = |one: &SentMessage| (i64::from(one.to) - i64::from(one.from)).rem_euclid(i64::from(size.max(1)));
        add("wheels", distinct(sent.iter().map(|one| (&one.kind, hop(one))).collect::<BTreeSet<_>>().len()));
        add("coin_sides", sides as f64);
        let names: BTreeSet<u64> = outcome.names.iter().map(|(_, name)| *name).collect();
        add("names", distinct(names.len()));
        let nodes = |wanted: &[Cheating]| {
            let found = outcome.cheating.iter().filter(|(_, cheating)| wanted.contains(cheating));
            distinct(found.map(|(at, _)| *at).collect::<BTreeSet<u32>>().len())
        };
        add("cheats", nodes(&[Cheating::Acted]));
        add("noticed", nodes(&[Cheating::SilentWinner, Cheating::PassedOver]));
        add("noticed.silent-winner", nodes(&[Cheating::SilentWinner]));
        add("noticed.passed-over", nodes(&[Cheating::PassedOver]));
        if let Some(elected) = outcome.time.elected {
            add("before_elected", distinct(sent.iter().filter(|one| one.tick < elected).count()));
        }
        let kinds: BTreeSet<&String> = sent.iter().map(|one| &one.kind).collect();
        for kind in kinds {
            let ticks = || sent.iter().filter(|one| one.kind == *kind).map(|one| one.tick);
            add(&format!("first.{kind}"), ticks().min().unwrap_or(0) as f64);
            add(&format!("last.{kind}"), ticks().max().unwrap_or(0) as f64);
        }
        TraceFacts { numbers }
    }

    /// A fact by its name: `steps`, `ticks`, `kinds`, `wheels`, `coin_sides`, `before_elected`, `first.KIND`,
    /// `last.KIND`; `names` (different names that nodes were given); `cheats` (nodes that cheated), `noticed` (nodes
    /// that noticed it) and `noticed.RULE`.
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use hustings_sim::erased::DynMessage;
    use hustings_sim::simulate::{ElectionSpec, Field};

    use super::*;

    fn run(name: &str, request: &ElectionSpec) -> (Vec<SentMessage>, TraceFacts) {
        let election = hustings_elections::Catalogue::default().find(name).unwrap().election(&[]).unwrap();
        let scenario = election.build(request).unwrap().scenario;
        let mut records: Vec<Record<DynMessage>> = Vec::new();
        let outcome = election.observed(&scenario, &mut records);
        let (sent, sides) = sent_messages(&records);
        let facts = TraceFacts::of(&sent, sides, scenario.network.members(), &outcome);
        (sent, facts)
    }

    #[test]
    fn messages_are_read_from_the_trace() {
        let ids = Some("3,0,1,2".parse().unwrap());
        let (sent, facts) = run("dolev-klawe-rodeh", &ElectionSpec { ids, ..ElectionSpec::default() });
        let first = SentMessage { tick: 0, from: 0, to: 1, kind: "first".into(), payload: "3".into() };
        assert_eq!((sent.len(), &sent[0]), (20, &first));
        let wanted =
            [("kinds", 3.0), ("wheels", 3.0), ("first.first", 0.0), ("first.second", 1.0), ("coin_sides", 0.0)];
        for (name, value) in wanted {
            assert_eq!(facts.get(name), Some(value), "{name}");
        }
        assert_eq!(facts.get("first.never"), None);
    }

    #[test]
    fn cheats_and_notices_are_counted_by_node() {
        let numbers = |cheat: &str| {
            let topology = Some("line".parse().unwrap());
            let mut spec = ElectionSpec { nodes: Some(5), topology, ..ElectionSpec::default() };
            spec.set(Field::Cheats, cheat).unwrap();
            let facts = run("two-tier", &spec).1;
            ["cheats", "noticed", "noticed.passed-over", "noticed.silent-winner"].map(|name| facts.get(name).unwrap())
        };
        // The announcement passes over 3 and 4.
        assert_eq!(numbers("2:ack"), [1.0, 2.0, 2.0, 0.0]);
        assert_eq!(numbers("0:ack"), [0.0; 4]);
        assert_eq!(numbers("2:rank"), [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn lost_messages_count_as_sent() {
        let mut spec = ElectionSpec { nodes: Some(4), ..ElectionSpec::default() };
        spec.set(Field::Crashes, "3@0").unwrap();
        let (sent, facts) = run("bully", &spec);
        assert_eq!(sent.iter().filter(|sent| sent.to == 3).count(), 4);
        assert_eq!((facts.get("steps"), facts.get("ticks")), (Some(5.0), Some(4.0)));
        // Everything but the announcement.
        assert_eq!(facts.get("before_elected"), Some(9.0));
    }
}
