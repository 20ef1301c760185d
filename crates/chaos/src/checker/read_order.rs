//! Reads never go backward: if a node's answer was current, then whoever asks any node after that gets an answer as new
//! or newer. (Linearizability of reads, as far as reads alone show it. [`super::reads`] compares reads with what
//! holders were told.)

use std::collections::BTreeMap;

use super::{Rule, Violation, seconds};
use crate::history::Event;

/// A current answer.
struct Answer<'a> {
    node: &'a str,
    holder: Option<&'a str>,
    token: u64,
    began: u64,
    at: u64,
}

impl Answer<'_> {
    /// Ascends with every change of an office: it is held with a token, then vacant, then held with a greater token.
    fn version(&self) -> (u64, bool) {
        (self.token, self.holder.is_none())
    }

    fn describe(&self) -> String {
        format!("{} with token {}", self.holder.unwrap_or("nobody"), self.token)
    }
}

/// Checks the reads of a history.
pub(super) fn check(events: &[Event]) -> Vec<Violation> {
    let mut offices: BTreeMap<&str, Vec<Answer<'_>>> = BTreeMap::new();
    for event in events {
        if let Event::Read { node, office, holder, token, current: true, began, at } = event {
            let answer = Answer { node, holder: holder.as_deref(), token: *token, began: *began, at: *at };
            offices.entry(office).or_default().push(answer);
        }
    }
    offices.iter().flat_map(|(office, answers)| check_office(office, answers)).collect()
}

fn check_office(office: &str, answers: &[Answer<'_>]) -> Vec<Violation> {
    let mut by_begin: Vec<&Answer<'_>> = answers.iter().collect();
    by_begin.sort_by_key(|answer| answer.began);
    let mut by_end: Vec<&Answer<'_>> = answers.iter().collect();
    by_end.sort_by_key(|answer| answer.at);
    let mut violations = Vec::new();
    let mut ended = by_end.into_iter().peekable();
    // The newest answer that was given before the current one was asked for.
    let mut newest: Option<&Answer<'_>> = None;
    for answer in by_begin {
        while let Some(earlier) = ended.next_if(|earlier| earlier.at < answer.began) {
            if newest.is_none_or(|newest| earlier.version() > newest.version()) {
                newest = Some(earlier);
            }
        }
        if let Some(newest) = newest.filter(|newest| newest.version() > answer.version()) {
            let what = format!(
                "{} said at {} that the current holder of `{office}` is {}; {}, asked at {}, said that it is {}",
                newest.node,
                seconds(newest.at),
                newest.describe(),
                answer.node,
                seconds(answer.began),
                answer.describe()
            );
            violations.push(Violation { rule: Rule::ReadOrder, at: answer.at, what });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::super::{Rule, check};

    #[test]
    fn reports_an_answer_older_than_one_given_before_at_the_same_or_another_node() {
        for node in ["n2", "n3"] {
            let history = |current, began| {
                with_recovery(&[
                    read("n2", "x", Some("n2"), 2, true, 100),
                    read(node, "x", Some("n1"), 1, current, began),
                ])
            };
            assert_eq!(rules(&check(&history(true, 102))), [Rule::ReadOrder], "{node}");
            assert_eq!(rules(&check(&history(true, 101))), [], "{node}: asked while the first one was answered");
            assert_eq!(rules(&check(&history(true, 90))), [], "{node}: asked before");
            assert_eq!(rules(&check(&history(false, 102))), [], "{node}: not named as current");
        }
    }

    #[test]
    fn reports_a_holder_that_comes_back_with_its_old_token() {
        let history = |first, second| {
            with_recovery(&[read("n1", "x", first, 4, true, 100), read("n3", "x", second, 4, true, 200)])
        };
        assert_eq!(rules(&check(&history(None, Some("n1")))), [Rule::ReadOrder]);
        assert_eq!(rules(&check(&history(Some("n1"), None))), [], "it became vacant");
        assert_eq!(rules(&check(&history(Some("n1"), Some("n1")))), []);
    }

    #[test]
    fn a_slow_answer_in_between_hides_nothing() {
        // A long read overlaps both others; they are still in order with each other.
        let mut slow = read("n1", "x", Some("n1"), 1, true, 50);
        if let crate::history::Event::Read { at, .. } = &mut slow {
            *at = 500;
        }
        let history = with_recovery(&[
            slow,
            read("n2", "x", Some("n2"), 2, true, 100),
            read("n3", "x", Some("n1"), 1, true, 200),
        ]);
        assert_eq!(rules(&check(&history)), [Rule::ReadOrder]);
    }

    #[test]
    fn offices_are_independent() {
        let history =
            with_recovery(&[read("n1", "x", Some("n1"), 7, true, 100), read("n1", "f", Some("n1"), 3, true, 200)]);
        assert_eq!(rules(&check(&history)), []);
    }
}
