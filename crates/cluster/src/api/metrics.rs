//! What a node counts and measures, as it is asked for. [`Metrics::to_prometheus`] is its text.

use serde::{Deserialize, Serialize};

use super::{ChangeReason, RealtimeStatus};
use crate::member::Role;

/// The state and the counters of a node, to be shown as text or as JSON. Counters start at 0 with the node's process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Metrics {
    /// The name of the cluster.
    pub(crate) cluster: String,
    /// The name of this node.
    pub(crate) node: String,
    /// This node's role.
    pub(crate) role: Role,
    /// The election algorithm.
    pub(crate) algorithm: String,
    /// The arbiter: `raft`, `none`, or the name of another one.
    pub(crate) arbiter: String,
    /// The health score that this node announces.
    pub(crate) health: u8,
    /// Whether this node was in contact with a majority within the last lease.
    pub(crate) has_quorum: bool,
    /// Whether elections are paused.
    pub(crate) paused: bool,
    /// Whether this node's disk does not take writes.
    pub(crate) disk_fails: bool,
    /// The name of the member that leads the arbiter, as far as this node knows.
    pub(crate) arbiter_leader: Option<String>,
    /// Grows with every change of the arbiter's leader: its Raft term.
    pub(crate) term: u64,
    /// How often another member began to lead the arbiter.
    pub(crate) arbiter_leader_changes: u64,
    /// Every member, including this node.
    pub members: Vec<MemberMetrics>,
    /// The first offices that this node heard of, at most 1,000, by name.
    pub(crate) offices: Vec<OfficeMetrics>,
    /// All others together.
    pub(crate) other_offices: OtherOffices,
    /// How many elections this node started, by cause.
    pub(crate) elections: Vec<(String, u64)>,
    /// How many leases of this node ended, by reason.
    pub(crate) step_downs: Vec<(ChangeReason, u64)>,
    /// Further counters, by name.
    pub(crate) counters: Vec<(String, u64)>,
    /// What concerns the process rather than the cluster.
    pub(crate) process: ProcessMetrics,
}

impl Metrics {
    /// How many messages this node has sent to other members since its process started.
    pub fn messages_sent(&self) -> u64 {
        self.process.messages.iter().map(|count| count.sent).sum()
    }
}

/// A member, as one node sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberMetrics {
    /// The member's name.
    pub name: String,
    /// Whether it is this node.
    pub own: bool,
    /// Whether it votes.
    pub votes: bool,
    /// Whether the node considers it alive.
    pub up: bool,
    /// Whether there is a direct connection to it.
    pub connected: bool,
    /// Whether it has announced that its disk does not take writes.
    pub disk_fails: bool,
    /// The last round trip to it, in nanoseconds.
    pub rtt_ns: Option<u64>,
}

/// An office, as one node sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct OfficeMetrics {
    /// The name of the office.
    pub office: String,
    /// Whether this node holds it.
    pub is_leader: bool,
    /// Whether this node knows a holder that is up, and is in contact with a majority.
    pub has_leader: bool,
    /// How many members that are up are candidates.
    pub candidates: u64,
    /// The last token.
    pub token: u64,
    /// How often the office was granted.
    pub changes: u64,
    /// How long this node's lease lasts if it is not renewed, in nanoseconds: 0 if it holds none; `u64::MAX` if leases
    /// do not end.
    pub lease_remaining_ns: u64,
}

/// The offices that have no metrics of their own.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OtherOffices {
    /// How many there are.
    pub count: u64,
    /// How many of them this node holds.
    pub led: u64,
    /// How many of them have a holder, as in [`OfficeMetrics::has_leader`].
    pub with_leader: u64,
    /// The largest number of candidates.
    pub candidates: u64,
    /// The highest token.
    pub max_token: u64,
    /// How often they were granted. Offices that are forgotten count here.
    pub changes: u64,
    /// The shortest time that is left of this node's leases on them; 0 if it holds none.
    pub min_lease_remaining_ns: u64,
}

/// What concerns the process of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProcessMetrics {
    /// The version of the program.
    pub version: String,
    /// When the node started, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The CPU time that the process has used, in nanoseconds.
    pub cpu_ns: u64,
    /// The memory of the process, in bytes.
    pub resident_bytes: u64,
    /// Programs that are connected to the socket.
    pub clients: u64,
    /// Messages between members, by kind.
    pub messages: Vec<MessageCount>,
    /// Bytes received from members, by TLS.
    pub received_bytes: u64,
    /// Bytes sent to members, by TLS.
    pub sent_bytes: u64,
    /// Connections that were refused.
    pub refused: Vec<RefusedConnections>,
    /// Established connections to members that ended, by reason.
    pub closed: Vec<(String, u64)>,
    /// When certificates end.
    pub certificates: Vec<CertificateExpiry>,
    /// How long the disk takes to write.
    pub disk_writes: Histogram,
    /// Whether it runs at real-time priority, if its configuration asks for that.
    #[serde(default)]
    pub realtime: Option<RealtimeStatus>,
    /// How late the node ran when something was due.
    #[serde(default)]
    pub delays: Histogram,
}

/// How many messages of one kind there were.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct MessageCount {
    /// The kind.
    pub kind: String,
    /// To other members.
    pub sent: u64,
    /// From other members.
    pub received: u64,
}

/// How many connections were refused for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RefusedConnections {
    /// `peers` or `socket`.
    pub listener: String,
    /// The reason.
    pub reason: String,
    /// How many.
    pub count: u64,
}

/// When a certificate ends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct CertificateExpiry {
    /// `node`, or `authority`: the one that signed it.
    pub certificate: String,
    /// The end of its validity, in seconds since 1970.
    pub not_after_unix: i64,
}

/// A distribution of durations.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Histogram {
    /// Upper bounds in nanoseconds, ascending, each with the number of durations up to it and above the bound before.
    pub buckets: Vec<(u64, u64)>,
    /// How many durations exceed the last bound.
    pub above: u64,
    /// The sum of all durations, in nanoseconds.
    pub sum_ns: u64,
}
