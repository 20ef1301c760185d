//! Claims, put together from what was noted of them.

use std::collections::BTreeMap;

use super::{Rule, Violation};
use crate::history::Event;

/// That a client held an office, as far as it was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Claim {
    /// The node that told it.
    pub(crate) node: String,
    /// The client.
    pub(crate) client: String,
    /// The office.
    pub(crate) office: String,
    /// Whether it is exclusive.
    pub(crate) exclusive: bool,
    /// The token.
    pub(crate) token: u64,
    /// When the client was told.
    pub(crate) from: u64,
    /// When it stopped of itself, if it did.
    pub(crate) ended: Option<u64>,
    /// The last deadline it was given before it stopped.
    pub(crate) deadline: u64,
}

impl Claim {
    /// When it was over: the earlier of its announced end and its last deadline.
    pub(crate) fn end(&self) -> u64 {
        self.ended.unwrap_or(u64::MAX).min(self.deadline)
    }

    /// Whether the client could act at all: it is not, if it was told too late.
    pub(crate) fn lasted(&self) -> bool {
        self.end() > self.from
    }
}

/// All claims, in the order in which they were told.
///
/// A client that stopped because it was asked to, and is told again that it holds the office with the same token, makes
/// a second claim.
pub(crate) fn collect(events: &[Event]) -> (Vec<Claim>, Vec<Violation>) {
    let mut claims: Vec<Claim> = Vec::new();
    // The last claim of each client, office and token.
    let mut last: BTreeMap<(&str, &str, u64), usize> = BTreeMap::new();
    let mut violations = Vec::new();
    // Threads write when they come to it; one client's lines are in order.
    for event in events {
        match event {
            Event::Claimed { node, client, office, exclusive, token, from, deadline } => {
                if let Some(index) = last.insert((client, office, *token), claims.len()) {
                    claims[index].ended.get_or_insert(*from);
                }
                claims.push(Claim {
                    node: node.clone(),
                    client: client.clone(),
                    office: office.clone(),
                    exclusive: *exclusive,
                    token: *token,
                    from: *from,
                    ended: None,
                    deadline: *deadline,
                });
            }
            Event::Until { client, office, token, at, deadline } => match last.get(&key(client, office, *token)) {
                Some(&index) if claims[index].ended.is_none() => {
                    claims[index].deadline = claims[index].deadline.max(*deadline);
                }
                Some(_) => {}
                None => violations.push(orphan(client, office, *token, *at, "may act longer")),
            },
            Event::Ended { client, office, token, at, .. } => match last.get(&key(client, office, *token)) {
                Some(&index) => drop(claims[index].ended.get_or_insert(*at)),
                None => violations.push(orphan(client, office, *token, *at, "has stopped")),
            },
            _ => {}
        }
    }
    claims.sort_by(|a, b| (a.from, a.token, &a.client).cmp(&(b.from, b.token, &b.client)));
    (claims, violations)
}

fn key<'a>(client: &'a str, office: &'a str, token: u64) -> (&'a str, &'a str, u64) {
    (client, office, token)
}

fn orphan(client: &str, office: &str, token: u64, at: u64, what: &str) -> Violation {
    let what = format!("{client} {what} in `{office}` with token {token}, which it was never given");
    Violation { rule: Rule::Record, at, what }
}

#[cfg(test)]
mod tests {
    use super::super::stories::*;
    use super::*;

    #[test]
    fn a_claim_lasts_to_the_earlier_of_its_end_and_its_last_deadline() {
        let told = [claimed("n1", "x", 1, 10, 100), until("n1", "x", 1, 50, 200)];
        let claim = |events: &[Event]| collect(events).0.remove(0);
        assert_eq!(claim(&told[..1]).end(), 100);
        assert_eq!(claim(&told).end(), 200);
        let stopped = [told.to_vec(), vec![ended("n1", "x", 1, 150), until("n1", "x", 1, 160, 300)]].concat();
        assert_eq!(claim(&stopped).end(), 150, "what it is told after it stopped changes nothing");
        let late = [told.to_vec(), vec![ended("n1", "x", 1, 250)]].concat();
        assert_eq!(claim(&late).end(), 200);
        assert!(claim(&told).lasted());
        assert!(!claim(&[claimed("n1", "x", 1, 10, 10)]).lasted());
    }

    #[test]
    fn what_does_not_belong_to_a_claim_is_told() {
        for orphan in [until("n1", "x", 2, 50, 200), ended("n1", "x", 2, 50)] {
            let (_, violations) = collect(&[claimed("n1", "x", 1, 10, 100), orphan]);
            assert_eq!(violations.iter().map(|violation| violation.rule).collect::<Vec<_>>(), [Rule::Record]);
        }
    }

    #[test]
    fn a_client_that_stopped_and_goes_on_with_its_token_makes_two_claims() {
        let told = [claimed("n1", "x", 1, 10, 100), ended("n1", "x", 1, 40), claimed("n1", "x", 1, 60, 200)];
        let spans = |events: &[Event]| -> Vec<(u64, u64)> {
            collect(events).0.iter().map(|claim| (claim.from, claim.end())).collect()
        };
        assert_eq!(spans(&told), [(10, 40), (60, 200)]);
        assert_eq!(spans(&[told[0].clone(), told[2].clone()]), [(10, 60), (60, 200)]);
    }
}
