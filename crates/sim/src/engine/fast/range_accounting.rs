//! What every fast driver keeps for a range of positions beside messages and states: counts, leaders, calendar, load
//! and coins.

use std::ops::Range;

use hustings_protocol::{Fact, Id, Message, Protocol, StartReason, Timer};

use super::EngineInput;
use super::calendar::Calendar;
use super::leader_index::{ElectionTimes, LeaderIndex, agreement, final_leader};
use super::measurement::{LoadMeter, summary};
use crate::engine::MAX_KINDS;
use crate::engine::directory::Directory;
use crate::memory::MemoryWatch;
use crate::outcome::Outcome;
use crate::rng::{Purpose, Stream};

/// Message counts by kind. A fixed array, so that a driver can hold it in registers.
#[derive(Default)]
pub(super) struct Counts([u64; MAX_KINDS]);

impl Counts {
    #[inline(always)]
    pub(super) fn sent<M: Message>(&mut self, message: &M, copies: u64) {
        const { assert!(M::KINDS.len() <= MAX_KINDS, "too many kinds of messages") };
        self.0[message.kind()] += copies;
    }

    pub(super) fn add(&mut self, more: &Counts) {
        self.0.iter_mut().zip(&more.0).for_each(|(sum, more)| *sum += more);
    }

    fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn of(&self, kind: usize) -> u64 {
        self.0[kind]
    }
}

/// The accounting of a range of positions.
pub(super) struct RangeAccounting<'a, P: Protocol> {
    pub(super) protocol: &'a P,
    pub(super) ranks: &'a [P::Rank],
    pub(super) tick: u64,
    pub(super) counts: Counts,
    lost: u64,
    /// The last tick in which a lost message was sent, and how many were.
    lost_last: (u64, u64),
    pub(super) leader_index: LeaderIndex,
    pub(super) calendar: Calendar<P::Message>,
    pub(super) load_meter: LoadMeter,
    /// The protocol did something that this driver does not support. The run is given up.
    pub(super) unsupported: bool,
    pub(super) memory_watch: MemoryWatch,
    seed: u64,
    /// The number of positions that take part in the election. An outside informer comes after them.
    members: u32,
    /// Positions by id, built at the first lookup.
    directory: Option<Directory>,
    /// How many coins each node of the range has drawn; empty before the first draw.
    coins: Vec<u32>,
    range: Range<u32>,
}

impl<'a, P: Protocol> RangeAccounting<'a, P> {
    pub(super) fn new<const FULL: bool>(
        protocol: &'a P,
        ranks: &'a [P::Rank],
        input: &EngineInput,
        range: Range<u32>,
        members: u32,
    ) -> Self {
        RangeAccounting {
            protocol,
            ranks,
            tick: 0,
            counts: Counts::default(),
            lost: 0,
            lost_last: (0, 0),
            leader_index: LeaderIndex::new(range.start.min(members)..range.end.min(members)),
            calendar: Calendar::new(range.clone(), ranks.len() as u32, input.starts.as_deref(), &input.crashes),
            load_meter: LoadMeter::new::<FULL>(range.clone()),
            unsupported: false,
            memory_watch: MemoryWatch::new(input.max_memory),
            seed: input.seed,
            members,
            directory: None,
            coins: Vec::new(),
            range,
        }
    }

    /// Whether the process occupies more memory than allowed, given what a driver has counted apart in this tick.
    #[inline]
    pub(super) fn is_out_of_memory(&mut self, more: &Counts) -> bool {
        if self.memory_watch.is_on() {
            self.memory_watch.sent(self.counts.total() + more.total());
        }
        self.memory_watch.is_exceeded()
    }

    /// Counts a message sent now that will not arrive.
    pub(super) fn count_lost(&mut self) {
        self.lost += 1;
        self.lost_last = (self.tick, if self.lost_last.0 == self.tick { self.lost_last.1 + 1 } else { 1 });
    }

    /// How many of the lost messages were sent in the last tick. They are still in flight at the end, so they do not
    /// count as lost.
    fn not_lost_yet(&self, until: u64) -> u64 {
        if self.lost_last.0 == until { self.lost_last.1 } else { 0 }
    }

    /// The number of bytes kept for the nodes.
    pub(super) fn memory(&self) -> usize {
        self.range.len() * size_of::<P::Rank>() + self.leader_index.memory() + self.load_meter.memory()
    }

    #[inline(always)]
    pub(super) fn delivered<const FULL: bool>(&mut self, node: u32) {
        if FULL {
            self.load_meter.delivered(node);
        }
    }

    /// Ends a tick, for drivers with a single range.
    #[inline(always)]
    pub(super) fn end_of_tick<const FULL: bool>(&mut self, times: &mut ElectionTimes) {
        if FULL {
            self.load_meter.end_of_tick();
        }
        if self.leader_index.take_changed() {
            times.end_of_tick(self.tick, &[&self.leader_index], self.ranks);
        }
    }

    /// Marks a node as down.
    pub(super) fn crash(&mut self, node: u32) {
        if node < self.members {
            self.leader_index.crash(node);
        }
    }

    /// The reason of a start signal at this moment: [`StartReason::LeaderLost`] if the leader that the node names is
    /// down.
    pub(super) fn reason(&mut self, node: u32) -> StartReason {
        if !self.calendar.has_crashes() || node >= self.members {
            return StartReason::Start;
        }
        let Some(leader) = self.leader_index.names(node) else { return StartReason::Start };
        match self.position(leader) {
            Some(position) if self.calendar.is_up(position, self.tick) => StartReason::Start,
            _ => StartReason::LeaderLost,
        }
    }

    /// Periodic messages need the general engine, which tells when such a run is quiescent.
    #[inline(always)]
    pub(super) fn note_periodic(&mut self, message: &P::Message) {
        if message.is_periodic() {
            self.unsupported = true;
        }
    }

    /// Only the general engine reports facts. Stages are for observers, and this engine has none.
    pub(super) fn learn(&mut self, fact: Fact) {
        self.unsupported |= !matches!(fact, Fact::Stage(_));
    }

    #[cold]
    #[inline(never)]
    pub(super) fn set_timer(&mut self, node: u32, after: u64, timer: Timer) {
        self.unsupported |= timer.is_periodic();
        self.calendar.set_timer(self.tick, node, after, timer);
    }

    /// The position of an id.
    #[cold]
    #[inline(never)]
    pub(super) fn position(&mut self, id: Id) -> Option<u32> {
        let members = &self.ranks[..self.members as usize];
        self.directory.get_or_insert_with(|| Directory::new(members)).position(id)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn draw(&mut self, node: u32, bound: u64) -> u64 {
        self.coins.resize(self.range.len(), 0);
        let drawn = &mut self.coins[(node - self.range.start) as usize];
        let mut stream = Stream::new(self.seed, Purpose::Coins, u64::from(node)).skip_to(u64::from(*drawn));
        let number = stream.below(bound);
        *drawn = stream.position() as u32;
        number
    }
}

/// The outcome of a run from the accounting of all ranges.
pub(super) fn outcome<P: Protocol>(
    ranges: &[RangeAccounting<'_, P>],
    times: &ElectionTimes,
    until: u64,
    messages_are_left: bool,
) -> Outcome {
    let not_lost_yet: u64 = ranges.iter().map(|ring| ring.not_lost_yet(until)).sum();
    let leader_indices: Vec<&LeaderIndex> = ranges.iter().map(|ring| &ring.leader_index).collect();
    let (ranks, members) = (ranges[0].ranks, ranges[0].members);
    let mut leaders: Vec<u32> =
        leader_indices.iter().flat_map(|leader_index| leader_index.leaders()).map(|(node, _)| node).collect();
    leaders.sort_unstable();
    let load_meters: Vec<&LoadMeter> = ranges.iter().map(|ring| &ring.load_meter).collect();
    let (bytes, load, collisions) = summary(&load_meters, members);
    Outcome {
        leader: final_leader(&leader_indices, ranks).map(|(node, _)| node),
        leaders,
        agreement: agreement(&leader_indices, ranks).is_some(),
        live: leader_indices.iter().map(|leader_index| leader_index.live()).sum::<u64>() as u32,
        hung: messages_are_left || not_lost_yet > 0,
        out_of_memory: ranges.iter().any(|ring| ring.memory_watch.is_exceeded()).then_some(ranges[0].tick),
        by_kind: (0..P::Message::KINDS.len())
            .map(|kind| ranges.iter().map(|ring| ring.counts.of(kind)).sum())
            .collect(),
        notice: Vec::new(),
        bytes,
        lost: ranges.iter().map(|ring| ring.lost).sum::<u64>() - not_lost_yet,
        load,
        collisions,
        time: times.times(&leader_indices, ranks),
        estimate: None,
        names: Vec::new(),
        refused: Vec::new(),
        cheating: Vec::new(),
    }
}
