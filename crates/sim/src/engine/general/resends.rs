//! What a node on a ring has sent to its neighbours and may have to send again.
//!
//! At the first `unreachable` a node strikes its neighbour off and sends to the next one *everything* that it sent to
//! that neighbour from the lost message on: also what is still under way, and what arrived because the neighbour came
//! back. So a message is kept until its own fate and that of all earlier ones on that side are known.

use std::collections::VecDeque;

use hustings_protocol::Port;

/// The number of a kept message on its side of its sender.
pub(crate) type Ticket = u64;

/// No message was kept.
pub(crate) const NO_TICKET: Ticket = u64::MAX;

/// The kept messages of all nodes.
#[derive(Debug)]
pub(crate) struct Resends<M> {
    /// By node, then side. Empty where nobody can be found down.
    sides: Vec<[Side<M>; 2]>,
}

#[derive(Debug)]
struct Side<M> {
    /// The ticket of the first message that is kept.
    first: Ticket,
    kept: VecDeque<Kept<M>>,
}

#[derive(Debug)]
struct Kept<M> {
    to: u32,
    message: M,
    settled: bool,
    resent: bool,
}

impl<M> Side<M> {
    const fn new() -> Self {
        Side { first: 0, kept: VecDeque::new() }
    }

    /// Where a message is, if it is kept.
    fn index(&self, ticket: Ticket) -> Option<usize> {
        usize::try_from(ticket.checked_sub(self.first)?).ok()
    }

    fn get_mut(&mut self, ticket: Ticket) -> Option<&mut Kept<M>> {
        let index = self.index(ticket)?;
        self.kept.get_mut(index)
    }

    fn drop_settled(&mut self) {
        while self.kept.front().is_some_and(|kept| kept.settled) {
            self.kept.pop_front();
            self.first += 1;
        }
    }
}

impl<M: Clone> Resends<M> {
    /// Keeps nothing: for networks that are no ring and runs in which nobody goes down.
    pub(crate) fn off() -> Self {
        Resends { sides: Vec::new() }
    }

    /// Keeps what so many nodes on a ring send.
    pub(crate) fn on(size: u32) -> Self {
        Resends { sides: (0..size).map(|_| [Side::new(), Side::new()]).collect() }
    }

    fn side(&mut self, at: u32, port: Port) -> Option<&mut Side<M>> {
        self.sides.get_mut(at as usize)?.get_mut(port.index())
    }

    /// Keeps a message that was sent.
    #[inline]
    pub(crate) fn keep(&mut self, at: u32, port: Port, to: u32, message: &M) -> Ticket {
        let Some(side) = self.side(at, port) else { return NO_TICKET };
        side.kept.push_back(Kept { to, message: message.clone(), settled: false, resent: false });
        side.first + side.kept.len() as u64 - 1
    }

    /// The fate of a message is known: it arrived, or nobody will hear of its loss any more.
    #[inline]
    pub(crate) fn settle(&mut self, at: u32, port: Port, ticket: Ticket) {
        if ticket == NO_TICKET {
            return;
        }
        if let Some(side) = self.side(at, port) {
            if let Some(kept) = side.get_mut(ticket) {
                kept.settled = true;
            }
            side.drop_settled();
        }
    }

    /// Whether a message was sent again, to somebody else.
    pub(crate) fn was_resent(&self, at: u32, port: Port, ticket: Ticket) -> bool {
        let Some(side) = self.sides.get(at as usize).and_then(|sides| sides.get(port.index())) else { return false };
        // A message that was sent again is settled and may be dropped by now: what is not kept was resent.
        ticket != NO_TICKET && side.index(ticket).and_then(|index| side.kept.get(index)).is_none_or(|kept| kept.resent)
    }

    /// Takes what must be sent again, in order: everything that went to `to` from the lost message on.
    pub(crate) fn take(&mut self, at: u32, port: Port, to: u32, lost: Ticket) -> Vec<M> {
        let Some(side) = self.side(at, port) else { return Vec::new() };
        let skip = lost.saturating_sub(side.first) as usize;
        let mut again = Vec::new();
        for kept in side.kept.iter_mut().skip(skip).filter(|kept| kept.to == to && !kept.resent) {
            (kept.settled, kept.resent) = (true, true);
            again.push(kept.message.clone());
        }
        again
    }

    /// The sender went down: nobody will send anything again.
    pub(crate) fn forget(&mut self, at: u32) {
        for side in self.sides.get_mut(at as usize).into_iter().flatten() {
            side.first += side.kept.len() as u64;
            side.kept.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_from_the_lost_message_on_once_and_in_order() {
        let mut resends = Resends::on(1);
        let tickets: Vec<Ticket> = (0..5).map(|word| resends.keep(0, Port::NEXT, 1, &word)).collect();
        resends.settle(0, Port::NEXT, tickets[0]);
        // Message 3 arrived although 2 was lost: the neighbour had come back.
        resends.settle(0, Port::NEXT, tickets[3]);
        assert_eq!(resends.take(0, Port::NEXT, 1, tickets[2]), [2, 3, 4]);
        assert!(!resends.was_resent(0, Port::NEXT, tickets[1]), "sent before the lost one, still under way");
        assert!(tickets[2..].iter().all(|&ticket| resends.was_resent(0, Port::NEXT, ticket)));
        assert_eq!(resends.keep(0, Port::NEXT, 2, &9), 5);
        assert_eq!(resends.take(0, Port::NEXT, 1, tickets[1]), [1]);
        resends.settle(0, Port::NEXT, tickets[1]);
        assert!(resends.was_resent(0, Port::NEXT, tickets[4]), "also when it is dropped");
    }

    #[test]
    fn sides_are_kept_apart_and_a_crash_ends_it() {
        let mut resends = Resends::on(2);
        let there = resends.keep(1, Port::NEXT, 0, &'a');
        let back = resends.keep(1, Port::PREVIOUS, 0, &'b');
        assert_eq!(resends.take(1, Port::PREVIOUS, 0, back), ['b']);
        resends.forget(1);
        assert_eq!(resends.take(1, Port::NEXT, 0, there), []);
        assert_eq!(Resends::off().keep(0, Port::NEXT, 1, &'c'), NO_TICKET);
    }
}
