//! The routes, and their description.
//!
//! To add a route: a handler with `#[utoipa::path]` in the file of its group, its line in [`table`] (or
//! [`probe_router`]), its place in `paths` of `openapi.rs`, and the errors that it answers with in `errors_of` there.
//! Tests compare the table with the description.

mod campaign;
mod cluster;
mod metrics;
mod offices;
mod openapi;
mod operate;
mod probes;
mod state;
mod trace;
mod watch;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use hustings_cluster::api::Right;

use crate::admission::Place;
use crate::auth::{Caller, Peer};
use crate::error::{ApiError, Code};
use crate::rate::Payer;
use crate::state::Shared;

pub use openapi::document;
pub(crate) use watch::Watcher;

/// Every route of the API.
fn table() -> Vec<(&'static str, MethodRouter<Shared>)> {
    vec![
        ("/v1/offices", get(offices::list)),
        ("/v1/offices/{office}", get(offices::show)),
        ("/v1/offices/{office}/leader", get(offices::leader).options(offices::leader_options)),
        ("/v1/offices/{office}/watch", get(watch::watch)),
        ("/v1/offices/{office}/campaign", post(campaign::campaign)),
        ("/v1/offices/{office}/renew", post(campaign::renew)),
        ("/v1/offices/{office}/resign", post(campaign::resign)),
        ("/v1/offices/{office}/state", get(state::get).put(state::put).delete(state::delete)),
        ("/v1/offices/{office}/transfer", post(operate::transfer)),
        ("/v1/states", get(state::list)),
        ("/v1/pause", post(operate::pause).delete(operate::resume)),
        ("/v1/cluster", get(cluster::show)),
        ("/v1/history", get(cluster::history)),
        ("/v1/trace", get(trace::show)),
        ("/livez", get(probes::livez)),
        ("/readyz", get(probes::readyz)),
        ("/metrics", get(metrics::metrics)),
        ("/openapi.json", get(openapi::serve)),
    ]
}

/// The routes that everybody may use who reaches `probe-listen`.
const PROBE_ROUTES: [&str; 4] = ["/livez", "/readyz", "/metrics", "/v1/offices/{office}/leader"];

/// The API.
pub(crate) fn router(state: Shared) -> Router {
    with_routes(table()).layer(from_fn_with_state(state.clone(), authenticate)).with_state(state)
}

/// Health checks and metrics.
pub(crate) fn probe_router(state: Shared) -> Router {
    let routes = table().into_iter().filter(|(path, _)| PROBE_ROUTES.contains(path));
    with_routes(routes).layer(from_fn_with_state(state.clone(), limit_rate)).with_state(state)
}

fn with_routes(routes: impl IntoIterator<Item = (&'static str, MethodRouter<Shared>)>) -> Router<Shared> {
    let router = routes.into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    router.fallback(not_found).method_not_allowed_fallback(method_not_allowed)
}

async fn not_found() -> ApiError {
    ApiError::new(Code::NotFound, "there is no such route; GET /openapi.json lists all of them")
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(Code::MethodNotAllowed, "the route does not have this method; the header Allow lists those it has")
}

fn peer_of(request: &Request) -> Result<Peer, ApiError> {
    let peer = request.extensions().get::<Peer>().cloned();
    peer.ok_or_else(|| ApiError::new(Code::Unauthorized, "the other end of the connection is not known"))
}

fn check_rate(state: &Shared, payer: &Payer) -> Result<(), ApiError> {
    if state.rate.allows(payer, Instant::now()) {
        return Ok(());
    }
    let from = match payer {
        Payer::Network(_) => "from this address".to_string(),
        Payer::Caller(name) => format!("of `{name}`"),
    };
    let message = format!("too many requests {from} (`http.limits.requests-per-second`)");
    Err(ApiError::new(Code::RateLimited, message))
}

async fn limit_rate(State(state): State<Shared>, request: Request, next: Next) -> Result<Response, ApiError> {
    check_rate(&state, &Payer::stranger(peer_of(&request)?.address))?;
    Ok(next.run(request).await)
}

/// Refuses what a web page may have sent, finds out who calls, and charges the request to whoever that is. So strangers
/// cannot use up what known callers need, not even from behind the same proxy. Who tries tokens is a stranger, and is
/// refused at the rate's limit; at no rate can one guess 256 random bits.
async fn authenticate(State(state): State<Shared>, mut request: Request, next: Next) -> Result<Response, ApiError> {
    let peer = peer_of(&request)?;
    let found = state.hosts.check(request.headers());
    let found = found.and_then(|()| state.authenticator.caller(&peer, request.headers()));
    let payer = found.as_ref().map_or_else(|_| Payer::stranger(peer.address), |caller| caller.payer(&peer));
    let may_renew = found.as_ref().is_ok_and(|caller| caller.require(Right::Campaign).is_ok());
    // What renews a session is charged to the session, by the route itself. What only looks like it is charged below.
    let is_renewal = request.uri().path().ends_with("/renew") && may_renew;
    if !is_renewal {
        check_rate(&state, &payer)?;
    }
    let caller = found?;
    if request.extensions().get::<Arc<Place>>().is_some_and(|place| !place.admit()) {
        let message = "too many clients are connected (`http.limits.connections`); try again";
        return Err(ApiError::new(Code::Busy, message));
    }
    request.extensions_mut().insert(caller);
    let response = next.run(request).await;
    if is_renewal && !response.status().is_success() {
        check_rate(&state, &payer)?;
    }
    Ok(response)
}

/// A caller that may campaign.
struct Campaigner(Caller);

impl FromRequestParts<Shared> for Campaigner {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        caller.require(Right::Campaign)?;
        Ok(Campaigner(caller))
    }
}

/// A caller that may operate the cluster. One that may not is noted in the log.
struct Operator(Caller);

impl FromRequestParts<Shared> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let allowed = caller.require(Right::Operate);
        if allowed.is_err() {
            state.audit(&caller, format_args!("{} {}", parts.method, parts.uri.path().escape_debug()), &allowed);
        }
        allowed.map(|()| Operator(caller))
    }
}

#[cfg(test)]
mod tests;
