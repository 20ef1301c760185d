//! The tokens of an office only grow, and no two clients share one.
//!
//! For an exclusive office, every client that can act is told a greater token than all clients before it. A fenced
//! office moves at once, so a holder may learn of its own, older token *after* its successor did, for example because
//! its node was frozen in between. But its lease must have been requested before the successor was told, and is not
//! renewed after that. So no deadline of the older token is more than one lease later than that moment.

use std::collections::BTreeMap;

use super::{Rule, Tenure, Violation, longest_lease, milliseconds, seconds};
use crate::history::Scenario;

/// Checks tenures, given in the order in which clients were told.
pub(super) fn check(scenario: &Scenario, tenures: &[Tenure]) -> Vec<Violation> {
    let mut violations = shared(tenures);
    let mut greatest: BTreeMap<&str, &Tenure> = BTreeMap::new();
    for tenure in tenures.iter().filter(|tenure| tenure.lasted()) {
        let Some(last) = greatest.get(tenure.office.as_str()) else {
            greatest.insert(&tenure.office, tenure);
            continue;
        };
        if tenure.token > last.token {
            greatest.insert(&tenure.office, tenure);
        } else if tenure.exclusive && tenure.token < last.token {
            let what = format!(
                "{} was told token {} of the exclusive office `{}` after {} had been told token {}",
                tenure.client, tenure.token, tenure.office, last.client, last.token
            );
            violations.push(Violation { rule: Rule::Token, at: tenure.from, what });
        }
    }
    violations.extend(outlived(scenario, tenures));
    violations
}

/// Tokens that more than one client was told.
fn shared(tenures: &[Tenure]) -> Vec<Violation> {
    let mut owners: BTreeMap<(&str, u64), &str> = BTreeMap::new();
    let mut violations = Vec::new();
    for tenure in tenures {
        let owner = *owners.entry((&tenure.office, tenure.token)).or_insert(&tenure.client);
        if owner != tenure.client {
            let what = format!("{owner} and {} were told token {} of `{}`", tenure.client, tenure.token, tenure.office);
            violations.push(Violation { rule: Rule::Token, at: tenure.from, what });
        }
    }
    violations
}

/// Tenures that were requested or renewed after another client had been told a greater token.
fn outlived(scenario: &Scenario, tenures: &[Tenure]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut offices: BTreeMap<&str, Vec<&Tenure>> = BTreeMap::new();
    for tenure in tenures {
        offices.entry(&tenure.office).or_default().push(tenure);
    }
    for mut tenures in offices.into_values() {
        // From the greatest token down, to know for each token which client was first told a greater one.
        tenures.sort_by_key(|tenure| std::cmp::Reverse(tenure.token));
        let mut earliest: Option<&Tenure> = None;
        for same in tenures.chunk_by(|a, b| a.token == b.token) {
            if let Some(successor) = earliest {
                let latest = successor.from.saturating_add(longest_lease(scenario));
                let late = same.iter().filter(|tenure| tenure.deadline > latest);
                violations.extend(late.map(|tenure| renewed_late(scenario, tenure, successor)));
            }
            earliest = earliest.into_iter().chain(same.iter().copied()).min_by_key(|tenure| tenure.from);
        }
    }
    violations
}

fn renewed_late(scenario: &Scenario, tenure: &Tenure, successor: &Tenure) -> Violation {
    let what = format!(
        "{} may act with token {} of `{}` until {}, more than a lease ({}) after {} was told token {}",
        tenure.client,
        tenure.token,
        tenure.office,
        seconds(tenure.deadline),
        milliseconds(scenario.lease),
        successor.client,
        successor.token
    );
    Violation { rule: Rule::Token, at: successor.from, what }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::super::{Rule, check};

    #[test]
    fn reports_a_token_that_two_clients_were_told() {
        let history = with_recovery(&[acquired("n1", "x", 1, 10, 100), acquired("n2", "x", 1, 110, 150)]);
        assert_eq!(rules(&check(&history)), [Rule::Token]);
        let other_offices = with_recovery(&[acquired("n1", "x", 1, 10, 100), acquired("n2", "f", 1, 110, 150)]);
        assert_eq!(rules(&check(&other_offices)), []);
    }

    #[test]
    fn a_client_may_continue_with_its_token_until_there_is_a_greater_one() {
        let goes_on = |again| {
            with_recovery(&[
                acquired("n1", "f", 1, 10, 100),
                released("n1", "f", 1, 20),
                acquired("n1", "f", 1, 60, again),
                acquired("n2", "f", 2, 80, 180),
            ])
        };
        assert_eq!(rules(&check(&goes_on(80 + LEASE))), []);
        assert_eq!(rules(&check(&goes_on(81 + LEASE))), [Rule::Token]);
    }

    #[test]
    fn reports_an_old_token_after_a_newer_one_even_much_later() {
        let history = with_recovery(&[acquired("n1", "x", 7, 10, 100), acquired("n2", "x", 3, 110, 150)]);
        assert!(rules(&check(&history)).contains(&Rule::Token));
        // All nodes restarted and lost their tokens.
        let restarted = with_recovery(&[acquired("n1", "f", 7, 10, 100), acquired("n2", "f", 1, 100_000, 100_090)]);
        assert_eq!(rules(&check(&restarted)), [Rule::Token]);
    }

    #[test]
    fn a_fenced_holder_may_learn_late_of_its_old_token() {
        let late = with_recovery(&[acquired("n2", "f", 8, 50, 150), acquired("n1", "f", 7, 60, 140)]);
        assert_eq!(rules(&check(&late)), []);
        let exclusive = with_recovery(&[acquired("n2", "x", 8, 50, 55), acquired("n1", "x", 7, 60, 140)]);
        assert_eq!(rules(&check(&exclusive)), [Rule::Token]);
    }

    #[test]
    fn reports_a_fenced_holder_renewed_after_its_successor_was_told() {
        let history = |deadline| {
            with_recovery(&[
                acquired("n1", "f", 7, 10, 100),
                acquired("n2", "f", 8, 50, 150),
                renewed("n1", "f", 7, 70, deadline),
                acquired("n3", "f", 9, 70, 170),
            ])
        };
        assert_eq!(rules(&check(&history(50 + LEASE))), [], "requested before the next one was told");
        assert_eq!(rules(&check(&history(51 + LEASE))), [Rule::Token]);
    }
}
