//! Requests that reached the coordinator.

use hustings_protocol::Id;

use super::Requester;
use super::errors::{self, refusal};
use crate::api::{Request, RequestError};
use crate::config::MAX_MEMBERS;
use crate::core::context::Context;
use crate::core::coordinator::{Coordinator, Known, respond};
use crate::core::table::{Command, Table};
use crate::member::Member;

/// How far a new member's id may be above the highest one so far. Ids are skipped when a member's files are written but
/// never used.
const MAX_ID_GAP: u64 = 1_000_000;

/// Carries out a request, or refuses it. The requester gets a response either way.
pub(in crate::core) fn handle_forwarded(
    requester: Requester,
    request: &Request,
    coordinator: &mut Coordinator,
    known: &mut Known<'_>,
    context: &mut Context<'_>,
) {
    if let Err(refusal) = carry_out(requester, request, coordinator, known, context) {
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
        Request::RemoveMember { name } => {
            let member = known.arbiter.table().member_by_name(name).ok_or_else(|| errors::unknown_member(name))?;
            Command::RemoveMember(member.id)
        }
        _ => return Err(refusal("bad-request", "the arbiter does not handle this request".to_string())),
    };
    coordinator.submit_for(requester, command, known, context)
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
