//! What clients are shown: the holders of offices, the members that are up, the history.

use hustings_protocol::Id;

use super::Known;
use super::errors::{self, refusal};
use crate::api::{
    Base64, Change, Completion, DiskFailure, MAX_STATE_PART_BYTES, MemberStatus, OfficeStatus, OfficeTerms, Reply,
    RequestError, StateInfo, StatePart, Status, Trace,
};
use crate::core::context::Context;
use crate::core::table::{HistoryEntry, Holder, Office, OfficeName, PIECE_BYTES, Table};

/// How many offices one reply lists at most. With the longest names and addresses, they fit into a line.
const MAX_STATUS_OFFICES: usize = 1_000;
/// How many states one reply lists at most.
const MAX_LISTED_STATES: usize = 1_000;

/// Whether the table's entry for an office is current, as far as this node knows: a quorum was in contact recently, the
/// holder is up, and, if the holder is this node, it still acts.
pub(super) fn is_current(office: &str, record: &Office, known: &Known<'_>, context: &Context<'_>) -> bool {
    let liveness = context.liveness;
    let is_present = |holder: Holder| {
        let is_same_incarnation =
            liveness.incarnation_of(holder.id).is_none_or(|incarnation| incarnation == holder.incarnation);
        liveness.is_in_view(holder.id)
            && is_same_incarnation
            && (holder.id != context.own() || known.local_leases.is_active_for(office))
    };
    known.has_recent_quorum(context) && record.holder.is_none_or(is_present)
}

/// The status of an office. It is shown as current only if a read has confirmed it.
pub(super) fn office_status(name: &str, is_confirmed: bool, known: &Known<'_>, context: &Context<'_>) -> OfficeStatus {
    let table = known.arbiter.table();
    let record = table.offices.get(name);
    let holder = record.and_then(|record| record.holder);
    let member = holder.and_then(|holder| table.members.get(&holder.id));
    let is_known_current = || match record {
        Some(record) => is_current(name, record, known, context),
        None => known.has_recent_quorum(context),
    };
    OfficeStatus {
        office: name.to_string(),
        mode: known.mode(name, context),
        holder: holder.map(|holder| table.member_name(holder.id)),
        address: member.map(|member| context.settings.address(member).to_string()),
        token: record.map_or(0, |record| record.token),
        since_unix_ms: record.map_or(0, |record| record.unix_ms),
        reason: record.map_or_else(Default::default, |record| record.cause),
        current: is_confirmed && is_known_current(),
    }
}

/// A trace without records: only the node remembers those.
pub(super) fn empty_trace(from: u64, known: &Known<'_>, context: &Context<'_>) -> Trace {
    let settings = context.settings;
    Trace {
        cluster: settings.cluster.clone(),
        node: known.arbiter.table().member_name(settings.own),
        incarnation: format!("{:016x}", settings.incarnation),
        now: context.now,
        now_unix_ms: context.unix_ms,
        first: 0,
        next: from,
        end: 0,
        clocks: Vec::new(),
        records: Vec::new(),
    }
}

/// The terms of an office for a holder on this node.
pub(super) fn terms(office: &str, known: &Known<'_>, context: &Context<'_>) -> Result<OfficeTerms, RequestError> {
    crate::config::office_name(office).map_err(|problem| refusal("bad-request", problem))?;
    let (settings, table) = (context.settings, known.arbiter.table());
    let policy = settings.policy(office);
    let terms = policy.terms(&settings.timing).bounded();
    Ok(OfficeTerms {
        cluster: settings.cluster.clone(),
        node: table.member_name(settings.own),
        office: office.to_string(),
        mode: known.mode(office, context),
        lease: settings.holder_lease(terms),
        stop: terms.stop,
    })
}

/// The record that a key was completed by a holder of an office.
pub(super) fn completion(office: &str, key: &str, table: &Table) -> Option<Completion> {
    let entry = table.completions.get(office, key)?;
    Some(Completion { holder: table.member_name(entry.holder), token: entry.token, unix_ms: entry.unix_ms })
}

/// The last changes of one office, or of all offices.
pub(super) fn history(table: &Table, office: Option<&str>) -> Vec<Change> {
    let entries = office.map_or_else(|| table.offices.last_changes(), |office| table.offices.changes_of(office));
    let change = |(name, entry): (&OfficeName, &HistoryEntry)| Change {
        office: name.to_string(),
        holder: entry.holder.map(|id| table.member_name(id)),
        token: entry.token,
        reason: entry.cause,
        since_unix_ms: entry.unix_ms,
    };
    entries.into_iter().map(change).collect()
}

/// Where a member's configuration differs from this node's although it must not.
fn differences(id: Id, context: &Context<'_>) -> Vec<&'static str> {
    let digest = context.liveness.peer(id).and_then(|peer| peer.digest);
    digest.map_or_else(Vec::new, |digest| context.settings.digest.differences(&digest))
}

/// The offices after this one, and the name of the last of them if there are more.
pub(super) fn offices(
    after: Option<&str>,
    limit: Option<usize>,
    is_confirmed: bool,
    known: &Known<'_>,
    context: &Context<'_>,
) -> (Vec<OfficeStatus>, Option<String>) {
    let mut names = known.arbiter.table().offices.names_after(after);
    let page: Vec<OfficeStatus> = (&mut names)
        .take(limit.unwrap_or(MAX_STATUS_OFFICES).clamp(1, MAX_STATUS_OFFICES))
        .map(|office| office_status(office, is_confirmed, known, context))
        .collect();
    let next = names.next().and(page.last()).map(|last| last.office.clone());
    (page, next)
}

pub(super) fn status(is_confirmed: bool, known: &Known<'_>, context: &Context<'_>) -> Status {
    let (table, liveness, settings) = (known.arbiter.table(), context.liveness, context.settings);
    let name = |id: Id| table.member_name(id);
    let failure = known.arbiter.disk_failure();
    let disk_fails = |id| if id == settings.own { failure.is_some() } else { liveness.has_failing_disk(id) };
    let members = table.members.values().map(|known| MemberStatus {
        id: known.member.id.0,
        name: known.member.name.clone(),
        address: settings.address(known).to_string(),
        role: known.member.role,
        priority: known.member.priority,
        health: liveness.health_of(known.member.id),
        up: liveness.is_up(known.member.id),
        disk_fails: disk_fails(known.member.id),
        joining: known.is_joining,
        differs_in: differences(known.member.id, context).into_iter().map(str::to_string).collect(),
        certificate_not_after_unix_s: None,
    });
    let (offices, next_office) = offices(None, None, is_confirmed, known, context);
    Status {
        cluster: settings.cluster.clone(),
        node: name(settings.own),
        algorithm: settings.algorithm.name().to_string(),
        arbiter: known.arbiter.name().to_string(),
        arbiter_leader: known.arbiter.coordinator().map(name),
        term: known.arbiter.epoch(),
        current: is_confirmed && known.has_recent_quorum(context),
        paused: table.is_paused(),
        disk: failure.map(|failure| DiskFailure {
            error: failure.error.clone(),
            since_unix_ms: context.unix_ms.saturating_sub(context.now.since(failure.since).as_millis() as u64),
        }),
        missing_founders: known.arbiter.missing_founders().into_iter().map(name).collect(),
        members: members.collect(),
        offices,
        next_office,
        counters: context.out.counters.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
        certificate: None,
        host: Vec::new(),
        realtime: None,
    }
}

/// Checks that this arbiter keeps states.
pub(super) fn check_states(known: &Known<'_>) -> Result<(), RequestError> {
    if known.arbiter.keeps_states() { Ok(()) } else { Err(errors::no_states()) }
}

/// Checks a request for the state of an office.
pub(super) fn check_state(office: &str, known: &Known<'_>) -> Result<(), RequestError> {
    check_states(known)?;
    crate::config::office_name(office).map_err(|problem| refusal("bad-request", problem))
}

/// The states of the offices after this one, and the office of the last of them if there are more.
pub(super) fn states(after: Option<&str>, table: &Table) -> Reply {
    let mut following = table.states.after(after);
    let page = (&mut following).take(MAX_LISTED_STATES).map(|(office, entry)| StateInfo {
        office: office.to_string(),
        bytes: entry.size,
        holder: table.member_name(entry.holder),
        token: entry.token,
        revision: entry.blob,
        unix_ms: entry.unix_ms,
    });
    let states: Vec<StateInfo> = page.collect();
    let next = following.next().and(states.last()).map(|last| last.office.clone());
    Reply::States { states, next }
}

/// A part of the state of an office; `None` if it has none.
pub(super) fn state_part(office: &str, offset: u64, known: &Known<'_>) -> Option<StatePart> {
    let table = known.arbiter.table();
    let entry = table.states.get(office)?;
    let pieces = known.arbiter.blob(entry.blob)?;
    let offset = offset.min(entry.size);
    let first = (offset / PIECE_BYTES as u64) as usize;
    let mut data = Vec::new();
    for piece in &pieces[first.min(pieces.len())..] {
        if data.len() >= MAX_STATE_PART_BYTES + PIECE_BYTES {
            break;
        }
        data.extend_from_slice(piece);
    }
    let skipped = ((offset - (first * PIECE_BYTES) as u64) as usize).min(data.len());
    data.drain(..skipped);
    data.truncate(MAX_STATE_PART_BYTES);
    Some(StatePart {
        revision: entry.blob,
        holder: table.member_name(entry.holder),
        token: entry.token,
        unix_ms: entry.unix_ms,
        bytes: entry.size,
        crc32: entry.checksum,
        offset,
        data: Base64(data.into()),
    })
}
