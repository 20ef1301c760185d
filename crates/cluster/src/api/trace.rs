//! The messages and events that a node remembers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Client, ClientError, Reply, Request};
use crate::clock::Timestamp;

/// The last messages and events of a node, oldest first, and what is needed to compare their times with those of other
/// nodes. As the answer to a request it is one page; [`Trace::append`] joins pages.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// The name of the cluster.
    pub cluster: String,
    /// The name of the node.
    pub node: String,
    /// Identifies the node's process, in hexadecimal.
    pub incarnation: String,
    /// When the trace was taken, in nanoseconds of the node's `CLOCK_BOOTTIME`. Every other time is on the same clock.
    #[serde(rename = "now_boottime_ns")]
    pub now: Timestamp,
    /// The same time in milliseconds since 1970, by the node's wall clock. For display only.
    pub now_unix_ms: u64,
    /// The sequence number of the oldest record that the node still remembers.
    pub first: u64,
    /// The sequence number with which the next page begins.
    pub next: u64,
    /// The sequence number that the next record will get. After the last page, `next` equals it.
    pub end: u64,
    /// The clocks of other members, as far as they are known.
    pub clocks: Vec<PeerClock>,
    /// The records, oldest first.
    pub records: Vec<TraceRecord>,
}

impl Trace {
    /// Whether there are further pages.
    pub fn has_more(&self) -> bool {
        self.next < self.end
    }

    /// Appends the next page. The times and clocks stay those of the first page. What happens while pages are fetched
    /// is not followed, so that the last page comes.
    pub fn append(&mut self, page: Trace) {
        let end = self.end;
        // The page is empty if the process is another one, or if everything wanted is already forgotten.
        let is_next = page.incarnation == self.incarnation && page.next > self.next;
        self.next = if is_next { page.next } else { end };
        let records = page.records.into_iter().filter(|record| is_next && record.sequence < end);
        self.records.extend(records);
    }
}

impl Client {
    /// Everything that the node remembers, page by page. The timeout is that of each page.
    pub fn trace(&mut self, timeout: Duration) -> Result<Trace, ClientError> {
        let mut trace = self.trace_page(0, timeout)?;
        while trace.has_more() {
            trace.append(self.trace_page(trace.next, timeout)?);
        }
        Ok(trace)
    }

    fn trace_page(&mut self, from: u64, timeout: Duration) -> Result<Trace, ClientError> {
        match self.call(&Request::Trace { from }, Some(timeout))? {
            Reply::Trace(page) => Ok(*page),
            Reply::Error(error) => Err(ClientError::Rejected(error)),
            _ => Err(ClientError::UnexpectedReply),
        }
    }
}

/// The clock of another member, estimated from round trips.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PeerClock {
    /// The name of the member.
    pub peer: String,
    /// How much the member's clock is ahead of this node's, in nanoseconds.
    pub offset_ns: i64,
    /// The largest error of the offset: half the round trip, and 100 millionths of the time that has passed since.
    pub error_ns: u64,
    /// The last round trip, in nanoseconds.
    pub rtt_ns: u64,
    /// How many round trips were measured.
    pub samples: u64,
}

/// Something that happened on a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceRecord {
    /// Counts the records of the process, from 0.
    pub sequence: u64,
    /// When it happened, in nanoseconds of the node's `CLOCK_BOOTTIME`.
    #[serde(rename = "at_boottime_ns")]
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: TraceEvent,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum TraceEvent {
    /// The node sent a message: it was queued, and leaves in the same pass.
    Sent(TracedMessage),
    /// The node received a message.
    Received(TracedMessage),
    /// A connection to a member was established.
    Connected {
        /// The member.
        peer: String,
    },
    /// The connection to a member ended.
    Disconnected {
        /// The member.
        peer: String,
        /// Why.
        reason: String,
    },
    /// The node holds an office from now on.
    Held {
        /// The office.
        office: String,
        /// The token.
        token: u64,
    },
    /// The node no longer holds an office.
    Lost {
        /// The office.
        office: String,
        /// The token that it had.
        token: u64,
    },
    /// Another member leads the arbiter, as far as this node knows.
    ArbiterLeader {
        /// The member; absent if none is known.
        #[serde(default)]
        leader: Option<String>,
        /// The term.
        term: u64,
    },
    /// The node ran late: its host did not schedule it in time, or it had too much to do.
    Late {
        /// How late.
        by_ns: u64,
    },
}

impl TraceEvent {
    /// What happened on a node itself, in words; `None` for messages.
    pub fn local(&self) -> Option<String> {
        match self {
            TraceEvent::Sent(_) | TraceEvent::Received(_) => None,
            TraceEvent::Connected { peer } => Some(format!("connected to {peer}")),
            TraceEvent::Disconnected { peer, reason } => Some(format!("connection to {peer} closed: {reason}")),
            TraceEvent::Held { office, token } => Some(format!("holds {office} (token {token})")),
            TraceEvent::Lost { office, token } => Some(format!("lost {office} (token {token})")),
            TraceEvent::ArbiterLeader { leader: Some(leader), term } => {
                Some(format!("{leader} leads the arbiter (term {term})"))
            }
            TraceEvent::Late { by_ns } => Some(format!("ran {} ms late", by_ns / 1_000_000)),
            TraceEvent::ArbiterLeader { leader: None, .. } => Some("the arbiter has no known leader".to_string()),
        }
    }
}

/// A message between two members.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TracedMessage {
    /// The receiver or the sender.
    pub peer: String,
    /// The kind of the message.
    pub kind: String,
    /// Identifies the messages in one direction of one connection that stay in order. Sender and receiver use the same
    /// number.
    pub stream: u64,
    /// The position of the message in its stream, from 0. Stream and number identify a message in all traces.
    pub number: u64,
    /// The size, without framing.
    pub bytes: u64,
    /// The office that it is about, if it is about exactly one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub office: Option<String>,
    /// The term that it belongs to, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub term: Option<u64>,
    /// The token that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
}

impl TracedMessage {
    /// What the message is about, in brackets after a space; empty if it is about nothing.
    pub fn about(&self) -> String {
        let office = self.office.clone();
        let term = self.term.map(|term| format!("term {term}"));
        let token = self.token.map(|token| format!("token {token}"));
        let parts: Vec<String> = office.into_iter().chain(term).chain(token).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(from: u64, count: u64, end: u64) -> Trace {
        let event = || TraceEvent::Connected { peer: "b".to_string() };
        let record = |sequence| TraceRecord { sequence, at: Timestamp(sequence), event: event() };
        Trace {
            cluster: "shop".to_string(),
            node: "a".to_string(),
            incarnation: "1f".to_string(),
            now: Timestamp(end),
            now_unix_ms: 5,
            first: 0,
            next: from + count,
            end,
            clocks: Vec::new(),
            records: (from..from + count).map(record).collect(),
        }
    }

    #[test]
    fn pages_are_joined_and_the_last_one_ends() {
        let mut trace = page(0, 3, 7);
        trace.append(page(3, 3, 8));
        assert!(trace.has_more());
        trace.append(page(6, 3, 9));
        assert!(!trace.has_more());
        let sequences: Vec<u64> = trace.records.iter().map(|record| record.sequence).collect();
        assert_eq!(sequences, [0, 1, 2, 3, 4, 5, 6], "what came later is not followed");
    }

    #[test]
    fn a_restarted_node_ends_the_pages() {
        let mut trace = page(0, 3, 7);
        trace.append(Trace { incarnation: "20".to_string(), ..page(3, 3, 6) });
        assert_eq!((trace.has_more(), trace.records.len()), (false, 3));
    }

    #[test]
    fn the_json_is_flat() {
        let message = TracedMessage {
            peer: "b".to_string(),
            kind: "heartbeat".to_string(),
            stream: 7,
            number: 3,
            bytes: 9,
            office: None,
            term: Some(2),
            token: None,
        };
        let record = TraceRecord { sequence: 4, at: Timestamp(5), event: TraceEvent::Sent(message) };
        let expected = r#"{"sequence":4,"at_boottime_ns":5,"event":"sent","peer":"b","kind":"heartbeat","stream":7,"number":3,"bytes":9,"term":2}"#;
        assert_eq!(serde_json::to_string(&record).expect("plain data"), expected);
        assert_eq!(serde_json::from_str::<TraceRecord>(expected).expect("it is valid"), record);
    }
}
