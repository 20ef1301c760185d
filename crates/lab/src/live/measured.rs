//! What a node measures about its connections and messages.

use std::time::{Duration, Instant};

use hustings_cluster::api::{MemberMetrics, Metrics};
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
        let others = metrics.members.iter().filter(|member| !member.own);
        Measured::at(Instant::now(), metrics.messages_sent(), others.map(Link::to).collect(), former)
    }

    fn at(at: Instant, sent: u64, links: Vec<Link>, former: Option<&Measured>) -> Self {
        // A process that was started again counts from 0.
        let rate = former.filter(|former| former.sent <= sent && former.at < at);
        let rate = rate.map(|former| (sent - former.sent) as f64 / at.duration_since(former.at).as_secs_f64());
        Measured { at, sent, rate, links }
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

impl Link {
    fn to(member: &MemberMetrics) -> Link {
        let way = match (member.up, member.connected) {
            (true, true) => "direct",
            (true, false) => "relayed",
            (false, _) => "none",
        };
        Link { peer: member.name.clone(), way, rtt_ns: member.rtt_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_reached_directly_by_relay_or_not_at_all() {
        let link = |name: &str, up, connected, rtt_ns| {
            let (name, own, votes, disk_fails) = (name.to_string(), false, true, false);
            Link::to(&MemberMetrics { name, own, votes, up, connected, disk_fails, rtt_ns })
        };
        let links =
            vec![link("b", true, true, Some(250_000)), link("c", true, false, None), link("d", false, false, None)];
        let start = Instant::now();
        let first = Measured::at(start, 100, links, None);
        assert_eq!(first.describe()["messages_per_second"], Value::Null, "there is nothing to compare with");
        let expected = json!([
            { "peer": "b", "way": "direct", "rtt_ms": 0.25 },
            { "peer": "c", "way": "relayed", "rtt_ms": null },
            { "peer": "d", "way": "none", "rtt_ms": null },
        ]);
        assert_eq!(first.describe()["links"], expected);
        let later = start + Duration::from_secs(4);
        let second = Measured::at(later, 300, Vec::new(), Some(&first));
        assert_eq!(second.describe()["messages_per_second"], 50.0);
        let restarted = Measured::at(later + Duration::from_secs(1), 20, Vec::new(), Some(&second));
        assert_eq!(restarted.describe()["messages_per_second"], Value::Null, "it counts from 0 again");
    }
}
