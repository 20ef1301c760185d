//! What can be asked for.
//!
//! | path | what |
//! |---|---|
//! | `GET /`, `GET /NAME` | the page and its files |
//! | `GET /api/catalogue`, `/api/lessons`, `/api/opened/N` | what there is |
//! | `POST /api/run` | a run's text; the answer is its timeline |
//! | `POST /api/trace` | a trace file; the same answer |
//! | `POST /api/export/FORMAT` | a run's text; the answer is its trace in this format |
//! | `/api/live` | a cluster of real nodes: see `live` |
//! | `POST /api/chart` | the points of a chart, as events while they are computed |

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;

use super::guard::{HEADERS, Refused};
use super::{Shared, assets, live};
use crate::chart::ChartRequest;
use crate::error::LabError;
use crate::run::run;
use crate::{export, listing, request};

pub(super) type Lab = State<Arc<Shared>>;

/// The maximum size of a trace file, on the user's own machine and in a class.
const MAX_TRACE: usize = 32 << 20;
const MAX_CLASS_TRACE: usize = 2 << 20;
/// How long the body of a request may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn router(shared: Arc<Shared>) -> Router {
    let api = Router::new()
        .route("/api/catalogue", get(catalogue))
        .route("/api/lessons", get(lessons))
        .route("/api/opened/{number}", get(opened))
        .route("/api/run", post(simulate))
        .route("/api/export/{format}", post(exported))
        .route("/api/chart", post(chart))
        .route("/api/trace", post(trace))
        // `whole` has limited the bodies.
        .layer(DefaultBodyLimit::disable());
    let files = Router::new().route("/", get(assets::index)).route("/{name}", get(assets::file));
    let guarded =
        api.merge(live::router()).merge(files).layer(middleware::from_fn_with_state(Arc::clone(&shared), admit));
    guarded.fallback(missing).with_state(shared).layer(middleware::from_fn(secured))
}

/// Adds the headers that every answer has.
async fn secured(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(*name, HeaderValue::from_static(value));
    }
    response
}

/// Lets nobody in who may not ask. The address with the token gives a cookie, and leads to the same page without it.
async fn admit(
    State(shared): Lab,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let guard = &shared.guard;
    if let Err(refused) = guard.check_origin(request.headers()) {
        return refuse(refused);
    }
    if request.uri().path() == "/"
        && let Some(cookie) = request.uri().query().and_then(|query| guard.admission(query))
        && let Ok(cookie) = HeaderValue::from_str(&cookie)
    {
        let mut response = assets::enter();
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        return response;
    }
    if let Err(refused) = guard.check_token(request.headers()) {
        return refuse(refused);
    }
    if let Some(quota) = &shared.quota {
        let cost = if request.uri().path().starts_with("/api/") { 4.0 } else { 0.5 };
        if let Err(seconds) = quota.take(from.ip(), cost, Instant::now()) {
            let error = LabError::new("too-many-requests", format!("too many requests; try again in {seconds} s"));
            let mut response = Failed(StatusCode::TOO_MANY_REQUESTS, error).into_response();
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            return response;
        }
    }
    match whole(request, &shared).await {
        Ok(request) => next.run(request).await,
        Err(failed) => failed.into_response(),
    }
}

/// A request whose body has arrived. A visitor who sends it too slowly must not keep a place.
async fn whole(request: Request, shared: &Shared) -> Result<Request, Failed> {
    let limit = match (request.uri().path(), shared.is_class) {
        ("/api/trace", true) => MAX_CLASS_TRACE,
        ("/api/trace", false) => MAX_TRACE,
        _ => request::MAX_TEXT + 1024,
    };
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(BODY_TIMEOUT, axum::body::to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(_)) => {
            let message = format!("the request ended early, or is larger than {limit} bytes, the maximum");
            Err(Failed(StatusCode::PAYLOAD_TOO_LARGE, LabError::new("too-large", message)))
        }
        Err(_) => {
            let message = format!("the request did not arrive within {BODY_TIMEOUT:?}");
            Err(Failed(StatusCode::REQUEST_TIMEOUT, LabError::new("timeout", message)))
        }
    }
}

fn refuse(refused: Refused) -> Response {
    let (status, code, message) = match refused {
        Refused::Host => (
            StatusCode::MISDIRECTED_REQUEST,
            "unknown-host",
            "this host name is not one of the page’s; allowed: its address, localhost, names given with --host",
        ),
        Refused::Origin => (StatusCode::FORBIDDEN, "other-origin", "requests from other sites are refused"),
        Refused::Token => (
            StatusCode::UNAUTHORIZED,
            "no-token",
            "open the page with the address that `hustings lab` has printed: it has a token that changes at every start",
        ),
    };
    Failed(status, LabError::new(code, message)).into_response()
}

async fn missing() -> Response {
    Failed(StatusCode::NOT_FOUND, LabError::new("not-found", "there is nothing here")).into_response()
}

/// An error as an answer.
pub(super) struct Failed(pub(super) StatusCode, pub(super) LabError);

impl From<LabError> for Failed {
    fn from(error: LabError) -> Self {
        Failed(StatusCode::UNPROCESSABLE_ENTITY, error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Shape {
            error: LabError,
        }
        (self.0, json(&Shape { error: self.1 })).into_response()
    }
}

/// A JSON answer.
pub(super) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => ([(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn catalogue(State(shared): Lab) -> Response {
    json(&listing::all(&shared.lab.catalogue))
}

async fn lessons(State(shared): Lab) -> Response {
    json(&shared.lab.lessons)
}

async fn opened(State(shared): Lab, Path(number): Path<usize>) -> Result<Response, Failed> {
    let found = shared.lab.opened.get(number);
    let missing = || Failed(StatusCode::NOT_FOUND, LabError::new("not-found", format!("no run {number} was opened")));
    found.map(json).ok_or_else(missing)
}

/// Does work that takes time on another thread, a few at once.
async fn work<T: Send + 'static>(
    shared: &Arc<Shared>,
    what: impl FnOnce(&Shared) -> Result<T, LabError> + Send + 'static,
) -> Result<T, Failed> {
    let inner = Arc::clone(shared);
    let failed = |what: &str| Failed(StatusCode::INTERNAL_SERVER_ERROR, LabError::new("internal", what));
    let _permit = shared.runs.acquire().await.map_err(|_| failed("the server stops"))?;
    let done = tokio::task::spawn_blocking(move || what(&inner)).await;
    done.map_err(|_| failed("the run failed; this is a bug"))?.map_err(Failed::from)
}

fn text(body: &Bytes) -> Result<String, LabError> {
    String::from_utf8(body.to_vec()).map_err(|_| LabError::bad("the text of the run is not UTF-8"))
}

async fn simulate(State(shared): Lab, body: Bytes) -> Result<Response, Failed> {
    let text = text(&body)?;
    work(&shared, move |shared| {
        let timeline = run(&text, &shared.lab.catalogue, &shared.bounds)?.timeline()?;
        Ok(json(&timeline))
    })
    .await
}

async fn trace(State(shared): Lab, body: Bytes) -> Result<Response, Failed> {
    work(&shared, move |shared| Ok(json(&export::read_trace(&body, &shared.lab.catalogue)?))).await
}

async fn exported(State(shared): Lab, Path(format): Path<String>, body: Bytes) -> Result<Response, Failed> {
    let text = text(&body)?;
    work(&shared, move |shared| {
        let (kind, bytes) = export::write_trace(&text, &format, &shared.lab.catalogue, &shared.bounds)?;
        Ok(([(header::CONTENT_TYPE, kind)], bytes).into_response())
    })
    .await
}

/// Computes the points of a chart one by one and sends each as soon as it is known.
async fn chart(State(shared): Lab, body: Bytes) -> Result<Response, Failed> {
    let request: ChartRequest = serde_json::from_slice(&body).map_err(|error| LabError::bad(error.to_string()))?;
    request.check()?;
    let points: std::collections::VecDeque<(usize, u32)> = request.points().collect();
    let state = (shared, Arc::new(request), points);
    let stream = futures_util::stream::unfold(state, |(shared, request, mut points)| async move {
        let next = points.pop_front()?;
        let asked = Arc::clone(&request);
        let point = work(&shared, move |shared| asked.point(next, &shared.lab.catalogue, &shared.bounds)).await;
        let line = match point {
            Ok(point) => event("point", &point),
            Err(Failed(_, error)) => {
                // What is too large for one size is too large for the next ones.
                points.retain(|(run, _)| *run != next.0);
                event("failed", &(next.0, next.1, error))
            }
        };
        let line = if points.is_empty() { format!("{line}event: done\ndata: {{}}\n\n") } else { line };
        Some((Ok::<_, std::convert::Infallible>(line), (shared, request, points)))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    Ok((kind, Body::from_stream(stream)).into_response())
}

/// A server-sent event.
pub(super) fn event(name: &str, data: &impl Serialize) -> String {
    format!("event: {name}\ndata: {}\n\n", serde_json::to_string(data).unwrap_or_default())
}
