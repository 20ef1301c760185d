//! An election as formulas see it.

use core::fmt;

/// A fault-free election whose starters all start at tick 0, as the formulas see it.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    /// The place of every position's rank in the order of all ranks: a permutation of `0..n`, greatest wins.
    pub order: &'a [u32],
    /// The positions that start, ascending.
    pub initiators: &'a [u32],
    /// How many undirected links there are.
    pub links: u64,
    /// Which those are, for formulas that go by more than their number.
    pub neighbours: &'a dyn Neighbours,
    /// Who votes for whom, by place; as in [`crate::Setting::votes`].
    pub votes: &'a [(u32, u32)],
}

/// Who is linked to whom.
pub trait Neighbours: fmt::Debug {
    /// Calls with each neighbour of a place.
    fn each(&self, at: u32, call: &mut dyn FnMut(u32));
}

/// For formulas that do not ask.
impl Neighbours for () {
    fn each(&self, _: u32, _: &mut dyn FnMut(u32)) {}
}

impl<'a> Instance<'a> {
    /// An election whose formula does not go by the links, without votes.
    pub const fn of(order: &'a [u32], initiators: &'a [u32]) -> Self {
        Instance { order, initiators, links: 0, neighbours: &(), votes: &[] }
    }

    /// How many nodes there are.
    pub fn size(&self) -> u64 {
        self.order.len() as u64
    }
}
