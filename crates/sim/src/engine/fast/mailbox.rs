//! The interface between a driver and its mailboxes. A mailbox holds the messages that one range of positions sends to
//! another in one tick.
//!
//! Messages must come out by receiver, then by sender, then in sending order. Which mailbox is fastest depends on the
//! network and on the size of a message:
//!
//! - [`super::matrix_mailbox`] has a slot for every pair of nodes: for complete networks and messages of at most one
//!   byte.
//! - [`super::bucket_mailbox`] appends messages to buckets of neighbouring receivers and sorts each bucket: for
//!   everything else.

use std::ops::Range;

use hustings_protocol::Port;

use super::links::Links;

/// The directed link that a message takes.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub(super) sender: u32,
    pub(super) receiver: u32,
    /// The number of the link; see [`Links`].
    pub(super) slot: usize,
}

/// Where a message comes from.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// A link, seen from the receiver.
    Port(Port),
    /// The sender's position, if it was sent by id or by index.
    Position(u32),
}

/// A message at its receiver. The content is read separately, because messages are copied fastest as a whole.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) node: u32,
    /// The receiver's first slot, and the number of its links.
    pub(super) first: usize,
    pub(super) degree: u32,
    pub(super) origin: Origin,
}

/// The messages from one range of positions to another, to be delivered in the next tick.
pub(super) trait Mailbox<M>: Sized + Send {
    /// How far the messages of a range have been read. It is `Copy`, so that a loop can hold it in registers.
    type Reader: Copy;
    /// Reusable buffers of a range.
    type Pool: Send;

    /// An empty mailbox whose memory has been touched.
    fn new<L: Links>(links: L, from: Range<u32>, to: Range<u32>) -> Self;

    /// The initial buffers of a range, touched.
    fn pool<L: Links>(links: L, range: Range<u32>) -> Self::Pool;

    /// The number of bytes that it holds.
    fn memory(&self) -> usize;

    /// The number of bytes that a pool holds.
    fn pool_memory(pool: &Self::Pool) -> usize;

    /// The number of messages.
    fn len(&self) -> usize;

    /// Adds a message over a link.
    fn put(&mut self, pool: &mut Self::Pool, link: Link, message: M);

    /// Whether the mailbox accepts one message for a span of receivers at once. The network's ports must then be in the
    /// order of positions.
    const ACCEPTS_SPANS: bool = false;

    /// Adds the same message for a span of receivers. Called only if the mailbox accepts spans.
    fn put_span(&mut self, sender: u32, receivers: Range<u32>, message: M) {
        let _ = (sender, receivers, message);
    }

    /// Adds a message that was sent by id or by index.
    fn put_direct(&mut self, pool: &mut Self::Pool, sender: u32, receiver: u32, message: M);

    /// Prepares the mailboxes that all ranges wrote for one range for reading.
    fn open(boxes: &mut [Self]) -> Self::Reader;

    /// The next message for a position below `bound`.
    fn next<L: Links>(
        boxes: &mut [Self],
        pool: &mut Self::Pool,
        reader: &mut Self::Reader,
        links: L,
        bound: u32,
    ) -> Option<Arrival>;

    /// The content of the message that [`Mailbox::next`] returned. Called once for each.
    fn message(boxes: &mut [Self], reader: &mut Self::Reader) -> M;

    /// Empties the mailboxes after everything was read. Returns whether the order of all messages was known.
    fn close(boxes: &mut [Self]) -> bool;
}

#[cfg(test)]
mod tests {
    use super::super::bucket_mailbox::BucketMailbox;
    use super::super::matrix_mailbox::MatrixMailbox;
    use super::*;
    use crate::engine::fast::links::Complete;
    use crate::rng::{Purpose, Stream};
    use crate::topology::{Network, Topology};

    /// Receiver, sender, whether it came over a link, and the content.
    type Read = (u32, u32, bool, u32);

    /// Several ranges of senders write to one range of receivers, tick after tick, and each tick is read to its end.
    fn comes_out_in_order<B: Mailbox<u32>, L: Links>(links: L, to: Range<u32>, stream: &mut Stream) {
        let middle = links.size() / 3;
        let mut boxes = [0..middle, middle..links.size()].map(|from| B::new(links, from, to.clone()));
        let mut pool = B::pool(links, to.clone());
        for density in [0, 1, 30, 200, 3] {
            let mut plain: Vec<Read> = Vec::new();
            for sender in 0..links.size() {
                let outbox = &mut boxes[usize::from(sender >= middle)];
                let (first, degree) = (links.first(sender), (links.first(sender + 1) - links.first(sender)) as u32);
                // Sometimes send to a whole span at once.
                if B::ACCEPTS_SPANS && stream.below(4) == 0 && density > 0 {
                    let span = to.start.max(sender + 1)..to.end;
                    if !span.is_empty() {
                        plain.extend(span.clone().map(|receiver| (receiver, sender, true, 7)));
                        outbox.put_span(sender, span, 7);
                    }
                }
                for _ in 0..stream.below(1 + density) {
                    let (port, number) = (stream.below(u64::from(degree)) as u32, stream.below(1000) as u32);
                    let receiver = links.receiver(sender, first, port);
                    if to.contains(&receiver) {
                        let link = Link { sender, receiver, slot: links.slot(sender, first, port) };
                        outbox.put(&mut pool, link, number);
                        plain.push((receiver, sender, true, number));
                    }
                }
                // Send by id only to a receiver that gets nothing else from this sender: not every mailbox orders the
                // two against each other.
                let receiver = to.start + stream.below(to.len() as u64) as u32;
                if stream.below(3) == 0 && !plain.iter().any(|read| (read.0, read.1) == (receiver, sender)) {
                    outbox.put_direct(&mut pool, sender, receiver, 5);
                    plain.push((receiver, sender, false, 5));
                }
            }
            assert_eq!(boxes.iter().map(B::len).sum::<usize>(), plain.len());
            plain.sort_by_key(|&(receiver, sender, ..)| (receiver, sender)); // stable: then in the order of sending
            assert_eq!(read(&mut boxes, &mut pool, links, to.clone()), plain);
            assert!(B::close(&mut boxes), "the order of all messages is known");
            assert_eq!(boxes.iter().map(B::len).sum::<usize>(), 0);
        }
    }

    /// Reads everything, with a pause in the middle as before a node with other events.
    fn read<B: Mailbox<u32>, L: Links>(boxes: &mut [B], pool: &mut B::Pool, links: L, to: Range<u32>) -> Vec<Read> {
        let mut reader = B::open(boxes);
        let mut read = Vec::new();
        for node in [to.start + (to.end - to.start) / 2, to.end] {
            while let Some(Arrival { node, first, degree, origin }) = B::next(boxes, pool, &mut reader, links, node) {
                assert_eq!((first, degree as usize), (links.first(node), links.first(node + 1) - links.first(node)));
                let (sender, over_link) = match origin {
                    Origin::Port(port) => (links.receiver(node, first, port.0), true),
                    Origin::Position(sender) => (sender, false),
                };
                read.push((node, sender, over_link, B::message(boxes, &mut reader)));
            }
        }
        read
    }

    #[test]
    fn messages_come_out_by_receiver_then_sender_then_sending_order() {
        let mut stream = Stream::new(3, Purpose::Coins, 0);
        for size in [2, 3, 17, 64, 65, 150, 200] {
            let complete = Complete { size };
            for to in [0..size, size / 2..size] {
                comes_out_in_order::<MatrixMailbox<_>, _>(complete, to.clone(), &mut stream);
                comes_out_in_order::<BucketMailbox<_>, _>(complete, to, &mut stream);
            }
            let Ok(Network::Graph(graph)) = (Topology::Random { min: 2, max: 9 }).build(20 * size, 1) else { continue };
            for to in [0..graph.size(), graph.size() / 3..graph.size() / 2] {
                comes_out_in_order::<BucketMailbox<_>, _>(&graph, to, &mut stream);
            }
        }
    }
}
