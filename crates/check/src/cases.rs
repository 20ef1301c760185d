//! The cases of a check: which elections are explored for one request.

use std::collections::BTreeSet;

use hustings_algorithms::{About, Case as CostCase, CostDelays, Identity, Knowledge, NetworkKind, Winner};
use hustings_protocol::Port;
use hustings_sim::erased::{DynProtocol, DynRank};
use hustings_sim::scenario::{Scenario, Start};
use hustings_sim::simulate::ElectionSpec;

use crate::check::Check;
use crate::global_state::FaultBudget;
use crate::model::{Channels, MAX_NODES, Model, Timing};
use crate::property::Property;
use crate::spec::Spec;

/// A check of an election: the election itself, the cases to explore, and the environment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckRequest {
    /// The election. Its delays, faults and seed are not used: the checker explores all executions.
    pub election: ElectionSpec,
    /// The orders of the ids that are explored.
    pub id_orders: IdOrders,
    /// Whether every non-empty set of initiators is explored, in place of those of the election.
    pub every_subset: bool,
    /// The order in which links deliver messages. Default: what the algorithm needs.
    pub channels: Option<Channels>,
    /// When timers fire. Default: what the algorithm relies on.
    pub timing: Option<Timing>,
    /// The faults that may happen.
    pub faults: FaultBudget,
}

/// The orders of the ids that are explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IdOrders {
    /// The order of the election.
    #[default]
    Given,
    /// All permutations.
    All,
    /// All rotations of the given order.
    Rotations,
}

/// The algorithm that is checked, with the types of its protocol erased.
pub struct Subject<'a> {
    /// The description of the algorithm.
    pub about: &'a About,
    /// The scenario that was built from [`CheckRequest::election`].
    pub scenario: Scenario,
    /// The maximum message delay that the algorithm relies on, if it relies on one.
    pub delay_bound: Option<u64>,
    /// Whether the parameters have their default values. The costs in the description hold only then.
    pub has_default_params: bool,
    /// The number of messages by kind that the formula gives, if there is one.
    pub expected: &'a dyn Fn(&Scenario) -> Option<Vec<u64>>,
    /// Creates the protocol, and the ranks of all positions, for a scenario.
    pub protocol: &'a dyn Fn(&Scenario) -> (DynProtocol, Vec<DynRank>),
}

/// The cases of a request, and what they have in common.
pub struct Cases {
    /// The order in which links deliver messages.
    pub channels: Channels,
    /// When timers fire.
    pub timing: Timing,
    /// The bound on the number of messages that is checked, if one is; the maximum over all cases.
    pub message_bound: Option<u64>,
    /// Whether that bound is exact for each case, not only for the number of nodes.
    pub is_bound_exact: bool,
    /// The delays under which the algorithm claims its costs, if messages may have others here. Then no bound is
    /// checked.
    pub unmet_cost_delays: Option<CostDelays>,
    /// The cases. Of several symmetric ones there is only one.
    pub cases: Vec<Case>,
}

/// One election that is explored.
pub struct Case {
    /// The election.
    pub(crate) scenario: Scenario,
    /// The check of it.
    pub(crate) check: Check<DynProtocol>,
}

/// The maximum number of cases of one request.
const MAX_CASES: u64 = 50_000;

/// A request that cannot be checked. The text names fields of [`CheckRequest`].
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There are too many nodes.
    #[error("{0} nodes cannot be checked; allowed: 1 to {MAX_NODES}, and 3 to 6 are practical")]
    TooManyNodes(u32),
    /// There are too many orders of ids, or sets of initiators.
    #[error("{orders} orders of ids and {sets} sets of initiators are too many; allowed: {MAX_CASES} together")]
    TooManyCases {
        /// The number of orders.
        orders: u64,
        /// The number of sets.
        sets: u64,
    },
    /// A node cannot recover on a plain ring.
    #[error("recoveries: on a plain ring neighbours skip a crashed node for good; allowed: in runs")]
    RingRecovery,
    /// Runs need FIFO links.
    #[error("channels: runs need links that keep the order of messages; allowed: fifo")]
    UnorderedRuns,
}

/// The cases of a request.
pub fn cases(subject: &Subject<'_>, request: &CheckRequest) -> Result<Cases, CheckError> {
    let (about, scenario) = (subject.about, &subject.scenario);
    let size = scenario.network.size();
    if size > MAX_NODES {
        return Err(CheckError::TooManyNodes(size));
    }
    if scenario.network.is_ring() && request.faults.recoveries > 0 && !scenario.runs {
        return Err(CheckError::RingRecovery);
    }
    if scenario.runs && request.channels == Some(Channels::Unordered) {
        return Err(CheckError::UnorderedRuns);
    }
    let (order_count, set_count) = count(scenario, request);
    if order_count.saturating_mul(set_count) > MAX_CASES {
        return Err(CheckError::TooManyCases { orders: order_count, sets: set_count });
    }
    let (channels, timing) = environment(subject, request);
    let mut seen = BTreeSet::new();
    let mut message_bound = None;
    let mut cases = Vec::new();
    for ids in orders(&scenario.ids, request.id_orders) {
        for initiators in initiator_sets(scenario, request.every_subset) {
            if seen.insert(symmetry_class(about, scenario, &ids, &initiators)) {
                let starts = initiators.iter().map(|&at| Start { at, tick: 0 }).collect();
                let scenario = Scenario { ids: ids.clone(), starts, ..scenario.clone() };
                let (case, bound) = case(subject, request, scenario, (channels, timing));
                message_bound = message_bound.max(bound);
                cases.push(case);
            }
        }
    }
    let is_bound_exact = is_bound_exact(subject, channels);
    let has_bound = subject.about.costs.iter().any(|cost| cost.case == CostCase::Worst && cost.messages.is_some())
        && has_described_costs(subject, request)
        && request.faults == FaultBudget::default()
        && !scenario.runs;
    let unmet_cost_delays = Some(about.cost_delays).filter(|&delays| has_bound && !has_delays(timing, delays));
    Ok(Cases { channels, timing, message_bound, is_bound_exact, unmet_cost_delays, cases })
}

/// What links and clocks do, with defaults filled in.
fn environment(subject: &Subject<'_>, request: &CheckRequest) -> (Channels, Timing) {
    let is_fifo = subject.about.assumptions.fifo || subject.scenario.runs;
    let channels = request.channels.unwrap_or(if is_fifo { Channels::Fifo } else { Channels::Unordered });
    let bounded = subject.delay_bound.map(|ticks| Timing::Bounded(ticks.min(u64::from(u32::MAX)) as u32));
    (channels, request.timing.or(bounded).unwrap_or(Timing::Free))
}

/// A case, and the bound on its number of messages if that is checked.
fn case(
    subject: &Subject<'_>,
    request: &CheckRequest,
    scenario: Scenario,
    (channels, timing): (Channels, Timing),
) -> (Case, Option<u64>) {
    let about = subject.about;
    let network = &scenario.network;
    let (protocol, ranks) = (subject.protocol)(&scenario);
    let ports = |at: u32| (0..network.degree(at)).map(move |port| network.peer(at, Port(port))).collect();
    let model = Model {
        ranks,
        members: network.members(),
        links: (0..network.size()).map(ports).collect(),
        is_ring: network.is_ring(),
        initiators: scenario.starts.iter().map(|start| start.at).collect(),
        channels,
        timing,
        budget: request.faults,
        reports_leader_loss: about.repeats && !scenario.runs,
        tracks_starts: about.winner == Winner::GreatestInitiator,
        tracks_withdrawals: about.withdraws,
        requires_wakeup: false,
    };
    let mut spec = Spec::of(about, &model, &scenario.votes, scenario.runs);
    let is_claimed = has_described_costs(subject, request) && has_delays(timing, about.cost_delays);
    spec.max_messages = spec.max_messages.filter(|_| is_claimed);
    if is_bound_exact(subject, channels) {
        spec.max_messages = max_messages(subject, &scenario).or(spec.max_messages);
    }
    let is_bounded = spec.properties.contains(&Property::MessageBound);
    let bound = spec.max_messages.filter(|_| is_bounded);
    (Case { check: Check::new(protocol, model, spec), scenario }, bound)
}

/// Whether the costs in the description are about this election: it has the default parameters and initiators.
fn has_described_costs(subject: &Subject<'_>, request: &CheckRequest) -> bool {
    request.election.initiators.is_none() && !request.every_subset && subject.has_default_params
}

/// Whether all delays of messages are such that an algorithm claims its costs. With patient timers, no timeout expires
/// before the messages arrive that it waits for.
fn has_delays(timing: Timing, claimed: CostDelays) -> bool {
    match (claimed, timing) {
        (CostDelays::Any, _) | (_, Timing::Patient) => true,
        (CostDelays::AtMost(bound), Timing::Bounded(ticks)) => u64::from(ticks) <= bound,
        (CostDelays::AtMost(_), Timing::Free) | (CostDelays::Equal, Timing::Free | Timing::Bounded(_)) => false,
    }
}

/// Whether the bound on the number of messages is exact for each case.
fn is_bound_exact(subject: &Subject<'_>, channels: Channels) -> bool {
    let is_small = subject.scenario.network.members() <= MAX_SUBSETS_OF;
    subject.about.counts_depend_on_starters && channels == Channels::Fifo && is_small
}

/// The maximum number of initiators whose subsets are all counted.
const MAX_SUBSETS_OF: u32 = 12;

/// The maximum number of messages over all executions, if it depends only on which of the initiators start before a
/// message reaches them: the maximum over all sets of these.
fn max_messages(subject: &Subject<'_>, scenario: &Scenario) -> Option<u64> {
    let all = &scenario.starts;
    let starters = |bits: u32| {
        let is_in = |(at, start): (usize, &Start)| (bits >> at & 1 == 1).then_some(*start);
        all.iter().enumerate().filter_map(is_in).collect()
    };
    let count = |bits: u32| -> Option<u64> {
        let counts = (subject.expected)(&Scenario { starts: starters(bits), ..scenario.clone() })?;
        Some(counts.iter().sum())
    };
    (0..1u32 << all.len()).map(count).try_fold(0, |max, count| Some(max.max(count?)))
}

/// The number of orders of ids and of sets of initiators, including symmetric ones.
fn count(scenario: &Scenario, request: &CheckRequest) -> (u64, u64) {
    let size = scenario.ids.len() as u64;
    let orders = match request.id_orders {
        IdOrders::Given => 1,
        IdOrders::Rotations => size,
        IdOrders::All => (1..=size).fold(1, u64::saturating_mul),
    };
    let members = scenario.network.members();
    let sets = if request.every_subset { 1u64.checked_shl(members).map_or(u64::MAX, |sets| sets - 1) } else { 1 };
    (orders, sets)
}

/// A value that symmetric cases share: cases that differ only by a rotation of a ring, or by a permutation of the
/// positions of a complete network.
fn symmetry_class(about: &About, scenario: &Scenario, ids: &[u64], initiators: &[u32]) -> Vec<(u64, bool)> {
    let is_anonymous = about.assumptions.identity == Identity::Anonymous;
    let node = |at: usize| (if is_anonymous { 0 } else { ids[at] }, initiators.contains(&(at as u32)));
    let mut nodes: Vec<(u64, bool)> = (0..ids.len()).map(node).collect();
    if scenario.runs || !scenario.votes.is_empty() || !scenario.cheats.is_empty() {
        return nodes;
    }
    match about.network {
        NetworkKind::Ring if about.assumptions.knows != Knowledge::Members => (0..nodes.len())
            .map(|start| nodes[start..].iter().chain(&nodes[..start]).copied().collect())
            .min()
            .unwrap_or(nodes),
        NetworkKind::Complete => {
            nodes.sort_unstable();
            nodes
        }
        _ => nodes,
    }
}

fn orders(ids: &[u64], orders: IdOrders) -> Vec<Vec<u64>> {
    match orders {
        IdOrders::Given => vec![ids.to_vec()],
        IdOrders::Rotations => (0..ids.len()).map(|start| [&ids[start..], &ids[..start]].concat()).collect(),
        IdOrders::All => {
            let mut sorted = ids.to_vec();
            sorted.sort_unstable();
            let mut all = vec![Vec::new()];
            for _ in 0..sorted.len() {
                let longer = |order: &Vec<u64>| -> Vec<Vec<u64>> {
                    let rest = sorted.iter().filter(|id| !order.contains(id));
                    rest.map(|&id| order.iter().copied().chain([id]).collect()).collect()
                };
                all = all.iter().flat_map(longer).collect();
            }
            all
        }
    }
}

/// The sets of initiators: those of the scenario, or every non-empty set.
fn initiator_sets(scenario: &Scenario, every_subset: bool) -> Vec<Vec<u32>> {
    if !every_subset {
        return vec![scenario.starts.iter().map(|start| start.at).collect()];
    }
    let members = scenario.network.members();
    (1u64..1 << members).map(|bits| (0..members).filter(|at| bits >> at & 1 == 1).collect()).collect()
}
