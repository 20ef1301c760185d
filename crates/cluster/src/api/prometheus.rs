//! The metrics of a node in Prometheus' text format.
//!
//! All metrics of this program are named here. `docs/monitoring.md` explains them, and a test compares the two.

use std::fmt::{Display, Write};
use std::time::Duration;

use super::metrics::{Histogram, MemberMetrics, Metrics, OfficeMetrics};

/// The label of the offices that have no metrics of their own. No office can have this name.
const OTHER: &str = "_other";

/// How the values of a metric behave.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A text under construction.
#[derive(Default)]
struct Text(String);

/// A metric whose samples are being written.
struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Text {
    /// Begins a metric.
    fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> Family<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family { text: &mut self.0, name }
    }

    /// A metric with one sample and no label.
    fn single(&mut self, name: &'static str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help).sample(&[], value);
    }
}

impl Family<'_> {
    fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.sample_of("", labels, value);
    }

    /// A sample whose name has a suffix, as a histogram's have.
    fn sample_of(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.text, "{}{suffix}", self.name);
        for (place, (name, text)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{name}=\"{}\"", escape(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }

    fn histogram(&mut self, histogram: &Histogram) {
        let mut count = 0;
        for (bound, within) in &histogram.buckets {
            count += within;
            self.sample_of("_bucket", &[("le", &seconds(*bound).to_string())], count);
        }
        count += histogram.above;
        self.sample_of("_bucket", &[("le", "+Inf")], count);
        self.sample_of("_sum", &[], seconds(histogram.sum_ns));
        self.sample_of("_count", &[], count);
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64()
}

/// A lease that does not end is infinite.
fn remaining(nanoseconds: u64) -> String {
    if nanoseconds == u64::MAX { "+Inf".to_string() } else { seconds(nanoseconds).to_string() }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Metrics {
    /// The metrics in Prometheus' text format, version 0.0.4.
    pub fn to_prometheus(&self) -> String {
        let mut text = Text::default();
        self.write_info(&mut text);
        self.write_offices(&mut text);
        self.write_elections(&mut text);
        self.write_arbiter(&mut text);
        self.write_members(&mut text);
        self.write_connections(&mut text);
        self.write_process(&mut text);
        text.0
    }

    fn write_info(&self, text: &mut Text) {
        let info = "The version of the program; always 1.";
        text.family("hustings_build_info", Kind::Gauge, info).sample(&[("version", &self.process.version)], 1);
        let labels = [
            ("cluster", self.cluster.as_str()),
            ("node", &self.node),
            ("role", &self.role.to_string()),
            ("algorithm", &self.algorithm),
            ("arbiter", &self.arbiter),
        ];
        text.family("hustings_node_info", Kind::Gauge, "The node and its cluster; always 1.").sample(&labels, 1);
    }

    fn write_offices(&self, text: &mut Text) {
        let other = &self.other_offices;
        let has_others = other.count > 0 || other.changes > 0;
        let mut write = |name, kind, help: [&str; 2], value: fn(&OfficeMetrics) -> String, of_others: String| {
            let help = format!(
                "{} Only the first 1000 offices have a label of their own; the label {OTHER} is {}.",
                help[0], help[1]
            );
            let mut family = text.family(name, kind, &help);
            self.offices.iter().for_each(|office| family.sample(&[("office", &office.office)], value(office)));
            if has_others {
                family.sample(&[("office", OTHER)], of_others);
            }
        };
        write(
            "hustings_is_leader",
            Kind::Gauge,
            ["Whether this node holds the office.", "the number of others that it holds"],
            |office| u8::from(office.is_leader).to_string(),
            other.led.to_string(),
        );
        write(
            "hustings_has_leader",
            Kind::Gauge,
            ["Whether this node knows a live holder, confirmed by a majority.", "the number of others that have one"],
            |office| u8::from(office.has_leader).to_string(),
            other.with_leader.to_string(),
        );
        write(
            "hustings_candidates",
            Kind::Gauge,
            ["How many members that are up are candidates for the office.", "the largest number of all others"],
            |office| office.candidates.to_string(),
            other.candidates.to_string(),
        );
        write(
            "hustings_leader_changes_total",
            Kind::Counter,
            ["How often the office was granted since this node started.", "the sum of all others"],
            |office| office.changes.to_string(),
            other.changes.to_string(),
        );
        write(
            "hustings_token",
            Kind::Gauge,
            ["The fencing token of the last grant that this node knows.", "the highest of all others"],
            |office| office.token.to_string(),
            other.max_token.to_string(),
        );
        write(
            "hustings_lease_remaining_seconds",
            Kind::Gauge,
            ["How long this node's lease lasts unless renewed; 0 if it holds none.", "the shortest of all others"],
            |office| remaining(office.lease_remaining_ns),
            remaining(other.min_lease_remaining_ns),
        );
        let with_leader = self.offices.iter().filter(|office| office.has_leader).count() as u64 + other.with_leader;
        let count = self.offices.len() as u64 + other.count;
        text.single("hustings_offices", Kind::Gauge, "How many offices there are.", count);
        let help = "How many offices have no live holder that a majority confirmed to this node.";
        text.single("hustings_offices_without_leader", Kind::Gauge, help, count.saturating_sub(with_leader));
    }

    fn write_elections(&self, text: &mut Text) {
        let help = "Elections that this node started, by cause.";
        let mut family = text.family("hustings_elections_total", Kind::Counter, help);
        for (cause, count) in &self.elections {
            family.sample(&[("algorithm", &self.algorithm), ("cause", cause)], count);
        }
        let help = "Leases of this node that ended, by reason.";
        let mut family = text.family("hustings_step_downs_total", Kind::Counter, help);
        self.step_downs.iter().for_each(|(reason, count)| family.sample(&[("reason", reason.name())], count));
        text.single("hustings_paused", Kind::Gauge, "Whether elections are paused.", u8::from(self.paused));
        text.single("hustings_health_score", Kind::Gauge, "The health score of this host, 0 to 100.", self.health);
    }

    fn write_arbiter(&self, text: &mut Text) {
        let leads = self.arbiter_leader.as_ref() == Some(&self.node);
        let help = "Whether this node knows the arbiter's leader.";
        text.single("hustings_arbiter_has_leader", Kind::Gauge, help, u8::from(self.arbiter_leader.is_some()));
        text.single("hustings_arbiter_is_leader", Kind::Gauge, "Whether this node leads the arbiter.", u8::from(leads));
        text.single("hustings_arbiter_term", Kind::Gauge, "The term of the arbiter's leader.", self.term);
        let help = "How often another member began to lead the arbiter since this node started.";
        text.single("hustings_arbiter_leader_changes_total", Kind::Counter, help, self.arbiter_leader_changes);
        let help = "Whether this node was in contact with a majority within the last lease.";
        text.single("hustings_has_quorum", Kind::Gauge, help, u8::from(self.has_quorum));
    }

    fn write_members(&self, text: &mut Text) {
        let count = |is_counted: fn(&MemberMetrics) -> bool| self.members.iter().filter(|one| is_counted(one)).count();
        text.single("hustings_members", Kind::Gauge, "How many members the cluster has.", self.members.len());
        let help = "How many members are up, this node included.";
        text.single("hustings_members_up", Kind::Gauge, help, count(|member| member.up));
        text.single("hustings_voters", Kind::Gauge, "How many members vote.", count(|member| member.votes));
        let help = "How many voters are up, this node included.";
        text.single("hustings_voters_up", Kind::Gauge, help, count(|member| member.votes && member.up));
        let mut write = |name, help, value: fn(&MemberMetrics) -> Option<String>| {
            let mut family = text.family(name, Kind::Gauge, help);
            for member in self.members.iter().filter(|member| !member.own) {
                value(member).into_iter().for_each(|value| family.sample(&[("peer", &member.name)], value));
            }
        };
        let help = "Whether this node considers the member alive.";
        write("hustings_peer_up", help, |member| Some(u8::from(member.up).to_string()));
        let help = "Whether this node has a direct connection to the member.";
        write("hustings_peer_connected", help, |member| Some(u8::from(member.connected).to_string()));
        let help = "Whether the member says that its disk does not take writes.";
        write("hustings_peer_disk_fails", help, |member| Some(u8::from(member.disk_fails).to_string()));
        let help = "The last round trip to a connected member, measured every 5 seconds.";
        write("hustings_peer_rtt_seconds", help, |member| member.rtt_ns.map(|rtt| seconds(rtt).to_string()));
    }

    fn write_connections(&self, text: &mut Text) {
        let process = &self.process;
        let help = "Messages between this node and other members, by kind.";
        let mut family = text.family("hustings_messages_total", Kind::Counter, help);
        for count in &process.messages {
            family.sample(&[("kind", &count.kind), ("direction", "sent")], count.sent);
            family.sample(&[("kind", &count.kind), ("direction", "received")], count.received);
        }
        let help = "Bytes exchanged with other members, encrypted.";
        let mut family = text.family("hustings_traffic_bytes_total", Kind::Counter, help);
        family.sample(&[("direction", "sent")], process.sent_bytes);
        family.sample(&[("direction", "received")], process.received_bytes);
        let help = "Connections that this node refused, by listener and reason.";
        let mut family = text.family("hustings_refused_connections_total", Kind::Counter, help);
        for refused in &process.refused {
            family.sample(&[("listener", &refused.listener), ("reason", &refused.reason)], refused.count);
        }
        let help = "Established connections to members that ended, by reason.";
        let mut family = text.family("hustings_closed_connections_total", Kind::Counter, help);
        process.closed.iter().for_each(|(reason, count)| family.sample(&[("reason", reason)], count));
        let help = "Programs that are connected to the node's socket.";
        text.single("hustings_clients", Kind::Gauge, help, process.clients);
        let help = "When the certificate expires, in seconds since 1970.";
        let mut family = text.family("hustings_certificate_expiry_timestamp_seconds", Kind::Gauge, help);
        for expiry in &process.certificates {
            family.sample(&[("certificate", &expiry.certificate)], expiry.not_after_unix);
        }
    }

    fn write_process(&self, text: &mut Text) {
        let process = &self.process;
        let help = "How long the disk took to write and sync a group of log entries.";
        text.family("hustings_disk_write_seconds", Kind::Histogram, help).histogram(&process.disk_writes);
        let counter = |name: &str| self.counters.iter().find(|(known, _)| known == name).map_or(0, |(_, count)| *count);
        let help = "Writes that failed or took too long, after which the node grants nothing for a while.";
        text.single("hustings_disk_write_failures_total", Kind::Counter, help, counter("failed-disk-writes"));
        let help = "Whether this node's disk does not take writes: it neither votes nor takes offices.";
        text.single("hustings_disk_fails", Kind::Gauge, help, u8::from(self.disk_fails));
        let help = "How often the process was not scheduled in time, by more than 40 ms.";
        text.single("hustings_process_pauses_total", Kind::Counter, help, counter("process-pauses"));
        let help = "How late the node ran when something was due.";
        text.family("hustings_loop_delay_seconds", Kind::Histogram, help).histogram(&process.delays);
        if let Some(realtime) = &process.realtime {
            let help = "Whether the node has the real-time priority and the locked memory that it is configured for.";
            let mut family = text.family("hustings_realtime", Kind::Gauge, help);
            let parts = [("priority", realtime.priority), ("memory", realtime.memory_locked)];
            parts.into_iter().for_each(|(part, is_there)| family.sample(&[("part", part)], u8::from(is_there)));
        }
        let help = "Messages of members that made no sense and had no effect.";
        let mut family = text.family("hustings_invalid_messages_total", Kind::Counter, help);
        let kinds = [
            ("election", "invalid-election-messages"),
            ("raft", "invalid-raft-messages"),
            ("sender", "messages-of-wrong-senders"),
            ("relay", "ignored-relays"),
        ];
        kinds.into_iter().for_each(|(kind, name)| family.sample(&[("kind", kind)], counter(name)));
        let help = "CPU time of the node's process.";
        text.single("process_cpu_seconds_total", Kind::Counter, help, seconds(process.cpu_ns));
        let help = "Resident memory of the node's process.";
        text.single("process_resident_memory_bytes", Kind::Gauge, help, process.resident_bytes);
        let help = "When the node started, in seconds since 1970.";
        let started = Duration::from_millis(process.started_unix_ms).as_secs_f64();
        text.single("process_start_time_seconds", Kind::Gauge, help, started);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{ChangeReason, MessageCount, OtherOffices, ProcessMetrics, RealtimeStatus, RefusedConnections};
    use crate::member::Role;

    fn office(name: &str, is_leader: bool) -> OfficeMetrics {
        let lease_remaining_ns = if is_leader { 250_000_000 } else { 0 };
        let office = name.to_string();
        OfficeMetrics { office, is_leader, has_leader: true, candidates: 3, token: 7, changes: 2, lease_remaining_ns }
    }

    fn metrics() -> Metrics {
        let member = |name: &str, own, up| MemberMetrics {
            name: name.to_string(),
            own,
            votes: true,
            up,
            connected: up,
            disk_fails: name == "b",
            rtt_ns: (up && !own).then_some(1_500_000),
        };
        let message = MessageCount { kind: "heartbeat".to_string(), sent: 3, received: 4 };
        let refused = ("peers".to_string(), "expired".to_string(), 5);
        Metrics {
            cluster: "shop".to_string(),
            node: "a".to_string(),
            role: Role::Elector,
            algorithm: "bully".to_string(),
            arbiter: "raft".to_string(),
            health: 100,
            has_quorum: true,
            paused: false,
            disk_fails: true,
            arbiter_leader: Some("b".to_string()),
            term: 4,
            arbiter_leader_changes: 2,
            members: vec![member("a", true, true), member("b", false, true), member("c", false, false)],
            offices: vec![office("billing", false), office("leader", true)],
            other_offices: OtherOffices { count: 5, led: 3, with_leader: 4, max_token: 90, ..Default::default() },
            elections: vec![("members".to_string(), 6)],
            step_downs: vec![(ChangeReason::Expired, 1)],
            counters: vec![("process-pauses".to_string(), 8)],
            process: ProcessMetrics {
                version: "1.2.3\"\\".to_string(),
                messages: vec![message],
                refused: vec![RefusedConnections { listener: refused.0, reason: refused.1, count: refused.2 }],
                realtime: Some(RealtimeStatus { priority: true, ..RealtimeStatus::default() }),
                disk_writes: Histogram { buckets: vec![(1_000_000, 2), (5_000_000, 3)], above: 1, sum_ns: 20_000_000 },
                ..ProcessMetrics::default()
            },
        }
    }

    #[test]
    fn samples_have_their_labels_and_base_units() {
        let text = metrics().to_prometheus();
        for line in [
            "hustings_build_info{version=\"1.2.3\\\"\\\\\"} 1",
            "hustings_is_leader{office=\"billing\"} 0",
            "hustings_is_leader{office=\"leader\"} 1",
            "hustings_is_leader{office=\"_other\"} 3",
            "hustings_token{office=\"_other\"} 90",
            "hustings_lease_remaining_seconds{office=\"leader\"} 0.25",
            "hustings_candidates{office=\"leader\"} 3",
            "hustings_offices 7",
            "hustings_offices_without_leader 1",
            "hustings_elections_total{algorithm=\"bully\",cause=\"members\"} 6",
            "hustings_step_downs_total{reason=\"expired\"} 1",
            "hustings_messages_total{kind=\"heartbeat\",direction=\"received\"} 4",
            "hustings_refused_connections_total{listener=\"peers\",reason=\"expired\"} 5",
            "hustings_members_up 2",
            "hustings_voters_up 2",
            "hustings_peer_up{peer=\"c\"} 0",
            "hustings_peer_disk_fails{peer=\"b\"} 1",
            "hustings_disk_fails 1",
            "hustings_peer_rtt_seconds{peer=\"b\"} 0.0015",
            "hustings_arbiter_is_leader 0",
            "hustings_process_pauses_total 8",
            "hustings_realtime{part=\"priority\"} 1",
            "hustings_realtime{part=\"memory\"} 0",
            "hustings_disk_write_seconds_bucket{le=\"0.005\"} 5",
            "hustings_disk_write_seconds_bucket{le=\"+Inf\"} 6",
            "hustings_disk_write_seconds_sum 0.02",
            "hustings_disk_write_seconds_count 6",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is missing:\n{text}");
        }
        assert!(!text.contains("hustings_peer_rtt_seconds{peer=\"c\"}"), "it is not connected");
        assert!(!text.contains("hustings_peer_up{peer=\"a\"}"), "the node is not its own peer");
    }

    #[test]
    fn without_other_offices_there_is_no_label_for_them() {
        let text = Metrics { other_offices: OtherOffices::default(), ..metrics() }.to_prometheus();
        assert!(!text.contains("office=\"_other\""), "{text}");
    }

    #[test]
    fn a_lease_that_does_not_end_is_infinite() {
        assert_eq!([remaining(0), remaining(1_000_000), remaining(u64::MAX)], ["0", "0.001", "+Inf"]);
    }
}
