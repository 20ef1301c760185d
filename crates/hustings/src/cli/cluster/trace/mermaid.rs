//! A Mermaid sequence diagram: `->>` for messages, `-x` for those that a node did not receive although its trace would
//! show it, notes for the rest. An arrow is at the position of its arrival.

use std::fmt::Write as _;
use std::io::{self, Write};

use hustings_timeline::{Timeline, milliseconds};

/// The maximum size in bytes: Mermaid itself refuses texts above 50,000 characters.
const MAX_BYTES: usize = 48_000;

pub(super) fn write(timeline: &Timeline, out: &mut dyn Write) -> io::Result<()> {
    let names = timeline.participants();
    let mut text = String::from("sequenceDiagram\n");
    for (place, name) in names.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    participant n{place} as {name}");
    }
    let place_of = |name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
    let has_trace = |name: &str| timeline.nodes.iter().any(|clock| clock.node == name);
    let transmissions = timeline.transmissions();
    let first = timeline.events.first().map_or(0, |event| event.at_ns);
    for (place, event) in timeline.events.iter().enumerate() {
        let line = if let Some(sent) = transmissions[place] {
            let is_lost = sent.arrived.is_none() && has_trace(sent.to);
            let (arrow, note) = if is_lost { ("-x", ", not received") } else { ("->>", "") };
            let (from, to, message) = (place_of(sent.from), place_of(sent.to), sent.message);
            format!("n{from}{arrow}n{to}: {}{}{note}", message.kind, message.about())
        } else if let Some(what) = event.event.local() {
            let at = milliseconds(event.at_ns - first);
            format!(
                "Note over n{}: {at} ms#58; {}",
                place_of(&timeline.nodes[event.node].node),
                what.replace(':', "#58;")
            )
        } else {
            continue;
        };
        if text.len() + line.len() > MAX_BYTES {
            let left_out = timeline.events.len() - place;
            let _ =
                writeln!(text, "    %% Stopped here: {left_out} of {} records are left out.", timeline.events.len());
            break;
        }
        let _ = writeln!(text, "    {line}");
    }
    out.write_all(text.as_bytes())
}
