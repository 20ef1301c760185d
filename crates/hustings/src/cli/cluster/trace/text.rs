//! A line for each record.

use std::io::{self, Write};

use hustings_cluster::api::TraceEvent;
use hustings_timeline::{Timeline, milliseconds};

pub(super) fn write(timeline: &Timeline, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = timeline.events.first().map(|event| event.at_ns) else {
        return writeln!(out, "cluster {}: no records", timeline.cluster);
    };
    let [reference, others @ ..] = timeline.nodes.as_slice() else { return Ok(()) };
    write!(out, "cluster {}, in milliseconds on the clock of {}", timeline.cluster, reference.node)?;
    for clock in others {
        write!(out, "; {} ±{}", clock.node, milliseconds(clock.error_ns as i64))?;
    }
    writeln!(out)?;
    let width = timeline.nodes.iter().map(|clock| clock.node.len()).max().unwrap_or(0);
    for event in &timeline.events {
        let node = &timeline.nodes[event.node].node;
        let what = match &event.event {
            TraceEvent::Sent(message) => format!("sent {} to {}{}", message.kind, message.peer, message.about()),
            TraceEvent::Received(message) => {
                let after = event.cause.map(|cause| event.at_ns - timeline.events[cause].at_ns);
                let after = after.map(|after| format!(", after {}", milliseconds(after))).unwrap_or_default();
                format!("received {} from {}{}{after}", message.kind, message.peer, message.about())
            }
            event => event.local().unwrap_or_default(),
        };
        writeln!(out, "{:>12}  {node:<width$}  {what}", milliseconds(event.at_ns - first))?;
    }
    Ok(())
}
