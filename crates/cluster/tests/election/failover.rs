//! How long it takes until everybody names the next leader, where mail takes a tenth of a tick.

use hustings_algorithms::NetworkKind;
use hustings_algorithms::catalogue::find;
use hustings_cluster::config::Choice;
use hustings_cluster::member::MemberRank;
use hustings_protocol::Id;

use crate::network::{SimNetwork, TICK};
use crate::{choice, choices, highest, ids};

/// How long mail takes.
const MESSAGE_DELAY: u64 = TICK / 10;

/// What a failover took.
#[derive(Debug)]
struct Failover {
    /// From the entering of the first until the greatest named itself for good, and until all named it for good.
    leads: u64,
    agreed: u64,
    /// How much mail was delivered by then.
    messages: u64,
    /// Whether anybody named somebody else on the way.
    named_another: bool,
    /// Whether anybody named nobody again.
    named_nobody: bool,
}

fn ranks(size: u64, highest: u64) -> Vec<MemberRank> {
    (1..=size).map(|id| MemberRank { priority: u32::from(id == highest), health: 100, id: Id(id) }).collect()
}

/// A cluster loses its leader, the one with the greatest id; the rest enter at once or so much later each. Its
/// successor is the one with this id.
fn failover(choice: &Choice, survivors: u64, successor: u64, stagger: u64) -> Failover {
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
    // Whoever has not entered yet still names the dead one.
    network.names.retain(|(.., whom)| *whom != Some(Id(survivors + 1)));
    let named_another = network.names.iter().any(|(.., whom)| whom.is_some_and(|whom| whom != leader));
    let last = |who: Id| network.names.iter().rev().find(|(_, by, _)| *by == who).map_or(0, |(when, ..)| when - began);
    let agreed = rest.iter().map(|one| last(one.id)).max().unwrap_or(0);
    let wavers =
        |one: &MemberRank| network.names.iter().filter(|(_, by, whom)| *by == one.id && whom.is_some()).count() > 1;
    Failover { leads: last(leader), agreed, messages, named_another, named_nobody: rest.iter().any(wavers) }
}

/// The default: the successor leads as soon as it enters, and everybody knows it a hop later, or two if somebody else's
/// view prevails. No timer, no tick, and nobody names anybody else on the way. But where another view prevails, some
/// name nobody again for a hop.
#[test]
fn bully_that_announces_needs_no_timer() {
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
            // One after the other, half a hop apart: the views of the first are there before the last ones enter.
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

/// Those that need no timers at all need none here.
#[test]
fn what_needs_no_timers_takes_hops_only() {
    // Those on complete networks wait for answers.
    let is_timed = |name: &str| find(name).is_some_and(|entry| entry.about.network == NetworkKind::Complete);
    for choice in choices().iter().filter(|choice| !is_timed(choice.name())) {
        if choice.params().iter().any(|param| param.starts_with("backoff")) {
            continue;
        }
        for (survivors, successor) in [(3, 3), (3, 1), (5, 5), (5, 2)] {
            let result = failover(choice, survivors, successor, 0);
            assert!(result.agreed <= 40 * MESSAGE_DELAY && !result.named_another, "{choice:?}: {result:?}");
            assert!(result.messages > 0, "they do talk to each other");
        }
    }
}

/// Those that wait for each other do so for a few ticks.
#[test]
fn what_needs_timers_takes_some_ticks() {
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
