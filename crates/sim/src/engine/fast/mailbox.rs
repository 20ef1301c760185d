//! What a driver asks of a mailbox: next tick's mail from one range of positions to one range of positions.
//!
//! Mail must come out by receiver, then by sender, then in the order of sending. There are several ways to see to that,
//! and which one is fastest depends on the network and on the size of a message:
//!
//! - [`super::board`]: a bit for every link; for graphs, and messages of a byte or less;
//! - [`super::sheet`]: a bit for every pair of nodes; for complete networks, and messages of a byte or less;
//! - [`super::bins`]: mail is thrown into bins of neighbouring receivers and sorted there; for everything else.

use std::ops::Range;

use hustings_protocol::Port;

use super::links::Links;

/// The link that a message takes.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) sender: u32,
    pub(super) receiver: u32,
    /// Its number among all links: see [`Links`].
    pub(super) slot: usize,
}

/// How a message came.
#[derive(Clone, Copy)]
pub(super) enum Came {
    /// Over a link.
    Through(Port),
    /// From this position, by id or by the map.
    From(u32),
}

/// A message at its receiver.
pub(super) struct Arrival<M> {
    pub(super) node: u32,
    /// The receiver's first slot and its number of links.
    pub(super) first: usize,
    pub(super) degree: u32,
    pub(super) came: Came,
    pub(super) message: M,
}

/// Positions below `node`, whose slots are below `slot`.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub(super) node: u32,
    pub(super) slot: usize,
}

/// Next tick's mail from one range of positions to one range of positions.
pub(super) trait Mailbox<M>: Sized + Send {
    /// How far a range's mail was read. It is copied, so that a loop can hold it in registers.
    type Reader: Copy;
    /// What a range keeps to write on.
    type Pool: Send;

    /// An empty one, its memory touched.
    fn new<L: Links>(links: &L, from: Range<u32>, to: Range<u32>) -> Self;

    /// What there is to write on at the beginning, touched.
    fn pool<L: Links>(links: &L, range: Range<u32>) -> Self::Pool;

    /// How many bytes it holds.
    fn memory(&self) -> usize;

    /// How many messages are in it.
    fn len(&self) -> usize;

    /// Mail over a link.
    fn put(&mut self, pool: &mut Self::Pool, way: Way, message: M);

    /// Mail by id, or by the map.
    fn put_direct(&mut self, pool: &mut Self::Pool, sender: u32, receiver: u32, message: M);

    /// Gets the mail that all ranges wrote for one range ready to be read.
    fn open<L: Links>(boxes: &mut [Self], links: &L, to: Range<u32>) -> Self::Reader;

    /// The next message for a position below the bound.
    fn next<L: Links>(
        boxes: &mut [Self],
        pool: &mut Self::Pool,
        reader: &mut Self::Reader,
        links: &L,
        bound: Bound,
    ) -> Option<Arrival<M>>;

    /// Everything was read: they are empty again. Says whether all of it came out in order.
    fn close(boxes: &mut [Self]) -> bool;
}
