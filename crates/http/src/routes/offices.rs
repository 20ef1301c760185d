//! Who holds which office.

use axum::extract::State;
use axum::http::StatusCode;
use hustings_cluster::api::{Reply, Request};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::{ApiError, ApiResult, Code};
use crate::extract::{Office, Params, is_name, not_a_name};
use crate::json;
use crate::link::unexpected;
use crate::model::{LeaderView, OfficePage, OfficeView};
use crate::state::Shared;

const DEFAULT_PAGE: usize = 100;
const MAX_PAGE: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// The offices after this name.
    #[param(pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    after: Option<String>,
    /// How many at most; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl ListParams {
    /// After which name the page begins, and how long it is.
    pub(super) fn check(self) -> Result<(Option<String>, usize), ApiError> {
        let limit = self.limit.unwrap_or(DEFAULT_PAGE);
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(ApiError::new(Code::BadRequest, format!("`limit` must be a number from 1 to {MAX_PAGE}")));
        }
        if let Some(after) = self.after.as_deref().filter(|after| !is_name(after)) {
            return Err(not_a_name("`after`:", after));
        }
        Ok((self.after, limit))
    }
}

/// All offices, in the order of their names.
///
/// `current` says of each office whether a majority confirmed it after the request arrived.
#[utoipa::path(get, path = "/v1/offices", operation_id = "list-offices", tag = "offices", params(ListParams),
    responses((status = 200, description = "A page of offices.", body = OfficePage)))]
pub(crate) async fn list(State(state): State<Shared>, Params(params): Params<ListParams>) -> ApiResult {
    let (after, limit) = params.check()?;
    let request = Request::Offices { after, limit: Some(limit) };
    let Reply::Offices { offices, next } = state.link.call(&request).await? else { return Err(unexpected()) };
    let offices = offices.into_iter().map(OfficeView::from).collect();
    Ok(json::ok(&OfficePage { offices, next }))
}

/// The holder of an office.
#[utoipa::path(get, path = "/v1/offices/{office}", operation_id = "show-office", tag = "offices",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
    responses((status = 200, description = "The holder, confirmed by a majority if `current` is true.", body = OfficeView,
        headers(("Hustings-Token" = u64, description = "The token of the office.")))))]
pub(crate) async fn show(State(state): State<Shared>, Office(office): Office) -> ApiResult {
    let view = read(&state, office).await?;
    if view.token == 0 && view.holder.is_none() {
        return Err(ApiError::new(Code::UnknownOffice, format!("the office `{}` was never held", view.office)));
    }
    Ok(json::with_token(json::ok(&view), view.token))
}

/// Whether this node holds an office: 200 if it does, 503 if it does not.
///
/// For load balancers and probes. A majority confirmed the answer 200 after the request arrived.
#[utoipa::path(get, path = "/v1/offices/{office}/leader", operation_id = "is-leader", tag = "offices",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
    responses(
        (status = 200, description = "This node holds the office.", body = LeaderView,
            headers(("Hustings-Token" = u64, description = "The token of the office."))),
        (status = 503, description = "This node does not hold the office, or it is not certain.", body = NotLeading,
            headers(("Hustings-Token" = u64, description = "The token of the office."))),
    ))]
pub(crate) async fn leader(State(state): State<Shared>, Office(office): Office) -> ApiResult {
    let view = read(&state, office).await?;
    let is_leader = view.current && view.holder.as_deref() == Some(&*state.node);
    let status = if is_leader { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let token = view.token;
    let body = json::encode(&LeaderView { node: state.node.clone(), is_leader, status: view });
    Ok(json::with_token(json::response(status, body), token))
}

/// The same for load balancers that ask with OPTIONS.
#[utoipa::path(options, path = "/v1/offices/{office}/leader", operation_id = "is-leader-options", tag = "offices",
    params(("office" = String, Path, pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
    responses(
        (status = 200, description = "This node holds the office.", body = LeaderView,
            headers(("Hustings-Token" = u64, description = "The token of the office."))),
        (status = 503, description = "This node does not hold the office, or it is not certain.", body = NotLeading,
            headers(("Hustings-Token" = u64, description = "The token of the office."))),
    ))]
pub(crate) async fn leader_options(state: State<Shared>, office: Office) -> ApiResult {
    leader(state, office).await
}

/// What a 503 of `leader` holds.
#[derive(utoipa::ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes two types in one place")]
pub(crate) enum NotLeading {
    /// Another member holds the office, or nobody.
    Elsewhere(LeaderView),
    /// The node could not answer.
    Error(crate::error::ErrorBody),
}

/// Asks the node, which asks a majority.
pub(super) async fn read(state: &Shared, office: String) -> Result<OfficeView, ApiError> {
    match state.link.call(&Request::Leader { office }).await? {
        Reply::Office(status) => Ok(status.into()),
        _ => Err(unexpected()),
    }
}
