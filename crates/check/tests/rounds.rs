//! Itai–Rodeh's expected number of rounds: from the graph of all executions, from the recursion, and from many runs.

use hustings_algorithms::anonymous::{IdRange, ItaiRodeh, ItaiRodehParams};
use hustings_algorithms::{Algorithm, Setting};
use hustings_check::{Model, Spec};
use hustings_protocol::Id;
use hustings_sim::simulate::{ElectionSpec, simulate};

use crate::support::erased_check;

/// f(1) = 1 where n = 1; else f(m) = 1 + Σ_{j=2..m} P_m(j)·f(j): of m that draw from 1 to K, j share the greatest with
/// probability P_m(j), and all j go on.
fn recursion(n: u64, sides: u64) -> f64 {
    let choose = |m: u64, j: u64| (0..j).map(|i| (m - i) as f64 / (j - i) as f64).product::<f64>();
    let share = |m: u64, j: u64| -> f64 {
        let below = |v: u64| ((v - 1) as f64 / sides as f64).powi((m - j) as i32);
        (1..=sides).map(|v| choose(m, j) * (sides as f64).powi(-(j as i32)) * below(v)).sum()
    };
    let mut expected = vec![1.0; n as usize + 1];
    for m in 2..=n {
        // f(m) appears on both sides of the equation.
        let others: f64 = (2..m).map(|j| share(m, j) * expected[j as usize]).sum();
        expected[m as usize] = (1.0 + others) / (1.0 - share(m, m));
    }
    expected[n as usize]
}

fn drawing_from(sides: u32) -> ItaiRodehParams {
    ItaiRodehParams { ids: IdRange::Of(sides), ..ItaiRodehParams::default() }
}

fn explored(n: u64, sides: u32) -> (f64, f64) {
    let ranks: Vec<Id> = (0..n).map(Id).collect();
    let protocol = ItaiRodeh::protocol::<Id>(&drawing_from(sides), &Setting::of(&ranks));
    // All nodes draw an id: no message wakes one before its start signal.
    let model = Model { requires_wakeup: true, ..Model::ring(ranks) };
    let spec = Spec::of(&ItaiRodeh::ABOUT, &model, &[], false);
    erased_check(protocol, &model, spec).expected_rounds(20_000_000).expect("the graph is smaller than that")
}

/// McMaster, Itai–Rodeh: the state graph and the recursion agree to twelve digits, for every scheduler.
#[test]
fn the_graph_and_the_recursion_agree() {
    for (n, sides) in [(1, 1), (2, 2), (3, 2), (3, 3), (4, 2), (4, 4)] {
        let (min, max) = explored(n, sides);
        let expected = recursion(n, sides.into());
        assert!((min - expected).abs() < 1e-12 * expected, "n = {n}, K = {sides}: {min} and {expected}");
        assert!((max - expected).abs() < 1e-12 * expected, "n = {n}, K = {sides}: {max} and {expected}");
    }
}

/// The mean over many simulated elections is within its confidence interval (99.9 %: the seeds are fixed, so it either
/// holds or does not) of the recursion. A round takes a lap of n ticks; the rest is the announcement's, another lap.
#[test]
fn the_mean_over_many_runs_agrees_with_the_recursion() {
    const RUNS: u64 = 1_000_000;
    for (n, sides) in [(2, 2), (3, 2), (3, 3), (4, 2), (4, 4)] {
        let mut request = ElectionSpec { nodes: Some(n), ..ElectionSpec::default() };
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut scenario = request.build::<ItaiRodeh>(&drawing_from(sides)).expect("a plain election").scenario;
        for seed in 0..RUNS {
            request.seed = seed;
            scenario.seed = seed;
            let outcome = simulate::<ItaiRodeh>(&drawing_from(sides), &scenario);
            let elected = outcome.time.elected.expect("all start, and nobody fails");
            let rounds = elected as f64 / f64::from(n);
            (sum, squares) = (sum + rounds, squares + rounds * rounds);
        }
        let mean = sum / RUNS as f64;
        let deviation = (squares / RUNS as f64 - mean * mean).sqrt() / (RUNS as f64).sqrt();
        let expected = recursion(n.into(), sides.into());
        assert!(
            (mean - expected).abs() < 3.29 * deviation,
            "n = {n}, K = {sides}: {mean} ± {deviation}, not {expected}"
        );
    }
}
