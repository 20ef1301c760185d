//! What operators do: transfers and pauses.

use axum::extract::State;
use hustings_cluster::api::{Reply, Request};

use super::Operator;
use crate::error::{ApiError, ApiResult};
use crate::extract::{Body, Office, is_name, not_a_name};
use crate::json;
use crate::link::unexpected;
use crate::model::{OfficeView, PauseRequest, PausedView, TransferRequest};
use crate::state::Shared;

/// Hands an office over: to a member, or to whoever is best beside its holder.
#[utoipa::path(post, path = "/v1/offices/{office}/transfer", operation_id = "transfer", tag = "operation",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
    request_body = TransferRequest,
    responses((status = 200, description = "The office has its new holder.", body = OfficeView,
        headers(("Hustings-Token" = u64, description = "The token of the office.")))))]
pub(crate) async fn transfer(
    State(state): State<Shared>,
    Office(office): Office,
    Operator(caller): Operator,
    Body(request): Body<TransferRequest>,
) -> ApiResult {
    if let Some(to) = request.to.as_deref().filter(|to| !is_name(to)) {
        return Err(not_a_name("the member", to));
    }
    let (asked, goal) = match request.to {
        Some(to) => (Request::Transfer { office: office.clone(), to: to.clone() }, to),
        None => (Request::Resign { office: office.clone() }, "*".to_string()),
    };
    let done = carry_out(&state, &asked).await;
    state.audit(&caller, format_args!("transfer {office} {goal}"), &done);
    done?;
    let view = super::offices::read(&state, office).await?;
    Ok(json::with_token(json::ok(&view), view.token))
}

/// Pauses elections: holders keep their offices, vacant offices stay vacant.
///
/// The body is `{}`: a form of a web page cannot send JSON.
#[utoipa::path(post, path = "/v1/pause", operation_id = "pause", tag = "operation", request_body = PauseRequest,
    responses((status = 200, description = "Elections are paused.", body = PausedView)))]
pub(crate) async fn pause(
    State(state): State<Shared>,
    Operator(caller): Operator,
    Body(PauseRequest {}): Body<PauseRequest>,
) -> ApiResult {
    let done = carry_out(&state, &Request::Pause).await;
    state.audit(&caller, format_args!("pause"), &done);
    done.map(|()| json::ok(&PausedView { paused: true }))
}

/// Resumes elections.
#[utoipa::path(delete, path = "/v1/pause", operation_id = "resume", tag = "operation",
    responses((status = 200, description = "Elections are not paused.", body = PausedView)))]
pub(crate) async fn resume(State(state): State<Shared>, Operator(caller): Operator) -> ApiResult {
    let done = carry_out(&state, &Request::Resume).await;
    state.audit(&caller, format_args!("resume"), &done);
    done.map(|()| json::ok(&PausedView { paused: false }))
}

pub(super) async fn carry_out(state: &Shared, request: &Request) -> Result<(), ApiError> {
    match state.link.call(request).await? {
        Reply::Done => Ok(()),
        _ => Err(unexpected()),
    }
}
