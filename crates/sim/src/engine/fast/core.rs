//! What all fast drivers keep beside the mail: counts, ledger, calendar, gauge, coins.

use std::ops::Range;

use hustings_protocol::{Fact, Id, Message, Protocol, StartReason, Timer};

use super::calendar::{Calendar, Starts};
use super::ledger::{Clockwork, Ledger, agreement, final_leader};
use super::meter::{Gauge, Meter, summary};
use crate::engine::MAX_KINDS;
use crate::engine::books::Directory;
use crate::outcome::Outcome;
use crate::rng::{Purpose, Stream};
use crate::scenario::{Fault, FaultKind, Scenario};

/// What to run, without the network: the fast engine's whole input.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who starts.
    pub starts: Starts,
    /// (tick, position) of every crash.
    pub crashes: Vec<(u64, u32)>,
    /// Decides the coins.
    pub seed: u64,
    /// The last tick that is simulated.
    pub until: u64,
    /// How many threads may work on it.
    pub threads: usize,
}

impl Plan {
    /// What the fast engine needs of a scenario; faults other than crashes are left out.
    pub fn of(scenario: &Scenario) -> Self {
        let crash = |fault: &Fault| match fault.what {
            FaultKind::Crash(at) => Some((fault.tick, at)),
            _ => None,
        };
        Plan {
            starts: Starts::of(&scenario.starts, scenario.network.size()),
            crashes: scenario.faults.iter().filter_map(crash).collect(),
            seed: scenario.seed,
            until: scenario.until,
            threads: scenario.threads,
        }
    }
}

/// Messages by kind. A fixed array, so that a driver can hold it in registers.
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

    pub(super) fn of(&self, kind: usize) -> u64 {
        self.0[kind]
    }
}

/// The books of a range of positions.
pub(super) struct Core<'a, P: Protocol> {
    pub(super) protocol: &'a P,
    pub(super) ranks: &'a [P::Rank],
    pub(super) tick: u64,
    pub(super) counts: Counts,
    lost: u64,
    /// The last tick in which something lost was sent, and how much.
    lost_last: (u64, u64),
    pub(super) ledger: Ledger,
    pub(super) calendar: Calendar<P::Message>,
    pub(super) gauge: Gauge,
    /// The protocol asked for something that this driver cannot do: the run is given up.
    pub(super) unsuited: bool,
    seed: u64,
    /// How many take part in the election: all but an informer outside, who comes last.
    members: u32,
    /// Where an id is; made when the first one is looked up.
    directory: Option<Directory>,
    /// How many coins each node of the range drew; empty until somebody draws.
    coins: Vec<u32>,
    range: Range<u32>,
}

impl<'a, P: Protocol> Core<'a, P> {
    pub(super) fn new<Mt: Meter>(
        protocol: &'a P,
        ranks: &'a [P::Rank],
        plan: &Plan,
        range: Range<u32>,
        members: u32,
    ) -> Self {
        Core {
            protocol,
            ranks,
            tick: 0,
            counts: Counts::default(),
            lost: 0,
            lost_last: (0, 0),
            ledger: Ledger::new(range.start.min(members)..range.end.min(members)),
            calendar: Calendar::new(range.clone(), ranks.len() as u32, &plan.starts, &plan.crashes),
            gauge: Gauge::new::<Mt>(range.clone()),
            unsuited: false,
            seed: plan.seed,
            members,
            directory: None,
            coins: Vec::new(),
            range,
        }
    }

    /// Books a message sent now that will not arrive.
    pub(super) fn lose(&mut self) {
        self.lost += 1;
        self.lost_last = (self.tick, if self.lost_last.0 == self.tick { self.lost_last.1 + 1 } else { 1 });
    }

    /// What was sent in the very last tick is still under way at the end, wherever it would have gone: it is not lost
    /// yet. How much that is.
    fn not_lost_yet(&self, until: u64) -> u64 {
        if self.lost_last.0 == until { self.lost_last.1 } else { 0 }
    }

    /// The bytes of what is kept for every node.
    pub(super) fn memory(&self) -> usize {
        self.range.len() * size_of::<P::Rank>() + self.ledger.memory() + self.gauge.memory()
    }

    #[inline(always)]
    pub(super) fn delivered<Mt: Meter>(&mut self, node: u32) {
        if Mt::FULL {
            self.gauge.delivered(node);
        }
    }

    /// Closes the books of this tick, where one range is all there is.
    #[inline(always)]
    pub(super) fn end_of_tick<Mt: Meter>(&mut self, clock: &mut Clockwork) {
        if Mt::FULL {
            self.gauge.end_of_tick();
        }
        if self.ledger.take_changed() {
            clock.end_of_tick(self.tick, &[&self.ledger], self.ranks);
        }
    }

    /// A node goes down.
    pub(super) fn crash(&mut self, node: u32) {
        if node < self.members {
            self.ledger.crash(node);
        }
    }

    /// What a start signal is at this moment: if the leader that the node names is down, it says so.
    pub(super) fn reason(&mut self, node: u32) -> StartReason {
        if !self.calendar.is_rough() || node >= self.members {
            return StartReason::Start;
        }
        let Some(leader) = self.ledger.names(node) else { return StartReason::Start };
        match self.position(leader) {
            Some(position) if self.calendar.is_up(position, self.tick) => StartReason::Start,
            _ => StartReason::LeaderLost,
        }
    }

    /// Traffic that never ends needs the general engine, which knows what it means for a run to be quiet.
    #[inline(always)]
    pub(super) fn note_periodic(&mut self, message: &P::Message) {
        if message.is_periodic() {
            self.unsuited = true;
        }
    }

    /// Only the general engine reports what nodes found out. Where they stand is for those who watch, and nobody does.
    pub(super) fn learn(&mut self, fact: Fact) {
        self.unsuited |= !matches!(fact, Fact::Stage(_));
    }

    #[cold]
    #[inline(never)]
    pub(super) fn set_timer(&mut self, node: u32, after: u64, timer: Timer) {
        self.unsuited |= timer.is_periodic();
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

/// The outcome of a run from the books of all ranges.
pub(super) fn outcome<P: Protocol>(
    cores: &[Core<'_, P>],
    clock: &Clockwork,
    until: u64,
    mail_is_left: bool,
) -> Outcome {
    let not_lost_yet: u64 = cores.iter().map(|core| core.not_lost_yet(until)).sum();
    let ledgers: Vec<&Ledger> = cores.iter().map(|core| &core.ledger).collect();
    let (ranks, members) = (cores[0].ranks, cores[0].members);
    let mut leaders: Vec<u32> = ledgers.iter().flat_map(|ledger| ledger.leaders()).map(|(node, _)| node).collect();
    leaders.sort_unstable();
    let gauges: Vec<&Gauge> = cores.iter().map(|core| &core.gauge).collect();
    let (bytes, load, collisions) = summary(&gauges, members);
    Outcome {
        leader: final_leader(&ledgers, ranks).map(|(node, _)| node),
        leaders,
        agreement: agreement(&ledgers, ranks).is_some(),
        live: ledgers.iter().map(|ledger| ledger.live()).sum::<u64>() as u32,
        hung: mail_is_left || not_lost_yet > 0,
        by_kind: (0..P::Message::KINDS.len()).map(|kind| cores.iter().map(|core| core.counts.of(kind)).sum()).collect(),
        notice: Vec::new(),
        bytes,
        lost: cores.iter().map(|core| core.lost).sum::<u64>() - not_lost_yet,
        load,
        collisions,
        time: clock.times(&ledgers, ranks),
        estimate: None,
        names: Vec::new(),
    }
}
