//! Random faults, from a seed.

use std::collections::BTreeSet;

use hustings_algorithms::{Synchrony, Tolerates};
use hustings_protocol::SplitMix64;

use crate::common::sweep::{Case, Subject, group};

/// What may happen.
#[derive(Clone, Copy)]
pub(crate) struct Menu {
    pub(crate) crashes: bool,
    pub(crate) recoveries: bool,
    /// Also within a tick, so that nobody notices.
    pub(crate) restarts: bool,
    pub(crate) links: bool,
    /// Delays without a bound.
    pub(crate) endless_delays: bool,
}

impl Menu {
    pub(crate) const EVERYTHING: Menu =
        Menu { crashes: true, recoveries: true, restarts: true, links: true, endless_delays: true };

    /// What an algorithm claims to survive.
    pub(crate) fn of(tolerates: Tolerates) -> Self {
        let Tolerates { crashes, recoveries, partitions, with, .. } = tolerates;
        // Who asks now and then will now and then take somebody for dead who is only slow; also at the end of a case.
        let endless_delays = with.is_empty();
        Menu { crashes, recoveries, restarts: false, links: partitions, endless_delays }
    }
}

/// What goes on while a schedule is made up.
struct Schedule {
    menu: Menu,
    coins: SplitMix64,
    case: Case,
    size: u32,
    up: Vec<bool>,
    /// Nodes to which something happened in this tick, and whether something happened to links.
    busy: BTreeSet<u32>,
    links_busy: bool,
    cut: BTreeSet<(u32, u32)>,
    links: Vec<(u32, u32)>,
}

/// The same case with a few faults within the first ticks, random ids and, where the algorithm bears it, random delays.
/// `links` are those that may be cut. Also the tick of the last fault.
pub(crate) fn at_random(
    subject: &Subject,
    case: Case,
    (size, links): (u32, Vec<(u32, u32)>),
    menu: Menu,
    seed: u64,
) -> (Case, u64) {
    let mut coins = SplitMix64::new(seed);
    let mut case = case.with("-n", size).with("--seed", seed);
    if coins.below(2) == 0 {
        case = case.with("--ids", "random");
    }
    if subject.about.assumptions.synchrony == Synchrony::Asynchronous {
        case = match coins.below(if menu.endless_delays { 4 } else { 3 }) {
            0 => case,
            1 => case.with("--delay", "uniform:1-4"),
            2 => case.with("--delay", "uniform:1-12"),
            _ => case.with("--delay", "exponential:3"),
        };
    }
    let faults = 1 + coins.below(9);
    let pace = 1 + coins.below(12);
    let (up, busy, cut) = (vec![true; size as usize], BTreeSet::new(), BTreeSet::new());
    let mut schedule = Schedule { menu, coins, case, size, up, busy, links_busy: false, cut, links };
    let mut tick = 0;
    for _ in 0..faults {
        let pause = schedule.coins.below(pace + 1);
        if pause > 0 {
            schedule.busy.clear();
            schedule.links_busy = false;
        }
        tick += pause;
        schedule.happen(tick);
    }
    (schedule.case, tick)
}

impl Schedule {
    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let count = from.len() as u64;
        if count == 0 { None } else { Some(from[self.coins.below(count) as usize]) }
    }

    /// A node that is up or down and to which nothing has happened in this tick.
    fn node(&mut self, is_up: bool) -> Option<u32> {
        let free = |at: &u32| self.up[*at as usize] == is_up && !self.busy.contains(at);
        let nodes: Vec<u32> = (0..self.size).filter(free).collect();
        let at = self.pick(&nodes)?;
        self.busy.insert(at);
        Some(at)
    }

    /// One fault, if there is anything for it to happen to.
    fn happen(&mut self, tick: u64) {
        let what = self.coins.below(9);
        let menu = self.menu;
        let is_on_it =
            [menu.crashes, menu.recoveries, menu.restarts, menu.links][[0, 0, 1, 1, 2, 3, 3, 3, 3][what as usize]];
        if !is_on_it {
            return;
        }
        // Of those of one tick, repairs come first, whatever the order in which they are typed.
        if what > 4 && std::mem::replace(&mut self.links_busy, true) {
            return;
        }
        let _ = match what {
            0 | 1 => self.turn(tick, "--crash", true),
            2 | 3 => self.turn(tick, "--recover", false),
            4 => self.node(true).map(|at| self.case = self.case.clone().restart(at, tick)),
            5 => self.cut_a_link(tick),
            6 => self.mend_a_link(tick),
            7 => self.part(tick),
            _ => {
                self.cut.clear();
                self.add("--heal", format!("all@{tick}"))
            }
        };
    }

    fn add(&mut self, name: &'static str, value: String) -> Option<()> {
        self.case = self.case.clone().with(name, value);
        Some(())
    }

    fn turn(&mut self, tick: u64, name: &'static str, was_up: bool) -> Option<()> {
        let at = self.node(was_up)?;
        self.up[at as usize] = !was_up;
        self.add(name, format!("{at}@{tick}"))
    }

    fn cut_a_link(&mut self, tick: u64) -> Option<()> {
        let whole: Vec<(u32, u32)> = self.links.iter().copied().filter(|link| !self.cut.contains(link)).collect();
        let (a, b) = self.pick(&whole)?;
        self.cut.insert((a, b));
        self.add("--cut", format!("{a}-{b}@{tick}"))
    }

    fn mend_a_link(&mut self, tick: u64) -> Option<()> {
        let cut: Vec<(u32, u32)> = self.cut.iter().copied().collect();
        let (a, b) = self.pick(&cut)?;
        self.cut.remove(&(a, b));
        self.add("--heal", format!("{a}-{b}@{tick}"))
    }

    fn part(&mut self, tick: u64) -> Option<()> {
        let side = 1 + self.coins.below((1 << self.size.min(20)) - 1);
        let group = group(side, self.size)?;
        self.add("--partition", format!("{group}@{tick}"))
    }
}
