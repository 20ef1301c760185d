//! Storage for connections: each has a slot number, which is its token.

use super::link::Link;

/// A bounded number of slots.
pub(super) struct Slots {
    links: Vec<Option<Box<Link>>>,
    free: Vec<usize>,
    max: usize,
}

impl Slots {
    pub(super) fn new(max: usize) -> Self {
        Slots { links: Vec::new(), free: Vec::new(), max }
    }

    /// Reserves an empty slot; `None` if all are taken.
    pub(super) fn reserve(&mut self) -> Option<usize> {
        self.free.pop().or_else(|| {
            let next = self.links.len();
            (next < self.max).then(|| {
                self.links.push(None);
                next
            })
        })
    }

    /// Releases a reserved slot.
    pub(super) fn release(&mut self, slot: usize) {
        self.links[slot] = None;
        self.free.push(slot);
    }

    /// Takes a connection out to work on it. Its slot stays reserved.
    pub(super) fn take(&mut self, slot: usize) -> Option<Box<Link>> {
        self.links.get_mut(slot).and_then(Option::take)
    }

    /// Puts a connection into its reserved slot.
    pub(super) fn put(&mut self, slot: usize, link: Box<Link>) {
        self.links[slot] = Some(link);
    }

    pub(super) fn get(&self, slot: usize) -> Option<&Link> {
        self.links.get(slot).and_then(Option::as_deref)
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut Link> {
        self.links.get_mut(slot).and_then(Option::as_deref_mut)
    }

    /// The number of slots, including empty ones.
    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter_map(Option::as_deref)
    }

    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, &Link)> {
        self.links.iter().enumerate().filter_map(|(slot, link)| link.as_deref().map(|link| (slot, link)))
    }
}
