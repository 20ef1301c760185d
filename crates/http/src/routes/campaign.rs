//! Campaigns of clients in any language: a session with a lease. `sessions` has the argument.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use hustings_cluster::api::{Reply, Request};

use super::Campaigner;
use crate::error::{ApiError, ApiResult, Code};
use crate::extract::{Body, Office};
use crate::json;
use crate::link::unexpected;
use crate::model::{CampaignRequest, RenewRequest, ResignRequest, SessionState, SessionView};
use crate::sessions::{MAX_TTL, MIN_TTL};
use crate::state::Shared;

/// How long a request may wait for a change.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// Campaigns for an office: opens a session.
#[utoipa::path(post, path = "/v1/offices/{office}/campaign", operation_id = "campaign", tag = "sessions",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
    request_body = CampaignRequest,
    responses((status = 201, description = "The session. It may hold the office already.", body = SessionView,
        headers(("Hustings-Token" = u64, description = "The token of the office, if it is held.")))))]
pub(crate) async fn campaign(
    State(state): State<Shared>,
    Office(office): Office,
    Campaigner(caller): Campaigner,
    Body(request): Body<CampaignRequest>,
) -> ApiResult {
    let received = state.sessions.now();
    let wait = wait_of(request.wait_ms)?;
    let ttl = request.ttl_ms.map(Duration::from_millis);
    if ttl.is_some_and(|ttl| !(MIN_TTL..=MAX_TTL).contains(&ttl)) {
        let (min, max) = (MIN_TTL.as_millis(), MAX_TTL.as_millis());
        return Err(ApiError::new(Code::BadRequest, format!("`ttl_ms` must be a number from {min} to {max}")));
    }
    let terms = match state.link.call(&Request::Terms { office: office.clone() }).await? {
        Reply::Terms(terms) => terms,
        _ => return Err(unexpected()),
    };
    let opened = state.sessions.open(terms, request.mode, ttl, &caller.name).await;
    state.audit(&caller, format_args!("campaign {office}"), &opened);
    let session = opened?;
    if !wait.is_zero() {
        session.wait(state.clock, wait).await;
    }
    Ok(session_response(StatusCode::CREATED, &state.sessions.renew(&session, received)?))
}

/// Renews a session, and says what its client may do.
#[utoipa::path(post, path = "/v1/offices/{office}/renew", operation_id = "renew", tag = "sessions",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
    request_body = RenewRequest,
    responses((status = 200, description = "What the client may do, and for how long.", body = SessionView,
        headers(("Hustings-Token" = u64, description = "The token of the office, if it is held.")))))]
pub(crate) async fn renew(
    State(state): State<Shared>,
    Office(office): Office,
    Campaigner(caller): Campaigner,
    Body(request): Body<RenewRequest>,
) -> ApiResult {
    let received = state.sessions.now();
    let wait = wait_of(request.wait_ms)?;
    let session = state.sessions.find(&request.session, &office, &caller.name)?;
    if !session.renewals.allow(Instant::now()) {
        return Err(ApiError::new(Code::RateLimited, "the session is renewed too often"));
    }
    if let Some(token) = request.stopped {
        let stopped = session.stopped(token).await;
        state.audit(&caller, format_args!("stopped {office} {token}"), &stopped);
        stopped?;
    }
    if !wait.is_zero() {
        session.wait(state.clock, wait).await;
    }
    // The session may have ended meanwhile.
    let session = state.sessions.find(&request.session, &office, &caller.name)?;
    Ok(session_response(StatusCode::OK, &state.sessions.renew(&session, received)?))
}

/// Ends a session. The client has stopped its work, so another one may hold the office at once.
#[utoipa::path(post, path = "/v1/offices/{office}/resign", operation_id = "resign", tag = "sessions",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
    request_body = ResignRequest,
    responses((status = 200, description = "The session is over.", body = SessionView)))]
pub(crate) async fn resign(
    State(state): State<Shared>,
    Office(office): Office,
    Campaigner(caller): Campaigner,
    Body(request): Body<ResignRequest>,
) -> ApiResult {
    let session = state.sessions.find(&request.session, &office, &caller.name)?;
    let resigned = state.sessions.resign(&session).await;
    state.audit(&caller, format_args!("resign {office}"), &resigned);
    Ok(session_response(StatusCode::OK, &resigned?))
}

fn wait_of(wait_ms: Option<u64>) -> Result<Duration, ApiError> {
    let wait = Duration::from_millis(wait_ms.unwrap_or_default());
    if wait <= MAX_WAIT {
        return Ok(wait);
    }
    let message = format!("`wait_ms` must be a number from 0 to {}", MAX_WAIT.as_millis());
    Err(ApiError::new(Code::BadRequest, message))
}

fn session_response(status: StatusCode, view: &SessionView) -> Response {
    let response = json::response(status, json::encode(view));
    let token = view.token.filter(|_| view.state == SessionState::Held);
    json::with_token(response, token.unwrap_or_default())
}
