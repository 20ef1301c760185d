//! Runs in which anything may go wrong for a while.

use hustings_sim::scenario::{Delay, Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::Network;
use proptest::prelude::*;

use crate::common::waves::neighbours;

/// Any number of crashes, recoveries, cuts and partitions, any sources, among `min_nodes` nodes or more; then quiet for
/// so many ticks.
pub(crate) fn faulty_runs(min_nodes: u32, quiet: u64) -> impl Strategy<Value = Scenario> {
    let fault = (0u8..6, 0u32..64, 0u32..64, 1u64..160);
    let graph = (min_nodes..14, 0u32..16, any::<u64>());
    let starts = prop::collection::vec((0u32..64, 0u64..40), 1..4);
    (graph, prop::collection::vec(fault, 0..9), starts, any::<bool>()).prop_map(
        move |((size, more, seed), faults, starts, slow)| {
            let network = crate::common::gossip::graph(size, more, seed);
            let fault = |(kind, a, b, tick)| Fault { tick, what: fault_of(kind, a, b, &network) };
            let mut faults: Vec<Fault> = faults.into_iter().map(fault).collect();
            faults.sort_by_key(|fault| fault.tick);
            let mut starts: Vec<Start> = starts.into_iter().map(|(at, tick)| Start { at: at % size, tick }).collect();
            starts.sort_by_key(|start| (start.tick, start.at));
            let until = faults.last().map_or(0, |fault| fault.tick) + quiet;
            let delay = if slow { Delay::Uniform(1, 2) } else { Delay::Unit };
            Scenario { faults, starts, delay, seed, until, ..Scenario::new(network) }
        },
    )
}

fn fault_of(kind: u8, a: u32, b: u32, network: &Network) -> FaultKind {
    let at = a % network.size();
    let peer = neighbours(network, at).nth(b as usize % network.degree(at) as usize).expect("nobody is alone");
    match kind {
        0 => FaultKind::Crash(at),
        1 => FaultKind::Recover(at),
        2 => FaultKind::Cut(at, peer),
        3 => FaultKind::Heal(at, peer),
        4 => FaultKind::Partition((0..network.size()).map(|at| u32::from((a ^ b) >> (at % 6) & 1 != 0)).collect()),
        _ => FaultKind::HealAll,
    }
}
