//! What a node on a ring has sent to its neighbours and may have to send again.
//!
//! At the first `unreachable` a node removes its neighbour and sends to the next one *everything* that it sent to that
//! neighbour from the lost message on. This includes messages that are still in flight, and those that arrived because
//! the neighbour recovered. So a message is kept until its own fate and that of all earlier messages of its sender are
//! known.

use std::collections::VecDeque;

use hustings_protocol::Port;

/// The number of a kept message among those of its sender.
pub(crate) type SequenceNumber = u64;

/// The message was not kept.
pub(crate) const NO_SEQUENCE_NUMBER: SequenceNumber = u64::MAX;

/// The kept messages of all nodes.
#[derive(Debug)]
pub(crate) struct RetransmitBuffer<M> {
    /// By node. Empty if no node can be down.
    nodes: Vec<Sent<M>>,
}

/// What one node sent on both sides, in sending order.
#[derive(Debug)]
struct Sent<M> {
    /// The sequence number of the first message that is kept.
    first: SequenceNumber,
    kept: VecDeque<Kept<M>>,
}

#[derive(Debug)]
struct Kept<M> {
    port: Port,
    to: u32,
    message: M,
    acknowledged: bool,
    resent: bool,
}

impl<M> Sent<M> {
    const fn new() -> Self {
        Sent { first: 0, kept: VecDeque::new() }
    }

    /// The index of a message, if it is kept.
    fn index(&self, sequence_number: SequenceNumber) -> Option<usize> {
        usize::try_from(sequence_number.checked_sub(self.first)?).ok()
    }

    fn drop_acknowledged(&mut self) {
        while self.kept.front().is_some_and(|kept| kept.acknowledged) {
            self.kept.pop_front();
            self.first += 1;
        }
    }
}

impl<M: Clone> RetransmitBuffer<M> {
    /// Keeps nothing: for networks that are not rings, and for runs in which no node goes down.
    pub(crate) fn off() -> Self {
        RetransmitBuffer { nodes: Vec::new() }
    }

    /// Keeps what `size` nodes on a ring send.
    pub(crate) fn on(size: u32) -> Self {
        RetransmitBuffer { nodes: (0..size).map(|_| Sent::new()).collect() }
    }

    /// Keeps a message that was sent.
    #[inline]
    pub(crate) fn keep(&mut self, at: u32, port: Port, to: u32, message: &M) -> SequenceNumber {
        let Some(sent) = self.nodes.get_mut(at as usize) else { return NO_SEQUENCE_NUMBER };
        sent.kept.push_back(Kept { port, to, message: message.clone(), acknowledged: false, resent: false });
        sent.first + sent.kept.len() as u64 - 1
    }

    /// The fate of a message is known: it arrived, or nobody will be notified of its loss.
    #[inline]
    pub(crate) fn acknowledge(&mut self, at: u32, sequence_number: SequenceNumber) {
        if sequence_number == NO_SEQUENCE_NUMBER {
            return;
        }
        if let Some(sent) = self.nodes.get_mut(at as usize) {
            if let Some(kept) = sent.index(sequence_number).and_then(|index| sent.kept.get_mut(index)) {
                kept.acknowledged = true;
            }
            sent.drop_acknowledged();
        }
    }

    /// Whether a message was sent again, to another node.
    pub(crate) fn was_resent(&self, at: u32, sequence_number: SequenceNumber) -> bool {
        let Some(sent) = self.nodes.get(at as usize) else { return false };
        // A message that was sent again is acknowledged and may have been dropped, so a message that is not kept was
        // sent again.
        sequence_number != NO_SEQUENCE_NUMBER
            && sent.index(sequence_number).and_then(|index| sent.kept.get(index)).is_none_or(|kept| kept.resent)
    }

    /// Takes what must be sent again, in order and each with its own port: everything that was sent to `to` from the
    /// lost message on.
    pub(crate) fn take(&mut self, at: u32, to: u32, lost: SequenceNumber) -> Vec<(Port, M)> {
        let Some(sent) = self.nodes.get_mut(at as usize) else { return Vec::new() };
        let skip = lost.saturating_sub(sent.first) as usize;
        let mut again = Vec::new();
        for kept in sent.kept.iter_mut().skip(skip).filter(|kept| kept.to == to && !kept.resent) {
            (kept.acknowledged, kept.resent) = (true, true);
            again.push((kept.port, kept.message.clone()));
        }
        again
    }

    /// The sender went down: it will not send anything again.
    pub(crate) fn forget(&mut self, at: u32) {
        if let Some(sent) = self.nodes.get_mut(at as usize) {
            sent.first += sent.kept.len() as u64;
            sent.kept.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resends_everything_from_the_lost_message_on_once_and_in_order() {
        let mut retransmit_buffer = RetransmitBuffer::on(1);
        let numbers: Vec<SequenceNumber> =
            (0..5).map(|update| retransmit_buffer.keep(0, Port::NEXT, 1, &update)).collect();
        retransmit_buffer.acknowledge(0, numbers[0]);
        // Message 3 arrived although 2 was lost: the neighbour had recovered.
        retransmit_buffer.acknowledge(0, numbers[3]);
        let by_next = |updates: &[i32]| updates.iter().map(|&update| (Port::NEXT, update)).collect::<Vec<_>>();
        assert_eq!(retransmit_buffer.take(0, 1, numbers[2]), by_next(&[2, 3, 4]));
        assert!(!retransmit_buffer.was_resent(0, numbers[1]), "sent before the lost one, still in flight");
        assert!(numbers[2..].iter().all(|&sequence_number| retransmit_buffer.was_resent(0, sequence_number)));
        assert_eq!(retransmit_buffer.keep(0, Port::NEXT, 2, &9), 5);
        assert_eq!(retransmit_buffer.take(0, 1, numbers[1]), by_next(&[1]));
        retransmit_buffer.acknowledge(0, numbers[1]);
        assert!(retransmit_buffer.was_resent(0, numbers[4]), "also when it is dropped");
    }

    #[test]
    fn resends_on_both_sides_until_the_sender_crashes() {
        let mut retransmit_buffer = RetransmitBuffer::on(2);
        let there = retransmit_buffer.keep(1, Port::NEXT, 0, &'a');
        retransmit_buffer.keep(1, Port::PREVIOUS, 0, &'b');
        retransmit_buffer.keep(1, Port::PREVIOUS, 1, &'c');
        assert_eq!(retransmit_buffer.take(1, 0, there), [(Port::NEXT, 'a'), (Port::PREVIOUS, 'b')]);
        retransmit_buffer.forget(1);
        assert!(retransmit_buffer.take(1, 1, there).is_empty());
        assert_eq!(RetransmitBuffer::off().keep(0, Port::NEXT, 1, &'d'), NO_SEQUENCE_NUMBER);
    }
}
