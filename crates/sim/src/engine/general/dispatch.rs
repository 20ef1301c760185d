//! A node's turn: handles the node's inputs of one tick and applies the effects.

use hustings_protocol::{Change, Effect, Event, Id, Loss, Message, Port, Protocol, Recorder, StartReason, TraceEvent};

use super::in_flight::{Route, Transmission};
use super::reachability::{Components, ReachabilityUpdate};
use super::retransmission::NO_SEQUENCE_NUMBER;
use super::tick_inputs::{DueTimer, NodeInputs, StartSignal, StatusChange};
use super::{Cause, Engine, SequenceNumber};
use crate::scenario::Medium;

/// Where an event comes from.
#[derive(Clone, Copy, Default)]
pub(super) struct Origin {
    peer: Option<u32>,
    cause: Cause,
    /// For a message that returned over a link: which message it was.
    lost: Option<LostMessage>,
}

#[derive(Clone, Copy)]
struct LostMessage {
    port: Port,
    to: u32,
    sequence_number: SequenceNumber,
}

/// What a handler did.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Nothing,
    /// Only periodic messages and timers.
    Periodic,
    Progress,
}

impl Activity {
    fn of<M: Message>(effects: &[Effect<M>]) -> Self {
        match effects {
            [] => Activity::Nothing,
            effects if effects.iter().any(Effect::is_progress) => Activity::Progress,
            _ => Activity::Periodic,
        }
    }
}

impl<P: Protocol> Engine<'_, P> {
    pub(super) fn turn(&mut self, at: u32, turns: &mut NodeInputs<'_, P::Message>) {
        while let Some(status_change) = turns.status_change(at) {
            self.record(at, Cause::NONE, || match status_change {
                StatusChange::Crashed => TraceEvent::Crashed,
                StatusChange::Recovered => TraceEvent::Recovered,
                StatusChange::Joined => TraceEvent::Joined,
            });
            if status_change != StatusChange::Crashed && self.protocol.handles_rejoin() && self.accounting.is_live(at) {
                self.handle(at, Event::Rejoin, Origin::default());
            }
            self.intervene(turns.waiting());
        }
        while let Some(signal) = turns.signal(at) {
            self.start(at, signal);
            self.intervene(turns.waiting());
        }
        while let Some(update) = turns.update(at) {
            self.notify_reachability(update);
            self.intervene(turns.waiting());
        }
        while !self.in_flight.is_out_of_memory()
            && let Some(transmission) = turns.transmission(at)
        {
            if !self.interventions.withholds(&transmission) {
                self.deliver(transmission);
            }
            self.intervene(turns.waiting());
        }
        while let Some(transmission) = turns.returned(at) {
            self.deliver_returned(transmission);
            self.intervene(turns.waiting());
        }
        while let Some(timer) = turns.timer(at) {
            self.fire_timer(timer);
            self.intervene(turns.waiting());
        }
        while turns.retires(at) {
            self.retire(at);
            self.intervene(turns.waiting());
        }
    }

    pub(super) fn start(&mut self, at: u32, signal: StartSignal) {
        if at >= self.accounting.size() || !self.accounting.is_live(at) {
            return;
        }
        let leader_is_down = || self.accounting.leader_of(at).is_some_and(|leader| !self.accounting.is_live(leader));
        let reason = match signal {
            StartSignal::LeaderLost => StartReason::LeaderLost,
            StartSignal::Planned if leader_is_down() => StartReason::LeaderLost,
            StartSignal::Planned => StartReason::Start,
        };
        self.handle(at, Event::Start(reason), Origin::default());
    }

    fn notify_reachability(&mut self, ReachabilityUpdate { at, incarnation, reach }: ReachabilityUpdate) {
        if self.accounting.is_live(at) && self.incarnations[at as usize] == incarnation {
            self.handle(at, Event::Change(Change::Reachable(reach)), Origin::default());
        }
    }

    pub(super) fn deliver(&mut self, transmission: Transmission<P::Message>) {
        let Some(why) = self.loss_of(&transmission) else {
            self.acknowledge(&transmission);
            self.accounting.count_delivered(transmission.to, self.now, transmission.message.is_periodic());
            let origin = Origin { peer: Some(transmission.from), cause: Cause::of(&transmission), lost: None };
            let event = match transmission.route {
                Route::Link { into, .. } => Event::Message { from: into, message: transmission.message },
                Route::Direct(_) | Route::Nowhere(_) => {
                    Event::Direct { from: self.cursor.id_of(transmission.from), message: transmission.message }
                }
            };
            self.handle(transmission.to, event, origin);
            return;
        };
        if transmission.copy {
            return;
        }
        self.accounting.count_lost();
        self.record(transmission.to, Cause::of(&transmission), || TraceEvent::Lost {
            peer: transmission.from,
            message: transmission.message.clone(),
            why,
        });
        if why == Loss::ReceiverDown && !matches!(transmission.route, Route::Nowhere(_)) {
            self.returned.push(transmission);
        } else {
            self.acknowledge(&transmission);
        }
    }

    /// Why a message does not arrive.
    fn loss_of(&mut self, transmission: &Transmission<P::Message>) -> Option<Loss> {
        let is_stopped = match transmission.route {
            Route::Nowhere(_) => return Some(Loss::ReceiverDown),
            Route::Link { .. } => self.link_faults.blocks(transmission.from, transmission.to, transmission.sent),
            Route::Direct(_) => !self.is_connected(transmission.from, transmission.to),
        };
        if is_stopped {
            Some(Loss::Cut)
        } else if transmission.lost_by_chance {
            Some(Loss::Chance)
        } else if !self.accounting.is_live(transmission.to) {
            Some(Loss::ReceiverDown)
        } else {
            None
        }
    }

    /// Whether a message sent by id can get through now. To and from an outside informer, only a partition stops it.
    fn is_connected(&mut self, from: u32, to: u32) -> bool {
        if self.link_faults.never_used() {
            return true;
        }
        let components =
            self.components.get_or_insert_with(|| Components::new(&self.scenario.network, &self.link_faults));
        components.same_component(from, to).unwrap_or_else(|| !self.link_faults.separates(from, to))
    }

    pub(super) fn acknowledge(&mut self, transmission: &Transmission<P::Message>) {
        if let Route::Link { .. } = transmission.route
            && !transmission.copy
        {
            self.retransmit_buffer.acknowledge(transmission.from, transmission.sequence_number);
        }
    }

    fn deliver_returned(&mut self, transmission: Transmission<P::Message>) {
        let at = transmission.from;
        if self.incarnations[at as usize] != transmission.incarnation {
            return;
        }
        let mut origin = Origin { peer: Some(transmission.to), cause: Cause::of(&transmission), lost: None };
        match transmission.route {
            Route::Link { out, .. } => {
                if self.retransmit_buffer.was_resent(at, transmission.sequence_number) {
                    return;
                }
                origin.lost =
                    Some(LostMessage { port: out, to: transmission.to, sequence_number: transmission.sequence_number });
                self.handle(at, Event::Unreachable { port: out, message: transmission.message }, origin);
                self.retransmit_buffer.acknowledge(at, transmission.sequence_number);
            }
            Route::Direct(to) | Route::Nowhere(to) => {
                self.handle(at, Event::UnreachableDirect { to, message: transmission.message }, origin);
            }
        }
    }

    fn fire_timer(&mut self, timer: DueTimer) {
        if self.incarnations[timer.at as usize] != timer.incarnation {
            return;
        }
        let before = self.states[timer.at as usize].clone();
        let cause = Cause { record: Some(timer.cause), ..Cause::NONE };
        let origin = Origin { cause, ..Origin::default() };
        let acted = self.handle(timer.at, Event::Timer(timer.timer), origin);
        let is_news = if timer.timer.is_periodic() {
            acted == Activity::Progress
        } else {
            acted != Activity::Nothing || self.protocol.is_progress(&before, &self.states[timer.at as usize])
        };
        if is_news {
            self.accounting.mark_active(self.now);
        }
    }

    fn retire(&mut self, at: u32) {
        if at >= self.accounting.size() || !self.accounting.is_live(at) || self.retired.contains(&at) {
            return;
        }
        self.handle(at, Event::Retire, Origin::default());
        self.record(at, Cause::NONE, || TraceEvent::Retired);
        self.retired.push(at);
    }

    /// Hands an event to its node and applies the effects. Returns what the handler did.
    pub(super) fn handle(&mut self, at: u32, event: Event<P::Message>, origin: Origin) -> Activity {
        let observed = self.observer.is_some().then(|| event.clone());
        let (stream, drawn) = (&mut self.coins[at as usize], &mut self.drawn);
        let is_observed = observed.is_some();
        let coins = |bound| {
            let coin = stream.below(bound);
            if is_observed {
                drawn.push((bound, coin));
            }
            coin
        };
        let mut context = Recorder::new(self.cursor.of(at), coins, &mut self.effects);
        self.protocol.handle(&mut self.states[at as usize], event, &mut context);
        let number = self.number;
        let mut effects = std::mem::take(&mut self.effects);
        if let Some(event) = observed {
            let coins = std::mem::take(&mut self.drawn);
            let effects = effects.clone();
            self.record(at, origin.cause, || TraceEvent::Handled { event, peer: origin.peer, coins, effects });
        }
        let acted = Activity::of(&effects);
        self.nth = 0;
        for effect in effects.drain(..) {
            self.apply(at, effect, number, origin.lost);
        }
        self.effects = effects;
        acted
    }

    fn apply(&mut self, at: u32, effect: Effect<P::Message>, cause: u64, lost: Option<LostMessage>) {
        match effect {
            Effect::Send(port, message) => {
                self.accounting.count_sent(&message, 1);
                self.send(at, port, message, cause);
            }
            Effect::SendAllBut(except, message) => {
                let ports = 0..self.routing.degree(at);
                let excepted = except.is_some_and(|port| ports.contains(&port.0));
                let receivers = u64::from(ports.end) - u64::from(excepted);
                let count = match self.scenario.medium {
                    Medium::Links => receivers,
                    Medium::Broadcast => receivers.min(1),
                };
                self.accounting.count_sent(&message, count);
                for port in ports.map(Port).filter(|port| Some(*port) != except) {
                    self.send(at, port, message.clone(), cause);
                }
            }
            Effect::SendRange(ports, message) => {
                self.accounting.count_sent(&message, ports.len() as u64);
                for port in ports.map(Port) {
                    self.send(at, port, message.clone(), cause);
                }
            }
            Effect::SendDirect(to, message) => {
                self.accounting.count_sent(&message, 1);
                self.send_direct(at, self.accounting.position(to), to, message, cause);
            }
            Effect::SendTo(member, message) => {
                self.accounting.count_sent(&message, 1);
                let to = Some(member).filter(|&member| member < self.accounting.size());
                let id = to.map_or(Id(u64::MAX), |to| self.cursor.id_of(to));
                self.send_direct(at, to, id, message, cause);
            }
            Effect::SetTimer(after, timer) => {
                let timer = DueTimer { at, incarnation: self.incarnations[at as usize], cause, timer };
                let due = self.now.saturating_add(after.max(1));
                if due <= self.scenario.until {
                    self.timers.put(due, timer);
                }
            }
            Effect::Lead => self.accounting.set_leading(at, self.now),
            Effect::Follow(leader) => self.accounting.set_following(at, leader, self.now),
            Effect::Forget => self.accounting.clear_leader(at, self.now),
            Effect::Learn(fact) => self.accounting.record_fact(at, fact),
            Effect::Skip(port) => self.skip(at, port, cause, lost),
        }
    }

    #[inline]
    fn send(&mut self, at: u32, port: Port, message: P::Message, cause: u64) {
        let Some((to, into)) = self.routing.target(at, port) else {
            panic!("node {at} has {} ports, and its protocol sends to port {port}", self.routing.degree(at));
        };
        let sequence_number = self.retransmit_buffer.keep(at, port, to, &message);
        let link = self.in_flight.needs_links().then(|| self.routing.link(at, port));
        let transmission = self.transmission(at, to, Route::Link { out: port, into }, message, cause);
        self.in_flight.send(Transmission { sequence_number, ..transmission }, link);
    }

    fn send_direct(&mut self, at: u32, to: Option<u32>, id: Id, message: P::Message, cause: u64) {
        let (to, route) = match to {
            Some(to) => (to, Route::Direct(id)),
            None => (at, Route::Nowhere(id)),
        };
        let transmission = self.transmission(at, to, route, message, cause);
        self.in_flight.send(transmission, None);
    }

    #[inline]
    fn transmission(
        &mut self,
        from: u32,
        to: u32,
        route: Route,
        message: P::Message,
        cause: u64,
    ) -> Transmission<P::Message> {
        let nth = self.nth;
        self.nth += 1;
        Transmission {
            from,
            to,
            route,
            incarnation: self.incarnations[from as usize],
            lost_by_chance: false,
            copy: false,
            sent: self.now,
            order: 0,
            cause,
            nth,
            sequence_number: NO_SEQUENCE_NUMBER,
            message,
        }
    }

    /// On a ring: removes the peer that could not be reached, or else the one behind the port, and sends everything
    /// from the lost message on to the next one.
    fn skip(&mut self, at: u32, port: Port, cause: u64, lost: Option<LostMessage>) {
        if !self.routing.is_ring() {
            return;
        }
        let lost = lost.filter(|lost| lost.port == port);
        let Some(peer) = lost.map(|lost| lost.to).or(self.routing.target(at, port).map(|(peer, _)| peer)) else {
            return;
        };
        let before = [Port::NEXT, Port::PREVIOUS].map(|side| self.routing.target(at, side));
        self.routing.remove_peer(at, port, peer);
        for (side, before) in [Port::NEXT, Port::PREVIOUS].into_iter().zip(before) {
            if self.routing.target(at, side) != before {
                self.in_flight.link_changed(self.routing.link(at, side));
            }
        }
        let Some(lost) = lost else { return };
        for (port, message) in self.retransmit_buffer.take(at, peer, lost.sequence_number) {
            self.accounting.count_sent(&message, 1);
            self.send(at, port, message, cause);
        }
    }
}
