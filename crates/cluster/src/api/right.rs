//! Who may ask for what.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Request, RequestError};

/// The code of a [`RequestError`] because the client lacks a right.
pub(crate) const NOT_PERMITTED: &str = "not-permitted";

/// What a client may do, beyond reading.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// To campaign for offices, and to do what a holder does: renew, stop, record, keep state.
    Campaign,
    /// To operate the cluster: move offices that others hold, pause elections, change the membership.
    Operate,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Right::Campaign => "campaign",
            Right::Operate => "operate",
        })
    }
}

/// The rights of a client. One who has any may also read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Rights {
    /// Whether the client has [`Right::Campaign`].
    pub campaign: bool,
    /// Whether the client has [`Right::Operate`].
    pub operate: bool,
}

impl Rights {
    /// Both rights.
    pub(crate) const ALL: Rights = Rights { campaign: true, operate: true };

    /// Whether a client with these rights may do what needs this one; `None` stands for reading.
    pub(crate) fn allow(self, needed: Option<Right>) -> bool {
        match needed {
            None => self.campaign || self.operate,
            Some(Right::Campaign) => self.campaign,
            Some(Right::Operate) => self.operate,
        }
    }
}

impl Request {
    /// The right that the request needs. `None` if it only reads, for which either right is enough.
    pub fn right(&self) -> Option<Right> {
        match self {
            Request::Status
            | Request::Offices { .. }
            | Request::Leader { .. }
            | Request::Watch { .. }
            | Request::History { .. }
            | Request::Metrics
            | Request::Trace { .. }
            | Request::Settings { .. }
            | Request::Terms { .. }
            | Request::KeepAlive { .. }
            | Request::Completed { .. }
            | Request::GetState { .. }
            | Request::States { .. } => None,
            Request::Campaign { .. }
            | Request::Withdraw { .. }
            | Request::Stopped { .. }
            | Request::Complete { .. }
            | Request::PutState { .. }
            | Request::DeleteState { token: Some(_), .. } => Some(Right::Campaign),
            Request::Resign { .. }
            | Request::Transfer { .. }
            | Request::Pause
            | Request::Resume
            | Request::AddMember { .. }
            | Request::RemoveMember { .. }
            | Request::SetMember { .. }
            | Request::DeleteState { token: None, .. } => Some(Right::Operate),
        }
    }
}

impl RequestError {
    /// The client lacks a right; `None` stands for reading. `who` names those who have it, as in "root".
    pub(crate) fn not_permitted(needed: Option<Right>, who: &str) -> RequestError {
        let needed = match needed {
            None => "either of the rights `campaign` and `operate`".to_string(),
            Some(right) => format!("the right `{right}`"),
        };
        RequestError { code: NOT_PERMITTED.to_string(), message: format!("this needs {needed}, which only {who} have") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_right_suffices_to_read_and_neither_implies_the_other() {
        let campaigner = Rights { campaign: true, operate: false };
        let operator = Rights { campaign: false, operate: true };
        let office = || "job".to_string();
        let campaign = Request::Campaign { office: office(), mode: None, guard: None };
        for (rights, expected) in [
            (Rights::default(), [false, false, false]),
            (campaigner, [true, true, false]),
            (operator, [true, false, true]),
            (Rights::ALL, [true, true, true]),
        ] {
            let allowed = [&Request::Status, &campaign, &Request::Pause].map(|request| rights.allow(request.right()));
            assert_eq!(allowed, expected, "{rights:?}");
        }
    }

    #[test]
    fn a_holder_deletes_its_state_and_an_operator_any() {
        let right = |token| Request::DeleteState { office: "job".to_string(), token }.right();
        assert_eq!((right(Some(7)), right(None)), (Some(Right::Campaign), Some(Right::Operate)));
    }

    #[test]
    fn the_error_says_which_right_is_needed_and_who_has_it() {
        let error = RequestError::not_permitted(Some(Right::Operate), "root and the node's user");
        assert_eq!(error.code, "not-permitted");
        assert_eq!(error.message, "this needs the right `operate`, which only root and the node's user have");
    }
}
