//! Errors: one JSON shape, with codes that stay.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hustings_cluster::api::RequestError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::json;

macro_rules! codes {
    ($($name:ident, $text:literal, $status:ident, $meaning:literal;)*) => {
        /// What went wrong, for programs. The texts are part of the API.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Code {
            $(#[doc = $meaning] $name,)*
        }

        impl Code {
            /// Every code.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Code] = &[$(Code::$name),*];

            /// The code as clients see it.
            pub(crate) fn text(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// The status that the code comes with.
            pub(crate) fn status(self) -> StatusCode {
                match self { $(Code::$name => StatusCode::$status,)* }
            }

            /// A sentence for the documentation.
            pub(crate) fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning,)* }
            }

            /// The code of a node's reply.
            fn of_node(text: &str) -> Code {
                match text { $($text => Code::$name,)* _ => Code::Rejected }
            }
        }
    };
}

codes! {
    BadRequest, "bad-request", BAD_REQUEST, "The request is malformed: its JSON, a parameter or a name.";
    Unauthorized, "unauthorized", UNAUTHORIZED, "There is no bearer token, or it is not known.";
    Forbidden, "forbidden", FORBIDDEN, "The caller lacks the right that the request needs.";
    NotFound, "not-found", NOT_FOUND, "There is no such route.";
    UnknownOffice, "unknown-office", NOT_FOUND, "The office was never held.";
    UnknownMember, "unknown-member", NOT_FOUND, "There is no such member.";
    UnknownSession, "unknown-session", NOT_FOUND, "The session has ended, or never was: campaign again.";
    NoState, "no-state", NOT_FOUND, "No holder of the office has stored a state.";
    MethodNotAllowed, "method-not-allowed", METHOD_NOT_ALLOWED, "The route exists, but not with this method.";
    Timeout, "timeout", REQUEST_TIMEOUT, "The body of the request did not arrive in time.";
    NotHeld, "not-held", CONFLICT, "Nobody holds the office.";
    HeldByAnother, "held-by-another", CONFLICT, "Another program holds the office.";
    StaleToken, "stale-token", CONFLICT, "The office is not held with this token any more; nothing has changed.";
    NotReady, "not-ready", CONFLICT, "The member is down, unhealthy, or not a candidate for the office.";
    Elsewhere, "elsewhere", CONFLICT, "The office went to another member in the meantime.";
    Paused, "paused", CONFLICT, "Elections are paused.";
    NoArbiter, "no-arbiter", CONFLICT, "The cluster has no arbiter, which the request needs.";
    NotAvailable, "not-available", CONFLICT, "The arbiter of this cluster keeps no states.";
    NotAnElector, "not-an-elector", CONFLICT, "This node never holds an office.";
    OtherMode, "other-mode", CONFLICT, "The office has another mode than the one asked for.";
    Rejected, "rejected", CONFLICT, "The node rejected the request for another reason; the message names it.";
    TooLarge, "too-large", PAYLOAD_TOO_LARGE, "The body of the request is too large.";
    UnsupportedMediaType, "unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, "The body is not application/json.";
    RateLimited, "rate-limited", TOO_MANY_REQUESTS, "Too many requests per second; Retry-After says when to try again.";
    TooMany, "too-many", TOO_MANY_REQUESTS, "Too many sessions or watchers, or too many campaigns on this host.";
    Busy, "busy", SERVICE_UNAVAILABLE, "Too much is in progress; try again.";
    NoMajority, "no-majority", SERVICE_UNAVAILABLE, "This node reaches no majority of the voters.";
    Disk, "disk", SERVICE_UNAVAILABLE, "This node's disk does not take writes.";
    NodeUnavailable, "node-unavailable", SERVICE_UNAVAILABLE, "The node does not answer, or has not caught up yet.";
    TimedOut, "timed-out", GATEWAY_TIMEOUT, "The cluster did not answer in time; the request may still take effect.";
    NoRoom, "no-room", INSUFFICIENT_STORAGE, "The states of all offices together are too large.";
}

/// An error, as it is sent.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) code: Code,
    pub(crate) message: String,
}

/// The body of every error.
#[derive(Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: ErrorDetail,
}

#[derive(Serialize, ToSchema)]
struct ErrorDetail {
    /// For programs; the codes are part of the API.
    code: &'static str,
    /// For people.
    message: String,
}

impl ApiError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> ApiError {
        ApiError { code, message: message.into() }
    }

    /// The node cannot be asked.
    pub(crate) fn unavailable(problem: impl std::fmt::Display) -> ApiError {
        ApiError::new(Code::NodeUnavailable, format!("the node does not answer: {problem}"))
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        json::encode(&ErrorBody { error: ErrorDetail { code: self.code.text(), message: self.message.clone() } })
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> ApiError {
        ApiError { code: Code::of_node(&error.code), message: error.message }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json::response(self.code.status(), self.body());
        let headers = response.headers_mut();
        match self.code {
            Code::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"hustings\""));
            }
            Code::RateLimited => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

/// What handlers return.
pub(crate) type ApiResult = Result<Response, ApiError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_each_is_in_the_manual() {
        let manual = include_str!("../../../docs/api.md");
        for (index, code) in Code::ALL.iter().enumerate() {
            assert!(Code::ALL[..index].iter().all(|other| other.text() != code.text()), "{}", code.text());
            assert_eq!(Code::of_node(code.text()), *code);
            let row = format!("| `{}` | {} | {} |", code.text(), code.status().as_u16(), code.meaning());
            assert!(manual.contains(&row), "docs/api.md lacks the row:\n{row}");
        }
    }

    #[test]
    fn an_unknown_code_of_the_node_is_a_conflict_with_the_node_s_message() {
        let error = RequestError { code: "last-voter".to_string(), message: "`a` is the only voter".to_string() };
        let error = ApiError::from(error);
        assert_eq!((error.code, error.message.as_str()), (Code::Rejected, "`a` is the only voter"));
        let text = String::from_utf8(error.body()).expect("JSON is text");
        assert_eq!(text, "{\"error\":{\"code\":\"rejected\",\"message\":\"`a` is the only voter\"}}");
    }
}
