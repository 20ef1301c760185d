//! Requests of clients and operators. Some are answered by the node itself; the others are forwarded to the arbiter's
//! leader.

use hustings_protocol::Id;
use raft::eraftpb::{ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2};

use super::read_index::Reader;
use super::table::Command;
use super::{ClientId, Core, LEADER};
use crate::api::{Reply, Request, RequestError};
use crate::clock::Timestamp;
use crate::config::{MAX_MEMBERS, MAX_OFFICES, Mode};
use crate::member::{Member, Role};
use crate::wire::{ForwardedRequest, Message};

/// How many forwarded requests may wait for a response.
const MAX_PENDING: usize = 256;
/// How many offices one client may campaign for.
const MAX_CAMPAIGNS: usize = 2_000;

/// How many offices one client may watch by name.
const MAX_WATCHES: usize = 2_000;

/// How far a new member's id may be above the highest one so far. Ids are skipped when a member's files are written but
/// never used.
const MAX_ID_GAP: u64 = 1_000_000;

/// Who waits for the outcome of a forwarded request: the node, and its number for the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Requester {
    pub(super) node: Id,
    pub(super) number: u64,
}

/// A request that was forwarded and not answered yet.
pub(super) struct PendingRequest {
    client: ClientId,
    deadline: Timestamp,
}

fn refusal(code: &str, message: String) -> RequestError {
    RequestError { code: code.to_string(), message }
}

pub(super) fn not_held(office: &str) -> RequestError {
    refusal("not-held", format!("nobody holds the office `{office}`"))
}
pub(super) fn unknown_member(name: &str) -> RequestError {
    refusal("unknown-member", format!("there is no member `{name}`"))
}
pub(super) fn not_ready(name: &str, office: &str) -> RequestError {
    refusal("not-ready", format!("`{name}` is down, unhealthy, or not a candidate for the office `{office}`"))
}
pub(super) fn busy(office: &str) -> RequestError {
    refusal("busy", format!("a handover of the office `{office}` is already in progress"))
}
pub(super) fn timed_out(office: &str) -> RequestError {
    refusal(
        "timed-out",
        format!(
            "the office `{office}` was not handed over in time; `hustings leader {office}` shows the current holder"
        ),
    )
}
pub(super) fn went_elsewhere(office: &str) -> RequestError {
    refusal("elsewhere", format!("the office `{office}` went to another node in the meantime"))
}
pub(super) fn paused() -> RequestError {
    refusal("paused", "elections are paused; `hustings resume` resumes them".to_string())
}
pub(super) fn too_many_requests() -> RequestError {
    refusal("busy", "too many requests of this client are pending".to_string())
}
fn no_majority() -> RequestError {
    refusal("no-majority", "this node reaches no leader of the arbiter: there may be no majority".to_string())
}
fn no_arbiter() -> RequestError {
    refusal("no-arbiter", "this cluster has no arbiter (arbiter = \"none\"), which this request needs".to_string())
}

impl Core {
    /// Handles a client's request.
    pub(super) fn dispatch_request(&mut self, client: ClientId, request: Request) {
        let reply = match request {
            Request::History { office } => Reply::History { changes: self.history(office.as_deref()) },
            Request::Watch { ref office } => {
                let watched = self.watchers.entry(client).or_default();
                if watched.len() >= MAX_WATCHES {
                    let message = format!(
                        "a client may watch at most {MAX_WATCHES} offices by name; it may also watch all of them at once"
                    );
                    return self.reply(client, Reply::Error(refusal("too-many", message)));
                }
                if !watched.contains(office) {
                    watched.push(office.clone());
                }
                return self.begin_read(Reader::Client(client, request));
            }
            Request::Status | Request::Leader { .. } => return self.begin_read(Reader::Client(client, request)),
            Request::Campaign { office, mode } => match self.check_campaign(client, &office, mode) {
                Ok(()) => {
                    self.reply(client, Reply::Done);
                    self.campaign(client, &office, mode);
                    return;
                }
                Err(refusal) => Reply::Error(refusal),
            },
            Request::Withdraw { office } => {
                self.withdraw(client, &office, true);
                Reply::Done
            }
            Request::Stopped { office, token } => {
                self.handle_client_stopped(client, &office, token);
                Reply::Done
            }
            request => match self.forward(client, &request) {
                Ok(()) => return,
                Err(refusal) => Reply::Error(refusal),
            },
        };
        self.reply(client, reply);
    }

    fn check_campaign(&self, client: ClientId, office: &str, mode: Option<Mode>) -> Result<(), RequestError> {
        if let Err(problem) = crate::config::office_name(office) {
            return Err(refusal("bad-request", problem));
        }
        if self.settings.role != Role::Elector {
            let role = self.settings.role;
            return Err(refusal("not-an-elector", format!("this node is a {role}, which never holds an office")));
        }
        if self.campaign_count(client) >= MAX_CAMPAIGNS {
            return Err(refusal("too-many", format!("a client may campaign for at most {MAX_CAMPAIGNS} offices")));
        }
        if !self.is_campaigning_for(office) && self.campaigned_offices() >= MAX_OFFICES {
            let message =
                format!("the clients of this node already campaign for {MAX_OFFICES} offices, which is the maximum");
            return Err(refusal("too-many", message));
        }
        if office != LEADER && !self.table.offices.contains_key(office) && self.table.remaining_capacity() == 0 {
            let message =
                format!("there are already {MAX_OFFICES} offices, which is the maximum, and all of them are held");
            return Err(refusal("too-many", message));
        }
        let known = self.table.offices.get(office).map_or(self.settings.policy(office).mode, |known| known.mode);
        match mode.filter(|mode| *mode != known) {
            Some(_) => Err(refusal("other-mode", format!("the office `{office}` is {known:?}").to_lowercase())),
            None => Ok(()),
        }
    }

    /// Forwards a request to the arbiter's leader.
    fn forward(&mut self, client: ClientId, request: &Request) -> Result<(), RequestError> {
        if self.consensus.is_none() {
            return Err(no_arbiter());
        }
        let leader = self.arbiter_leader().ok_or_else(no_majority)?;
        if self.pending_requests.len() >= MAX_PENDING {
            return Err(refusal("busy", "too many requests to the arbiter are pending".to_string()));
        }
        self.last_request += 1;
        let number = self.last_request;
        let deadline = self.now + self.settings.timing.hand_over * 2;
        self.pending_requests.insert(number, PendingRequest { client, deadline });
        if leader == self.settings.own {
            self.handle_forwarded_request(Requester { node: leader, number }, request);
        } else {
            self.send(leader, Message::ForwardedRequest(ForwardedRequest::new(number, request)));
        }
        Ok(())
    }

    /// Whether a client waits for a reply.
    pub(crate) fn has_pending_reply(&self, client: ClientId) -> bool {
        self.read_index.has_pending(client) || self.pending_requests.values().any(|pending| pending.client == client)
    }

    /// A request reached the arbiter's leader.
    pub(super) fn handle_forwarded_request(&mut self, requester: Requester, request: &Request) {
        let result = if !self.is_arbiter_leader() {
            Err(no_majority())
        } else {
            match request {
                Request::Resign { office } => self.resign(office, requester),
                Request::Transfer { office, to } => self.transfer(office, to, requester),
                Request::Pause => self.propose_command(requester, &Command::SetPaused(true)),
                Request::Resume => self.propose_command(requester, &Command::SetPaused(false)),
                Request::AddMember { id, name, address, priority, role } => {
                    let (name, address) = (name.clone(), address.clone());
                    self.add_member(requester, Member { id: Id(*id), name, address, priority: *priority, role: *role })
                }
                Request::RemoveMember { name } => self.remove_member(requester, name),
                _ => Err(refusal("bad-request", "the arbiter does not handle this request".to_string())),
            }
        };
        if let Err(refusal) = result {
            self.respond(requester, Err(refusal));
        }
    }

    /// Proposes a command. The requester gets a response when it is committed.
    fn propose_command(&mut self, requester: Requester, command: &Command) -> Result<(), RequestError> {
        let consensus = self.consensus.as_mut().ok_or_else(no_arbiter)?;
        if !consensus.propose(command.encode()) {
            return Err(no_majority());
        }
        let index = consensus.last_index();
        self.pending_proposals.push((index, requester));
        Ok(())
    }

    fn add_member(&mut self, requester: Requester, member: Member) -> Result<(), RequestError> {
        let Member { id, ref name, role, .. } = member;
        if self.table.member_by_name(name).is_some() {
            return Err(refusal("known-member", format!("there is already a member `{name}`")));
        }
        if self.table.members.len() >= MAX_MEMBERS {
            return Err(refusal("too-many", format!("a cluster has at most {MAX_MEMBERS} members")));
        }
        let max_id = self.table.max_member_id;
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
        crate::config::member_problem(&member).map_or(Ok(()), |problem| Err(refusal("bad-request", problem)))?;
        let kind = if role.votes() { ConfChangeType::AddNode } else { ConfChangeType::AddLearnerNode };
        let context = postcard::to_allocvec(&Some(&member)).expect("a member is plain data");
        self.change_membership(requester, id, kind, context)
    }

    fn remove_member(&mut self, requester: Requester, name: &str) -> Result<(), RequestError> {
        let id = self.table.member_by_name(name).map(|member| member.id).ok_or_else(|| unknown_member(name))?;
        if self.consensus.as_ref().is_some_and(|consensus| consensus.voters() == [id]) {
            return Err(refusal(
                "last-voter",
                format!("`{name}` is the only voter; without it, the cluster could not decide anything"),
            ));
        }
        let context = postcard::to_allocvec(&None::<&Member>).expect("an empty option is plain data");
        self.change_membership(requester, id, ConfChangeType::RemoveNode, context)
    }

    fn change_membership(
        &mut self,
        requester: Requester,
        id: Id,
        kind: ConfChangeType,
        context: Vec<u8>,
    ) -> Result<(), RequestError> {
        let mut change = ConfChangeV2::default();
        let mut single = ConfChangeSingle { node_id: id.0, ..Default::default() };
        single.set_change_type(kind);
        change.mut_changes().push(single);
        change.set_transition(ConfChangeTransition::Auto);
        let consensus = self.consensus.as_mut().ok_or_else(no_arbiter)?;
        if !consensus.propose_membership(change, context) {
            return Err(refusal("busy", "another membership change is in progress".to_string()));
        }
        let index = consensus.last_index();
        self.pending_proposals.push((index, requester));
        Ok(())
    }

    /// Sends the outcome of a forwarded request to the requester.
    pub(super) fn respond(&mut self, requester: Requester, result: Result<(), RequestError>) {
        if requester.node == self.settings.own {
            self.handle_forwarded_response(requester.number, result);
        } else {
            self.send(requester.node, Message::ForwardedResponse { number: requester.number, result });
        }
    }

    /// Responds to the requesters of entries up to and including `applied`.
    pub(super) fn answer_committed(&mut self, applied: u64) {
        let (done, rest) =
            std::mem::take(&mut self.pending_proposals).into_iter().partition(|(index, _)| *index <= applied);
        self.pending_proposals = rest;
        let done: Vec<(u64, Requester)> = done;
        done.into_iter().for_each(|(_, requester)| self.respond(requester, Ok(())));
    }

    /// The outcome of a forwarded request arrived.
    pub(super) fn handle_forwarded_response(&mut self, number: u64, result: Result<(), RequestError>) {
        if let Some(pending) = self.pending_requests.remove(&number) {
            let reply = result.map_or_else(Reply::Error, |()| Reply::Done);
            self.reply(pending.client, reply);
        }
    }

    /// Refuses requests that were not answered in time. Returns when the next one is due.
    pub(super) fn expire_requests(&mut self) -> Timestamp {
        let expired: Vec<u64> = self
            .pending_requests
            .iter()
            .filter(|(_, pending)| pending.deadline <= self.now)
            .map(|(number, _)| *number)
            .collect();
        for number in expired {
            let message = "the arbiter's leader did not answer in time; the request may still take effect".to_string();
            self.handle_forwarded_response(number, Err(refusal("timed-out", message)));
        }
        self.pending_requests.values().map(|pending| pending.deadline).min().unwrap_or(Timestamp::NEVER)
    }
}
