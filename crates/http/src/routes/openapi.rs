//! The description of the API for programs: `GET /openapi.json`.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use axum::response::Response;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{Schema, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi};

use super::{campaign, cluster, metrics, offices, operate, probes, state, trace, watch};
use crate::error::{Code, ErrorBody};
use crate::json;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Hustings",
        description = "The HTTP API of a node: who holds which office, campaigns with leases, operations.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    paths(
        offices::list, offices::show, offices::leader, offices::leader_options, watch::watch,
        campaign::campaign, campaign::renew, campaign::resign,
        state::get, state::put, state::delete, state::list,
        operate::transfer, operate::pause, operate::resume,
        cluster::show, cluster::history, trace::show,
        probes::livez, probes::readyz, metrics::metrics, describe,
    ),
    components(schemas(ErrorBody)),
    modifiers(&BearerToken),
    security(("bearer" = [])),
)]
struct Description;

struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

/// This description.
#[utoipa::path(get, path = "/openapi.json", operation_id = "describe", tag = "cluster",
    responses((status = 200, description = "The description of the API.", body = Object)))]
#[allow(dead_code, reason = "describes `serve`")]
fn describe() {}

/// The description as JSON.
pub(crate) async fn serve() -> Response {
    json::response(StatusCode::OK, document().into_bytes())
}

/// The description of the API: OpenAPI, in JSON.
pub fn document() -> String {
    let mut document = Description::openapi();
    for item in document.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.post, &mut item.delete, &mut item.put, &mut item.options, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            add_errors(operation);
            remove_nulls(operation);
        }
    }
    serde_json::to_string(&document).expect("a description is plain data")
}

/// An optional parameter is left out; it is never null.
fn remove_nulls(operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        if let Some(RefOr::T(Schema::Object(object))) = &mut parameter.schema
            && let SchemaType::Array(types) = &mut object.schema_type
        {
            types.retain(|kind| *kind != Type::Null);
        }
    }
}

/// Errors that every route may answer with.
const EVERYWHERE: &[Code] = &[Code::BadRequest, Code::Unauthorized, Code::Forbidden, Code::RateLimited, Code::Busy];
/// Errors of routes that ask the node.
const NODE: &[Code] = &[Code::NodeUnavailable];
/// Errors of routes with a body.
const BODY: &[Code] = &[Code::Timeout, Code::TooLarge, Code::UnsupportedMediaType];
/// Errors of routes that change the cluster.
const CHANGE: &[Code] = &[Code::NoArbiter, Code::NoMajority, Code::Disk, Code::TimedOut, Code::Rejected];

/// What a route may answer with beside [`EVERYWHERE`].
fn errors_of(operation: &str) -> Option<Vec<&'static [Code]>> {
    let errors: Vec<&'static [Code]> = match operation {
        "list-offices" => vec![&[Code::NodeUnavailable]],
        "show-office" => vec![NODE, &[Code::UnknownOffice]],
        "is-leader" | "is-leader-options" | "show-cluster" | "show-history" | "show-trace" | "metrics" | "livez" => {
            vec![NODE]
        }
        "readyz" => vec![NODE, &[Code::NoMajority, Code::Disk]],
        "watch-office" => vec![NODE, &[Code::TooMany]],
        "campaign" => {
            vec![
                BODY,
                NODE,
                &[Code::TooMany, Code::NotAnElector, Code::OtherMode, Code::Rejected, Code::UnknownSession],
            ]
        }
        "renew" => vec![BODY, NODE, &[Code::UnknownSession, Code::HeldByAnother, Code::Rejected]],
        "resign" => vec![BODY, NODE, &[Code::UnknownSession, Code::Rejected]],
        "transfer" => {
            let office = &[Code::UnknownMember, Code::NotHeld, Code::NotReady, Code::Elsewhere, Code::Paused];
            vec![BODY, NODE, CHANGE, office]
        }
        "get-state" => vec![NODE, &[Code::NoState, Code::NotAvailable, Code::NoMajority, Code::Disk]],
        "list-states" => vec![NODE, &[Code::NotAvailable, Code::NoMajority, Code::Disk]],
        "delete-state" => vec![NODE, CHANGE, &[Code::NoState, Code::StaleToken, Code::NotAvailable]],
        "put-state" => {
            let state = &[Code::StaleToken, Code::NotAvailable, Code::NoRoom, Code::Timeout, Code::TooLarge];
            vec![NODE, CHANGE, state]
        }
        "pause" => vec![BODY, NODE, CHANGE],
        "resume" => vec![NODE, CHANGE],
        "describe" => vec![],
        _ => return None,
    };
    Some(errors)
}

fn add_errors(operation: &mut Operation) {
    let errors = errors_of(operation.operation_id.as_deref().unwrap_or_default()).unwrap_or_default();
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in errors.into_iter().chain([EVERYWHERE]).flatten() {
        by_status.entry(code.status().as_u16()).or_default().push(*code);
    }
    for (status, codes) in by_status {
        let lines: Vec<String> = codes.iter().map(|code| format!("`{}`: {}", code.text(), code.meaning())).collect();
        let schema = Ref::from_schema_name("ErrorBody");
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let response = ResponseBuilder::new().description(lines.join("\n")).content("application/json", content);
        // A route that has described the status itself knows better.
        let responses = &mut operation.responses.responses;
        responses.entry(status.to_string()).or_insert_with(|| RefOr::T(response.build()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn no_parameter_is_null() {
        let document: Value = serde_json::from_str(&document()).expect("JSON");
        let operations = document["paths"].as_object().expect("paths").values().flat_map(Value::as_object).flatten();
        let parameters = operations.filter_map(|(_, operation)| operation["parameters"].as_array()).flatten();
        let types: Vec<String> = parameters.map(|parameter| parameter["schema"]["type"].to_string()).collect();
        assert!(types.len() > 10 && types.iter().all(|kind| !kind.contains("null")), "{types:?}");
    }

    #[test]
    fn every_operation_has_its_errors() {
        let document = Description::openapi();
        let operations = document.paths.paths.values().flat_map(|item| {
            [&item.get, &item.post, &item.delete, &item.put, &item.options, &item.patch, &item.head, &item.trace]
        });
        for operation in operations.flatten() {
            let id = operation.operation_id.as_deref().expect("every operation has an id");
            assert!(errors_of(id).is_some(), "{id}");
        }
    }

    #[test]
    fn every_error_is_described_somewhere() {
        let text = document();
        // These belong to no operation.
        let elsewhere = [Code::NotFound, Code::MethodNotAllowed];
        for code in Code::ALL.iter().filter(|code| !elsewhere.contains(code)) {
            assert!(text.contains(&format!("`{}`: {}", code.text(), code.meaning())), "{}", code.text());
        }
    }
}
