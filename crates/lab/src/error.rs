//! What can go wrong with a request, as the page shows it.

use serde::Serialize;

/// A request that cannot be served. In JSON: `{"error":{"code":…,"message":…}}`, with the field of the form that is
/// wrong and a value that would fit, where there are such.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct LabError {
    /// A short name of the kind of error.
    pub code: &'static str,
    /// What is wrong and what is allowed.
    pub message: String,
    /// The key of the request that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// A value that would fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

impl LabError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        LabError { code, message: message.into(), field: None, nearest: None }
    }

    /// The request is wrong.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        LabError::new("bad-request", message)
    }

    /// This key of the request is wrong.
    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        LabError { field: Some(field.to_string()), ..LabError::bad(message) }
    }

    pub(crate) fn with_nearest(self, nearest: Option<String>) -> Self {
        LabError { nearest, ..self }
    }
}
