//! All algorithms. A line here is all that a new one needs.

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

const fn entry<A: Algorithm>() -> Entry {
    Entry {
        about: A::ABOUT,
        parameters: <A::Params as Params>::DESCRIPTIONS,
        kinds: <<A::Protocol<Id> as Protocol>::Message as Message>::KINDS,
    }
}

macro_rules! catalogue {
    ($($algorithm:path),+ $(,)?) => {
        /// The whole catalogue, in the order of the lists.
        pub const ENTRIES: &[Entry] = &[$( entry::<$algorithm>() ),+];

        /// Calls the visitor with the algorithm of this name or alias; `None` if there is none.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $( if is_called::<$algorithm>(name) { return Some(visitor.visit::<$algorithm>()); } )+
            None
        }
    };
}

fn is_called<A: Algorithm>(name: &str) -> bool {
    A::ABOUT.name == name || A::ABOUT.aliases.contains(&name)
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
    ENTRIES.iter().find(|entry| entry.about.name == name || entry.about.aliases.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn no_name_is_used_twice_and_every_name_finds_its_line() {
        let mut seen = BTreeSet::new();
        for entry in ENTRIES {
            for name in core::iter::once(&entry.about.name).chain(entry.about.aliases) {
                assert!(seen.insert(*name), "{name} is used twice");
                assert_eq!(find(name).map(|found| found.about.name), Some(entry.about.name));
            }
        }
        assert!(find("nobody").is_none());
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
