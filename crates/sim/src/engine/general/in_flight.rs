//! The transmission: what is under route, when it is due, and how much of it the network can carry.

use std::collections::{BinaryHeap, HashMap};

use hustings_protocol::{Id, Message, Port};

use super::calendar::Calendar;
use super::channel::{ChannelRandomness, Draw};
use super::retransmission::SequenceNumber;
use crate::scenario::{Delay, Scenario};

/// How a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
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

/// A message under route.
#[derive(Clone, Debug)]
pub(crate) struct Transmission<M> {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) route: Route,
    /// Which incarnation of its sender it comes from.
    pub(crate) incarnation: u32,
    /// By chance it does not arrive.
    pub(crate) lost_by_chance: bool,
    /// It is the second delivery of a message.
    pub(crate) copy: bool,
    /// When it was sent.
    pub(crate) sent: u64,
    /// Its place among all transmission: by tick sent, then sender, then sending order.
    pub(crate) order: u64,
    /// The record of the handling that sent it.
    pub(crate) cause: u64,
    /// Which of the messages of that handling it is.
    pub(crate) nth: u32,
    /// Under which its sender keeps it.
    pub(crate) sequence_number: SequenceNumber,
    pub(crate) message: M,
}

/// All transmission under route.
#[derive(Debug)]
pub(crate) struct InFlight<M> {
    channel: ChannelRandomness,
    /// What may not be overtaken; `None` where nothing can overtake or everything may.
    floors: Option<Floors>,
    calendar: Calendar<Transmission<M>>,
    bandwidth: Option<Queue<M>>,
    until: u64,
    /// How many messages were sent, copies included.
    order: u64,
    /// How many messages are under route, copies not included.
    under_way: u64,
    /// How many are in memory, copies included, and how many may be.
    held: u64,
    most: u64,
}

/// What may be under route on any network, however small.
const ALWAYS_FITS: u64 = 250_000;
/// And how much more for each directed link.
const FITS_PER_LINK: u64 = 16;

impl<M: Message> InFlight<M> {
    /// No transmission yet, on a network of so many directed links.
    pub(crate) fn new(scenario: &Scenario, link_count: u64) -> Self {
        let ordered = !scenario.unordered && scenario.delay != Delay::Unit;
        InFlight {
            channel: ChannelRandomness::new(scenario),
            floors: ordered.then(|| Floors::new(link_count)),
            calendar: Calendar::new(),
            bandwidth: scenario.bandwidth.map(|most| Queue { most, due: BinaryHeap::new() }),
            until: scenario.until,
            order: 0,
            under_way: 0,
            held: 0,
            most: ALWAYS_FITS + FITS_PER_LINK * link_count,
        }
    }

    /// Whether more transmission is under route than the network's size explains: copies of copies, or a protocol that never
    /// tires. The run is hung then, and goes no further: it would only fill the memory.
    pub(crate) fn is_overfull(&self) -> bool {
        self.held > self.most
    }

    /// Whether the delay of a message depends on the one before it on the same link.
    pub(crate) fn needs_links(&self) -> bool {
        self.floors.is_some()
    }

    /// A message leaves. `link`: the number of its link, if it goes along one.
    #[inline]
    pub(crate) fn send(&mut self, mut transmission: Transmission<M>, link: Option<u64>) {
        self.under_way += u64::from(!transmission.message.is_periodic());
        match self.channel.message(transmission.from) {
            None => self.put(transmission.sent + 1, transmission),
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
        let mut tick = transmission.sent + self.channel.delay(draw);
        if let Some(floors) = &mut self.floors {
            let floor = floors.of(&transmission, link);
            tick = tick.max(*floor);
            *floor = tick;
        }
        self.put(tick, transmission);
    }

    #[inline]
    fn put(&mut self, tick: u64, mut transmission: Transmission<M>) {
        transmission.order = self.order;
        self.order += 1;
        // What is due later is never seen; it only counts as under route.
        if tick <= self.until {
            self.held += 1;
            self.calendar.put(tick, transmission);
        }
    }

    /// A link leads to somebody else now: what is sent there has nothing to wait for.
    pub(crate) fn link_changed(&mut self, link: u64) {
        if let Some(floor) = self.floors.as_mut().and_then(|floors| floors.link(link)) {
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
    pub(crate) fn take(&mut self, tick: u64, arrivals: &mut Vec<Transmission<M>>) {
        self.calendar.take(tick, arrivals);
        if let Some(queue) = &mut self.bandwidth {
            queue.pass(arrivals);
        }
        // They are in order of sending, and the sort is stable. A tick's transmission often comes in long sorted runs.
        arrivals.sort_by_key(|transmission| u64::from(transmission.to) << 32 | u64::from(transmission.from));
        self.held -= arrivals.len() as u64;
        self.under_way -=
            arrivals.iter().filter(|transmission| !transmission.copy && !transmission.message.is_periodic()).count()
                as u64;
    }

    /// Whether transmission is under route, beside copies.
    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way > 0
    }
}

/// The transmission that is due and waits for its turn.
#[derive(Debug)]
struct Queue<M> {
    most: u64,
    due: BinaryHeap<Due<M>>,
}

impl<M> Queue<M> {
    /// Inputs what is newly due and leaves in its place what the network can carry.
    fn pass(&mut self, arrivals: &mut Vec<Transmission<M>>) {
        self.due.extend(arrivals.drain(..).map(Due));
        while (arrivals.len() as u64) < self.most
            && let Some(Due(transmission)) = self.due.pop()
        {
            arrivals.push(transmission);
        }
    }
}

/// Transmission by its order, the first one greatest.
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

/// For each directed link the tick before which nothing more may arrive there.
#[derive(Debug)]
struct Floors {
    /// Links by number, while there are not too many of them.
    link_count: Vec<u64>,
    /// The other links, and pairs of nodes that reach each other by id. It is only looked up, so its order is never
    /// seen.
    others: HashMap<(Option<u64>, u32, u32), u64>,
}

impl Floors {
    /// Beyond this, most links of a complete network are never used.
    const MAX_LINKS: u64 = 1 << 22;

    fn new(link_count: u64) -> Self {
        let link_count = if link_count <= Self::MAX_LINKS { link_count } else { 0 };
        Floors { link_count: vec![0; link_count as usize], others: HashMap::new() }
    }

    fn of<M>(&mut self, transmission: &Transmission<M>, link: Option<u64>) -> &mut u64 {
        let flat = link.map(|link| link as usize).filter(|&link| link < self.link_count.len());
        match flat {
            Some(link) => &mut self.link_count[link],
            None => self.others.entry((link, transmission.from, transmission.to)).or_default(),
        }
    }

    /// The floor of a link that may lead to another node than before. (In the map, another node is another entry.)
    fn link(&mut self, link: u64) -> Option<&mut u64> {
        self.link_count.get_mut(link as usize)
    }
}
