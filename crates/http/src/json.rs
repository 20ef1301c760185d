//! JSON in and out.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

/// The header with the token of the office that a response is about.
pub(crate) const TOKEN_HEADER: HeaderName = HeaderName::from_static("hustings-token");

pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("responses are plain data")
}

/// A response with a body that is JSON already.
pub(crate) fn response(status: StatusCode, mut body: Vec<u8>) -> Response {
    // For people, whose prompt would otherwise stand behind it.
    body.push(b'\n');
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // What an office's holder is changes at any time.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// 200 with a value.
pub(crate) fn ok(value: &impl Serialize) -> Response {
    response(StatusCode::OK, encode(value))
}

/// Adds the token of an office; 0 is no token.
pub(crate) fn with_token(mut response: Response, token: u64) -> Response {
    if token > 0 {
        response.headers_mut().insert(TOKEN_HEADER, HeaderValue::from(token));
    }
    response
}
