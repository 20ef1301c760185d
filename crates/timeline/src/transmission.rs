//! Messages on their way between two nodes.

use hustings_cluster::api::{TraceEvent, TracedMessage};

use super::{Timeline, TimelineEvent};

/// A message on its way between two nodes, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission<'a> {
    /// The sender.
    pub from: &'a str,
    /// The receiver.
    pub to: &'a str,
    /// When it was sent, if a trace has that.
    pub sent: Option<i64>,
    /// When it arrived, if a trace has that.
    pub arrived: Option<i64>,
    /// What was sent.
    pub message: &'a TracedMessage,
}

impl Timeline {
    /// The transmission that each event shows: where it arrives, or, if no trace can tell, where it is sent. `None` for
    /// a sending whose arrival is shown, and for other events.
    pub fn transmissions(&self) -> Vec<Option<Transmission<'_>>> {
        let mut has_arrival = vec![false; self.events.len()];
        self.events.iter().filter_map(|event| event.cause).for_each(|cause| has_arrival[cause] = true);
        self.events.iter().zip(has_arrival).map(|(event, has_arrival)| self.transmission(event, has_arrival)).collect()
    }

    fn transmission<'a>(&'a self, event: &'a TimelineEvent, has_arrival: bool) -> Option<Transmission<'a>> {
        let own = self.nodes[event.node].node.as_str();
        let at = Some(event.at_ns);
        match &event.event {
            TraceEvent::Received(message) => {
                let sent = event.cause.map(|cause| self.events[cause].at_ns);
                Some(Transmission { from: &message.peer, to: own, sent, arrived: at, message })
            }
            TraceEvent::Sent(message) if !has_arrival => {
                Some(Transmission { from: own, to: &message.peer, sent: at, arrived: None, message })
            }
            _ => None,
        }
    }

    /// The nodes of the timeline, and then the peers that have no trace.
    pub fn participants(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.nodes.iter().map(|clock| clock.node.as_str()).collect();
        for event in &self.events {
            if let TraceEvent::Sent(message) | TraceEvent::Received(message) = &event.event
                && !names.contains(&message.peer.as_str())
            {
                names.push(&message.peer);
            }
        }
        names
    }
}

/// Nanoseconds as milliseconds.
pub fn milliseconds(nanoseconds: i64) -> String {
    format!("{:.3}", nanoseconds as f64 / 1e6)
}
