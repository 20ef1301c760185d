//! What a node shows to a monitoring system. It is put together when asked for, from the table and the counters.

use hustings_protocol::Id;

use super::{Known, status};
use crate::api::{MemberMetrics, Metrics, OfficeMetrics, OtherOffices, ProcessMetrics};
use crate::clock::Timestamp;
use crate::core::context::Context;
use crate::core::table::Office;

/// The metrics of the core. The node adds those of its process.
pub(super) fn metrics(known: &Known<'_>, context: &mut Context<'_>) -> Metrics {
    let table = known.arbiter.table();
    context.out.metrics.grants.refresh(table);
    let (liveness, settings) = (context.liveness, context.settings);
    let voters = known.arbiter.voters();
    let members = table.members.values().map(|entry| {
        let id = entry.member.id;
        MemberMetrics {
            name: entry.member.name.clone(),
            own: id == settings.own,
            votes: voters.contains(&id),
            up: liveness.is_up(id),
            connected: liveness.is_connected(id),
            disk_fails: liveness.has_failing_disk(id),
            rtt_ns: None,
        }
    });
    let (offices, other_offices) = offices(known, context);
    let counted = &context.out.metrics;
    Metrics {
        cluster: settings.cluster.clone(),
        node: table.member_name(settings.own),
        role: settings.own_role(table),
        algorithm: settings.algorithm.name().to_string(),
        arbiter: known.arbiter.name().to_string(),
        health: liveness.health_of(settings.own),
        has_quorum: known.has_recent_quorum(context),
        paused: table.is_paused(),
        disk_fails: known.arbiter.disk_failure().is_some(),
        arbiter_leader: known.arbiter.coordinator().map(|id| table.member_name(id)),
        term: known.arbiter.epoch(),
        arbiter_leader_changes: counted.arbiter_leader_changes,
        members: members.collect(),
        offices,
        other_offices,
        elections: counted.elections().map(|(cause, count)| (cause.name().to_string(), count)).collect(),
        step_downs: counted.step_downs().collect(),
        counters: context.out.counters.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
        process: ProcessMetrics::default(),
    }
}

/// The offices that are shown one by one, and all others together.
fn offices(known: &Known<'_>, context: &Context<'_>) -> (Vec<OfficeMetrics>, OtherOffices) {
    let grants = &context.out.metrics.grants;
    let (mut shown, mut other) = (Vec::new(), OtherOffices { changes: grants.others(), ..OtherOffices::default() });
    let mut shortest = None;
    for (name, record) in known.arbiter.table().offices.iter() {
        let metrics = office(name, record, grants.of(name).unwrap_or(0), known, context);
        if grants.of(name).is_some() {
            shown.push(metrics);
            continue;
        }
        other.count += 1;
        other.led += u64::from(metrics.is_leader);
        other.with_leader += u64::from(metrics.has_leader);
        other.candidates = other.candidates.max(metrics.candidates);
        other.max_token = other.max_token.max(metrics.token);
        let remaining = Some(metrics.lease_remaining_ns).filter(|_| metrics.is_leader);
        shortest = shortest.into_iter().chain(remaining).min();
    }
    other.min_lease_remaining_ns = shortest.unwrap_or(0);
    (shown, other)
}

fn office(name: &str, record: &Office, changes: u64, known: &Known<'_>, context: &Context<'_>) -> OfficeMetrics {
    let deadline = known.local_leases.deadline(name, context).unwrap_or(Timestamp::ZERO);
    let lease_remaining_ns = match deadline {
        Timestamp::NEVER => u64::MAX,
        deadline => deadline.0.saturating_sub(context.now.0),
    };
    let is_candidate = |id: &Id| context.liveness.is_up(*id) && known.candidates.contains(*id, name);
    OfficeMetrics {
        office: name.to_string(),
        candidates: known.arbiter.table().members.keys().filter(|id| is_candidate(id)).count() as u64,
        is_leader: lease_remaining_ns > 0,
        has_leader: record.holder.is_some() && status::is_current(name, record, known, context),
        token: record.token,
        changes,
        lease_remaining_ns,
    }
}
