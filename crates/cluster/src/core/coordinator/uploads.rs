//! The coordinator's side of storing a state: pieces arrive from the nodes that programs upload through, and become
//! entries of the log.

use super::{Coordinator, Known};
use crate::api::RequestError;
use crate::core::context::Context;
use crate::core::requests::{Requester, errors};
use crate::core::table::{Command, PieceEffect, StatePiece};
use crate::wire::Message;

/// How many pieces may wait for the log, so that other changes do not wait for long. A node whose piece is dropped
/// sends it again.
const MAX_PENDING_PIECES: usize = 64;

impl Coordinator {
    /// A piece of a state arrived.
    pub(in crate::core) fn handle_piece(
        &mut self,
        requester: Requester,
        piece: StatePiece,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) {
        if let Err(refusal) = self.submit_piece(requester, piece, known, context) {
            respond(requester, Err(refusal), context);
        }
    }

    fn submit_piece(
        &mut self,
        requester: Requester,
        mut piece: StatePiece,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), RequestError> {
        if known.arbiter.coordinator() != Some(context.own()) || !known.arbiter.is_established() {
            return Err(errors::moved());
        }
        if requester.node != context.own() && !known.arbiter.votes(requester.node) {
            return Err(errors::observer());
        }
        let table = known.arbiter.table();
        if table.states.has_stored(&piece.office, piece.upload) {
            // The answer was lost. The office may have changed hands since.
            respond(requester, Ok(None), context);
            return Ok(());
        }
        if !table.offices.get(&piece.office).is_some_and(|known| known.token == piece.token && known.holder.is_some()) {
            return Err(errors::stale_token());
        }
        if piece.index == 0 {
            let limits = &context.settings.limits;
            if piece.size > limits.state {
                return Err(errors::state_too_large(piece.size, limits.state));
            }
            let others = table.states.bytes_of_others(&piece.office);
            if others.saturating_add(piece.size) > limits.state_total || !table.states.has_room_for(&piece.office) {
                return Err(errors::no_room_for_state(piece.size, others, limits.state_total));
            }
        }
        if self.piece_requesters.len() >= MAX_PENDING_PIECES {
            return Ok(());
        }
        piece.unix_ms = context.unix_ms;
        self.last_request += 1;
        // If it is refused, another member is about to coordinate.
        let submitted = known.arbiter.submit(self.last_request, Command::StatePiece(piece), context);
        submitted.map_err(|_| errors::moved())?;
        self.piece_requesters.insert(self.last_request, requester);
        Ok(())
    }

    /// A piece was not decided, as far as is known. The node sends it again, which does no harm.
    pub(super) fn forget_piece(&mut self, request: u64, context: &mut Context<'_>) {
        if let Some(requester) = self.piece_requesters.remove(&request) {
            respond(requester, Err(errors::moved()), context);
        }
    }

    /// A piece was decided.
    pub(in crate::core) fn handle_piece_received(
        &mut self,
        request: u64,
        effect: PieceEffect,
        context: &mut Context<'_>,
    ) {
        let Some(requester) = self.piece_requesters.remove(&request) else { return };
        let result = match effect {
            PieceEffect::Appended { next, .. } => Ok(next),
            PieceEffect::Expected(next) => Ok(Some(next)),
            PieceEffect::Stored => Ok(None),
            // The node begins again.
            PieceEffect::UnknownUpload => Ok(Some(0)),
            PieceEffect::Superseded => Err(errors::state_superseded()),
            PieceEffect::StaleToken => Err(errors::stale_token()),
            PieceEffect::Damaged => Err(errors::damaged_state()),
            PieceEffect::Full => Err(errors::no_room_for_state(0, 0, context.settings.limits.state_total)),
        };
        respond(requester, result, context);
    }
}

fn respond(requester: Requester, result: Result<Option<u32>, RequestError>, context: &mut Context<'_>) {
    context.send(requester.node, Message::StatePieceResponse { number: requester.number, result });
}
