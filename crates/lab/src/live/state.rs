//! Everything that the page shows at once, as JSON.

use std::time::{SystemTime, UNIX_EPOCH};

use hustings_cluster::api::{Change, MemberStatus, Status};
use serde_json::{Value, json};

use super::ControlView;
use super::measured::Measured;
use super::monitor::Known;
use super::offices;

/// How many changes of the leader are shown.
const MAX_CHANGES: usize = 20;

/// The state. `control` is absent if the page may only read.
pub(super) fn describe(known: &Known, control: Option<ControlView>) -> Value {
    let best = known.answers.iter().flatten().max_by_key(|status| status.current);
    let members: Vec<Value> =
        best.map_or_else(Vec::new, |best| best.members.iter().map(|member| describe_member(member, known)).collect());
    let status = best;
    json!({
        "now_unix_ms": SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
        "cluster": status.map(|status| &status.cluster),
        "seen_by": status.map(|status| &status.node),
        "current": status.is_some_and(|status| status.current),
        "algorithm": status.map(|status| &status.algorithm),
        "arbiter": status.map(|status| &status.arbiter),
        "arbiter_leader": status.and_then(|status| status.arbiter_leader.as_ref()),
        "term": status.map(|status| status.term),
        "paused": status.is_some_and(|status| status.paused),
        "leader": known.offices.leader().map(offices::describe),
        "members": members,
        "offices": { "total": known.offices.count(), "held": known.offices.held() },
        "history": known.history.iter().rev().take(MAX_CHANGES).map(describe_change).collect::<Vec<_>>(),
        // The picture is large, and asked for when this changes.
        "failover": (!known.failover.content.is_null()).then_some(known.failover.token),
        "control": control,
    })
}

fn describe_change(change: &Change) -> Value {
    let mut value = json!(change);
    value["why"] = change.reason.to_string().into();
    value
}

/// A member: what the best informed node says about it, and what it says itself.
fn describe_member(member: &MemberStatus, known: &Known) -> Value {
    let mut value = json!(member);
    let answers = known.answers.iter().zip(&known.measured);
    let own = answers.filter_map(|(status, measured)| Some((status.as_ref()?, measured.as_ref())));
    let own = own.into_iter().find(|(status, _)| status.node == member.name);
    value["says"] = own.map_or(Value::Null, |(status, measured)| describe_status(status, measured));
    value
}

fn describe_status(status: &Status, measured: Option<&Measured>) -> Value {
    let peers: Vec<Value> = status
        .members
        .iter()
        .filter(|peer| peer.name != status.node)
        .map(|peer| json!({ "name": peer.name, "up": peer.up }))
        .collect();
    json!({
        "current": status.current,
        "arbiter_leader": status.arbiter_leader,
        "term": status.term,
        "peers": peers,
        "measured": measured.map(Measured::describe),
    })
}
