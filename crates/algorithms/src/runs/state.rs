//! The state of a node in runs.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use hustings_protocol::{Id, Message, Port, Timer};

use super::ViewNumber;

/// Members by their places on the map, ascending.
pub(super) type Places = Arc<[u32]>;

/// The members that a node can reach, itself included.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reachable {
    /// Ascending.
    pub(super) ids: Arc<[Id]>,
    pub(super) places: Places,
}

/// The state of a node: its view, and the run in it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<S, M> {
    /// The greatest counter that it has seen.
    pub(super) counter: u64,
    /// The incarnation number; 0 for a node that was up from the beginning.
    pub(super) incarnation: u32,
    /// The members that it can reach.
    pub(super) reachability: Reachability,
    /// The current run.
    pub(super) run: Option<Run<S>>,
    /// The greatest proposed view that it could not adopt, because its members are not those it reaches.
    pub(super) pending: Option<(ViewNumber, Arc<[Id]>)>,
    pub(super) held: HeldMessages<M>,
    pub(super) timers: Timers<M>,
}

/// What a node knows of its reachable members.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Reachability {
    /// No update since the beginning: all members are reachable.
    All,
    /// No update since it recovered. It does nothing before the first one.
    Unknown,
    /// The last update.
    Known(Reachable),
}

/// A view and the run in it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Run<S> {
    pub(super) number: ViewNumber,
    pub(super) members: Places,
    /// The node's place among the members.
    pub(super) index: u32,
    pub(super) inner: S,
}

impl<S, M> State<S, M> {
    pub(super) fn new() -> Self {
        State {
            counter: 0,
            incarnation: 0,
            reachability: Reachability::All,
            run: None,
            pending: None,
            held: HeldMessages { by_number: BTreeMap::new(), count: 0, dropped: None },
            timers: Timers(Vec::new()),
        }
    }

    /// The number of the current view.
    pub(super) fn number(&self) -> Option<ViewNumber> {
        self.run.as_ref().map(|run| run.number)
    }
}

/// A message of a run: its sender, the port at which it arrives, its contents.
pub(super) type Incoming<M> = (Id, Option<Port>, M);

/// Messages of views that the node has not adopted yet, in the order of arrival.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct HeldMessages<M> {
    by_number: BTreeMap<ViewNumber, Vec<Incoming<M>>>,
    count: usize,
    /// The greatest view of which a message was dropped because there were too many.
    dropped: Option<ViewNumber>,
}

/// The greatest number of held messages. A whole run's messages may arrive before its view.
const MAX_HELD: usize = 1 << 14;

impl<M> HeldMessages<M> {
    /// Holds a message, if there is room.
    pub(super) fn keep(&mut self, number: ViewNumber, message: Incoming<M>) {
        if self.count < MAX_HELD {
            self.count += 1;
            self.by_number.entry(number).or_default().push(message);
        } else {
            self.dropped = self.dropped.max(Some(number));
        }
    }

    /// Returns the messages of an adopted view, and whether some are missing. Older ones are dropped.
    pub(super) fn take(&mut self, number: ViewNumber) -> (Vec<Incoming<M>>, bool) {
        let mut newer = self.by_number.split_off(&number);
        let messages = newer.remove(&number).unwrap_or_default();
        self.by_number = newer;
        self.count = self.by_number.values().map(Vec::len).sum();
        let is_incomplete = self.dropped.is_some_and(|dropped| dropped >= number);
        if self.dropped.is_some_and(|dropped| dropped <= number) {
            self.dropped = None;
        }
        (messages, is_incomplete)
    }
}

/// The purpose of a timer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Purpose<M> {
    /// The inner algorithm set it.
    Inner(Timer),
    /// To take another number, if the view has not changed.
    Repropose(ViewNumber),
    /// To return to the inner algorithm a message to a node outside the view.
    Bounce(Id, M),
}

/// The pending timers. The index in the list is the token given to the environment. It is reused only after that timer
/// was due, so that a stale timer is never mistaken for another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Timers<M>(Vec<Slot<M>>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Slot<M> {
    /// Unused.
    Free,
    /// A timer of an earlier run.
    Stale,
    Set(Purpose<M>),
}

impl<M: Message> Timers<M> {
    /// Adds a timer; returns the timer to request from the environment.
    pub(super) fn set(&mut self, purpose: Purpose<M>) -> Timer {
        let place = self.0.iter().position(|slot| *slot == Slot::Free).unwrap_or_else(|| {
            self.0.push(Slot::Free);
            self.0.len() - 1
        });
        let kind = kind(&purpose);
        self.0[place] = Slot::Set(purpose);
        Timer { kind, token: place as u32 }
    }

    /// Whether a timer for another number is pending in this view.
    pub(super) fn is_reproposing(&self, number: ViewNumber) -> bool {
        self.0.iter().any(|slot| matches!(slot, Slot::Set(Purpose::Repropose(set)) if *set == number))
    }

    /// Removes a due timer; returns its purpose unless it is stale.
    pub(super) fn take_due(&mut self, timer: Timer) -> Option<Purpose<M>> {
        let slot = mem::replace(self.0.get_mut(timer.token as usize)?, Slot::Free);
        while self.0.pop_if(|slot| *slot == Slot::Free).is_some() {}
        match slot {
            Slot::Set(purpose) if kind(&purpose) == timer.kind => Some(purpose),
            _ => None,
        }
    }

    /// Marks all timers as stale: the run is over.
    pub(super) fn invalidate(&mut self) {
        self.0.iter_mut().filter(|slot| matches!(slot, Slot::Set(_))).for_each(|slot| *slot = Slot::Stale);
    }
}

/// The kind that the environment sees; it tells periodic timers from others.
fn kind<M: Message>(purpose: &Purpose<M>) -> u8 {
    match purpose {
        Purpose::Inner(timer) => timer.kind,
        Purpose::Bounce(_, message) if message.is_periodic() => Timer::PERIODIC,
        Purpose::Repropose(_) | Purpose::Bounce(..) => 0,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::graph::echo;

    fn number(counter: u64) -> ViewNumber {
        ViewNumber { counter, ..ViewNumber::FIRST }
    }

    #[test]
    fn reuses_a_token_only_after_its_timer_was_due() {
        let mut timers: Timers<echo::Message> = Timers(Vec::new());
        let inner = |token| Purpose::Inner(Timer { kind: 3, token });
        let (first, second) = (timers.set(inner(7)), timers.set(inner(8)));
        assert_eq!((first.token, second.token, first.kind), (0, 1, 3));
        timers.invalidate();
        let third = timers.set(Purpose::Repropose(number(1)));
        assert_eq!(third.token, 2);
        assert_eq!(timers.take_due(first), None, "it is stale");
        assert_eq!(timers.take_due(third), Some(Purpose::Repropose(number(1))));
        assert_eq!(timers.set(inner(9)).token, 0);
        assert_eq!(timers.take_due(Timer { kind: 3, token: 99 }), None);
        assert_eq!((timers.take_due(second), timers.take_due(first)), (None, Some(inner(9))));
        assert_eq!(timers, Timers(Vec::new()), "nothing is left");
    }

    #[test]
    fn returns_held_messages_in_order_and_drops_older_ones() {
        let mut held: HeldMessages<u8> = State::<(), u8>::new().held;
        for (counter, what) in [(3, 1), (2, 2), (3, 3), (1, 4), (4, 5)] {
            held.keep(number(counter), (Id(0), None, what));
        }
        let contents = |messages: Vec<Incoming<u8>>| messages.into_iter().map(|(.., what)| what).collect::<Vec<u8>>();
        let (messages, is_incomplete) = held.take(number(3));
        assert_eq!((contents(messages), is_incomplete, held.count), (vec![1, 3], false, 1));
        assert_eq!(contents(held.take(number(1)).0), [0u8; 0]);
        assert_eq!(contents(held.take(number(4)).0), [5]);
    }

    #[test]
    fn bounds_held_messages_and_reports_missing_ones() {
        let mut held: HeldMessages<u8> = State::<(), u8>::new().held;
        (0..MAX_HELD + 3).for_each(|_| held.keep(number(5), (Id(0), None, 0)));
        held.keep(number(4), (Id(0), None, 0));
        assert!(held.take(number(3)).1, "messages of an intermediate view may be missing");
        let (messages, is_incomplete) = held.take(number(5));
        assert_eq!((messages.len(), is_incomplete, held.count), (MAX_HELD, true, 0));
        assert!(!held.take(number(6)).1);
    }
}
