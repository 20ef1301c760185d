//! Nodes, points and the informer down from the start.

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

/// docs/model.md#sun: it skips nobody; a starter that hears no `coordinator` within 8n ticks runs token-ring, which
/// takes 2n more, n `election` and a `coordinator` for each live node.
#[test]
fn sun_falls_back_on_token_ring_after_8n_ticks() {
    for texts in ["u=4", "u=4 depth=2", "u=2 depth=4 aggregate=eager"] {
        for down in 1..64 {
            let scenario = Scenario { faults: dead(vec![down, 63]), ..ring::<Sun>(64, &[0]) };
            let outcome = run::<Sun>(texts, &scenario);
            assert_elects_the_greatest(&outcome, &scenario);
            assert_eq!(outcome.time.quiescent, Some(8 * 64 + 2 * 64), "{texts}, {down}");
            assert_eq!(outcome.by_kind[3], u64::from(outcome.live), "{texts}, {down}");
            let before = run::<Sun>(texts, &Scenario { until: 8 * 64 - 1, ..scenario });
            assert_eq!(outcome.by_kind[1], before.by_kind[1] + 64, "{texts}, {down}");
            assert_eq!(before.leader, None);
        }
    }
}

/// The wait is from the start signal on, and that of a climber in vain too.
#[test]
fn the_wait_begins_with_the_start_signal() {
    let starts = vec![Start { at: 5, tick: 7 }];
    let scenario = Scenario { faults: dead(vec![6]), starts, ..ring::<Sun>(16, &[]) };
    let outcome = run::<Sun>("", &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
    assert_eq!((outcome.by_kind.as_slice(), outcome.time.quiescent), (&[1, 16, 0, 15][..], Some(7 + 10 * 16)));
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

/// docs/model.md#divided, m≥2: all top points must answer, else the token simply goes round; a dead point further
/// down is found too late: the 8n rule.
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
        assert_eq!(outcome.by_kind, [64, 63, 1, 4, 3, 0, 0, 0], "{top}");
        assert_eq!(outcome.time.quiescent, Some(128), "{top}");
    }
    for sub in (4..64).step_by(4).filter(|sub| sub % 16 != 0) {
        let outcome = with_dead(sub);
        // All parts are gathered, that of the dead point by the one before; only its `info` is missing. Who struck the
        // dead one off need not find it again: the last resort takes 63 of each kind.
        assert_eq!(outcome.by_kind[..2], [64 + 63, 63], "{sub}");
        assert_eq!(outcome.time.quiescent, Some(8 * 64 + 2 * 64 - 2), "{sub}");
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
