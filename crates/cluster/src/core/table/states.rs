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

use std::collections::BTreeMap;

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

/// The state that an office has.
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
    /// The state of an office.
    pub(crate) fn get(&self, office: &str) -> Option<&StateEntry> {
        self.current.get(office)
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
        let current = self.current.values().map(|entry| BlobRef {
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

    /// The office changes hands: nobody can complete its upload any more.
    pub(super) fn abandon_upload(&mut self, office: &str) {
        self.uploads.remove(office);
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
mod tests {
    use super::*;
    use crate::api::ChangeReason;
    use crate::config::Mode;
    use crate::core::table::{Command, Holder};
    use crate::timing::LeaseTerms;

    fn grant(table: &mut Table, index: u64, office: &str) {
        let holder = Holder { id: Id(1), incarnation: 7 };
        let (expected_token, cause) = (table.token(office), ChangeReason::Vacant);
        let (mode, terms, pinned, unix_ms) = (Mode::Exclusive, LeaseTerms::default(), false, 0);
        let office = office.into();
        let command = Command::Grant { office, holder, expected_token, mode, terms, cause, pinned, unix_ms };
        assert!(table.apply(index, command));
    }

    /// The pieces of a state.
    fn pieces(office: &str, token: u64, number: u64, data: &[u8]) -> Vec<StatePiece> {
        let upload = UploadId { node: Id(2), incarnation: 5, number };
        let all = (0..piece_count(data.len() as u64)).map(|index| StatePiece {
            office: office.into(),
            token,
            upload,
            size: data.len() as u64,
            checksum: checksum_of(0, data),
            unix_ms: 9,
            index,
            data: data.chunks(PIECE_BYTES).nth(index as usize).unwrap_or_default().to_vec().into(),
        });
        all.collect()
    }

    fn table() -> Table {
        let mut table = Table::default();
        grant(&mut table, 10, "job");
        table
    }

    #[test]
    fn a_state_is_visible_when_its_last_piece_is_there() {
        let mut table = table();
        let first = pieces("job", 10, 1, &[1; 3 * PIECE_BYTES]);
        assert_eq!(table.receive_piece(20, &first[0]), PieceEffect::Appended { blob: 20, next: Some(1) });
        assert_eq!(table.receive_piece(21, &first[2]), PieceEffect::Expected(1), "there is a gap");
        assert_eq!(table.receive_piece(22, &first[0]), PieceEffect::Expected(1), "it was there before");
        assert_eq!(table.receive_piece(23, &first[1]), PieceEffect::Appended { blob: 20, next: Some(2) });
        assert_eq!(table.states.get("job"), None);
        assert_eq!(table.receive_piece(24, &first[2]), PieceEffect::Appended { blob: 20, next: None });
        assert_eq!(table.states.get("job").map(|entry| (entry.blob, entry.size)), Some((20, 3 << 14)));
        assert_eq!(table.receive_piece(25, &first[2]), PieceEffect::Stored);
        // An empty state has a piece as well.
        let empty = pieces("job", 10, 2, &[]);
        assert_eq!(table.receive_piece(26, &empty[0]), PieceEffect::Appended { blob: 26, next: None });
        assert_eq!(table.receive_piece(27, &first[0]), PieceEffect::Superseded, "a later state must not be replaced");
        assert_eq!(table.states.get("job").map(|entry| (entry.blob, entry.size)), Some((26, 0)));
    }

    #[test]
    fn a_later_upload_supersedes_an_unfinished_one() {
        let mut table = table();
        let [first, second] = [1, 2].map(|number| pieces("job", 10, number, &[number as u8; 2 * PIECE_BYTES]));
        assert_eq!(table.receive_piece(20, &first[1]), PieceEffect::UnknownUpload, "the first piece is lost");
        table.receive_piece(21, &first[0]);
        assert_eq!(table.receive_piece(22, &second[0]), PieceEffect::Appended { blob: 22, next: Some(1) });
        assert_eq!(table.receive_piece(23, &first[1]), PieceEffect::Superseded);
        assert_eq!(table.receive_piece(24, &second[1]), PieceEffect::Appended { blob: 22, next: None });
    }

    #[test]
    fn a_stale_token_changes_nothing_and_ends_the_upload() {
        let mut table = table();
        let first = pieces("job", 10, 1, &[1; 2 * PIECE_BYTES]);
        table.receive_piece(20, &first[0]);
        grant(&mut table, 21, "job");
        let before = table.clone();
        assert_eq!(table.receive_piece(22, &first[1]), PieceEffect::StaleToken);
        assert_eq!(table.receive_piece(23, &pieces("other", 10, 3, b"x")[0]), PieceEffect::StaleToken);
        assert_eq!(table, before);
        assert_eq!(table.states.blobs().count(), 0, "nobody can complete the upload");
    }

    #[test]
    fn what_does_not_fit_is_not_stored() {
        let mut table = table();
        let good = pieces("job", 10, 1, &[1; PIECE_BYTES + 1]);
        let damage: [fn(&mut StatePiece); 4] = [
            |piece| piece.data = vec![2].into(),
            |piece| piece.data = vec![1, 1].into(),
            |piece| piece.size += 1,
            |piece| piece.checksum += 1,
        ];
        for (number, damage) in damage.into_iter().enumerate() {
            table.receive_piece(20 + 2 * number as u64, &good[0]);
            let mut last = good[1].clone();
            damage(&mut last);
            assert_eq!(table.receive_piece(21 + 2 * number as u64, &last), PieceEffect::Damaged, "{number}");
            assert_eq!((table.states.get("job"), table.states.blobs().count()), (None, 0), "{number}");
        }
        let large = StatePiece { size: MAX_STATE_BYTES + 1, ..good[0].clone() };
        assert_eq!(table.receive_piece(40, &large), PieceEffect::Damaged);
    }

    #[test]
    fn unfinished_uploads_are_bounded() {
        let mut table = Table::default();
        for number in 0..40 {
            let office = format!("job-{number}");
            grant(&mut table, 100 + 2 * number, &office);
            let piece = &pieces(&office, 100 + 2 * number, number, &[1; 2 * PIECE_BYTES])[0];
            table.receive_piece(101 + 2 * number, piece);
        }
        let kept: Vec<u64> = table.states.blobs().map(|needed| needed.blob).collect();
        assert_eq!(kept.len(), MAX_UPLOADS);
        assert!(kept.iter().all(|blob| *blob > 101 + 2 * (40 - MAX_UPLOADS as u64 - 1)), "{kept:?}");
    }
}
