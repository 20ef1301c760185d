//! The node's last messages and events.

use axum::extract::State;
use hustings_cluster::api::{PeerClock, Reply, Request, Trace, TraceEvent, TraceRecord, TracedMessage};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ApiResult, Code};
use crate::extract::Params;
use crate::json;
use crate::link::unexpected;
use crate::state::Shared;

/// How many records a node remembers.
const MAX_RECORDS: usize = 4_096;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TraceParams {
    /// How many records at most, the latest; everything that the node remembers by default.
    #[param(minimum = 1, maximum = 4096)]
    limit: Option<usize>,
}

/// The last messages between this node and other members, and what happened on this node. The clocks of other members
/// are estimated from round trips, so that traces of several nodes can be put on one time axis.
#[utoipa::path(get, path = "/v1/trace", operation_id = "show-trace", tag = "cluster", params(TraceParams),
    responses((status = 200, description = "The records, oldest first.", body = TraceView)))]
pub(crate) async fn show(State(state): State<Shared>, Params(params): Params<TraceParams>) -> ApiResult {
    let limit = params.limit.unwrap_or(MAX_RECORDS);
    if !(1..=MAX_RECORDS).contains(&limit) {
        return Err(ApiError::new(Code::BadRequest, format!("`limit` must be a number from 1 to {MAX_RECORDS}")));
    }
    let mut trace = page(&state, 0).await?;
    while trace.has_more() {
        trace.append(page(&state, trace.next).await?);
    }
    trace.records.drain(..trace.records.len().saturating_sub(limit));
    Ok(json::ok(&TraceView::from(trace)))
}

async fn page(state: &Shared, from: u64) -> Result<Trace, ApiError> {
    match state.link.call(&Request::Trace { from }).await? {
        Reply::Trace(page) => Ok(*page),
        _ => Err(unexpected()),
    }
}

/// The last messages and events of a node.
#[derive(Serialize, ToSchema)]
pub(crate) struct TraceView {
    cluster: String,
    node: String,
    /// Identifies the node's process.
    incarnation: String,
    /// When the trace was taken, in nanoseconds of the node's `CLOCK_BOOTTIME`, like all other times.
    now_boottime_ns: u64,
    /// The same time in milliseconds since 1970, by the node's wall clock. For display only.
    now_unix_ms: u64,
    /// The sequence number of the oldest record that the node remembers.
    first: u64,
    /// The sequence number after that of the last record.
    next: u64,
    /// The sequence number that the next record gets.
    end: u64,
    clocks: Vec<ClockView>,
    records: Vec<RecordView>,
}

/// The clock of another member.
#[derive(Serialize, ToSchema)]
struct ClockView {
    peer: String,
    /// How much it is ahead of this node's clock.
    offset_ns: i64,
    /// The largest error of the offset.
    error_ns: u64,
    /// The last round trip.
    rtt_ns: u64,
    /// How many round trips were measured.
    samples: u64,
}

/// Something that happened. Which of the further keys are present depends on the event.
#[derive(Serialize, ToSchema)]
struct RecordView {
    sequence: u64,
    at_boottime_ns: u64,
    #[schema(pattern = "^(sent|received|connected|disconnected|held|lost|arbiter-leader|late)$")]
    event: &'static str,
    #[serde(flatten)]
    details: Details,
}

#[derive(Default, Serialize, ToSchema)]
struct Details {
    /// The other member.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    /// The kind of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Identifies the messages in one direction of one connection, at both of its ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<u64>,
    /// The position of the message in its stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    /// The size of the message, without framing.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    office: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    term: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<u64>,
    /// Why a connection ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Who leads the arbiter.
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<String>,
    /// How late the node ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_ns: Option<u64>,
}

impl From<Trace> for TraceView {
    fn from(trace: Trace) -> Self {
        TraceView {
            cluster: trace.cluster,
            node: trace.node,
            incarnation: trace.incarnation,
            now_boottime_ns: trace.now.0,
            now_unix_ms: trace.now_unix_ms,
            first: trace.first,
            next: trace.next,
            end: trace.end,
            clocks: trace.clocks.into_iter().map(ClockView::from).collect(),
            records: trace.records.into_iter().map(RecordView::from).collect(),
        }
    }
}

impl From<PeerClock> for ClockView {
    fn from(clock: PeerClock) -> Self {
        let PeerClock { peer, offset_ns, error_ns, rtt_ns, samples } = clock;
        ClockView { peer, offset_ns, error_ns, rtt_ns, samples }
    }
}

impl From<TraceRecord> for RecordView {
    fn from(record: TraceRecord) -> Self {
        let none = Details::default;
        let (event, details) = match record.event {
            TraceEvent::Sent(message) => ("sent", message.into()),
            TraceEvent::Received(message) => ("received", message.into()),
            TraceEvent::Connected { peer } => ("connected", Details { peer: Some(peer), ..none() }),
            TraceEvent::Disconnected { peer, reason } => {
                ("disconnected", Details { peer: Some(peer), reason: Some(reason), ..none() })
            }
            TraceEvent::Held { office, token } => {
                ("held", Details { office: Some(office), token: Some(token), ..none() })
            }
            TraceEvent::Lost { office, token } => {
                ("lost", Details { office: Some(office), token: Some(token), ..none() })
            }
            TraceEvent::ArbiterLeader { leader, term } => {
                ("arbiter-leader", Details { leader, term: Some(term), ..none() })
            }
            TraceEvent::Late { by_ns } => ("late", Details { by_ns: Some(by_ns), ..none() }),
        };
        RecordView { sequence: record.sequence, at_boottime_ns: record.at.0, event, details }
    }
}

impl From<TracedMessage> for Details {
    fn from(message: TracedMessage) -> Self {
        let TracedMessage { peer, kind, stream, number, bytes, office, term, token } = message;
        Details {
            peer: Some(peer),
            kind: Some(kind),
            stream: Some(stream),
            number: Some(number),
            bytes: Some(bytes),
            office,
            term,
            token,
            ..Details::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use hustings_cluster::clock::Timestamp;

    use super::*;

    /// The views repeat the types of the node's socket, so that a trace from here can be merged with one from there.
    #[test]
    fn a_trace_is_the_same_json_as_that_of_the_command_line() {
        let message = |office: Option<&str>| TracedMessage {
            peer: "b".to_string(),
            kind: "step-down".to_string(),
            stream: 7,
            number: 3,
            bytes: 9,
            office: office.map(str::to_string),
            term: office.is_none().then_some(4),
            token: office.map(|_| 5),
        };
        let (peer, office) = (|| "b".to_string(), || "leader".to_string());
        let events = [
            TraceEvent::Sent(message(Some("leader"))),
            TraceEvent::Received(message(None)),
            TraceEvent::Connected { peer: peer() },
            TraceEvent::Disconnected { peer: peer(), reason: "lost".to_string() },
            TraceEvent::Held { office: office(), token: 5 },
            TraceEvent::Lost { office: office(), token: 5 },
            TraceEvent::ArbiterLeader { leader: Some(peer()), term: 4 },
            TraceEvent::Late { by_ns: 180_000_000 },
        ];
        let records = (0..).zip(events).map(|(at, event)| TraceRecord { sequence: at, at: Timestamp(at), event });
        let trace = Trace {
            cluster: "shop".to_string(),
            node: "a".to_string(),
            incarnation: "1f".to_string(),
            now: Timestamp(100),
            now_unix_ms: 5,
            first: 0,
            next: 7,
            end: 7,
            clocks: vec![PeerClock { peer: peer(), offset_ns: -4, error_ns: 3, rtt_ns: 6, samples: 2 }],
            records: records.collect(),
        };
        let expected = serde_json::to_value(&trace).expect("plain data");
        assert_eq!(serde_json::to_value(TraceView::from(trace)).expect("plain data"), expected);
    }
}
