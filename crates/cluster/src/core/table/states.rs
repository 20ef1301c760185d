//! What the holders of offices have stored for their successors: the table's part of it.
//!
//! A state is written in pieces, each an entry of the log. The table holds what describes a state; its bytes are a
//! *blob*, which the arbiter keeps beside the table and the store in a file of its own. A blob is named after the log
//! index of its first piece, so the same name means the same bytes on every node.
//!
//! The pieces of an upload take effect together, when the last one is applied and everything before it was: until then
//! the former state is the current one. A piece counts only while the office is held with the token that it carries. An
//! upload that is not continued is forgotten when the office changes hands, when another upload for the same office
//! begins, or when [`MAX_UPLOADS`] others have been continued since.
//!
//! A piece may arrive a second time, even after its upload is complete. So a state that is deleted while its writer
//! still holds the office leaves its upload's number behind, until the office changes hands: otherwise such a piece
//! would bring it back.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use super::{OfficeName, Table};

/// The size of a piece. The last one of a state may be smaller.
pub(crate) const PIECE_BYTES: usize = 16 * 1024;
/// The largest state. A configuration may set a lower limit.
pub(crate) const MAX_STATE_BYTES: u64 = 16 << 20;
/// How much all states may take together. A configuration may set a lower limit.
pub(crate) const MAX_TOTAL_BYTES: u64 = 512 << 20;
/// How many offices may have a state.
pub(crate) const MAX_STATES: usize = 1_024;
/// How many unfinished uploads are remembered.
const MAX_UPLOADS: usize = 16;
/// The blob of a state that is deleted. No piece has this log index.
const DELETED: u64 = 0;

/// Identifies an upload: the node that a program uploads through, and the node's number for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct UploadId {
    /// The node.
    pub node: Id,
    /// Identifies the node's process.
    pub incarnation: u64,
    /// Its number for the upload, greater than all earlier ones.
    pub number: u64,
}

/// A piece of a state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct StatePiece {
    /// The office.
    pub office: OfficeName,
    /// The holder's token.
    pub token: u64,
    /// The upload that the piece belongs to.
    pub upload: UploadId,
    /// The size of the whole state.
    pub size: u64,
    /// The CRC-32 of the whole state.
    pub checksum: u32,
    /// Wall-clock time, for display.
    pub unix_ms: u64,
    /// The number of this piece, from 0.
    pub index: u32,
    /// The bytes of this piece.
    #[serde(with = "crate::byte_string")]
    pub data: Bytes,
}

/// What became of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PieceEffect {
    /// It is part of this blob now. If it was the last one, the state is the current one of its office.
    Appended {
        /// The blob.
        blob: u64,
        /// The next piece that is expected; `None` if the state is complete.
        next: Option<u32>,
    },
    /// The upload expects another piece.
    Expected(u32),
    /// The upload was complete before.
    Stored,
    /// There is no such upload: its first piece is lost, or it was forgotten.
    UnknownUpload,
    /// A later upload has begun, or is complete.
    Superseded,
    /// The office is not held with this token.
    StaleToken,
    /// The piece does not fit the upload, or the whole does not have the checksum that it should have.
    Damaged,
    /// There is no room for the state.
    Full,
}

/// The state that an office has, or what is left of a deleted one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct StateEntry {
    pub(crate) blob: u64,
    pub(crate) upload: UploadId,
    /// Who wrote it, with which token.
    pub(crate) holder: Id,
    pub(crate) token: u64,
    pub(crate) size: u64,
    pub(crate) checksum: u32,
    /// Wall-clock time, for display.
    pub(crate) unix_ms: u64,
}

/// An upload that is not complete.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Upload {
    /// What it becomes when it is complete.
    entry: StateEntry,
    /// How many pieces have arrived, and their checksum.
    pieces: u32,
    checksum: u32,
    /// The log index of the last one.
    last_index: u64,
}

/// A blob that the table refers to, or a part of it that must be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlobRef {
    pub(crate) blob: u64,
    pub(crate) pieces: u32,
    pub(crate) bytes: u64,
    pub(crate) checksum: u32,
}

/// All states and unfinished uploads, by office.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct States {
    current: BTreeMap<OfficeName, StateEntry>,
    uploads: BTreeMap<OfficeName, Upload>,
}

impl States {
    /// The states of a table with one.
    #[cfg(test)]
    pub(crate) fn with(office: &str, entry: StateEntry) -> Self {
        States { current: [(office.into(), entry)].into(), ..States::default() }
    }

    /// The state of an office.
    pub(crate) fn get(&self, office: &str) -> Option<&StateEntry> {
        self.current.get(office).filter(|entry| entry.blob != DELETED)
    }

    /// Whether an upload is complete, and no later one for the same office.
    pub(crate) fn has_stored(&self, office: &str, upload: UploadId) -> bool {
        self.current.get(office).is_some_and(|entry| entry.upload == upload)
    }

    /// The states of the offices after this one, in the order of their names.
    pub(crate) fn after(&self, office: Option<&str>) -> impl Iterator<Item = (&OfficeName, &StateEntry)> {
        let start = office.map_or(Bound::Unbounded, Bound::Excluded);
        let following = self.current.range::<str, _>((start, Bound::Unbounded));
        following.filter(|(_, entry)| entry.blob != DELETED)
    }

    /// How much the states and uploads of all other offices take, or will take.
    pub(crate) fn bytes_of_others(&self, office: &str) -> u64 {
        let current = self.current.iter().filter(|(name, _)| &***name != office).map(|(_, entry)| entry.size);
        let uploads = self.uploads.iter().filter(|(name, _)| &***name != office).map(|(_, upload)| upload.entry.size);
        current.chain(uploads).sum()
    }

    /// Whether an office may get a state: it has one, or there are not too many.
    pub(crate) fn has_room_for(&self, office: &str) -> bool {
        self.current.contains_key(office) || self.current.len() < MAX_STATES
    }

    /// Every blob that is needed.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = BlobRef> {
        let current = self.current.values().filter(|entry| entry.blob != DELETED).map(|entry| BlobRef {
            blob: entry.blob,
            pieces: piece_count(entry.size),
            bytes: entry.size,
            checksum: entry.checksum,
        });
        current.chain(self.uploads.values().map(|upload| BlobRef {
            blob: upload.entry.blob,
            pieces: upload.pieces,
            bytes: u64::from(upload.pieces) * PIECE_BYTES as u64,
            checksum: upload.checksum,
        }))
    }

    /// The office changes hands: nobody can complete its upload any more, or send a piece of a former one again.
    pub(super) fn handle_office_change(&mut self, office: &str) {
        self.uploads.remove(office);
        if self.current.get(office).is_some_and(|entry| entry.blob == DELETED) {
            self.current.remove(office);
        }
    }

    /// Deletes the state of an office that is held with this token, if it is held.
    fn delete(&mut self, office: &str, held: Option<u64>) {
        match self.current.get_mut(office) {
            Some(entry) if Some(entry.token) == held => {
                *entry = StateEntry { blob: DELETED, size: 0, checksum: 0, ..*entry };
            }
            _ => _ = self.current.remove(office),
        }
    }

    /// Applies a piece from a holder whose token is current.
    fn receive(&mut self, index: u64, office: &OfficeName, holder: Id, piece: &StatePiece) -> PieceEffect {
        // A piece may arrive twice, or overtaken by a later upload.
        if let Some(stored) = self.current.get(office).filter(|stored| stored.token == piece.token) {
            let (stored, received) = (stored.upload, piece.upload);
            if stored == received {
                return PieceEffect::Stored;
            }
            let is_same_process = (stored.node, stored.incarnation) == (received.node, received.incarnation);
            if is_same_process && received.number < stored.number {
                return PieceEffect::Superseded;
            }
        }
        if piece.index == 0 && self.uploads.get(office).is_none_or(|upload| upload.entry.upload != piece.upload) {
            if !self.has_room_for(office) || self.bytes_of_others(office).saturating_add(piece.size) > MAX_TOTAL_BYTES {
                return PieceEffect::Full;
            }
            self.begin(index, office, holder, piece);
        }
        let Some(upload) = self.uploads.get_mut(office) else { return PieceEffect::UnknownUpload };
        if upload.entry.upload != piece.upload {
            return PieceEffect::Superseded;
        }
        if piece.index != upload.pieces {
            return PieceEffect::Expected(upload.pieces);
        }
        let entry = upload.entry;
        let is_same = (piece.size, piece.checksum, piece.token) == (entry.size, entry.checksum, entry.token);
        let count = piece_count(entry.size);
        upload.checksum = checksum_of(upload.checksum, &piece.data);
        upload.pieces += 1;
        upload.last_index = index;
        let is_complete = upload.pieces == count;
        let is_right = !is_complete || upload.checksum == entry.checksum;
        if !is_same || piece.data.len() != piece_size(entry.size, piece.index) || !is_right {
            self.uploads.remove(office);
            return PieceEffect::Damaged;
        }
        let next = (!is_complete).then_some(upload.pieces);
        if is_complete {
            self.uploads.remove(office);
            self.current.insert(office.clone(), StateEntry { unix_ms: piece.unix_ms, ..entry });
        }
        PieceEffect::Appended { blob: entry.blob, next }
    }

    fn begin(&mut self, index: u64, office: &OfficeName, holder: Id, piece: &StatePiece) {
        let StatePiece { upload, token, size, checksum, unix_ms, .. } = *piece;
        let entry = StateEntry { blob: index, upload, holder, token, size, checksum, unix_ms };
        self.uploads.insert(office.clone(), Upload { entry, pieces: 0, checksum: 0, last_index: index });
        if self.uploads.len() > MAX_UPLOADS {
            let idle = self.uploads.iter().min_by_key(|(_, upload)| upload.last_index).map(|(name, _)| name.clone());
            idle.into_iter().for_each(|name| _ = self.uploads.remove(&name));
        }
    }
}

impl Table {
    /// Applies the piece of a state at this index.
    pub(crate) fn receive_piece(&mut self, index: u64, piece: &StatePiece) -> PieceEffect {
        if piece.size > MAX_STATE_BYTES || piece.index >= piece_count(piece.size) {
            return PieceEffect::Damaged;
        }
        let office = self.offices.get(&piece.office).filter(|known| known.token == piece.token);
        let Some(holder) = office.and_then(|known| known.holder) else { return PieceEffect::StaleToken };
        self.states.receive(index, &piece.office, holder.id, piece)
    }

    /// Deletes the state of an office, if there is one. Returns false if the office is not held with the given token.
    pub(super) fn delete_state(&mut self, office: &str, token: Option<u64>) -> bool {
        let held = self.offices.get(office).filter(|known| known.holder.is_some()).map(|known| known.token);
        if token.is_some() && token != held {
            return false;
        }
        self.states.delete(office, held);
        true
    }
}

/// How many pieces a state of this size has. An empty one has an empty piece.
pub(crate) fn piece_count(size: u64) -> u32 {
    size.div_ceil(PIECE_BYTES as u64).clamp(1, u64::from(u32::MAX)) as u32
}

/// The size of one of its pieces.
fn piece_size(size: u64, index: u32) -> usize {
    size.saturating_sub(u64::from(index) * PIECE_BYTES as u64).min(PIECE_BYTES as u64) as usize
}

/// The CRC-32 of bytes after others that had this one; 0 is the one of nothing.
pub(crate) fn checksum_of(before: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests;
