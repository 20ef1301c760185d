//! No node names a holder as current, or an office as vacant, if a client had been told a greater token before the node
//! was asked.

use std::collections::BTreeMap;

use super::{Rule, Tenure, Violation, seconds};
use crate::history::Event;

/// Checks the reads of a history.
pub(super) fn check(events: &[Event], tenures: &[Tenure]) -> Vec<Violation> {
    let mut offices: BTreeMap<&str, Vec<&Tenure>> = BTreeMap::new();
    for tenure in tenures {
        offices.entry(&tenure.office).or_default().push(tenure);
    }
    for tenures in offices.values_mut() {
        tenures.sort_by_key(|tenure| tenure.token);
    }
    let known: BTreeMap<&str, Tokens<'_>> =
        offices.into_iter().map(|(office, tenures)| (office, Tokens::new(tenures))).collect();
    let mut violations = Vec::new();
    for event in events {
        let Event::Read { node, office, holder, token, current: true, began, at } = event else { continue };
        let Some(successor) = known.get(office.as_str()).and_then(|tokens| tokens.first_after(*token)) else {
            continue;
        };
        if successor.from < *began {
            let what = format!(
                "{node}, asked at {}, named {} with token {token} as the current holder of `{office}`; {} had been told \
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

/// The tenures of one office, ascending by token.
struct Tokens<'a> {
    tenures: Vec<&'a Tenure>,
    /// For each tenure, the index of the earliest among it and all tenures with greater tokens.
    earliest: Vec<usize>,
}

impl<'a> Tokens<'a> {
    fn new(tenures: Vec<&'a Tenure>) -> Self {
        let mut earliest: Vec<usize> = (0..tenures.len()).collect();
        for index in (0..tenures.len().saturating_sub(1)).rev() {
            if tenures[earliest[index + 1]].from < tenures[index].from {
                earliest[index] = earliest[index + 1];
            }
        }
        Tokens { tenures, earliest }
    }

    /// Of all tenures with a greater token, the earliest.
    fn first_after(&self, token: u64) -> Option<&'a Tenure> {
        let next = self.tenures.partition_point(|tenure| tenure.token <= token);
        self.earliest.get(next).map(|&first| self.tenures[first])
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::super::{Rule, check};

    #[test]
    fn reports_an_old_holder_named_as_current() {
        let history = |current, began| {
            with_recovery(&[
                acquired("n1", "x", 1, 10, 100),
                acquired("n2", "x", 2, 110, 200),
                read("n3", "x", Some("n1"), 1, current, began),
            ])
        };
        assert_eq!(rules(&check(&history(true, 111))), [Rule::Read]);
        assert_eq!(rules(&check(&history(false, 111))), [], "not named as current");
        assert_eq!(rules(&check(&history(true, 110))), [], "asked while the next one was being told");
        assert_eq!(rules(&check(&history(true, 105))), [], "no other client was told yet");
    }

    #[test]
    fn a_fenced_holder_with_a_successor_is_not_current_even_during_its_lease() {
        let history = |began| {
            with_recovery(&[
                acquired("n1", "f", 1, 10, 100),
                acquired("n2", "f", 2, 50, 200),
                read("n3", "f", Some("n1"), 1, true, began),
            ])
        };
        assert_eq!(rules(&check(&history(50))), []);
        assert_eq!(rules(&check(&history(51))), [Rule::Read]);
    }

    #[test]
    fn a_holder_whose_client_was_never_told_is_checked_by_its_successor() {
        let history = |office, began| {
            with_recovery(&[acquired("n2", office, 2, 110, 200), read("n3", office, Some("n1"), 1, true, began)])
        };
        for office in ["x", "f"] {
            assert_eq!(rules(&check(&history(office, 110))), []);
            assert_eq!(rules(&check(&history(office, 111))), [Rule::Read]);
        }
    }

    #[test]
    fn reports_a_held_office_named_as_vacant() {
        let history =
            |token| with_recovery(&[acquired("n1", "x", 2, 110, 200), read("n3", "x", None, token, true, 150)]);
        assert_eq!(rules(&check(&history(1))), [Rule::Read]);
        assert_eq!(rules(&check(&history(2))), [], "it is vacant again");
    }

    #[test]
    fn accepts_the_last_holder_or_a_vacant_office() {
        let history = with_recovery(&[
            acquired("n1", "x", 1, 10, 100),
            acquired("n2", "x", 2, 110, 200),
            read("n3", "x", Some("n2"), 2, true, 150),
            read("n3", "x", None, 2, true, 150),
            read("n3", "y", Some("n1"), 1, true, 150),
        ]);
        assert_eq!(rules(&check(&history)), []);
    }
}
