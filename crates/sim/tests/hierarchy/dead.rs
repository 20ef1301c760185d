//! Nodes, points and the informer down from the start.

use hustings_algorithms::ring::TokenRing;

use super::*;

/// One dead node of each, for every kind of hierarchy and every live starter.
#[test]
fn any_one_node_may_be_down() {
    fn any<A: Algorithm>(texts: &str) {
        for down in 0..16 {
            for starter in (0..16).filter(|&starter| starter != down) {
                let scenario = Scenario { faults: dead(vec![down]), ..ring::<A>(16, &[starter]) };
                assert_elects_the_greatest(&run::<A>(texts, &scenario), &scenario);
            }
        }
    }
    each!(any);
}

/// Any number of them, the informer too, whoever starts.
#[test]
fn any_set_of_nodes_may_be_down() {
    fn any<A: Algorithm>(texts: &str, random: &mut Random) {
        for round in 0..60 {
            let size = if round % 2 == 0 { 16 } else { 64 };
            let count = random.below(size);
            let down = random.some(count, ring::<A>(size, &[]).network.size());
            let live: Vec<u32> = (0..size).filter(|at| !down.contains(at)).collect();
            if live.is_empty() {
                continue;
            }
            let count = 1 + random.below(3).min(live.len() as u32 - 1);
            let starters: Vec<u32> =
                random.some(count, live.len() as u32).into_iter().map(|nth| live[nth as usize]).collect();
            let ids = random.shuffled((0..u64::from(size)).collect());
            let scenario = Scenario { ids, faults: dead(down), ..ring::<A>(size, &starters) };
            assert_elects_the_greatest(&run::<A>(texts, &scenario), &scenario);
        }
    }
    let random = &mut Random(1);
    each!(any, random);
}

/// docs/model.md#sun: the dead are skipped on every level. A dead node costs one `election` on each of its levels, and
/// none of the later messages.
#[test]
fn sun_skips_the_dead_on_every_level() {
    for down in 1..64 {
        let scenario = Scenario { faults: dead(vec![down]), ..ring::<Sun>(64, &[0]) };
        let outcome = run::<Sun>("u=4", &scenario);
        assert_elects_the_greatest(&outcome, &scenario);
        let above = u64::from(down % 4 == 0);
        assert_eq!(outcome.by_kind, [0, 64 + 16, 16 - above, (64 - 1) + (16 - above)], "{down}");
    }
    let coordinator_down = Scenario { faults: dead(vec![63]), ..ring::<Sun>(64, &[0]) };
    assert_eq!(run::<Sun>("u=4", &coordinator_down).time.quiescent, Some(50));
}

/// Any set of dead nodes, with levels of any number and length: the counts with one level above the ring, and the time.
#[test]
fn sun_with_any_nodes_down_keeps_its_bounds() {
    let random = &mut Random(7);
    for round in 0..400 {
        let (texts, depth) = [("u=4", 1), ("u=2", 1), ("u=4 depth=2", 2), ("u=2 depth=4", 4)][round % 4];
        let count = random.below(64);
        let down = random.some(count, 64);
        let live: Vec<u32> = (0..64).filter(|at| !down.contains(at)).collect();
        let starter = live[random.below(live.len() as u32) as usize];
        let ids = random.shuffled((0..64).collect());
        let scenario = Scenario { ids, faults: dead(down.clone()), ..ring::<Sun>(64, &[starter]) };
        let outcome = run::<Sun>(texts, &scenario);
        assert_elects_the_greatest(&outcome, &scenario);
        let branching = if texts.starts_with("u=4") { 4 } else { 2 };
        let dead_on = |apart: u32| down.iter().filter(|at| **at % apart == 0).count() as u64;
        if depth == 1 && starter.is_multiple_of(branching) {
            let (lengths, dead) = ((64, 64 / u64::from(branching)), (dead_on(1), dead_on(branching)));
            let [climb, election, gather, coordinator] = outcome.by_kind[..] else { panic!("there are four kinds") };
            assert!(climb == 0 && election <= lengths.0 + lengths.1, "{scenario:?}: {outcome:?}");
            assert_eq!(gather, lengths.1 - dead.1, "{scenario:?}");
            assert_eq!(coordinator, lengths.0 - dead.0 + lengths.1 - dead.1, "{scenario:?}");
        }
        // Token-ring on the same nodes, a climb of at most one attempt for each node of each level, and three laps of
        // each upper level, two ticks more for each of its dead nodes on the first.
        let on_ring =
            simulate::<TokenRing>(&Default::default(), &Scenario { network: Network::Ring(64), ..scenario.clone() });
        let upper = |level: u32| (64 / u64::from(branching.pow(level)), dead_on(branching.pow(level)));
        let laps: u64 = (1..=depth).map(upper).map(|(length, dead)| 3 * length + 2 * dead).sum();
        let climb = outcome.by_kind[0] + 2 * down.len() as u64;
        let bound = climb + on_ring.time.quiescent.unwrap_or(0) + laps;
        assert!(outcome.time.quiescent <= Some(bound), "{texts}, {scenario:?}: {outcome:?}, at most {bound}");
        assert!(outcome.time.quiescent < Some(8 * 64), "{texts}, {scenario:?}: it fell back on token-ring");
    }
}

/// If no node above the ring is up, the climb goes once round like token-ring's token, and its starter announces.
#[test]
fn a_climb_past_dead_points_is_a_lap_of_the_ring() {
    let down: Vec<u32> = (0..16).step_by(4).collect();
    let scenario = Scenario { faults: dead(down), ..ring::<Sun>(16, &[5]) };
    let outcome = run::<Sun>("", &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
    // 16 attempts, 2 ticks more for each dead node but one tick for its hop; then 12 live nodes.
    assert_eq!((outcome.by_kind.as_slice(), outcome.time.quiescent), (&[16, 0, 0, 12][..], Some(12 + 4 * 2 + 12)));
    // A level whose nodes above are all dead is the top: u=2, and of level 3 nobody is up.
    let scenario = Scenario { faults: dead(vec![0, 4, 8, 12]), ..ring::<Sun>(16, &[2]) };
    let outcome = run::<Sun>("u=2 depth=2", &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
    assert_eq!((outcome.by_kind[0], outcome.by_kind[2], outcome.by_kind[3]), (8, 4, 4 + 12), "{outcome:?}");
}

/// docs/model.md#dead-receivers: token-ring's way with the dead, in parts: each costs one message and two ticks on the
/// first lap, nothing on the second.
#[test]
fn divided_skips_the_dead_along_the_ring() {
    for down in (1..64).filter(|down| down % 16 != 0) {
        let scenario = Scenario { faults: dead(vec![down]), ..ring::<Divided>(64, &[0]) };
        let outcome = run::<Divided>("u=4", &scenario);
        assert_elects_the_greatest(&outcome, &scenario);
        assert_eq!(outcome.by_kind, [64, 63, 1, 4, 4, 4, 4, 4], "{down}");
        // The part with the dead one takes a tick more; the detector's own part has four to spare.
        let late = if down < 16 { 0 } else { 1 };
        assert_eq!(outcome.time.quiescent, Some(38 + late), "{down}");
    }
}

/// Shirali §6: D points that are up divide the ring, if there are two at least.
#[test]
fn divided_by_the_points_that_are_up() {
    let with_dead = |down: Vec<u32>| {
        let scenario = Scenario { faults: dead(down), ..ring::<Divided>(64, &[0]) };
        let outcome = run::<Divided>("u=4", &scenario);
        assert_elects_the_greatest(&outcome, &scenario);
        outcome
    };
    for down in [16, 32, 48] {
        let outcome = with_dead(vec![down]);
        assert_eq!(outcome.by_kind, [64, 63, 1, 4, 3, 3, 3, 3], "{down}");
    }
    // A part of 32 with one dead in it, begun by its `divide` or, at 0, with the token itself.
    assert_eq!(with_dead(vec![48]).time.quiescent, Some(4 + 33 + 2 + 31));
    assert_eq!(with_dead(vec![16]).time.quiescent, Some(33 + 2 + 31));
    assert_eq!(with_dead(vec![16, 48]).by_kind, [64, 62, 1, 4, 2, 2, 2, 2]);
    let alone = with_dead(vec![16, 32, 48]);
    assert_eq!((alone.by_kind.as_slice(), alone.time.quiescent), (&[64, 61, 1, 4, 1, 0, 0, 0][..], Some(128)));
}

/// docs/model.md#divided, m≥2: a top point that does not reply divides nothing, and neither do its sub-points; a
/// sub-point that is down gives no `info`, and its part belongs to the live point before it.
#[test]
fn deeper_points_that_are_down() {
    let with_dead = |down: u32| {
        let scenario = Scenario { faults: dead(vec![down]), ..ring::<Divided>(64, &[0]) };
        let outcome = run::<Divided>("u=4 depth=2", &scenario);
        assert_elects_the_greatest(&outcome, &scenario);
        outcome
    };
    for top in [16, 32, 48] {
        let outcome = with_dead(top);
        // Twelve points are left: those of three top points. The part before the dead one is 4 + 16 long.
        assert_eq!(outcome.by_kind, [64, 63, 1, 4, 3, 12, 12, 12], "{top}");
        assert!(outcome.time.quiescent < Some(60), "{top}: {outcome:?}");
    }
    for sub in (4..64).step_by(4).filter(|sub| sub % 16 != 0) {
        let outcome = with_dead(sub);
        assert_eq!(outcome.by_kind, [64, 63, 1, 4, 4, 16, 15, 15], "{sub}");
        assert!(outcome.time.quiescent < Some(30), "{sub}: {outcome:?}");
    }
}

/// Divided and sun-divided with any nodes down: never the 8n ticks of the fallback, unless too few points are up or,
/// with levels inside several divisions, a top point is down.
#[test]
fn divisions_do_not_fall_back_because_of_dead_nodes() {
    fn any<A: Algorithm>(texts: &str, random: &mut Random) {
        for _ in 0..150 {
            let count = random.below(40);
            let down = random.some(count, 64);
            let live: Vec<u32> = (0..64).filter(|at| !down.contains(at)).collect();
            let starter = live[random.below(live.len() as u32) as usize];
            let ids = random.shuffled((0..64).collect());
            let scenario = Scenario { ids, faults: dead(down), ..ring::<A>(64, &[starter]) };
            let outcome = run::<A>(texts, &scenario);
            assert_elects_the_greatest(&outcome, &scenario);
            assert!(outcome.time.quiescent < Some(8 * 64), "{texts}, {scenario:?}: {outcome:?}");
        }
    }
    let random = &mut Random(11);
    for texts in ["u=4", "u=4 depth=2", "u=2 depth=3", "u=2"] {
        any::<Divided>(texts, random);
    }
    for texts in ["u=4", "u=4 aggregate=eager", "u=2 depth=2 sun-depth=2", "u=2 sun-depth=3 aggregate=eager"] {
        any::<SunDivided>(texts, random);
    }
}

/// With everybody else down, the last one leads.
#[test]
fn the_last_one_leads() {
    fn last<A: Algorithm>(texts: &str) {
        for at in [0, 5, 15] {
            let down = (0..16).filter(|&other| other != at).collect();
            let scenario = Scenario { faults: dead(down), ..ring::<A>(16, &[at]) };
            assert_elects_the_greatest(&run::<A>(texts, &scenario), &scenario);
        }
    }
    each!(last);
}
