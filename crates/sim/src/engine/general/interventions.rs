//! What is done by hand during a run.
//!
//! An intervention is done as soon as the trace has as many records as it says, at once and in the same tick, before
//! the next input of any node is handled. Everything before that point is as it is without the intervention: only the
//! number of records decides when it comes, and random numbers do not depend on it.
//!
//! What cannot be done (a node that is down already, a message that has arrived) is refused with a reason, and changes
//! nothing.

use std::collections::{BTreeSet, VecDeque};

use hustings_protocol::{Event, Loss, Protocol, TraceEvent};

use super::dispatch::Origin;
use super::in_flight::{Route, Transmission};
use super::tick_inputs::StartSignal;
use super::{Cause, Engine};
use crate::outcome::Refusal;
use crate::scenario::{Action, FaultKind, Intervention, MessageChange, MessageRef};

/// The interventions of a run.
#[derive(Debug, Default)]
pub(super) struct Interventions {
    /// With their indices, in the order of the trace.
    pending: VecDeque<(usize, Intervention)>,
    /// Messages that are due in this tick, but were removed or moved.
    withheld: BTreeSet<MessageRef>,
    /// Messages that have a copy.
    duplicated: BTreeSet<MessageRef>,
    refused: Vec<Refusal>,
}

impl Interventions {
    pub(super) fn new(interventions: &[Intervention]) -> Self {
        Interventions { pending: interventions.iter().cloned().enumerate().collect(), ..Interventions::default() }
    }

    /// Whether one is to be done, now that there are so many records.
    #[inline]
    fn is_due(&self, records: u64) -> bool {
        self.pending.front().is_some_and(|(_, next)| next.after <= records)
    }

    /// Whether a message that is due does not arrive.
    #[inline]
    pub(super) fn withholds<M>(&mut self, transmission: &Transmission<M>) -> bool {
        !self.withheld.is_empty() && self.withheld.remove(&MessageRef::of(transmission))
    }

    /// What was refused, including what the run was too short for.
    pub(super) fn finish(self, records: u64) -> Vec<Refusal> {
        let too_late = self.pending.into_iter().map(|(index, one)| Refusal {
            index,
            reason: format!(
                "the run ends after {records} records; allowed: a point from 0 to {records}, not {}",
                one.after
            ),
        });
        self.refused.into_iter().chain(too_late).collect()
    }
}

impl MessageRef {
    pub(super) fn of<M>(transmission: &Transmission<M>) -> Self {
        MessageRef { record: transmission.cause, nth: transmission.nth, copy: transmission.copy }
    }
}

/// A message that was found, and when it is due.
struct Found<M> {
    due: u64,
    transmission: Transmission<M>,
}

impl<P: Protocol> Engine<'_, P> {
    /// Does what is due. `waiting` are the messages of this tick that are not handled yet.
    #[inline]
    pub(super) fn intervene(&mut self, waiting: &[Transmission<P::Message>]) {
        if self.interventions.is_due(self.number) {
            self.intervene_now(waiting);
        }
    }

    fn intervene_now(&mut self, waiting: &[Transmission<P::Message>]) {
        while self.interventions.is_due(self.number)
            && let Some((index, one)) = self.interventions.pending.pop_front()
        {
            let done = match one.action {
                Action::Fault(fault) => self.apply_fault_by_hand(&fault),
                Action::Start(at) => self.start_by_hand(at),
                Action::Message(which, change) => self.change_message(which, change, waiting),
            };
            if let Err(reason) = done {
                self.interventions.refused.push(Refusal { index, reason });
            }
        }
    }

    fn apply_fault_by_hand(&mut self, fault: &FaultKind) -> Result<(), String> {
        match *fault {
            FaultKind::Crash(at) => {
                self.must_be(at, true)?;
                self.goes_down(at);
                self.record(at, Cause::NONE, || TraceEvent::Crashed);
            }
            FaultKind::Recover(at) => {
                self.must_be(at, false)?;
                let starts = self.comes_up(at);
                self.record(at, Cause::NONE, || TraceEvent::Recovered);
                if self.protocol.handles_rejoin() {
                    self.handle(at, Event::Rejoin, Origin::default());
                }
                if starts {
                    self.start(at, StartSignal::Planned);
                }
            }
            FaultKind::Cut(from, to) if self.link_faults.is_blocked(from, to) => {
                return Err(format!("the link between {from} and {to} is cut then; allowed: a link that is whole"));
            }
            FaultKind::Heal(from, to) if !self.link_faults.is_blocked(from, to) => {
                return Err(format!("the link between {from} and {to} is whole then; allowed: a link that is cut"));
            }
            FaultKind::HealAll if !self.link_faults.has_any() => {
                return Err("no link is cut then; allowed: while there is a cut or a partition".to_string());
            }
            FaultKind::Cut(..) | FaultKind::Heal(..) | FaultKind::HealAll | FaultKind::Partition(_) => {
                self.change_links(fault);
            }
            FaultKind::Join(_) | FaultKind::Retire(_) => {
                return Err("nodes join and retire at a tick, not by hand".to_string());
            }
        }
        Ok(())
    }

    fn must_be(&self, at: u32, up: bool) -> Result<(), String> {
        match (self.accounting.is_live(at), up) {
            (true, false) => Err(format!("node {at} is up then; allowed: a node that is down")),
            (false, true) => Err(format!("node {at} is down then; allowed: a node that is up")),
            _ => Ok(()),
        }
    }

    fn start_by_hand(&mut self, at: u32) -> Result<(), String> {
        self.must_be(at, true)?;
        self.start(at, StartSignal::Planned);
        Ok(())
    }

    fn change_message(
        &mut self,
        which: MessageRef,
        change: MessageChange,
        waiting: &[Transmission<P::Message>],
    ) -> Result<(), String> {
        let found = self.find(which, waiting).ok_or_else(|| {
            let MessageRef { record, nth, .. } = which;
            format!(
                "message {nth} of record {record} is not in flight then; allowed: one that was sent and has not arrived"
            )
        })?;
        match change {
            MessageChange::Drop => {
                self.take_out(which);
                self.drop_by_hand(&found.transmission);
            }
            MessageChange::Delay(ticks) => self.delay_by_hand(found, ticks, waiting),
            MessageChange::Duplicate => self.duplicate_by_hand(found)?,
            MessageChange::DeliverNow => {
                if self.keeps_order()
                    && let Some(ahead) = self
                        .on_same_link(&found.transmission, waiting)
                        .into_iter()
                        .find(|other| other.transmission.order < found.transmission.order)
                {
                    let MessageRef { record, nth, .. } = MessageRef::of(&ahead.transmission);
                    return Err(format!("the link keeps order, and message {nth} of record {record} is ahead of it"));
                }
                self.take_out(which);
                self.deliver(found.transmission);
            }
        }
        Ok(())
    }

    /// A copy of a message in flight.
    fn find(&self, which: MessageRef, waiting: &[Transmission<P::Message>]) -> Option<Found<P::Message>> {
        let due_now = waiting.iter().find(|one| MessageRef::of(one) == which && !self.is_withheld(one));
        let now = due_now.map(|one| Found { due: self.now, transmission: one.clone() });
        now.or_else(|| {
            let (due, transmission) = self.in_flight.find(self.now, |one| MessageRef::of(one) == which)?;
            Some(Found { due, transmission: transmission.clone() })
        })
    }

    fn is_withheld(&self, transmission: &Transmission<P::Message>) -> bool {
        self.interventions.withheld.contains(&MessageRef::of(transmission))
    }

    /// Removes a message that was found.
    fn take_out(&mut self, which: MessageRef) {
        if !self.in_flight.remove(|one| MessageRef::of(one) == which) {
            self.interventions.withheld.insert(which);
        }
    }

    fn drop_by_hand(&mut self, transmission: &Transmission<P::Message>) {
        // As with other losses, that of a copy is not recorded.
        if transmission.copy {
            return;
        }
        self.accounting.count_lost();
        self.acknowledge(transmission);
        self.record(transmission.to, Cause::of(transmission), || TraceEvent::Lost {
            peer: transmission.from,
            message: transmission.message.clone(),
            why: Loss::Dropped,
        });
    }

    fn keeps_order(&self) -> bool {
        !self.scenario.unordered
    }

    /// The other messages on the same link, in sending order.
    fn on_same_link(
        &self,
        transmission: &Transmission<P::Message>,
        waiting: &[Transmission<P::Message>],
    ) -> Vec<Found<P::Message>> {
        let is_other = |one: &Transmission<P::Message>| {
            let same =
                (one.from, one.to, out_port(one)) == (transmission.from, transmission.to, out_port(transmission));
            same && one.order != transmission.order
        };
        let due_now = waiting.iter().filter(|one| is_other(one) && !self.is_withheld(one));
        let mut others: Vec<Found<P::Message>> =
            due_now.map(|one| Found { due: self.now, transmission: one.clone() }).collect();
        self.in_flight.for_each(self.now, |due, one| {
            if is_other(one) {
                others.push(Found { due, transmission: one.clone() });
            }
        });
        others.sort_by_key(|other| other.transmission.order);
        others
    }

    fn delay_by_hand(&mut self, found: Found<P::Message>, ticks: u64, waiting: &[Transmission<P::Message>]) {
        let due = found.due.saturating_add(ticks);
        let mut moved = vec![found];
        if self.keeps_order() {
            let order = moved[0].transmission.order;
            let behind = self.on_same_link(&moved[0].transmission, waiting).into_iter();
            moved.extend(behind.filter(|other| other.transmission.order > order && other.due <= due));
            if let (Route::Link { out, .. }, from) = (moved[0].transmission.route, moved[0].transmission.from) {
                let link = self.in_flight.needs_links().then(|| self.routing.link(from, out));
                self.in_flight.hold_back(&moved[0].transmission, link, due);
            } else {
                self.in_flight.hold_back(&moved[0].transmission, None, due);
            }
        }
        for Found { transmission, .. } in moved {
            self.take_out(MessageRef::of(&transmission));
            self.in_flight.put_again(due, transmission);
        }
    }

    fn duplicate_by_hand(&mut self, found: Found<P::Message>) -> Result<(), String> {
        let Found { due, transmission } = found;
        if transmission.copy || self.scenario.duplicate > 0.0 {
            return Err("it may have a copy already; allowed: a message that was sent once".to_string());
        }
        if !self.interventions.duplicated.insert(MessageRef::of(&transmission)) {
            return Err("it has a copy already; allowed: one copy of a message".to_string());
        }
        // A message of this tick is delivered soon; its copy comes with the next tick.
        let due = due.max(self.now + 1);
        self.in_flight.put_again(due, Transmission { copy: true, ..transmission });
        Ok(())
    }
}

/// The sender's port, for messages along links.
fn out_port<M>(transmission: &Transmission<M>) -> Option<u32> {
    match transmission.route {
        Route::Link { out, .. } => Some(out.0),
        Route::Direct(_) | Route::Nowhere(_) => None,
    }
}
