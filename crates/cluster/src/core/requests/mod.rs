//! Requests of clients and operators. Some are answered by the node itself; the others are forwarded to the
//! coordinator.

mod campaigns;
pub(super) mod errors;
mod metrics;
mod operations;
mod reads;
mod status;
mod uploads;
mod watchers;

use std::collections::BTreeMap;

use hustings_protocol::Id;

pub(super) use self::campaigns::check_campaign;
use self::errors::refusal;
pub(super) use self::operations::handle_forwarded;
use self::reads::{Reader, Reads};
use self::uploads::{Part, Uploads};
use self::watchers::Watchers;
use super::arbiter::Arbiter;
use super::context::Context;
use super::elections::Candidates;
use super::local_leases::LocalLeases;
use super::normalise::Normalise;
use super::table::OfficeName;
use super::{ClientId, Output};
use crate::api::{Reply, Request, RequestError};
use crate::clock::Timestamp;
use crate::config::Mode;
use crate::wire::{ForwardedRequest, Message};

/// How many forwarded requests may wait for a response.
const MAX_PENDING: usize = 256;

/// Who waits for the outcome of a forwarded request: the node, and its number for the request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Requester {
    pub(super) node: Id,
    pub(super) number: u64,
}

/// A request that was forwarded and not answered yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct PendingRequest {
    client: ClientId,
    request: Request,
    deadline: Timestamp,
    /// The coordinator that it was sent to, with its epoch.
    sent_to: (Id, u64),
    /// Whether it waits for another coordinator.
    is_waiting: bool,
}

/// What the other parts know.
pub(super) struct Known<'a> {
    pub(super) arbiter: &'a mut dyn Arbiter,
    pub(super) local_leases: &'a LocalLeases,
    pub(super) candidates: &'a Candidates,
}

impl Known<'_> {
    /// The mode of an office: that of its grant or, while nobody holds it, the one in which this node claims it.
    fn mode(&self, office: &str, context: &Context<'_>) -> Mode {
        let held = self.arbiter.table().offices.get(office).filter(|record| record.holder.is_some());
        held.map_or(context.settings.policy(office).mode, |record| record.mode)
    }

    /// Whether a quorum was in contact with this node within the last lease.
    fn has_recent_quorum(&self, context: &Context<'_>) -> bool {
        let settings = context.settings;
        settings.deadline(self.arbiter.confirmed_at(), settings.timing.terms()) > context.now
    }
}

/// The requests that wait for something, and the clients that watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Requests {
    pending: BTreeMap<u64, PendingRequest>,
    last_number: u64,
    reads: Reads,
    uploads: Uploads,
    watchers: Watchers,
}

impl Requests {
    /// The requests of a node in this incarnation. Numbers start at a value derived from it, so that a response to an
    /// earlier incarnation does not match.
    pub(super) fn new(incarnation: u64) -> Self {
        Requests {
            reads: Reads::new(incarnation),
            uploads: Uploads::new(incarnation),
            last_number: incarnation / 2,
            ..Requests::default()
        }
    }

    /// Handles a request that does not concern local leases.
    pub(super) fn handle_request(
        &mut self,
        client: ClientId,
        request: Request,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) {
        match request {
            Request::History { office } => {
                let changes = status::history(known.arbiter.table(), office.as_deref());
                context.reply(client, Reply::History { changes });
            }
            Request::Metrics => {
                let metrics = metrics::metrics(known, context);
                context.reply(client, Reply::Metrics(Box::new(metrics)));
            }
            Request::Trace { from } => {
                let trace = status::empty_trace(from, known, context);
                context.reply(client, Reply::Trace(Box::new(trace)));
            }
            Request::Terms { office } => {
                let terms = status::terms(&office, known, context);
                context.reply(client, terms.map_or_else(Reply::Error, Reply::Terms));
            }
            // The node keeps the time.
            Request::KeepAlive { .. } => context.reply(client, Reply::Done),
            Request::Watch { ref office } => match self.watchers.add(client, office.as_deref(), context) {
                Ok(()) => self.begin_read(Reader::Client(client, request), known, context),
                Err(refusal) => context.reply(client, Reply::Error(refusal)),
            },
            Request::Status | Request::Offices { .. } | Request::Leader { .. } => {
                self.begin_read(Reader::Client(client, request), known, context);
            }
            Request::Completed { ref office, ref key } => match operations::check_completion(office, key) {
                Ok(()) => self.begin_read(Reader::Client(client, request), known, context),
                Err(refusal) => context.reply(client, Reply::Error(refusal)),
            },
            Request::GetState { ref office, .. } => match status::check_state(office, known) {
                Ok(()) => self.begin_read(Reader::Client(client, request), known, context),
                Err(refusal) => context.reply(client, Reply::Error(refusal)),
            },
            Request::States { .. } => match status::check_states(known) {
                Ok(()) => self.begin_read(Reader::Client(client, request), known, context),
                Err(refusal) => context.reply(client, Reply::Error(refusal)),
            },
            Request::PutState { office, token, bytes: size, offset, data } => {
                let part = Part { office, token, size, offset, data };
                self.uploads.handle_part(client, part, known, context);
            }
            request => {
                if let Err(refusal) = self.forward(client, &request, known, context) {
                    finish(client, request, Err(refusal), context);
                }
            }
        }
    }

    /// Forwards a request to the coordinator.
    fn forward(
        &mut self,
        client: ClientId,
        request: &Request,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), RequestError> {
        match request {
            Request::DeleteState { office, .. } => status::check_state(office, known)?,
            _ if !known.arbiter.has_authority() => return Err(errors::no_arbiter()),
            Request::Complete { office, key, .. } => operations::check_completion(office, key)?,
            _ => {}
        }
        let coordinator = known.arbiter.coordinator().ok_or_else(|| errors::no_leader(known, context))?;
        if self.pending.len() >= MAX_PENDING {
            return Err(refusal("busy", "too many requests to the arbiter are pending".to_string()));
        }
        self.last_number += 1;
        let number = self.last_number;
        let deadline = context.now + context.settings.request_limit();
        send_request(coordinator, number, request, context);
        let request = request.clone();
        let sent_to = (coordinator, known.arbiter.epoch());
        self.pending.insert(number, PendingRequest { client, request, deadline, sent_to, is_waiting: false });
        Ok(())
    }

    /// The outcome of a forwarded request arrived.
    pub(super) fn handle_response(
        &mut self,
        from: Id,
        number: u64,
        result: Result<(), RequestError>,
        context: &mut Context<'_>,
    ) {
        if self.pending.get(&number).is_none_or(|pending| pending.sent_to.0 != from) {
            return;
        }
        if let Err(refusal) = &result
            && refusal.code == errors::MOVED
            && let Some(pending) = self.pending.get_mut(&number)
        {
            pending.is_waiting = true;
            return;
        }
        if let Some(pending) = self.pending.remove(&number) {
            finish(pending.client, pending.request, result, context);
        }
    }

    /// The coordinator answered a piece of a state.
    pub(super) fn handle_piece_response(
        &mut self,
        from: Id,
        number: u64,
        result: Result<Option<u32>, RequestError>,
        context: &mut Context<'_>,
    ) {
        self.uploads.handle_response(from, number, result, context);
    }

    /// This node was removed from the cluster: answers whoever asked for that here.
    pub(super) fn handle_removed(&mut self, context: &mut Context<'_>) {
        let is_removal = |pending: &PendingRequest| matches!(pending.request, Request::RemoveMember { .. });
        for (_, pending) in self.pending.extract_if(.., |_, pending| is_removal(pending)) {
            finish(pending.client, pending.request, Ok(()), context);
        }
    }

    /// A client's connection has ended.
    pub(super) fn handle_client_gone(&mut self, client: ClientId, context: &mut Context<'_>) {
        self.watchers.remove(client);
        self.reads.remove_client(client);
        self.uploads.handle_client_gone(client, context);
    }

    /// An office changed: its table entry, or this node's lease of it.
    pub(super) fn handle_office_change(&mut self, office: &OfficeName) {
        self.watchers.mark(office);
    }

    /// Something changed that every office may depend on.
    pub(super) fn handle_view_change(&mut self) {
        self.watchers.mark_all();
    }

    /// The reads up to this number may be answered.
    pub(super) fn handle_read_confirmed(&mut self, number: u64) {
        self.reads.confirm(number);
    }

    /// Asks the arbiter to confirm the reads that have begun.
    pub(super) fn confirm_reads(&mut self, known: &mut Known<'_>, context: &mut Context<'_>) {
        if let Some(number) = self.reads.take_question() {
            known.arbiter.read(number, context);
        }
    }

    /// Whether a client waits for a reply.
    pub(super) fn has_pending_reply(&self, client: ClientId) -> bool {
        self.reads.has_pending(client)
            || self.uploads.has_pending(client)
            || self.pending.values().any(|pending| pending.client == client)
    }

    /// Answers requests whose time is over, repeats what may be lost, and notifies watchers.
    pub(super) fn process(&mut self, known: &mut Known<'_>, context: &mut Context<'_>) {
        self.forward_waiting(known, context);
        self.uploads.process(known, context);
        let now = context.now;
        for (_, pending) in self.pending.extract_if(.., |_, pending| pending.deadline <= now) {
            let message = "the arbiter's leader did not answer in time; the request may still take effect".to_string();
            finish(pending.client, pending.request, Err(refusal("timed-out", message)), context);
        }
        self.reads.begin_turn();
        while let Some((reader, is_confirmed)) = self.reads.take_ready(now) {
            self.answer(reader, is_confirmed, known, context);
        }
        if self.reads.take_retry(now, context.settings.timing.heartbeat) {
            known.arbiter.read(self.reads.last_number(), context);
        }
        let has_quorum = known.has_recent_quorum(context);
        self.watchers.set_quorum(has_quorum);
        if self.watchers.publish_outdated(known, context) && !self.reads.has_watchers() {
            self.watchers.begin_read();
            self.begin_read(Reader::Watchers, known, context);
        }
        self.confirm_reads(known, context);
    }

    /// Sends requests that wait for the next coordinator.
    fn forward_waiting(&mut self, known: &Known<'_>, context: &mut Context<'_>) {
        let Some(coordinator) = known.arbiter.coordinator().map(|id| (id, known.arbiter.epoch())) else { return };
        let waiting = self.pending.iter_mut().filter(|(_, pending)| pending.is_waiting);
        for (number, pending) in waiting.filter(|(_, pending)| pending.sent_to != coordinator) {
            (pending.is_waiting, pending.sent_to) = (false, coordinator);
            send_request(coordinator.0, *number, &pending.request, context);
        }
    }

    /// When something must be repeated or given up.
    pub(super) fn poll_timeout(&self, known: &Known<'_>, context: &Context<'_>) -> Timestamp {
        let pending = self.pending.values().map(|pending| pending.deadline).min().unwrap_or(Timestamp::NEVER);
        let times = [pending, self.reads.next_timeout(context.now), self.uploads.poll_timeout(context)];
        let next = times.into_iter().min().unwrap_or(Timestamp::NEVER);
        if self.watchers.is_empty() {
            return next;
        }
        // When contact with the quorum is lost, watchers are told that nothing is certain any more.
        let settings = context.settings;
        let contact_ends = settings.deadline(known.arbiter.confirmed_at(), settings.timing.terms());
        if contact_ends > context.now { next.min(contact_ends) } else { next }
    }

    /// Begins a read. It is answered when it is confirmed, or as not current when it cannot be.
    fn begin_read(&mut self, reader: Reader, known: &mut Known<'_>, context: &mut Context<'_>) {
        if let Reader::Client(client, _) = reader
            && self.reads.is_busy(client)
        {
            return context.reply(client, Reply::Error(errors::too_many_requests()));
        }
        let can_confirm = known.arbiter.can_confirm_reads() && known.has_recent_quorum(context);
        if !can_confirm || self.reads.is_full() {
            return self.answer(reader, false, known, context);
        }
        self.reads.begin(reader, context.now, &context.settings.timing);
    }

    /// Answers a client that asked, or all watchers.
    fn answer(&mut self, reader: Reader, is_confirmed: bool, known: &Known<'_>, context: &mut Context<'_>) {
        if let Reader::Client(client, Request::Watch { .. }) = &reader {
            self.watchers.admit(*client);
        }
        match reader {
            Reader::Client(client, Request::Status) => {
                let status = status::status(is_confirmed, known, context);
                context.reply(client, Reply::Status(Box::new(status)));
            }
            Reader::Client(client, Request::Offices { after, limit }) => {
                let (offices, next) = status::offices(after.as_deref(), limit, is_confirmed, known, context);
                context.reply(client, Reply::Offices { offices, next });
            }
            Reader::Client(client, Request::Leader { office } | Request::Watch { office: Some(office) }) => {
                let status = status::office_status(&office, is_confirmed, known, context);
                context.reply(client, Reply::Office(status));
                self.watchers.handle_answer(client, &office, is_confirmed, known, context);
            }
            Reader::Client(client, Request::Completed { office, key }) => {
                let completion = status::completion(&office, &key, known.arbiter.table());
                let current = is_confirmed && known.has_recent_quorum(context);
                context.reply(client, Reply::Completed { completion, current });
            }
            Reader::Client(client, Request::GetState { office, offset }) => {
                let reply = match is_confirmed && known.has_recent_quorum(context) {
                    true => Reply::State { state: status::state_part(&office, offset, known) },
                    false => Reply::Error(errors::no_leader(known, context)),
                };
                context.reply(client, reply);
            }
            Reader::Client(client, Request::States { after }) => {
                let reply = match is_confirmed && known.has_recent_quorum(context) {
                    true => status::states(after.as_deref(), known.arbiter.table()),
                    false => Reply::Error(errors::no_leader(known, context)),
                };
                context.reply(client, reply);
            }
            Reader::Client(client, _) => {
                let names: Vec<OfficeName> = known.arbiter.table().offices.names().cloned().collect();
                for name in names {
                    let status = status::office_status(&name, is_confirmed, known, context);
                    context.reply(client, Reply::Office(status));
                    self.watchers.handle_answer(client, &name, is_confirmed, known, context);
                }
            }
            Reader::Watchers => self.watchers.publish_confirmed(is_confirmed, known, context),
        }
    }
}

impl Normalise for Requests {
    fn normalise(&mut self, now: Timestamp) {
        let Requests { pending, reads, uploads, watchers: _, last_number: _ } = self;
        pending.normalise(now);
        uploads.normalise(now);
        reads.normalise(now);
    }
}

impl Normalise for PendingRequest {
    fn normalise(&mut self, now: Timestamp) {
        let PendingRequest { deadline, client: _, request: _, sent_to: _, is_waiting: _ } = self;
        deadline.normalise(now);
    }
}

/// Answers a request for a change, and reports what became of it.
fn finish(client: ClientId, request: Request, result: Result<(), RequestError>, context: &mut Context<'_>) {
    let reply = result.clone().map_or_else(Reply::Error, |()| Reply::Done);
    context.push(Output::Outcome { client, request, result });
    context.reply(client, reply);
}

fn send_request(to: Id, number: u64, request: &Request, context: &mut Context<'_>) {
    context.send(to, Message::ForwardedRequest(ForwardedRequest::new(number, request)));
}

/// A reply to one client.
fn office_reply(client: ClientId, status: crate::api::OfficeStatus) -> Output {
    Output::Reply(client, Reply::Office(status))
}
