//! Blobs: files beside the log, each with the bytes of a state that an office's holder has stored.
//!
//! The pieces of a blob are entries of the log. They are copied to the blob's file when they are applied, and the file
//! is durable before a snapshot replaces those entries. So nothing waits for it until then. A file may be longer than
//! what the snapshot refers to: the rest is in the log, and is written again. A file that no snapshot refers to and no
//! entry continues is garbage, and removed after the next snapshot.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use super::StoreError;
use super::files::{Files, Handle};
use super::state::State;
use crate::core::table::PIECE_BYTES;

/// The names of blobs begin with it.
const PREFIX: &str = "state-";
/// More bytes than this are made durable without waiting for a snapshot.
const MAX_UNSYNCED_BYTES: usize = 1 << 20;
/// How much is read at most.
const MAX_READ_BYTES: usize = 2 << 30;

/// A change of blobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BlobWrite {
    /// Sets a piece of a blob, and removes all later ones.
    Piece {
        /// The blob.
        blob: u64,
        /// The number of the piece, from 0.
        index: u32,
        /// Its bytes.
        data: Bytes,
    },
    /// Removes all blobs up to a name, except for some.
    Retain {
        /// Blobs with greater names stay.
        upto: u64,
        /// So do these.
        keep: Vec<u64>,
    },
}

/// The pieces of each blob.
pub(crate) type Blobs = BTreeMap<u64, Vec<Bytes>>;

/// Applies a change.
pub(super) fn apply(blobs: &mut Blobs, write: &BlobWrite) {
    match write {
        BlobWrite::Piece { blob, index, data } => {
            let pieces = blobs.entry(*blob).or_default();
            pieces.truncate(*index as usize);
            pieces.push(data.clone());
        }
        BlobWrite::Retain { upto, keep } => blobs.retain(|blob, _| blob > upto || keep.contains(blob)),
    }
}

pub(super) fn name(blob: u64) -> String {
    format!("{PREFIX}{blob:016x}")
}

fn parse_name(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX).filter(|rest| rest.len() == 16).and_then(|rest| u64::from_str_radix(rest, 16).ok())
}

/// Reads the blobs among these files.
pub(super) fn read_all(
    names: Vec<String>,
    read: impl Fn(&str) -> Result<Option<Vec<u8>>, StoreError>,
) -> Result<Blobs, StoreError> {
    let (mut blobs, mut total) = (Blobs::new(), 0);
    for name in names {
        let Some(blob) = parse_name(&name) else { continue };
        let bytes = read(&name)?.unwrap_or_default();
        total += bytes.len();
        if total > MAX_READ_BYTES {
            return Err(StoreError::TooLarge { bytes: total as u64, limit: MAX_READ_BYTES as u64 });
        }
        let bytes = Bytes::from(bytes);
        let pieces = (0..bytes.len()).step_by(PIECE_BYTES);
        let pieces = pieces.map(|from| bytes.slice(from..bytes.len().min(from + PIECE_BYTES))).collect();
        blobs.insert(blob, pieces);
    }
    Ok(blobs)
}

/// What is not durable yet.
#[derive(Default)]
pub(super) struct BlobFiles {
    unsynced: BTreeMap<u64, Unsynced>,
    unsynced_bytes: usize,
    /// Whether files were created since the folder was last synced.
    has_new_names: bool,
    /// What to remove when the current write is durable.
    removals: Vec<BlobWrite>,
}

/// A file that is not durable.
struct Unsynced {
    handle: Option<Box<dyn Handle>>,
    /// The first piece that is not written. After a failed sync, everything is written again: the kernel may have
    /// dropped what it could not write.
    next: usize,
}

impl BlobFiles {
    /// Notes a change that is part of `state` already. Nothing is written yet.
    pub(super) fn note(&mut self, write: &BlobWrite) {
        match write {
            BlobWrite::Piece { blob, index, data } => {
                self.unsynced_bytes += data.len();
                let index = *index as usize;
                let file = self.unsynced.entry(*blob).or_insert(Unsynced { handle: None, next: index });
                file.next = file.next.min(index);
            }
            BlobWrite::Retain { .. } => self.removals.push(write.clone()),
        }
    }

    /// Notes that no blob of `state` is on this disk.
    pub(super) fn note_all(&mut self, state: &State) {
        self.unsynced.extend(state.blobs.keys().map(|blob| (*blob, Unsynced { handle: None, next: 0 })));
    }

    /// Writes what was noted, not yet durable.
    pub(super) fn write(&mut self, state: &State, files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
        for (blob, file) in &mut self.unsynced {
            let (name, pieces) = (name(*blob), state.blobs.get(blob).map(Vec::as_slice).unwrap_or_default());
            let path = folder.join(&name);
            if file.handle.is_none() {
                self.has_new_names = true;
                file.handle = Some(files.open(&name).map_err(StoreError::io("open", &path))?);
            }
            let Some(handle) = &mut file.handle else { continue };
            for (index, piece) in pieces.iter().enumerate().skip(file.next) {
                handle.write_at((index * PIECE_BYTES) as u64, piece).map_err(StoreError::io("write", &path))?;
                file.next = index + 1;
            }
        }
        Ok(())
    }

    /// Makes all blobs durable.
    pub(super) fn sync(&mut self, state: &State, files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
        self.write(state, files, folder)?;
        while let Some(mut entry) = self.unsynced.first_entry() {
            let path = folder.join(name(*entry.key()));
            let file = entry.get_mut();
            if let Some(Err(error)) = file.handle.as_mut().map(|handle| handle.sync()) {
                file.next = 0;
                return Err(StoreError::io("sync", &path)(error));
            }
            entry.remove();
        }
        self.unsynced_bytes = 0;
        if self.has_new_names {
            files.sync().map_err(StoreError::io("sync", folder))?;
            self.has_new_names = false;
        }
        Ok(())
    }

    /// Whether it is time to make blobs durable, although nothing waits for it.
    pub(super) fn wants_sync(&self) -> bool {
        self.unsynced_bytes > MAX_UNSYNCED_BYTES
    }

    /// Removes files that are not needed any more. What cannot be removed now is removed the next time.
    pub(super) fn remove_obsolete(&mut self, files: &dyn Files) {
        for removal in std::mem::take(&mut self.removals) {
            let BlobWrite::Retain { upto, keep } = removal else { continue };
            self.unsynced.retain(|blob, _| *blob > upto || keep.contains(blob));
            for name in files.names().unwrap_or_default() {
                if parse_name(&name).is_some_and(|blob| blob <= upto && !keep.contains(&blob)) {
                    let _ = files.remove(&name);
                }
            }
        }
    }
}
