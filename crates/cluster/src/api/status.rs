//! The cluster, its members and its offices, as one node knows them.

use serde::{Deserialize, Serialize};

use super::ChangeReason;
use crate::config::Mode;
use crate::member::Role;

/// The holder of an office, as far as the node knows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OfficeStatus {
    /// The name of the office.
    pub office: String,
    /// What happens when the holder fails.
    pub mode: Mode,
    /// The name of the holder; absent if the office is vacant.
    pub holder: Option<String>,
    /// The address of the holder.
    pub address: Option<String>,
    /// The token of the holder, or the last token if the office is vacant.
    pub token: u64,
    /// When this state began, in milliseconds since 1970 by the arbiter's wall clock. For display only.
    pub since_unix_ms: u64,
    /// Why the office last changed hands.
    pub reason: ChangeReason,
    /// Whether a majority confirmed this state after the request arrived. Otherwise it is the last state that the node
    /// heard of.
    pub current: bool,
}

/// One change of an office.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// The name of the office.
    pub office: String,
    /// The name of the new holder; absent if the office became vacant.
    pub holder: Option<String>,
    /// The token of the new holder.
    pub token: u64,
    /// Why the office changed hands.
    pub reason: ChangeReason,
    /// When it changed, in milliseconds since 1970 by the arbiter's wall clock.
    pub since_unix_ms: u64,
}

/// The state of the cluster, as one node sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The name of the cluster.
    pub cluster: String,
    /// The name of this node.
    pub node: String,
    /// The election algorithm.
    pub algorithm: String,
    /// The arbiter: `raft`, `none`, or the name of another one.
    pub arbiter: String,
    /// The name of the member that leads the arbiter.
    pub arbiter_leader: Option<String>,
    /// Grows with every change of the arbiter's leader: its Raft term.
    pub term: u64,
    /// Whether a majority confirmed this state after the request arrived.
    pub current: bool,
    /// Whether elections are paused.
    pub paused: bool,
    /// What is wrong with the node's disk; absent if it takes writes.
    #[serde(default)]
    pub disk: Option<DiskFailure>,
    /// The members that a new cluster waits for: it begins when all its first voters have been heard.
    #[serde(default)]
    pub missing_founders: Vec<String>,
    /// Every member, including this node.
    pub members: Vec<MemberStatus>,
    /// The first 1,000 offices, by name.
    pub offices: Vec<OfficeStatus>,
    /// The name of the last of these offices, if there are more: ask for them with
    /// [`Request::Offices`](super::Request::Offices).
    #[serde(default)]
    pub next_office: Option<String>,
    /// Counters since the node started, by name.
    pub counters: Vec<(String, u64)>,
    /// Until when this node's certificates are valid.
    #[serde(default)]
    pub certificate: Option<CertificateStatus>,
    /// How this node's host last delayed it: what was lost then was probably not lost because of another member.
    #[serde(default)]
    pub host: Vec<HostDelay>,
    /// Whether this node runs at real-time priority with its memory locked; absent if its configuration does not ask
    /// for that.
    #[serde(default)]
    pub realtime: Option<RealtimeStatus>,
}

/// What has become of `scheduling = "realtime"`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RealtimeStatus {
    /// Whether the threads on which leases depend run at real-time priority.
    pub priority: bool,
    /// Whether the memory of the process is locked, so that none of it is swapped out.
    pub memory_locked: bool,
    /// What is missing, and why.
    pub problems: Vec<String>,
}

/// A delay that a host caused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostDelay {
    /// `late`: the node was not scheduled in time, or had too much to do. `slow-write`: its disk took long.
    pub kind: String,
    /// How long, in milliseconds.
    pub ms: u64,
    /// When it ended, in milliseconds since 1970. For display only.
    pub unix_ms: u64,
}

/// A disk that does not take writes. Until a write succeeds, its node neither votes nor takes offices.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DiskFailure {
    /// What is wrong, for people: the last error.
    pub error: String,
    /// Since when no write has succeeded, in milliseconds since 1970. For display only.
    pub since_unix_ms: u64,
}

/// Until when the certificates of a node are valid, in seconds since 1970. The wall clock decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CertificateStatus {
    /// The node's own certificate.
    pub not_after_unix_s: u64,
    /// That of the authority that signed it.
    pub authority_not_after_unix_s: u64,
}

/// The state of a member, as one node sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberStatus {
    /// The member's id.
    pub id: u64,
    /// The member's name.
    pub name: String,
    /// The address that peers connect to, `host:port`.
    pub address: String,
    /// The member's role.
    pub role: Role,
    /// The member's priority.
    pub priority: u32,
    /// The last health score that the member reported, 0 to 100.
    pub health: u8,
    /// Whether the node considers the member alive.
    pub up: bool,
    /// Whether the member has announced that its disk does not take writes.
    #[serde(default)]
    pub disk_fails: bool,
    /// Whether the member is to become a voter but does not vote yet, because it has not caught up.
    #[serde(default)]
    pub joining: bool,
    /// The parts of the configuration in which the member differs from the node, although they must be the same on all
    /// members.
    #[serde(default)]
    pub differs_in: Vec<String>,
    /// Until when its certificate is valid, in seconds since 1970; absent if the node has no connection to it.
    #[serde(default)]
    pub certificate_not_after_unix_s: Option<u64>,
}
