//! What a replay expects to happen: messages that were sent and timers that were set, by the record that did it.

use std::collections::BTreeMap;

use hustings_protocol::{Loss, Timer};

use crate::engine::general::{Route, SequenceNumber};

/// What is known of a message beside its contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) way: Route,
    /// Which life of its sender it comes from.
    pub(super) life: u32,
    pub(super) ticket: SequenceNumber,
}

/// A message that was sent.
#[derive(Debug)]
struct Letter<M> {
    envelope: Envelope,
    message: M,
    fate: Fate,
    copy_arrived: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    UnderWay,
    Arrived,
    Lost(Loss),
    CameBack,
}

impl<M> Letter<M> {
    /// Whether nothing can be recorded about it any more, beside its copy.
    fn is_over(&self) -> bool {
        !matches!(self.fate, Fate::UnderWay | Fate::Lost(Loss::ReceiverDown))
    }
}

/// All messages that were sent, by the record that sent them, in order.
#[derive(Debug)]
pub(super) struct Letters<M> {
    by_cause: BTreeMap<u64, Vec<Letter<M>>>,
    /// Messages may come twice: a copy leaves no record unless it arrives.
    duplicates: bool,
}

/// Which message a record speaks of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search<'a, M> {
    /// The record that sent it.
    pub(super) cause: Option<u64>,
    /// Its place among the messages of that record.
    pub(super) nth: u32,
    /// Whether it is the copy that is meant.
    pub(super) copy: bool,
    pub(super) from: Option<u32>,
    pub(super) to: Option<u32>,
    pub(super) message: &'a M,
}

/// There is no such message. If another one of the same record would do: its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoLetter {
    pub(super) would_do: Option<u32>,
}

impl<M: Eq> Letters<M> {
    pub(super) fn new(duplicates: bool) -> Self {
        Letters { by_cause: BTreeMap::new(), duplicates }
    }

    pub(super) fn post(&mut self, cause: u64, envelope: Envelope, message: M) {
        let letter = Letter { envelope, message, fate: Fate::UnderWay, copy_arrived: false };
        self.by_cause.entry(cause).or_default().push(letter);
    }

    pub(super) fn is_any_under_way(&self) -> bool {
        self.by_cause.values().flatten().any(|letter| letter.fate == Fate::UnderWay)
    }

    /// A message or its copy arrives on a way that fits.
    pub(super) fn arrive(
        &mut self,
        search: &Search<'_, M>,
        fits: impl Fn(Route) -> bool,
    ) -> Result<Envelope, NoLetter> {
        let duplicates = self.duplicates;
        let can_arrive = |letter: &Letter<M>| {
            let is_due = if search.copy { duplicates && !letter.copy_arrived } else { letter.fate == Fate::UnderWay };
            is_due && fits(letter.envelope.way)
        };
        self.change(search, can_arrive, |letter| {
            if search.copy {
                letter.copy_arrived = true;
            } else {
                letter.fate = Fate::Arrived;
            }
        })
    }

    /// A message is lost. (Of a copy that is lost nobody hears.)
    pub(super) fn lose(&mut self, search: &Search<'_, M>, why: Loss) -> Result<Envelope, NoLetter> {
        let can_be_lost = |letter: &Letter<M>| !search.copy && letter.fate == Fate::UnderWay;
        self.change(search, can_be_lost, |letter| letter.fate = Fate::Lost(why))
    }

    /// A message comes back to its sender.
    pub(super) fn give_back(
        &mut self,
        search: &Search<'_, M>,
        fits: impl Fn(&Envelope) -> bool,
    ) -> Result<Envelope, NoLetter> {
        let can_come_back = |letter: &Letter<M>| {
            !search.copy && letter.fate == Fate::Lost(Loss::ReceiverDown) && fits(&letter.envelope)
        };
        self.change(search, can_come_back, |letter| letter.fate = Fate::CameBack)
    }

    /// Changes the message that is meant if it can be, and forgets those of its record when nothing can happen to them
    /// any more.
    fn change(
        &mut self,
        search: &Search<'_, M>,
        is_possible: impl Fn(&Letter<M>) -> bool,
        change: impl FnOnce(&mut Letter<M>),
    ) -> Result<Envelope, NoLetter> {
        let cause = search.cause.ok_or(NoLetter { would_do: None })?;
        let letters = self.by_cause.get_mut(&cause).ok_or(NoLetter { would_do: None })?;
        let is_meant = |letter: &Letter<M>| {
            let Envelope { from, to, .. } = letter.envelope;
            let ends = Some(from) == search.from && Some(to) == search.to;
            ends && letter.message == *search.message && is_possible(letter)
        };
        let Some(letter) = letters.get_mut(search.nth as usize).filter(|letter| is_meant(letter)) else {
            return Err(NoLetter { would_do: letters.iter().position(is_meant).map(|nth| nth as u32) });
        };
        change(letter);
        let envelope = letter.envelope;
        if !self.duplicates && letters.iter().all(Letter::is_over) {
            self.by_cause.remove(&cause);
        }
        Ok(envelope)
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

    /// Inputs a timer off the list; false if it is not there.
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
