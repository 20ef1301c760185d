//! The general engine with erased types. It is large, so tests that do not look into messages share one compiled copy.

use hustings_algorithms::Algorithm;
use hustings_protocol::Protocol;
use hustings_sim::engine::general;
use hustings_sim::erased::{DynMessage, DynProtocol, DynRank};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;
use hustings_sim::simulate;
use hustings_sim::trace::Observer;

/// Runs a protocol in the general engine.
pub(crate) fn run<P: Protocol>(
    protocol: P,
    ranks: &[P::Rank],
    scenario: &Scenario,
    observer: Option<&mut dyn Observer<DynMessage>>,
) -> Outcome {
    let (protocol, ranks) = DynProtocol::new(protocol, ranks);
    run_erased(&protocol, &ranks, scenario, observer)
}

/// Runs an algorithm in the general engine.
pub(crate) fn run_algorithm<A: Algorithm>(
    params: &A::Params,
    scenario: &Scenario,
    observer: Option<&mut dyn Observer<DynMessage>>,
) -> Outcome {
    let (protocol, ranks) = simulate::erased::<A>(params, scenario);
    run_erased(&protocol, &ranks, scenario, observer)
}

/// Runs an erased protocol in the general engine.
pub(crate) fn run_erased(
    protocol: &DynProtocol,
    ranks: &[DynRank],
    scenario: &Scenario,
    observer: Option<&mut dyn Observer<DynMessage>>,
) -> Outcome {
    let mut outcome = general::run(protocol, ranks, scenario, observer);
    outcome.by_kind.truncate(protocol.kinds().len());
    outcome
}
