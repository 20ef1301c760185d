//! The messages in flight: when each is due, and how many the network can carry.

use std::collections::{BinaryHeap, HashMap};

use hustings_protocol::{Id, Message, Port};

use super::calendar::Calendar;
use super::channel::{ChannelRandomness, Draw};
use super::retransmission::SequenceNumber;
use crate::memory::MemoryWatch;
use crate::scenario::{Action, Delay, MessageChange, Scenario};

/// How a message travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// Along a link.
    Link {
        /// The sender's port.
        out: Port,
        /// The receiver's port.
        into: Port,
    },
    /// To a node by its id.
    Direct(Id),
    /// To an id that no node has. It is lost when it is due, and the sender is not notified.
    Nowhere(Id),
}

/// A message in flight.
#[derive(Clone, Debug)]
pub(crate) struct Transmission<M> {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) route: Route,
    /// The incarnation of its sender.
    pub(crate) incarnation: u32,
    /// It is lost by chance.
    pub(crate) lost_by_chance: bool,
    /// It is the second delivery of a message.
    pub(crate) copy: bool,
    /// When it was sent.
    pub(crate) sent: u64,
    /// Its number among all transmissions: by tick of sending, then sender, then sending order.
    pub(crate) order: u64,
    /// The number of the record that sent it.
    pub(crate) cause: u64,
    /// Its number among the messages that this record sent.
    pub(crate) nth: u32,
    /// The sequence number under which its sender keeps it.
    pub(crate) sequence_number: SequenceNumber,
    pub(crate) message: M,
}

/// All messages in flight.
#[derive(Debug)]
pub(crate) struct InFlight<M> {
    channel: ChannelRandomness,
    /// The earliest arrival on each link; `None` if order is always kept, or never required.
    earliest: Option<EarliestArrivals>,
    calendar: Calendar<Transmission<M>>,
    bandwidth: Option<Queue<M>>,
    until: u64,
    /// The number of messages sent, including copies.
    order: u64,
    /// The number of messages in flight, without copies.
    in_flight_count: u64,
    /// The messages in memory, including copies.
    load: Load,
    memory: MemoryWatch,
}

/// The number of messages in memory, and its maximum. Views of runs are counted apart: every change of reachability
/// makes all nodes send one to all others.
#[derive(Debug)]
struct Load {
    messages: u64,
    max_messages: u64,
    views: u64,
    max_views: u64,
    has_views: bool,
}

impl Load {
    fn new(scenario: &Scenario, link_count: u64) -> Self {
        let pairs = if scenario.runs { u64::from(scenario.network.size()).pow(2) } else { 0 };
        Load {
            messages: 0,
            max_messages: BASE_CAPACITY + CAPACITY_PER_LINK * link_count + MESSAGES_PER_PAIR * pairs,
            views: 0,
            max_views: BASE_CAPACITY + VIEWS_PER_PAIR * pairs,
            has_views: scenario.runs,
        }
    }

    /// The counter of a message.
    #[inline(always)]
    fn counter<M: Message>(&mut self, message: &M) -> &mut u64 {
        if self.has_views && message.kind_name() == VIEW { &mut self.views } else { &mut self.messages }
    }
}

/// The maximum number of messages in flight, on a network without links.
const BASE_CAPACITY: u64 = 250_000;
/// The additional number for each directed link.
const CAPACITY_PER_LINK: u64 = 16;
/// In runs, the additional number for each pair of nodes. A node may adopt the views of all others in one tick, and
/// sends the first messages of the algorithm in each of them.
const MESSAGES_PER_PAIR: u64 = 16;
/// In runs, the number of views for each pair of nodes: of several changes that follow each other.
const VIEWS_PER_PAIR: u64 = 16;
/// The kind of a view.
const VIEW: &str = "view";

impl<M: Message> InFlight<M> {
    /// No messages yet, on a network of `link_count` directed links.
    pub(crate) fn new(scenario: &Scenario, link_count: u64) -> Self {
        // With a delay of one tick for all, order is kept anyway, unless a message is held back by hand.
        let is_delay = |action: &Action| matches!(action, Action::Message(_, MessageChange::Delay(_)));
        let varies = scenario.delay != Delay::Unit || scenario.interventions.iter().any(|one| is_delay(&one.action));
        let ordered = !scenario.unordered && varies;
        InFlight {
            channel: ChannelRandomness::new(scenario),
            earliest: ordered.then(|| EarliestArrivals::new(link_count)),
            calendar: Calendar::new(),
            bandwidth: scenario.bandwidth.map(|max| Queue { max, due: BinaryHeap::new() }),
            until: scenario.until,
            order: 0,
            in_flight_count: 0,
            load: Load::new(scenario, link_count),
            memory: MemoryWatch::new(scenario.max_memory),
        }
    }

    /// Whether more messages are in flight than the network's size explains, because of copies of copies or a protocol
    /// that never stops. Such a run is hung, and ends before it fills the memory.
    pub(crate) fn is_overloaded(&self) -> bool {
        self.load.messages > self.load.max_messages || self.load.views > self.load.max_views
    }

    /// Whether the process occupies more memory than allowed.
    #[inline]
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.memory.is_exceeded()
    }

    /// Whether the delay of a message depends on the previous one on the same link.
    pub(crate) fn needs_links(&self) -> bool {
        self.earliest.is_some()
    }

    /// Sends a message. `link` is the number of its link, if it has one.
    #[inline]
    pub(crate) fn send(&mut self, mut transmission: Transmission<M>, link: Option<u64>) {
        self.in_flight_count += u64::from(!transmission.message.is_periodic());
        match self.channel.message(transmission.from) {
            None => {
                let tick = self.in_order(transmission.sent + 1, &transmission, link);
                self.put(tick, transmission);
            }
            Some(draw) => {
                let copy = self.channel.comes_twice(draw).then(|| transmission.clone());
                transmission.lost_by_chance = self.channel.is_lost(draw);
                self.put_at_random(transmission, link, draw);
                if let Some(mut copy) = copy {
                    copy.copy = true;
                    copy.lost_by_chance = self.channel.is_lost(draw.copy());
                    self.put_at_random(copy, link, draw.copy());
                }
            }
        }
    }

    fn put_at_random(&mut self, transmission: Transmission<M>, link: Option<u64>, draw: Draw) {
        let tick = self.in_order(transmission.sent + self.channel.delay(draw), &transmission, link);
        self.put(tick, transmission);
    }

    /// The tick of arrival, not before that of an earlier message on the same link.
    #[inline]
    fn in_order(&mut self, tick: u64, transmission: &Transmission<M>, link: Option<u64>) -> u64 {
        let Some(earliest) = &mut self.earliest else { return tick };
        let earliest_arrival = earliest.of(transmission, link);
        *earliest_arrival = tick.max(*earliest_arrival);
        *earliest_arrival
    }

    #[inline]
    fn put(&mut self, tick: u64, mut transmission: Transmission<M>) {
        transmission.order = self.order;
        self.order += 1;
        self.memory.sent(self.order);
        // A message due after the end is not kept; it only counts as in flight.
        if tick <= self.until {
            *self.load.counter(&transmission.message) += 1;
            self.calendar.put(tick, transmission);
        }
    }

    /// A link leads to another node now. Messages over it have nothing to wait for.
    pub(crate) fn link_changed(&mut self, link: u64) {
        if let Some(earliest_arrival) = self.earliest.as_mut().and_then(|earliest| earliest.link(link)) {
            *earliest_arrival = 0;
        }
    }

    /// The next tick with an arrival.
    pub(crate) fn next(&self, now: u64) -> Option<u64> {
        match &self.bandwidth {
            // A network without any bandwidth has no next arrival.
            Some(queue) if !queue.due.is_empty() && queue.max > 0 => Some(now + 1),
            _ => self.calendar.next(),
        }
    }

    /// Swaps the arrivals of a tick, sorted by receiver, sender and sending order, with an empty list.
    pub(crate) fn take(&mut self, tick: u64, arrivals: &mut Vec<Transmission<M>>) {
        self.calendar.take(tick, arrivals);
        if let Some(queue) = &mut self.bandwidth {
            queue.pass(arrivals);
        }
        // The list is in sending order, and the sort is stable. It often consists of long sorted runs.
        arrivals.sort_by_key(|transmission| u64::from(transmission.to) << 32 | u64::from(transmission.from));
        arrivals.iter().for_each(|arrival| *self.load.counter(&arrival.message) -= 1);
        self.in_flight_count -=
            arrivals.iter().filter(|transmission| !transmission.copy && !transmission.message.is_periodic()).count()
                as u64;
    }

    /// Calls `each` with every message in flight and the tick at which it is due. Messages that wait for bandwidth are
    /// due now.
    pub(crate) fn for_each(&self, now: u64, mut each: impl FnMut(u64, &Transmission<M>)) {
        self.calendar.for_each(&mut each);
        self.bandwidth.iter().flat_map(|queue| &queue.due).for_each(|Due(waiting)| each(now, waiting));
    }

    /// The message that matches, and the tick at which it is due.
    pub(crate) fn find(&self, now: u64, matches: impl Fn(&Transmission<M>) -> bool) -> Option<(u64, Transmission<M>)> {
        let mut found = None;
        self.for_each(now, |due, transmission| {
            if matches(transmission) {
                found = Some((due, transmission.clone()));
            }
        });
        found
    }

    /// Removes the message that matches; false if there is none.
    pub(crate) fn remove(&mut self, matches: impl Fn(&Transmission<M>) -> bool) -> bool {
        let removed = self.calendar.remove(&matches).or_else(|| {
            let queue = self.bandwidth.as_mut()?;
            let mut waiting = std::mem::take(&mut queue.due).into_vec();
            let removed = waiting.iter().position(|Due(one)| matches(one)).map(|place| waiting.remove(place).0);
            queue.due = waiting.into();
            removed
        });
        let Some(removed) = removed else { return false };
        *self.load.counter(&removed.message) -= 1;
        self.in_flight_count -= u64::from(!removed.copy && !removed.message.is_periodic());
        true
    }

    /// Puts back a message that was removed or withheld, or its copy, for another tick.
    pub(crate) fn put_again(&mut self, due: u64, transmission: Transmission<M>) {
        self.in_flight_count += u64::from(!transmission.copy && !transmission.message.is_periodic());
        self.put(due, transmission);
    }

    /// Messages that are sent later on the same link arrive at this tick at the earliest.
    pub(crate) fn hold_back(&mut self, transmission: &Transmission<M>, link: Option<u64>, due: u64) {
        if let Some(earliest) = &mut self.earliest {
            let earliest_arrival = earliest.of(transmission, link);
            *earliest_arrival = due.max(*earliest_arrival);
        }
    }

    /// Whether messages are in flight, not counting copies.
    pub(crate) fn is_any_in_flight(&self) -> bool {
        self.in_flight_count > 0
    }
}

/// Messages that are due and wait for bandwidth.
#[derive(Debug)]
struct Queue<M> {
    max: u64,
    due: BinaryHeap<Due<M>>,
}

impl<M> Queue<M> {
    /// Takes the messages that are newly due, and replaces them by as many as the network can carry.
    fn pass(&mut self, arrivals: &mut Vec<Transmission<M>>) {
        self.due.extend(arrivals.drain(..).map(Due));
        while (arrivals.len() as u64) < self.max
            && let Some(Due(transmission)) = self.due.pop()
        {
            arrivals.push(transmission);
        }
    }
}

/// Orders transmissions by their number, the first one greatest.
#[derive(Debug)]
struct Due<M>(Transmission<M>);

impl<M> PartialEq for Due<M> {
    fn eq(&self, other: &Self) -> bool {
        self.0.order == other.0.order
    }
}
impl<M> Eq for Due<M> {}
impl<M> PartialOrd for Due<M> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<M> Ord for Due<M> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.order.cmp(&self.0.order)
    }
}

/// For each directed link, the tick before which nothing more may arrive.
#[derive(Debug)]
struct EarliestArrivals {
    /// Links by number, unless there are too many.
    link_count: Vec<u64>,
    /// Other links, and pairs of nodes that send by id. It is never iterated, so its order does not matter.
    others: HashMap<(Option<u64>, u32, u32), u64>,
}

impl EarliestArrivals {
    /// Beyond this, most links of a complete network are never used.
    const MAX_LINKS: u64 = 1 << 22;

    fn new(link_count: u64) -> Self {
        let link_count = if link_count <= Self::MAX_LINKS { link_count } else { 0 };
        EarliestArrivals { link_count: vec![0; link_count as usize], others: HashMap::new() }
    }

    fn of<M>(&mut self, transmission: &Transmission<M>, link: Option<u64>) -> &mut u64 {
        let flat = link.map(|link| link as usize).filter(|&link| link < self.link_count.len());
        match flat {
            Some(link) => &mut self.link_count[link],
            None => self.others.entry((link, transmission.from, transmission.to)).or_default(),
        }
    }

    /// The earliest arrival on a link that may lead to another node now. (In the map, another node has another entry.)
    fn link(&mut self, link: u64) -> Option<&mut u64> {
        self.link_count.get_mut(link as usize)
    }
}
