//! Where connections are kept: each has a number, which is its token.

use super::link::Link;

/// A bounded number of places.
pub(super) struct Slots {
    links: Vec<Option<Box<Link>>>,
    free: Vec<usize>,
    most: usize,
}

impl Slots {
    pub(super) fn new(most: usize) -> Self {
        Slots { links: Vec::new(), free: Vec::new(), most }
    }

    /// A place for a connection, still empty; none if all are taken.
    pub(super) fn reserve(&mut self) -> Option<usize> {
        self.free.pop().or_else(|| {
            let next = self.links.len();
            (next < self.most).then(|| {
                self.links.push(None);
                next
            })
        })
    }

    /// Gives a reserved place back.
    pub(super) fn release(&mut self, slot: usize) {
        self.links[slot] = None;
        self.free.push(slot);
    }

    /// Takes a connection out to work on it. Its place stays reserved.
    pub(super) fn take(&mut self, slot: usize) -> Option<Box<Link>> {
        self.links.get_mut(slot).and_then(Option::take)
    }

    /// Puts it into its reserved place.
    pub(super) fn put(&mut self, slot: usize, link: Box<Link>) {
        self.links[slot] = Some(link);
    }

    pub(super) fn get(&self, slot: usize) -> Option<&Link> {
        self.links.get(slot).and_then(Option::as_deref)
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut Link> {
        self.links.get_mut(slot).and_then(Option::as_deref_mut)
    }

    /// All places, empty ones included, are below this.
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
