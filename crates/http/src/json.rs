//! JSON in and out.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::{Deserialize, Deserializer, Serialize, de};

/// The header with the token of the office that a response is about.
pub(crate) const TOKEN_HEADER: HeaderName = HeaderName::from_static("hustings-token");

/// The header with the session that speaks for the holder of an office.
pub(crate) const SESSION_HEADER: HeaderName = HeaderName::from_static("hustings-session");

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

/// Reads a number without a fraction. To JSON, and to JSON schemas, `1.0` is such a number, and some programs write it.
pub(crate) fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    /// Up to here every whole number has a representation of its own.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let is_whole = |value: &f64| value.fract() == 0.0 && (0.0..=MAX_EXACT).contains(value);
    let whole = number.as_u64().or_else(|| number.as_f64().filter(is_whole).map(|value| value as u64));
    let expected = "a whole number that is not negative";
    whole.map(Some).ok_or_else(|| de::Error::custom(format_args!("{number} is not {expected}")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn whole_numbers_may_be_written_with_a_fraction_of_zero() {
        let read = |text: &str| super::whole_number(&mut serde_json::Deserializer::from_str(text)).ok();
        assert_eq!(
            (read("7"), read("7.0"), read("7e2"), read("null")),
            (Some(Some(7)), Some(Some(7)), Some(Some(700)), Some(None))
        );
        for wrong in ["-1", "1.5", "1e300", "\"7\"", "true", "-1.0"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
