//! A log with vector clocks for [ShiViz](https://bestchai.bitbucket.io/shiviz/).
//!
//! The first line of a ShiViz file is the regular expression of its lines ([`REGEX`]). The second line is empty,
//! because the file holds a single execution. Each further line is `tick host id clock event`, where `host` is `node`
//! and the position, `id` is the node's id or `-`, and `clock` is the vector clock as a JSON object:
//!
//! ```text
//! 1 node0 3 {"node0":2,"node2":1} candidate 5 from 2 → passes on candidate 5 to 1
//! ```
//!
//! An arrival merges the clock of the sender into that of the receiver. A lost message does not: it is an event of its
//! own.

use std::collections::BTreeMap;
use std::io::{self, Write};

use hustings_protocol::{Event, Message, Record, TraceEvent};

use super::describe::Describer;
use super::{Names, grouped, transmission};

/// The regular expression that ShiViz parses lines with. ShiViz adds anchors itself.
pub(crate) const REGEX: &str = r"(?<tick>\d+) (?<host>\S+) (?<id>\S+) (?<clock>\{[^}]*\}) (?<event>.*)";

/// The maximum number of events: larger diagrams are unreadable, and their clocks are long.
pub(crate) const MAX_EVENTS: usize = 2_000;

/// The number of known events of each node; nodes without events are left out.
type Clock = BTreeMap<u32, u64>;

pub(super) fn write<M: Message>(names: &Names, records: &[Record<M>], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{REGEX}\n")?;
    let shown = &records[..records.len().min(MAX_EVENTS)];
    let mut describer = Describer::new(names);
    for (record, clock) in shown.iter().zip(clocks(shown)) {
        let id = names.id(record.node).map_or("-".to_string(), |id| id.to_string());
        write!(out, "{} node{} {id} {{", record.tick, record.node)?;
        for (index, (at, time)) in clock.iter().enumerate() {
            write!(out, "{}\"node{at}\":{time}", if index == 0 { "" } else { "," })?;
        }
        writeln!(out, "}} {}", describer.describe(record))?;
    }
    if shown.len() < records.len() {
        // This line does not match the expression, so ShiViz ignores it.
        let (shown, all) = (grouped(shown.len() as u64), grouped(records.len() as u64));
        writeln!(out, "# Stopped here: {shown} of {all} records are shown.")?;
    }
    Ok(())
}

/// The clock after each record.
fn clocks<M: Message>(records: &[Record<M>]) -> Vec<Clock> {
    let mut now: BTreeMap<u32, Clock> = BTreeMap::new();
    let mut after: Vec<Clock> = Vec::with_capacity(records.len());
    for (index, record) in records.iter().enumerate() {
        let sender = record
            .cause
            .filter(|_| is_arrival(record))
            .and_then(|number| transmission::find_index(&records[..index], number))
            .map(|cause| &after[cause]);
        let clock = now.entry(record.node).or_default();
        for (at, time) in sender.into_iter().flatten() {
            let known = clock.entry(*at).or_default();
            *known = (*known).max(*time);
        }
        *clock.entry(record.node).or_default() += 1;
        after.push(clock.clone());
    }
    after
}

/// Whether a message of another node arrived.
fn is_arrival<M>(record: &Record<M>) -> bool {
    matches!(&record.what, TraceEvent::Handled { event: Event::Message { .. } | Event::Direct { .. }, .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample;

    fn log<M: Message>(names: &Names, records: &[Record<M>]) -> String {
        let mut out = Vec::new();
        write(names, records, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_election_is_a_log_that_starts_with_the_expression() {
        let expected = r#"(?<tick>\d+) (?<host>\S+) (?<id>\S+) (?<clock>\{[^}]*\}) (?<event>.*)

0 node0 3 {"node0":1} starts → sends candidate 3 to 1
0 node1 4 {"node1":1} starts → sends candidate 4 to 2
0 node2 5 {"node2":1} starts → sends candidate 5 to 0
1 node0 3 {"node0":2,"node2":1} candidate 5 from 2 → passes on candidate 5 to 1
1 node1 4 {"node0":1,"node1":2} candidate 3 from 0
1 node2 5 {"node1":1,"node2":2} candidate 4 from 1
2 node1 4 {"node0":2,"node1":3,"node2":1} candidate 5 from 0 → passes on candidate 5 to 2
3 node2 5 {"node0":2,"node1":3,"node2":3} candidate 5 from 1 → leads; sends elected 5 to 0
4 node0 3 {"node0":3,"node1":3,"node2":3} elected 5 from 2 → follows 5; passes on elected 5 to 1
5 node1 4 {"node0":3,"node1":4,"node2":3} elected 5 from 0 → follows 5; passes on elected 5 to 2
6 node2 5 {"node0":3,"node1":4,"node2":4} elected 5 from 1
"#;
        assert_eq!(log(&sample::ring_names(), &sample::ring()), expected);
    }

    /// Checks that clocks only grow, that each counts its own node's events, and that none is ahead of another node's
    /// own.
    fn check(records: &[Record<sample::Word>]) {
        let mut last: BTreeMap<u32, Clock> = BTreeMap::new();
        for (record, clock) in records.iter().zip(clocks(records)) {
            let before = last.insert(record.node, clock.clone()).unwrap_or_default();
            assert_eq!(clock[&record.node], before.get(&record.node).unwrap_or(&0) + 1);
            assert!(before.iter().all(|(at, time)| clock[at] >= *time), "{before:?} → {clock:?}");
            for (at, time) in clock {
                assert!(time <= last[&at][&at], "a message from {at}'s future");
            }
        }
    }

    #[test]
    fn clocks_are_consistent() {
        [sample::ring(), sample::faults(), sample::invalid()].iter().for_each(|records| check(records));
    }

    proptest::proptest! {
        #[test]
        fn clocks_of_any_trace_are_consistent_and_every_event_is_one_line(records in sample::any_trace()) {
            check(&records);
            proptest::prop_assert_eq!(log(&sample::ring_names(), &records).lines().count(), 2 + records.len());
        }
    }

    #[test]
    fn a_lost_message_does_not_advance_the_receiver() {
        let records = sample::faults();
        let lost = records.iter().position(|record| matches!(record.what, TraceEvent::Lost { .. })).unwrap();
        assert_eq!(clocks(&records)[lost], Clock::from([(1, 2)]));
    }

    #[test]
    fn a_long_log_is_cut_with_a_note() {
        let records: Vec<Record<sample::Word>> = (0..3_000)
            .map(|number| Record {
                number,
                tick: number,
                node: 0,
                cause: None,
                nth: 0,
                copy: false,
                what: TraceEvent::Crashed,
            })
            .collect();
        let text = log(&sample::ring_names(), &records);
        assert_eq!(text.lines().count(), 2 + MAX_EVENTS + 1);
        assert!(text.ends_with("# Stopped here: 2,000 of 3,000 records are shown.\n"));
    }
}
