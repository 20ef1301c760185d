//! States that programs on this host store: received from the program, and sent to the coordinator in pieces.
//!
//! The node has the whole state before it sends the first piece. If the coordinator changes on the way, it begins
//! again, with another number: until the last piece takes effect, nothing has changed. A few pieces of all uploads
//! together are on their way at a time, in turns, so that neither an upload nor a heartbeat waits for a large one.

use std::collections::BTreeMap;

use bytes::Bytes;
use hustings_protocol::Id;

use super::errors::{self, refusal};
use super::{Known, finish};
use crate::api::{Base64, Reply, Request, RequestError};
use crate::clock::Timestamp;
use crate::core::ClientId;
use crate::core::context::Context;
use crate::core::normalise::Normalise;
use crate::core::table::{OfficeName, PIECE_BYTES, StatePiece, UploadId, checksum_of, piece_count};
use crate::wire::Message;

/// How many states programs may be storing at once.
const MAX_UPLOADS: usize = 64;
/// How many pieces may be on their way to the coordinator, 128 KiB.
const MAX_SENT_PIECES: u32 = 8;
/// After how many heartbeats without an answer pieces are sent again.
const PATIENCE_HEARTBEATS: u32 = 6;

/// What programs on this host are storing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Uploads {
    last_number: u64,
    /// What programs have sent a part of.
    incoming: BTreeMap<ClientId, Incoming>,
    /// What is on its way to the coordinator, by the number of the upload.
    outgoing: BTreeMap<u64, Outgoing>,
    /// The upload that was last served.
    last_served: u64,
}

/// A state of which a program has sent a part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Incoming {
    office: String,
    token: u64,
    size: u64,
    data: Vec<u8>,
}

/// A state on its way to the coordinator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Outgoing {
    client: ClientId,
    office: OfficeName,
    token: u64,
    checksum: u32,
    data: Bytes,
    /// The coordinator that it is sent to, with its epoch.
    sent_to: Option<(Id, u64)>,
    /// How many pieces were sent, and how many the coordinator has confirmed.
    sent: u32,
    confirmed: u32,
    /// Whether a coordinator got all pieces, and pieces were sent again since. Then a refusal may be about the pieces
    /// that were sent again alone, while the state has taken effect.
    may_be_stored: bool,
    /// When the coordinator last confirmed a piece, or one was sent when none was on its way.
    progress_at: Timestamp,
    /// When the node gives up. Progress postpones it.
    deadline: Timestamp,
}

/// One part of a state, as a program sends it.
pub(super) struct Part {
    pub(super) office: String,
    pub(super) token: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) data: Base64,
}

impl Uploads {
    /// Numbers start at a value derived from the incarnation, so that they are not used again.
    pub(super) fn new(incarnation: u64) -> Self {
        Uploads { last_number: incarnation / 2, ..Uploads::default() }
    }

    /// A program sent a part of a state.
    pub(super) fn handle_part(&mut self, client: ClientId, part: Part, known: &Known<'_>, context: &mut Context<'_>) {
        let length = part.data.0.len() as u64;
        let is_last = length == 0 || part.offset.saturating_add(length) == part.size;
        let request = described(&part.office, part.token, part.size);
        match self.receive(client, part, known, context) {
            Ok(None) => context.reply(client, Reply::Done),
            Ok(Some(complete)) => self.begin(client, complete, context),
            Err(refusal) => {
                self.incoming.remove(&client);
                match is_last {
                    true => finish(client, request, Err(refusal), context),
                    false => context.reply(client, Reply::Error(refusal)),
                }
            }
        }
    }

    /// Adds a part. Returns the state if it is complete.
    fn receive(
        &mut self,
        client: ClientId,
        part: Part,
        known: &Known<'_>,
        context: &Context<'_>,
    ) -> Result<Option<Incoming>, RequestError> {
        let Part { office, token, size, offset, data: Base64(data) } = part;
        if !known.arbiter.keeps_states() {
            return Err(errors::no_states());
        }
        crate::config::office_name(&office).map_err(|problem| refusal("bad-request", problem))?;
        let limits = &context.settings.limits;
        if size > limits.state {
            return Err(errors::state_too_large(size, limits.state));
        }
        if data.is_empty() && size > 0 {
            return Err(refusal("bad-request", "a part of a state must not be empty".to_string()));
        }
        if offset == 0 {
            self.incoming.remove(&client);
            let held: u64 = self.incoming.values().map(|incoming| incoming.size).sum();
            let sent: u64 = self.outgoing.values().map(|outgoing| outgoing.data.len() as u64).sum();
            if self.incoming.len() + self.outgoing.len() >= MAX_UPLOADS || held + sent + size > limits.state_total {
                return Err(refusal("busy", "programs on this host are storing too many states at once".to_string()));
            }
            self.incoming.insert(client, Incoming { office: office.clone(), token, size, data: Vec::new() });
        }
        let expected = self.incoming.get_mut(&client).filter(|known| {
            (&known.office, known.token, known.size, known.data.len() as u64) == (&office, token, size, offset)
        });
        let Some(incoming) = expected.filter(|known| known.data.len() + data.len() <= size as usize) else {
            let message = format!(
                "{} bytes at offset {offset} do not continue a state of {size} bytes for `{office}` on this connection",
                data.len()
            );
            return Err(refusal("bad-request", message));
        };
        incoming.data.extend_from_slice(&data);
        let is_complete = incoming.data.len() as u64 == size;
        Ok(if is_complete { self.incoming.remove(&client) } else { None })
    }

    fn begin(&mut self, client: ClientId, complete: Incoming, context: &Context<'_>) {
        let Incoming { office, token, data, .. } = complete;
        self.last_number += 1;
        let outgoing = Outgoing {
            client,
            office: office.into(),
            token,
            checksum: checksum_of(0, &data),
            data: data.into(),
            sent_to: None,
            sent: 0,
            confirmed: 0,
            may_be_stored: false,
            progress_at: context.now,
            deadline: context.now + context.settings.request_limit(),
        };
        self.outgoing.insert(self.last_number, outgoing);
    }

    /// The coordinator answered.
    pub(super) fn handle_response(
        &mut self,
        from: Id,
        number: u64,
        result: Result<Option<u32>, RequestError>,
        context: &mut Context<'_>,
    ) {
        let is_from = |outgoing: &&mut Outgoing| outgoing.sent_to.is_some_and(|(coordinator, _)| coordinator == from);
        let Some(outgoing) = self.outgoing.get_mut(&number).filter(is_from) else { return };
        match result {
            Ok(Some(next)) if next > outgoing.confirmed => {
                outgoing.confirmed = next;
                outgoing.sent = outgoing.sent.max(next);
                outgoing.progress_at = context.now;
                outgoing.deadline = context.now + context.settings.request_limit();
            }
            // It was idle for so long that it is forgotten.
            Ok(Some(0)) if outgoing.confirmed > 0 => outgoing.sent_to = None,
            Ok(Some(_)) => {}
            Ok(None) => self.end(number, Ok(()), context),
            // The pieces are sent again after a while, or to the next coordinator.
            Err(refusal) if refusal.code == errors::MOVED => {}
            Err(refusal) => self.end(number, Err(refusal), context),
        }
    }

    fn end(&mut self, number: u64, result: Result<(), RequestError>, context: &mut Context<'_>) {
        if let Some(Outgoing { client, office, token, data, may_be_stored, .. }) = self.outgoing.remove(&number) {
            let result =
                result.map_err(|refusal| if may_be_stored { errors::state_uncertain(refusal) } else { refusal });
            finish(client, described(&office, token, data.len() as u64), result, context);
        }
    }

    /// Sends the next pieces, and gives up what takes too long.
    pub(super) fn process(&mut self, known: &Known<'_>, context: &mut Context<'_>) {
        if self.outgoing.is_empty() {
            return;
        }
        let now = context.now;
        let overdue: Vec<u64> =
            self.outgoing.iter().filter(|(_, one)| one.deadline <= now).map(|(number, _)| *number).collect();
        overdue.into_iter().for_each(|number| self.end(number, Err(errors::state_timed_out()), context));
        let Some(coordinator) = known.arbiter.coordinator() else { return };
        self.restart_for((coordinator, known.arbiter.epoch()), now);
        let patience = context.settings.timing.heartbeat * PATIENCE_HEARTBEATS;
        for outgoing in self.outgoing.values_mut().filter(|one| one.sent > one.confirmed) {
            if now.since(outgoing.progress_at) > patience {
                outgoing.send_again_from(outgoing.confirmed, now);
            }
        }
        self.send_pieces(coordinator, context);
    }

    /// What was sent to another coordinator begins again, under another number.
    fn restart_for(&mut self, coordinator: (Id, u64), now: Timestamp) {
        let moved: Vec<u64> = self
            .outgoing
            .iter()
            .filter(|(_, one)| one.sent_to != Some(coordinator))
            .map(|(number, _)| *number)
            .collect();
        for number in moved {
            if let Some(mut outgoing) = self.outgoing.remove(&number) {
                self.last_number += 1;
                outgoing.send_again_from(0, now);
                self.outgoing
                    .insert(self.last_number, Outgoing { sent_to: Some(coordinator), confirmed: 0, ..outgoing });
            }
        }
    }

    /// Sends pieces of all uploads in turns.
    fn send_pieces(&mut self, coordinator: Id, context: &mut Context<'_>) {
        let mut on_their_way: u32 = self.outgoing.values().map(|one| one.sent - one.confirmed).sum();
        let mut idle = 0;
        while on_their_way < MAX_SENT_PIECES && idle < self.outgoing.len() {
            let after = self.outgoing.range(self.last_served + 1..).next();
            let Some(number) = after.or_else(|| self.outgoing.iter().next()).map(|(number, _)| *number) else { return };
            self.last_served = number;
            let Some(outgoing) = self.outgoing.get_mut(&number) else { return };
            match outgoing.next_piece(number, context) {
                Some(piece) => {
                    if outgoing.sent == outgoing.confirmed {
                        outgoing.progress_at = context.now;
                    }
                    outgoing.sent += 1;
                    on_their_way += 1;
                    idle = 0;
                    context.send(coordinator, Message::StatePiece(piece));
                }
                None => idle += 1,
            }
        }
    }

    /// A client's connection has ended. What it has not sent completely is forgotten. What it has sent is given up; its
    /// last pieces may be on their way.
    pub(super) fn handle_client_gone(&mut self, client: ClientId, context: &mut Context<'_>) {
        self.incoming.remove(&client);
        let of_client = |(number, one): (&u64, &Outgoing)| (one.client == client).then_some(*number);
        let given_up: Vec<u64> = self.outgoing.iter().filter_map(of_client).collect();
        given_up.into_iter().for_each(|number| self.end(number, Err(errors::disconnected()), context));
    }

    pub(super) fn has_pending(&self, client: ClientId) -> bool {
        self.outgoing.values().any(|outgoing| outgoing.client == client)
    }

    /// When something must be repeated or given up.
    pub(super) fn poll_timeout(&self, context: &Context<'_>) -> Timestamp {
        let patience = context.settings.timing.heartbeat * (PATIENCE_HEARTBEATS + 1);
        let times = self.outgoing.values().map(|one| one.deadline.min(one.progress_at + patience));
        times.min().unwrap_or(Timestamp::NEVER).max(context.now)
    }
}

impl Outgoing {
    fn send_again_from(&mut self, piece: u32, now: Timestamp) {
        self.may_be_stored |= self.sent == piece_count(self.data.len() as u64);
        (self.sent, self.progress_at) = (piece, now);
    }

    /// The piece after those that were sent; `None` if all were.
    fn next_piece(&self, number: u64, context: &Context<'_>) -> Option<StatePiece> {
        let size = self.data.len();
        let from = self.sent as usize * PIECE_BYTES;
        if from >= size.max(1) {
            return None;
        }
        Some(StatePiece {
            office: self.office.clone(),
            token: self.token,
            upload: UploadId { node: context.own(), incarnation: context.settings.incarnation, number },
            size: size as u64,
            checksum: self.checksum,
            unix_ms: context.unix_ms,
            index: self.sent,
            data: self.data.slice(from..size.min(from + PIECE_BYTES)),
        })
    }
}

/// A request to store a state, without its bytes.
fn described(office: &str, token: u64, bytes: u64) -> Request {
    Request::PutState { office: office.to_string(), token, bytes, offset: 0, data: Base64::default() }
}

impl Normalise for Uploads {
    fn normalise(&mut self, now: Timestamp) {
        for outgoing in self.outgoing.values_mut() {
            outgoing.progress_at.normalise(now);
            outgoing.deadline.normalise(now);
        }
    }
}
