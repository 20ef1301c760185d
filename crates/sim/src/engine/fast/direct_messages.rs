//! Messages sent by id or by index, for mailboxes that are made for links. They are kept apart and sorted.

use std::collections::VecDeque;

/// A message sent by id or by index.
struct DirectMessage<M> {
    receiver: u32,
    sender: u32,
    message: M,
}

/// The messages sent by id or by index.
pub(super) struct DirectMessages<M> {
    messages: VecDeque<DirectMessage<M>>,
    /// A node got messages from one sender both over a link and directly in one tick. Their order was not recorded.
    order_is_ambiguous: bool,
}

impl<M> DirectMessages<M> {
    pub(super) const fn new() -> Self {
        DirectMessages { messages: VecDeque::new(), order_is_ambiguous: false }
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn put(&mut self, sender: u32, receiver: u32, message: M) {
        self.messages.push_back(DirectMessage { receiver, sender, message });
    }

    /// Sorts the messages of all ranges into the first list. Returns whether there are any.
    pub(super) fn open<'a>(mut lists: impl Iterator<Item = &'a mut DirectMessages<M>>) -> bool
    where
        M: 'a,
    {
        let Some(first) = lists.next() else { return false };
        lists.for_each(|list| first.messages.append(&mut list.messages));
        // The sort is stable, so a sender's messages stay in sending order.
        first.messages.make_contiguous().sort_by_key(|message| (message.receiver, message.sender));
        !first.messages.is_empty()
    }

    /// The receiver and the sender of the next message for a position below `bound`, if it comes before the next
    /// message over a link.
    pub(super) fn next(&mut self, over_link: Option<(u32, u32)>, bound: u32) -> Option<(u32, u32)> {
        let place = self.messages.front().map(|message| (message.receiver, message.sender))?;
        if over_link == Some(place) {
            self.order_is_ambiguous = true;
        }
        if place.0 >= bound || over_link.is_some_and(|other| other <= place) {
            return None;
        }
        Some(place)
    }

    /// The content of that message.
    pub(super) fn take(&mut self) -> M {
        self.messages.pop_front().expect("it was just announced").message
    }

    /// Returns whether the order of all messages was known.
    pub(super) fn close(&mut self) -> bool {
        debug_assert!(self.messages.is_empty(), "a message was not taken");
        !std::mem::take(&mut self.order_is_ambiguous)
    }
}
