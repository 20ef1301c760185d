//! Why offices change hands.

use serde::{Deserialize, Serialize};

/// Why an office changed hands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeReason {
    /// The office was vacant.
    #[default]
    Vacant,
    /// The connection to the holder closed.
    Disconnected,
    /// The holder sent nothing for longer than the failure detector allows.
    Silent,
    /// The holder's lease expired.
    Expired,
    /// The holder resigned.
    Resigned,
    /// The holder shut down gracefully.
    Left,
    /// A higher-ranked member took the office over.
    Preempted,
    /// An operator transferred the office.
    Transferred,
    /// The holder's health fell below the threshold.
    Unhealthy,
    /// The holder was removed from the cluster.
    Removed,
    /// The member was elected by its part of the cluster; there is no arbiter.
    Elected,
    /// The office does not have the mode that the program asked for.
    ModeMismatch,
}

impl ChangeReason {
    /// All reasons, in order.
    pub(crate) const ALL: [ChangeReason; 12] = [
        ChangeReason::Vacant,
        ChangeReason::Disconnected,
        ChangeReason::Silent,
        ChangeReason::Expired,
        ChangeReason::Resigned,
        ChangeReason::Left,
        ChangeReason::Preempted,
        ChangeReason::Transferred,
        ChangeReason::Unhealthy,
        ChangeReason::Removed,
        ChangeReason::Elected,
        ChangeReason::ModeMismatch,
    ];

    /// The name of the reason, as in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ChangeReason::Vacant => "vacant",
            ChangeReason::Disconnected => "disconnected",
            ChangeReason::Silent => "silent",
            ChangeReason::Expired => "expired",
            ChangeReason::Resigned => "resigned",
            ChangeReason::Left => "left",
            ChangeReason::Preempted => "preempted",
            ChangeReason::Transferred => "transferred",
            ChangeReason::Unhealthy => "unhealthy",
            ChangeReason::Removed => "removed",
            ChangeReason::Elected => "elected",
            ChangeReason::ModeMismatch => "mode-mismatch",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_position_and_the_name_that_json_has() {
        for (place, reason) in ChangeReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
            assert_eq!(serde_json::json!(reason), reason.name());
        }
    }
}
