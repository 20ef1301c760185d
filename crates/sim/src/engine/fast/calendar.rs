//! Everything in a tick other than arriving messages: starts, crashes, returned messages and timers.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use hustings_protocol::{Id, Port, Timer};

use crate::scenario::Start;

/// A message that found its receiver down and returns to its sender.
pub(super) struct ReturnedMessage<M> {
    pub(super) sender: u32,
    pub(super) to: Destination,
    pub(super) message: M,
}

/// Where a message was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    /// The peer behind a port, and its position.
    Port(Port, u32),
    /// A node by its id.
    Id(Id),
}

/// The events of a range of positions, by tick.
pub(super) struct Calendar<M> {
    starts: VecDeque<(u64, u32)>,
    /// All positions of this range start at tick 0.
    all_start_at_zero: bool,
    /// When each node crashes; empty if none does.
    down_from: Vec<u64>,
    crashes: VecDeque<(u64, u32)>,
    /// Returning messages with the tick in which they are due, ascending by tick, then sender. That is the order in
    /// which they are sent, because all return after two ticks.
    returns: VecDeque<(u64, ReturnedMessage<M>)>,
    timers: BTreeMap<u64, Vec<(u32, Timer)>>,
    next: u64,
}

/// The events of one tick. Each list ascends by position.
pub(super) struct TickEvents<M> {
    pub(super) all_start: bool,
    pub(super) starts: VecDeque<u32>,
    pub(super) crashes: VecDeque<u32>,
    pub(super) returns: VecDeque<ReturnedMessage<M>>,
    pub(super) timers: VecDeque<(u32, Timer)>,
}

impl<M> TickEvents<M> {
    const EMPTY: Self = TickEvents {
        all_start: false,
        starts: VecDeque::new(),
        crashes: VecDeque::new(),
        returns: VecDeque::new(),
        timers: VecDeque::new(),
    };
}

impl<M> Calendar<M> {
    /// The calendar of a range of positions. Without `starts`, all of them start at tick 0.
    /// `crashes` has the tick and the position of all crashes, in all ranges.
    pub(super) fn new(range: Range<u32>, size: u32, starts: Option<&[Start]>, crashes: &[(u64, u32)]) -> Self {
        let mut down_from = Vec::new();
        if !crashes.is_empty() {
            down_from.resize(size as usize, u64::MAX);
            for &(tick, node) in crashes {
                down_from[node as usize] = down_from[node as usize].min(tick);
            }
        }
        let listed = starts.unwrap_or_default().iter().filter(|start| range.contains(&start.at));
        let mut calendar = Calendar {
            starts: listed.map(|start| (start.tick, start.at)).collect(),
            all_start_at_zero: starts.is_none(),
            down_from,
            crashes: first_crashes(crashes, &range),
            returns: VecDeque::new(),
            timers: BTreeMap::new(),
            next: 0,
        };
        calendar.find_next();
        calendar
    }

    /// The next tick with an event.
    #[inline(always)]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether any node crashes.
    #[inline(always)]
    pub(super) fn has_crashes(&self) -> bool {
        !self.down_from.is_empty()
    }

    /// Whether a node is up at a tick.
    #[inline(always)]
    pub(super) fn is_up(&self, node: u32, tick: u64) -> bool {
        self.down_from.is_empty() || self.down_from[node as usize] > tick
    }

    /// Schedules the return of a message, sent at `tick`, to a node that will be down when it arrives. The message is
    /// kept even if its sender crashes before the return: until then, the sender may send it again.
    pub(super) fn return_to_sender(&mut self, tick: u64, message: ReturnedMessage<M>) {
        let due = tick + 2;
        debug_assert!(self.returns.back().is_none_or(|last| (last.0, last.1.sender) <= (due, message.sender)));
        self.returns.push_back((due, message));
        self.next = self.next.min(due);
    }

    /// Takes the returning messages that this node sent there, in sending order.
    pub(super) fn take_returned(&mut self, sender: u32, to: Destination) -> Vec<M> {
        let mut taken = Vec::new();
        for (due, message) in std::mem::take(&mut self.returns) {
            if (message.sender, message.to) == (sender, to) {
                taken.push(message.message);
            } else {
                self.returns.push_back((due, message));
            }
        }
        taken
    }

    pub(super) fn set_timer(&mut self, tick: u64, node: u32, after: u64, timer: Timer) {
        let due = tick.saturating_add(after.max(1));
        self.timers.entry(due).or_default().push((node, timer));
        self.next = self.next.min(due);
    }

    /// Takes the events of this tick.
    pub(super) fn open(&mut self, tick: u64) -> TickEvents<M> {
        if self.next > tick {
            return TickEvents::EMPTY;
        }
        let all_start = tick == 0 && std::mem::take(&mut self.all_start_at_zero);
        let mut returns = VecDeque::new();
        while let Some((_, message)) = self.returns.pop_front_if(|first| first.0 <= tick) {
            returns.push_back(message);
        }
        let events = TickEvents {
            all_start,
            starts: take_due(&mut self.starts, tick),
            crashes: take_due(&mut self.crashes, tick),
            returns,
            timers: take_timers(&mut self.timers, tick),
        };
        self.find_next();
        events
    }

    fn find_next(&mut self) {
        let heads = [
            self.all_start_at_zero.then_some(0),
            self.starts.front().map(|start| start.0),
            self.crashes.front().map(|crash| crash.0),
            self.returns.front().map(|message| message.0),
            self.timers.keys().next().copied(),
        ];
        self.next = heads.into_iter().flatten().min().unwrap_or(u64::MAX);
    }
}

// What follows does not depend on the type of messages, so it is compiled once.

/// The first crash of each node in a range, ascending by tick, then position.
fn first_crashes(crashes: &[(u64, u32)], range: &Range<u32>) -> VecDeque<(u64, u32)> {
    let mut own: Vec<(u64, u32)> = crashes.iter().copied().filter(|(_, node)| range.contains(node)).collect();
    own.sort_unstable_by_key(|&(tick, node)| (node, tick));
    own.dedup_by_key(|&mut (_, node)| node);
    own.sort_unstable();
    own.into()
}

fn take_timers(timers: &mut BTreeMap<u64, Vec<(u32, Timer)>>, tick: u64) -> VecDeque<(u32, Timer)> {
    let mut due = timers.remove(&tick).unwrap_or_default();
    due.sort_by_key(|&(node, _)| node); // stable: a node's timers keep the order of their setting
    due.into()
}

fn take_due(list: &mut VecDeque<(u64, u32)>, tick: u64) -> VecDeque<u32> {
    let mut due = VecDeque::new();
    while let Some(&(when, node)) = list.front() {
        if when > tick {
            break;
        }
        list.pop_front();
        due.push_back(node);
    }
    due
}
