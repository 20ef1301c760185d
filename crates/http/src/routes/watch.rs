//! Changes of an office, as server-sent events.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use hustings_cluster::api::{Change, Reply, Request};
use serde::Deserialize;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, broadcast};
use tokio::time::timeout;
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ApiResult, Code};
use crate::extract::{Office, Params};
use crate::json;
use crate::link::unexpected;
use crate::model::{ChangeId, ChangeView};
use crate::state::Shared;
use crate::stream::EventStream;

/// A comment is sent after this much silence, so that proxies do not close the connection and a dead client is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// How long a client that was disconnected should wait before it connects again. It is part of the first event: some
/// clients take a block of its own for an event without data.
const RETRY: &str = "retry: 1000\n";

/// One event of the stream.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes what is written as text")]
pub(crate) struct WatchEvent {
    event: WatchEventKind,
    /// Names the change of the office. A gap has none.
    #[schema(nullable = false)]
    id: Option<String>,
    /// How long to wait before connecting again, in milliseconds. Only in the first event.
    #[schema(nullable = false)]
    retry: Option<u32>,
    /// JSON: an `OfficeView`, a `ChangeView` if the event is `missed`, or the reason of a gap.
    #[schema(content_media_type = "application/json")]
    data: String,
}

/// What an event tells: the state of the office, a change that the client missed, or that such changes are not known.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes what is written as text")]
enum WatchEventKind {
    Office,
    Missed,
    Gap,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WatchParams {
    /// Instead of the header `Last-Event-ID`, for clients that cannot set it.
    #[serde(rename = "last-event-id")]
    #[param(rename = "last-event-id", pattern = r"^([0-9]{1,20}\.[01])?$")]
    last_event_id: Option<String>,
}

/// The holder of an office, now and after every change, as server-sent events.
///
/// An event `office` has the state of the office. After `Last-Event-ID`, events `missed` come first: the changes since
/// that event. If they are not known any more, an event `gap` says so.
#[utoipa::path(get, path = "/v1/offices/{office}/watch", operation_id = "watch-office", tag = "offices",
    params(
        ("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"), WatchParams,
        ("Last-Event-ID" = Option<String>, Header, pattern = r"^([0-9]{1,20}\.[01])?$",
            description = "The id of the last event that the client received; empty if there was none."),
    ),
    responses((status = 200, description = "Events, without end.", body = WatchEvent, content_type = "text/event-stream")))]
pub(crate) async fn watch(
    State(state): State<Shared>,
    Office(office): Office,
    Params(params): Params<WatchParams>,
    headers: HeaderMap,
) -> ApiResult {
    let last = last_event_id(params.last_event_id, &headers)?;
    let permit = state.watchers.clone().try_acquire_owned().map_err(|_| {
        let message = format!("there are {} watchers, the maximum (`http.limits.watchers`)", state.max_watchers);
        ApiError::new(Code::TooMany, message)
    })?;
    let (known, events) = state.offices.watch(&office);
    let mut watcher = Watcher { state, office, events, last: Bytes::new(), _permit: permit };
    watcher.last = match known {
        Some(known) => known,
        None => watcher.first_state().await?,
    };
    let mut first = String::from(RETRY);
    if let Some(last) = last {
        first += &watcher.missed_since(last).await?;
    }
    let first = Bytes::from([first.as_bytes(), &watcher.last].concat());
    Ok(response(first, watcher))
}

fn last_event_id(parameter: Option<String>, headers: &HeaderMap) -> Result<Option<ChangeId>, ApiError> {
    let header = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?").to_string());
    // A browser sends an empty header if there was no event yet: then the parameter counts. Both must be ids.
    let given = [header, parameter].into_iter().flatten().filter(|text| !text.is_empty());
    let wrong = || ApiError::new(Code::BadRequest, "the last event id is not one of this API, such as 17.0");
    let ids: Result<Vec<ChangeId>, ApiError> = given.map(|text| ChangeId::parse(&text).ok_or_else(wrong)).collect();
    Ok(ids?.into_iter().next())
}

/// One client that watches one office.
pub(crate) struct Watcher {
    state: Shared,
    office: String,
    events: broadcast::Receiver<Bytes>,
    /// What was sent last, so that the same state is not sent twice.
    last: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl Watcher {
    /// Waits until the node has said what the state of the office is.
    async fn first_state(&mut self) -> Result<Bytes, ApiError> {
        let patience = self.state.offices.patience;
        let first = timeout(patience, self.events.recv()).await;
        let first = first.map_err(|_| ApiError::unavailable(format_args!("no reply within {patience:?}")))?;
        Ok(first.unwrap_or_else(|_| self.last_state()))
    }

    /// Continues with the present state of the office: what the channel still has is older.
    fn last_state(&mut self) -> Bytes {
        let (known, events) = self.state.offices.watch(&self.office);
        self.events = events;
        known.unwrap_or_default()
    }

    /// Events for the changes since an event, or one that says that they are not known any more.
    async fn missed_since(&self, last: ChangeId) -> Result<String, ApiError> {
        let request = Request::History { office: Some(self.office.clone()) };
        let Reply::History { changes } = self.state.link.call(&request).await? else { return Err(unexpected()) };
        Ok(missed_events(changes, last))
    }

    /// The next bytes to send; `None` if there are no more. Nothing is lost if the future is dropped before it is done.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            let mut received = match timeout(KEEP_ALIVE, self.events.recv()).await {
                Err(_) => return Some(Bytes::from_static(b": still here\n\n")),
                Ok(Ok(event)) => Ok(event),
                Ok(Err(RecvError::Lagged(count))) => Err(TryRecvError::Lagged(count)),
                Ok(Err(RecvError::Closed)) => return None,
            };
            // A failover is two events within milliseconds: the vacancy and the next holder. Sending them in one piece
            // halves the work for ten thousand watchers.
            let mut bytes = Vec::new();
            loop {
                match received {
                    Ok(event) if event == self.last => {}
                    Ok(event) => {
                        bytes.extend_from_slice(&event);
                        self.last = event;
                    }
                    Err(TryRecvError::Lagged(_)) => bytes.extend_from_slice(&self.catch_up()),
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
                received = self.events.try_recv();
            }
            if !bytes.is_empty() {
                return Some(bytes.into());
            }
        }
    }

    /// The events that follow those that the client has lost.
    fn catch_up(&mut self) -> Vec<u8> {
        self.last = self.last_state();
        [gap("the client reads too slowly").as_bytes(), &self.last].concat()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // The receiver of this watcher still counts; the last one to go leaves the channel to the next change.
        let nobody = broadcast::Sender::new(1).subscribe();
        drop(std::mem::replace(&mut self.events, nobody));
        self.state.offices.forget_unwatched(&self.office);
    }
}

fn missed_events(changes: Vec<Change>, last: ChangeId) -> String {
    let Some(at) = changes.iter().position(|change| ChangeId::of(change) == last) else {
        return gap("the changes since the last event are not known any more");
    };
    let missed = changes.into_iter().skip(at + 1).map(|change| {
        let id = ChangeId::of(&change);
        let data = String::from_utf8(json::encode(&ChangeView::from(change))).expect("JSON is UTF-8");
        format!("event: missed\nid: {id}\ndata: {data}\n\n")
    });
    missed.collect()
}

/// Says that events were lost. The state that follows is right.
fn gap(reason: &str) -> String {
    format!("event: gap\ndata: {{\"reason\":\"{reason}\"}}\n\n")
}

fn response(first: Bytes, watcher: Watcher) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Proxies such as nginx would collect events otherwise.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    EventStream::response(HeaderMap::from_iter(headers), first, watcher)
}

#[cfg(test)]
mod tests {
    use hustings_cluster::api::{ChangeReason, OfficeStatus};
    use hustings_cluster::config::Mode;

    use super::*;
    use crate::routes::tests::nowhere;

    fn status(token: u64) -> OfficeStatus {
        OfficeStatus {
            office: "job".to_string(),
            mode: Mode::Exclusive,
            holder: Some("a".to_string()),
            address: None,
            token,
            since_unix_ms: 5,
            reason: ChangeReason::Vacant,
            current: true,
        }
    }

    /// The kinds and ids of events, in order.
    fn outline(bytes: &[u8]) -> String {
        let text = std::str::from_utf8(bytes).expect("events are text");
        let values = text.lines().filter_map(|line| line.strip_prefix("event: ").or(line.strip_prefix("id: ")));
        values.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn events_that_wait_are_sent_in_one_piece_and_what_was_lost_is_a_gap() {
        let state = nowhere();
        let permit = state.watchers.clone().try_acquire_owned().expect("nobody watches");
        let (_, events) = state.offices.watch("job");
        let mut watcher =
            Watcher { state: state.clone(), office: "job".to_string(), events, last: Bytes::new(), _permit: permit };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let mut next = |tokens: std::ops::Range<u64>| {
            tokens.for_each(|token| state.offices.update(status(token)));
            outline(&runtime.block_on(watcher.next()).expect("there are events"))
        };
        assert_eq!(next(5..6), "office 5.0");
        assert_eq!(next(6..9), "office 6.0 office 7.0 office 8.0");
        // Far more than the channel holds: the last state comes once, and nothing older after it.
        assert_eq!(next(9..60), "gap office 59.0");
        assert_eq!(next(60..61), "office 60.0");
    }

    fn change(token: u64, holder: Option<&str>) -> Change {
        let (office, reason) = ("job".to_string(), ChangeReason::Vacant);
        Change { office, holder: holder.map(str::to_string), token, reason, since_unix_ms: 0 }
    }

    #[test]
    fn a_client_gets_what_it_missed_or_is_told_of_the_gap() {
        let history = || vec![change(5, Some("a")), change(5, None), change(9, Some("b")), change(12, Some("a"))];
        let ids = |last: &str| {
            let events = missed_events(history(), ChangeId::parse(last).expect("an id"));
            let ids = events.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_string);
            (ids.collect::<Vec<_>>().join(" "), events.contains("event: gap"))
        };
        assert_eq!(ids("5.0"), ("5.1 9.0 12.0".to_string(), false));
        assert_eq!(ids("5.1"), ("9.0 12.0".to_string(), false));
        assert_eq!(ids("12.0"), (String::new(), false));
        assert_eq!(ids("3.0"), (String::new(), true));
        assert_eq!(ids("12.1"), (String::new(), true));
    }
}
