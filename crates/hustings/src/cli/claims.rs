//! What the catalogue claims of an algorithm, under which assumption, and what shows it.
//!
//! A claim is shown by the checks of the algorithm's description, or by the sweeps of the simulator, in which every
//! message takes one tick. A claim of the second kind says so: with other delays it may be false.

use hustings_algorithms::{About, Assumptions, Certainty, CheckCase, Synchrony};

/// The sweep of the simulator's tests that shows what algorithms survive.
const SWEEP: &str = "a sweep over every node and every tick, one tick a message (crates/sim/tests/sweeps.rs)";

/// The assumption of claims that only the sweep shows.
const ONE_TICK: &str = "if every message takes one tick";

/// A fault, the word for it, and whether the algorithm claims to survive it.
struct Tolerated {
    word: &'static str,
    is_claimed: bool,
    /// Whether a check is about this fault.
    is_in: fn(&str) -> bool,
}

impl Tolerated {
    fn new(word: &'static str, is_claimed: bool, is_in: fn(&str) -> bool) -> Self {
        Tolerated { word, is_claimed, is_in }
    }
}

fn tolerated(about: &About) -> [Tolerated; 4] {
    let tolerates = about.tolerates;
    [
        Tolerated::new("crashes", tolerates.crashes, |options| {
            options.contains("--crashes") && !options.contains("--recoveries")
        }),
        Tolerated::new("recoveries", tolerates.recoveries, |options| options.contains("--recoveries")),
        Tolerated::new("partitions", tolerates.partitions, |_| false),
        Tolerated::new("lost messages", tolerates.loss, |options| options.contains("lossy")),
    ]
}

/// The checks of an algorithm by itself, not in runs.
fn checks(about: &About) -> impl Iterator<Item = &'static CheckCase> {
    about.checks.iter().filter(|case| !case.options.contains("--runs"))
}

/// The checks without faults.
fn faultless_checks(about: &About) -> impl Iterator<Item = &'static CheckCase> {
    let has_faults = |options: &str| ["--crashes", "lossy", "duplicating"].iter().any(|word| options.contains(word));
    checks(about).filter(move |case| !has_faults(case.options))
}

fn command(about: &About, case: &CheckCase) -> String {
    format!("`hustings check {} {}`", about.name, case.options)
}

/// The assumption about links and delays under which the checks explore all executions.
fn delays(assumptions: Assumptions) -> String {
    let delays = match assumptions.synchrony {
        Synchrony::Asynchronous => "any delays",
        Synchrony::Synchronous => "delays within the bound",
    };
    if assumptions.fifo { format!("{delays}, FIFO links") } else { delays.to_string() }
}

/// Whether it is always right, and always ends, and when.
pub(crate) fn answer(about: &About) -> String {
    let certainty = match about.certainty {
        Certainty::Always => "always right, always ends",
        Certainty::LasVegas => "always right, ends with probability 1",
        Certainty::MonteCarlo => "always ends, right with high probability",
    };
    format!("{certainty} (without faults; {})", delays(about.assumptions))
}

/// What it survives without help. With `--runs` every elector survives crashes, recoveries and partitions.
pub(crate) fn survives(about: &About) -> String {
    let tolerates = about.tolerates;
    let words: Vec<String> = tolerated(about)
        .into_iter()
        .filter(|fault| fault.is_claimed)
        .map(|fault| {
            let is_checked = checks(about).any(|case| (fault.is_in)(case.options));
            let assumption = if is_checked { delays(about.assumptions) } else { ONE_TICK.to_string() };
            format!("{} ({assumption})", fault.word)
        })
        .collect();
    match (words.join(", "), tolerates.with.join(" -p ")) {
        (words, _) if words.is_empty() && tolerates.down => {
            format!("nodes that are down from the start ({ONE_TICK}), nothing later")
        }
        (words, _) if words.is_empty() => "nothing: all nodes must be up, and stay so".to_string(),
        (words, with) if with.is_empty() => words,
        (words, with) => format!("{words}, with -p {with}"),
    }
}

/// What shows these claims: commands, and the sweep if a claim needs it.
pub(crate) fn evidence(about: &About) -> Vec<String> {
    let mut shown: Vec<String> = faultless_checks(about).map(|case| command(about, case)).collect();
    let mut needs_sweep = about.tolerates.down;
    for fault in tolerated(about).into_iter().filter(|fault| fault.is_claimed) {
        let before = shown.len();
        shown.extend(checks(about).filter(|case| (fault.is_in)(case.options)).map(|case| command(about, case)));
        needs_sweep |= shown.len() == before;
    }
    if needs_sweep {
        shown.push(SWEEP.to_string());
    }
    shown
}

#[cfg(test)]
mod tests {
    use hustings_algorithms::catalogue::ENTRIES;

    use super::*;

    /// Every claim is tied to something that a test runs: a check of the description, whose quick rows are compared
    /// with docs/checking.md and must hold, or the sweep.
    #[test]
    fn every_claim_has_evidence() {
        for entry in ENTRIES {
            let about = &entry.about;
            let shown = evidence(about);
            assert!(faultless_checks(about).next().is_some(), "{}: nothing shows that it is right", about.name);
            for fault in tolerated(about).into_iter().filter(|fault| fault.is_claimed) {
                let is_checked = checks(about).any(|case| (fault.is_in)(case.options));
                let says_one_tick = survives(about).contains(&format!("{} ({ONE_TICK})", fault.word));
                assert!(is_checked != says_one_tick, "{}: {}", about.name, fault.word);
                assert!(is_checked || shown.iter().any(|one| one == SWEEP), "{}: {}", about.name, fault.word);
            }
        }
    }

    /// `hustings check bully --crashes 1 --recoveries 1` finds two leaders, so this must not be claimed for all delays.
    #[test]
    fn recoveries_are_claimed_for_unit_delays_only() {
        for name in ["bully", "improved-bully", "campaigner"] {
            let entry = ENTRIES.iter().find(|entry| entry.about.name == name).expect("it is in the catalogue");
            let survives = survives(&entry.about);
            assert!(survives.contains("recoveries (if every message takes one tick)"), "{name}: {survives}");
            assert!(survives.contains("crashes (delays within the bound)"), "{name}: {survives}");
        }
    }
}
