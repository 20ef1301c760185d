//! Nobody was shown as the current holder whose lease had ended, and whose successor had been told, before the
//! question was asked.

use std::collections::BTreeMap;

use super::{Claim, Rule, Violation, longest_lease, seconds};
use crate::history::{Event, Facts};

/// The reads of a record.
pub(super) fn judge(facts: &Facts, events: &[Event], claims: &[Claim]) -> Vec<Violation> {
    let mut offices: BTreeMap<&str, Vec<&Claim>> = BTreeMap::new();
    for claim in claims {
        offices.entry(&claim.office).or_default().push(claim);
    }
    // For each office by token, the earliest moment at which that token or a greater one was told.
    for claims in offices.values_mut() {
        claims.sort_by_key(|claim| claim.token);
    }
    let known: BTreeMap<&str, Tokens<'_>> =
        offices.into_iter().map(|(office, claims)| (office, Tokens::new(claims))).collect();
    let mut violations = Vec::new();
    for event in events {
        let Event::Read { node, office, holder: Some(holder), token, current: true, began, at } = event else {
            continue;
        };
        let Some(successor) = known.get(office.as_str()).and_then(|tokens| tokens.told_after(*token)) else { continue };
        if successor.from >= *began {
            continue;
        }
        let own = known.get(office.as_str()).and_then(|tokens| tokens.end_of(*token));
        // A holder whose client was never told: its lease was asked for before its successor was told.
        let end = own.unwrap_or_else(|| match successor.exclusive {
            true => successor.from,
            false => successor.from.saturating_add(longest_lease(facts)),
        });
        if end < *began {
            let what = format!(
                "{node}, asked at {}, showed {holder} with token {token} as the current holder of `{office}`; {} had \
                 been told token {} at {}",
                seconds(*began),
                successor.client,
                successor.token,
                seconds(successor.from)
            );
            violations.push(Violation { rule: Rule::Read, at: *at, what });
        }
    }
    violations
}

/// The claims of one office, ascending by token.
struct Tokens<'a> {
    claims: Vec<&'a Claim>,
    /// For each claim, the index of the one that was told first among it and all greater tokens.
    first_told: Vec<usize>,
}

impl<'a> Tokens<'a> {
    fn new(claims: Vec<&'a Claim>) -> Self {
        let mut first_told: Vec<usize> = (0..claims.len()).collect();
        for index in (0..claims.len().saturating_sub(1)).rev() {
            if claims[first_told[index + 1]].from < claims[index].from {
                first_told[index] = first_told[index + 1];
            }
        }
        Tokens { claims, first_told }
    }

    /// Of all claims with a greater token, the one that was told first.
    fn told_after(&self, token: u64) -> Option<&'a Claim> {
        let next = self.claims.partition_point(|claim| claim.token <= token);
        self.first_told.get(next).map(|&first| self.claims[first])
    }

    /// When the claim with this token was over.
    fn end_of(&self, token: u64) -> Option<u64> {
        let first = self.claims.partition_point(|claim| claim.token < token);
        self.claims[first..].iter().take_while(|claim| claim.token == token).map(|claim| claim.end()).max()
    }
}

#[cfg(test)]
mod tests {
    use super::super::stories::*;
    use super::super::{Rule, judge};

    #[test]
    fn a_holder_shown_as_current_after_its_end_is_found() {
        let story = |current, began| {
            told(&[
                claimed("n1", "x", 1, 10, 100),
                claimed("n2", "x", 2, 110, 200),
                read("n3", "x", Some("n1"), 1, current, began),
            ])
        };
        assert_eq!(rules(&judge(&story(true, 111))), [Rule::Read]);
        assert_eq!(rules(&judge(&story(false, 111))), [], "shown as how things were");
        assert_eq!(rules(&judge(&story(true, 110))), [], "asked when the next one was being told");
        assert_eq!(rules(&judge(&story(true, 105))), [], "nobody else was told yet");
    }

    #[test]
    fn a_fenced_holder_is_current_until_its_lease_ends() {
        let story = |began| {
            told(&[
                claimed("n1", "f", 1, 10, 100),
                claimed("n2", "f", 2, 50, 200),
                claimed("n3", "f", 3, 160, 220),
                read("n3", "f", Some("n1"), 1, true, began),
            ])
        };
        assert_eq!(rules(&judge(&story(90))), []);
        assert_eq!(rules(&judge(&story(101))), [Rule::Read]);
    }

    #[test]
    fn a_holder_whose_client_was_never_told_is_judged_by_its_successor() {
        let story =
            |office, began| told(&[claimed("n2", office, 2, 110, 200), read("n3", office, Some("n1"), 1, true, began)]);
        assert_eq!(rules(&judge(&story("x", 111))), [Rule::Read]);
        assert_eq!(rules(&judge(&story("f", 111))), []);
        assert_eq!(rules(&judge(&story("f", 111 + LEASE))), [Rule::Read]);
    }

    #[test]
    fn the_current_holder_and_a_vacant_office_are_well() {
        let story = told(&[
            claimed("n1", "x", 1, 10, 100),
            claimed("n2", "x", 2, 110, 200),
            read("n3", "x", Some("n2"), 2, true, 150),
            read("n3", "x", None, 1, true, 150),
            read("n3", "y", Some("n1"), 1, true, 150),
        ]);
        assert_eq!(rules(&judge(&story)), []);
    }
}
