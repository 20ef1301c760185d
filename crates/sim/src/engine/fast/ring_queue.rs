//! A circular queue of messages on a ring, in the order of their receivers.
//!
//! The reader frees slots at the front while the writer fills slots at the back, so one buffer holds both the messages
//! of this tick and those of the next. Receivers and messages are in separate arrays. In one array of records, reading
//! a message soon after it was written would stall the processor.

use std::mem::MaybeUninit;

use super::large_pages::{filled, touched};

/// Messages in flight in one direction of a ring, first in first out.
pub(super) struct RingQueue<M> {
    receivers: Vec<u32>,
    messages: Vec<MaybeUninit<M>>,
    /// The slot of the first message. Always below the length of the arrays.
    head: usize,
    /// The slot of the next message. Always below the length of the arrays. One slot stays free, so that a full queue
    /// differs from an empty one.
    tail: usize,
}

impl<M> RingQueue<M> {
    /// An empty queue for `capacity` messages. Its memory is touched here, so that the run does not pay for mapping it.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let slots = capacity.max(4) + 1;
        let messages = touched(slots);
        let receivers = filled(slots, u32::MAX);
        RingQueue { receivers, messages, head: 0, tail: 0 }
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

    /// The receiver of the first message. The result has no meaning if the queue is empty.
    #[inline(always)]
    pub(super) fn first_receiver(&self) -> u32 {
        debug_assert!(!self.is_empty());
        // SAFETY: `head` is always below the length of `receivers`, which is initialised throughout.
        unsafe { *self.receivers.get_unchecked(self.head) }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, receiver: u32, message: M) {
        // SAFETY: `tail` is always below the length of the arrays, and that slot is free.
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

    /// Removes the first message.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(u32, M)> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the queue is not empty.
        Some(unsafe { self.pop_unchecked() })
    }

    /// Removes the first message without checking that there is one.
    ///
    /// # Safety
    /// The slot at `head` must hold a message: the queue is not empty, or `push` has just filled its last slot.
    #[inline(always)]
    pub(super) unsafe fn pop_unchecked(&mut self) -> (u32, M) {
        // SAFETY: `head` is below the length of the arrays. The caller guarantees that the slot holds a message. It is
        // not read again, because `head` moves on.
        let first = unsafe {
            (*self.receivers.get_unchecked(self.head), self.messages.get_unchecked(self.head).as_ptr().read())
        };
        self.head += 1;
        if self.head == self.receivers.len() {
            self.head = 0;
        }
        first
    }

    /// Doubles the capacity of a queue whose last slot has just been filled. It takes the queue by value, so that a
    /// queue held in registers does not need an address.
    #[cold]
    #[inline(never)]
    fn grown(mut self) -> Self {
        let mut larger = RingQueue::with_capacity(self.receivers.len() * 2);
        for _ in 0..self.receivers.len() {
            // SAFETY: every slot holds a message, and each is removed once.
            let (receiver, message) = unsafe { self.pop_unchecked() };
            larger.push(receiver, message);
        }
        larger
    }

    #[inline(always)]
    fn grow(&mut self) {
        let placeholder = RingQueue { receivers: Vec::new(), messages: Vec::new(), head: 0, tail: 0 };
        *self = std::mem::replace(self, placeholder).grown();
    }
}

impl<M> Drop for RingQueue<M> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<M>() {
            while self.pop().is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::Arc;

    #[test]
    fn behaves_like_a_vec_deque() {
        let (mut queue, mut model) = (RingQueue::with_capacity(4), VecDeque::new());
        let mut stream = crate::rng::Stream::new(1, crate::rng::Purpose::Coins, 0);
        for step in 0..10_000u32 {
            if stream.below(100) < if step < 5_000 { 55 } else { 45 } {
                queue.push(step, Arc::new(step));
                model.push_back((step, Arc::new(step)));
            } else {
                if let Some(first) = model.front() {
                    assert_eq!(queue.first_receiver(), first.0);
                }
                assert_eq!(queue.pop(), model.pop_front());
            }
            assert_eq!(queue.len(), model.len());
        }
    }

    #[test]
    fn an_empty_queue_pops_nothing() {
        let mut queue = RingQueue::with_capacity(4);
        assert_eq!(queue.pop(), None);
        for round in 0..20u32 {
            queue.push(round, Box::new(round));
            assert_eq!(queue.pop(), Some((round, Box::new(round))));
            assert_eq!((queue.pop(), queue.len()), (None, 0));
        }
    }

    #[test]
    fn drops_the_messages_that_are_left() {
        let kept = Arc::new(());
        let mut queue = RingQueue::with_capacity(4);
        (0..7).for_each(|at| queue.push(at, Arc::clone(&kept)));
        drop(queue.pop());
        assert_eq!(Arc::strong_count(&kept), 7);
        drop(queue);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
