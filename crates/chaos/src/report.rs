//! The result of a run, as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::checker::{Rule, Verdict};
use crate::conclusion::Conclusion;
use crate::options::Run;
use crate::runner::Outcome;

/// How many violations of a rule are printed in full.
const MAX_PRINTED: usize = 5;

/// The result of a run.
pub(crate) struct Report<'a> {
    /// The options of the run.
    pub(crate) run: &'a Run,
    /// What the runner did.
    pub(crate) outcome: &'a Outcome,
    /// What the checker found.
    pub(crate) verdict: &'a Verdict,
}

impl Report<'_> {
    /// How the run ends.
    pub(crate) fn conclusion(&self) -> Conclusion {
        let violations = self.verdict.violations.len() + self.outcome.problems.len();
        Conclusion::new(violations, self.outcome.interrupted, self.inconclusive().is_some())
    }

    /// Why not everything could be checked.
    fn inconclusive(&self) -> Option<&str> {
        self.verdict.inconclusive.as_deref().or(self.outcome.stalled.as_deref())
    }

    /// The report as text.
    pub(crate) fn text(&self) -> String {
        let (outcome, verdict) = (self.outcome, self.verdict);
        let mut text = String::new();
        let faults: Vec<String> = outcome.faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let total: u64 = outcome.faults.values().sum();
        let gap = match &verdict.longest_gap {
            Some((length, office, _)) => format!("{:.1} ms (office {office})", *length as f64 / 1e6),
            None => "none".to_string(),
        };
        let lines = [
            ("seed", self.run.seed.to_string()),
            ("faults", format!("{total}: {}", faults.join(", "))),
            ("elections", format!("{} terms of the arbiter, {} new holders", outcome.terms, verdict.new_holders)),
            ("tenures", verdict.tenures.to_string()),
            ("writes", format!("{} accepted, {} refused", verdict.writes, verdict.refused)),
            ("reads", verdict.reads.to_string()),
            ("states", format!("{} stored, {} read", verdict.states.0, verdict.states.1)),
            ("recoveries checked", verdict.recoveries.to_string()),
            (
                "stalls of the machine",
                format!("{}, the longest {:.1} ms", verdict.stalls.0, verdict.stalls.1 as f64 / 1e6),
            ),
            ("longest time without a holder while a majority was healthy", gap),
            ("violations", (verdict.violations.len() + outcome.problems.len()).to_string()),
            ("conclusion", self.conclusion().name().to_string()),
        ];
        for (name, value) in lines {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name}: {value}");
        }
        for rule in Rule::ALL {
            let found: Vec<_> = verdict.violations.iter().filter(|violation| violation.rule == rule).collect();
            if found.len() > MAX_PRINTED {
                let _ = writeln!(text, "  {rule}: {} violations, the first {MAX_PRINTED} are", found.len());
            }
            for violation in found.into_iter().take(MAX_PRINTED) {
                let _ = writeln!(text, "  {rule} at {}: {}", violation.at, violation.what);
            }
        }
        for problem in outcome.problems.iter().take(MAX_PRINTED) {
            let _ = writeln!(text, "  {problem}");
        }
        if let Some(why) = self.inconclusive() {
            let _ = writeln!(text, "  {why}");
        }
        if self.conclusion() != Conclusion::Passed {
            let _ = writeln!(text, "replay: {}", self.run.replay());
        }
        text
    }

    /// The report as JSON.
    pub(crate) fn json(&self) -> Value {
        let (outcome, verdict) = (self.outcome, self.verdict);
        let faults: serde_json::Map<String, Value> =
            outcome.faults.iter().map(|(kind, count)| (kind.name().to_string(), json!(count))).collect();
        let violations: Vec<Value> = verdict
            .violations
            .iter()
            .map(|found| json!({"rule": found.rule.to_string(), "at": found.at, "what": found.what}))
            .collect();
        json!({
            "seed": self.run.seed,
            "minutes": self.run.minutes,
            "nodes": self.run.nodes,
            "faults": faults,
            "terms": outcome.terms,
            "tenures": verdict.tenures,
            "new_holders": verdict.new_holders,
            "writes_accepted": verdict.writes,
            "writes_refused": verdict.refused,
            "reads": verdict.reads,
            "states_stored": verdict.states.0,
            "states_read": verdict.states.1,
            "recoveries_checked": verdict.recoveries,
            "machine_stalls": verdict.stalls.0,
            "longest_machine_stall_ns": verdict.stalls.1,
            "longest_gap_ns": verdict.longest_gap.as_ref().map(|(length, _, _)| length),
            "violations": violations,
            "problems": outcome.problems,
            "interrupted": outcome.interrupted,
            "inconclusive": self.inconclusive(),
            "conclusion": self.conclusion().name(),
            "replay": self.run.replay(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::Violation;
    use crate::options::Options;
    use crate::schedule::FaultKind;
    use clap::Parser;

    #[test]
    fn a_violation_is_printed_with_the_command_that_replays_the_run() {
        let run = Options::try_parse_from(["hustings-chaos", "--seed", "9"]).expect("understood").run;
        let mut outcome = Outcome::default();
        outcome.faults.extend([(FaultKind::Kill, 3), (FaultKind::Slow, 1)]);
        let mut verdict = Verdict { longest_gap: Some((1_500_000, "x".to_string(), 7)), ..Verdict::default() };
        let report = |outcome: &Outcome, verdict: &Verdict| {
            let report = Report { run: &run, outcome, verdict };
            (report.conclusion(), report.text(), report.json())
        };
        let (conclusion, text, json) = report(&outcome, &verdict);
        assert!(conclusion == Conclusion::Passed && !text.contains("replay:"), "{text}");
        assert!(text.ends_with("conclusion: passed\n"), "{text}");
        assert!(text.contains("faults: 4: kill 3, slow 1\n") && text.contains("1.5 ms (office x)"), "{text}");
        assert_eq!((&json["faults"]["kill"], &json["longest_gap_ns"]), (&json!(3), &json!(1_500_000)));

        let violation = Violation { rule: Rule::Overlap, at: 5, what: "two at once".to_string() };
        verdict.violations.push(violation);
        let (conclusion, text, json) = report(&outcome, &verdict);
        assert!(conclusion == Conclusion::Violation && text.contains("overlap at 5: two at once\n"), "{text}");
        assert!(text.ends_with(
            "replay: hustings-chaos --seed 9 --minutes 1 --nodes 5 --clients 2 --http-clients 1 --network proxy\n"
        ));
        assert_eq!(json["violations"][0]["rule"], "overlap");

        outcome.problems.push("n1 ended".to_string());
        assert_eq!(report(&outcome, &Verdict::default()).0, Conclusion::Violation);
    }

    #[test]
    fn a_stalled_machine_makes_a_run_inconclusive_unless_something_was_violated() {
        let run = Options::try_parse_from(["hustings-chaos"]).expect("understood").run;
        let stalled = Outcome { stalled: Some("too slow".to_string()), ..Outcome::default() };
        let unchecked = Verdict { inconclusive: Some("nothing checked".to_string()), ..Verdict::default() };
        let conclude = |outcome: &Outcome, verdict: &Verdict| Report { run: &run, outcome, verdict }.conclusion();
        assert_eq!(conclude(&stalled, &Verdict::default()), Conclusion::Inconclusive);
        assert_eq!(conclude(&Outcome::default(), &unchecked), Conclusion::Inconclusive);
        let text = Report { run: &run, outcome: &Outcome::default(), verdict: &unchecked }.text();
        assert!(text.contains("conclusion: inconclusive\n  nothing checked\nreplay: "), "{text}");
        let interrupted = Outcome { interrupted: true, ..stalled.clone() };
        assert_eq!(conclude(&interrupted, &unchecked), Conclusion::CouldNotRun);
        let violation = Violation { rule: Rule::Token, at: 5, what: "shared".to_string() };
        let violated = Verdict { violations: vec![violation], ..unchecked };
        assert_eq!(conclude(&interrupted, &violated), Conclusion::Violation);
    }
}
