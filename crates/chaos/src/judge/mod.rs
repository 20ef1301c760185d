//! The judge: reads a record and says what must not have happened.
//!
//! It knows nothing of how a cluster works. It believes what clients were told and when, and nothing else:
//!
//! - [`leases`]: two never held an exclusive office at once.
//! - [`tokens`]: tokens of an office only grow, and nobody shares one.
//! - [`writes`]: the fenced store never took an old token after a newer one.
//! - [`reads`]: nobody was shown as the current holder who had been followed by somebody else.
//! - [`calm`]: once nothing is broken any more, the right one leads in time, and everybody says so.

mod calm;
mod claims;
mod gaps;
mod leases;
mod reads;
mod tokens;
mod writes;

#[cfg(test)]
mod stories;

use std::fmt;

use crate::history::{Event, Facts};

pub(crate) use claims::{Claim, collect};

/// A rule that a record can break.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Rule {
    /// Two held an exclusive office at once.
    Overlap,
    /// A token did not grow, or was given twice.
    Token,
    /// The store took an old token after a newer one.
    Write,
    /// A holder was shown as current who was not any more.
    Read,
    /// In the calm the right one did not lead in time, or not everybody said so.
    Calm,
    /// The record contradicts itself, or lacks what must be judged.
    Record,
}

impl Rule {
    /// All of them, the worst first.
    pub(crate) const ALL: [Rule; 6] = [Rule::Overlap, Rule::Token, Rule::Write, Rule::Read, Rule::Calm, Rule::Record];
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Overlap => "overlap",
            Rule::Token => "token",
            Rule::Write => "write",
            Rule::Read => "read",
            Rule::Calm => "calm",
            Rule::Record => "record",
        })
    }
}

/// Something that must not have happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Violation {
    /// Which rule it breaks.
    pub(crate) rule: Rule,
    /// When.
    pub(crate) at: u64,
    /// What, in a sentence.
    pub(crate) what: String,
}

/// What is known after reading a record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Verdict {
    /// What must not have happened, in the order of time.
    pub(crate) violations: Vec<Violation>,
    /// Why not everything could be checked: the machine stalled.
    pub(crate) inconclusive: Option<String>,
    /// How many claims there were.
    pub(crate) claims: u64,
    /// Of these, those with a token that was the greatest of its office when it was told: a new holder.
    pub(crate) successions: u64,
    /// Writes that the store took.
    pub(crate) writes: u64,
    /// Writes that it refused.
    pub(crate) refused: u64,
    /// Answers to the question who leads.
    pub(crate) reads: u64,
    /// Calms that were long enough to be judged.
    pub(crate) calms: u64,
    /// How often the machine itself stood still, and the longest time, in nanoseconds.
    pub(crate) stalls: (u64, u64),
    /// The longest time nobody held an office while a majority was well, in nanoseconds: with the office and the
    /// moment at which it began.
    pub(crate) longest_gap: Option<(u64, String, u64)>,
}

/// Judges a record.
pub(crate) fn judge(events: &[Event]) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(Event::Facts(facts)) = events.first() else {
        let what = "the record does not begin with its facts".to_string();
        verdict.violations.push(Violation { rule: Rule::Record, at: 0, what });
        return verdict;
    };
    let (claims, mut violations) = collect(events);
    verdict.claims = claims.len() as u64;
    if facts.arbiter {
        violations.extend(leases::judge(&claims));
        violations.extend(tokens::judge(facts, &claims));
        violations.extend(writes::judge(events, &claims));
        violations.extend(reads::judge(events, &claims));
    }
    let (calms, problems) = calm::judge(facts, events, &claims);
    violations.extend(problems);
    if calms == 0 {
        let what = "no calm lasted long enough to be judged".to_string();
        match events.iter().any(|event| matches!(event, Event::Stall { .. })) {
            // The machine's fault, not the nodes'.
            true => verdict.inconclusive = Some(format!("{what}: the machine stalled")),
            false => violations.push(Violation { rule: Rule::Record, at: 0, what }),
        }
    }
    violations.sort_by_key(|violation| (violation.at, violation.rule));
    verdict.violations = violations;
    verdict.calms = calms;
    count(events, &claims, &mut verdict);
    verdict.longest_gap = gaps::longest(facts, events, &claims);
    verdict
}

fn count(events: &[Event], claims: &[Claim], verdict: &mut Verdict) {
    for event in events {
        match event {
            Event::Wrote { accepted: true, .. } => verdict.writes += 1,
            Event::Wrote { accepted: false, .. } => verdict.refused += 1,
            Event::Read { .. } => verdict.reads += 1,
            Event::Stall { from, at } => {
                verdict.stalls = (verdict.stalls.0 + 1, verdict.stalls.1.max(at.saturating_sub(*from)));
            }
            _ => {}
        }
    }
    let mut greatest = std::collections::BTreeMap::new();
    for claim in claims {
        let last = greatest.entry(claim.office.as_str()).or_insert(0);
        if claim.token > *last {
            *last = claim.token;
            verdict.successions += 1;
        }
    }
}

/// A moment for people: seconds since the first claim's second would be nicer, but the record has these.
fn seconds(moment: u64) -> String {
    format!("{}.{:06}", moment / 1_000_000_000, moment / 1000 % 1_000_000)
}

/// A length of time for people.
fn milliseconds(nanoseconds: u64) -> String {
    format!("{}.{:03} ms", nanoseconds / 1_000_000, nanoseconds / 1000 % 1000)
}

/// How long a lease can last on the slowest clock, as the fastest sees it.
fn longest_lease(facts: &Facts) -> u64 {
    facts.lease.saturating_add(facts.lease / 1_000_000 * u64::from(facts.drift_ppm))
}

#[cfg(test)]
mod tests {
    use super::stories::*;
    use super::*;

    #[test]
    fn a_record_without_facts_is_no_record() {
        assert_eq!(judge(&[]).violations.len(), 1);
        assert_eq!(judge(&[Event::Calm { at: 1 }]).violations[0].rule, Rule::Record);
    }

    #[test]
    fn a_good_story_passes_every_rule_and_is_counted() {
        let verdict = judge(&good_story());
        assert_eq!(verdict.violations, []);
        assert_eq!((verdict.claims, verdict.successions), (4, 4));
        assert_eq!((verdict.writes, verdict.refused), (2, 1));
        assert_eq!((verdict.reads, verdict.calms), (6, 1));
        assert_eq!(verdict.longest_gap, Some((20, "x".to_string(), 80)));
    }

    #[test]
    fn without_an_arbiter_only_calm_is_judged() {
        let mut facts = facts();
        facts.arbiter = false;
        let overlapping = [claimed("n1", "x", 7, 10, 100), claimed("n2", "x", 7, 50, 150)];
        let mut story = vec![Event::Facts(facts)];
        story.extend(overlapping);
        story.extend(calm_at(200, &["n1", "n2", "n3"], Some("n1"), 7, 3));
        let found = judge(&story).violations;
        assert!(!found.is_empty() && found.iter().all(|violation| violation.rule == Rule::Calm), "{found:?}");
    }

    #[test]
    fn moments_are_shown_in_units() {
        assert_eq!(seconds(1_234_567_890), "1.234567");
        assert_eq!(milliseconds(12_345_678), "12.345 ms");
        assert_eq!(longest_lease(&Facts { lease: 5_000_000_000, drift_ppm: 10_000, ..facts() }), 5_050_000_000);
    }
}
