//! Tokens of an office only grow, and nobody shares one.
//!
//! Of an exclusive office every client that could act was told a greater token than all before it. A fenced office is
//! given on at once, so the holder that was passed over may hear of its own, older token *after* its successor did
//! (its node was frozen in between, say); but its lease must have been asked for before the successor was told, and
//! is never renewed after that. So none of its deadlines may lie further than a lease behind that moment.

use std::collections::BTreeMap;

use super::{Claim, Rule, Violation, longest_lease, milliseconds, seconds};
use crate::history::Facts;

/// Claims in the order in which they were told.
pub(super) fn judge(facts: &Facts, claims: &[Claim]) -> Vec<Violation> {
    let mut violations = shared(claims);
    let mut greatest: BTreeMap<&str, &Claim> = BTreeMap::new();
    for claim in claims.iter().filter(|claim| claim.lasted()) {
        let Some(last) = greatest.get(claim.office.as_str()) else {
            greatest.insert(&claim.office, claim);
            continue;
        };
        if claim.token > last.token {
            greatest.insert(&claim.office, claim);
        } else if claim.exclusive && claim.token < last.token {
            let what = format!(
                "{} was told token {} of the exclusive office `{}` after {} had been told token {}",
                claim.client, claim.token, claim.office, last.client, last.token
            );
            violations.push(Violation { rule: Rule::Token, at: claim.from, what });
        }
    }
    violations.extend(outlived(facts, claims));
    violations
}

/// Tokens that more than one client was given.
fn shared(claims: &[Claim]) -> Vec<Violation> {
    let mut owners: BTreeMap<(&str, u64), &str> = BTreeMap::new();
    let mut violations = Vec::new();
    for claim in claims {
        let owner = *owners.entry((&claim.office, claim.token)).or_insert(&claim.client);
        if owner != claim.client {
            let what = format!("{owner} and {} were given token {} of `{}`", claim.client, claim.token, claim.office);
            violations.push(Violation { rule: Rule::Token, at: claim.from, what });
        }
    }
    violations
}

/// Claims that were renewed, or asked for, after somebody had been told a greater token.
fn outlived(facts: &Facts, claims: &[Claim]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut offices: BTreeMap<&str, Vec<&Claim>> = BTreeMap::new();
    for claim in claims {
        offices.entry(&claim.office).or_default().push(claim);
    }
    for mut claims in offices.into_values() {
        // From the greatest token down: who was first to be told a greater one.
        claims.sort_by_key(|claim| std::cmp::Reverse(claim.token));
        let mut earliest: Option<&Claim> = None;
        for same in claims.chunk_by(|a, b| a.token == b.token) {
            if let Some(successor) = earliest {
                let latest = successor.from.saturating_add(longest_lease(facts));
                let late = same.iter().filter(|claim| claim.deadline > latest);
                violations.extend(late.map(|claim| renewed_late(facts, claim, successor)));
            }
            earliest = earliest.into_iter().chain(same.iter().copied()).min_by_key(|claim| claim.from);
        }
    }
    violations
}

fn renewed_late(facts: &Facts, claim: &Claim, successor: &Claim) -> Violation {
    let what = format!(
        "{} may act with token {} of `{}` until {}, more than a lease ({}) after {} was told token {}",
        claim.client,
        claim.token,
        claim.office,
        seconds(claim.deadline),
        milliseconds(facts.lease),
        successor.client,
        successor.token
    );
    Violation { rule: Rule::Token, at: successor.from, what }
}

#[cfg(test)]
mod tests {
    use super::super::stories::*;
    use super::super::{Rule, judge};

    #[test]
    fn a_token_that_two_were_given_is_found() {
        let story = told(&[claimed("n1", "x", 1, 10, 100), claimed("n2", "x", 1, 110, 150)]);
        assert_eq!(rules(&judge(&story)), [Rule::Token]);
        let other_offices = told(&[claimed("n1", "x", 1, 10, 100), claimed("n2", "f", 1, 110, 150)]);
        assert_eq!(rules(&judge(&other_offices)), []);
    }

    #[test]
    fn a_client_may_go_on_with_its_token_until_there_is_a_greater_one() {
        let goes_on = |again| {
            told(&[
                claimed("n1", "f", 1, 10, 100),
                ended("n1", "f", 1, 20),
                claimed("n1", "f", 1, 60, again),
                claimed("n2", "f", 2, 80, 180),
            ])
        };
        assert_eq!(rules(&judge(&goes_on(80 + LEASE))), []);
        assert_eq!(rules(&judge(&goes_on(81 + LEASE))), [Rule::Token]);
    }

    #[test]
    fn an_old_token_after_a_newer_one_is_found_also_much_later() {
        let story = told(&[claimed("n1", "x", 7, 10, 100), claimed("n2", "x", 3, 110, 150)]);
        assert!(rules(&judge(&story)).contains(&Rule::Token));
        // Everything was restarted and the tokens were forgotten.
        let restarted = told(&[claimed("n1", "f", 7, 10, 100), claimed("n2", "f", 1, 100_000, 100_090)]);
        assert_eq!(rules(&judge(&restarted)), [Rule::Token]);
    }

    #[test]
    fn a_fenced_holder_may_hear_late_of_its_old_token() {
        let late = told(&[claimed("n2", "f", 8, 50, 150), claimed("n1", "f", 7, 60, 140)]);
        assert_eq!(rules(&judge(&late)), []);
        let exclusive = told(&[claimed("n2", "x", 8, 50, 55), claimed("n1", "x", 7, 60, 140)]);
        assert_eq!(rules(&judge(&exclusive)), [Rule::Token]);
    }

    #[test]
    fn a_fenced_holder_that_is_renewed_after_its_successor_was_told_is_found() {
        let story = |deadline| {
            told(&[
                claimed("n1", "f", 7, 10, 100),
                claimed("n2", "f", 8, 50, 150),
                until("n1", "f", 7, 70, deadline),
                claimed("n3", "f", 9, 70, 170),
            ])
        };
        assert_eq!(rules(&judge(&story(50 + LEASE))), [], "asked for before the next one was told");
        assert_eq!(rules(&judge(&story(51 + LEASE))), [Rule::Token]);
    }
}
