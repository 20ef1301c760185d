//! The node's side of metrics and traces: it tells the [`Observer`](super::observer::Observer) what happens, and
//! completes what the core answers.

use hustings_protocol::Id;
use rustix::time::{ClockId, clock_gettime};

use super::Node;
use super::report::is_rejection;
use crate::api::{CertificateExpiry, Metrics, ProcessMetrics, RefusedConnections, Trace};
use crate::clock::Timestamp;
use crate::identity::Expiry;
use crate::transport::CloseReason;
use crate::wire::Message;

impl Node {
    /// Sends a message to a peer. If it cannot be sent, the connection closes and the core is told.
    pub(super) fn send_message(&mut self, to: Id, message: &Message, now: Timestamp) {
        let bytes = message.encode();
        let is_queued = match message.is_bulk() {
            true => self.transport.send_bulk(to, &bytes),
            false => self.transport.send(to, &bytes),
        };
        if is_queued {
            self.observer.record_sent(to, message, bytes.len(), now);
        }
    }

    /// Sends a message of the core to a peer. What the peer is to pass on is sealed first.
    pub(super) fn send_sealed(&mut self, to: Id, mut message: Message, now: Timestamp) {
        if let Message::Relay(relay) = &mut message
            && relay.from == self.config.node
        {
            self.transport.seal(relay);
        }
        self.send_message(to, &message, now);
    }

    /// Whether a message comes from the member that it is said to come from. What a peer sends itself does; what it
    /// passes on to this node is checked.
    pub(super) fn is_authentic(&mut self, from: Id, message: &Message, now: Timestamp) -> bool {
        let Message::Relay(relay) = message else { return true };
        if relay.to != self.config.node {
            return true;
        }
        let Err(problem) = self.transport.check_seal(from, relay, now) else { return true };
        let (via, sender) = (self.logged.name(from), self.logged.name(relay.from));
        self.logger.warn_rate_limited(
            now,
            format_args!("ignored a message that {via} passed on and said to come from {sender}: {problem}"),
        );
        false
    }

    /// Asks peers for their clocks, if that is due. There is no timer for it: the next heartbeat is early enough.
    pub(super) fn request_times(&mut self) {
        let now = self.clock.now();
        while let Some(peer) = self.observer.clocks.poll_request(now) {
            let sent = self.clock.now();
            self.send_message(peer, &Message::TimeRequest { sent }, sent);
            self.observer.clocks.handle_sent(peer, sent);
        }
    }

    /// Handles a message about clocks, which the core need not know of. Returns other messages.
    pub(super) fn handle_time_message(&mut self, from: Id, message: Message, now: Timestamp) -> Option<Message> {
        match message {
            Message::TimeRequest { sent } => {
                let replied = self.clock.now();
                self.send_message(from, &Message::TimeResponse { sent, received: now, replied }, replied);
                None
            }
            Message::TimeResponse { sent, received, replied } => {
                self.observer.clocks.handle_response(from, [sent, received, replied], now);
                None
            }
            message => Some(message),
        }
    }

    /// Adds the records of a page to a trace.
    pub(super) fn complete_trace(&self, page: &mut Trace) {
        self.observer.complete_page(page, |id| self.logged.name(id), self.clock.now());
    }

    /// Adds what concerns the process to the metrics of the core.
    pub(super) fn complete_metrics(&self, metrics: &mut Metrics) {
        let (counters, clocks) = (self.transport.counters(), &self.observer.clocks);
        for (id, name) in &self.logged.names {
            let member = metrics.members.iter_mut().find(|member| member.name == *name);
            member.into_iter().for_each(|member| member.rtt_ns = clocks.rtt_ns(*id));
        }
        let refused_peers = CloseReason::ALL.into_iter().filter(|reason| is_rejection(*reason));
        let refused_peers = refused_peers.map(|reason| ("peers", reason.name(), counters.rejected(reason)));
        let refused = refused_peers.chain(self.clients.refused().map(|(reason, count)| ("socket", reason, count)));
        let closed = CloseReason::ALL.into_iter().map(|reason| (reason.to_string(), counters.closed(reason)));
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        metrics.process = ProcessMetrics {
            version: env!("CARGO_PKG_VERSION").to_string(),
            started_unix_ms: self.started_unix_ms,
            cpu_ns: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64,
            resident_bytes: resident_bytes(),
            clients: self.clients.count() as u64,
            messages: self.observer.message_counts(),
            received_bytes: counters.bytes_in,
            sent_bytes: counters.bytes_out,
            refused: refused.map(|(listener, reason, count)| refusal(listener, reason, count)).collect(),
            closed: closed.collect(),
            certificates: self.certificates.expiry().map_or_else(Vec::new, certificates),
            disk_writes: self.disk.latencies(),
            realtime: self.scheduling.status(),
            delays: self.core.delays().to_histogram(),
        };
    }
}

fn refusal(listener: &str, reason: &str, count: u64) -> RefusedConnections {
    RefusedConnections { listener: listener.to_string(), reason: reason.to_string(), count }
}

fn certificates(expiry: Expiry) -> Vec<CertificateExpiry> {
    let ends = [("node", expiry.own), ("authority", expiry.authority)];
    let expiry = |(certificate, end): (&str, u64)| CertificateExpiry {
        certificate: certificate.to_string(),
        not_after_unix: i64::try_from(end).unwrap_or(i64::MAX),
    };
    ends.into_iter().map(expiry).collect()
}

/// The memory of this process; 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::config::{ClusterSpec, Config, MemberSpec, bootstrap};
    use crate::member::Role;
    use crate::node::Options;
    use crate::wire::Relay;

    /// Three members of one cluster, which do not run.
    pub(in crate::node) fn open_nodes() -> (tempfile::TempDir, Vec<Node>) {
        let folder = tempfile::tempdir().expect("create a temporary folder");
        let ports: Vec<TcpListener> =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("loopback is there")).collect();
        let members = ports.iter().zip(["a", "b", "c"]).map(|(port, name)| MemberSpec {
            name: name.to_string(),
            address: port.local_addr().expect("it is bound").to_string(),
            priority: 0,
            role: Role::Elector,
        });
        let spec = ClusterSpec::new("cluster", members.collect());
        drop(ports);
        let founded = bootstrap(&folder.path().join("cluster"), &spec).expect("the plan is sound");
        let open = |folder: &std::path::Path| {
            let config = Config::read(&folder.join("hustings.toml")).expect("it was just written");
            let options = Options { signals: false, raise_priority: false, ..Options::default() };
            Node::open(config, options).expect("it opens")
        };
        let nodes = founded.iter().map(|member| open(&member.folder)).collect();
        (folder, nodes)
    }

    #[test]
    fn what_others_pass_on_to_a_node_is_checked() {
        let (_folder, mut nodes) = open_nodes();
        let (from, to, bytes) = (Id(1), Id(2), Message::Leave.encode());
        let unsealed =
            Relay { from, incarnation: 1, to, to_incarnation: 2, number: 1, is_bulk: false, bytes, seal: None };
        let mut sealed = unsealed.clone();
        nodes[0].transport.seal(&mut sealed);
        let [sealed, unsealed] = [sealed, unsealed].map(Message::Relay);
        let now = nodes[1].clock.now();
        assert!(nodes[1].is_authentic(Id(3), &sealed, now));
        assert!(!nodes[1].is_authentic(Id(3), &unsealed, now));
        assert!(nodes[1].is_authentic(Id(3), &Message::Leave, now), "its sender is at the other end of the connection");
        assert!(nodes[2].is_authentic(Id(1), &sealed, now), "its receiver checks it");
    }
}
