//! What the holder of an office stores for its successors.

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use hustings_cluster::api::{Base64, MAX_PUT_PART_BYTES, Reply, Request, StatePart};
use tokio::sync::SemaphorePermit;

use super::Campaigner;
use crate::error::{ApiError, ApiResult, Code};
use crate::extract::{Office, read_body};
use crate::json::{self, TOKEN_HEADER};
use crate::link::unexpected;
use crate::model::StoredView;
use crate::state::Shared;

/// How often a state that changes while it is read is read again.
const MAX_ATTEMPTS: usize = 20;

/// The state that a holder of an office has stored, confirmed by a majority.
///
/// A new holder reads it before it acts. `ETag` changes with every state that is stored.
#[utoipa::path(get, path = "/v1/offices/{office}/state", operation_id = "get-state", tag = "states",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
    responses((status = 200, description = "The bytes of the state.", body = String, content_type = "application/octet-stream",
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
/// When it is answered with 200, a majority has stored the whole body. Whatever fails, the state is the former or the
/// new one, never a part of it.
#[utoipa::path(put, path = "/v1/offices/{office}/state", operation_id = "put-state", tag = "states",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"),
        ("Hustings-Token" = u64, Header, description = "The token of the holder.")),
    request_body(content = String, content_type = "application/octet-stream", description = "The state, at most 1 MiB."),
    responses((status = 200, description = "The state is stored.", body = StoredView)))]
pub(crate) async fn put(
    State(state): State<Shared>,
    Office(office): Office,
    Campaigner(caller): Campaigner,
    request: HttpRequest,
) -> ApiResult {
    let token = token_of(request.headers())?;
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
        Reply::State { state, current: true } => Ok(state),
        Reply::State { .. } => {
            let message = "this node reaches no majority, so the state that it knows may be outdated";
            Err(ApiError::new(Code::NoMajority, message))
        }
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
