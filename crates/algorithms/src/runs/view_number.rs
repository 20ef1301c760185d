//! View numbers.

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

/// The number of a view: ⟨counter, owner⟩. A greater number replaces a smaller one.
///
/// A node that lost its state may reach the same counter again. To tell its two views and their messages apart, the
/// number also contains the incarnation of the owner: 0 for a node that was up from the beginning, random for one that
/// recovered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "(u64, Id, u32)", into = "(u64, Id, u32)")]
pub struct ViewNumber {
    /// Compared first.
    pub counter: u64,
    /// The node that took the number.
    pub id: Id,
    /// The incarnation of that node.
    pub incarnation: u32,
}

impl ViewNumber {
    /// The view of all members with which a run begins. No node took it.
    pub const FIRST: ViewNumber = ViewNumber { counter: 0, id: Id(0), incarnation: 0 };

    /// The node that took the number; `None` for the first.
    pub(crate) fn taken_by(self) -> Option<Id> {
        (self.counter > 0).then_some(self.id)
    }
}

impl From<(u64, Id, u32)> for ViewNumber {
    fn from((counter, id, incarnation): (u64, Id, u32)) -> Self {
        ViewNumber { counter, id, incarnation }
    }
}

impl From<ViewNumber> for (u64, Id, u32) {
    fn from(number: ViewNumber) -> Self {
        (number.counter, number.id, number.incarnation)
    }
}
