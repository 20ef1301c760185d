//! A Mermaid sequence diagram: `->>` for messages that arrived, `-x` for lost ones, notes for the rest.
//!
//! An arrow is at the position of its arrival; a note over all nodes starts each tick.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

use hustings_protocol::{Effect, Event, Loss, Message, Record, TraceEvent};

use super::transmission::{self, Transmission};
use super::{Names, describe, grouped};

/// The maximum number of lines below the participants.
pub(crate) const MAX_LINES: usize = 2_000;

/// The maximum size in bytes: Mermaid itself refuses texts above 50,000 characters.
pub(crate) const MAX_BYTES: usize = 48_000;

/// With more nodes than this, only nodes with events are shown.
const MAX_SILENT: u32 = 64;

pub(super) fn write<M: Message>(names: &Names, records: &[Record<M>], out: &mut dyn Write) -> io::Result<()> {
    let body = Body::of(names, records);
    writeln!(out, "sequenceDiagram")?;
    if !names.title.is_empty() {
        writeln!(out, "    %% {}", escape(&names.title))?;
    }
    for at in &body.participants {
        writeln!(out, "    {}", participant(names, *at))?;
    }
    out.write_all(body.lines.as_bytes())?;
    if body.left_out > 0 {
        let left_out = grouped(body.left_out as u64);
        writeln!(out, "    %% Stopped here: {left_out} of {} records are left out.", grouped(records.len() as u64))?;
    }
    Ok(())
}

/// Everything below the participants, which are known only at the end.
struct Body {
    participants: BTreeSet<u32>,
    lines: String,
    left_out: usize,
}

impl Body {
    fn of<M: Message>(names: &Names, records: &[Record<M>]) -> Self {
        let all = 0..names.positions(records);
        let mut participants: BTreeSet<u32> = if all.end <= MAX_SILENT { all.collect() } else { BTreeSet::new() };
        let mut size: usize = participants.iter().map(|at| participant(names, *at).len() + 5).sum();
        let (mut lines, mut count, mut tick) = (String::new(), 0, None);
        for (index, record) in records.iter().enumerate() {
            let mut here = Vec::new();
            let mut mentioned = vec![record.node];
            if let Some(transmission) = transmission::of_record(records, record) {
                mentioned.push(transmission.from);
                here.push(arrow(&transmission));
            }
            here.extend(note(record).map(|note| format!("Note over n{}: {note}", record.node)));
            if here.is_empty() {
                continue;
            }
            let new: BTreeSet<u32> = mentioned.into_iter().filter(|at| !participants.contains(at)).collect();
            if tick != Some(record.tick) {
                let nodes = participants.union(&new);
                let (first, last) = (nodes.clone().next().unwrap_or(&0), nodes.last().unwrap_or(&0));
                let over = if first == last { format!("n{first}") } else { format!("n{first},n{last}") };
                here.insert(0, format!("Note over {over}: tick {}", record.tick));
            }
            let more: usize = here.iter().map(|line| line.len() + 5).sum::<usize>()
                + new.iter().map(|at| participant(names, *at).len() + 5).sum::<usize>();
            if count + here.len() > MAX_LINES || size + more > MAX_BYTES {
                return Body { participants, lines, left_out: records.len() - index };
            }
            (count, size, tick) = (count + here.len(), size + more, Some(record.tick));
            participants.extend(new);
            for line in here {
                let _ = writeln!(lines, "    {line}");
            }
        }
        Body { participants, lines, left_out: 0 }
    }
}

fn participant(names: &Names, at: u32) -> String {
    format!("participant n{at} as {}", names.node(at))
}

fn arrow<M: Message>(transmission: &Transmission<'_, M>) -> String {
    let Transmission { from, to, .. } = transmission;
    let text = escape(&describe::message(transmission.message));
    match transmission.lost {
        None => format!("n{from}->>n{to}: {text}"),
        Some(why) => format!("n{from}-xn{to}: {text} ({})", short(why)),
    }
}

fn short(why: Loss) -> &'static str {
    match why {
        Loss::ReceiverDown => "down",
        Loss::Chance => "lost",
        Loss::Cut => "cut",
        Loss::Dropped => "dropped",
    }
}

/// The note for a record: changes of the leader, faults and recoveries.
fn note<M: Message>(record: &Record<M>) -> Option<String> {
    let note = match &record.what {
        TraceEvent::Handled { event, effects, .. } => {
            let mut notes = Vec::new();
            match event {
                Event::Start(_) => notes.push("starts".to_string()),
                Event::Rejoin => notes.push("rejoins".to_string()),
                Event::Retire => notes.push("is asked to retire".to_string()),
                _ => {}
            }
            for effect in effects {
                match effect {
                    Effect::Lead => notes.push("leads".to_string()),
                    Effect::Follow(leader) => notes.push(format!("follows {leader}")),
                    Effect::Forget => notes.push("has no leader".to_string()),
                    _ => {}
                }
            }
            notes.join(", ")
        }
        TraceEvent::Lost { .. } | TraceEvent::Notice { .. } => String::new(),
        TraceEvent::Crashed => "crashed".to_string(),
        TraceEvent::Recovered => "recovered".to_string(),
        TraceEvent::Joined => "joined".to_string(),
        TraceEvent::Retired => "retired".to_string(),
        TraceEvent::LinkCut { peer } => format!("link to node {peer} cut"),
        TraceEvent::LinkHealed { peer } => format!("link to node {peer} healed"),
    };
    (!note.is_empty()).then_some(note)
}

/// Escapes what Mermaid would read as syntax: a semicolon ends a statement, a hash starts an entity.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '#' => escaped.push_str("#35;"),
            ';' => escaped.push_str("#59;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '%' => escaped.push_str("#37;"),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Network;
    use crate::trace::sample;

    fn diagram<M: Message>(names: &Names, records: &[Record<M>]) -> String {
        let mut out = Vec::new();
        write(names, records, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_election_is_a_diagram() {
        let expected = "\
sequenceDiagram
    %% a ring of three
    participant n0 as node 0 (id 3)
    participant n1 as node 1 (id 4)
    participant n2 as node 2 (id 5)
    Note over n0,n2: tick 0
    Note over n0: starts
    Note over n1: starts
    Note over n2: starts
    Note over n0,n2: tick 1
    n2->>n0: candidate 5
    n0->>n1: candidate 3
    n1->>n2: candidate 4
    Note over n0,n2: tick 2
    n0->>n1: candidate 5
    Note over n0,n2: tick 3
    n1->>n2: candidate 5
    Note over n2: leads
    Note over n0,n2: tick 4
    n2->>n0: elected 5
    Note over n0: follows 5
    Note over n0,n2: tick 5
    n0->>n1: elected 5
    Note over n1: follows 5
    Note over n0,n2: tick 6
    n1->>n2: elected 5
";
        assert_eq!(diagram(&sample::ring_names(), &sample::ring()), expected);
    }

    #[test]
    fn losses_end_in_a_cross() {
        let text = diagram(&sample::fault_names(), &sample::faults());
        assert!(text.contains("    n0-xn1: probe 10 phase 2 (down)\n"), "{text}");
        assert!(text.contains("    n0-xn2: wake (cut)\n"), "{text}");
        assert!(text.contains("    %% faults & #lt;detours#gt;\n"), "{text}");
    }

    /// Checks the grammar that the diagrams use; returns how many lines there are below the participants.
    fn check(text: &str) -> usize {
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("sequenceDiagram"));
        let (mut declared, mut count) = (Vec::new(), 0);
        for line in lines.map(str::trim_start).filter(|line| !line.starts_with("%%")) {
            if let Some(rest) = line.strip_prefix("participant n") {
                declared.push(rest.split_once(" as ").unwrap().0.parse::<u32>().unwrap());
                continue;
            }
            count += 1;
            let (head, label) = line.split_once(": ").unwrap();
            let plain =
                ["#35;", "#37;", "#59;", "#lt;", "#gt;"].iter().fold(label.to_string(), |l, e| l.replace(e, ""));
            assert!(!label.is_empty() && !plain.contains(['<', '>', '#', ';', '%']), "{line}");
            let nodes: Vec<&str> = match head.strip_prefix("Note over ") {
                Some(nodes) => nodes.split(',').collect(),
                None => head.split_once("->>").or_else(|| head.split_once("-x")).map(|(a, b)| vec![a, b]).unwrap(),
            };
            for node in nodes {
                let at = node.strip_prefix('n').unwrap().parse().unwrap();
                assert!(declared.contains(&at), "{node} in {line:?} is not declared");
            }
        }
        assert!(declared.is_sorted_by(|a, b| a < b), "participants are in position order");
        count
    }

    #[test]
    fn every_line_names_declared_participants() {
        check(&diagram(&sample::ring_names(), &sample::ring()));
        check(&diagram(&sample::fault_names(), &sample::faults()));
        check(&diagram(&sample::ring_names(), &sample::invalid()));
    }

    #[test]
    fn a_long_trace_is_cut_with_a_note() {
        for (size, tick_of) in [(3, (|index| index) as fn(u64) -> u64), (1_000, |index| index / 7)] {
            let names = Names::new("long", (0..size).collect(), Network::Ring(size as u32));
            let records: Vec<_> = (0..9_000)
                .map(|number| Record {
                    number,
                    tick: tick_of(number),
                    node: (number % size) as u32,
                    cause: None,
                    nth: 0,
                    copy: false,
                    what: TraceEvent::<sample::Word>::Crashed,
                })
                .collect();
            let text = diagram(&names, &records);
            let lines = check(&text);
            assert!((500..=MAX_LINES).contains(&lines), "{lines}");
            assert!(text.len() <= MAX_BYTES + 200, "{}", text.len());
            assert!(text.ends_with(" of 9,000 records are left out.\n"), "{}", text.lines().last().unwrap());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_trace_gives_a_diagram(records in sample::any_trace()) {
            check(&diagram(&sample::ring_names(), &records));
        }
    }
}
