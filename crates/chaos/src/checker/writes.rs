//! The fenced store never accepts an old token after a newer one, nor a token from a client that was not told it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Rule, Tenure, Violation};
use crate::history::Event;

/// Checks the writes of a history, in the store's own order.
pub(super) fn check(events: &[Event], tenures: &[Tenure]) -> Vec<Violation> {
    let given: BTreeSet<(&str, &str, u64)> =
        tenures.iter().map(|tenure| (tenure.client.as_str(), tenure.office.as_str(), tenure.token)).collect();
    let mut writes: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Write { number, client, office, token, accepted: true, at } => {
                Some((*number, client, office, *token, *at))
            }
            _ => None,
        })
        .collect();
    writes.sort_unstable();
    let mut violations = Vec::new();
    let mut greatest: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, client, office, token, at) in writes {
        let last = greatest.entry(office).or_insert(0);
        if token < *last {
            let what = format!("the store accepted token {token} of `{office}` from {client} after token {last}");
            violations.push(Violation { rule: Rule::Write, at, what });
        }
        *last = token.max(*last);
        if !given.contains(&(client.as_str(), office.as_str(), token)) {
            let what = format!("{client} wrote with token {token} of `{office}`, which it was never told");
            violations.push(Violation { rule: Rule::Write, at, what });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::super::{Rule, check};

    #[test]
    fn reports_an_old_token_that_the_store_accepted() {
        let history = |taken| {
            with_recovery(&[
                acquired("n1", "f", 1, 10, 100),
                acquired("n2", "f", 2, 50, 150),
                write(1, "n1", "f", 1, true, 20),
                write(2, "n2", "f", 2, true, 60),
                write(3, "n1", "f", 1, taken, 61),
                write(4, "n2", "f", 2, true, 62),
            ])
        };
        assert_eq!(rules(&check(&history(false))), []);
        assert_eq!(rules(&check(&history(true))), [Rule::Write]);
    }

    #[test]
    fn reports_a_write_with_a_token_that_the_client_was_not_told() {
        let history = with_recovery(&[acquired("n1", "f", 1, 10, 100), write(1, "n2", "f", 1, true, 20)]);
        assert_eq!(rules(&check(&history)), [Rule::Write]);
    }

    #[test]
    fn orders_writes_by_the_store_and_not_by_line() {
        let history = with_recovery(&[
            acquired("n1", "f", 1, 10, 100),
            acquired("n2", "f", 2, 50, 150),
            write(2, "n2", "f", 2, true, 60),
            write(1, "n1", "f", 1, true, 60),
        ]);
        assert_eq!(rules(&check(&history)), []);
    }
}
