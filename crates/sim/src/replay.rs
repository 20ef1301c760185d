//! Replay: applies a recorded run step by step to the current protocol.
//!
//! Only the inputs come from the records: start signals, arrivals, losses, returned messages, timers, random numbers,
//! crashes and recoveries. Everything else is computed again and compared: each message must be in flight from that
//! sender, with that index among the messages of its cause, and the protocol must have exactly the recorded effects. A
//! trace that replays is therefore a run of this protocol, and its outcome is computed, not trusted.
//!
//! The messages of failure detection are counted from their records, which are checked against the number of nodes that
//! follow the leader.
//!
//! Delays, random losses and start signals are decisions of the environment and are not checked. A run of another
//! driver with other delays, such as a counterexample of the model checker, replays as well.

mod check;
mod error;
mod in_flight;
mod inspect;
mod notices;

use hustings_protocol::{Effect, Event, Id, Loss, Message, Port, Protocol, Rank, Record, Recorder, TraceEvent};

pub use self::error::ReplayError;
use self::in_flight::{Envelope, InFlight, Search, Timers};
pub use self::inspect::{InspectedNode, Inspection, Sent};
use self::notices::Notices;
use crate::engine::accounting::Accounting;
use crate::engine::general::{self, NodeCursor, RetransmitBuffer, Route, RoutingTable, SequenceNumber};
use crate::erased::{DynMessage, DynProtocol, DynRank};
use crate::outcome::Outcome;
use crate::scenario::{Medium, Notice, Scenario};
use crate::topology::Network;

/// The configuration of a run, which its records do not contain.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Setting<'a> {
    /// The links between positions.
    pub(crate) network: &'a Network,
    /// How a send to all neighbours is counted.
    pub(crate) medium: Medium,
    /// Positions that are down until they join.
    pub(crate) absent: Vec<u32>,
    /// Whether a message may be delivered twice.
    pub(crate) duplicates: bool,
    /// How the failure of a leader is detected.
    pub(crate) notice: Notice,
}

impl<'a> Setting<'a> {
    /// The setting of a scenario.
    pub(crate) fn of(scenario: &'a Scenario) -> Self {
        Setting {
            network: &scenario.network,
            medium: scenario.medium,
            absent: general::absent(scenario),
            duplicates: scenario.may_duplicate(),
            notice: scenario.notice,
        }
    }
}

/// Replays a whole run of a protocol whose types are erased, and returns its outcome.
///
/// Of the scenario it uses what the records do not contain: the network, the medium, failure detection, who joins later
/// and whether messages may arrive twice.
pub fn replay(
    protocol: &DynProtocol,
    ranks: &[DynRank],
    scenario: &Scenario,
    records: Vec<Record<DynMessage>>,
) -> Result<Outcome, ReplayError> {
    let mut replay = Replay::new(protocol, ranks, Setting::of(scenario))?;
    records.into_iter().try_for_each(|record| replay.step(record))?;
    let mut outcome = replay.finish();
    outcome.by_kind.truncate(protocol.kinds().len());
    Ok(outcome)
}

/// A replay that receives records one by one.
pub(crate) struct Replay<'a, P: Protocol> {
    protocol: &'a P,
    ranks: &'a [P::Rank],
    setting: Setting<'a>,
    /// The number that the next record must have.
    number: u64,
    tick: u64,
    states: Vec<P::State>,
    /// How often each node has gone down.
    incarnations: Vec<u32>,
    cursor: Option<NodeCursor<'a, P::Rank>>,
    accounting: Accounting,
    routes: RoutingTable<'a>,
    retransmit_buffer: RetransmitBuffer<P::Message>,
    in_flight: InFlight<P::Message>,
    timers: Timers,
    notices: Notices,
    effects: Vec<Effect<P::Message>>,
}

/// The cause in a record: the record that sent the message, the index of the message, and whether this is a copy.
type Cause = (Option<u64>, u32, bool);

/// A returned message: the port, the unreachable peer and the sequence number.
type Returned = (Port, u32, SequenceNumber);

impl<'a, P: Protocol> Replay<'a, P> {
    /// Starts a replay. There must be a rank for each position.
    pub(crate) fn new(protocol: &'a P, ranks: &'a [P::Rank], setting: Setting<'a>) -> Result<Self, ReplayError> {
        let size = setting.network.size();
        if ranks.len() != size as usize {
            return Err(ReplayError::Ranks { ranks: ranks.len(), size });
        }
        let routes = RoutingTable::new(setting.network);
        let mut accounting = Accounting::new(ranks, setting.network.members(), P::Message::KINDS.len());
        for &at in &setting.absent {
            if at >= size {
                return Err(ReplayError::Absent { at, size });
            }
            accounting.mark_down(at, 0);
        }
        Ok(Replay {
            protocol,
            ranks,
            number: 0,
            tick: 0,
            states: (0..size).map(|_| protocol.init()).collect(),
            incarnations: vec![0; size as usize],
            cursor: (size > 0).then(|| NodeCursor::new(setting.network, ranks)),
            accounting,
            retransmit_buffer: if routes.is_ring() { RetransmitBuffer::on(size) } else { RetransmitBuffer::off() },
            routes,
            in_flight: InFlight::new(setting.duplicates),
            timers: Timers::default(),
            notices: Notices::new(setting.notice),
            effects: Vec::new(),
            setting,
        })
    }

    /// Applies one record.
    pub(crate) fn step(&mut self, record: Record<P::Message>) -> Result<(), ReplayError> {
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
            self.accounting.close_tick(self.tick);
            self.tick = tick;
        }
        match what {
            TraceEvent::Handled { event, peer, coins, effects } => {
                self.handled(node, event, cause, peer, &coins, &effects)?;
            }
            TraceEvent::Lost { peer, message, why } => self.lost(node, peer, cause, &message, why)?,
            TraceEvent::Notice { kind, count } => {
                self.notices.count(number, tick, node, (kind, count), &self.accounting)?;
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

    /// Ends the replay after the last record and returns the outcome.
    pub(crate) fn finish(mut self) -> Outcome {
        self.accounting.close_tick(self.tick);
        self.accounting.finish(self.ranks, self.in_flight.has_pending(), self.notices.counts())
    }

    fn check_position(&self, at: u32) -> Result<(), ReplayError> {
        let size = self.setting.network.size();
        if at < size { Ok(()) } else { Err(ReplayError::Position { number: self.number, at, size }) }
    }

    fn goes_down(&mut self, at: u32, what: &'static str) -> Result<(), ReplayError> {
        if !self.accounting.is_live(at) {
            return Err(ReplayError::NoTransition { number: self.number, at, what, state: "down" });
        }
        self.accounting.mark_down(at, self.tick);
        self.incarnations[at as usize] += 1;
        self.retransmit_buffer.forget(at);
        Ok(())
    }

    fn comes_up(&mut self, at: u32, what: &'static str) -> Result<(), ReplayError> {
        if self.accounting.is_live(at) {
            return Err(ReplayError::NoTransition { number: self.number, at, what, state: "up" });
        }
        self.accounting.mark_up(at);
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
        let lost = self.in_flight.lose(&search, why);
        let lost = lost.map_err(|missing| ReplayError::not_in_flight(number, at, &search, missing))?;
        if why == Loss::ReceiverDown && !matches!(lost.route, Route::Nowhere(_)) {
            if self.accounting.is_live(at) {
                return Err(ReplayError::ReceiverUp { number, at });
            }
        } else if let Route::Link { .. } = lost.route {
            self.retransmit_buffer.acknowledge(lost.from, lost.sequence_number);
        }
        self.accounting.count_lost();
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
        if !self.accounting.is_live(at) {
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
            self.accounting.mark_active(self.tick);
        }
        let mut now = std::mem::take(&mut self.effects);
        for effect in now.drain(..) {
            self.carry_out(at, effect, returned)?;
        }
        self.effects = now;
        if let Some((_, _, sequence_number)) = returned {
            self.retransmit_buffer.acknowledge(at, sequence_number);
        }
        Ok(())
    }

    /// Passes the event to the protocol, with the recorded random numbers.
    fn apply(&mut self, at: u32, event: Event<P::Message>, coins: &[(u64, u64)]) -> Result<(), ReplayError> {
        let (mut script, mut wrong) = (coins.iter(), None);
        let draw = |bound: u64| match script.next() {
            Some(&(recorded, coin)) if recorded == bound && coin < bound => coin,
            other => {
                wrong.get_or_insert((other.copied(), bound));
                0
            }
        };
        // A node handles the event, so the network is not empty and has a context.
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        self.effects.clear();
        let mut context = Recorder::new(cursor.of(at), draw, &mut self.effects);
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
                self.accounting.count_sent(&message, 1);
                self.send(at, port, message)?;
            }
            Effect::SendAllBut(except, message) => {
                let ports = (0..self.routes.degree(at)).map(Port).filter(|port| Some(*port) != except);
                let receivers = ports.clone().count() as u64;
                let is_broadcast = self.setting.medium == Medium::Broadcast;
                self.accounting.count_sent(&message, if is_broadcast { receivers.min(1) } else { receivers });
                for port in ports {
                    self.send(at, port, message.clone())?;
                }
            }
            Effect::SendRange(ports, message) => {
                self.accounting.count_sent(&message, ports.len() as u64);
                for port in ports.map(Port) {
                    self.send(at, port, message.clone())?;
                }
            }
            Effect::SendDirect(id, message) => {
                self.accounting.count_sent(&message, 1);
                let found = self.accounting.position(id);
                let route = if found.is_some() { Route::Direct(id) } else { Route::Nowhere(id) };
                self.post(at, found.unwrap_or(at), route, general::NO_SEQUENCE_NUMBER, message);
            }
            Effect::SendTo(member, message) => {
                self.accounting.count_sent(&message, 1);
                let rank = self.ranks.get(member as usize);
                let route = rank.map_or(Route::Nowhere(Id(u64::MAX)), |rank| Route::Direct(rank.id()));
                let to = rank.map_or(at, |_| member);
                self.post(at, to, route, general::NO_SEQUENCE_NUMBER, message);
            }
            Effect::SetTimer(_, timer) => self.timers.set(self.number, at, self.incarnations[at as usize], timer),
            Effect::Lead => self.accounting.set_leading(at, self.tick),
            Effect::Follow(leader) => self.accounting.set_following(at, leader, self.tick),
            Effect::Forget => self.accounting.clear_leader(at, self.tick),
            Effect::Learn(fact) => self.accounting.record_fact(at, fact),
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
        let sequence_number = self.retransmit_buffer.keep(at, port, to, &message);
        self.post(at, to, Route::Link { out: port, into }, sequence_number, message);
        Ok(())
    }

    fn post(&mut self, from: u32, to: u32, route: Route, sequence_number: SequenceNumber, message: P::Message) {
        let incarnation = self.incarnations[from as usize];
        self.in_flight.insert(self.number, Envelope { from, to, route, incarnation, sequence_number }, message);
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
        let Some((.., sequence_number)) = returned else { return Ok(()) };
        for (port, message) in self.retransmit_buffer.take(at, peer, sequence_number) {
            self.accounting.count_sent(&message, 1);
            self.send(at, port, message)?;
        }
        Ok(())
    }
}
