//! The result of a run, as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::experiment::Outcome;
use super::judge::{Verdict, Violation};
use super::options::ExclusionOptions;
use crate::conclusion::Conclusion;

/// How many violations are printed in full.
const MAX_PRINTED: usize = 10;

/// The result of a run.
pub(crate) struct Report<'a> {
    /// The options of the run.
    pub(crate) options: &'a ExclusionOptions,
    /// What the experiment did.
    pub(crate) outcome: &'a Outcome,
    /// What the judge found.
    pub(crate) verdict: &'a Verdict,
}

impl Report<'_> {
    /// How the run ends.
    pub(crate) fn conclusion(&self) -> Conclusion {
        let is_stalled = (self.too_few().is_some() && self.outcome.stalls.0 > 0) || !self.excused().is_empty();
        Conclusion::new(self.violations().len(), self.outcome.is_interrupted, is_stalled)
    }

    /// Overlaps that a stall of the machine itself explains. Then all three killers were frozen at once, which nothing
    /// but the token protects from, so these say nothing about the program.
    fn excused(&self) -> Vec<&Violation> {
        self.verdict
            .violations
            .iter()
            .filter(|violation| violation.is_explained_by(&self.outcome.stall_times))
            .collect()
    }

    /// What the judge found, and what the experiment noticed.
    fn violations(&self) -> Vec<String> {
        let excused = self.excused();
        let found = self.verdict.violations.iter().filter(|violation| !excused.contains(violation));
        let found = found.map(ToString::to_string);
        let mut violations: Vec<String> = found.chain(self.outcome.problems.iter().cloned()).collect();
        // A machine that stalls is no fault of the program.
        violations.extend(self.too_few().filter(|_| self.outcome.stalls.0 == 0 && !self.outcome.is_interrupted));
        violations
    }

    /// Says so if the run shows too little, because leadership did not change often enough.
    fn too_few(&self) -> Option<String> {
        let (changes, required) = (self.verdict.changes(), self.options.required_changes());
        (changes < required).then(|| format!("leadership changed {changes} times, but {required} times are required"))
    }

    /// The report as text.
    pub(crate) fn text(&self) -> String {
        let (outcome, verdict) = (self.outcome, self.verdict);
        let faults: Vec<String> =
            outcome.faults.iter().map(|(kind, count)| format!("{} {count}", kind.name())).collect();
        let milliseconds = |length: u64| format!("{:.1} ms", length as f64 / 1e6);
        let gap = |percent| verdict.gap(percent).map_or("none".to_string(), milliseconds);
        let violations = self.violations();
        let lines = [
            ("seed", self.options.seed.to_string()),
            ("faults", format!("{}: {}", outcome.faults.values().sum::<u64>(), faults.join(", "))),
            ("faults skipped because of others", outcome.skipped.to_string()),
            ("changes of leadership", format!("{}, {} of them to another host", verdict.changes(), verdict.moves)),
            ("time between tenures", format!("p50 {}, p99 {}, max {}", gap(50), gap(99), gap(100))),
            ("`run` gave up because its node was gone", outcome.gave_up.to_string()),
            ("stalls of the machine", format!("{}, the longest {}", outcome.stalls.0, milliseconds(outcome.stalls.1))),
            ("overlaps while the machine stalled", self.excused().len().to_string()),
            ("violations", violations.len().to_string()),
            ("conclusion", self.conclusion().name().to_string()),
        ];
        let mut text = String::new();
        for (name, value) in lines {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name}: {value}");
        }
        for violation in violations.iter().take(MAX_PRINTED) {
            let _ = writeln!(text, "  {violation}");
        }
        for excused in self.excused().into_iter().take(MAX_PRINTED) {
            let _ = writeln!(text, "  while the machine stalled: {excused}");
        }
        if let Some(why) = self.too_few().filter(|_| self.conclusion() == Conclusion::Inconclusive) {
            let _ = writeln!(text, "  {why}");
        }
        if self.conclusion() != Conclusion::Passed {
            let _ = writeln!(text, "replay: {}", self.options.replay());
        }
        text
    }

    /// The report as JSON.
    pub(crate) fn json(&self) -> Value {
        let (outcome, verdict) = (self.outcome, self.verdict);
        let faults: serde_json::Map<String, Value> =
            outcome.faults.iter().map(|(kind, count)| (kind.name(), json!(count))).collect();
        json!({
            "seed": self.options.seed,
            "minutes": self.options.minutes,
            "nodes": self.options.nodes,
            "max_frozen": self.options.max_frozen,
            "faults": faults,
            "faults_skipped": outcome.skipped,
            "changes": verdict.changes(),
            "moves": verdict.moves,
            "gap_ns": { "p50": verdict.gap(50), "p99": verdict.gap(99), "max": verdict.gap(100) },
            "gave_up": outcome.gave_up,
            "machine_stalls": outcome.stalls.0,
            "longest_machine_stall_ns": outcome.stalls.1,
            "overlaps_while_stalled": self.excused().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "violations": self.violations(),
            "inconclusive": self.too_few().filter(|_| self.conclusion() == Conclusion::Inconclusive),
            "interrupted": outcome.is_interrupted,
            "conclusion": self.conclusion().name(),
            "replay": self.options.replay(),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::judge::{Tenure, judge};
    use super::*;
    use crate::options::{Command, Options};

    fn options(words: &[&str]) -> ExclusionOptions {
        match Options::try_parse_from(["hustings-chaos", "run"].iter().chain(words)).expect("understood").command {
            Some(Command::Run(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    fn tenures(count: u64) -> Vec<Tenure> {
        let tenure = |token| Tenure { host: "n1".to_string(), token, first: token * 100, last: token * 100 + 50 };
        (1..=count).map(tenure).collect()
    }

    #[test]
    fn too_few_changes_are_excused_only_by_a_stall() {
        let options = options(&["--min-changes", "3"]);
        let stalled = Outcome { stalls: (1, 70_000_000), ..Outcome::default() };
        let conclude = |outcome: &Outcome, count| {
            let verdict = judge(&tenures(count));
            let report = Report { options: &options, outcome, verdict: &verdict };
            assert_eq!(report.json()["conclusion"], report.conclusion().name());
            assert_eq!(report.text().contains("\nreplay: "), report.conclusion() != Conclusion::Passed);
            report.conclusion()
        };
        assert_eq!(conclude(&Outcome::default(), 4), Conclusion::Passed);
        assert_eq!(conclude(&Outcome::default(), 3), Conclusion::Violation);
        assert_eq!(conclude(&stalled, 3), Conclusion::Inconclusive);
        assert_eq!(conclude(&stalled, 4), Conclusion::Passed);
        let interrupted = Outcome { is_interrupted: true, ..Outcome::default() };
        assert_eq!(conclude(&interrupted, 1), Conclusion::CouldNotRun);
    }

    #[test]
    fn an_overlap_is_printed_even_if_the_machine_stalled() {
        let options = options(&["--min-changes", "0"]);
        let mut tenures = tenures(2);
        tenures[0].last = 1_000;
        let outcome = Outcome { stalls: (9, 900_000_000), is_interrupted: true, ..Outcome::default() };
        let verdict = judge(&tenures);
        let report = Report { options: &options, outcome: &outcome, verdict: &verdict };
        assert_eq!(report.conclusion(), Conclusion::Violation);
        assert!(report.text().contains("  overlap at 200: n1 started with token 2 while"), "{}", report.text());
        // Only a stall at that very time makes it inconclusive: then all three killers were frozen.
        for (stall, conclusion) in [((150, 250), Conclusion::Inconclusive), ((1_000, 2_000), Conclusion::Violation)] {
            let outcome = Outcome { stalls: (1, 70_000_000), stall_times: vec![stall], ..Outcome::default() };
            let report = Report { options: &options, outcome: &outcome, verdict: &verdict };
            assert_eq!(report.conclusion(), conclusion);
            assert!(report.text().contains("overlap at 200"), "{}", report.text());
        }
    }
}
