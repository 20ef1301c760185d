//! The bytes of offices' states, beside the table, and how a member that needs a snapshot gets them.
//!
//! A snapshot of the table refers to blobs and does not contain them. A member that is sent one does not install it
//! before it has everything that the snapshot refers to: it keeps the library's message, asks the sender for what it
//! lacks, a few pieces at a time, and hands the message to the library when it has all of it. To the library, the
//! message was just slow. So a member never acknowledges a snapshot whose bytes it could not serve, and no message is
//! larger than the table. What it has got stays if another leader sends it another snapshot: the same name means the
//! same bytes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use hustings_protocol::Id;

use super::RaftArbiter;
use crate::clock::Timestamp;
use crate::core::context::Context;
use crate::core::settings::StartError;
use crate::core::table::{BlobRef, StatePiece, States, Table, checksum_of};
use crate::store::BlobWrite;
use crate::wire::{Message, RaftMessage};

/// How many pieces a member asks for at a time.
const MAX_ASKED: usize = 8;
/// After how many heartbeats without any piece it asks again.
const PATIENCE_HEARTBEATS: u32 = 8;

/// The bytes of all states and unfinished uploads.
#[derive(Default)]
pub(super) struct Blobs {
    pieces: BTreeMap<u64, Vec<Bytes>>,
    /// What the last snapshot refers to. Other members may still ask for it.
    pinned: BTreeSet<u64>,
    /// What is not handed to the disk yet.
    unwritten: Vec<BlobWrite>,
    pending: Option<PendingSnapshot>,
}

/// A snapshot whose blobs are not complete.
struct PendingSnapshot {
    from: Id,
    message: RaftMessage,
    /// What is missing, in the order in which it is asked for.
    missing: BTreeMap<u64, BlobRef>,
    /// The next piece to ask for, and how many are asked for.
    next: (u64, u32),
    asked: usize,
    progress_at: Timestamp,
}

impl Blobs {
    /// What a table refers to must be on disk.
    pub(super) fn load(stored: crate::store::Blobs, states: &States) -> Result<Self, StartError> {
        let mut blobs = Blobs { pieces: stored, ..Blobs::default() };
        let needed: Vec<BlobRef> = states.blobs().collect();
        blobs.pinned = needed.iter().map(|needed| needed.blob).collect();
        blobs.pieces.retain(|blob, _| blobs.pinned.contains(blob));
        for needed in needed {
            let pieces = blobs.pieces.entry(needed.blob).or_default();
            cut(pieces, needed);
            if !is_complete(pieces, needed) {
                return Err(StartError::DamagedState { blob: needed.blob, bytes: needed.bytes });
            }
        }
        Ok(blobs)
    }

    /// The pieces of a blob.
    pub(super) fn get(&self, blob: u64) -> Option<&[Bytes]> {
        self.pieces.get(&blob).map(Vec::as_slice)
    }

    pub(super) fn append(&mut self, blob: u64, piece: &StatePiece) {
        self.set(blob, piece.index, piece.data.clone());
    }

    fn set(&mut self, blob: u64, index: u32, data: Bytes) {
        let pieces = self.pieces.entry(blob).or_default();
        pieces.truncate(index as usize);
        pieces.push(data.clone());
        self.unwritten.push(BlobWrite::Piece { blob, index, data });
    }

    /// Takes what the disk must write.
    pub(super) fn take_writes(&mut self) -> Vec<BlobWrite> {
        std::mem::take(&mut self.unwritten)
    }

    /// A snapshot of this table was taken or installed: other blobs up to its index are not needed any more.
    pub(super) fn pin(&mut self, states: &States, index: u64) -> BlobWrite {
        self.pinned = states.blobs().map(|needed| needed.blob).collect();
        self.release(states);
        BlobWrite::Retain { upto: index, keep: self.pinned.iter().copied().collect() }
    }

    /// Forgets what nobody needs.
    pub(super) fn release(&mut self, states: &States) {
        let live: BTreeSet<u64> = states.blobs().map(|needed| needed.blob).collect();
        let pending = self.pending.as_ref();
        let is_fetched = |blob: &u64| pending.is_some_and(|pending| pending.missing.contains_key(blob));
        let pinned = &self.pinned;
        self.pieces.retain(|blob, _| live.contains(blob) || pinned.contains(blob) || is_fetched(blob));
    }
}

impl PendingSnapshot {
    /// Asks for the next pieces.
    fn ask(&mut self, context: &mut Context<'_>) {
        while self.asked < MAX_ASKED {
            let (blob, piece) = self.next;
            let Some((&blob, needed)) = self.missing.range(blob..).next() else { return };
            let piece = if blob == self.next.0 { piece } else { 0 };
            if piece >= needed.pieces {
                self.next = (blob + 1, 0);
                continue;
            }
            context.send(self.from, Message::BlobRequest { blob, piece });
            self.next = (blob, piece + 1);
            self.asked += 1;
        }
    }

    /// Asks again from the first piece that is missing.
    fn restart(&mut self, pieces: &BTreeMap<u64, Vec<Bytes>>, context: &mut Context<'_>) {
        let first = self.missing.keys().next().copied().unwrap_or(0);
        let held = pieces.get(&first).map_or(0, Vec::len) as u32;
        (self.next, self.asked, self.progress_at) = ((first, held), 0, context.now);
        self.ask(context);
    }
}

impl RaftArbiter {
    /// A snapshot arrived. Returns whether it can be installed now.
    pub(super) fn prepare_snapshot(&mut self, from: Id, message: &RaftMessage, context: &mut Context<'_>) -> bool {
        // What cannot be read stops the node when it is installed.
        let Some(Ok(table)) = message.snapshot_data().map(|data| Table::decode(data, self.reads)) else { return true };
        let blobs = &mut self.blobs;
        let mut missing = BTreeMap::new();
        for needed in table.states.blobs() {
            let pieces = blobs.pieces.get(&needed.blob).map(Vec::as_slice).unwrap_or_default();
            let has_enough = pieces.len() >= needed.pieces as usize;
            if !has_enough {
                missing.insert(needed.blob, needed);
            }
        }
        if missing.is_empty() {
            blobs.pending = None;
            return true;
        }
        let is_same = |pending: &PendingSnapshot| pending.from == from && pending.missing == missing;
        if let Some(pending) = blobs.pending.as_mut().filter(|pending| is_same(pending)) {
            pending.message = message.clone();
            return false;
        }
        let message = message.clone();
        let progress_at = context.now;
        let mut pending = PendingSnapshot { from, message, missing, next: (0, 0), asked: 0, progress_at };
        pending.restart(&blobs.pieces, context);
        blobs.pending = Some(pending);
        false
    }

    /// A piece of a blob arrived; `None` if the sender does not have it.
    pub(super) fn handle_blob_piece(
        &mut self,
        from: Id,
        (blob, index): (u64, u32),
        data: Option<Bytes>,
        context: &mut Context<'_>,
    ) {
        let blobs = &mut self.blobs;
        let Some(pending) = blobs.pending.as_mut().filter(|pending| pending.from == from) else { return };
        let Some(needed) = pending.missing.get(&blob).copied() else { return };
        let Some(data) = data else {
            // The sender has a newer snapshot, and sends it.
            blobs.pending = None;
            return;
        };
        let pieces = blobs.pieces.entry(blob).or_default();
        // An earlier piece may be lost. The next heartbeats ask for it again.
        if pieces.len() != index as usize {
            return;
        }
        pending.asked = pending.asked.saturating_sub(1);
        pending.progress_at = context.now;
        pieces.push(data.clone());
        context.increment("blob-pieces-received");
        blobs.unwritten.push(BlobWrite::Piece { blob, index, data });
        if pieces.len() == needed.pieces as usize {
            if is_complete(pieces, needed) {
                pending.missing.remove(&blob);
                // It is needed until the snapshot is installed.
                blobs.pinned.insert(blob);
            } else {
                context.increment("damaged-blobs");
                blobs.pieces.remove(&blob);
                pending.restart(&blobs.pieces, context);
                return;
            }
        }
        pending.ask(context);
        if pending.missing.is_empty()
            && let Some(pending) = blobs.pending.take()
        {
            self.flush_blobs();
            self.handle_raft(from, &pending.message, context);
        }
    }

    /// Another member asks for a piece.
    pub(super) fn handle_blob_request(&mut self, from: Id, blob: u64, piece: u32, context: &mut Context<'_>) {
        let data = self.blobs.get(blob).and_then(|pieces| pieces.get(piece as usize)).cloned();
        if data.is_none() && self.consensus.is_leader() {
            // The member fetches what an older snapshot refers to.
            self.consensus.report_snapshot_lost(from);
        }
        context.send(from, Message::BlobPiece { blob, piece, data });
    }

    /// A heartbeat interval has passed.
    pub(super) fn repeat_blob_requests(&mut self, context: &mut Context<'_>) {
        let patience = context.settings.timing.heartbeat * PATIENCE_HEARTBEATS;
        let Some(pending) = &mut self.blobs.pending else { return };
        if context.now.since(pending.progress_at) > patience {
            pending.restart(&self.blobs.pieces, context);
        }
    }

    /// Hands blobs to the disk.
    pub(super) fn flush_blobs(&mut self) {
        let writes = self.blobs.take_writes();
        if !writes.is_empty() {
            self.consensus.write_blobs(writes, &mut self.ready);
        }
    }
}

/// Removes the pieces beyond those that are needed.
fn cut(pieces: &mut Vec<Bytes>, needed: BlobRef) {
    pieces.truncate(needed.pieces as usize);
    let before: u64 = pieces.iter().rev().skip(1).map(|piece| piece.len() as u64).sum();
    if let Some(last) = pieces.last_mut() {
        last.truncate(needed.bytes.saturating_sub(before) as usize);
    }
    // The file of an empty state is empty.
    if needed.bytes == 0 && needed.pieces == 1 && pieces.is_empty() {
        pieces.push(Bytes::new());
    }
}

/// Whether these are all pieces, and their bytes are right.
fn is_complete(pieces: &[Bytes], needed: BlobRef) -> bool {
    let bytes: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    let checksum = pieces.iter().fold(0, |before, piece| checksum_of(before, piece));
    pieces.len() == needed.pieces as usize && bytes == needed.bytes && checksum == needed.checksum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::table::{PIECE_BYTES, StateEntry, UploadId};

    /// A table with a state of two pieces, and the blobs of a disk that has it.
    fn stored() -> (States, crate::store::Blobs) {
        let data: Vec<u8> = (0..PIECE_BYTES + 7).map(|byte| byte as u8).collect();
        let upload = UploadId { node: Id(1), incarnation: 7, number: 1 };
        let (size, checksum) = (data.len() as u64, checksum_of(0, &data));
        let entry = StateEntry { blob: 20, upload, holder: Id(1), token: 10, size, checksum, unix_ms: 9 };
        let pieces = data.chunks(PIECE_BYTES).map(Bytes::copy_from_slice).collect();
        (States::with("job", entry), [(20, pieces)].into())
    }

    #[test]
    fn a_node_does_not_start_without_every_byte_of_a_state() {
        let refusal = |damage: fn(&mut Vec<Bytes>)| {
            let (states, mut blobs) = stored();
            damage(blobs.get_mut(&20).expect("it is there"));
            Blobs::load(blobs, &states).err()
        };
        assert!(refusal(|_| ()).is_none());
        assert!(refusal(|pieces| pieces.push(Bytes::from_static(b"more"))).is_none(), "a file may be longer");
        let damages: [fn(&mut Vec<Bytes>); 3] =
            [|pieces| pieces.clear(), |pieces| drop(pieces.pop()), |pieces| pieces[1] = Bytes::from_static(b"others!")];
        for damage in damages {
            let refusal = refusal(damage);
            assert!(matches!(refusal, Some(StartError::DamagedState { blob: 20, .. })), "{refusal:?}");
        }
    }
}
