//! The command-line form of a new member: `a=10.0.0.1:7401,priority=3,role=witness`.

use std::str::FromStr;

use hustings_protocol::Id;

use super::error::{ConfigError, excerpt_of, invalid, nearest};
use super::values::{address, name, word};
use crate::member::{Member, Role};

/// A new member without an id. Parse it from `NAME=HOST:PORT[,priority=P][,role=R]`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MemberSpec {
    /// The member's name, a DNS label.
    pub name: String,
    /// The address that peers connect to, `host:port`.
    pub address: String,
    /// The priority; the member with the highest priority is preferred.
    pub priority: u32,
    /// The member's role.
    pub role: Role,
}

impl MemberSpec {
    /// The member with this id.
    pub(crate) fn with_id(&self, id: Id) -> Member {
        let MemberSpec { name, address, priority, role } = self.clone();
        Member { id, name, address, priority, role }
    }
}

/// Why a text is not a [`MemberSpec`].
#[derive(Debug, thiserror::Error)]
pub enum MemberSpecError {
    /// The text does not have the expected form.
    #[error("`{0}` is not a member: expected NAME=HOST:PORT[,priority=NUMBER][,role=ROLE]")]
    Syntax(String),
    /// The key before `=` is unknown.
    #[error(
        "unknown key `{key}`: expected priority or role{}",
        nearest.map(|suggestion| format!("; did you mean `{suggestion}`?")).unwrap_or_default()
    )]
    UnknownKey {
        /// The unknown key.
        key: String,
        /// A known key with a similar name.
        nearest: Option<&'static str>,
    },
    /// A key is given more than once.
    #[error("`{0}` is given more than once")]
    Duplicate(&'static str),
    /// A value is invalid.
    #[error(transparent)]
    Value(#[from] ConfigError),
}

impl FromStr for MemberSpec {
    type Err = MemberSpecError;

    fn from_str(text: &str) -> Result<Self, MemberSpecError> {
        let mut parts = text.split(',');
        let syntax_error = || MemberSpecError::Syntax(excerpt_of(text));
        let (given_name, given_address) =
            parts.next().and_then(|first| first.split_once('=')).ok_or_else(syntax_error)?;
        let (name, address) = (name("name", given_name)?, address("address", given_address)?);
        let (mut priority, mut role) = (None, None);
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(syntax_error)?;
            match key {
                "priority" => {
                    let number = value
                        .parse()
                        .map_err(|_| invalid("priority", value, format!("expected a number from 0 to {}", u32::MAX)))?;
                    set_once("priority", &mut priority, number)?;
                }
                "role" => set_once("role", &mut role, word("role", value)?)?,
                _ => {
                    let nearest = nearest(key, ["priority", "role"]);
                    return Err(MemberSpecError::UnknownKey { key: excerpt_of(key), nearest });
                }
            }
        }
        Ok(MemberSpec { name, address, priority: priority.unwrap_or_default(), role: role.unwrap_or_default() })
    }
}

fn set_once<T>(key: &'static str, place: &mut Option<T>, value: T) -> Result<(), MemberSpecError> {
    match place.replace(value) {
        Some(_) => Err(MemberSpecError::Duplicate(key)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_all_parts() {
        let full: MemberSpec = "a=[::1]:7401,role=witness,priority=3".parse().expect("a valid member");
        let expected = MemberSpec { name: "a".into(), address: "[::1]:7401".into(), priority: 3, role: Role::Witness };
        assert_eq!(full, expected);
        let short: MemberSpec = "b-1=host:1".parse().expect("a valid member");
        assert_eq!((short.priority, short.role), (0, Role::Elector));
        assert_eq!(short.with_id(Id(7)).id, Id(7));
    }

    #[test]
    fn errors_name_the_problem_and_what_is_expected() {
        let error = |text: &str| text.parse::<MemberSpec>().expect_err(text).to_string();
        assert!(error("a").starts_with("`a` is not a member: expected NAME=HOST:PORT"), "{}", error("a"));
        assert!(error("A=h:1").starts_with("`name` is `A`: a name has 1 to 63"), "{}", error("A=h:1"));
        assert!(error("a=h").starts_with("`address` is `h`: an address is HOST:PORT"), "{}", error("a=h"));
        assert!(error("a=h:1,role=elctor").starts_with("`role` is `elctor`: expected one of `elector`, `witness`"));
        assert!(error("a=h:1,priority=-1").starts_with("`priority` is `-1`: expected a number from 0 to"));
        assert!(error("a=h:1,prioriti=1").ends_with("did you mean `priority`?"));
        assert_eq!(error("a=h:1,role=elector,role=elector"), "`role` is given more than once");
        assert!(error("a=h:1,").contains("is not a member"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", tail in "(,(priority|role|x)=?\\PC{0,8}){0,3}") {
            let _ = text.parse::<MemberSpec>();
            let _ = format!("a=h:1{tail}").parse::<MemberSpec>();
        }
    }
}
