//! Requests that reached the coordinator.

use hustings_protocol::Id;

use super::Requester;
use super::errors::{self, refusal};
use crate::api::{Request, RequestError};
use crate::config::MAX_MEMBERS;
use crate::core::context::Context;
use crate::core::coordinator::{Coordinator, Known, respond};
use crate::core::table::{Command, Table, check_key};
use crate::member::{Member, Role};
use crate::wire::ForwardedRequest;

/// How far a new member's id may be above the highest one so far. Ids are skipped when a member's files are written but
/// never used.
const MAX_ID_GAP: u64 = 1_000_000;

/// The number of a submitted change that nobody waits for.
const UNATTENDED: u64 = 0;

/// Carries out a request, or refuses it. The requester gets a response either way.
pub(in crate::core) fn handle_forwarded(
    requester: Requester,
    forwarded: &ForwardedRequest,
    coordinator: &mut Coordinator,
    known: &mut Known<'_>,
    context: &mut Context<'_>,
) {
    let Ok(request) = forwarded.parse() else { return };
    let may_ask = requester.node == context.own() || known.arbiter.votes(requester.node);
    let result = match may_ask {
        true => carry_out(requester, &request, coordinator, known, context),
        false => Err(errors::observer()),
    };
    if let Err(refusal) = result {
        respond(requester, Err(refusal), context);
    }
}

fn carry_out(
    requester: Requester,
    request: &Request,
    coordinator: &mut Coordinator,
    known: &mut Known<'_>,
    context: &mut Context<'_>,
) -> Result<(), RequestError> {
    if known.arbiter.coordinator() != Some(context.own()) {
        return Err(errors::no_majority());
    }
    let command = match request {
        Request::Resign { office } => return coordinator.resign(office, requester, known, context),
        Request::Transfer { office, to } => return coordinator.transfer(office, to, requester, known, context),
        Request::Pause => Command::set_paused(true),
        Request::Resume => Command::set_paused(false),
        Request::AddMember { id, name, address, priority, role } => {
            let (name, address) = (name.clone(), address.clone());
            let member = Member { id: Id(*id), name, address, priority: *priority, role: *role };
            check_new_member(&member, known.arbiter.table())?;
            Command::SetMember(member)
        }
        Request::RemoveMember { name, force } => {
            let member = known.arbiter.table().member_by_name(name).ok_or_else(|| errors::unknown_member(name))?;
            let id = member.id;
            if !force {
                check_majority_without(id, known, context)?;
            }
            Command::RemoveMember(id)
        }
        Request::SetMember { name, priority, role, address, force } => {
            let table = known.arbiter.table();
            let former = table.member_by_name(name).ok_or_else(|| errors::unknown_member(name))?.clone();
            let mut member = former.clone();
            member.priority = priority.unwrap_or(former.priority);
            member.role = role.unwrap_or(former.role);
            member.address = address.clone().unwrap_or(former.address);
            check_changed_member(&member, table)?;
            if !force && !member.role.votes() {
                check_majority_without(member.id, known, context)?;
            }
            if address.is_some() {
                retire_configured_address(&member, known, context)?;
            }
            Command::SetMember(member)
        }
        Request::Complete { office, token, key } => {
            check_completion(office, key)?;
            Command::Complete {
                office: office.as_str().into(),
                token: *token,
                key: key.clone(),
                unix_ms: context.unix_ms,
            }
        }
        Request::DeleteState { office, token } => {
            check_deletion(office, *token, known)?;
            Command::DeleteState { office: office.as_str().into(), token: *token }
        }
        _ => return Err(refusal("bad-request", "the arbiter does not handle this request".to_string())),
    };
    coordinator.submit_for(requester, command, known, context)
}

/// Checks the names in a request about a completion.
pub(super) fn check_completion(office: &str, key: &str) -> Result<(), RequestError> {
    let checked = crate::config::office_name(office).and_then(|()| check_key(key));
    checked.map_err(|problem| refusal("bad-request", problem))
}

/// Refuses to delete what is not there, or what is another holder's. If this node does not know all that was decided
/// yet, the arbiter decides.
fn check_deletion(office: &str, token: Option<u64>, known: &Known<'_>) -> Result<(), RequestError> {
    if !known.arbiter.keeps_states() {
        return Err(errors::no_states());
    }
    crate::config::office_name(office).map_err(|problem| refusal("bad-request", problem))?;
    if !known.arbiter.is_established() {
        return Ok(());
    }
    let table = known.arbiter.table();
    let is_held_with =
        |token| table.offices.get(office).is_some_and(|known| known.token == token && known.holder.is_some());
    match table.states.get(office) {
        _ if token.is_some_and(|token| !is_held_with(token)) => Err(errors::stale_token()),
        None => Err(errors::no_state(office)),
        Some(_) => Ok(()),
    }
}

/// Refuses to take a voter out if the others would not have a majority that is up.
fn check_majority_without(id: Id, known: &Known<'_>, context: &Context<'_>) -> Result<(), RequestError> {
    let voters = known.arbiter.voters();
    let left: Vec<Id> = voters.iter().copied().filter(|voter| *voter != id).collect();
    let down: Vec<Id> = left.iter().copied().filter(|voter| !context.liveness.is_up(*voter)).collect();
    if left.is_empty() || left.len() == voters.len() || 2 * down.len() < left.len() {
        return Ok(());
    }
    let names: Vec<String> = down.into_iter().map(|id| known.arbiter.table().member_name(id)).collect();
    Err(errors::no_live_majority(left.len(), &names))
}

fn check_changed_member(member: &Member, table: &Table) -> Result<(), RequestError> {
    let others = || table.members.values().map(|known| &known.member).filter(|other| other.id != member.id);
    if member.role != Role::Elector && !others().any(|other| other.role == Role::Elector) {
        let message = format!("`{}` is the only elector; without it, nobody could hold an office", member.name);
        return Err(refusal("last-elector", message));
    }
    if let Some(other) = others().find(|other| other.address == member.address) {
        return Err(refusal("bad-request", format!("`{}` already has the address {}", other.name, other.address)));
    }
    crate::config::member_problem(member).map_or(Ok(()), |problem| Err(refusal("bad-request", problem)))
}

/// A member gets another address. If this node's configuration has an address that the table does not know, that one is
/// outdated too.
fn retire_configured_address(
    member: &Member,
    known: &mut Known<'_>,
    context: &mut Context<'_>,
) -> Result<(), RequestError> {
    let Some(entry) = known.arbiter.table().members.get(&member.id) else { return Ok(()) };
    let configured = context.settings.address(entry).to_string();
    if configured == entry.member.address || configured == member.address {
        return Ok(());
    }
    known.arbiter.submit(UNATTENDED, Command::RetireAddress { id: member.id, address: configured }, context)
}

fn check_new_member(member: &Member, table: &Table) -> Result<(), RequestError> {
    let Member { id, name, .. } = member;
    if table.member_by_name(name).is_some() {
        return Err(refusal("known-member", format!("there is already a member `{name}`")));
    }
    if table.members.len() >= MAX_MEMBERS {
        return Err(refusal("too-many", format!("a cluster has at most {MAX_MEMBERS} members")));
    }
    let max_id = table.max_member_id;
    if id.0 <= max_id {
        let message = format!(
            "`{name}` has the id {id}, but ids up to {max_id} are already taken; run \
             `hustings members remove {name} --dir DIR`, delete its folder, and add it again"
        );
        return Err(refusal("known-number", message));
    }
    if id.0 - max_id > MAX_ID_GAP {
        let message = format!("the id {id} is too far above {max_id}, the highest id so far");
        return Err(refusal("bad-request", message));
    }
    crate::config::member_problem(member).map_or(Ok(()), |problem| Err(refusal("bad-request", problem)))
}
