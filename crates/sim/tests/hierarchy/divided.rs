//! Divided: counts and times.

use hustings_algorithms::ring::TokenRing;

use super::*;

fn divided(texts: &str, size: u32, detector: u32) -> Outcome {
    let scenario = ring::<Divided>(size, &[detector]);
    let outcome = run::<Divided>(texts, &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
    outcome
}

/// docs/model.md#divided: n=64, u=4. (Shirali's table prints 140/36 and 176/14, from `divide` on.)
#[test]
fn the_figures_of_the_text() {
    let once = divided("u=4", 64, 0);
    assert_eq!((once.by_kind.as_slice(), once.total()), (&[64, 64, 1, 4, 4, 4, 4, 4][..], 149));
    assert_eq!(once.by_kind[..2].iter().chain(&once.by_kind[5..]).sum::<u64>(), 140);
    assert_eq!(once.time.quiescent, Some(38));
    let twice = divided("u=4 depth=2", 64, 0);
    assert_eq!((twice.by_kind.as_slice(), twice.total()), (&[64, 64, 1, 4, 4, 16, 16, 16][..], 185));
    assert_eq!(twice.by_kind[..2].iter().chain(&twice.by_kind[5..]).sum::<u64>(), 176);
    assert_eq!(twice.time.quiescent, Some(17));
    assert_eq!(divided("depth=max", 64, 0), twice);
}

/// Rings of up to 400 nodes: u, m, the length of a part.
fn shapes() -> impl Iterator<Item = (u64, u32, u64)> {
    let all = (2..=7u64).flat_map(|u| (1..=4u32).flat_map(move |m| (1..=20u64).map(move |part| (u, m, part))));
    all.filter(|(u, m, part)| u.pow(*m) * part <= 400)
}

/// When the last part has begun, counted from the `crash`: with its `divide`, unless the detector's own token was there
/// before.
fn last_begins(u: u64, m: u32, part: u64) -> bool {
    let last_part = (u.pow(m) - 1) * part;
    last_part >= 4 + u64::from(m - 1)
}

/// docs/model.md#divided, detector on a top point: election = coordinator = n, divide = info = appoint = u^m, crash
/// 1, probe = reply = u; quiescent `3 + 3m + 2n/u^m`, one less for u=2, m≥2.
///
/// On rings so small that the detector's own token is at the last point before its `divide`, it ends earlier; and
/// where it is home before that, as token-ring does.
#[test]
fn a_detector_on_a_top_point() {
    for (u, m, part) in shapes() {
        let (points, n) = (u.pow(m), u.pow(m) * part);
        let large = last_begins(u, m, part);
        for top in 0..u {
            let outcome = divided(&format!("u={u} depth={m}"), n as u32, (top * n / u) as u32);
            if n > 4 {
                assert_eq!(outcome.by_kind, [n, n, 1, u, u, points, points, points], "{u} {m} {part}");
            }
            let quiescent = 3 + 3 * u64::from(m) + 2 * part - u64::from(u == 2 && m >= 2);
            if large {
                assert_eq!(outcome.time.quiescent, Some(quiescent), "{u} {m} {part}");
            } else {
                assert!(outcome.time.quiescent <= Some(quiescent), "{u} {m} {part}");
            }
        }
    }
}

/// docs/model.md#divided, a detector that is no point: election = n + hops to the next point, everything later by
/// the hops to the next top point.
#[test]
fn a_detector_that_is_no_point() {
    for (u, m, part) in shapes().filter(|&(u, m, part)| u.pow(m) * part > 4 * u.pow(m) && last_begins(u, m, part)) {
        let (points, n) = (u.pow(m), u.pow(m) * part);
        let on_top = divided(&format!("u={u} depth={m}"), n as u32, 0).time;
        for detector in [1, part - 1, n / 2 + 1, n - 1, 2 * part + 1] {
            let detector = detector % n;
            let outcome = divided(&format!("u={u} depth={m}"), n as u32, detector as u32);
            let to_point = detector.next_multiple_of(part) - detector;
            let to_top = detector.next_multiple_of(n / u) - detector;
            let counts = [n + to_point, n, 1, u, u, points, points, points];
            assert_eq!(outcome.by_kind, counts, "{u} {m} {part} {detector}");
            let quiescent = on_top.quiescent.map(|tick| tick + to_top);
            assert_eq!(outcome.time.quiescent, quiescent, "{u} {m} {part} {detector}");
        }
    }
}

/// docs/model.md#divided: informer down: the token simply goes round, i.e. token-ring.
#[test]
fn without_its_informer_it_is_token_ring() {
    for (n, detector) in [(8, 0), (64, 0), (64, 21), (64, 48)] {
        let scenario = ring::<Divided>(n, &[detector]);
        let without = Scenario { faults: dead(vec![n]), ..scenario };
        for texts in ["u=4", "u=2 depth=3"] {
            let outcome = run::<Divided>(texts, &without);
            let plain = run::<TokenRing>("", &ring::<TokenRing>(n, &[detector]));
            assert_eq!(outcome.by_kind[..2], plain.by_kind);
            assert_eq!((outcome.by_kind[2], outcome.total(), outcome.lost), (1, 2 * u64::from(n) + 1, 1));
            assert_eq!(outcome.time, plain.time);
        }
    }
}

/// docs/model.md#hierarchies: `parts` gives the lengths of the divisions.
#[test]
fn divisions_of_different_lengths() {
    let outcome = divided("parts=10,3,7", 20, 0);
    assert_eq!(outcome.by_kind, [20, 20, 1, 3, 3, 3, 3, 3]);
    // The detector's own part takes ten ticks; that of seven begins with its `divide` and takes one more.
    assert_eq!(outcome.time.quiescent, Some(4 + 7 + 2 + 10));
    // The longest part begins with its `divide`.
    assert_eq!(divided("parts=10,3,7", 20, 10).time.quiescent, Some(4 + 10 + 2 + 10));
    let nested = divided("u=2 depth=2 parts=1,9,4,6", 20, 0);
    assert_eq!(nested.by_kind, [20, 20, 1, 2, 2, 4, 4, 4]);
}

/// docs/model.md#divided: `backoff=B`, a random 0..B ticks before a node's first send. It costs time and not a
/// message: what was formula without stays so.
#[test]
fn backoff_costs_time_but_no_message() {
    let plain = divided("", 64, 0);
    let mut quiet = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let scenario = Scenario { seed, ..ring::<Divided>(64, &[0]) };
        let outcome = run::<Divided>("backoff=3", &scenario);
        assert_elects_the_greatest(&outcome, &scenario);
        assert_eq!(outcome.by_kind, plain.by_kind, "seed {seed}");
        assert!(outcome.time.quiescent >= plain.time.quiescent, "seed {seed}");
        quiet.insert(outcome.time.quiescent);
    }
    assert!(quiet.len() > 5, "the waits are random: {quiet:?}");
    assert_eq!(run::<Divided>("backoff=0", &ring::<Divided>(64, &[0])), plain);
}

/// Shirali §6: backoff is against collisions at the informer.
#[test]
fn backoff_spreads_arrivals() {
    let most = |texts: &str| {
        let of = |seed| run::<Divided>(texts, &Scenario { seed, ..ring::<Divided>(256, &[0]) }).collisions.max;
        (0..10).map(of).sum::<u64>()
    };
    assert_eq!(most("u=64"), 640, "all points answer at once");
    assert!(most("u=64 backoff=20") < 320);
}
