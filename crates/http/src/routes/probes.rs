//! Health checks, for kubelets and load balancers.

use std::time::Duration;

use axum::extract::State;
use hustings_cluster::api::{Reply, Request};

use crate::error::{ApiError, ApiResult, Code};
use crate::json;
use crate::link::unexpected;
use crate::model::ProbeView;
use crate::state::Shared;

/// The office that every elector campaigns for.
const LEADER: &str = "leader";
/// A node whose loop does not answer for this long does not work any more.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(3);

/// Whether the node's loop answers. If it does not, restart the node.
#[utoipa::path(get, path = "/livez", operation_id = "livez", tag = "probes",
    responses((status = 200, description = "The node answers.", body = ProbeView)))]
pub(crate) async fn livez(State(state): State<Shared>) -> ApiResult {
    // The node answers this one by itself and at once.
    state.link.call_within(&Request::Terms { office: LEADER.to_string() }, ALIVE_TIMEOUT).await?;
    Ok(json::ok(&ProbeView { ok: true }))
}

/// Whether the node is in touch with a majority, and its disk takes writes. A standby is ready; whether it leads is
/// another question.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "probes",
    responses((status = 200, description = "The node is part of a majority, and its disk works.", body = ProbeView)))]
pub(crate) async fn readyz(State(state): State<Shared>) -> ApiResult {
    let Reply::Status(status) = state.link.call_within(&Request::Status, ALIVE_TIMEOUT).await? else {
        return Err(unexpected());
    };
    match status.disk {
        Some(failure) => {
            Err(ApiError::new(Code::Disk, format!("the node's disk does not take writes: {}", failure.error)))
        }
        None if status.current => Ok(json::ok(&ProbeView { ok: true })),
        None => Err(ApiError::new(Code::NoMajority, "the node is not in touch with a majority")),
    }
}
