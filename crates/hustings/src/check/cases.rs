//! Elections for the checker: from what was asked for to the cases that are explored.

use std::collections::BTreeSet;

use hustings_algorithms::{About, Identity, Knowledge, NetworkKind, Winner};
use hustings_check::{Budget, Channels, Check, MAX_NODES, Promise, Property, Scene, Timing};
use hustings_protocol::Port;
use hustings_sim::erased::DynProtocol;
use hustings_sim::scenario::{Scenario, Start};
use hustings_sim::simulate::{Refusal, Request};

use hustings_elections::Election;

/// What is to be checked, beside the election itself.
#[derive(Clone, Debug)]
pub struct Wish {
    /// In which orders the ids stand.
    pub ids: Orders,
    /// Whether every set of starters is tried.
    pub every_subset: bool,
    /// What links do; what the algorithm needs, if nothing is said.
    pub channels: Option<Channels>,
    /// What clocks do; what the algorithm trusts in, if nothing is said.
    pub timing: Option<Timing>,
    /// What may go wrong.
    pub budget: Budget,
}

/// In which orders the ids stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Orders {
    /// As the election says.
    #[default]
    Given,
    /// In every order.
    All,
    /// Every rotation of the given one.
    Rotations,
}

/// One election that is explored.
pub struct Case {
    /// The election.
    pub scenario: Scenario,
    /// What is explored.
    pub check: Check<DynProtocol>,
    /// The most messages that it may take, where that is checked.
    pub most_messages: Option<u64>,
}

/// The most cases of one wish.
pub const MAX_CASES: u64 = 50_000;

/// Why there is nothing to check.
#[derive(Debug, thiserror::Error)]
pub enum NoCheck {
    /// The election itself is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There are too many nodes.
    #[error("{0} nodes cannot be checked; allowed: 1 to {MAX_NODES}, and 3 to 6 are practical")]
    TooMany(u32),
    /// There are too many orders of ids, or sets of starters.
    #[error("{orders} orders of ids and {sets} sets of initiators are too many; allowed: {MAX_CASES} together")]
    TooManyCases {
        /// Orders.
        orders: u64,
        /// Sets.
        sets: u64,
    },
    /// A node cannot come back to a plain ring.
    #[error("--recoveries: on a plain ring a neighbour that was struck off stays so; allowed: with --runs")]
    RingRecovery,
    /// Runs take links that keep order.
    #[error("--channels unordered: runs take links that keep the order of messages; allowed: fifo")]
    UnorderedRuns,
}

/// What links and clocks do if nothing is said.
pub fn defaults(election: &dyn Election, wish: &Wish) -> (Channels, Timing) {
    let fifo = election.about().assumptions.fifo;
    let channels = wish.channels.unwrap_or(if fifo { Channels::Fifo } else { Channels::Unordered });
    let trusted = election.delay_bound().map(|ticks| Timing::Bounded(ticks.min(u64::from(u32::MAX)) as u32));
    (channels, wish.timing.or(trusted).unwrap_or(Timing::Free))
}

/// The cases of a wish, each only once where several are alike.
pub fn cases(election: &dyn Election, request: &Request, wish: &Wish) -> Result<Vec<Case>, NoCheck> {
    let scenario = election.plan(request)?.scenario;
    let size = scenario.network.size();
    if size > MAX_NODES {
        return Err(NoCheck::TooMany(size));
    }
    if scenario.network.is_ring() && wish.budget.recoveries > 0 && !scenario.runs {
        return Err(NoCheck::RingRecovery);
    }
    if scenario.runs && wish.channels == Some(Channels::Unordered) {
        return Err(NoCheck::UnorderedRuns);
    }
    let (ways, sets_of_starters) = count(&scenario, wish);
    if ways.saturating_mul(sets_of_starters) > MAX_CASES {
        return Err(NoCheck::TooManyCases { orders: ways, sets: sets_of_starters });
    }
    let about = election.about();
    // The catalogue states message counts for the default parameters and initiators only.
    let is_described = request.initiators.is_none() && !wish.every_subset && election.has_default_params();
    let mut seen = BTreeSet::new();
    let mut cases = Vec::new();
    for ids in orders(&scenario.ids, wish.ids) {
        for starters in sets(&scenario, wish.every_subset) {
            if seen.insert(likeness(about, &scenario, &ids, &starters)) {
                let starts = starters.iter().map(|&at| Start { at, tick: 0 }).collect();
                let scenario = Scenario { ids: ids.clone(), starts, ..scenario.clone() };
                cases.push(case(election, scenario, wish, is_described));
            }
        }
    }
    Ok(cases)
}

fn case(election: &dyn Election, scenario: Scenario, wish: &Wish, is_described: bool) -> Case {
    let (channels, timing) = defaults(election, wish);
    let network = &scenario.network;
    let (protocol, ranks) = election.protocol(&scenario);
    let ports = |at: u32| (0..network.degree(at)).map(move |port| network.peer(at, Port(port))).collect();
    let scene = Scene {
        ranks,
        members: network.members(),
        links: (0..network.size()).map(ports).collect(),
        is_ring: network.is_ring(),
        starters: scenario.starts.iter().map(|start| start.at).collect(),
        channels: if scenario.runs { Channels::Fifo } else { channels },
        timing,
        budget: wish.budget,
        notices: election.about().repeats && !scenario.runs,
        notes_entrants: election.about().winner == Winner::GreatestInitiator,
        first_steps: false,
    };
    let mut promise = Promise::of(election.about(), &scene, &scenario.votes, scenario.runs);
    promise.most_messages = promise.most_messages.filter(|_| is_described);
    let is_bounded = promise.properties.contains(&Property::MessageBound);
    let most_messages = promise.most_messages.filter(|_| is_bounded);
    Case { check: Check::new(protocol, scene, promise), scenario, most_messages }
}

/// How many orders of ids and sets of starters there are, before those that are alike are left out.
fn count(scenario: &Scenario, wish: &Wish) -> (u64, u64) {
    let size = scenario.ids.len() as u64;
    let orders = match wish.ids {
        Orders::Given => 1,
        Orders::Rotations => size,
        Orders::All => (1..=size).fold(1, u64::saturating_mul),
    };
    let members = scenario.network.members();
    let sets = if wish.every_subset { 1u64.checked_shl(members).map_or(u64::MAX, |sets| sets - 1) } else { 1 };
    (orders, sets)
}

/// What tells one case from another: two that differ only by where on a ring they begin, or by the names of positions
/// where everybody reaches everybody, are alike.
fn likeness(about: &About, scenario: &Scenario, ids: &[u64], starters: &[u32]) -> Vec<(u64, bool)> {
    let is_anonymous = about.assumptions.identity == Identity::Anonymous;
    let seat = |at: usize| (if is_anonymous { 0 } else { ids[at] }, starters.contains(&(at as u32)));
    let mut seats: Vec<(u64, bool)> = (0..ids.len()).map(seat).collect();
    if scenario.runs || !scenario.votes.is_empty() || !scenario.cheats.is_empty() {
        return seats;
    }
    match about.network {
        NetworkKind::Ring if about.assumptions.knows != Knowledge::Members => (0..seats.len())
            .map(|start| seats[start..].iter().chain(&seats[..start]).copied().collect())
            .min()
            .unwrap_or(seats),
        NetworkKind::Complete => {
            seats.sort_unstable();
            seats
        }
        _ => seats,
    }
}

fn orders(ids: &[u64], orders: Orders) -> Vec<Vec<u64>> {
    match orders {
        Orders::Given => vec![ids.to_vec()],
        Orders::Rotations => (0..ids.len()).map(|start| [&ids[start..], &ids[..start]].concat()).collect(),
        Orders::All => {
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

/// The sets of starters, none of them empty unless it is given.
fn sets(scenario: &Scenario, every_subset: bool) -> Vec<Vec<u32>> {
    if !every_subset {
        return vec![scenario.starts.iter().map(|start| start.at).collect()];
    }
    let members = scenario.network.members();
    (1u64..1 << members).map(|bits| (0..members).filter(|at| bits >> at & 1 == 1).collect()).collect()
}
