//! What the holder of an office stores for its successors.

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use hustings_cluster::api::{Base64, MAX_PUT_PART_BYTES, Reply, Request, Right, StateInfo, StatePart};
use serde::Serialize;
use tokio::sync::SemaphorePermit;
use utoipa::ToSchema;

use super::Campaigner;
use super::offices::ListParams;
use super::operate::carry_out;
use crate::auth::Caller;
use crate::error::{ApiError, ApiResult, Code};
use crate::extract::{Office, Params, read_body};
use crate::json::{self, SESSION_HEADER, TOKEN_HEADER};
use crate::link::unexpected;
use crate::state::Shared;

/// How often a state that changes while it is read is read again.
const MAX_ATTEMPTS: usize = 20;

/// The bytes of a state.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[allow(dead_code, reason = "describes a body")]
pub(crate) struct Bytes(Vec<u8>);

/// A state that was stored.
#[derive(Serialize, ToSchema)]
pub(crate) struct StoredView {
    /// The name of the office.
    office: String,
    /// The token of the holder.
    token: u64,
    /// The size of the state.
    bytes: u64,
}

/// A state that was deleted.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeletedView {
    /// The name of the office.
    office: String,
}

/// What is known about the state of an office.
#[derive(Serialize, ToSchema)]
pub(crate) struct StateView {
    /// The name of the office.
    office: String,
    /// The size of the state.
    bytes: u64,
    /// The member that held the office when it was stored.
    holder: String,
    /// The token that it held.
    token: u64,
    /// Grows with every state that is stored.
    revision: u64,
    /// When it was stored, in milliseconds since 1970 by the arbiter's wall clock. For display only.
    unix_ms: u64,
}

impl From<StateInfo> for StateView {
    fn from(state: StateInfo) -> StateView {
        let StateInfo { office, bytes, holder, token, revision, unix_ms } = state;
        StateView { office, bytes, holder, token, revision, unix_ms }
    }
}

/// A page of states, in the order of the names of their offices.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatePage {
    states: Vec<StateView>,
    /// The value of `after` for the next page; null on the last one.
    #[schema(required)]
    next: Option<String>,
}

/// The state that a holder of an office has stored, confirmed by a majority.
///
/// A new holder reads it before it acts. `ETag` changes with every state that is stored.
#[utoipa::path(get, path = "/v1/offices/{office}/state", operation_id = "get-state", tag = "states",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
    responses((status = 200, description = "The bytes of the state.", body = inline(Bytes), content_type = "application/octet-stream",
        headers(("Hustings-Token" = u64, description = "The token of the holder that stored it."),
            ("ETag" = String, description = "Changes with every state that is stored.")))))]
pub(crate) async fn get(State(state): State<Shared>, Office(office): Office) -> ApiResult {
    let _permit = begin_transfer(&state)?;
    for _ in 0..MAX_ATTEMPTS {
        let Some(first) = part(&state, &office, 0).await? else {
            return Err(ApiError::new(Code::NoState, format!("no holder of `{office}` has stored a state")));
        };
        let mut data = first.data.0.to_vec();
        while (data.len() as u64) < first.bytes {
            match part(&state, &office, data.len() as u64).await? {
                Some(next) if next.revision == first.revision && !next.data.0.is_empty() => {
                    data.extend_from_slice(&next.data.0);
                }
                _ => break,
            }
        }
        if data.len() as u64 == first.bytes {
            return Ok(response(&first, data));
        }
    }
    Err(ApiError::new(Code::Busy, format!("the state of `{office}` changes faster than it can be read")))
}

/// Stores a state for the next holders of an office. Only its holder can, with its token.
///
/// The holder is the caller whose session on this node holds the office. Operators can as well, without a session.
///
/// When it is answered with 200, a majority has stored the whole body. Whatever fails, the state is the former or the
/// new one, never a part of it.
#[utoipa::path(put, path = "/v1/offices/{office}/state", operation_id = "put-state", tag = "states",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"),
        ("Hustings-Token" = String, Header, pattern = "^[0-9]{1,20}$", description = "The token of the holder, a number."),
        ("Hustings-Session" = Option<String>, Header, description = "The session that holds the office; absent if an \
            operator asks.")),
    request_body(content = inline(Bytes), content_type = "application/octet-stream", description = "The state, at most 1 MiB."),
    responses((status = 200, description = "The state is stored.", body = StoredView)))]
pub(crate) async fn put(
    State(state): State<Shared>,
    Office(office): Office,
    Campaigner(caller): Campaigner,
    request: HttpRequest,
) -> ApiResult {
    let token = token_of(request.headers())?;
    if let Err(refusal) = check_holder(&state, &caller, request.headers(), &office, token) {
        let refused = Err::<(), _>(refusal);
        state.audit(&caller, format_args!("put-state {office} token={token}"), &refused);
        refused?;
    }
    let _permit = begin_transfer(&state)?;
    let data = read_body(request, state.max_state_bytes).await?;
    let size = data.len() as u64;
    // An empty state is one empty part.
    let offsets = (0..data.len().max(1)).step_by(MAX_PUT_PART_BYTES);
    let parts = offsets.map(|offset| Request::PutState {
        office: office.clone(),
        token,
        bytes: size,
        offset: offset as u64,
        data: Base64(data.slice(offset..data.len().min(offset + MAX_PUT_PART_BYTES))),
    });
    let done = state.link.call_in_order(parts).await;
    state.audit(&caller, format_args!("put-state {office} token={token} bytes={size}"), &done);
    done.map(|()| json::ok(&StoredView { office, token, bytes: size }))
}

/// Deletes the state of an office.
///
/// Its holder, whose session on this node holds it, sends its token and the session, and needs the right to campaign.
/// Without a token, the caller needs the right to operate, and no holder is asked.
#[utoipa::path(delete, path = "/v1/offices/{office}/state", operation_id = "delete-state", tag = "states",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"),
        ("Hustings-Token" = Option<String>, Header, pattern = "^[0-9]{1,20}$",
            description = "The token of the holder, a number; absent if an operator asks."),
        ("Hustings-Session" = Option<String>, Header, description = "The session that holds the office; absent if an \
            operator asks.")),
    responses((status = 200, description = "The state is deleted.", body = DeletedView)))]
pub(crate) async fn delete(
    State(state): State<Shared>,
    Office(office): Office,
    caller: Caller,
    headers: HeaderMap,
) -> ApiResult {
    let token = headers.contains_key(TOKEN_HEADER).then(|| token_of(&headers)).transpose()?;
    let by = token.map_or_else(|| "operator".to_string(), |token| format!("token={token}"));
    let allowed = match token {
        Some(token) => {
            caller.require(Right::Campaign).and_then(|()| check_holder(&state, &caller, &headers, &office, token))
        }
        None => caller.require(Right::Operate),
    };
    let done = match allowed {
        Ok(()) => carry_out(&state, &Request::DeleteState { office: office.clone(), token }).await,
        Err(refusal) => Err(refusal),
    };
    state.audit(&caller, format_args!("delete-state {office} {by}"), &done);
    done.map(|()| json::ok(&DeletedView { office }))
}

/// The states of all offices, without their bytes, in the order of the offices' names. A majority confirmed the list.
#[utoipa::path(get, path = "/v1/states", operation_id = "list-states", tag = "states", params(ListParams),
    responses((status = 200, description = "A page of states.", body = StatePage)))]
pub(crate) async fn list(State(state): State<Shared>, Params(params): Params<ListParams>) -> ApiResult {
    let (after, limit) = params.check()?;
    let Reply::States { mut states, next } = state.link.call(&Request::States { after }).await? else {
        return Err(unexpected());
    };
    let has_more = next.is_some() || states.len() > limit;
    states.truncate(limit);
    let next = states.last().filter(|_| has_more).map(|last| last.office.clone());
    Ok(json::ok(&StatePage { states: states.into_iter().map(Into::into).collect(), next }))
}

/// Fails unless the caller names its session, which holds the office with this token, or is an operator. The token
/// alone proves nothing: everybody who may read can see it.
fn check_holder(
    state: &Shared,
    caller: &Caller,
    headers: &HeaderMap,
    office: &str,
    token: u64,
) -> Result<(), ApiError> {
    if caller.right == Some(Right::Operate) {
        return Ok(());
    }
    let Some(session) = headers.get(SESSION_HEADER).and_then(|session| session.to_str().ok()) else {
        let message = "the header `Hustings-Session` must be the session that holds the office";
        return Err(ApiError::new(Code::BadRequest, message));
    };
    if state.sessions.holds(session, &caller.name, office, token) {
        return Ok(());
    }
    let message =
        format!("this is no session of `{}` on this node that holds `{office}` with the token {token}", caller.name);
    Err(ApiError::new(Code::StaleToken, message))
}

/// Whole states are in memory while they are read or stored, so there are few at a time.
fn begin_transfer(state: &Shared) -> Result<SemaphorePermit<'_>, ApiError> {
    let permit = state.state_transfers.try_acquire();
    permit.map_err(|_| ApiError::new(Code::Busy, "too many states are being read or stored; try again"))
}

fn token_of(headers: &HeaderMap) -> Result<u64, ApiError> {
    let given = headers.get(TOKEN_HEADER).and_then(|value| value.to_str().ok());
    let digits = given.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    let message = "the header `Hustings-Token` must be the token of the holder, a number";
    // No token is as large as a number that does not fit.
    let token = digits.map(|text| text.parse().unwrap_or(u64::MAX));
    token.ok_or_else(|| ApiError::new(Code::BadRequest, message))
}

async fn part(state: &Shared, office: &str, offset: u64) -> Result<Option<StatePart>, ApiError> {
    match state.link.call(&Request::GetState { office: office.to_string(), offset }).await? {
        Reply::State { state } => Ok(state),
        _ => Err(unexpected()),
    }
}

fn response(first: &StatePart, data: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(data));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", first.revision)) {
        headers.insert(header::ETAG, tag);
    }
    json::with_token(response, first.token)
}
