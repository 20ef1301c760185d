//! Sun-divided: counts and times.

use super::*;

fn both(texts: &str, size: u32, detector: u32) -> Outcome {
    let scenario = ring::<SunDivided>(size, &[detector]);
    let outcome = run::<SunDivided>(texts, &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
    outcome
}

/// docs/model.md#sun-divided: n=64, u=4, m=k=1, from a top point.
#[test]
fn the_figures_of_the_text() {
    for top in [0, 16, 32, 48] {
        let lazy = both("u=4", 64, top);
        assert_eq!((lazy.by_kind.as_slice(), lazy.total()), (&[96, 80, 1, 4, 4, 4, 4, 4, 0][..], 197));
        assert_eq!(lazy.time.quiescent, Some(23));
        let eager = both("u=4 aggregate=eager", 64, top);
        assert_eq!((eager.by_kind.as_slice(), eager.total()), (&[96, 80, 1, 4, 4, 4, 4, 4, 16][..], 213));
        assert_eq!(eager.time.quiescent, Some(20));
    }
}

/// The formulas in `expect`, checked by every run here, against shapes of every kind: coordinator ΣL_i, m-coordinator
/// Σ_{i≥2} L_i if eager, and for the detector's token the way to the first point that has its `divide`.
#[test]
fn every_shape_and_detector() {
    for (u, m, k, rest) in
        [(2, 1, 1, 3), (2, 2, 2, 2), (3, 1, 2, 2), (3, 2, 1, 1), (4, 1, 2, 1), (2, 3, 1, 4), (5, 1, 1, 5)]
    {
        let n = u64::pow(u, m + k) * rest;
        let lengths: Vec<u64> = (0..=k).map(|level| n / u.pow(level)).collect();
        let all: u64 = lengths.iter().sum();
        for detector in 0..n {
            let lazy = both(&format!("u={u} depth={m} sun-depth={k}"), n as u32, detector as u32);
            let points = u.pow(m);
            assert_eq!(lazy.by_kind[1..], [all, 1, u, u, points, points, points, 0], "{u} {m} {k} {detector}");
            let eager = both(&format!("u={u} depth={m} sun-depth={k} aggregate=eager"), n as u32, detector as u32);
            assert_eq!((eager.by_kind[0], eager.by_kind[8]), (lazy.by_kind[0], all - n));
            assert!(lazy.by_kind[0] > all, "the detector's own token is extra");
        }
    }
}

/// docs/model.md#sun-divided: the detector's token never counts as a part's, so its own part begins with its
/// `divide` like the others.
#[test]
fn eager_times_by_hand() {
    for (u, m, k, rest) in [(4, 1, 1, 4), (4, 1, 2, 4), (3, 1, 2, 3), (4, 2, 1, 2), (3, 2, 1, 5)] {
        let n = u64::pow(u, m + k) * rest;
        let outcome = both(&format!("u={u} depth={m} sun-depth={k} aggregate=eager"), n as u32, 0);
        // To the last `divide`; down all levels; up and down between informer and points; and down again.
        let part = rest + u64::from(k) * (u - 1);
        let quiescent = 3 + u64::from(m) + part + 2 * u64::from(m) + part;
        // Meanwhile the detector's own token goes to the end of its part.
        let quiescent = quiescent.max(n / u.pow(m));
        assert_eq!(outcome.time.quiescent, Some(quiescent), "{u} {m} {k} {rest}");
    }
}

/// docs/model.md#hierarchies: `parts`, and both depths as deep as they go.
#[test]
fn other_lengths_and_depths() {
    let outcome = both("u=2 parts=8,12,4,8", 32, 3);
    assert_eq!(outcome.by_kind[1..], [48, 1, 4, 4, 4, 4, 4, 0]);
    assert_eq!(both("depth=max sun-depth=max", 64, 0), {
        let flat = both("depth=2 sun-depth=max", 64, 0);
        assert_eq!(flat.by_kind[1], 64, "parts of 4 have no levels inside");
        flat
    });
    let scenario = Scenario { seed: 5, ..ring::<SunDivided>(64, &[0]) };
    let hesitant = run::<SunDivided>("backoff=4 aggregate=eager", &scenario);
    assert_elects_the_greatest(&hesitant, &scenario);
    assert!(hesitant.time.quiescent > Some(20));
}
