//! A lane: next tick's mail in the order of its receivers, as a circular queue.
//!
//! The reader frees places at the front while the writer fills them at the back, so one buffer serves both this tick's
//! mail and the next one's. Addresses and messages lie in arrays of their own: read and written as what they are, never
//! as one record (which costs a stall whenever a message is read soon after it was written).

use std::mem::MaybeUninit;

use super::pages::{filled, touched};

/// Mail in flight, first in first out.
pub(super) struct Lane<M> {
    receivers: Vec<u32>,
    messages: Vec<MaybeUninit<M>>,
    head: usize,
    /// Where the next message goes. One place always stays free: full and empty are told apart by it.
    tail: usize,
}

impl<M> Lane<M> {
    /// An empty lane with room for so many messages; the memory is touched now, so that the run does not pay for it.
    pub(super) fn with_room(room: usize) -> Self {
        let room = room.max(4) + 1;
        let messages = touched(room);
        let receivers = filled(room, u32::MAX);
        Lane { receivers, messages, head: 0, tail: 0 }
    }

    pub(super) fn memory(&self) -> usize {
        self.receivers.len() * (size_of::<u32>() + size_of::<M>())
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        if self.tail >= self.head { self.tail - self.head } else { self.tail + self.receivers.len() - self.head }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// The receiver of the first message; the lane must not be empty.
    #[inline(always)]
    pub(super) fn first_receiver(&self) -> u32 {
        debug_assert!(!self.is_empty());
        // SAFETY: `head` is always below the length of the arrays.
        unsafe { *self.receivers.get_unchecked(self.head) }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, receiver: u32, message: M) {
        // SAFETY: `tail` is always below the length of the arrays, and that place is free.
        unsafe {
            *self.receivers.get_unchecked_mut(self.tail) = receiver;
            self.messages.get_unchecked_mut(self.tail).as_mut_ptr().write(message);
        }
        self.tail += 1;
        if self.tail == self.receivers.len() {
            self.tail = 0;
        }
        if self.tail == self.head {
            self.grow();
        }
    }

    /// Inputs the first message; the lane must not be empty.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> (u32, M) {
        debug_assert!(!self.is_empty());
        self.pop_any()
    }

    #[inline(always)]
    fn pop_any(&mut self) -> (u32, M) {
        // SAFETY: callers see to it that the lane is not empty, so the place at `head` holds a message, which nobody
        // reads again.
        let first = unsafe {
            (*self.receivers.get_unchecked(self.head), self.messages.get_unchecked(self.head).as_ptr().read())
        };
        self.head += 1;
        if self.head == self.receivers.len() {
            self.head = 0;
        }
        first
    }

    /// Doubles the room of a lane whose last place was just filled. By value, so that a lane held in registers need not
    /// have an address.
    #[cold]
    #[inline(never)]
    fn grown(mut self) -> Self {
        let mut larger = Lane::with_room(self.receivers.len() * 2);
        for _ in 0..self.receivers.len() {
            let (receiver, message) = self.pop_any();
            larger.push(receiver, message);
        }
        larger
    }

    #[inline(always)]
    fn grow(&mut self) {
        let empty = Lane { receivers: Vec::new(), messages: Vec::new(), head: 0, tail: 0 };
        *self = std::mem::replace(self, empty).grown();
    }
}

impl<M> Drop for Lane<M> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<M>() {
            while !self.is_empty() {
                drop(self.pop());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::Arc;

    #[test]
    fn it_is_a_queue_whatever_comes() {
        let (mut lane, mut plain) = (Lane::with_room(4), VecDeque::new());
        let mut stream = crate::rng::Stream::new(1, crate::rng::Purpose::Coins, 0);
        for step in 0..10_000u32 {
            if stream.below(100) < if step < 5_000 { 55 } else { 45 } {
                lane.push(step, Arc::new(step));
                plain.push_back((step, Arc::new(step)));
            } else if let Some(first) = plain.pop_front() {
                assert_eq!(lane.first_receiver(), first.0);
                assert_eq!(lane.pop(), first);
            }
            assert_eq!(lane.len(), plain.len());
        }
    }

    #[test]
    fn what_is_left_is_dropped() {
        let kept = Arc::new(());
        let mut lane = Lane::with_room(4);
        (0..7).for_each(|at| lane.push(at, Arc::clone(&kept)));
        drop(lane.pop());
        assert_eq!(Arc::strong_count(&kept), 7);
        drop(lane);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
