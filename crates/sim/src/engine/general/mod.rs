//! The general engine: any delays, losses, crashes, cuts, partitions and bandwidths, for any protocol on any network.
//!
//! Time goes in ticks; those in which nothing happens are jumped over. In a tick, cuts and heals come first, then every
//! node that has something to do takes its turn, by position. In its turn a node
//!
//! 1. crashes, recovers or joins; where its protocol acts on coming up, it is told so;
//! 2. gets its start signals;
//! 3. is told whom it can reach, if its protocol watches and that has changed: see the rules in `reach`;
//! 4. handles its inbox, by sender, then by the sender's sending order;
//! 5. gets back, in sending order, what found its receiver down one tick before (`unreachable`);
//! 6. handles the timers that are due, in the order in which they were set; one set for 0 ticks is due in one, so
//!    that no protocol can stop time;
//! 7. retires. It is up until the end of that tick, and its good-byes go out. If it leads, the lowest position that
//!    names it gets a start signal one tick later: the leader's word that it is gone.
//!
//! What the contract leaves open is decided here:
//!
//! - **Who is up.** Crashes and recoveries of a tick count from its beginning, whatever the positions: a start signal
//!   in the tick in which the named leader crashes is a [`StartReason::LeaderLost`](hustings_protocol::StartReason).
//! - **Turnabouts.** Crashing a node that is down, or reviving one that is up, does nothing. A position with a `Join`
//!   is down from the beginning without a word; a start signal that comes too early waits for the join. A recovered
//!   node draws its coins where it stopped drawing.
//! - **Chance.** Delay, loss and duplication of a message are drawn from its sender's streams, at the place of the
//!   message among all that this node sent. On FIFO links a message or copy never arrives before an earlier one on the
//!   same link.
//! - **Copies.** The second delivery of a message is handled like the first, and counts for load and collisions. If it
//!   does not arrive, nobody hears of it. It does not make a run hung.
//! - **What stops a message**, in this order: a barrier, bad luck, a receiver that is down. Only the last is
//!   `unreachable`.
//! - **By id.** A message to an id that nobody has is lost when it is due (its record names the sender twice). One to
//!   a member is lost if, when it is due, no path of links that are neither cut nor parted leads there; those on the
//!   path may be down. One to or from an informer outside is stopped by partitions only.
//! - **Rings.** A node that is struck off stays so, for this neighbour, also when that one recovers. If a message lost
//!   at a node already struck comes back (links without order), a skip sends it again and strikes nobody else.
//! - **Too much mail.** A run in which more than 250,000 messages, and 16 for each directed link, are under way at
//!   once is hung, and ends there.
//! - **Broadcast.** A send to all neighbours is one message, or none if there is no neighbour to hear it.
//! - **Notice**: see the rules in the module of that name.

mod agenda;
mod barriers;
mod calendar;
mod chances;
mod notice;
mod post;
mod reach;
mod resends;
mod routes;
mod seat;
mod turn;

use std::collections::BTreeMap;

use hustings_protocol::{Effect, Message, Protocol, Rank, Record, TraceEvent};

use self::agenda::{Agenda, Alarm, Signal, Turnabout};
use self::barriers::Barriers;
use self::calendar::Calendar;
use self::notice::Watch;
pub(crate) use self::notice::{followed, kinds as notice_kinds};
pub(crate) use self::post::Way;
use self::post::{Mail, Post};
use self::reach::{Herald, Parts};
pub(crate) use self::resends::{NO_TICKET, Resends, Ticket};
pub(crate) use self::routes::Routes;
pub(crate) use self::seat::Seat;
use crate::engine::books::Books;
use crate::outcome::Outcome;
use crate::rng::{Purpose, Stream};
use crate::scenario::{Fault, FaultKind, Scenario, Start};
use crate::trace::Observer;

/// Simulates an election to its end, or to the last tick of the scenario.
///
/// `ranks` has a rank for each position. With an observer, everything that happens is recorded; without one it is
/// faster.
///
/// # Panics
/// If there is not just one rank for each position, or the protocol sends to a port that its node does not have.
pub fn run<P: Protocol>(
    protocol: &P,
    ranks: &[P::Rank],
    scenario: &Scenario,
    observer: Option<&mut dyn Observer<P::Message>>,
) -> Outcome {
    assert_eq!(ranks.len(), scenario.network.size() as usize, "every position needs a rank, and nobody else");
    if ranks.is_empty() {
        return Books::new(ranks, 0, P::Message::KINDS.len()).finish(ranks, false, Vec::new());
    }
    // Behind a reference to mutable data a lifetime cannot shrink by itself.
    let observer = observer.map(|observer| observer as &mut dyn Observer<P::Message>);
    let mut engine = Engine::new(protocol, ranks, scenario, observer);
    while let Some(tick) = engine.next_tick() {
        engine.tick(tick);
        if engine.post.is_overfull() {
            break;
        }
    }
    engine.books.finish(ranks, engine.post.is_under_way(), engine.watch.counts())
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

/// Why something happens, as its record says it.
#[derive(Clone, Copy, Default)]
struct Cause {
    record: Option<u64>,
    nth: u32,
    copy: bool,
}

impl Cause {
    /// Nothing that a node did.
    const NONE: Cause = Cause { record: None, nth: 0, copy: false };

    fn of<M>(mail: &Mail<M>) -> Self {
        Cause { record: Some(mail.cause), nth: mail.nth, copy: mail.copy }
    }
}

/// A run under way.
struct Engine<'a, P: Protocol> {
    protocol: &'a P,
    scenario: &'a Scenario,
    observer: Option<&'a mut dyn Observer<P::Message>>,
    /// The number of the next record.
    number: u64,
    /// How many messages the handling under way has sent.
    nth: u32,
    now: u64,
    /// What will happen, by tick, and how much of it is over.
    faults: Vec<Fault>,
    faults_over: usize,
    starts: Vec<Start>,
    starts_over: usize,
    /// Positions that have not joined yet, and whether a start signal waits for them.
    absent: BTreeMap<u32, bool>,
    states: Vec<P::State>,
    /// How often each node has gone down.
    lives: Vec<u32>,
    coins: Vec<Stream>,
    seat: Seat<'a, P::Rank>,
    books: Books,
    routes: Routes<'a>,
    barriers: Barriers,
    /// What the barriers leave of the network; worked out when somebody asks.
    parts: Option<Parts>,
    /// Gives word of who is in reach, where the protocol watches.
    herald: Option<Herald>,
    post: Post<P::Message>,
    resends: Resends<P::Message>,
    /// Mail that found its receiver down in this tick.
    returned: Vec<Mail<P::Message>>,
    alarms: Calendar<Alarm>,
    /// Nodes that retired in this tick.
    retired: Vec<u32>,
    watch: Watch,
    /// Lists that are filled and emptied again and again.
    agenda: Agenda<P::Message>,
    effects: Vec<Effect<P::Message>>,
    drawn: Vec<(u64, u64)>,
    signals: Vec<u32>,
    notices: Vec<notice::Sent>,
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
        let mut books = Books::new(ranks, scenario.network.members(), P::Message::KINDS.len());
        let absent: BTreeMap<u32, bool> = absent(scenario).into_iter().map(|at| (at, false)).collect();
        absent.keys().for_each(|&at| books.goes_down(at, 0));
        let watch = Watch::new(scenario.notice, size);
        if watch.needs_changes() {
            books.list_changes();
        }
        let ids = ranks.iter().take(scenario.network.members() as usize).map(|rank| rank.id());
        let herald = protocol.observes_reachability().then(|| Herald::new(ids, !absent.is_empty()));
        let routes = Routes::new(&scenario.network);
        let can_be_down =
            |fault: &Fault| matches!(fault.what, FaultKind::Crash(_) | FaultKind::Join(_) | FaultKind::Retire(_));
        let keeps_mail = routes.is_ring() && faults.iter().any(can_be_down);
        Engine {
            protocol,
            scenario,
            observer,
            number: 0,
            nth: 0,
            now: 0,
            faults,
            faults_over: 0,
            starts,
            starts_over: 0,
            absent,
            states: (0..size).map(|_| protocol.init()).collect(),
            lives: vec![0; size as usize],
            coins: (0..u64::from(size)).map(|at| Stream::new(scenario.seed, Purpose::Coins, at)).collect(),
            seat: Seat::new(&scenario.network, ranks),
            books,
            post: Post::new(scenario, routes.lanes()),
            routes,
            barriers: Barriers::default(),
            parts: None,
            herald,
            resends: if keeps_mail { Resends::on(size) } else { Resends::off() },
            returned: Vec::new(),
            alarms: Calendar::new(),
            retired: Vec::new(),
            watch,
            agenda: Agenda::default(),
            effects: Vec::new(),
            drawn: Vec::new(),
            signals: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// The next tick in which something happens, if there is one in time.
    fn next_tick(&self) -> Option<u64> {
        let fault = self.faults.get(self.faults_over).map(|fault| fault.tick);
        let start = self.starts.get(self.starts_over).map(|start| start.tick);
        let returned = (!self.returned.is_empty()).then_some(self.now + 1);
        let word = self.herald.as_ref().and_then(Herald::next);
        let events = [self.post.next(self.now), self.alarms.next(), returned, fault, start, word];
        let in_time = |tick: &u64| *tick <= self.scenario.until;
        let event = events.into_iter().flatten().min().filter(in_time);
        if event.is_none() && self.watch.is_content(&self.books) {
            return None;
        }
        [event, self.watch.next()].into_iter().flatten().min().filter(in_time)
    }

    fn tick(&mut self, tick: u64) {
        self.now = tick;
        let mut agenda = std::mem::take(&mut self.agenda);
        self.begin_tick(&mut agenda);
        let mut turns = agenda.turns();
        while let Some(at) = turns.next_node() {
            self.turn(at, &mut turns);
        }
        drop(turns);
        self.agenda = agenda;
        self.end_tick();
    }

    fn begin_tick(&mut self, agenda: &mut Agenda<P::Message>) {
        std::mem::swap(&mut self.returned, &mut agenda.returned);
        self.post.take(self.now, &mut agenda.mail);
        self.alarms.take(self.now, &mut agenda.alarms);
        if let Some(herald) = &mut self.herald {
            agenda.words = herald.take(self.now);
        }
        self.begin_faults(agenda);
        self.begin_starts(agenda);
        self.watch.begin_tick(self.now, &self.books, &mut self.signals);
        agenda.signals.extend(self.signals.drain(..).map(|at| (at, Signal::LeaderLost)));
        agenda.sort();
    }

    fn begin_faults(&mut self, agenda: &mut Agenda<P::Message>) {
        while let Some(fault) = self.faults.get(self.faults_over).filter(|fault| fault.tick <= self.now) {
            let what = fault.what.clone();
            self.faults_over += 1;
            let size = self.scenario.network.size();
            match what {
                FaultKind::Crash(at) if at < size && self.books.is_live(at) => {
                    self.goes_down(at);
                    agenda.turnabouts.push((at, Turnabout::Crashed));
                }
                FaultKind::Recover(at) if at < size && !self.books.is_live(at) => {
                    self.comes_up(at, agenda);
                    agenda.turnabouts.push((at, Turnabout::Recovered));
                }
                FaultKind::Join(at) if at < size && !self.books.is_live(at) => {
                    self.comes_up(at, agenda);
                    agenda.turnabouts.push((at, Turnabout::Joined));
                }
                FaultKind::Retire(at) => agenda.retiring.push(at),
                FaultKind::Cut(..) | FaultKind::Heal(..) | FaultKind::HealAll | FaultKind::Partition(_) => {
                    self.change_links(&what);
                }
                FaultKind::Crash(_) | FaultKind::Recover(_) | FaultKind::Join(_) => {}
            }
        }
    }

    fn begin_starts(&mut self, agenda: &mut Agenda<P::Message>) {
        // So far there are only the signals that waited for somebody who joins now.
        let late = agenda.signals.len();
        while let Some(&start) = self.starts.get(self.starts_over).filter(|start| start.tick <= self.now) {
            self.starts_over += 1;
            if let Some(waits) = self.absent.get_mut(&start.at) {
                *waits = true;
            } else if !agenda.signals[..late].iter().any(|&(at, _)| at == start.at) {
                agenda.signals.push((start.at, Signal::Planned));
            }
        }
    }

    /// A leader that retires sends word: the lowest position that stays and names it is called to hold an election.
    fn hand_over(&mut self, leader: u32) {
        if !self.books.leads(leader) {
            return;
        }
        let stays = |at: &u32| self.books.is_live(*at) && !self.retired.contains(at) && *at != leader;
        let mut follower = (0..self.books.size()).filter(stays).filter(|&at| self.books.named(at) == Some(leader));
        if let Some(at) = follower.next() {
            let start = Start { at, tick: self.now + 1 };
            let later = |other: &Start| (other.tick, other.at) <= (start.tick, start.at);
            let place = self.starts_over + self.starts[self.starts_over..].partition_point(later);
            self.starts.insert(place, start);
        }
    }

    fn goes_down(&mut self, at: u32) {
        self.books.goes_down(at, self.now);
        self.lives[at as usize] += 1;
        self.resends.forget(at);
        if let Some(herald) = &mut self.herald {
            herald.changes(self.now);
        }
    }

    fn comes_up(&mut self, at: u32, agenda: &mut Agenda<P::Message>) {
        self.books.comes_up(at);
        self.states[at as usize] = self.protocol.init();
        if let Some(herald) = &mut self.herald {
            herald.comes_up(at, self.now);
        }
        if self.absent.remove(&at) == Some(true) {
            agenda.signals.push((at, Signal::Planned));
        }
    }

    fn change_links(&mut self, fault: &FaultKind) {
        let before = self.observer.is_some().then(|| self.barriers.clone());
        self.barriers.apply(fault, self.now);
        self.parts = None;
        if let Some(herald) = &mut self.herald {
            herald.changes(self.now);
        }
        let Some(before) = before else { return };
        for (at, peer) in self.barriers.changes(&before, fault, &self.scenario.network) {
            let is_cut = self.barriers.bar(at, peer);
            self.record(at, Cause::NONE, || {
                if is_cut { TraceEvent::LinkCut { peer } } else { TraceEvent::LinkHealed { peer } }
            });
        }
    }

    fn end_tick(&mut self) {
        for place in 0..self.retired.len() {
            self.hand_over(self.retired[place]);
        }
        while let Some(at) = self.retired.pop() {
            self.goes_down(at);
        }
        if let Some(herald) = &mut self.herald {
            let parts = || Parts::new(&self.scenario.network, &self.barriers);
            herald.end_tick(self.now, parts, &self.books, &self.lives, |at| self.seat.id_of(at));
        }
        let mut notices = std::mem::take(&mut self.notices);
        self.watch.end_tick(self.now, &self.books, &self.barriers, &mut notices);
        for (leader, kind, count) in notices.drain(..) {
            self.record(leader, Cause::NONE, || TraceEvent::Notice { kind, count });
        }
        self.notices = notices;
        self.books.close_tick(self.now);
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
