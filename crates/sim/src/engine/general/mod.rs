//! The general engine: any delays, losses, crashes, cuts, partitions and bandwidths, for any protocol on any network.
//!
//! Time advances in ticks; ticks without events are skipped. In a tick, cuts and heals come first. Then every node with
//! inputs takes its turn, by position. In its turn a node
//!
//! 1. crashes, recovers or joins; if its protocol handles rejoins, it gets that event;
//! 2. gets its start signals;
//! 3. gets a reachability update, if its protocol observes reachability and that has changed: see `reachability`;
//! 4. handles its inbox, by sender, then in sending order;
//! 5. handles the return of messages that found their receiver down one tick before (`unreachable`), in sending order;
//! 6. handles the timers that are due, in the order in which they were set; a timer of 0 ticks is due in one tick, so
//!    that time always advances;
//! 7. retires. It is up until the end of the tick, and its last messages are sent. If it leads, the lowest position
//!    that names it gets a start signal one tick later.
//!
//! Details that the model leaves open:
//!
//! - **Who is up.** Crashes and recoveries of a tick apply from its beginning, whatever the positions: a start signal
//!   in the tick in which the named leader crashes is a [`StartReason::LeaderLost`](hustings_protocol::StartReason).
//! - **Redundant faults.** Crashing a node that is down, or recovering one that is up, does nothing. A position with a
//!   `Join` is down from the beginning, without notice; an earlier start signal waits for the join. A recovered node
//!   continues its stream of coins.
//! - **Randomness.** Delay, loss and duplication of a message are drawn from its sender's streams, indexed by the
//!   number of messages that this node has sent. On FIFO links a message or copy never arrives before an earlier one on
//!   the same link.
//! - **Copies.** The second delivery of a message is handled like the first, and counts for load and collisions. If it
//!   does not arrive, nobody is notified. It does not make a run hung.
//! - **Why a message is lost**, in this order: a cut or partition, chance, a receiver that is down. Only the last is
//!   `unreachable`.
//! - **Sending by id.** A message to an id that no node has is lost when it is due (its record names the sender twice).
//!   A message to a member is lost if, when it is due, no path of unblocked links leads there; nodes on the path may be
//!   down. A message to or from an outside informer is stopped by partitions only.
//! - **Rings.** A removed peer stays removed for this neighbour, even if it recovers. If a message lost at a peer that
//!   is already removed returns (links without order), a skip sends it again and removes no other peer.
//! - **Overload.** If more than 250,000 messages, plus 16 for each directed link, are in flight at once, the run is
//!   hung and ends.
//! - **Broadcast.** A send to all neighbours counts as one message, or as none if there is no neighbour to receive it.
//! - **Failure detectors**: see `failure_detector`.
//! - **Interventions** come between two inputs of a tick: see `interventions`.

mod calendar;
mod channel;
mod dispatch;
mod failure_detector;
mod faults;
mod in_flight;
mod interventions;
mod link_faults;
mod node_cursor;
mod reachability;
mod retransmission;
mod routing;
mod tick_inputs;

use std::collections::BTreeMap;

use hustings_protocol::{Effect, Message, Protocol, Rank, Record, TraceEvent};

use self::calendar::Calendar;
use self::failure_detector::FailureDetector;
pub(crate) use self::failure_detector::{followed, kinds as notice_kinds};
pub(crate) use self::in_flight::Route;
use self::in_flight::{InFlight, Transmission};
use self::interventions::Interventions;
use self::link_faults::LinkFaults;
pub(crate) use self::node_cursor::NodeCursor;
use self::reachability::{Components, ReachabilityNotifier};
pub(crate) use self::retransmission::{NO_SEQUENCE_NUMBER, RetransmitBuffer, SequenceNumber};
pub(crate) use self::routing::RoutingTable;
use self::tick_inputs::{DueTimer, StartSignal, TickInputs};
use crate::engine::accounting::Accounting;
use crate::outcome::Outcome;
use crate::rng::{Purpose, Stream};
use crate::scenario::{Action, Fault, FaultKind, Intervention, Scenario, Start};
use crate::trace::Observer;

/// Simulates an election to its end, or to the last tick of the scenario.
///
/// `ranks` has a rank for each position. With an observer, everything that happens is recorded; without one it is
/// faster.
///
/// # Panics
/// If there is not just one rank for each position, or the protocol sends to a port that its node does not have.
pub(crate) fn run<P: Protocol>(
    protocol: &P,
    ranks: &[P::Rank],
    scenario: &Scenario,
    observer: Option<&mut dyn Observer<P::Message>>,
) -> Outcome {
    assert_eq!(ranks.len(), scenario.network.size() as usize, "there must be one rank for each position");
    if ranks.is_empty() {
        return Accounting::new(ranks, 0, P::Message::KINDS.len()).finish(ranks, false, Vec::new());
    }
    // A lifetime behind a mutable reference does not shrink implicitly.
    let observer = observer.map(|observer| observer as &mut dyn Observer<P::Message>);
    // The points of interventions are numbers of records, so there must be records.
    let mut nobody = Nobody;
    let observer = observer.or((!scenario.interventions.is_empty()).then_some(&mut nobody as _));
    let mut engine = Engine::new(protocol, ranks, scenario, observer);
    engine.intervene(&[]);
    let mut is_stopped = false;
    while let Some(tick) = engine.next_tick().filter(|_| !is_stopped) {
        engine.tick(tick);
        is_stopped = engine.in_flight.is_overloaded() || engine.should_stop();
    }
    let hung = is_stopped || engine.in_flight.is_any_in_flight();
    let out_of_memory = engine.in_flight.is_out_of_memory().then_some(engine.now);
    let outcome = engine.accounting.finish(ranks, hung, engine.failure_detector.counts());
    let refused = if is_stopped { Vec::new() } else { engine.interventions.finish(engine.number) };
    Outcome { refused, out_of_memory, ..outcome }
}

/// An observer that looks away.
struct Nobody;

impl<M> Observer<M> for Nobody {
    fn record(&mut self, _: &Record<M>) {}
}

/// Positions that are down until they join.
pub(crate) fn absent(scenario: &Scenario) -> Vec<u32> {
    let joins = scenario.faults.iter().filter_map(|fault| match fault.what {
        FaultKind::Join(at) if at < scenario.network.size() => Some(at),
        _ => None,
    });
    let mut absent: Vec<u32> = joins.collect();
    absent.sort_unstable();
    absent.dedup();
    absent
}

/// Why something happens, as its record states it.
#[derive(Clone, Copy, Default)]
struct Cause {
    record: Option<u64>,
    nth: u32,
    copy: bool,
}

impl Cause {
    /// Not caused by a node.
    const NONE: Cause = Cause { record: None, nth: 0, copy: false };

    fn of<M>(transmission: &Transmission<M>) -> Self {
        Cause { record: Some(transmission.cause), nth: transmission.nth, copy: transmission.copy }
    }
}

/// A run in progress.
struct Engine<'a, P: Protocol> {
    protocol: &'a P,
    scenario: &'a Scenario,
    observer: Option<&'a mut dyn Observer<P::Message>>,
    /// The number of the next record.
    number: u64,
    /// How many messages the current handler has sent.
    nth: u32,
    now: u64,
    /// Faults and starts by tick, and how many of them are over.
    faults: Vec<Fault>,
    faults_done: usize,
    starts: Vec<Start>,
    starts_done: usize,
    /// Positions that have not joined yet, and whether a start signal waits for them.
    absent: BTreeMap<u32, bool>,
    states: Vec<P::State>,
    /// How often each node has gone down.
    incarnations: Vec<u32>,
    coins: Vec<Stream>,
    cursor: NodeCursor<'a, P::Rank>,
    accounting: Accounting,
    routing: RoutingTable<'a>,
    link_faults: LinkFaults,
    /// The connected components that the link faults leave, computed on demand.
    components: Option<Components>,
    /// Sends reachability updates, if the protocol observes reachability.
    notifier: Option<ReachabilityNotifier>,
    in_flight: InFlight<P::Message>,
    retransmit_buffer: RetransmitBuffer<P::Message>,
    /// Messages that found their receiver down in this tick.
    returned: Vec<Transmission<P::Message>>,
    timers: Calendar<DueTimer>,
    /// Nodes that retired in this tick.
    retired: Vec<u32>,
    interventions: Interventions,
    failure_detector: FailureDetector,
    /// Reused buffers.
    inputs: TickInputs<P::Message>,
    effects: Vec<Effect<P::Message>>,
    drawn: Vec<(u64, u64)>,
    signals: Vec<u32>,
    notices: Vec<failure_detector::Sent>,
}

impl<'a, P: Protocol> Engine<'a, P> {
    fn new(
        protocol: &'a P,
        ranks: &'a [P::Rank],
        scenario: &'a Scenario,
        observer: Option<&'a mut dyn Observer<P::Message>>,
    ) -> Self {
        let size = scenario.network.size();
        let (mut faults, mut starts) = (scenario.faults.clone(), scenario.starts.clone());
        faults.sort_by_key(|fault| fault.tick);
        starts.sort_by_key(|start| (start.tick, start.at));
        let mut accounting = Accounting::new(ranks, scenario.network.members(), P::Message::KINDS.len());
        let absent: BTreeMap<u32, bool> = absent(scenario).into_iter().map(|at| (at, false)).collect();
        absent.keys().for_each(|&at| accounting.mark_down(at, 0));
        let failure_detector = FailureDetector::new(scenario.notice, size);
        if failure_detector.needs_changes() {
            accounting.track_changes();
        }
        let ids = ranks.iter().take(scenario.network.members() as usize).map(|rank| rank.id());
        let notifier = protocol.observes_reachability().then(|| ReachabilityNotifier::new(ids, !absent.is_empty()));
        let routing = RoutingTable::new(&scenario.network);
        let can_be_down =
            |fault: &Fault| matches!(fault.what, FaultKind::Crash(_) | FaultKind::Join(_) | FaultKind::Retire(_));
        let crashes_by_hand = |one: &Intervention| matches!(one.action, Action::Fault(FaultKind::Crash(_)));
        let retransmits =
            routing.is_ring() && (faults.iter().any(can_be_down) || scenario.interventions.iter().any(crashes_by_hand));
        Engine {
            protocol,
            scenario,
            observer,
            number: 0,
            nth: 0,
            now: 0,
            faults,
            faults_done: 0,
            starts,
            starts_done: 0,
            absent,
            states: (0..size).map(|_| protocol.init()).collect(),
            incarnations: vec![0; size as usize],
            coins: (0..u64::from(size)).map(|at| Stream::new(scenario.seed, Purpose::Coins, at)).collect(),
            cursor: NodeCursor::new(&scenario.network, ranks),
            accounting,
            in_flight: InFlight::new(scenario, routing.link_count()),
            routing,
            link_faults: LinkFaults::default(),
            components: None,
            notifier,
            retransmit_buffer: if retransmits { RetransmitBuffer::on(size) } else { RetransmitBuffer::off() },
            returned: Vec::new(),
            timers: Calendar::new(),
            retired: Vec::new(),
            interventions: Interventions::new(&scenario.interventions),
            failure_detector,
            inputs: TickInputs::default(),
            effects: Vec::new(),
            drawn: Vec::new(),
            signals: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// The next tick with an event, up to the last tick of the scenario.
    fn next_tick(&self) -> Option<u64> {
        let fault = self.faults.get(self.faults_done).map(|fault| fault.tick);
        let start = self.starts.get(self.starts_done).map(|start| start.tick);
        let returned = (!self.returned.is_empty()).then_some(self.now + 1);
        let update = self.notifier.as_ref().and_then(ReachabilityNotifier::next);
        let events = [self.in_flight.next(self.now), self.timers.next(), returned, fault, start, update];
        let in_time = |tick: &u64| *tick <= self.scenario.until;
        let event = events.into_iter().flatten().min().filter(in_time);
        if event.is_none() && self.failure_detector.is_satisfied(&self.accounting) {
            return None;
        }
        [event, self.failure_detector.next()].into_iter().flatten().min().filter(in_time)
    }

    fn tick(&mut self, tick: u64) {
        self.now = tick;
        let mut inputs = std::mem::take(&mut self.inputs);
        self.begin_tick(&mut inputs);
        let mut turns = inputs.turns();
        self.intervene(turns.waiting());
        while let Some(at) = turns.next_node() {
            if self.should_stop() {
                break;
            }
            self.turn(at, &mut turns);
        }
        drop(turns);
        self.inputs = inputs;
        self.end_tick();
        self.intervene(&[]);
    }

    /// Whether the observer wants the run to end, or the memory is full.
    fn should_stop(&self) -> bool {
        self.in_flight.is_out_of_memory() || self.observer.as_ref().is_some_and(|observer| observer.is_satisfied())
    }

    fn begin_tick(&mut self, inputs: &mut TickInputs<P::Message>) {
        std::mem::swap(&mut self.returned, &mut inputs.returned);
        self.in_flight.take(self.now, &mut inputs.transmission);
        self.timers.take(self.now, &mut inputs.timers);
        if let Some(notifier) = &mut self.notifier {
            inputs.updates = notifier.take(self.now);
        }
        self.begin_faults(inputs);
        self.begin_starts(inputs);
        self.failure_detector.begin_tick(self.now, &self.accounting, &mut self.signals);
        inputs.signals.extend(self.signals.drain(..).map(|at| (at, StartSignal::LeaderLost)));
        inputs.sort();
    }

    fn begin_starts(&mut self, inputs: &mut TickInputs<P::Message>) {
        // So far there are only the signals that waited for a node that joins now.
        let late = inputs.signals.len();
        while let Some(&start) = self.starts.get(self.starts_done).filter(|start| start.tick <= self.now) {
            self.starts_done += 1;
            if let Some(waits) = self.absent.get_mut(&start.at) {
                *waits = true;
            } else if !inputs.signals[..late].iter().any(|&(at, _)| at == start.at) {
                inputs.signals.push((start.at, StartSignal::Planned));
            }
        }
    }

    /// Notifies one follower of a leader that retires: the lowest position that stays and names it gets a start signal.
    fn notify_follower(&mut self, leader: u32) {
        if !self.accounting.is_leading(leader) {
            return;
        }
        let stays = |at: &u32| self.accounting.is_live(*at) && !self.retired.contains(at) && *at != leader;
        let mut follower =
            (0..self.accounting.size()).filter(stays).filter(|&at| self.accounting.leader_of(at) == Some(leader));
        if let Some(at) = follower.next() {
            let start = Start { at, tick: self.now + 1 };
            let later = |other: &Start| (other.tick, other.at) <= (start.tick, start.at);
            let place = self.starts_done + self.starts[self.starts_done..].partition_point(later);
            self.starts.insert(place, start);
        }
    }

    fn end_tick(&mut self) {
        for place in 0..self.retired.len() {
            self.notify_follower(self.retired[place]);
        }
        while let Some(at) = self.retired.pop() {
            self.goes_down(at);
        }
        if let Some(notifier) = &mut self.notifier {
            let components = || Components::new(&self.scenario.network, &self.link_faults);
            notifier.end_tick(self.now, components, &self.accounting, &self.incarnations, |at| self.cursor.id_of(at));
        }
        let mut notices = std::mem::take(&mut self.notices);
        self.failure_detector.end_tick(self.now, &self.accounting, &self.link_faults, &mut notices);
        for (leader, kind, count) in notices.drain(..) {
            self.record(leader, Cause::NONE, || TraceEvent::Notice { kind, count });
        }
        self.notices = notices;
        self.accounting.close_tick(self.now);
    }

    /// Tells the observer, if there is one.
    #[inline]
    fn record(&mut self, node: u32, cause: Cause, what: impl FnOnce() -> TraceEvent<P::Message>) {
        if let Some(observer) = &mut self.observer {
            let Cause { record: cause, nth, copy } = cause;
            observer.record(&Record { number: self.number, tick: self.now, node, cause, nth, copy, what: what() });
            self.number += 1;
        }
    }
}
