//! A member to be, as it is typed: `a=10.0.0.1:7401,priority=3,role=witness`.

use std::str::FromStr;

use hustings_protocol::Id;

use super::error::{ConfigError, nearest, shown, wrong};
use super::values::{address, name, word};
use crate::member::{Member, Role};

/// A member that has no number yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Newcomer {
    /// What people will call it: a DNS label.
    pub name: String,
    /// Where it will listen: host and port.
    pub address: String,
    /// Compared first when it is asked who is better.
    pub priority: u32,
    /// What it may do.
    pub role: Role,
}

impl Newcomer {
    /// It, with its number.
    pub fn with_id(&self, id: Id) -> Member {
        let Newcomer { name, address, priority, role } = self.clone();
        Member { id, name, address, priority, role }
    }
}

/// A text that is no newcomer.
#[derive(Debug, thiserror::Error)]
pub enum NewcomerError {
    /// Not of the form.
    #[error("`{0}` is no member: allowed is NAME=HOST:PORT, then ,priority=NUMBER and ,role=ROLE as needed")]
    Form(String),
    /// A word before `=` that is not known.
    #[error(
        "`{key}` is nothing that a member has: allowed are priority and role{}",
        nearest.map(|meant| format!("; the nearest is `{meant}`")).unwrap_or_default()
    )]
    Key {
        /// What was typed.
        key: String,
        /// What was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// Something is said twice.
    #[error("`{0}` is said twice")]
    Twice(&'static str),
    /// A value that is not allowed.
    #[error(transparent)]
    Value(#[from] ConfigError),
}

impl FromStr for Newcomer {
    type Err = NewcomerError;

    fn from_str(text: &str) -> Result<Self, NewcomerError> {
        let mut parts = text.split(',');
        let form = || NewcomerError::Form(shown(text));
        let (called, at) = parts.next().and_then(|first| first.split_once('=')).ok_or_else(form)?;
        let (called, at) = (name("name", called)?, address("address", at)?);
        let (mut priority, mut role) = (None, None);
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(form)?;
            match key {
                "priority" => {
                    let number = value
                        .parse()
                        .map_err(|_| wrong("priority", value, format!("allowed are 0 to {}", u32::MAX)))?;
                    once("priority", &mut priority, number)?;
                }
                "role" => once("role", &mut role, word("role", value)?)?,
                _ => {
                    let nearest = nearest(key, ["priority", "role"]);
                    return Err(NewcomerError::Key { key: shown(key), nearest });
                }
            }
        }
        Ok(Newcomer {
            name: called,
            address: at,
            priority: priority.unwrap_or_default(),
            role: role.unwrap_or_default(),
        })
    }
}

fn once<T>(key: &'static str, place: &mut Option<T>, value: T) -> Result<(), NewcomerError> {
    match place.replace(value) {
        Some(_) => Err(NewcomerError::Twice(key)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_typed_is_understood() {
        let full: Newcomer = "a=[::1]:7401,role=witness,priority=3".parse().expect("a good one");
        let expected = Newcomer { name: "a".into(), address: "[::1]:7401".into(), priority: 3, role: Role::Witness };
        assert_eq!(full, expected);
        let short: Newcomer = "b-1=host:1".parse().expect("a good one");
        assert_eq!((short.priority, short.role), (0, Role::Elector));
        assert_eq!(short.with_id(Id(7)).id, Id(7));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = |text: &str| text.parse::<Newcomer>().expect_err(text).to_string();
        assert!(told("a").starts_with("`a` is no member: allowed is NAME=HOST:PORT"), "{}", told("a"));
        assert!(told("A=h:1").starts_with("`name` is `A`: allowed are 1 to 63"), "{}", told("A=h:1"));
        assert!(told("a=h").starts_with("`address` is `h`: allowed is HOST:PORT"), "{}", told("a=h"));
        assert!(told("a=h:1,role=elctor").starts_with("`role` is `elctor`: allowed is one of `elector`, `witness`"));
        assert!(told("a=h:1,priority=-1").starts_with("`priority` is `-1`: allowed are 0 to"));
        assert!(told("a=h:1,prioriti=1").ends_with("the nearest is `priority`"));
        assert_eq!(told("a=h:1,role=elector,role=elector"), "`role` is said twice");
        assert!(told("a=h:1,").contains("is no member"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", tail in "(,(priority|role|x)=?\\PC{0,8}){0,3}") {
            let _ = text.parse::<Newcomer>();
            let _ = format!("a=h:1{tail}").parse::<Newcomer>();
        }
    }
}
