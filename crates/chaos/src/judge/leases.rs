//! Two never held an exclusive office at once.

use std::collections::BTreeMap;

use super::{Claim, Rule, Violation, milliseconds, seconds};

/// Claims in the order in which they were told.
pub(super) fn judge(claims: &[Claim]) -> Vec<Violation> {
    let mut violations = Vec::new();
    // For each office, of the claims so far the one that lasts longest: whoever overlaps any of them overlaps it.
    let mut longest: BTreeMap<&str, &Claim> = BTreeMap::new();
    for claim in claims.iter().filter(|claim| claim.exclusive && claim.lasted()) {
        if let Some(before) = longest.get(claim.office.as_str())
            && before.end() > claim.from
        {
            let overlap = before.end().min(claim.end()) - claim.from;
            let what = format!(
                "{} held the exclusive office `{}` with token {} until {} when {} was told that it holds it with \
                 token {}: both for {}",
                before.client,
                claim.office,
                before.token,
                seconds(before.end()),
                claim.client,
                claim.token,
                milliseconds(overlap)
            );
            violations.push(Violation { rule: Rule::Overlap, at: claim.from, what });
        }
        let last = longest.entry(&claim.office).or_insert(claim);
        if claim.end() > last.end() {
            *last = claim;
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::stories::*;
    use super::super::{Rule, judge};

    #[test]
    fn two_at_once_are_found() {
        let story = told(&[claimed("n1", "x", 1, 10, 100), claimed("n2", "x", 2, 99, 150)]);
        assert_eq!(rules(&judge(&story)), [Rule::Overlap]);
    }

    #[test]
    fn one_after_the_other_is_well() {
        let story = told(&[claimed("n1", "x", 1, 10, 100), claimed("n2", "x", 2, 100, 150)]);
        assert_eq!(rules(&judge(&story)), []);
        let handed_over =
            told(&[claimed("n1", "x", 1, 10, 100), ended("n1", "x", 1, 40), claimed("n2", "x", 2, 41, 150)]);
        assert_eq!(rules(&judge(&handed_over)), []);
    }

    #[test]
    fn a_renewal_that_outlives_the_next_claim_is_found() {
        let story =
            told(&[claimed("n1", "x", 1, 10, 100), until("n1", "x", 1, 60, 160), claimed("n2", "x", 2, 120, 220)]);
        assert_eq!(rules(&judge(&story)), [Rule::Overlap]);
    }

    #[test]
    fn a_long_claim_is_compared_with_all_that_follow() {
        // The second is told too late to act; the third is not.
        let story =
            told(&[claimed("n1", "x", 1, 10, 100), claimed("n2", "x", 2, 50, 50), claimed("n3", "x", 3, 60, 90)]);
        assert_eq!(rules(&judge(&story)), [Rule::Overlap]);
    }

    #[test]
    fn fenced_offices_and_different_offices_may_overlap() {
        let story = told(&[
            claimed("n1", "f", 1, 10, 100),
            claimed("n2", "f", 2, 50, 150),
            claimed("n1", "x", 1, 20, 110),
            claimed("n1", "leader", 1, 20, 110),
        ]);
        assert_eq!(rules(&judge(&story)), []);
    }
}
