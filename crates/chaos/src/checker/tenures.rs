//! Tenures, put together from the events of a history.

use std::collections::BTreeMap;

use super::{Rule, Violation};
use crate::history::Event;

/// A client held an office, according to what it was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tenure {
    /// The node that told it.
    pub(crate) node: String,
    /// The client.
    pub(crate) client: String,
    /// The office.
    pub(crate) office: String,
    /// Whether the office is exclusive.
    pub(crate) exclusive: bool,
    /// The token.
    pub(crate) token: u64,
    /// When the client was told that it holds the office.
    pub(crate) from: u64,
    /// When the client stopped, if it stopped before its deadline.
    pub(crate) ended: Option<u64>,
    /// The last deadline that the client was told before it stopped.
    pub(crate) deadline: u64,
}

impl Tenure {
    /// The end of the tenure: the earlier of the moment the client stopped and its last deadline.
    pub(crate) fn end(&self) -> u64 {
        self.ended.unwrap_or(u64::MAX).min(self.deadline)
    }

    /// Whether the client could act at all; it could not if it was told after the deadline.
    pub(crate) fn lasted(&self) -> bool {
        self.end() > self.from
    }
}

/// All tenures, in the order in which clients were told.
///
/// A client that stopped and is told again that it holds the office with the same token begins a second tenure.
pub(crate) fn collect(events: &[Event]) -> (Vec<Tenure>, Vec<Violation>) {
    let mut tenures: Vec<Tenure> = Vec::new();
    // The last tenure of each client, office and token.
    let mut last: BTreeMap<(&str, &str, u64), usize> = BTreeMap::new();
    let mut violations = Vec::new();
    // The lines of different clients are in any order, those of one client in the order of time.
    for event in events {
        match event {
            Event::Acquired { node, client, office, exclusive, token, from, deadline } => {
                if let Some(index) = last.insert((client, office, *token), tenures.len()) {
                    tenures[index].ended.get_or_insert(*from);
                }
                tenures.push(Tenure {
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
            Event::Renewed { client, office, token, at, deadline } => match last.get(&key(client, office, *token)) {
                Some(&index) if tenures[index].ended.is_none() => {
                    tenures[index].deadline = tenures[index].deadline.max(*deadline);
                }
                Some(_) => {}
                None => violations.push(unmatched(client, office, *token, *at, "was renewed")),
            },
            Event::Released { client, office, token, at, .. } => match last.get(&key(client, office, *token)) {
                Some(&index) => drop(tenures[index].ended.get_or_insert(*at)),
                None => violations.push(unmatched(client, office, *token, *at, "stopped")),
            },
            _ => {}
        }
    }
    tenures.sort_by(|a, b| (a.from, a.token, &a.client).cmp(&(b.from, b.token, &b.client)));
    (tenures, violations)
}

fn key<'a>(client: &'a str, office: &'a str, token: u64) -> (&'a str, &'a str, u64) {
    (client, office, token)
}

fn unmatched(client: &str, office: &str, token: u64, at: u64, what: &str) -> Violation {
    let what = format!("{client} {what} in `{office}` with token {token}, which it was never told");
    Violation { rule: Rule::History, at, what }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::*;

    #[test]
    fn a_tenure_ends_when_the_client_stops_or_at_its_last_deadline() {
        let told = [acquired("n1", "x", 1, 10, 100), renewed("n1", "x", 1, 50, 200)];
        let tenure = |events: &[Event]| collect(events).0.remove(0);
        assert_eq!(tenure(&told[..1]).end(), 100);
        assert_eq!(tenure(&told).end(), 200);
        let stopped = [told.to_vec(), vec![released("n1", "x", 1, 150), renewed("n1", "x", 1, 160, 300)]].concat();
        assert_eq!(tenure(&stopped).end(), 150, "a renewal after the client stopped changes nothing");
        let late = [told.to_vec(), vec![released("n1", "x", 1, 250)]].concat();
        assert_eq!(tenure(&late).end(), 200);
        assert!(tenure(&told).lasted());
        assert!(!tenure(&[acquired("n1", "x", 1, 10, 10)]).lasted());
    }

    #[test]
    fn reports_events_that_belong_to_no_tenure() {
        for unmatched in [renewed("n1", "x", 2, 50, 200), released("n1", "x", 2, 50)] {
            let (_, violations) = collect(&[acquired("n1", "x", 1, 10, 100), unmatched]);
            assert_eq!(violations.iter().map(|violation| violation.rule).collect::<Vec<_>>(), [Rule::History]);
        }
    }

    #[test]
    fn a_client_that_stops_and_continues_has_two_tenures() {
        let told = [acquired("n1", "x", 1, 10, 100), released("n1", "x", 1, 40), acquired("n1", "x", 1, 60, 200)];
        let spans = |events: &[Event]| -> Vec<(u64, u64)> {
            collect(events).0.iter().map(|tenure| (tenure.from, tenure.end())).collect()
        };
        assert_eq!(spans(&told), [(10, 40), (60, 200)]);
        assert_eq!(spans(&[told[0].clone(), told[2].clone()]), [(10, 60), (60, 200)]);
    }
}
