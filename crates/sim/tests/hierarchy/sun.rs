//! Sun: counts and times.

use super::*;

fn sun(texts: &str, size: u32, starter: u32) -> Outcome {
    let scenario = ring::<Sun>(size, &[starter]);
    let outcome = run::<Sun>(texts, &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
    outcome
}

/// docs/model.md#sun: n=64, u=4. (Shirali's table prints 176/64 and 172/28.)
#[test]
fn the_figures_of_the_text() {
    let figures = |texts| {
        let outcome = sun(texts, 64, 0);
        (outcome.by_kind.clone(), outcome.total(), outcome.time.quiescent)
    };
    assert_eq!(figures("u=4 depth=1"), (vec![0, 80, 16, 80], 176, Some(51)));
    assert_eq!(figures("u=4 depth=2"), (vec![0, 84, 4, 84], 172, Some(23)));
    assert_eq!(figures("u=4 depth=2 aggregate=eager"), (vec![0, 84, 20, 84], 188, Some(20)));
    assert_eq!(figures("depth=max"), figures("u=4 depth=2"));
    assert_eq!(figures("depth=1 aggregate=eager"), figures("depth=1"), "there is no middle level");
}

/// Every ring of up to 300 nodes with such levels: u, k, L_r.
fn shapes() -> impl Iterator<Item = (u64, u32, u64)> {
    let all = (2..=7u64).flat_map(|u| (1..=5u32).flat_map(move |k| (1..=9u64).map(move |top| (u, k, top))));
    all.filter(|(u, k, top)| u.pow(*k) * top <= 300)
}

/// The steps of a climb: to the first node of level 2, along level 2 to the first of level 3, …
fn climb(u: u64, k: u32, from: u64) -> u64 {
    let (mut at, mut steps) = (from, 0);
    for _ in 0..k {
        steps += (u - at % u) % u;
        at = at.div_ceil(u);
    }
    steps
}

/// docs/model.md#sun: 2·ΣL_i + L_r messages, eager 2·ΣL_i + Σ_{i≥2} L_i, and the climb.
#[test]
fn messages_by_kind_for_every_shape_and_starter() {
    for (u, k, top) in shapes() {
        let n = u.pow(k) * top;
        let lengths: Vec<u64> = (0..=k).map(|level| n / u.pow(level)).collect();
        let all: u64 = lengths.iter().sum();
        let starters = if n <= 40 { (0..n).collect() } else { vec![0, 1, n / 2, n - 1] };
        for starter in starters {
            let outcome = sun(&format!("u={u} depth={k}"), n as u32, starter as u32);
            assert_eq!(outcome.by_kind, [climb(u, k, starter), all, top, all], "{u} {k} {top} {starter}");
            let outcome = sun(&format!("u={u} depth={k} aggregate=eager"), n as u32, starter as u32);
            assert_eq!(outcome.by_kind, [climb(u, k, starter), all, all - n, all], "{u} {k} {top} {starter}");
        }
    }
}

/// docs/model.md#sun: eager, quiescent `c + 2L_r + max(L_r, k(u-1)) + k(u-1)`.
#[test]
fn eager_is_quiet_when_the_formula_says() {
    for (u, k, top) in shapes() {
        let n = u.pow(k) * top;
        for starter in [0, 1, u % n, n / 2, n - 1] {
            let outcome = sun(&format!("u={u} depth={k} aggregate=eager"), n as u32, starter as u32);
            let down = u64::from(k) * (u - 1);
            let quiescent = climb(u, k, starter) + 2 * top + top.max(down) + down;
            assert_eq!(outcome.time.quiescent, Some(quiescent), "{u} {k} {top} {starter}");
        }
    }
}

/// How long a lazy segment of level `level` takes, worked out from the text alone: the token waits at each node for the
/// segment of the level below that ends there, and each of those starts when its first node is reached.
fn lazy_segment(u: u64, level: u32) -> u64 {
    if level == 1 {
        return u;
    }
    let below = lazy_segment(u, level - 1);
    let (mut reached, mut left) = (0, 0);
    for _ in 0..u {
        let result = reached + below;
        reached = left + 1;
        left = result.max(reached);
    }
    left
}

/// Round the top, then `m-coordinator` round it, then down all levels.
fn lazy_quiescent(u: u64, k: u32, top: u64) -> u64 {
    let segment = lazy_segment(u, k);
    let mut at = top;
    for node in 1..=top {
        at = (at + 1).max(node - 1 + segment);
    }
    at + top + u64::from(k) * (u - 1)
}

/// docs/model.md#sun: lazy, against the little model above.
#[test]
fn lazy_is_quiet_when_the_text_says() {
    assert_eq!((lazy_quiescent(4, 1, 16), lazy_quiescent(4, 2, 4)), (51, 23));
    for (u, k, top) in shapes() {
        let n = u.pow(k) * top;
        for starter in [0, n / 2, n - 1] {
            let outcome = sun(&format!("u={u} depth={k}"), n as u32, starter as u32);
            let quiescent = climb(u, k, starter) + lazy_quiescent(u, k, top);
            assert_eq!(outcome.time.quiescent, Some(quiescent), "{u} {k} {top} {starter}");
        }
    }
}

/// docs/model.md#sun: lazy loses to the text's latency, 3·L_r + 2ku, from u=6 on (k=2, L_r=4).
#[test]
fn lazy_loses_to_the_printed_latency_from_six_on() {
    for u in 2..=9u32 {
        let quiescent = sun(&format!("u={u} depth=2"), 4 * u * u, 0).time.quiescent;
        let printed = u64::from(3 * 4 + 2 * 2 * u);
        assert_eq!(quiescent > Some(printed), u >= 6, "u={u}: {quiescent:?} against {printed}");
    }
}

/// The leader is told on its way down; the last to hear is before the end of the last segment.
#[test]
fn elected_and_agreed() {
    let outcome = sun("", 64, 0);
    assert_eq!((outcome.time.elected, outcome.time.agreed), (Some(50), Some(50)));
    let scenario = Scenario { ids: (0..64).rev().collect(), ..ring::<Sun>(64, &[0]) };
    let outcome = run::<Sun>("", &scenario);
    assert_eq!((outcome.leader, outcome.time.elected, outcome.time.agreed), (Some(0), Some(32), Some(50)));
}

/// docs/model.md#hierarchies: `parts` gives the lengths of the divisions.
#[test]
fn divisions_of_different_lengths() {
    let scenario = ring::<Sun>(20, &[5]);
    let outcome = run::<Sun>("parts=3,8,1,8", &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
    // From 5 to 11; four on top; 4 + 4 + 3 steps there, and then 8 down the longest part.
    assert_eq!(outcome.by_kind, [6, 24, 4, 24]);
    // The part from 12 ends at 0 eleven ticks after the informer (11) began, that from 3 at 11 two ticks later.
    assert_eq!(outcome.time.quiescent, Some(6 + 11 + 3 + 8));
    let scenario = ring::<Sun>(30, &[0]);
    let outcome = run::<Sun>("u=2 depth=2 parts=3,8,4,15", &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
    assert_eq!(outcome.by_kind, [0, 36, 2, 36]);
}

/// docs/model.md#hierarchies: `depth=max` divides while the inner ring is longer than u; not at all if the ring is not.
#[test]
fn as_deep_as_it_goes() {
    for (u, n, k) in [(4, 64, 2), (4, 256, 3), (2, 64, 5), (3, 27, 2), (3, 54, 3), (8, 64, 1)] {
        let deepest = sun(&format!("u={u} depth=max"), n, 0);
        assert_eq!(deepest, sun(&format!("u={u} depth={k}"), n, 0), "{u} {n}");
    }
    let flat = sun("depth=max", 3, 1);
    assert_eq!((flat.by_kind, flat.time.quiescent), (vec![0, 3, 3, 3], Some(9)));
}
