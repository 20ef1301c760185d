//! Everything that happens to nodes and links, in order, with what is impossible rejected.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use hustings_protocol::Port;

use super::{Faults, Field, FieldRef, SpecError, SpecProblem};
use crate::parse::{LinkFault, NodeFault, Repair};
use crate::scenario::{Fault, FaultKind};
use crate::topology::Network;

/// The maximum number of faults and repairs in one scenario.
const MAX_FAULTS: usize = 100_000;

/// The checked faults of a specification, and which nodes are up when.
pub(super) struct Timeline {
    /// Ascending by tick.
    pub(super) faults: Vec<Fault>,
    /// For nodes with faults: whether they are up before the first one.
    initially_up: BTreeMap<u32, bool>,
    /// When such nodes come up (true) or go down, ascending by tick.
    changes: BTreeMap<u32, Vec<(u64, bool)>>,
    /// Links that are cut.
    cut: BTreeSet<(u32, u32)>,
}

/// A fault that is not checked yet, and the field that it comes from.
struct Unchecked {
    tick: u64,
    field: FieldRef,
    what: FaultKind,
}

impl Timeline {
    pub(super) fn new(faults: &Faults, network: &Network, until: u64) -> Result<Self, SpecError> {
        let mut unchecked = Self::collect(faults, network)?;
        if unchecked.len() > MAX_FAULTS {
            return Err(SpecProblem::TooManyFaults { count: unchecked.len(), max: MAX_FAULTS }.into());
        }
        unchecked.sort_by_key(|fault| fault.tick);
        let mut timeline = Timeline {
            faults: Vec::with_capacity(unchecked.len()),
            initially_up: faults.joins.iter().map(|join| (join.at, false)).collect(),
            changes: BTreeMap::new(),
            cut: BTreeSet::new(),
        };
        for Unchecked { tick, field, what } in unchecked {
            if tick > until {
                return Err(SpecProblem::AfterEnd { tick, until }.of(field));
            }
            timeline.check(&field, tick, &what, network)?;
            timeline.faults.push(Fault { tick, what });
        }
        Ok(timeline)
    }

    /// All faults; those of one tick in the order in which they take effect: nodes, repairs of links, cuts.
    fn collect(faults: &Faults, network: &Network) -> Result<Vec<Unchecked>, SpecError> {
        type NodeList<'a> = (Field, &'a [NodeFault], fn(u32) -> FaultKind);
        let nodes: [NodeList<'_>; 4] = [
            (Field::Crashes, &faults.crashes, FaultKind::Crash),
            (Field::Recoveries, &faults.recoveries, FaultKind::Recover),
            (Field::Joins, &faults.joins, FaultKind::Join),
            (Field::Retirements, &faults.retirements, FaultKind::Retire),
        ];
        let mut unchecked: Vec<Unchecked> = Vec::new();
        for (field, list, kind) in nodes {
            unchecked.extend(list.iter().enumerate().map(|(index, fault)| Unchecked {
                tick: fault.tick,
                field: FieldRef::entry(field, index, fault),
                what: kind(fault.at),
            }));
        }
        unchecked.extend(faults.heals.iter().enumerate().map(|(index, repair)| {
            let (tick, what) = match *repair {
                Repair::Link(LinkFault { ends: (from, to), tick }) => (tick, FaultKind::Heal(from, to)),
                Repair::All { tick } => (tick, FaultKind::HealAll),
            };
            Unchecked { tick, field: FieldRef::entry(Field::Heals, index, repair), what }
        }));
        unchecked.extend(faults.cuts.iter().enumerate().map(|(index, cut)| Unchecked {
            tick: cut.tick,
            field: FieldRef::entry(Field::Cuts, index, cut),
            what: FaultKind::Cut(cut.ends.0, cut.ends.1),
        }));
        for (index, partition) in faults.partitions.iter().enumerate() {
            let field = FieldRef::entry(Field::Partitions, index, partition);
            let what = FaultKind::Partition(groups(&field, &partition.groups, network.size())?);
            unchecked.push(Unchecked { tick: partition.tick, field, what });
        }
        Ok(unchecked)
    }

    fn check(&mut self, field: &FieldRef, tick: u64, what: &FaultKind, network: &Network) -> Result<(), SpecError> {
        match *what {
            FaultKind::Crash(at) | FaultKind::Retire(at) => self.change_node(field, at, tick, false, network),
            FaultKind::Recover(at) => self.change_node(field, at, tick, true, network),
            FaultKind::Join(at) => {
                if self.changes.contains_key(&at) {
                    let (state, wanted) = ("known already", "new, with no change before it joins");
                    return Err(SpecProblem::WrongNodeState { at, state, wanted }.of(field.clone()));
                }
                self.change_node(field, at, tick, true, network)
            }
            FaultKind::Cut(from, to) => {
                let link = checked_link(field, from, to, network)?;
                if !self.cut.insert(link) {
                    return Err(SpecProblem::WrongLinkState { state: "cut", wanted: "whole" }.of(field.clone()));
                }
                Ok(())
            }
            FaultKind::Heal(from, to) => {
                let link = checked_link(field, from, to, network)?;
                if !self.cut.remove(&link) {
                    return Err(SpecProblem::WrongLinkState { state: "whole", wanted: "cut" }.of(field.clone()));
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
    fn change_node(
        &mut self,
        field: &FieldRef,
        at: u32,
        tick: u64,
        up: bool,
        network: &Network,
    ) -> Result<(), SpecError> {
        check_position(field, at, network.size())?;
        let before = *self.initially_up.entry(at).or_insert(true);
        let changes = self.changes.entry(at).or_default();
        let last = changes.last().copied();
        if last.is_some_and(|(last, _)| last == tick) {
            return Err(SpecProblem::TwoChanges { at, tick }.of(field.clone()));
        }
        if last.map_or(before, |(_, up)| up) == up {
            let (state, wanted) = if up { ("up", "down") } else { ("down", "up") };
            return Err(SpecProblem::WrongNodeState { at, state, wanted }.of(field.clone()));
        }
        changes.push((tick, up));
        Ok(())
    }

    /// Whether a node is up when a tick's start signals are given.
    pub(super) fn is_up(&self, at: u32, tick: u64) -> bool {
        let Some(changes) = self.changes.get(&at) else { return true };
        let before = || self.initially_up.get(&at).copied().unwrap_or(true);
        changes.iter().take_while(|(then, _)| *then <= tick).last().map_or_else(before, |(_, up)| *up)
    }

    /// Whether a node joins after a tick. A start signal that comes too early waits for it.
    pub(super) fn is_yet_to_join(&self, at: u32, tick: u64) -> bool {
        let is_new = self.initially_up.get(&at) == Some(&false);
        let joins = self.changes.get(&at).and_then(|changes| changes.first());
        is_new && joins.is_some_and(|(then, _)| *then > tick)
    }
}

/// Fails if there is no such position.
pub(super) fn check_position(field: &FieldRef, at: u32, size: u32) -> Result<(), SpecError> {
    if at < size { Ok(()) } else { Err(SpecProblem::NoSuchPosition { at, last: size - 1 }.of(field.clone())) }
}

/// The group of each position; those that the partition does not name share group 0.
pub(super) fn groups(
    field: &FieldRef,
    partition: &[Vec<RangeInclusive<u32>>],
    size: u32,
) -> Result<Vec<u32>, SpecError> {
    let mut numbers = vec![0; size as usize];
    for (group, number) in partition.iter().zip(1..) {
        for range in group {
            check_position(field, *range.end(), size)?;
            numbers[*range.start() as usize..=*range.end() as usize].fill(number);
        }
    }
    if numbers.iter().all(|number| *number == numbers[0]) {
        return Err(SpecProblem::OneGroup.of(field.clone()));
    }
    Ok(numbers)
}

/// The link with its lower end first, if there is one.
pub(super) fn checked_link(field: &FieldRef, from: u32, to: u32, network: &Network) -> Result<(u32, u32), SpecError> {
    check_position(field, from.max(to), network.size())?;
    if linked(network, from, to) {
        return Ok((from.min(to), from.max(to)));
    }
    let neighbours = (0..network.degree(from)).map(|port| network.peer(from, Port(port)).0);
    let nearest = neighbours.min_by_key(|other| (other.abs_diff(to), *other));
    let nearest = nearest.map_or_else(|| "none: this node has no links".to_string(), |other| format!("{from}-{other}"));
    Err(SpecProblem::NoLink { from, to, nearest }.of(field.clone()))
}

fn linked(network: &Network, from: u32, to: u32) -> bool {
    match network {
        Network::Ring(size) | Network::InformedRing(size) => {
            let apart = from.abs_diff(to);
            from.max(to) < *size && (apart == 1 || apart == size - 1)
        }
        Network::Complete(_) => from != to,
        Network::Graph(graph) => graph.neighbours(from).binary_search(&to).is_ok(),
    }
}
