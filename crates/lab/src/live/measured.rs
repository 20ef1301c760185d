//! What a node measures about its connections and messages.

use std::time::{Duration, Instant};

use hustings_cluster::api::Metrics;
use serde_json::{Value, json};

/// How often a node is asked for it. The answer has all offices, and round trips are measured every few seconds.
const INTERVAL: Duration = Duration::from_secs(2);

/// What a node measured.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Measured {
    at: Instant,
    /// Messages to other members since the process started.
    sent: u64,
    /// How many of them a second, since the node was asked before.
    rate: Option<f64>,
    links: Vec<Link>,
}

/// How another member is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Link {
    peer: String,
    way: &'static str,
    rtt_ns: Option<u64>,
}

impl Measured {
    /// Compares what a node says with what it said before.
    pub(super) fn new(metrics: &Metrics, former: Option<&Measured>) -> Self {
        Measured::at(Instant::now(), metrics, former)
    }

    fn at(at: Instant, metrics: &Metrics, former: Option<&Measured>) -> Self {
        let sent = metrics.process.messages.iter().map(|count| count.sent).sum();
        // A process that was started again counts from 0.
        let rate = former.filter(|former| former.sent <= sent && former.at < at);
        let rate = rate.map(|former| (sent - former.sent) as f64 / at.duration_since(former.at).as_secs_f64());
        let others = metrics.members.iter().filter(|member| !member.own);
        let link = |member: &hustings_cluster::api::MemberMetrics| Link {
            peer: member.name.clone(),
            way: match (member.up, member.connected) {
                (true, true) => "direct",
                (true, false) => "relayed",
                (false, _) => "none",
            },
            rtt_ns: member.rtt_ns,
        };
        Measured { at, sent, rate, links: others.map(link).collect() }
    }

    /// Whether it is too early to ask again.
    pub(super) fn is_recent(&self) -> bool {
        self.at.elapsed() < INTERVAL
    }

    /// How it is shown.
    pub(super) fn describe(&self) -> Value {
        let links = self.links.iter().map(
            |link| json!({ "peer": link.peer, "way": link.way, "rtt_ms": link.rtt_ns.map(|rtt| rtt as f64 / 1e6) }),
        );
        json!({ "messages_per_second": self.rate, "links": links.collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use hustings_cluster::api::{MemberMetrics, MessageCount, OtherOffices, ProcessMetrics};
    use hustings_cluster::member::Role;

    use super::*;

    fn metrics(sent: u64) -> Metrics {
        let member = |name: &str, up, connected, rtt_ns| MemberMetrics {
            name: name.to_string(),
            own: name == "a",
            votes: true,
            up,
            connected,
            rtt_ns,
        };
        let count = |kind: &str, sent| MessageCount { kind: kind.to_string(), sent, received: 1000 };
        Metrics {
            cluster: "shop".to_string(),
            node: "a".to_string(),
            role: Role::Elector,
            algorithm: "bully".to_string(),
            arbiter: "raft".to_string(),
            health: 100,
            has_quorum: true,
            paused: false,
            arbiter_leader: None,
            term: 1,
            arbiter_leader_changes: 0,
            members: vec![
                member("a", true, true, None),
                member("b", true, true, Some(250_000)),
                member("c", true, false, None),
                member("d", false, false, None),
            ],
            offices: Vec::new(),
            other_offices: OtherOffices::default(),
            elections: Vec::new(),
            step_downs: Vec::new(),
            counters: Vec::new(),
            process: ProcessMetrics {
                messages: vec![count("heartbeat", sent - 10), count("candidacy", 10)],
                ..ProcessMetrics::default()
            },
        }
    }

    #[test]
    fn members_are_reached_directly_by_relay_or_not_at_all() {
        let start = Instant::now();
        let first = Measured::at(start, &metrics(100), None);
        assert_eq!(first.describe()["messages_per_second"], Value::Null, "there is nothing to compare with");
        let expected = json!([
            { "peer": "b", "way": "direct", "rtt_ms": 0.25 },
            { "peer": "c", "way": "relayed", "rtt_ms": null },
            { "peer": "d", "way": "none", "rtt_ms": null },
        ]);
        assert_eq!(first.describe()["links"], expected);
        let later = start + Duration::from_secs(4);
        let second = Measured::at(later, &metrics(300), Some(&first));
        assert_eq!(second.describe()["messages_per_second"], 50.0);
        let restarted = Measured::at(later + Duration::from_secs(1), &metrics(20), Some(&second));
        assert_eq!(restarted.describe()["messages_per_second"], Value::Null, "it counts from 0 again");
    }
}
