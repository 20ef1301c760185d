//! Reads requests: the office in the path, parameters, bodies. What is wrong becomes an [`ApiError`].

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::state::Shared;

/// The largest body of a request, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The name of the office in the path.
pub(crate) struct Office(pub(crate) String);

impl FromRequestParts<Shared> for Office {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let name = path.map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))?.0;
        if is_name(&name) { Ok(Office(name)) } else { Err(not_a_name("the office", &name)) }
    }
}

/// Whether the text is a name of an office or a member.
pub(crate) fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

pub(crate) fn not_a_name(what: &str, name: &str) -> ApiError {
    let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
    let rule = "a name has 1 to 63 characters of a-z, 0-9 and -, and no - at either end";
    ApiError::new(Code::BadRequest, format!("{what} `{shown}` is not a valid name: {rule}"))
}

/// Parameters of the query.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, ApiError> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|query| Params(query.0)).map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))
    }
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.ok_or_else(|| ApiError::new(Code::Unauthorized, "the caller is not known"))
    }
}

/// A body in JSON, of at most [`MAX_BODY_BYTES`].
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Shared> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &Shared) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            let message = "the body must be JSON, with `Content-Type: application/json`";
            return Err(ApiError::new(Code::UnsupportedMediaType, message));
        }
        let bytes = read_body(request, MAX_BODY_BYTES).await?;
        parse(&bytes).map(Body).map_err(|problem| {
            let problem: String = problem.chars().take(300).collect();
            ApiError::new(Code::BadRequest, format!("the body is not what this route expects: {problem}"))
        })
    }
}

/// Parses an object. The library would also take an array with the values in the order of the fields.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let is_object = bytes.trim_ascii_start().first() == Some(&b'{');
    if is_object {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    } else {
        Err("not an object".into())
    }
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read_body(request: Request, limit: usize) -> Result<bytes::Bytes, ApiError> {
    let too_large = || ApiError::new(Code::TooLarge, format!("the body is larger than {limit} bytes, the maximum"));
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(request.into_body(), limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_limit(&error) => Err(too_large()),
        Ok(Err(_)) => Err(ApiError::new(Code::BadRequest, "the body ended early")),
        Err(_) => Err(ApiError::new(Code::Timeout, format!("the body did not arrive within {BODY_TIMEOUT:?}"))),
    }
}

fn is_limit(error: &axum::Error) -> bool {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    std::iter::from_fn(|| {
        let current = source?;
        source = current.source();
        Some(current.to_string().contains("length limit exceeded"))
    })
    .any(|is_limit| is_limit)
}
