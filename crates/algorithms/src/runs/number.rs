//! The numbers of views.

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

/// The number of a view: ⟨counter, who took it⟩. A greater one takes the place of a smaller.
///
/// A node that has lost its memory may count to the same counter again. So that its two views are not taken for one,
/// and mail of the old one for mail of the new one, the number also has a coin of that life of the node: 0 for one that
/// was there from the beginning, drawn by one that came up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "(u64, Id, u32)", into = "(u64, Id, u32)")]
pub struct Number {
    /// Compared first.
    pub counter: u64,
    /// Who took the number.
    pub id: Id,
    /// In which of its lives.
    pub life: u32,
}

impl Number {
    /// The view of all members with which everything begins. Nobody took it.
    pub const FIRST: Number = Number { counter: 0, id: Id(0), life: 0 };

    /// Who took it; nobody took the first.
    pub fn taken_by(self) -> Option<Id> {
        (self.counter > 0).then_some(self.id)
    }
}

impl From<(u64, Id, u32)> for Number {
    fn from((counter, id, life): (u64, Id, u32)) -> Self {
        Number { counter, id, life }
    }
}

impl From<Number> for (u64, Id, u32) {
    fn from(number: Number) -> Self {
        (number.counter, number.id, number.life)
    }
}
