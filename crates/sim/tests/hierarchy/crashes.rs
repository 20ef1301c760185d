//! Crashes during the election: what is survived, and what is not.
//!
//! A starter that is up always ends up with a leader: it hears a `coordinator`, or runs the last resort. But who has
//! not heard the `coordinator` when a crash cuts it short never does, if the starter has (it may be the leader itself);
//! nor does anybody if the starter crashes. The next election, held by those who miss the leader they name, puts
//! everything in order.

use hustings_protocol::{Record, Role, TraceEvent};

use super::*;

const SIZE: u32 = 16;
const STARTER: u32 = 1;
/// Everything has come to rest long before.
const LATER: u64 = 100 * SIZE as u64;

/// The position that the starter names in the end.
fn named<A: Algorithm>(texts: &str, scenario: &Scenario) -> Option<u32> {
    let members: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let mut records: Vec<Record<_>> = Vec::new();
    run_algorithm::<A>(&params::<A>(texts), scenario, Some(&mut records));
    let mut role = Role::Undecided;
    for record in records.into_iter().filter(|record| record.node == STARTER) {
        match record.what {
            TraceEvent::Handled { effects, .. } => role = effects.iter().fold(role, |role, effect| role.after(effect)),
            TraceEvent::Crashed => role = Role::Undecided,
            _ => {}
        }
    }
    let named = role.leader(members[STARTER as usize])?;
    members.iter().position(|id| *id == named).map(|at| at as u32)
}

/// The same, and then that one goes down too, and everybody is asked to hold an election.
fn followed_by_another(scenario: &Scenario, leader: u32) -> Scenario {
    let mut scenario = scenario.clone();
    if !scenario.faults.iter().any(|fault| fault.what == FaultKind::Crash(leader)) {
        scenario.faults.push(crash(leader, LATER));
    }
    scenario.starts.extend((0..SIZE).map(|at| Start { at, tick: LATER + 5 }));
    scenario
}

/// Each node, and the informer, at each tick.
#[test]
fn a_crash_of_any_node_at_any_time() {
    fn each_crash<A: Algorithm>(texts: &str) {
        let plain = ring::<A>(SIZE, &[STARTER]);
        let ticks = run::<A>(texts, &plain).time.quiescent.expect("there is traffic") + 2;
        let (mut repaired, mut cut_short) = (0, 0);
        for (node, tick) in (0..plain.network.size()).flat_map(|node| (1..ticks).map(move |tick| (node, tick))) {
            let scenario = Scenario { faults: vec![crash(node, tick)], ..plain.clone() };
            let outcome = run::<A>(texts, &scenario);
            let what = format!("{} {texts}, {node}@{tick}", A::ABOUT.name);
            assert!(outcome.leaders.len() <= 1 && !outcome.hung, "{what}: {outcome:?}");
            repaired += u32::from(outcome.agreement && outcome.time.quiescent > Some(8 * u64::from(SIZE)));
            cut_short += u32::from(!outcome.agreement);
            let leader = if node == STARTER { outcome.leader } else { named::<A>(texts, &scenario) };
            assert!(node == STARTER || leader.is_some(), "{what}: the starter has no leader");
            if let Some(leader) = leader {
                let scenario = followed_by_another(&scenario, leader);
                assert_elects_the_greatest(&run::<A>(texts, &scenario), &scenario);
            }
        }
        assert!(repaired > 0, "{texts}: no crash was mended by the last resort");
        assert!(cut_short > 0, "{texts}: it survives everything, and should say so");
    }
    each!(each_crash);
}

/// Two at a time, and in the midst of the last resort.
#[test]
fn several_crashes_at_any_time() {
    fn some_crashes<A: Algorithm>(texts: &str, random: &mut Random) {
        for _ in 0..150 {
            let plain = ring::<A>(SIZE, &[STARTER]);
            let count = 2 + random.below(3);
            let nodes = random.some(count, plain.network.size());
            let mut faults: Vec<Fault> = nodes
                .into_iter()
                .filter(|&node| node != STARTER)
                .map(|node| crash(node, random.below(10 * SIZE + 10).into()))
                .collect();
            faults.sort_by_key(|fault| fault.tick);
            let ids = random.shuffled((0..u64::from(SIZE)).collect());
            let scenario = Scenario { faults, ids, ..plain };
            let outcome = run::<A>(texts, &scenario);
            let what = format!("{} {texts}, {scenario:?}", A::ABOUT.name);
            assert!(!outcome.hung, "{what}: {outcome:?}");
            let leader = named::<A>(texts, &scenario).unwrap_or_else(|| panic!("{what}: the starter has no leader"));
            if leader != STARTER {
                let scenario = followed_by_another(&scenario, leader);
                let outcome = run::<A>(texts, &scenario);
                assert!(outcome.agreement, "{what}: {outcome:?}");
            }
        }
    }
    let random = &mut Random(5);
    each!(some_crashes, random);
}

/// No claim is made for what is not survived.
#[test]
fn nothing_is_claimed() {
    fn modest<A: Algorithm>(_: &str) {
        assert_eq!(A::ABOUT.tolerates, hustings_algorithms::Tolerates::DOWN);
    }
    each!(modest);
}
