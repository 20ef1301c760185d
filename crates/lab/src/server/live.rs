//! The live cluster.
//!
//! | path | what |
//! |---|---|
//! | `GET /api/live` | whether there is one |
//! | `GET /api/live/events` | its state, as events whenever it changes |
//! | `GET /api/live/offices?search=TEXT&page=N` | a page of its offices |
//! | `GET /api/live/failover` | the last failover: its messages as a picture, and its steps in words |
//! | `POST /api/live/act` | an order such as `kill leader`, if the processes are ours |

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;

use super::Shared;
use super::routes::{Failed, Lab, event, json};
use crate::error::LabError;
use crate::live::Monitor;

/// The longest order.
const MAX_ORDER: usize = 256;
/// The longest text that is searched for.
const MAX_SEARCH: usize = 64;
/// Changes that are closer together are sent together.
const PAUSE: Duration = Duration::from_millis(100);
/// How long nothing is sent while nothing changes: times on the page go on.
const REPEAT: Duration = Duration::from_secs(2);

pub(super) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/api/live", get(about))
        .route("/api/live/events", get(events))
        .route("/api/live/offices", get(offices))
        .route("/api/live/failover", get(failover))
        .route("/api/live/act", post(act).layer(DefaultBodyLimit::max(MAX_ORDER)))
}

fn monitor(shared: &Shared) -> Result<&Arc<Monitor>, Failed> {
    let missing = || {
        let message = "no cluster is shown; `hustings up` starts one, `hustings lab --cluster` shows one that runs";
        Failed(StatusCode::NOT_FOUND, LabError::new("no-cluster", message))
    };
    shared.lab.live.as_ref().ok_or_else(missing)
}

async fn about(State(shared): Lab) -> Response {
    let live = shared.lab.live.as_ref();
    json(&json!({ "live": live.is_some(), "control": live.is_some_and(|live| live.control().is_some()) }))
}

async fn events(State(shared): Lab) -> Result<Response, Failed> {
    let monitor = Arc::clone(monitor(&shared)?);
    let full =
        || Failed(StatusCode::TOO_MANY_REQUESTS, LabError::new("too-many", "too many pages look at the cluster"));
    let (viewer, changes) = monitor.view().ok_or_else(full)?;
    let stream = futures_util::stream::unfold((monitor, viewer, changes, true), |state| async move {
        let (monitor, viewer, mut changes, is_first) = state;
        if !is_first {
            tokio::time::sleep(PAUSE).await;
            // Either something changed, or it is time to say that nothing did.
            let _ = tokio::time::timeout(REPEAT, changes.changed()).await;
        }
        changes.mark_unchanged();
        let text = event("state", &monitor.state());
        Some((Ok::<_, Infallible>(text), (monitor, viewer, changes, false)))
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream)).into_response())
}

async fn offices(State(shared): Lab, RawQuery(query): RawQuery) -> Result<Response, Failed> {
    let query = query.unwrap_or_default();
    let field = |name: &str| {
        let pair = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name);
        pair.map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let search = field("search");
    if search.len() > MAX_SEARCH {
        return Err(LabError::field("search", format!("at most {MAX_SEARCH} bytes can be searched for")).into());
    }
    let page = match field("page").as_str() {
        "" => 0,
        text => text.parse().map_err(|_| LabError::field("page", "the page must be a number"))?,
    };
    Ok(json(&monitor(&shared)?.offices(&search, page)))
}

async fn failover(State(shared): Lab) -> Result<Response, Failed> {
    Ok(json(&monitor(&shared)?.failover()))
}

async fn act(State(shared): Lab, body: Bytes) -> Result<Response, Failed> {
    let read_only = || {
        let message = "this page only reads: it did not start these processes";
        Failed(StatusCode::FORBIDDEN, LabError::new("read-only", message))
    };
    let control = monitor(&shared)?.control().ok_or_else(read_only)?;
    let order = String::from_utf8(body.to_vec()).map_err(|_| LabError::bad("the order is not UTF-8"))?;
    let done = tokio::task::spawn_blocking(move || control.act(&order)).await;
    let failed = |message: String| Failed(StatusCode::CONFLICT, LabError::new("not-done", message));
    done.map_err(|_| failed("the order was not carried out".to_string()))?.map_err(failed)?;
    Ok(json(&json!({})))
}
