//! An election as the formulas for expected counts see it.

use core::fmt;

/// A fault-free election in which all initiators start at tick 0.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    /// The place of each position's rank in the order of all ranks: a permutation of `0..n`; the greatest wins.
    pub order: &'a [u32],
    /// The positions of the initiators, ascending.
    pub initiators: &'a [u32],
    /// The number of undirected links.
    pub links: u64,
    /// The links themselves, for formulas that need more than their number.
    pub neighbours: &'a dyn Neighbours,
    /// Who votes for whom, by place; as in [`crate::Setting::votes`].
    pub votes: &'a [(u32, u32)],
}

/// The links of a network.
pub trait Neighbours: fmt::Debug {
    /// Calls `call` with each neighbour of a position.
    fn each(&self, at: u32, call: &mut dyn FnMut(u32));
}

/// For formulas that do not use links.
impl Neighbours for () {
    fn each(&self, _: u32, _: &mut dyn FnMut(u32)) {}
}

impl<'a> Instance<'a> {
    /// An election for a formula without links and votes.
    pub const fn of(order: &'a [u32], initiators: &'a [u32]) -> Self {
        Instance { order, initiators, links: 0, neighbours: &(), votes: &[] }
    }

    /// How many nodes there are.
    pub fn size(&self) -> u64 {
        self.order.len() as u64
    }
}
