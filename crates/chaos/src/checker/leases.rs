//! Tenures of an exclusive office never overlap.

use std::collections::BTreeMap;

use super::{Rule, Tenure, Violation, milliseconds, seconds};

/// Checks tenures, given in the order in which clients were told.
pub(super) fn check(tenures: &[Tenure]) -> Vec<Violation> {
    let mut violations = Vec::new();
    // For each office the tenure that ends last so far: a tenure that overlaps any earlier one overlaps it.
    let mut longest: BTreeMap<&str, &Tenure> = BTreeMap::new();
    for tenure in tenures.iter().filter(|tenure| tenure.exclusive && tenure.lasted()) {
        if let Some(before) = longest.get(tenure.office.as_str())
            && before.end() > tenure.from
        {
            let overlap = before.end().min(tenure.end()) - tenure.from;
            let what = format!(
                "{} held the exclusive office `{}` with token {} until {} when {} was told that it holds it with \
                 token {}: both for {}",
                before.client,
                tenure.office,
                before.token,
                seconds(before.end()),
                tenure.client,
                tenure.token,
                milliseconds(overlap)
            );
            violations.push(Violation { rule: Rule::Overlap, at: tenure.from, what });
        }
        let last = longest.entry(&tenure.office).or_insert(tenure);
        if tenure.end() > last.end() {
            *last = tenure;
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::super::{Rule, check};

    #[test]
    fn reports_two_holders_at_once() {
        let history = with_recovery(&[acquired("n1", "x", 1, 10, 100), acquired("n2", "x", 2, 99, 150)]);
        assert_eq!(rules(&check(&history)), [Rule::Overlap]);
    }

    #[test]
    fn accepts_one_holder_after_the_other() {
        let history = with_recovery(&[acquired("n1", "x", 1, 10, 100), acquired("n2", "x", 2, 100, 150)]);
        assert_eq!(rules(&check(&history)), []);
        let handed_over = with_recovery(&[
            acquired("n1", "x", 1, 10, 100),
            released("n1", "x", 1, 40),
            acquired("n2", "x", 2, 41, 150),
        ]);
        assert_eq!(rules(&check(&handed_over)), []);
    }

    #[test]
    fn reports_a_renewal_beyond_the_next_tenure() {
        let history = with_recovery(&[
            acquired("n1", "x", 1, 10, 100),
            renewed("n1", "x", 1, 60, 160),
            acquired("n2", "x", 2, 120, 220),
        ]);
        assert_eq!(rules(&check(&history)), [Rule::Overlap]);
    }

    #[test]
    fn compares_a_long_tenure_with_all_that_follow() {
        // The second client is told too late to act; the third is not.
        let history = with_recovery(&[
            acquired("n1", "x", 1, 10, 100),
            acquired("n2", "x", 2, 50, 50),
            acquired("n3", "x", 3, 60, 90),
        ]);
        assert_eq!(rules(&check(&history)), [Rule::Overlap]);
    }

    #[test]
    fn fenced_offices_and_different_offices_may_overlap() {
        let history = with_recovery(&[
            acquired("n1", "f", 1, 10, 100),
            acquired("n2", "f", 2, 50, 150),
            acquired("n1", "x", 1, 20, 110),
            acquired("n1", "leader", 1, 20, 110),
        ]);
        assert_eq!(rules(&check(&history)), []);
    }
}
