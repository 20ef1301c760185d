//! The members of a clique.

use alloc::{sync::Arc, vec::Vec};

use hustings_protocol::{Id, Rank};
use serde::{Deserialize, Serialize};

/// The number of a clique: the greater is the newer one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CliqueNumber {
    /// The counter of the computation that announces its leader. After a failover the clique is formed before that.
    pub term: u32,
    /// Increases by 1 with each change of members.
    pub version: u32,
}

impl CliqueNumber {
    /// The number that a node uses in answers about a clique that it does not know.
    pub(super) const fn unknown(self) -> Self {
        CliqueNumber { version: 0, ..self }
    }
}

/// The members of a clique and what its leader knows. It never changes: another clique has another membership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub struct Membership<R: Rank> {
    /// The number of the clique.
    pub number: CliqueNumber,
    /// The leader.
    pub leader: R,
    /// The leader that it succeeds, until nodes outside the clique know of the succession.
    pub predecessor: Option<R>,
    /// The subordinates: the first live one takes over.
    pub subordinates: Vec<R>,
    /// What the leader knows, so that its successor need not gather it again.
    pub knowledge: Arc<[u8]>,
}

impl<R: Rank> Membership<R> {
    /// The members that this subordinate verifies: the leader, and the subordinates after it.
    pub(super) fn to_verify(&self, own: Id) -> Option<Vec<Id>> {
        let place = self.subordinates.iter().position(|rank| rank.id() == own)?;
        let after = self.subordinates[place + 1..].iter().map(|rank| rank.id());
        Some(core::iter::once(self.leader.id()).chain(after).collect())
    }

    /// All subordinates but this one.
    pub(super) fn other_subordinates(&self, own: Id) -> impl Iterator<Item = Id> {
        self.subordinates.iter().map(|rank| rank.id()).filter(move |id| *id != own)
    }
}
