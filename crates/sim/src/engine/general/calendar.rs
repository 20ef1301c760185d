//! A [`Calendar`] of items that are due at later ticks. Near ticks have a slot each on a wheel, later ones are in a
//! tree.

use std::collections::BTreeMap;

const SLOTS: usize = 256;
const WORDS: usize = SLOTS / 64;

/// Items by the tick at which they are due. Items of one tick stay in insertion order.
#[derive(Debug)]
pub(crate) struct Calendar<T> {
    /// The wheel holds the ticks from this one on, one for each slot.
    start: u64,
    wheel: Vec<Vec<T>>,
    /// A bit for each slot that is not empty.
    filled: [u64; WORDS],
    later: BTreeMap<u64, Vec<T>>,
}

impl<T> Calendar<T> {
    /// An empty calendar that starts at tick 0.
    pub(crate) fn new() -> Self {
        Calendar {
            start: 0,
            wheel: std::iter::repeat_with(Vec::new).take(SLOTS).collect(),
            filled: [0; WORDS],
            later: BTreeMap::new(),
        }
    }

    /// Adds an item for a tick, which is not before the last one that was taken.
    #[inline]
    pub(crate) fn put(&mut self, tick: u64, item: T) {
        debug_assert!(tick >= self.start, "tick {tick} is over");
        if tick - self.start < SLOTS as u64 {
            let slot = tick as usize % SLOTS;
            self.wheel[slot].push(item);
            self.filled[slot / 64] |= 1 << (slot % 64);
        } else {
            self.later.entry(tick).or_default().push(item);
        }
    }

    /// The first tick with an item.
    pub(crate) fn next(&self) -> Option<u64> {
        let first = self.start as usize % SLOTS;
        for step in 0..=WORDS {
            let update = (first / 64 + step) % WORDS;
            let mask = match step {
                0 => u64::MAX << (first % 64),
                WORDS => !(u64::MAX << (first % 64)),
                _ => u64::MAX,
            };
            let bits = self.filled[update] & mask;
            if bits != 0 {
                let slot = update * 64 + bits.trailing_zeros() as usize;
                return Some(self.start + ((slot + SLOTS - first) % SLOTS) as u64);
            }
        }
        self.later.keys().next().copied()
    }

    /// Calls `each` with every item and the tick at which it is due, given the current tick.
    pub(crate) fn for_each(&self, mut each: impl FnMut(u64, &T)) {
        let first = self.start as usize % SLOTS;
        for (slot, items) in self.wheel.iter().enumerate() {
            let tick = self.start + ((slot + SLOTS - first) % SLOTS) as u64;
            items.iter().for_each(|item| each(tick, item));
        }
        self.later.iter().for_each(|(tick, items)| items.iter().for_each(|item| each(*tick, item)));
    }

    /// Removes the first item that matches. The others keep their order.
    pub(crate) fn remove(&mut self, matches: impl Fn(&T) -> bool) -> Option<T> {
        for slot in 0..SLOTS {
            if let Some(place) = self.wheel[slot].iter().position(&matches) {
                let removed = self.wheel[slot].remove(place);
                if self.wheel[slot].is_empty() {
                    self.filled[slot / 64] &= !(1 << (slot % 64));
                }
                return Some(removed);
            }
        }
        let (&tick, place) =
            self.later.iter().find_map(|(tick, items)| Some((tick, items.iter().position(&matches)?)))?;
        let items = self.later.get_mut(&tick)?;
        let removed = items.remove(place);
        if items.is_empty() {
            self.later.remove(&tick);
        }
        Some(removed)
    }

    /// Advances to a tick, before which nothing is left, and swaps the items due then with an empty list.
    pub(crate) fn take(&mut self, tick: u64, due: &mut Vec<T>) {
        debug_assert!(due.is_empty(), "what is in the list would be due again");
        debug_assert!(self.next().is_none_or(|next| next >= tick), "something is left before tick {tick}");
        self.start = tick;
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key() - tick < SLOTS as u64) {
            let slot = *entry.key() as usize % SLOTS;
            self.wheel[slot].append(&mut entry.remove());
            self.filled[slot / 64] |= 1 << (slot % 64);
        }
        let slot = tick as usize % SLOTS;
        std::mem::swap(&mut self.wheel[slot], due);
        self.filled[slot / 64] &= !(1 << (slot % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Items come out by tick, then in insertion order.
        #[test]
        fn nothing_is_lost_and_the_order_is_kept(
            steps in prop::collection::vec(prop::collection::vec(1u64..700, 0..6), 1..60),
        ) {
            let mut calendar = Calendar::new();
            let mut expected: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            let (mut now, mut count, mut due) = (0, 0, Vec::new());
            let mut steps = steps.into_iter();
            loop {
                for delay in steps.next().unwrap_or_default() {
                    calendar.put(now + delay, count);
                    expected.entry(now + delay).or_default().push(count);
                    count += 1;
                }
                prop_assert_eq!(calendar.next(), expected.keys().next().copied());
                // Sometimes a tick passes in which nothing is due.
                let next = calendar.next().map(|next| if next > now + 3 { next - 1 } else { next });
                let Some(next) = next.or((steps.len() > 0).then_some(now + 1)) else { break };
                now = next;
                calendar.take(now, &mut due);
                prop_assert_eq!(std::mem::take(&mut due), expected.remove(&now).unwrap_or_default());
            }
        }
    }
}
