//! Who belongs to a clique: its [`Roll`].

use alloc::{sync::Arc, vec::Vec};

use hustings_protocol::{Id, Rank};
use serde::{Deserialize, Serialize};

/// Which clique is meant: of two, the greater number is the newer one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Number {
    /// The counter of the computation that makes its leader known. After a failover the clique is there first.
    pub term: u32,
    /// Grows by 1 whenever a member changes.
    pub version: u32,
}

impl Number {
    /// How one who does not know this clique calls it when it is asked.
    pub(super) const fn unknown(self) -> Self {
        Number { version: 0, ..self }
    }
}

/// Who belongs to a clique, and what its leader knows. It never changes: another clique has another roll.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub struct Roll<R: Rank> {
    /// Which one it is.
    pub number: Number,
    /// Who leads.
    pub leader: R,
    /// Whom it takes over from, while nobody outside the clique knows that it leads.
    pub predecessor: Option<R>,
    /// Who stands by: the first live one takes over.
    pub subordinates: Vec<R>,
    /// What the leader knows and its successor must not have to gather again.
    pub knowledge: Arc<[u8]>,
}

impl<R: Rank> Roll<R> {
    /// The members whose pairs with this subordinate are its to verify: the leader, and the subordinates after it.
    pub(super) fn to_verify(&self, own: Id) -> Option<Vec<Id>> {
        let place = self.subordinates.iter().position(|rank| rank.id() == own)?;
        let after = self.subordinates[place + 1..].iter().map(|rank| rank.id());
        Some(core::iter::once(self.leader.id()).chain(after).collect())
    }

    /// All subordinates but this one.
    pub(super) fn fellows(&self, own: Id) -> impl Iterator<Item = Id> {
        self.subordinates.iter().map(|rank| rank.id()).filter(move |id| *id != own)
    }
}
