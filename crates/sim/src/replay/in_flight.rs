//! Messages in flight and pending timers, by the record that sent or set them.

use std::collections::BTreeMap;

use hustings_protocol::{Loss, Timer};

use crate::engine::general::{Route, SequenceNumber};

/// The addressing of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) route: Route,
    /// The incarnation of the sender.
    pub(super) incarnation: u32,
    pub(super) sequence_number: SequenceNumber,
}

/// A message that was sent.
#[derive(Debug)]
struct SentMessage<M> {
    envelope: Envelope,
    message: M,
    fate: Fate,
    copy_arrived: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    InFlight,
    Arrived,
    Lost(Loss),
    Returned,
}

impl<M> SentMessage<M> {
    /// Whether no further record can refer to it, except the arrival of its copy.
    fn is_over(&self) -> bool {
        !matches!(self.fate, Fate::InFlight | Fate::Lost(Loss::ReceiverDown))
    }
}

/// All messages that were sent, by the record that sent them, in order.
#[derive(Debug)]
pub(super) struct InFlight<M> {
    by_cause: BTreeMap<u64, Vec<SentMessage<M>>>,
    /// Whether messages may be delivered twice. A copy has no record unless it arrives.
    duplicates: bool,
}

/// The message that a record refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search<'a, M> {
    /// The record that sent it.
    pub(super) cause: Option<u64>,
    /// Its index among the messages of that record.
    pub(super) nth: u32,
    /// Whether the record refers to the copy.
    pub(super) copy: bool,
    pub(super) from: Option<u32>,
    pub(super) to: Option<u32>,
    pub(super) message: &'a M,
}

/// There is no such message; `would_fit` is the index of another message of the same record that fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoSuchMessage {
    pub(super) would_fit: Option<u32>,
}

impl<M: Eq> InFlight<M> {
    pub(super) fn new(duplicates: bool) -> Self {
        InFlight { by_cause: BTreeMap::new(), duplicates }
    }

    pub(super) fn insert(&mut self, cause: u64, envelope: Envelope, message: M) {
        let sent = SentMessage { envelope, message, fate: Fate::InFlight, copy_arrived: false };
        self.by_cause.entry(cause).or_default().push(sent);
    }

    /// The receivers and contents of the messages that a record sent, in order.
    pub(super) fn sent_by(&self, cause: u64) -> impl Iterator<Item = (&Envelope, &M)> {
        self.by_cause.get(&cause).into_iter().flatten().map(|sent| (&sent.envelope, &sent.message))
    }

    pub(super) fn has_pending(&self) -> bool {
        self.by_cause.values().flatten().any(|sent| sent.fate == Fate::InFlight)
    }

    /// A message or its copy arrives on a route that fits.
    pub(super) fn arrive(
        &mut self,
        search: &Search<'_, M>,
        fits: impl Fn(Route) -> bool,
    ) -> Result<Envelope, NoSuchMessage> {
        let duplicates = self.duplicates;
        let can_arrive = |sent: &SentMessage<M>| {
            let is_due = if search.copy { duplicates && !sent.copy_arrived } else { sent.fate == Fate::InFlight };
            is_due && fits(sent.envelope.route)
        };
        self.change(search, can_arrive, |sent| {
            if search.copy {
                sent.copy_arrived = true;
            } else {
                sent.fate = Fate::Arrived;
            }
        })
    }

    /// A message is lost. The loss of a copy is not recorded.
    pub(super) fn lose(&mut self, search: &Search<'_, M>, why: Loss) -> Result<Envelope, NoSuchMessage> {
        let can_be_lost = |sent: &SentMessage<M>| !search.copy && sent.fate == Fate::InFlight;
        self.change(search, can_be_lost, |sent| sent.fate = Fate::Lost(why))
    }

    /// A message is returned to its sender.
    pub(super) fn return_to_sender(
        &mut self,
        search: &Search<'_, M>,
        fits: impl Fn(&Envelope) -> bool,
    ) -> Result<Envelope, NoSuchMessage> {
        let can_return =
            |sent: &SentMessage<M>| !search.copy && sent.fate == Fate::Lost(Loss::ReceiverDown) && fits(&sent.envelope);
        self.change(search, can_return, |sent| sent.fate = Fate::Returned)
    }

    /// Changes the message that the search refers to. Removes the messages of its record when no further record can
    /// refer to them.
    fn change(
        &mut self,
        search: &Search<'_, M>,
        is_possible: impl Fn(&SentMessage<M>) -> bool,
        change: impl FnOnce(&mut SentMessage<M>),
    ) -> Result<Envelope, NoSuchMessage> {
        let cause = search.cause.ok_or(NoSuchMessage { would_fit: None })?;
        let messages = self.by_cause.get_mut(&cause).ok_or(NoSuchMessage { would_fit: None })?;
        let is_meant = |sent: &SentMessage<M>| {
            let Envelope { from, to, .. } = sent.envelope;
            let ends = Some(from) == search.from && Some(to) == search.to;
            ends && sent.message == *search.message && is_possible(sent)
        };
        let Some(sent) = messages.get_mut(search.nth as usize).filter(|sent| is_meant(sent)) else {
            return Err(NoSuchMessage { would_fit: messages.iter().position(is_meant).map(|nth| nth as u32) });
        };
        change(sent);
        let envelope = sent.envelope;
        if !self.duplicates && messages.iter().all(SentMessage::is_over) {
            self.by_cause.remove(&cause);
        }
        Ok(envelope)
    }
}

/// Timers that are set and have not fired.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_cause: BTreeMap<u64, Vec<(u32, u32, Timer)>>,
}

impl Timers {
    pub(super) fn set(&mut self, cause: u64, at: u32, incarnation: u32, timer: Timer) {
        self.by_cause.entry(cause).or_default().push((at, incarnation, timer));
    }

    /// Removes a timer that fires; false if it is not set.
    pub(super) fn fire(&mut self, cause: Option<u64>, at: u32, incarnation: u32, timer: Timer) -> bool {
        let Some(timers) = cause.and_then(|cause| self.by_cause.get_mut(&cause)) else { return false };
        let Some(index) = timers.iter().position(|set| *set == (at, incarnation, timer)) else { return false };
        timers.remove(index);
        if timers.is_empty() {
            cause.and_then(|cause| self.by_cause.remove(&cause));
        }
        true
    }
}
