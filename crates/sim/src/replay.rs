//! Replay: a recorded run, applied step by step to the protocol as it is now.
//!
//! Only the inputs are taken from the records: start signals, arrivals, losses, returned mail, timers, coins, who went
//! down and came up. Everything else is worked out anew and compared: that each message was really under way from that
//! sender, as the message of that number among those of the record that is named as its cause, and that the protocol
//! does exactly what it did then. So a trace that replays is a run of this protocol, and its outcome is worked out
//! again, not believed.
//!
//! The messages of a notice are counted from their records: they are believed as far as that many nodes follow that
//! leader, or it could answer them.
//!
//! What is not checked is why the environment did what it did: delays, chance and start signals. A run of another
//! driver with other delays (a counterexample of a checker) replays as well.

mod check;
mod error;
mod letters;
mod notices;

use hustings_protocol::{Effect, Event, Id, Loss, Message, Port, Protocol, Rank, Record, Recorder, TraceEvent};

pub use self::error::ReplayError;
use self::letters::{Envelope, Letters, Search, Timers};
use self::notices::Notices;
use crate::engine::accounting::Accounting;
use crate::engine::general::{self, NodeCursor, RetransmitBuffer, Route, RoutingTable, SequenceNumber};
use crate::outcome::Outcome;
use crate::scenario::{Medium, Notice, Scenario};
use crate::topology::Network;

/// What must be known of a run beside its records.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting<'a> {
    /// Who is linked to whom.
    pub network: &'a Network,
    /// What a send to all neighbours costs.
    pub medium: Medium,
    /// Positions that are down until they join.
    pub absent: Vec<u32>,
    /// Whether a message may be delivered twice.
    pub duplicates: bool,
    /// How a dead leader is noticed.
    pub notice: Notice,
}

impl<'a> Setting<'a> {
    /// The setting of a scenario.
    pub fn of(scenario: &'a Scenario) -> Self {
        Setting {
            network: &scenario.network,
            medium: scenario.medium,
            absent: general::absent(scenario),
            duplicates: scenario.duplicate > 0.0,
            notice: scenario.notice,
        }
    }
}

/// Replays a whole run. The outcome is that of the run itself.
pub fn replay<P: Protocol>(
    protocol: &P,
    ranks: &[P::Rank],
    setting: &Setting<'_>,
    records: impl IntoIterator<Item = Record<P::Message>>,
) -> Result<Outcome, ReplayError> {
    let mut replay = Replay::new(protocol, ranks, setting)?;
    records.into_iter().try_for_each(|record| replay.step(record))?;
    Ok(replay.finish())
}

/// A replay under way, for records that come one by one.
pub struct Replay<'a, P: Protocol> {
    protocol: &'a P,
    ranks: &'a [P::Rank],
    setting: &'a Setting<'a>,
    /// The number that the next record must have.
    number: u64,
    tick: u64,
    states: Vec<P::State>,
    /// How often each node has gone down.
    lives: Vec<u32>,
    seat: Option<NodeCursor<'a, P::Rank>>,
    books: Accounting,
    routes: RoutingTable<'a>,
    resends: RetransmitBuffer<P::Message>,
    letters: Letters<P::Message>,
    timers: Timers,
    notices: Notices,
    effects: Vec<Effect<P::Message>>,
}

/// What a record says of its cause: which record, which of its messages, whether its copy.
type Cause = (Option<u64>, u32, bool);

/// What came back: which port, whose, under which ticket.
type Returned = (Port, u32, SequenceNumber);

impl<'a, P: Protocol> Replay<'a, P> {
    /// Before the first record. There must be a rank for each position.
    pub fn new(protocol: &'a P, ranks: &'a [P::Rank], setting: &'a Setting<'a>) -> Result<Self, ReplayError> {
        let size = setting.network.size();
        if ranks.len() != size as usize {
            return Err(ReplayError::Ranks { ranks: ranks.len(), size });
        }
        let routes = RoutingTable::new(setting.network);
        let mut books = Accounting::new(ranks, setting.network.members(), P::Message::KINDS.len());
        for &at in &setting.absent {
            if at >= size {
                return Err(ReplayError::Absent { at, size });
            }
            books.mark_down(at, 0);
        }
        Ok(Replay {
            protocol,
            ranks,
            setting,
            number: 0,
            tick: 0,
            states: (0..size).map(|_| protocol.init()).collect(),
            lives: vec![0; size as usize],
            seat: (size > 0).then(|| NodeCursor::new(setting.network, ranks)),
            books,
            resends: if routes.is_ring() { RetransmitBuffer::on(size) } else { RetransmitBuffer::off() },
            routes,
            letters: Letters::new(setting.duplicates),
            timers: Timers::default(),
            notices: Notices::new(setting.notice),
            effects: Vec::new(),
        })
    }

    /// Applies one record.
    pub fn step(&mut self, record: Record<P::Message>) -> Result<(), ReplayError> {
        let Record { number, tick, node, cause, nth, copy, what } = record;
        let cause = (cause, nth, copy);
        if number != self.number {
            return Err(ReplayError::Number { expected: self.number, found: number });
        }
        if tick < self.tick {
            return Err(ReplayError::Tick { number, tick, last: self.tick });
        }
        self.check_position(node)?;
        if tick > self.tick {
            self.books.close_tick(self.tick);
            self.tick = tick;
        }
        match what {
            TraceEvent::Handled { event, peer, coins, effects } => {
                self.handled(node, event, cause, peer, &coins, &effects)?;
            }
            TraceEvent::Lost { peer, message, why } => self.lost(node, peer, cause, &message, why)?,
            TraceEvent::Notice { kind, count } => {
                self.notices.count(number, tick, node, (kind, count), &self.books)?;
            }
            TraceEvent::Crashed => self.goes_down(node, "crashes")?,
            TraceEvent::Retired => self.goes_down(node, "retires")?,
            TraceEvent::Recovered => self.comes_up(node, "recovers")?,
            TraceEvent::Joined => self.comes_up(node, "joins")?,
            TraceEvent::LinkCut { peer } | TraceEvent::LinkHealed { peer } => self.check_position(peer)?,
        }
        self.number += 1;
        Ok(())
    }

    /// After the last record: what the run came to.
    pub fn finish(mut self) -> Outcome {
        self.books.close_tick(self.tick);
        self.books.finish(self.ranks, self.letters.is_any_under_way(), self.notices.counts())
    }

    fn check_position(&self, at: u32) -> Result<(), ReplayError> {
        let size = self.setting.network.size();
        if at < size { Ok(()) } else { Err(ReplayError::Position { number: self.number, at, size }) }
    }

    fn goes_down(&mut self, at: u32, what: &'static str) -> Result<(), ReplayError> {
        if !self.books.is_live(at) {
            return Err(ReplayError::Turnabout { number: self.number, at, what, state: "down" });
        }
        self.books.mark_down(at, self.tick);
        self.lives[at as usize] += 1;
        self.resends.forget(at);
        Ok(())
    }

    fn comes_up(&mut self, at: u32, what: &'static str) -> Result<(), ReplayError> {
        if self.books.is_live(at) {
            return Err(ReplayError::Turnabout { number: self.number, at, what, state: "up" });
        }
        self.books.mark_up(at);
        self.states[at as usize] = self.protocol.init();
        Ok(())
    }

    fn lost(
        &mut self,
        at: u32,
        peer: u32,
        (cause, nth, copy): Cause,
        message: &P::Message,
        why: Loss,
    ) -> Result<(), ReplayError> {
        let number = self.number;
        let search = Search { cause, nth, copy, from: Some(peer), to: Some(at), message };
        let lost = self.letters.lose(&search, why);
        let lost = lost.map_err(|none| ReplayError::not_under_way(number, at, &search, none))?;
        if why == Loss::ReceiverDown && !matches!(lost.way, Route::Nowhere(_)) {
            if self.books.is_live(at) {
                return Err(ReplayError::ReceiverUp { number, at });
            }
        } else if let Route::Link { .. } = lost.way {
            self.resends.acknowledge(lost.from, lost.ticket);
        }
        self.books.count_lost();
        Ok(())
    }

    fn handled(
        &mut self,
        at: u32,
        event: Event<P::Message>,
        cause: Cause,
        peer: Option<u32>,
        coins: &[(u64, u64)],
        effects: &[Effect<P::Message>],
    ) -> Result<(), ReplayError> {
        if !self.books.is_live(at) {
            return Err(ReplayError::Down { number: self.number, at });
        }
        let returned = self.check_event(at, &event, cause, peer)?;
        let timer = if let Event::Timer(timer) = event { Some(timer) } else { None };
        let before = timer.map(|timer| (timer, self.states[at as usize].clone()));
        self.apply(at, event, coins)?;
        self.compare(effects)?;
        let is_news = before.is_some_and(|(timer, before)| match timer.is_periodic() {
            true => effects.iter().any(Effect::is_progress),
            false => !effects.is_empty() || self.protocol.is_progress(&before, &self.states[at as usize]),
        });
        if is_news {
            self.books.mark_active(self.tick);
        }
        let mut now = std::mem::take(&mut self.effects);
        for effect in now.drain(..) {
            self.carry_out(at, effect, returned)?;
        }
        self.effects = now;
        if let Some((_, _, ticket)) = returned {
            self.resends.acknowledge(at, ticket);
        }
        Ok(())
    }

    /// Hands the event to the protocol, with the coins that it drew then.
    fn apply(&mut self, at: u32, event: Event<P::Message>, coins: &[(u64, u64)]) -> Result<(), ReplayError> {
        let (mut script, mut wrong) = (coins.iter(), None);
        let draw = |bound: u64| match script.next() {
            Some(&(recorded, coin)) if recorded == bound && coin < bound => coin,
            other => {
                wrong.get_or_insert((other.copied(), bound));
                0
            }
        };
        // A node handles the event, so there is one, and its seat.
        let Some(seat) = &mut self.seat else { return Ok(()) };
        self.effects.clear();
        let mut context = Recorder::new(seat.of(at), draw, &mut self.effects);
        self.protocol.handle(&mut self.states[at as usize], event, &mut context);
        if let Some((recorded, bound)) = wrong {
            return Err(ReplayError::Coin { number: self.number, recorded, bound });
        }
        match script.len() {
            0 => Ok(()),
            left => Err(ReplayError::CoinsLeft { number: self.number, left }),
        }
    }

    fn carry_out(
        &mut self,
        at: u32,
        effect: Effect<P::Message>,
        returned: Option<Returned>,
    ) -> Result<(), ReplayError> {
        match effect {
            Effect::Send(port, message) => {
                self.books.count_sent(&message, 1);
                self.send(at, port, message)?;
            }
            Effect::SendAllBut(except, message) => {
                let ports = (0..self.routes.degree(at)).map(Port).filter(|port| Some(*port) != except);
                let receivers = ports.clone().count() as u64;
                let is_broadcast = self.setting.medium == Medium::Broadcast;
                self.books.count_sent(&message, if is_broadcast { receivers.min(1) } else { receivers });
                for port in ports {
                    self.send(at, port, message.clone())?;
                }
            }
            Effect::SendRange(ports, message) => {
                self.books.count_sent(&message, ports.len() as u64);
                for port in ports.map(Port) {
                    self.send(at, port, message.clone())?;
                }
            }
            Effect::SendDirect(id, message) => {
                self.books.count_sent(&message, 1);
                let found = self.books.position(id);
                let way = if found.is_some() { Route::Direct(id) } else { Route::Nowhere(id) };
                self.post(at, found.unwrap_or(at), way, general::NO_SEQUENCE_NUMBER, message);
            }
            Effect::SendTo(member, message) => {
                self.books.count_sent(&message, 1);
                let rank = self.ranks.get(member as usize);
                let way = rank.map_or(Route::Nowhere(Id(u64::MAX)), |rank| Route::Direct(rank.id()));
                let to = rank.map_or(at, |_| member);
                self.post(at, to, way, general::NO_SEQUENCE_NUMBER, message);
            }
            Effect::SetTimer(_, timer) => self.timers.set(self.number, at, self.lives[at as usize], timer),
            Effect::Lead => self.books.set_leading(at, self.tick),
            Effect::Follow(leader) => self.books.set_following(at, leader, self.tick),
            Effect::Forget => self.books.clear_leader(at, self.tick),
            Effect::Learn(fact) => self.books.record_fact(at, fact),
            Effect::Skip(port) => self.skip(at, port, returned)?,
        }
        Ok(())
    }

    fn target(&self, at: u32, port: Port) -> Result<(u32, Port), ReplayError> {
        let degree = self.routes.degree(at);
        self.routes.target(at, port).ok_or(ReplayError::Port { number: self.number, at, port, degree })
    }

    fn send(&mut self, at: u32, port: Port, message: P::Message) -> Result<(), ReplayError> {
        let (to, into) = self.target(at, port)?;
        let ticket = self.resends.keep(at, port, to, &message);
        self.post(at, to, Route::Link { out: port, into }, ticket, message);
        Ok(())
    }

    fn post(&mut self, from: u32, to: u32, way: Route, ticket: SequenceNumber, message: P::Message) {
        let life = self.lives[from as usize];
        self.letters.post(self.number, Envelope { from, to, way, life, ticket }, message);
    }

    fn skip(&mut self, at: u32, port: Port, returned: Option<Returned>) -> Result<(), ReplayError> {
        if !self.routes.is_ring() {
            return Ok(());
        }
        let returned = returned.filter(|(back, ..)| *back == port);
        let peer = match returned {
            Some((_, peer, _)) => peer,
            None => self.target(at, port)?.0,
        };
        self.routes.remove_peer(at, port, peer);
        let Some((.., ticket)) = returned else { return Ok(()) };
        for (port, message) in self.resends.take(at, peer, ticket) {
            self.books.count_sent(&message, 1);
            self.send(at, port, message)?;
        }
        Ok(())
    }
}
