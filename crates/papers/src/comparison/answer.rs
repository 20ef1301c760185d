//! The answer of a test, and how likely chance alone is to give it.

use super::plant::FAR;
use super::{Finding, ItemComparison, Verdict};
use crate::stats::{Estimate, proportion_p_value};

/// For rounding.
const TOLERANCE: f64 = 1e-9;

/// The probability that chance gives a wrong answer to any claim of a paper. A report of five papers is then wrong
/// with a probability of 5 % at most.
const LEVEL: f64 = 0.01;

/// Whether a condition holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Answer {
    /// Nothing was drawn at random, or the condition is about the runs themselves.
    Sure(bool),
    /// It depends on what was drawn.
    Chance {
        /// The answer of these runs.
        holds: bool,
        /// The probability of values so far from the threshold if the truth were on it.
        p: f64,
    },
}

pub(super) fn is_inside(value: f64, [from, to]: [f64; 2]) -> bool {
    from - TOLERANCE <= value && value <= to + TOLERANCE
}

impl Answer {
    /// Whether an estimate lies within bounds.
    pub(super) fn of(estimate: &Estimate, within: [f64; 2]) -> Answer {
        Answer::beyond(estimate.value, within, &|bound| estimate.p_value(bound))
    }

    /// Whether a probability lies within bounds, from the number of successes.
    pub(super) fn of_proportion(successes: usize, count: usize, within: [f64; 2]) -> Answer {
        Answer::beyond(successes as f64 / count as f64, within, &|bound| proportion_p_value(successes, count, bound))
    }

    fn beyond(value: f64, [from, to]: [f64; 2], p_value: &dyn Fn(f64) -> Option<f64>) -> Answer {
        let holds = is_inside(value, [from, to]);
        // The bound that decides: those on both sides for a value between them.
        let bounds = [from, to].into_iter().filter(|bound| bound.abs() < FAR);
        let deciding = bounds.filter(|bound| holds || *bound == if value < from { from } else { to });
        match deciding.filter_map(p_value).reduce(f64::max) {
            Some(p) => Answer::Chance { holds, p },
            None => Answer::Sure(holds),
        }
    }

    /// Whether the first of two samples is greater on average.
    pub(super) fn is_greater(difference: &Estimate, has_many: bool) -> Answer {
        let holds = difference.value > 0.0;
        match difference.p_value(0.0) {
            Some(p) => Answer::Chance { holds, p },
            // Two samples of random runs that are equal so far.
            None if has_many && difference.value == 0.0 => Answer::Chance { holds, p: 1.0 },
            None => Answer::Sure(holds),
        }
    }

    pub(super) const fn holds(self) -> bool {
        match self {
            Answer::Sure(holds) | Answer::Chance { holds, .. } => holds,
        }
    }

    pub(super) const fn chance(self) -> Option<f64> {
        match self {
            Answer::Sure(_) => None,
            Answer::Chance { p, .. } => Some(p),
        }
    }

    /// Whether several conditions hold together.
    pub(super) fn all(answers: &[Answer]) -> Answer {
        let failing: Vec<&Answer> = answers.iter().filter(|answer| !answer.holds()).collect();
        if failing.iter().any(|answer| answer.chance().is_none()) {
            return Answer::Sure(false);
        }
        match failing.iter().filter_map(|answer| answer.chance()).reduce(f64::min) {
            // One that fails is enough, and each of them may fail by chance.
            Some(p) => Answer::Chance { holds: false, p: (p * answers.len() as f64).min(1.0) },
            None => match answers.iter().filter_map(|answer| answer.chance()).reduce(f64::max) {
                Some(p) => Answer::Chance { holds: true, p },
                None => Answer::Sure(!answers.is_empty()),
            },
        }
    }
}

/// Makes claims undecided whose answer may be due to chance. The claims of a paper are a family: at 95 % each, one in
/// twenty would be wrong. Holm's procedure keeps the probability that any is wrong below the level.
pub(super) fn decide(items: &mut [ItemComparison]) {
    let findings = items.iter_mut().flat_map(|item| &mut item.findings);
    let mut random: Vec<&mut Finding> = findings.filter(|finding| finding.chance.is_some()).collect();
    random.sort_by(|a, b| a.chance.unwrap_or(1.0).total_cmp(&b.chance.unwrap_or(1.0)));
    let count = random.len();
    let is_decided = |(rank, p): (usize, f64)| p <= LEVEL / (count - rank) as f64;
    let decided =
        random.iter().enumerate().take_while(|(rank, one)| is_decided((*rank, one.chance.unwrap_or(1.0)))).count();
    for finding in random.into_iter().skip(decided) {
        finding.verdict = Verdict::Undecided;
        // A reason would be a fact, and nothing is known.
        finding.reasons.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, margin: f64) -> Estimate {
        Estimate { value, margin: Some(margin), freedom: 10 }
    }

    #[test]
    fn an_answer_is_as_sure_as_its_distance_from_the_bounds() {
        assert_eq!(Answer::of(&Estimate { margin: None, ..estimate(2.0, 0.0) }, [1.0, 3.0]), Answer::Sure(true));
        assert_eq!(Answer::of(&estimate(4.0, 0.0), [1.0, 3.0]), Answer::Sure(false));
        let p = |value: f64, within| Answer::of(&estimate(value, 1.0), within).chance().unwrap();
        // One margin away: 5 %.
        assert!((p(2.0, [1.0, 1e9]) - 0.05).abs() < 1e-6 && (p(0.0, [1.0, 1e9]) - 0.05).abs() < 1e-6);
        assert_eq!(p(2.0, [1.0, 2.5]), p(2.0, [1.5, 1e9]), "the nearer bound decides");
        assert!(!Answer::of(&estimate(0.0, 1.0), [1.0, 3.0]).holds());
        assert_eq!(p(0.0, [1.0, 3.0]), p(4.0, [1.0, 3.0]), "the bound that is missed decides");
        assert!(matches!(Answer::of_proportion(0, 2000, [0.0, 0.01]), Answer::Chance { holds: true, p } if p < 1e-4));
        assert!(matches!(Answer::of_proportion(0, 20, [0.0, 0.01]), Answer::Chance { holds: true, p } if p > 0.5));
    }

    #[test]
    fn conditions_hold_together_only_if_each_does() {
        let chance = |holds, p| Answer::Chance { holds, p };
        let cases: [(&[Answer], Answer); 6] = [
            (&[Answer::Sure(true), Answer::Sure(true)], Answer::Sure(true)),
            (&[Answer::Sure(true), Answer::Sure(false)], Answer::Sure(false)),
            (&[chance(true, 0.01), chance(true, 0.2)], chance(true, 0.2)),
            (&[chance(true, 0.01), chance(false, 0.2)], chance(false, 0.4)),
            (&[chance(false, 0.01), Answer::Sure(false)], Answer::Sure(false)),
            (&[], Answer::Sure(false)),
        ];
        for (answers, wanted) in cases {
            assert_eq!(Answer::all(answers), wanted, "{answers:?}");
        }
    }
}
