//! The fenced store never took an old token after a newer one, nor a token from somebody who was not given it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Claim, Rule, Violation};
use crate::history::Event;

/// The writes of a record, in the store's own order.
pub(super) fn judge(events: &[Event], claims: &[Claim]) -> Vec<Violation> {
    let given: BTreeSet<(&str, &str, u64)> =
        claims.iter().map(|claim| (claim.client.as_str(), claim.office.as_str(), claim.token)).collect();
    let mut writes: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Wrote { number, client, office, token, accepted: true, at } => {
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
            let what = format!("the store took token {token} of `{office}` from {client} after token {last}");
            violations.push(Violation { rule: Rule::Write, at, what });
        }
        *last = token.max(*last);
        if !given.contains(&(client.as_str(), office.as_str(), token)) {
            let what = format!("{client} wrote with token {token} of `{office}`, which it was never given");
            violations.push(Violation { rule: Rule::Write, at, what });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::stories::*;
    use super::super::{Rule, judge};

    #[test]
    fn an_old_token_that_the_store_took_is_found() {
        let story = |taken| {
            told(&[
                claimed("n1", "f", 1, 10, 100),
                claimed("n2", "f", 2, 50, 150),
                wrote(1, "n1", "f", 1, true, 20),
                wrote(2, "n2", "f", 2, true, 60),
                wrote(3, "n1", "f", 1, taken, 61),
                wrote(4, "n2", "f", 2, true, 62),
            ])
        };
        assert_eq!(rules(&judge(&story(false))), []);
        assert_eq!(rules(&judge(&story(true))), [Rule::Write]);
    }

    #[test]
    fn a_write_of_somebody_who_was_not_given_the_token_is_found() {
        let story = told(&[claimed("n1", "f", 1, 10, 100), wrote(1, "n2", "f", 1, true, 20)]);
        assert_eq!(rules(&judge(&story)), [Rule::Write]);
    }

    #[test]
    fn the_order_is_the_store_s_own_not_that_of_the_lines() {
        let story = told(&[
            claimed("n1", "f", 1, 10, 100),
            claimed("n2", "f", 2, 50, 150),
            wrote(2, "n2", "f", 2, true, 60),
            wrote(1, "n1", "f", 1, true, 60),
        ]);
        assert_eq!(rules(&judge(&story)), []);
    }
}
