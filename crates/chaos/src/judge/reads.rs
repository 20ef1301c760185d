//! Nobody was shown as the current holder, nor an office as vacant, when somebody with a greater token had been told
//! before the question was asked.

use std::collections::BTreeMap;

use super::{Claim, Rule, Violation, seconds};
use crate::history::Event;

/// The reads of a record.
pub(super) fn judge(events: &[Event], claims: &[Claim]) -> Vec<Violation> {
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
        let Event::Read { node, office, holder, token, current: true, began, at } = event else { continue };
        let Some(successor) = known.get(office.as_str()).and_then(|tokens| tokens.told_after(*token)) else { continue };
        if successor.from < *began {
            let what = format!(
                "{node}, asked at {}, showed {} with token {token} as the current holder of `{office}`; {} had been told \
                 token {} at {}",
                seconds(*began),
                holder.as_deref().unwrap_or("nobody"),
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
    fn a_fenced_holder_is_not_current_any_more_though_its_lease_lasts() {
        let story = |began| {
            told(&[
                claimed("n1", "f", 1, 10, 100),
                claimed("n2", "f", 2, 50, 200),
                read("n3", "f", Some("n1"), 1, true, began),
            ])
        };
        assert_eq!(rules(&judge(&story(50))), []);
        assert_eq!(rules(&judge(&story(51))), [Rule::Read]);
    }

    #[test]
    fn a_holder_whose_client_was_never_told_is_judged_by_its_successor() {
        let story =
            |office, began| told(&[claimed("n2", office, 2, 110, 200), read("n3", office, Some("n1"), 1, true, began)]);
        for office in ["x", "f"] {
            assert_eq!(rules(&judge(&story(office, 110))), []);
            assert_eq!(rules(&judge(&story(office, 111))), [Rule::Read]);
        }
    }

    #[test]
    fn an_office_that_somebody_holds_is_not_vacant() {
        let story = |token| told(&[claimed("n1", "x", 2, 110, 200), read("n3", "x", None, token, true, 150)]);
        assert_eq!(rules(&judge(&story(1))), [Rule::Read]);
        assert_eq!(rules(&judge(&story(2))), [], "it is vacant again");
    }

    #[test]
    fn the_last_holder_is_the_current_one_or_there_is_none() {
        let story = told(&[
            claimed("n1", "x", 1, 10, 100),
            claimed("n2", "x", 2, 110, 200),
            read("n3", "x", Some("n2"), 2, true, 150),
            read("n3", "x", None, 2, true, 150),
            read("n3", "y", Some("n1"), 1, true, 150),
        ]);
        assert_eq!(rules(&judge(&story)), []);
    }
}
