//! What a replay expects to happen: messages that were sent and timers that were set, by the record that did it.

use std::collections::BTreeMap;

use hustings_protocol::{Loss, Timer};

use crate::engine::general::{Ticket, Way};

/// A message that was sent.
#[derive(Clone, Debug)]
pub(super) struct Letter<M> {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) way: Way,
    /// Which life of its sender it comes from.
    pub(super) life: u32,
    pub(super) ticket: Ticket,
    message: M,
    deliveries: u8,
    loss: Option<Loss>,
    is_back: bool,
}

impl<M> Letter<M> {
    pub(super) fn new(from: u32, to: u32, way: Way, life: u32, ticket: Ticket, message: M) -> Self {
        Letter { from, to, way, life, ticket, message, deliveries: 0, loss: None, is_back: false }
    }

    fn is_under_way(&self) -> bool {
        self.deliveries == 0 && self.loss.is_none()
    }

    /// Whether nothing can be recorded about it any more.
    fn is_over(&self) -> bool {
        match self.loss {
            None => self.deliveries > 0,
            Some(Loss::ReceiverDown) => self.is_back,
            Some(Loss::Chance | Loss::Cut) => true,
        }
    }
}

/// All messages that were sent, in order, by the record that sent them. Among equal ones on the same way the first is taken: they
/// come in the order of sending, and where they do not, nobody can tell them apart.
///
/// The record of a loss does not tell the way (on a ring of two both sides lead to the same node). Where that leaves a choice, the first
/// is taken to be lost, and the choice is corrected when another record shows that it was the other one.
#[derive(Debug)]
pub(super) struct Letters<M> {
    by_cause: BTreeMap<u64, Vec<Letter<M>>>,
    /// Messages may come twice: a copy leaves no record unless it arrives.
    duplicates: bool,
}

/// Which message a record speaks of.
pub(super) struct Search<'a, M> {
    /// The record that sent it.
    pub(super) cause: Option<u64>,
    pub(super) from: Option<u32>,
    pub(super) to: Option<u32>,
    pub(super) message: &'a M,
}

impl<M: Eq> Search<'_, M> {
    fn means(&self, letter: &Letter<M>) -> bool {
        Some(letter.from) == self.from && Some(letter.to) == self.to && letter.message == *self.message
    }
}

impl<M: Clone + Eq> Letters<M> {
    pub(super) fn new(duplicates: bool) -> Self {
        Letters { by_cause: BTreeMap::new(), duplicates }
    }

    pub(super) fn post(&mut self, cause: u64, letter: Letter<M>) {
        self.by_cause.entry(cause).or_default().push(letter);
    }

    pub(super) fn is_any_under_way(&self) -> bool {
        self.by_cause.values().flatten().any(Letter::is_under_way)
    }

    /// A message arrives on a way that fits: the one that is meant, if there is one.
    pub(super) fn deliver(&mut self, search: &Search<'_, M>, fits: impl Fn(Way) -> bool) -> Option<Letter<M>> {
        let duplicates = self.duplicates;
        self.change(search, |letters| {
            let find = |wanted: &dyn Fn(&Letter<M>) -> bool| {
                letters.iter().position(|letter| search.means(letter) && wanted(letter))
            };
            let fresh = find(&|letter| letter.is_under_way() && fits(letter.way));
            // Taken to be lost; but if an equal one elsewhere is still under way, that one may have been it.
            let lost = || find(&|letter| letter.deliveries == 0 && !letter.is_back && fits(letter.way));
            let other = || find(&|letter| letter.is_under_way());
            let mistaken = || lost().zip(other());
            let again = || find(&|letter| duplicates && letter.deliveries < 2 && fits(letter.way));
            let found = match (fresh, fresh.is_none().then(mistaken).flatten()) {
                (Some(fresh), _) => fresh,
                (None, Some((found, other))) => {
                    letters[other].loss = letters[found].loss.take();
                    found
                }
                (None, None) => again()?,
            };
            letters[found].deliveries += 1;
            Some(letters[found].clone())
        })
    }

    /// A message is lost. Says also whether there was no choice which one.
    pub(super) fn lose(&mut self, search: &Search<'_, M>, why: Loss) -> Option<(Letter<M>, bool)> {
        let duplicates = self.duplicates;
        self.change(search, |letters| {
            let find = |wanted: &dyn Fn(&Letter<M>) -> bool| {
                letters.iter().position(|letter| search.means(letter) && wanted(letter))
            };
            let fresh = find(&|letter| letter.is_under_way());
            let once = || find(&|letter| duplicates && letter.loss.is_none());
            let found = fresh.or_else(once)?;
            let way = letters[found].way;
            let is_certain = find(&|letter| letter.way != way).is_none();
            letters[found].loss = Some(why);
            Some((letters[found].clone(), is_certain))
        })
    }

    /// A message that went a way that fits comes back to its sender.
    pub(super) fn give_back(&mut self, search: &Search<'_, M>, fits: impl Fn(&Letter<M>) -> bool) -> Option<Letter<M>> {
        self.change(search, |letters| {
            let find = |wanted: &dyn Fn(&Letter<M>) -> bool| {
                letters.iter().position(|letter| search.means(letter) && !letter.is_back && wanted(letter))
            };
            let is_dead = |letter: &Letter<M>| letter.loss == Some(Loss::ReceiverDown);
            let found = match find(&|letter| is_dead(letter) && fits(letter)) {
                Some(found) => found,
                None => {
                    // An equal one elsewhere was taken for it.
                    let (found, other) = find(&|letter| letter.deliveries == 0 && fits(letter)).zip(find(&is_dead))?;
                    let loss = letters[found].loss.take();
                    letters[found].loss = std::mem::replace(&mut letters[other].loss, loss);
                    found
                }
            };
            letters[found].is_back = true;
            Some(letters[found].clone())
        })
    }

    /// Changes the letters of one record, and forgets them when nothing can happen to them any more.
    fn change<T>(
        &mut self,
        search: &Search<'_, M>,
        change: impl FnOnce(&mut Vec<Letter<M>>) -> Option<T>,
    ) -> Option<T> {
        let cause = search.cause?;
        let letters = self.by_cause.get_mut(&cause)?;
        let changed = change(letters);
        if !self.duplicates && letters.iter().all(Letter::is_over) {
            self.by_cause.remove(&cause);
        }
        changed
    }
}

/// The timers that were set and have not been due.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_cause: BTreeMap<u64, Vec<(u32, u32, Timer)>>,
}

impl Timers {
    pub(super) fn set(&mut self, cause: u64, at: u32, life: u32, timer: Timer) {
        self.by_cause.entry(cause).or_default().push((at, life, timer));
    }

    /// Takes a timer off the list; false if it is not there.
    pub(super) fn ring(&mut self, cause: Option<u64>, at: u32, life: u32, timer: Timer) -> bool {
        let Some(timers) = cause.and_then(|cause| self.by_cause.get_mut(&cause)) else { return false };
        let Some(index) = timers.iter().position(|set| *set == (at, life, timer)) else { return false };
        timers.remove(index);
        if timers.is_empty() {
            cause.and_then(|cause| self.by_cause.remove(&cause));
        }
        true
    }
}
