//! Runs of the diffusing computation with probes and beacons, and what is left at their end.

use hustings_algorithms::graph::diffusion::{Diffusion, Greatest};
use hustings_protocol::Id;
use hustings_sim::engine::general;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;

use super::parts::Parts;

pub(crate) const PROBE: u64 = 4;
pub(crate) const BEACON: u64 = 6;
/// Enough for everything to settle after the last fault: beacons missed, probes unanswered, an election or two.
pub(crate) const QUIET: u64 = 300;

/// Runs aefa with such probes and beacons.
pub(crate) fn run(scenario: &Scenario, probe: u64, beacon: u64) -> (Parts, Outcome) {
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let mut parts = Parts::of(&scenario.network);
    let protocol = Diffusion::new(Greatest).with_fault_detection(probe, beacon);
    let outcome = general::run(&protocol, &ranks, scenario, Some(&mut parts));
    (parts, outcome)
}

/// Whether each part that is left has just one leader, and nothing is under way.
pub(crate) fn survives(scenario: &Scenario) -> Result<(), String> {
    let (parts, outcome) = run(scenario, PROBE, BEACON);
    if outcome.hung {
        return Err("hung".to_string());
    }
    parts.check(&scenario.network, &scenario.ids)
}
