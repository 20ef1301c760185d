//! What responses and requests consist of.

use hustings_cluster::api::{Change, ChangeReason, DiskFailure, MemberStatus, OfficeStatus, Status};
use hustings_cluster::config::Mode;
use hustings_cluster::member::Role;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::json;

/// The holder of an office.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub(crate) struct OfficeView {
    /// The name of the office.
    pub(crate) office: String,
    #[schema(value_type = ModeSchema)]
    pub(crate) mode: Mode,
    /// The member that holds the office; null if it is vacant.
    #[schema(required)]
    pub(crate) holder: Option<String>,
    /// The address of the holder, `host:port`.
    #[schema(required)]
    pub(crate) address: Option<String>,
    /// The token of the holder, or the last token if the office is vacant.
    pub(crate) token: u64,
    /// When this state began, in milliseconds since 1970 by the arbiter's wall clock. For display only.
    pub(crate) since_unix_ms: u64,
    #[schema(value_type = ReasonSchema)]
    pub(crate) reason: ChangeReason,
    /// Whether a majority confirmed this state. Otherwise it is the last one that this node heard of.
    pub(crate) current: bool,
}

impl OfficeView {
    /// Identifies the change that led to this state; the same on every node.
    pub(crate) fn change_id(&self) -> ChangeId {
        ChangeId { token: self.token, is_vacant: self.holder.is_none() }
    }
}

impl From<OfficeStatus> for OfficeView {
    fn from(status: OfficeStatus) -> OfficeView {
        let OfficeStatus { office, mode, holder, address, token, since_unix_ms, reason, current } = status;
        OfficeView { office, mode, holder, address, token, since_unix_ms, reason, current }
    }
}

/// Identifies a change of an office: `17.0` if it was granted with token 17, `17.1` if it then became vacant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChangeId {
    token: u64,
    is_vacant: bool,
}

impl ChangeId {
    pub(crate) fn of(change: &Change) -> ChangeId {
        ChangeId { token: change.token, is_vacant: change.holder.is_none() }
    }

    pub(crate) fn parse(text: &str) -> Option<ChangeId> {
        let (token, phase) = text.trim().split_once('.')?;
        let is_vacant = match phase {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        token.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
        Some(ChangeId { token: token.parse().ok()?, is_vacant })
    }
}

impl std::fmt::Display for ChangeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.token, u8::from(self.is_vacant))
    }
}

/// `exclusive`: the next holder waits until the lease of the last one has expired. `fenced`: it does not.
#[derive(ToSchema)]
#[schema(as = Mode, rename_all = "kebab-case")]
#[allow(dead_code, reason = "describes the type of another crate")]
pub(crate) enum ModeSchema {
    Exclusive,
    Fenced,
}

/// Why an office changed hands.
#[derive(ToSchema)]
#[schema(as = Reason, rename_all = "kebab-case")]
#[allow(dead_code, reason = "describes the type of another crate")]
pub(crate) enum ReasonSchema {
    Vacant,
    Disconnected,
    Silent,
    Expired,
    Resigned,
    Left,
    Preempted,
    Transferred,
    Unhealthy,
    Removed,
    Elected,
    ModeMismatch,
}

/// What a member may do: `elector` votes and leads, `witness` votes, `observer` does neither.
#[derive(ToSchema)]
#[schema(as = Role, rename_all = "kebab-case")]
#[allow(dead_code, reason = "describes the type of another crate")]
pub(crate) enum RoleSchema {
    Elector,
    Witness,
    Observer,
}

/// A page of offices, in the order of their names.
#[derive(Serialize, ToSchema)]
pub(crate) struct OfficePage {
    pub(crate) offices: Vec<OfficeView>,
    /// The value of `after` for the next page; null on the last one.
    #[schema(required)]
    pub(crate) next: Option<String>,
}

/// Whether this node holds an office.
#[derive(Serialize, ToSchema)]
pub(crate) struct LeaderView {
    /// The name of this node.
    pub(crate) node: String,
    /// Whether this node holds the office.
    pub(crate) is_leader: bool,
    #[serde(flatten)]
    pub(crate) status: OfficeView,
}

/// The state of the cluster.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClusterView {
    /// The name of the cluster.
    cluster: String,
    /// The name of this node.
    node: String,
    /// The election algorithm.
    algorithm: String,
    /// Who decides: `raft`, or `none`.
    arbiter: String,
    /// The member that leads the arbiter.
    #[schema(required)]
    arbiter_leader: Option<String>,
    /// Grows with every change of the arbiter's leader.
    term: u64,
    /// Whether a majority confirmed this state after the request arrived.
    current: bool,
    /// Whether elections are paused.
    paused: bool,
    /// What is wrong with this node's disk; null if it takes writes.
    #[schema(required)]
    disk: Option<DiskView>,
    members: Vec<MemberView>,
}

impl From<Status> for ClusterView {
    fn from(status: Status) -> ClusterView {
        ClusterView {
            cluster: status.cluster,
            node: status.node,
            algorithm: status.algorithm,
            arbiter: status.arbiter,
            arbiter_leader: status.arbiter_leader,
            term: status.term,
            current: status.current,
            paused: status.paused,
            disk: status.disk.map(|DiskFailure { error, since_unix_ms }| DiskView { error, since_unix_ms }),
            members: status.members.into_iter().map(MemberView::from).collect(),
        }
    }
}

/// A disk that does not take writes. Until a write succeeds, its node neither votes nor takes offices.
#[derive(Serialize, ToSchema)]
struct DiskView {
    /// The last error, for people.
    error: String,
    /// Since when no write has succeeded, in milliseconds since 1970.
    since_unix_ms: u64,
}

/// A member, as this node sees it.
#[derive(Serialize, ToSchema)]
struct MemberView {
    id: u64,
    name: String,
    /// The address that peers connect to, `host:port`.
    address: String,
    #[schema(value_type = RoleSchema)]
    role: Role,
    priority: u32,
    /// The last health score that the member reported, 0 to 100.
    health: u8,
    /// Whether this node considers the member alive.
    up: bool,
    /// Whether the member says that its disk does not take writes.
    disk_fails: bool,
    /// Whether the member is to become a voter, but has not caught up yet.
    joining: bool,
    /// The parts of the configuration in which the member differs from this node.
    differs_in: Vec<String>,
}

impl From<MemberStatus> for MemberView {
    fn from(member: MemberStatus) -> MemberView {
        MemberView {
            id: member.id,
            name: member.name,
            address: member.address,
            role: member.role,
            priority: member.priority,
            health: member.health,
            up: member.up,
            disk_fails: member.disk_fails,
            joining: member.joining,
            differs_in: member.differs_in,
        }
    }
}

/// The last changes, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct HistoryView {
    pub(crate) changes: Vec<ChangeView>,
}

/// A change of an office.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChangeView {
    pub(crate) office: String,
    /// The new holder; null if the office became vacant.
    #[schema(required)]
    pub(crate) holder: Option<String>,
    pub(crate) token: u64,
    #[schema(value_type = ReasonSchema)]
    pub(crate) reason: ChangeReason,
    /// In milliseconds since 1970 by the arbiter's wall clock. For display only.
    pub(crate) since_unix_ms: u64,
}

impl From<Change> for ChangeView {
    fn from(change: Change) -> ChangeView {
        let Change { office, holder, token, reason, since_unix_ms } = change;
        ChangeView { office, holder, token, reason, since_unix_ms }
    }
}

/// A campaign for an office.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CampaignRequest {
    /// The mode that the program expects; any if absent.
    #[schema(value_type = Option<ModeSchema>)]
    pub(crate) mode: Option<Mode>,
    /// How long the session lasts without a renewal. Default: three leases, at least a second.
    #[schema(minimum = 100, maximum = 3_600_000)]
    #[serde(default, deserialize_with = "json::whole_number")]
    pub(crate) ttl_ms: Option<u64>,
    /// How long to wait for the office before answering.
    #[schema(maximum = 20_000)]
    #[serde(default, deserialize_with = "json::whole_number")]
    pub(crate) wait_ms: Option<u64>,
}

/// The renewal of a session.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenewRequest {
    /// The session, from the answer to the campaign.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub(crate) session: String,
    /// The token whose work has stopped: the answer to the state `stop`. The session goes on campaigning.
    #[serde(default, deserialize_with = "json::whole_number")]
    pub(crate) stopped: Option<u64>,
    /// How long to wait for a change of the state since the last answer.
    #[schema(maximum = 20_000)]
    #[serde(default, deserialize_with = "json::whole_number")]
    pub(crate) wait_ms: Option<u64>,
}

/// The end of a session: its work has stopped.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResignRequest {
    /// The session, from the answer to the campaign.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub(crate) session: String,
}

/// A transfer of an office.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransferRequest {
    /// The member that is to hold the office; any other than the holder if absent.
    #[schema(pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    pub(crate) to: Option<String>,
}

/// A pause of elections: an empty object.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseRequest {}

/// Whether elections are paused.
#[derive(Serialize, ToSchema)]
pub(crate) struct PausedView {
    pub(crate) paused: bool,
}

/// What a session is told.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionView {
    /// Names the session in later requests. It is a secret: whoever has it can resign.
    pub(crate) session: String,
    pub(crate) office: String,
    /// The node that campaigns for the client.
    pub(crate) node: String,
    pub(crate) state: SessionState,
    /// The token; absent while the office was never held.
    #[schema(required)]
    pub(crate) token: Option<u64>,
    /// How long the client may act, counted from when it *sent* this request; 0 unless the office is held.
    pub(crate) lease_ms: u64,
    /// How long before that the client should begin to stop.
    pub(crate) stop_ms: u64,
    /// When to renew next, from now.
    pub(crate) renew_ms: u64,
    /// How long the session lasts without a renewal.
    pub(crate) ttl_ms: u64,
    /// Why the office is to be given up, or was lost.
    #[schema(value_type = Option<ReasonSchema>, required)]
    pub(crate) reason: Option<ChangeReason>,
}

/// What a session's client may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SessionState {
    /// It campaigns, and must not act.
    Waiting,
    /// It holds the office, and may act for `lease_ms`.
    Held,
    /// It must stop within `lease_ms`, and say so by `resign` or by `renew` with `stopped`.
    Stop,
    /// It held the office and lost it. It campaigns on.
    Lost,
    /// It has resigned; the session is over.
    Resigned,
}

/// Whether the node is alive or ready.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProbeView {
    pub(crate) ok: bool,
}

#[cfg(test)]
mod tests;
