//! The dead nodes that a node skips on the levels that it belongs to.
//!
//! Shirali's rule of the ring ("if the next process does not reply, the second next") holds on every level. A node on
//! the ring alone leaves it to [`Context::skip`](hustings_protocol::Context::skip). A node on several levels needs one
//! list for all of them, because a node that it missed on one level is dead on the others too.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use hustings_protocol::Id;

/// The nodes that a node has struck off. Most nodes never strike one off.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Strikes(Option<Box<Struck>>);

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Struck {
    /// Their places on the map.
    places: BTreeSet<u32>,
    /// The ids of those that were reached by the map. A returned message names its receiver by id only.
    ids: BTreeSet<Id>,
}

impl Strikes {
    /// None.
    pub(super) const NOBODY: Strikes = Strikes(None);

    /// Whether none is struck off.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The next node on a level that is not struck off, where `next` is the next one on the map; in the end `at`
    /// itself.
    #[inline(always)]
    pub(super) fn next(&self, at: u32, next: impl Fn(u32) -> u32) -> u32 {
        let mut place = next(at);
        if let Some(struck) = &self.0 {
            while place != at && struck.places.contains(&place) {
                place = next(place);
            }
        }
        place
    }

    /// Strikes off the neighbour on the ring.
    pub(super) fn strike_neighbour(&mut self, place: u32) {
        self.0.get_or_insert_default().places.insert(place);
    }

    /// Strikes off a node that was addressed by the map as the next one on some level; `next` gives the current one. A
    /// second message that returns from the same node strikes off nobody else.
    pub(super) fn strike(&mut self, id: Id, next: impl FnOnce(&Self) -> u32) {
        if self.0.as_ref().is_some_and(|struck| struck.ids.contains(&id)) {
            return;
        }
        let place = next(self);
        let struck = self.0.get_or_insert_default();
        struck.ids.insert(id);
        struck.places.insert(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_what_is_struck_off_and_ends_at_itself() {
        let mut strikes = Strikes::default();
        let next = |place: u32| (place + 2) % 8;
        assert_eq!((strikes.is_empty(), strikes.next(2, next)), (true, 4));
        strikes.strike(Id(40), |strikes| strikes.next(2, next));
        strikes.strike(Id(40), |strikes| strikes.next(2, next));
        assert_eq!((strikes.is_empty(), strikes.next(2, next)), (false, 6), "the same node returned two messages");
        assert_eq!(strikes.next(2, |place| (place + 1) % 8), 3, "on another level it is not next");
        strikes.strike_neighbour(3);
        assert_eq!(strikes.next(2, |place| (place + 1) % 8), 5);
        strikes.strike(Id(60), |strikes| strikes.next(2, next));
        strikes.strike(Id(0), |strikes| strikes.next(2, next));
        assert_eq!(strikes.next(2, next), 2);
    }
}
