//! Changes of offices that are submitted to the arbiter but not applied yet.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::core::normalise::Normalise;
use crate::core::table::OfficeName;

/// The pending changes, at most one per office.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Proposals {
    by_office: BTreeMap<OfficeName, Proposal>,
    /// How many of them make a vacant office held. It is counted along, because thousands may be pending.
    filling: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Proposal {
    /// The token that the change expects.
    expected_token: u64,
    /// Whether it makes a vacant office held.
    fills: bool,
    submitted: Timestamp,
}

impl Proposals {
    pub(super) fn is_empty(&self) -> bool {
        self.by_office.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.by_office.len()
    }

    pub(super) fn contains(&self, office: &OfficeName) -> bool {
        self.by_office.contains_key(office)
    }

    /// Whether a change that expects this token is pending.
    pub(super) fn expects(&self, office: &OfficeName, token: u64) -> bool {
        self.by_office.get(office).is_some_and(|proposal| proposal.expected_token == token)
    }

    /// How many offices that are vacant now will be held.
    pub(super) fn filling(&self) -> usize {
        self.filling
    }

    pub(super) fn insert(&mut self, office: &OfficeName, expected_token: u64, fills: bool, submitted: Timestamp) {
        self.remove(office);
        self.filling += usize::from(fills);
        self.by_office.insert(office.clone(), Proposal { expected_token, fills, submitted });
    }

    /// Removes the change of an office. Returns when it was submitted.
    pub(super) fn remove(&mut self, office: &OfficeName) -> Option<Timestamp> {
        let proposal = self.by_office.remove(office)?;
        self.filling -= usize::from(proposal.fills);
        Some(proposal.submitted)
    }
}

impl Normalise for Proposals {
    fn normalise(&mut self, now: Timestamp) {
        let Proposals { by_office, filling: _ } = self;
        by_office.normalise(now);
    }
}

impl Normalise for Proposal {
    fn normalise(&mut self, now: Timestamp) {
        let Proposal { submitted, expected_token: _, fills: _ } = self;
        submitted.normalise(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_offices_that_will_be_held() {
        let (a, b) = (OfficeName::from("a"), OfficeName::from("b"));
        let mut proposals = Proposals::default();
        proposals.insert(&a, 0, true, Timestamp(5));
        proposals.insert(&b, 7, false, Timestamp(6));
        assert_eq!((proposals.filling(), proposals.expects(&b, 7), proposals.expects(&b, 8)), (1, true, false));
        proposals.insert(&a, 3, true, Timestamp(7));
        assert_eq!(proposals.filling(), 1, "a later change of the same office replaces the earlier one");
        assert_eq!(proposals.remove(&b), Some(Timestamp(6)));
        assert_eq!(proposals.remove(&a), Some(Timestamp(7)));
        assert_eq!(proposals.remove(&a), None);
        assert_eq!((proposals.filling(), proposals.is_empty()), (0, true));
    }
}
