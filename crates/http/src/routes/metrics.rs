//! Metrics, in the text format of Prometheus.

use std::fmt::Write;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use hustings_cluster::api::{Reply, Request};

use crate::error::ApiResult;
use crate::link::unexpected;
use crate::state::Shared;

/// What the node and this API count and measure.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "probes",
    responses((status = 200, description = "Metrics.", body = String, content_type = "text/plain")))]
pub(crate) async fn metrics(State(state): State<Shared>) -> ApiResult {
    let mut text = match state.link.call(&Request::Metrics).await? {
        Reply::Metrics(metrics) => metrics.to_prometheus(),
        _ => return Err(unexpected()),
    };
    let watchers = state.max_watchers - state.watchers.available_permits();
    gauge(&mut text, "hustings_http_sessions", "Campaigns of HTTP clients.", state.sessions.count());
    gauge(&mut text, "hustings_http_watchers", "HTTP clients that watch an office.", watchers);
    let mut response = Response::new(Body::from(text));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

fn gauge(text: &mut String, name: &str, help: &str, value: usize) {
    // Writing to a String cannot fail.
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n");
}
