//! All algorithms. A file and a line here are all that a new one needs: commands, docs and tests take the rest from its
//! description.

use crate::{About, Algorithm, Parameter, Params};
use hustings_protocol::{Id, Message, Protocol};

/// Does something with an algorithm that is known by name only: the bridge from a name to compiled code for it.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Called with the algorithm as a type.
    fn visit<A: Algorithm>(self) -> Self::Output;
}

/// A line of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The description.
    pub about: About,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Its kinds of messages.
    pub kinds: &'static [&'static str],
}

impl Entry {
    /// The line of an algorithm, which need not be one of this crate.
    pub const fn of<A: Algorithm>() -> Self {
        Entry {
            about: A::ABOUT,
            parameters: <A::Params as Params>::DESCRIPTIONS,
            kinds: <<A::Protocol<Id> as Protocol>::Message as Message>::KINDS,
        }
    }
}

/// A name or alias that two algorithms share, so that the second one cannot be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot add the algorithm `{new}`: `{name}` already means `{known}`")]
pub struct NameTaken {
    /// What both are called.
    pub name: &'static str,
    /// The algorithm that was to be added.
    pub new: &'static str,
    /// The algorithm that has this name or alias.
    pub known: &'static str,
}

/// Fails if the new algorithm has a name or alias that one of the known ones has.
pub fn check_names<'a>(new: &About, known: impl IntoIterator<Item = &'a About>) -> Result<(), NameTaken> {
    for about in known {
        if let Some(name) = new.names().find(|name| about.is_called(name)) {
            return Err(NameTaken { name, new: new.name, known: about.name });
        }
    }
    Ok(())
}

macro_rules! catalogue {
    ($($algorithm:path),+ $(,)?) => {
        /// The whole catalogue, in the order of the lists.
        pub const ENTRIES: &[Entry] = &[$( Entry::of::<$algorithm>() ),+];

        /// Calls the visitor with the algorithm of this name or alias; `None` if there is none.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $( if <$algorithm>::ABOUT.is_called(name) { return Some(visitor.visit::<$algorithm>()); } )+
            None
        }
    };
}

catalogue![
    crate::ring::ChangRoberts,
    crate::ring::LeLann,
    crate::ring::Franklin,
    crate::ring::DolevKlaweRodeh,
    crate::ring::Peterson,
    crate::ring::HirschbergSinclair,
    crate::ring::TokenRing,
    crate::hierarchy::Sun,
    crate::hierarchy::Divided,
    crate::hierarchy::SunDivided,
    crate::complete::Bully,
    crate::complete::ImprovedBully,
    crate::complete::Campaigner,
    crate::complete::Invitation,
    crate::graph::Tree,
    crate::graph::EchoExtinction,
    crate::graph::Aefa,
    crate::graph::TwoTier,
    crate::graph::Preference,
    crate::anonymous::ItaiRodeh,
    crate::anonymous::AnonymousEcho,
    crate::anonymous::RingSize,
];

/// The line of this name or alias.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.about.is_called(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn no_name_is_used_twice_and_every_name_finds_its_line() {
        let mut seen = BTreeSet::new();
        for entry in ENTRIES {
            for name in entry.about.names() {
                assert!(seen.insert(name), "{name} is used twice");
                assert_eq!(find(name).map(|found| found.about.name), Some(entry.about.name));
            }
        }
        assert!(find("nobody").is_none());
    }

    #[test]
    fn a_taken_name_or_alias_is_refused() {
        let known = || ENTRIES.iter().map(|entry| &entry.about);
        let own = About { name: "own", aliases: &["mine"], ..About::on(crate::NetworkKind::Ring) };
        assert_eq!(check_names(&own, known()), Ok(()));
        let taken = About { aliases: &["mine", "hs"], ..own };
        let error = check_names(&taken, known()).unwrap_err();
        assert_eq!(error, NameTaken { name: "hs", new: "own", known: "hirschberg-sinclair" });
        assert_eq!(
            alloc::string::ToString::to_string(&error),
            "cannot add the algorithm `own`: `hs` already means `hirschberg-sinclair`"
        );
    }

    #[test]
    fn every_line_is_filled_in() {
        for Entry { about, kinds, .. } in ENTRIES {
            let name = about.name;
            assert!(!name.is_empty() && !about.summary.is_empty() && !about.costs.is_empty(), "{name}");
            let source = about.source;
            assert!(!source.authors.is_empty() && !source.title.is_empty() && !source.text.is_empty(), "{name}");
            assert!(!kinds.is_empty(), "{name}");
        }
    }
}
