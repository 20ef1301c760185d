//! Runs of the diffusing computation with probes and beacons, and checks of their final state.

use hustings_algorithms::graph::diffusion::{Diffusion, Greatest};
use hustings_protocol::Id;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;

use super::erased;
use super::parts::Parts;

pub(crate) const PROBE: u64 = 4;
pub(crate) const BEACON: u64 = 6;
/// Long enough after the last fault for missed beacons, unanswered probes and an election or two.
pub(crate) const QUIET: u64 = 300;

/// Runs aefa with these periods of probes and beacons.
pub(crate) fn run(scenario: &Scenario, probe: u64, beacon: u64) -> (Parts, Outcome) {
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let mut parts = Parts::of(&scenario.network);
    let protocol = Diffusion::new(Greatest).with_fault_detection(probe, beacon);
    let outcome = erased::run(protocol, &ranks, scenario, Some(&mut parts));
    (parts, outcome)
}

/// Whether each remaining component has exactly one leader, and no messages are in flight.
pub(crate) fn survives(scenario: &Scenario) -> Result<(), String> {
    let (parts, outcome) = run(scenario, PROBE, BEACON);
    if outcome.hung {
        return Err("hung".to_string());
    }
    parts.check(&scenario.network, &scenario.ids)
}
