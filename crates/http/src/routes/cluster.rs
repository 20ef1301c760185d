//! The cluster as a whole.

use axum::extract::State;
use hustings_cluster::api::{Reply, Request};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::{ApiError, ApiResult, Code};
use crate::extract::{Params, is_name, not_a_name};
use crate::json;
use crate::link::unexpected;
use crate::model::{ChangeView, ClusterView, HistoryView};
use crate::state::Shared;

const DEFAULT_CHANGES: usize = 100;
const MAX_CHANGES: usize = 1_000;

/// The members, the arbiter and what this node thinks of them.
#[utoipa::path(get, path = "/v1/cluster", operation_id = "show-cluster", tag = "cluster",
    responses((status = 200, description = "The cluster, as this node sees it.", body = ClusterView)))]
pub(crate) async fn show(State(state): State<Shared>) -> ApiResult {
    match state.link.call(&Request::Status).await? {
        Reply::Status(status) => Ok(json::ok(&ClusterView::from(*status))),
        _ => Err(unexpected()),
    }
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryParams {
    /// The changes of this office only.
    #[param(pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    office: Option<String>,
    /// How many at most, the latest; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The last changes of offices, oldest first.
#[utoipa::path(get, path = "/v1/history", operation_id = "show-history", tag = "cluster", params(HistoryParams),
    responses((status = 200, description = "The changes.", body = HistoryView)))]
pub(crate) async fn history(State(state): State<Shared>, Params(params): Params<HistoryParams>) -> ApiResult {
    let limit = params.limit.unwrap_or(DEFAULT_CHANGES);
    if !(1..=MAX_CHANGES).contains(&limit) {
        return Err(ApiError::new(Code::BadRequest, format!("`limit` must be a number from 1 to {MAX_CHANGES}")));
    }
    if let Some(office) = params.office.as_deref().filter(|office| !is_name(office)) {
        return Err(not_a_name("the office", office));
    }
    match state.link.call(&Request::History { office: params.office }).await? {
        Reply::History { mut changes } => {
            changes.drain(..changes.len().saturating_sub(limit));
            let changes = changes.into_iter().map(ChangeView::from).collect();
            Ok(json::ok(&HistoryView { changes }))
        }
        _ => Err(unexpected()),
    }
}
