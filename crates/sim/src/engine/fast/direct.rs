//! Mail by id or by the map, for mailboxes that are made for links: it is kept apart and sorted.

use std::collections::VecDeque;

/// A message to a node by its id.
struct Letter<M> {
    receiver: u32,
    sender: u32,
    message: M,
}

/// What was sent by id.
pub(super) struct Direct<M> {
    letters: VecDeque<Letter<M>>,
    /// A node got mail from one sender both ways in one tick: what came first was not written down.
    muddled: bool,
}

impl<M> Direct<M> {
    pub(super) const fn new() -> Self {
        Direct { letters: VecDeque::new(), muddled: false }
    }

    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    pub(super) fn put(&mut self, sender: u32, receiver: u32, message: M) {
        self.letters.push_back(Letter { receiver, sender, message });
    }

    /// Puts the mail of all ranges in order, in the first list; whether there is any.
    pub(super) fn open<'a>(mut lists: impl Iterator<Item = &'a mut Direct<M>>) -> bool
    where
        M: 'a,
    {
        let Some(first) = lists.next() else { return false };
        lists.for_each(|list| first.letters.append(&mut list.letters));
        // Stable: a sender's mail keeps the order of sending.
        first.letters.make_contiguous().sort_by_key(|letter| (letter.receiver, letter.sender));
        !first.letters.is_empty()
    }

    /// The receiver and the sender of the next letter for a position below `bound`, if it comes before the mail over a
    /// link that is next.
    pub(super) fn next(&mut self, over_link: Option<(u32, u32)>, bound: u32) -> Option<(u32, u32)> {
        let place = self.letters.front().map(|letter| (letter.receiver, letter.sender))?;
        if over_link == Some(place) {
            self.muddled = true;
        }
        if place.0 >= bound || over_link.is_some_and(|other| other <= place) {
            return None;
        }
        Some(place)
    }

    /// What that letter says.
    pub(super) fn take(&mut self) -> M {
        self.letters.pop_front().expect("it was just announced").message
    }

    /// Whether all of it came out in order.
    pub(super) fn close(&mut self) -> bool {
        debug_assert!(self.letters.is_empty(), "a letter was not taken");
        !std::mem::take(&mut self.muddled)
    }
}
