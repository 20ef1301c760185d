//! What a driver asks of a mailbox: next tick's mail from one range of positions to one range of positions.
//!
//! Mail must come out by receiver, then by sender, then in the order of sending. There are several links_of to see to that,
//! and which one is fastest depends on the network and on the size of a message:
//!
//! - [`super::matrix_mailbox`]: a bit for every pair of nodes; for complete networks, and messages of a byte or less;
//! - [`super::bucket_mailbox`]: mail is thrown into buckets of neighbouring receivers and sorted there; for everything else.

use std::ops::Range;

use hustings_protocol::Port;

use super::links::Links;

/// The link that a message takes.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub(super) sender: u32,
    pub(super) receiver: u32,
    /// Its number among all links: see [`Links`].
    pub(super) slot: usize,
}

/// How a message origin.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// Over a link.
    Port(Port),
    /// From this position, by id or by the map.
    Position(u32),
}

/// A message at its receiver; what it says is asked for by itself, because messages are best copied as a whole.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) node: u32,
    /// The receiver's first slot and its number of links.
    pub(super) first: usize,
    pub(super) degree: u32,
    pub(super) origin: Origin,
}

/// Next tick's mail from one range of positions to one range of positions.
pub(super) trait Mailbox<M>: Sized + Send {
    /// How far a range's mail was read. It is copied, so that a loop can hold it in registers.
    type Reader: Copy;
    /// What a range keeps to write on.
    type Pool: Send;

    /// An empty one, its memory touched.
    fn new<L: Links>(links: L, from: Range<u32>, to: Range<u32>) -> Self;

    /// What there is to write on at the beginning, touched.
    fn pool<L: Links>(links: L, range: Range<u32>) -> Self::Pool;

    /// How many bytes it holds.
    fn memory(&self) -> usize;

    /// How many bytes there are to write on.
    fn pool_memory(pool: &Self::Pool) -> usize;

    /// How many messages are in it.
    fn len(&self) -> usize;

    /// Mail over a link.
    fn put(&mut self, pool: &mut Self::Pool, link: Link, message: M);

    /// Whether it takes the same message to several receivers at once, and the network's ports lead there in order.
    const ACCEPTS_SPANS: bool = false;

    /// The same message to several receivers side by side; only where it takes them.
    fn put_span(&mut self, sender: u32, receivers: Range<u32>, message: M) {
        let _ = (sender, receivers, message);
    }

    /// Mail by id, or by the map.
    fn put_direct(&mut self, pool: &mut Self::Pool, sender: u32, receiver: u32, message: M);

    /// Gets the mail that all ranges wrote for one range ready to be read.
    fn open(boxes: &mut [Self]) -> Self::Reader;

    /// The next message for a position below the bound.
    fn next<L: Links>(
        boxes: &mut [Self],
        pool: &mut Self::Pool,
        reader: &mut Self::Reader,
        links: L,
        bound: u32,
    ) -> Option<Arrival>;

    /// What the message says that [`Mailbox::next`] gave; asked once.
    fn message(boxes: &mut [Self], reader: &mut Self::Reader) -> M;

    /// Everything was read: they are empty again. Says whether all of it origin out in order.
    fn close(boxes: &mut [Self]) -> bool;
}

#[cfg(test)]
mod tests {
    use super::super::bucket_mailbox::BucketMailbox;
    use super::super::matrix_mailbox::MatrixMailbox;
    use super::*;
    use crate::rng::{Purpose, Stream};
    use crate::topology::{Complete, Network, Topology};

    /// Receiver, sender, whether it origin over a link, and what it says.
    type Read = (u32, u32, bool, u32);

    /// Several ranges of senders write to one range of receivers; tick after tick, each read to the end.
    fn comes_out_in_order<B: Mailbox<u32>, L: Links>(links: L, to: Range<u32>, stream: &mut Stream) {
        let middle = links.size() / 3;
        let mut boxes = [0..middle, middle..links.size()].map(|from| B::new(links, from, to.clone()));
        let mut pool = B::pool(links, to.clone());
        for density in [0, 1, 30, 200, 3] {
            let mut plain: Vec<Read> = Vec::new();
            for sender in 0..links.size() {
                let outbox = &mut boxes[usize::from(sender >= middle)];
                let (first, degree) = (links.first(sender), (links.first(sender + 1) - links.first(sender)) as u32);
                // Sometimes all at once, which a matrix takes as a span.
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
                // By id, to one whom it sends nothing else: only so is the order told by all kinds.
                let receiver = to.start + stream.below(to.len() as u64) as u32;
                if stream.below(3) == 0 && !plain.iter().any(|read| (read.0, read.1) == (receiver, sender)) {
                    outbox.put_direct(&mut pool, sender, receiver, 5);
                    plain.push((receiver, sender, false, 5));
                }
            }
            assert_eq!(boxes.iter().map(B::len).sum::<usize>(), plain.len());
            plain.sort_by_key(|&(receiver, sender, ..)| (receiver, sender)); // stable: then in the order of sending
            assert_eq!(read(&mut boxes, &mut pool, links, to.clone()), plain);
            assert!(B::close(&mut boxes), "all of it origin out in order");
            assert_eq!(boxes.iter().map(B::len).sum::<usize>(), 0);
        }
    }

    /// Reads everything, with a stop on the link as before a node with something special.
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
    fn mail_comes_out_by_receiver_then_sender_then_in_the_order_of_sending() {
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
