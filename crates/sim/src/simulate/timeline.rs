//! What happens to nodes and links, in order, with everything that makes no sense refused.

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::Port;

use super::{Refusal, Request};
use crate::parse::{Healing, LinkAt, NodeAt, Split};
use crate::scenario::{Fault, FaultKind};
use crate::topology::Network;

/// The most faults and repairs of one scenario.
const MAX_FAULTS: usize = 100_000;

/// The checked faults of a request, and who is up when.
pub(super) struct Timeline {
    /// Ascending by tick.
    pub(super) faults: Vec<Fault>,
    /// For nodes to which something happens: whether they are up before anything does.
    first: BTreeMap<u32, bool>,
    /// When such nodes come up (true) or go down, ascending by tick.
    changes: BTreeMap<u32, Vec<(u64, bool)>>,
    cut: BTreeSet<(u32, u32)>,
}

/// One fault on its way through the checks, with the option it came from.
struct Planned {
    tick: u64,
    option: String,
    what: FaultKind,
}

impl Timeline {
    pub(super) fn new(request: &Request, network: &Network, until: u64) -> Result<Self, Refusal> {
        let mut planned = Self::gather(request, network)?;
        if planned.len() > MAX_FAULTS {
            return Err(Refusal::TooManyFaults { count: planned.len(), most: MAX_FAULTS });
        }
        planned.sort_by_key(|planned| planned.tick);
        let mut timeline = Timeline {
            faults: Vec::with_capacity(planned.len()),
            first: request.joins.iter().map(|join| (join.at, false)).collect(),
            changes: BTreeMap::new(),
            cut: BTreeSet::new(),
        };
        for Planned { tick, option, what } in planned {
            if tick > until {
                return Err(Refusal::TooLate { option, tick, until });
            }
            timeline.check(&option, tick, &what, network)?;
            timeline.faults.push(Fault { tick, what });
        }
        Ok(timeline)
    }

    /// All faults; those of one tick in the order in which they take effect: nodes, repairs of links, cuts.
    fn gather(request: &Request, network: &Network) -> Result<Vec<Planned>, Refusal> {
        let node = |name: &'static str, make: fn(u32) -> FaultKind| {
            move |&NodeAt { at, tick }: &NodeAt| Planned {
                tick,
                option: format!("--{name} {at}@{tick}"),
                what: make(at),
            }
        };
        let link = |name: &'static str, make: fn(u32, u32) -> FaultKind| {
            move |&LinkAt { ends: (from, to), tick }: &LinkAt| Planned {
                tick,
                option: format!("--{name} {from}-{to}@{tick}"),
                what: make(from, to),
            }
        };
        let mut planned: Vec<Planned> = Vec::new();
        planned.extend(request.crashes.iter().map(node("crash", FaultKind::Crash)));
        planned.extend(request.recoveries.iter().map(node("recover", FaultKind::Recover)));
        planned.extend(request.joins.iter().map(node("join", FaultKind::Join)));
        planned.extend(request.retirements.iter().map(node("retire", FaultKind::Retire)));
        planned.extend(request.heals.iter().map(|heal| match heal {
            Healing::Link(at) => link("heal", FaultKind::Heal)(at),
            Healing::All { tick } => {
                Planned { tick: *tick, option: format!("--heal all@{tick}"), what: FaultKind::HealAll }
            }
        }));
        planned.extend(request.cuts.iter().map(link("cut", FaultKind::Cut)));
        for split in &request.partitions {
            planned.push(partition(split, network.size())?);
        }
        Ok(planned)
    }

    fn check(&mut self, option: &str, tick: u64, what: &FaultKind, network: &Network) -> Result<(), Refusal> {
        match *what {
            FaultKind::Crash(at) | FaultKind::Retire(at) => self.turn(option, at, tick, false, network),
            FaultKind::Recover(at) => self.turn(option, at, tick, true, network),
            FaultKind::Join(at) => {
                if self.changes.contains_key(&at) {
                    let wanted = "new, with nothing before its --join";
                    return Err(Refusal::WrongState { option: option.into(), at, state: "known already", wanted });
                }
                self.turn(option, at, tick, true, network)
            }
            FaultKind::Cut(from, to) => {
                let link = checked_link(option, from, to, network)?;
                if !self.cut.insert(link) {
                    return Err(Refusal::WrongLinkState { option: option.into(), state: "cut", wanted: "whole" });
                }
                Ok(())
            }
            FaultKind::Heal(from, to) => {
                let link = checked_link(option, from, to, network)?;
                if !self.cut.remove(&link) {
                    return Err(Refusal::WrongLinkState { option: option.into(), state: "whole", wanted: "cut" });
                }
                Ok(())
            }
            FaultKind::HealAll => {
                self.cut.clear();
                Ok(())
            }
            FaultKind::Partition(_) => Ok(()),
        }
    }

    /// The node comes up or goes down.
    fn turn(&mut self, option: &str, at: u32, tick: u64, up: bool, network: &Network) -> Result<(), Refusal> {
        within(option, at, network.size())?;
        let before = *self.first.entry(at).or_insert(true);
        let changes = self.changes.entry(at).or_default();
        let last = changes.last().copied();
        if last.is_some_and(|(last, _)| last == tick) {
            return Err(Refusal::AtOnce { option: option.into(), at, tick });
        }
        if last.map_or(before, |(_, up)| up) == up {
            let (state, wanted) = if up { ("up", "down") } else { ("down", "up") };
            return Err(Refusal::WrongState { option: option.into(), at, state, wanted });
        }
        changes.push((tick, up));
        Ok(())
    }

    /// Whether a node is up when a tick's start signals are given.
    pub(super) fn is_up(&self, at: u32, tick: u64) -> bool {
        let Some(changes) = self.changes.get(&at) else { return true };
        let before = || self.first.get(&at).copied().unwrap_or(true);
        changes.iter().take_while(|(then, _)| *then <= tick).last().map_or_else(before, |(_, up)| *up)
    }

    /// Whether a node joins after a tick. A start signal that comes too early waits for it.
    pub(super) fn is_yet_to_join(&self, at: u32, tick: u64) -> bool {
        let is_new = self.first.get(&at) == Some(&false);
        let joins = self.changes.get(&at).and_then(|changes| changes.first());
        is_new && joins.is_some_and(|(then, _)| *then > tick)
    }
}

/// Fails if there is no such position.
pub(super) fn within(option: &str, at: u32, size: u32) -> Result<(), Refusal> {
    if at < size { Ok(()) } else { Err(Refusal::Beyond { option: option.to_string(), at, last: size - 1 }) }
}

fn partition(split: &Split, size: u32) -> Result<Planned, Refusal> {
    let shown: Vec<String> = split
        .groups
        .iter()
        .map(|group| {
            let ranges = group.iter().map(|range| match (range.start(), range.end()) {
                (start, end) if start == end => start.to_string(),
                (start, end) => format!("{start}-{end}"),
            });
            ranges.collect::<Vec<_>>().join(",")
        })
        .collect();
    let option = format!("--partition {}@{}", shown.join("/"), split.tick);
    // Those in no group share the number 0.
    let mut numbers = vec![0; size as usize];
    for (group, number) in split.groups.iter().zip(1..) {
        for range in group {
            within(&option, *range.end(), size)?;
            numbers[*range.start() as usize..=*range.end() as usize].fill(number);
        }
    }
    if numbers.iter().all(|number| *number == numbers[0]) {
        return Err(Refusal::SplitsNothing { option });
    }
    Ok(Planned { tick: split.tick, option, what: FaultKind::Partition(numbers) })
}

/// The link with its lower end first, if there is one.
fn checked_link(option: &str, from: u32, to: u32, network: &Network) -> Result<(u32, u32), Refusal> {
    within(option, from.max(to), network.size())?;
    if linked(network, from, to) {
        return Ok((from.min(to), from.max(to)));
    }
    let neighbours = (0..network.degree(from)).map(|port| network.peer(from, Port(port)).0);
    let nearest = neighbours.min_by_key(|other| (other.abs_diff(to), *other));
    let nearest = nearest.map_or_else(|| "none: this node has no links".to_string(), |other| format!("{from}-{other}"));
    Err(Refusal::NoLink { option: option.to_string(), from, to, nearest })
}

fn linked(network: &Network, from: u32, to: u32) -> bool {
    match network {
        Network::Ring(ring) | Network::InformedRing(ring) => {
            let apart = from.abs_diff(to);
            from.max(to) < ring.size && (apart == 1 || apart == ring.size - 1)
        }
        Network::Complete(_) => from != to,
        Network::Graph(graph) => graph.neighbours(from).binary_search(&to).is_ok(),
    }
}
