//! What a node remembers.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use hustings_protocol::{Id, Message, Port, Timer};

use super::Number;

/// Members by their places on the map, ascending.
pub(super) type Places = Arc<[u32]>;

/// Whom a node can reach, itself included.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reach {
    /// Ascending.
    pub(super) ids: Arc<[Id]>,
    pub(super) places: Places,
}

/// What a node remembers: of views, and of the run in its own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<S, M> {
    /// The greatest counter that it has seen.
    pub(super) counter: u64,
    /// The coin of this life; 0 for one that was there from the beginning.
    pub(super) life: u32,
    /// Whom it can reach.
    pub(super) word: Word,
    /// The run that it takes part in.
    pub(super) run: Option<Run<S>>,
    /// The greatest view among those that it was asked to adopt and could not, because it reaches others.
    pub(super) pending: Option<(Number, Arc<[Id]>)>,
    pub(super) held: HeldMessages<M>,
    pub(super) timers: Timers<M>,
}

/// What a node knows of whom it can reach.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Word {
    /// It was not told anything since the beginning, when everybody was there.
    All,
    /// It was not told anything since it came up, and must be told before it can do anything.
    Unknown,
    /// What it was last told.
    Told(Reach),
}

/// A view and the run in it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Run<S> {
    pub(super) number: Number,
    pub(super) members: Places,
    /// The node's place among them.
    pub(super) index: u32,
    pub(super) inner: S,
}

impl<S, M> State<S, M> {
    pub(super) fn new() -> Self {
        State {
            counter: 0,
            life: 0,
            word: Word::All,
            run: None,
            pending: None,
            held: HeldMessages { by_number: BTreeMap::new(), count: 0, lacks: None },
            timers: Timers(Vec::new()),
        }
    }

    /// The number of the view that the node is in.
    pub(super) fn number(&self) -> Option<Number> {
        self.run.as_ref().map(|run| run.number)
    }
}

/// A message of a run: who sent it, where it comes in, what it says.
pub(super) type Mail<M> = (Id, Option<Port>, M);

/// Messages of views that the node has not adopted yet, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct HeldMessages<M> {
    by_number: BTreeMap<Number, Vec<Mail<M>>>,
    count: usize,
    /// The greatest view of which a message was given up because there were too many.
    lacks: Option<Number>,
}

/// How many messages a node keeps for later. Those of a whole run may come before the view does.
const MAX_HELD: usize = 1 << 14;

impl<M> HeldMessages<M> {
    /// Keeps a message for later, if there is room.
    pub(super) fn keep(&mut self, number: Number, mail: Mail<M>) {
        if self.count < MAX_HELD {
            self.count += 1;
            self.by_number.entry(number).or_default().push(mail);
        } else {
            self.lacks = self.lacks.max(Some(number));
        }
    }

    /// A view is adopted: its messages, and whether some of them are missing. Older ones are forgotten.
    pub(super) fn take(&mut self, number: Number) -> (Vec<Mail<M>>, bool) {
        let mut newer = self.by_number.split_off(&number);
        let mail = newer.remove(&number).unwrap_or_default();
        self.by_number = newer;
        self.count = self.by_number.values().map(Vec::len).sum();
        let is_short = self.lacks.is_some_and(|lacks| lacks >= number);
        if self.lacks.is_some_and(|lacks| lacks <= number) {
            self.lacks = None;
        }
        (mail, is_short)
    }
}

/// What a timer is for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Purpose<M> {
    /// The inner algorithm set it.
    Inner(Timer),
    /// To take another number if the view is still this one.
    Answer(Number),
    /// To give back to the inner algorithm what it sent to one outside the view.
    Return(Id, M),
}

/// The timers that are set. The place in the list is the token of the timer that the environment is given: it is used
/// again when that timer has been due, not before, so that a stale one is never taken for another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Timers<M>(Vec<Slot<M>>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Slot<M> {
    /// No timer.
    Free,
    /// One of a run that is over.
    Stale,
    Set(Purpose<M>),
}

impl<M: Message> Timers<M> {
    /// The timer to ask the environment for.
    pub(super) fn set(&mut self, purpose: Purpose<M>) -> Timer {
        let place = self.0.iter().position(|slot| *slot == Slot::Free).unwrap_or_else(|| {
            self.0.push(Slot::Free);
            self.0.len() - 1
        });
        let kind = kind(&purpose);
        self.0[place] = Slot::Set(purpose);
        Timer { kind, token: place as u32 }
    }

    /// Whether a timer is set to answer in this view.
    pub(super) fn is_to_answer(&self, number: Number) -> bool {
        self.0.iter().any(|slot| matches!(slot, Slot::Set(Purpose::Answer(set)) if *set == number))
    }

    /// A timer is due: what it is for, unless it is stale.
    pub(super) fn ring(&mut self, timer: Timer) -> Option<Purpose<M>> {
        let slot = mem::replace(self.0.get_mut(timer.token as usize)?, Slot::Free);
        while self.0.pop_if(|slot| *slot == Slot::Free).is_some() {}
        match slot {
            Slot::Set(purpose) if kind(&purpose) == timer.kind => Some(purpose),
            _ => None,
        }
    }

    /// The run is over.
    pub(super) fn outlive(&mut self) {
        self.0.iter_mut().filter(|slot| matches!(slot, Slot::Set(_))).for_each(|slot| *slot = Slot::Stale);
    }
}

/// As the environment sees it: by this it knows which timers never end.
fn kind<M: Message>(purpose: &Purpose<M>) -> u8 {
    match purpose {
        Purpose::Inner(timer) => timer.kind,
        Purpose::Return(_, message) if message.is_periodic() => Timer::PERIODIC,
        Purpose::Answer(_) | Purpose::Return(..) => 0,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::graph::echo;

    fn number(counter: u64) -> Number {
        Number { counter, ..Number::FIRST }
    }

    #[test]
    fn a_token_is_used_again_only_after_its_timer_was_due() {
        let mut timers: Timers<echo::Message> = Timers(Vec::new());
        let inner = |token| Purpose::Inner(Timer { kind: 3, token });
        let (first, second) = (timers.set(inner(7)), timers.set(inner(8)));
        assert_eq!((first.token, second.token, first.kind), (0, 1, 3));
        timers.outlive();
        let third = timers.set(Purpose::Answer(number(1)));
        assert_eq!(third.token, 2);
        assert_eq!(timers.ring(first), None, "it is stale");
        assert_eq!(timers.ring(third), Some(Purpose::Answer(number(1))));
        assert_eq!(timers.set(inner(9)).token, 0);
        assert_eq!(timers.ring(Timer { kind: 3, token: 99 }), None);
        assert_eq!((timers.ring(second), timers.ring(first)), (None, Some(inner(9))));
        assert_eq!(timers, Timers(Vec::new()), "nothing is left");
    }

    #[test]
    fn what_is_held_comes_in_its_order_and_what_is_older_is_gone() {
        let mut held: HeldMessages<u8> = State::<(), u8>::new().held;
        for (counter, what) in [(3, 1), (2, 2), (3, 3), (1, 4), (4, 5)] {
            held.keep(number(counter), (Id(0), None, what));
        }
        let says = |mail: Vec<Mail<u8>>| mail.into_iter().map(|(.., what)| what).collect::<Vec<u8>>();
        let (mail, is_short) = held.take(number(3));
        assert_eq!((says(mail), is_short, held.count), (vec![1, 3], false, 1));
        assert_eq!(says(held.take(number(1)).0), [0u8; 0]);
        assert_eq!(says(held.take(number(4)).0), [5]);
    }

    #[test]
    fn there_is_a_bound_and_whoever_lost_something_by_it_knows() {
        let mut held: HeldMessages<u8> = State::<(), u8>::new().held;
        (0..MAX_HELD + 3).for_each(|_| held.keep(number(5), (Id(0), None, 0)));
        held.keep(number(4), (Id(0), None, 0));
        assert!(held.take(number(3)).1, "of a view that is adopted on the way something may be missing");
        let (mail, is_short) = held.take(number(5));
        assert_eq!((mail.len(), is_short, held.count), (MAX_HELD, true, 0));
        assert!(!held.take(number(6)).1);
    }
}
