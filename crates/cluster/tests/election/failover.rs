//! How long it takes until everybody names the next leader, where mail takes a tenth of a tick.

use hustings_algorithms::NetworkKind;
use hustings_algorithms::catalogue::find;
use hustings_cluster::config::Choice;
use hustings_cluster::member::MemberRank;
use hustings_protocol::Id;

use crate::bus::{Bus, TICK};
use crate::{choice, choices, greatest, ids};

/// How long mail takes.
const HOP: u64 = TICK / 10;

/// What a failover took.
#[derive(Debug)]
struct Failover {
    /// From the entering of the first until the greatest named itself for good, and until all named it for good.
    leads: u64,
    agreed: u64,
    /// How much mail was delivered by then.
    mail: u64,
    /// Whether anybody named somebody else on the way.
    erred: bool,
    /// Whether anybody named nobody again.
    wavered: bool,
}

fn ranks(size: u64, greatest: u64) -> Vec<MemberRank> {
    (1..=size).map(|id| MemberRank { priority: u32::from(id == greatest), health: 100, id: Id(id) }).collect()
}

/// A cluster loses its leader, the one with the greatest id; the rest enter at once or so much later each. Its
/// successor is the one with this id.
fn failover(choice: &Choice, survivors: u64, successor: u64, apart: u64) -> Failover {
    let rest = ranks(survivors, successor);
    let mut all = rest.clone();
    all.push(MemberRank { priority: 2, health: 100, id: Id(survivors + 1) });
    let mut bus = Bus::new(choice, ids(&all), survivors);
    (bus.delay, bus.tardiness) = ((HOP, HOP), 0);
    bus.all_enter(&all, 0);
    bus.run_for(400 * TICK);
    assert!(bus.agree(&all, greatest(&all)), "{choice:?}: {:?}", bus.says(&all));
    bus.kill(Id(survivors + 1));
    for (one, nth) in rest.iter().zip(0..) {
        bus.enter_in(apart * nth, one.id, &rest);
    }
    let (began, before) = (bus.now, bus.delivered);
    bus.names.clear();
    let (mut mail, leader) = (0, Id(successor));
    while bus.step(began + 400 * TICK) {
        if mail == 0 && bus.agree(&rest, leader) {
            mail = bus.delivered - before;
        }
    }
    assert!(bus.agree(&rest, leader), "{choice:?}: {:?}", bus.says(&rest));
    // Whoever has not entered yet still names the dead one.
    bus.names.retain(|(.., whom)| *whom != Some(Id(survivors + 1)));
    let erred = bus.names.iter().any(|(.., whom)| whom.is_some_and(|whom| whom != leader));
    let last = |who: Id| bus.names.iter().rev().find(|(_, by, _)| *by == who).map_or(0, |(when, ..)| when - began);
    let agreed = rest.iter().map(|one| last(one.id)).max().unwrap_or(0);
    let wavers =
        |one: &MemberRank| bus.names.iter().filter(|(_, by, whom)| *by == one.id && whom.is_some()).count() > 1;
    Failover { leads: last(leader), agreed, mail, erred, wavered: rest.iter().any(wavers) }
}

/// The default: the successor leads as soon as it enters, and everybody knows it a hop later, or two if somebody else's
/// view prevails. No timer, no tick, and nobody names anybody else on the way. But where another view prevails, some
/// name nobody again for a hop.
#[test]
fn bully_that_announces_needs_no_timer() {
    let choice = choice("bully", &["highest=announce"]);
    for survivors in 2..=6 {
        for successor in 1..=survivors {
            let taken = failover(&choice, survivors, successor, 0);
            let is_owner = successor == survivors;
            assert!(taken.leads <= HOP && taken.agreed <= if is_owner { HOP } else { 2 * HOP }, "{taken:?}");
            assert!(!(taken.erred || taken.wavered && is_owner), "{survivors} {successor}: {taken:?}");
            // One after the other, half a hop apart: the views of the first are there before the last ones enter.
            let apart = HOP / 2;
            let taken = failover(&choice, survivors, successor, apart);
            assert!(taken.agreed <= apart * (survivors - 1) + 3 * HOP, "{survivors} {successor}: {taken:?}");
            assert!(!taken.erred, "{survivors} {successor}: {taken:?}");
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
            let taken = failover(choice, survivors, successor, 0);
            assert!(taken.agreed <= 40 * HOP && !taken.erred, "{choice:?}: {taken:?}");
            assert!(taken.mail > 0, "they do talk to each other");
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
            let taken = failover(&choice, survivors, successor, 0);
            assert!(taken.agreed <= most * TICK, "{choice:?}: {taken:?}");
        }
    }
}
