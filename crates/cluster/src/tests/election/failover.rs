//! How long a failover takes if a message takes a tenth of a tick.

use hustings_algorithms::NetworkKind;
use hustings_algorithms::catalogue::find;
use hustings_protocol::Id;

use super::network::{SimNetwork, TICK};
use super::{choice, choices, highest, ids};
use crate::config::AlgorithmConfig;
use crate::member::MemberRank;

/// How long a message takes.
const MESSAGE_DELAY: u64 = TICK / 10;

/// The course of a failover.
#[derive(Debug)]
struct Failover {
    /// The time from the first start of the election until the successor finally named itself, and until all nodes
    /// finally named it.
    leads: u64,
    agreed: u64,
    /// How many messages were delivered by then.
    messages: u64,
    /// Whether any node named another leader in between.
    named_another: bool,
    /// Whether any node named a leader, and then nobody again.
    named_nobody: bool,
}

fn ranks(size: u64, highest: u64) -> Vec<MemberRank> {
    (1..=size).map(|id| MemberRank { priority: u32::from(id == highest), health: 100, id: Id(id) }).collect()
}

/// A cluster loses its leader, the node with the highest id. The others start the election one after the other,
/// `stagger` apart. The node with the id `successor` has the highest rank among them.
fn failover(choice: &AlgorithmConfig, survivors: u64, successor: u64, stagger: u64) -> Failover {
    let rest = ranks(survivors, successor);
    let mut all = rest.clone();
    all.push(MemberRank { priority: 2, health: 100, id: Id(survivors + 1) });
    let mut network = SimNetwork::new(choice, ids(&all), survivors);
    (network.delay, network.max_timer_delay) = ((MESSAGE_DELAY, MESSAGE_DELAY), 0);
    network.start_all(&all, 0);
    network.run_for(400 * TICK);
    assert!(network.agree(&all, highest(&all)), "{choice:?}: {:?}", network.leaders(&all));
    network.kill(Id(survivors + 1));
    for (one, nth) in rest.iter().zip(0..) {
        network.start_in(stagger * nth, one.id, &rest);
    }
    let (began, before) = (network.now, network.delivered);
    network.names.clear();
    let (mut messages, leader) = (0, Id(successor));
    while network.step(began + 400 * TICK) {
        if messages == 0 && network.agree(&rest, leader) {
            messages = network.delivered - before;
        }
    }
    assert!(network.agree(&rest, leader), "{choice:?}: {:?}", network.leaders(&rest));
    // Nodes that have not started the election yet still name the failed leader.
    network.names.retain(|(.., whom)| *whom != Some(Id(survivors + 1)));
    let named_another = network.names.iter().any(|(.., whom)| whom.is_some_and(|whom| whom != leader));
    let last = |who: Id| network.names.iter().rev().find(|(_, by, _)| *by == who).map_or(0, |(when, ..)| when - began);
    let agreed = rest.iter().map(|one| last(one.id)).max().unwrap_or(0);
    let forgets =
        |one: &MemberRank| network.names.iter().filter(|(_, by, whom)| *by == one.id && whom.is_some()).count() > 1;
    Failover { leads: last(leader), agreed, messages, named_another, named_nobody: rest.iter().any(forgets) }
}

/// The default algorithm: the successor leads as soon as it starts the election. All others know it one message delay
/// later, or two if another node's view prevails. No timer fires, and no node names another leader in between. But if
/// another view prevails, some nodes name nobody for one message delay.
#[test]
fn bully_with_announcement_needs_no_timer() {
    let choice = choice("bully", &["highest=announce"]);
    for survivors in 2..=6 {
        for successor in 1..=survivors {
            let result = failover(&choice, survivors, successor, 0);
            let is_owner = successor == survivors;
            assert!(
                result.leads <= MESSAGE_DELAY
                    && result.agreed <= if is_owner { MESSAGE_DELAY } else { 2 * MESSAGE_DELAY },
                "{result:?}"
            );
            assert!(!(result.named_another || result.named_nobody && is_owner), "{survivors} {successor}: {result:?}");
            // With half a message delay between nodes, the views of the first ones arrive before the last ones start.
            let stagger = MESSAGE_DELAY / 2;
            let result = failover(&choice, survivors, successor, stagger);
            assert!(
                result.agreed <= stagger * (survivors - 1) + 3 * MESSAGE_DELAY,
                "{survivors} {successor}: {result:?}"
            );
            assert!(!result.named_another, "{survivors} {successor}: {result:?}");
        }
    }
}

/// Algorithms without timers complete within a few message delays.
#[test]
fn algorithms_without_timers_take_message_delays_only() {
    // Algorithms for complete networks wait for answers.
    let is_timed = |name: &str| find(name).is_some_and(|entry| entry.about.network == NetworkKind::Complete);
    for choice in choices().iter().filter(|choice| !is_timed(choice.name())) {
        if choice.params().iter().any(|param| param.starts_with("backoff")) {
            continue;
        }
        for (survivors, successor) in [(3, 3), (3, 1), (5, 5), (5, 2)] {
            let result = failover(choice, survivors, successor, 0);
            assert!(result.agreed <= 40 * MESSAGE_DELAY && !result.named_another, "{choice:?}: {result:?}");
            assert!(result.messages > 0, "the nodes exchange messages");
        }
    }
}

/// Algorithms with timers wait for a few ticks.
#[test]
fn algorithms_with_timers_take_some_ticks() {
    for (name, params, most) in [
        ("bully", &[][..], 20),
        ("improved-bully", &[], 20),
        ("improved-bully", &["highest=announce"], 20),
        ("campaigner", &[], 20),
        ("campaigner", &["highest=announce"], 20),
        ("invitation", &[], 40),
    ] {
        let choice = choice(name, params);
        for (survivors, successor) in [(3, 3), (3, 1), (5, 5), (5, 2)] {
            let result = failover(&choice, survivors, successor, 0);
            assert!(result.agreed <= most * TICK, "{choice:?}: {result:?}");
        }
    }
}
