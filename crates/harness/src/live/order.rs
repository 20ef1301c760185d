//! What can be done to members.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::HarnessError;

/// What is done to a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Its process gets SIGKILL.
    Kill,
    /// Its process gets SIGSTOP, as if its host hung.
    Freeze,
    /// It is isolated from all other members, as if its cable were pulled.
    Cut,
    /// Whatever was done to it is undone.
    Revive,
}

impl Action {
    const ALL: [(&'static str, Action); 4] =
        [("kill", Action::Kill), ("freeze", Action::Freeze), ("cut", Action::Cut), ("revive", Action::Revive)];

    /// What happened to a member, as in "after a was killed".
    pub fn participle(self) -> &'static str {
        match self {
            Action::Kill => "killed",
            Action::Freeze => "frozen",
            Action::Cut => "cut off",
            Action::Revive => "revived",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Action::ALL.iter().find(|(_, action)| action == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// To whom it is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// Whoever leads.
    Leader,
    /// The member with this name.
    Member(String),
    /// All members that were killed, frozen or cut off.
    Disturbed,
}

/// An order such as `kill leader`, `freeze b` or `revive`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// What is done.
    pub action: Action,
    /// To whom.
    pub target: Target,
}

/// A text that is not an order.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` is not a command; say kill, freeze, cut or revive and a member's name, such as `freeze b`, or `kill leader`, or \
     `revive` alone for all"
)]
pub struct ParseOrderError(String);

/// The longest text that an error repeats.
const MAX_QUOTED: usize = 40;

impl FromStr for Order {
    type Err = ParseOrderError;

    fn from_str(text: &str) -> Result<Order, ParseOrderError> {
        let shown = || {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(MAX_QUOTED).collect();
            ParseOrderError(shown.trim().to_string())
        };
        let mut words = text.split_whitespace();
        let verb = words.next().ok_or_else(shown)?;
        let (_, action) = *Action::ALL.iter().find(|(name, _)| *name == verb).ok_or_else(shown)?;
        let target = match (words.next(), action) {
            (None | Some("all"), Action::Revive) => Target::Disturbed,
            (None, _) => return Err(shown()),
            (Some("leader"), _) => Target::Leader,
            (Some(name), _) => Target::Member(name.to_string()),
        };
        if words.next().is_some() {
            return Err(shown());
        }
        Ok(Order { action, target })
    }
}

/// Why an order was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// Nobody leads.
    #[error("nobody leads at the moment")]
    NoLeader,
    /// No member has this name.
    #[error("there is no member `{name}`; the members are {known}")]
    UnknownMember {
        /// The name.
        name: String,
        /// The names of all members.
        known: String,
    },
    /// The member is not in a state in which this makes sense.
    #[error("{member} {why}")]
    Unfit {
        /// The member.
        member: String,
        /// Its state.
        why: &'static str,
    },
    /// Nothing was disturbed.
    #[error("there is nobody to revive: no member was killed, frozen or cut off")]
    NobodyToRevive,
    /// The operating system refused.
    #[error(transparent)]
    Harness(#[from] HarnessError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_a_verb_and_a_member() {
        let order = |action, target| Ok(Order { action, target });
        assert_eq!("kill leader".parse(), order(Action::Kill, Target::Leader));
        assert_eq!("  freeze   b ".parse(), order(Action::Freeze, Target::Member("b".to_string())));
        assert_eq!("cut c".parse(), order(Action::Cut, Target::Member("c".to_string())));
        assert_eq!("revive".parse(), order(Action::Revive, Target::Disturbed));
        assert_eq!("revive all".parse(), order(Action::Revive, Target::Disturbed));
        for wrong in ["", "kill", "burn a", "kill a b", "cut\u{1b}[31m c"] {
            let error = wrong.parse::<Order>().expect_err("no order").to_string();
            assert!(error.contains("such as `freeze b`") && !error.contains('\u{1b}'), "{error}");
        }
    }
}
