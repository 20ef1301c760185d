//! A node's turn: what it handles in one tick, and what comes of it.

use hustings_protocol::{Change, Effect, Event, Id, Loss, Message, Port, Protocol, Recorder, StartReason, TraceEvent};

use super::agenda::{Alarm, Signal, Turnabout, Turns};
use super::post::{Mail, Way};
use super::reach::{Parts, Word};
use super::resends::NO_TICKET;
use super::{Cause, Engine, Ticket};
use crate::scenario::Medium;

/// Where an event comes from.
#[derive(Clone, Copy, Default)]
struct Origin {
    peer: Option<u32>,
    cause: Cause,
    /// For what came back along a link: which message it was.
    lost: Option<LostMail>,
}

#[derive(Clone, Copy)]
struct LostMail {
    port: Port,
    to: u32,
    ticket: Ticket,
}

/// What a handler did.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Acted {
    Nothing,
    /// Only what belongs to traffic that never ends.
    Again,
    News,
}

impl Acted {
    fn of<M: Message>(effects: &[Effect<M>]) -> Self {
        match effects {
            [] => Acted::Nothing,
            effects if effects.iter().any(Effect::is_news) => Acted::News,
            _ => Acted::Again,
        }
    }
}

impl<P: Protocol> Engine<'_, P> {
    pub(super) fn turn(&mut self, at: u32, turns: &mut Turns<'_, P::Message>) {
        while let Some(turnabout) = turns.turnabout(at) {
            self.record(at, Cause::NONE, || match turnabout {
                Turnabout::Crashed => TraceEvent::Crashed,
                Turnabout::Recovered => TraceEvent::Recovered,
                Turnabout::Joined => TraceEvent::Joined,
            });
            if turnabout != Turnabout::Crashed && self.protocol.handles_rejoin() && self.books.is_live(at) {
                self.handle(at, Event::Rejoin, Origin::default());
            }
        }
        while let Some(signal) = turns.signal(at) {
            self.start(at, signal);
        }
        while let Some(word) = turns.word(at) {
            self.tell(word);
        }
        while let Some(mail) = turns.mail(at) {
            self.arrive(mail);
        }
        while let Some(mail) = turns.returned(at) {
            self.give_back(mail);
        }
        while let Some(alarm) = turns.alarm(at) {
            self.ring(alarm);
        }
        while turns.retires(at) {
            self.retire(at);
        }
    }

    fn start(&mut self, at: u32, signal: Signal) {
        if at >= self.books.size() || !self.books.is_live(at) {
            return;
        }
        let leader_is_down = || self.books.named(at).is_some_and(|leader| !self.books.is_live(leader));
        let reason = match signal {
            Signal::LeaderLost => StartReason::LeaderLost,
            Signal::Planned if leader_is_down() => StartReason::LeaderLost,
            Signal::Planned => StartReason::Start,
        };
        self.handle(at, Event::Start(reason), Origin::default());
    }

    fn tell(&mut self, Word { at, life, reach }: Word) {
        if self.books.is_live(at) && self.lives[at as usize] == life {
            self.handle(at, Event::Change(Change::Reachable(reach)), Origin::default());
        }
    }

    fn arrive(&mut self, mail: Mail<P::Message>) {
        let Some(why) = self.obstacle(&mail) else {
            self.settle(&mail);
            self.books.delivered(mail.to, self.now, mail.message.is_periodic());
            let origin = Origin { peer: Some(mail.from), cause: Cause::of(&mail), lost: None };
            let event = match mail.way {
                Way::Link { into, .. } => Event::Message { from: into, message: mail.message },
                Way::Direct(_) | Way::Nowhere(_) => {
                    Event::Direct { from: self.seat.id_of(mail.from), message: mail.message }
                }
            };
            self.handle(mail.to, event, origin);
            return;
        };
        if mail.copy {
            return;
        }
        self.books.lost();
        self.record(mail.to, Cause::of(&mail), || TraceEvent::Lost {
            peer: mail.from,
            message: mail.message.clone(),
            why,
        });
        if why == Loss::ReceiverDown && !matches!(mail.way, Way::Nowhere(_)) {
            self.returned.push(mail);
        } else {
            self.settle(&mail);
        }
    }

    /// What keeps mail from arriving.
    fn obstacle(&mut self, mail: &Mail<P::Message>) -> Option<Loss> {
        let is_stopped = match mail.way {
            Way::Nowhere(_) => return Some(Loss::ReceiverDown),
            Way::Link { .. } => self.barriers.stop(mail.from, mail.to, mail.sent),
            Way::Direct(_) => !self.is_way(mail.from, mail.to),
        };
        if is_stopped {
            Some(Loss::Cut)
        } else if mail.unlucky {
            Some(Loss::Chance)
        } else if !self.books.is_live(mail.to) {
            Some(Loss::ReceiverDown)
        } else {
            None
        }
    }

    /// Whether there is now a way for what is sent by id. To an informer outside only a partition bars it.
    fn is_way(&mut self, from: u32, to: u32) -> bool {
        if self.barriers.are_none() {
            return true;
        }
        let parts = self.parts.get_or_insert_with(|| Parts::new(&self.scenario.network, &self.barriers));
        parts.join(from, to).unwrap_or_else(|| !self.barriers.part(from, to))
    }

    fn settle(&mut self, mail: &Mail<P::Message>) {
        if let Way::Link { .. } = mail.way
            && !mail.copy
        {
            self.resends.settle(mail.from, mail.ticket);
        }
    }

    fn give_back(&mut self, mail: Mail<P::Message>) {
        let at = mail.from;
        if self.lives[at as usize] != mail.life {
            return;
        }
        let mut origin = Origin { peer: Some(mail.to), cause: Cause::of(&mail), lost: None };
        match mail.way {
            Way::Link { out, .. } => {
                if self.resends.was_resent(at, mail.ticket) {
                    return;
                }
                origin.lost = Some(LostMail { port: out, to: mail.to, ticket: mail.ticket });
                self.handle(at, Event::Unreachable { port: out, message: mail.message }, origin);
                self.resends.settle(at, mail.ticket);
            }
            Way::Direct(to) | Way::Nowhere(to) => {
                self.handle(at, Event::UnreachableDirect { to, message: mail.message }, origin);
            }
        }
    }

    fn ring(&mut self, alarm: Alarm) {
        if self.lives[alarm.at as usize] != alarm.life {
            return;
        }
        let before = self.states[alarm.at as usize].clone();
        let cause = Cause { record: Some(alarm.cause), ..Cause::NONE };
        let origin = Origin { cause, ..Origin::default() };
        let acted = self.handle(alarm.at, Event::Timer(alarm.timer), origin);
        let is_news = if alarm.timer.is_periodic() {
            acted == Acted::News
        } else {
            acted != Acted::Nothing || self.protocol.is_progress(&before, &self.states[alarm.at as usize])
        };
        if is_news {
            self.books.timer_acted(self.now);
        }
    }

    fn retire(&mut self, at: u32) {
        if at >= self.books.size() || !self.books.is_live(at) || self.retired.contains(&at) {
            return;
        }
        self.handle(at, Event::Retire, Origin::default());
        self.record(at, Cause::NONE, || TraceEvent::Retired);
        self.retired.push(at);
    }

    /// Hands an event to its node and carries out what it does. Says what that was.
    fn handle(&mut self, at: u32, event: Event<P::Message>, origin: Origin) -> Acted {
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
        let mut context = Recorder::new(self.seat.of(at), coins, &mut self.effects);
        self.protocol.handle(&mut self.states[at as usize], event, &mut context);
        let number = self.number;
        let mut effects = std::mem::take(&mut self.effects);
        if let Some(event) = observed {
            let coins = std::mem::take(&mut self.drawn);
            let effects = effects.clone();
            self.record(at, origin.cause, || TraceEvent::Handled { event, peer: origin.peer, coins, effects });
        }
        let acted = Acted::of(&effects);
        self.nth = 0;
        for effect in effects.drain(..) {
            self.carry_out(at, effect, number, origin.lost);
        }
        self.effects = effects;
        acted
    }

    fn carry_out(&mut self, at: u32, effect: Effect<P::Message>, cause: u64, lost: Option<LostMail>) {
        match effect {
            Effect::Send(port, message) => {
                self.books.sent(&message, 1);
                self.send(at, port, message, cause);
            }
            Effect::SendAllBut(except, message) => {
                let ports = 0..self.routes.degree(at);
                let excepted = except.is_some_and(|port| ports.contains(&port.0));
                let receivers = u64::from(ports.end) - u64::from(excepted);
                let count = match self.scenario.medium {
                    Medium::Links => receivers,
                    Medium::Broadcast => receivers.min(1),
                };
                self.books.sent(&message, count);
                for port in ports.map(Port).filter(|port| Some(*port) != except) {
                    self.send(at, port, message.clone(), cause);
                }
            }
            Effect::SendRange(ports, message) => {
                self.books.sent(&message, ports.len() as u64);
                for port in ports.map(Port) {
                    self.send(at, port, message.clone(), cause);
                }
            }
            Effect::SendDirect(to, message) => {
                self.books.sent(&message, 1);
                self.send_straight(at, self.books.position(to), to, message, cause);
            }
            Effect::SendTo(member, message) => {
                self.books.sent(&message, 1);
                let to = Some(member).filter(|&member| member < self.books.size());
                let id = to.map_or(Id(u64::MAX), |to| self.seat.id_of(to));
                self.send_straight(at, to, id, message, cause);
            }
            Effect::SetTimer(after, timer) => {
                let alarm = Alarm { at, life: self.lives[at as usize], cause, timer };
                let due = self.now.saturating_add(after.max(1));
                if due <= self.scenario.until {
                    self.alarms.put(due, alarm);
                }
            }
            Effect::Lead => self.books.leads_now(at, self.now),
            Effect::Follow(leader) => self.books.follows(at, leader, self.now),
            Effect::Forget => self.books.forgets(at, self.now),
            Effect::Learn(fact) => self.books.learns(at, fact),
            Effect::Skip(port) => self.skip(at, port, cause, lost),
        }
    }

    #[inline]
    fn send(&mut self, at: u32, port: Port, message: P::Message, cause: u64) {
        let Some((to, into)) = self.routes.target(at, port) else {
            panic!("node {at} has {} ports, and its protocol sends to port {port}", self.routes.degree(at));
        };
        let ticket = self.resends.keep(at, port, to, &message);
        let lane = self.post.needs_lanes().then(|| self.routes.lane(at, port));
        let mail = self.mail(at, to, Way::Link { out: port, into }, message, cause);
        self.post.send(Mail { ticket, ..mail }, lane);
    }

    fn send_straight(&mut self, at: u32, to: Option<u32>, id: Id, message: P::Message, cause: u64) {
        let (to, way) = match to {
            Some(to) => (to, Way::Direct(id)),
            None => (at, Way::Nowhere(id)),
        };
        let mail = self.mail(at, to, way, message, cause);
        self.post.send(mail, None);
    }

    #[inline]
    fn mail(&mut self, from: u32, to: u32, way: Way, message: P::Message, cause: u64) -> Mail<P::Message> {
        let nth = self.nth;
        self.nth += 1;
        Mail {
            from,
            to,
            way,
            life: self.lives[from as usize],
            unlucky: false,
            copy: false,
            sent: self.now,
            order: 0,
            cause,
            nth,
            ticket: NO_TICKET,
            message,
        }
    }

    /// On a ring: strikes the neighbour that could not be reached, or else the one behind the port, and sends to the
    /// next one everything from the lost message on.
    fn skip(&mut self, at: u32, port: Port, cause: u64, lost: Option<LostMail>) {
        if !self.routes.is_ring() {
            return;
        }
        let lost = lost.filter(|lost| lost.port == port);
        let Some(peer) = lost.map(|lost| lost.to).or(self.routes.target(at, port).map(|(peer, _)| peer)) else {
            return;
        };
        let before = [Port::NEXT, Port::PREVIOUS].map(|side| self.routes.target(at, side));
        self.routes.strike(at, port, peer);
        for (side, before) in [Port::NEXT, Port::PREVIOUS].into_iter().zip(before) {
            if self.routes.target(at, side) != before {
                self.post.lane_turned(self.routes.lane(at, side));
            }
        }
        let Some(lost) = lost else { return };
        for (port, message) in self.resends.take(at, peer, lost.ticket) {
            self.books.sent(&message, 1);
            self.send(at, port, message, cause);
        }
    }
}
