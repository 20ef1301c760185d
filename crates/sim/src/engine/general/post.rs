//! The mail: what is under way, when it is due, and how much of it the network can carry.

use std::collections::{BinaryHeap, HashMap};

use hustings_protocol::{Id, Message, Port};

use super::calendar::Calendar;
use super::chances::{Chances, Draw};
use super::resends::Ticket;
use crate::scenario::{Delay, Scenario};

/// How a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Along a link.
    Link {
        /// The sender's port.
        out: Port,
        /// The receiver's.
        into: Port,
    },
    /// To a node known by its id.
    Direct(Id),
    /// To an id that no node has: it is lost when it is due, and nobody hears of it.
    Nowhere(Id),
}

/// A message under way.
#[derive(Clone, Debug)]
pub(crate) struct Mail<M> {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) way: Way,
    /// Which life of its sender it comes from.
    pub(crate) life: u32,
    /// By chance it does not arrive.
    pub(crate) unlucky: bool,
    /// It is the second delivery of a message.
    pub(crate) copy: bool,
    /// When it was sent.
    pub(crate) sent: u64,
    /// Its place among all mail: by tick sent, then sender, then sending order.
    pub(crate) order: u64,
    /// The record of the handling that sent it.
    pub(crate) cause: u64,
    /// Which of the messages of that handling it is.
    pub(crate) nth: u32,
    /// Under which its sender keeps it.
    pub(crate) ticket: Ticket,
    pub(crate) message: M,
}

/// All mail under way.
#[derive(Debug)]
pub(crate) struct Post<M> {
    chances: Chances,
    /// What may not be overtaken; `None` where nothing can overtake or everything may.
    floors: Option<Floors>,
    calendar: Calendar<Mail<M>>,
    bandwidth: Option<Queue<M>>,
    until: u64,
    /// How many messages were sent, copies included.
    order: u64,
    /// How many messages are under way, copies not included.
    under_way: u64,
    /// How many are in memory, copies included, and how many may be.
    held: u64,
    most: u64,
}

/// What may be under way on any network, however small.
const ALWAYS_FITS: u64 = 250_000;
/// And how much more for each directed link.
const FITS_PER_LINK: u64 = 16;

impl<M: Message> Post<M> {
    /// No mail yet, on a network of so many directed links.
    pub(crate) fn new(scenario: &Scenario, lanes: u64) -> Self {
        let ordered = !scenario.unordered && scenario.delay != Delay::Unit;
        Post {
            chances: Chances::new(scenario),
            floors: ordered.then(|| Floors::new(lanes)),
            calendar: Calendar::new(),
            bandwidth: scenario.bandwidth.map(|most| Queue { most, due: BinaryHeap::new() }),
            until: scenario.until,
            order: 0,
            under_way: 0,
            held: 0,
            most: ALWAYS_FITS + FITS_PER_LINK * lanes,
        }
    }

    /// Whether more mail is under way than the network's size explains: copies of copies, or a protocol that never
    /// tires. The run is hung then, and goes no further: it would only fill the memory.
    pub(crate) fn is_overfull(&self) -> bool {
        self.held > self.most
    }

    /// Whether the delay of a message depends on the one before it on the same link.
    pub(crate) fn needs_lanes(&self) -> bool {
        self.floors.is_some()
    }

    /// A message leaves. `lane`: the number of its link, if it goes along one.
    #[inline]
    pub(crate) fn send(&mut self, mut mail: Mail<M>, lane: Option<u64>) {
        self.under_way += u64::from(!mail.message.is_periodic());
        match self.chances.message(mail.from) {
            None => self.put(mail.sent + 1, mail),
            Some(draw) => {
                let copy = self.chances.comes_twice(draw).then(|| mail.clone());
                mail.unlucky = self.chances.is_lost(draw);
                self.put_at_random(mail, lane, draw);
                if let Some(mut copy) = copy {
                    copy.copy = true;
                    copy.unlucky = self.chances.is_lost(draw.copy());
                    self.put_at_random(copy, lane, draw.copy());
                }
            }
        }
    }

    fn put_at_random(&mut self, mail: Mail<M>, lane: Option<u64>, draw: Draw) {
        let mut tick = mail.sent + self.chances.delay(draw);
        if let Some(floors) = &mut self.floors {
            let floor = floors.of(&mail, lane);
            tick = tick.max(*floor);
            *floor = tick;
        }
        self.put(tick, mail);
    }

    #[inline]
    fn put(&mut self, tick: u64, mut mail: Mail<M>) {
        mail.order = self.order;
        self.order += 1;
        // What is due later is never seen; it only counts as under way.
        if tick <= self.until {
            self.held += 1;
            self.calendar.put(tick, mail);
        }
    }

    /// A link leads to somebody else now: what is sent there has nothing to wait for.
    pub(crate) fn lane_turned(&mut self, lane: u64) {
        if let Some(floor) = self.floors.as_mut().and_then(|floors| floors.lane(lane)) {
            *floor = 0;
        }
    }

    /// The next tick with an arrival.
    pub(crate) fn next(&self, now: u64) -> Option<u64> {
        match &self.bandwidth {
            // A network that carries nothing has no next arrival.
            Some(queue) if !queue.due.is_empty() && queue.most > 0 => Some(now + 1),
            _ => self.calendar.next(),
        }
    }

    /// Exchanges what arrives at a tick for an empty list: by receiver, sender and sending order.
    pub(crate) fn take(&mut self, tick: u64, arrivals: &mut Vec<Mail<M>>) {
        self.calendar.take(tick, arrivals);
        if let Some(queue) = &mut self.bandwidth {
            queue.pass(arrivals);
        }
        // They are in order of sending, and the sort is stable. A tick's mail often comes in long sorted runs.
        arrivals.sort_by_key(|mail| u64::from(mail.to) << 32 | u64::from(mail.from));
        self.held -= arrivals.len() as u64;
        self.under_way -= arrivals.iter().filter(|mail| !mail.copy && !mail.message.is_periodic()).count() as u64;
    }

    /// Whether mail is under way, beside copies.
    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way > 0
    }
}

/// The mail that is due and waits for its turn.
#[derive(Debug)]
struct Queue<M> {
    most: u64,
    due: BinaryHeap<Due<M>>,
}

impl<M> Queue<M> {
    /// Inputs what is newly due and leaves in its place what the network can carry.
    fn pass(&mut self, arrivals: &mut Vec<Mail<M>>) {
        self.due.extend(arrivals.drain(..).map(Due));
        while (arrivals.len() as u64) < self.most
            && let Some(Due(mail)) = self.due.pop()
        {
            arrivals.push(mail);
        }
    }
}

/// Mail by its order, the first one greatest.
#[derive(Debug)]
struct Due<M>(Mail<M>);

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

/// For each directed link the tick before which nothing more may arrive there.
#[derive(Debug)]
struct Floors {
    /// Links by number, while there are not too many of them.
    lanes: Vec<u64>,
    /// The other links, and pairs of nodes that reach each other by id. It is only looked up, so its order is never
    /// seen.
    others: HashMap<(Option<u64>, u32, u32), u64>,
}

impl Floors {
    /// Beyond this, most links of a complete network are never used.
    const MAX_LANES: u64 = 1 << 22;

    fn new(lanes: u64) -> Self {
        let lanes = if lanes <= Self::MAX_LANES { lanes } else { 0 };
        Floors { lanes: vec![0; lanes as usize], others: HashMap::new() }
    }

    fn of<M>(&mut self, mail: &Mail<M>, lane: Option<u64>) -> &mut u64 {
        let flat = lane.map(|lane| lane as usize).filter(|&lane| lane < self.lanes.len());
        match flat {
            Some(lane) => &mut self.lanes[lane],
            None => self.others.entry((lane, mail.from, mail.to)).or_default(),
        }
    }

    /// The floor of a link that may lead to another node than before. (In the map, another node is another entry.)
    fn lane(&mut self, lane: u64) -> Option<&mut u64> {
        self.lanes.get_mut(lane as usize)
    }
}
