//! Blobs: files beside the log, each with the bytes of a state that an office's holder has stored.
//!
//! The pieces of a blob are entries of the log. They are copied to the blob's file when they are applied, and the file
//! is durable before a snapshot replaces those entries. So nothing waits for it until then. A file may be longer than
//! what the snapshot refers to: the rest is in the log, and is written again. A file that no snapshot refers to and no
//! entry continues is garbage, and removed after the next snapshot.
//!
//! After a failure the files that were not durable are not believed: each is written again under another name, made
//! durable with that name and renamed, so that what a snapshot refers to is there meanwhile. It is the same with a file
//! of an earlier process when it is first written to: its name may be in the kernel's cache alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bytes::Bytes;

use super::StoreError;
use super::files::{Files, Handle};
use super::state::State;
use crate::core::table::PIECE_BYTES;

/// The names of blobs begin with it.
const PREFIX: &str = "state-";
/// The name of a blob that is written again ends with it.
const NEW: &str = ".new";
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

/// Whether the files that were read contain these blobs. A file may be longer.
pub(super) fn contain(found: &Blobs, expected: &Blobs) -> bool {
    let starts_with = |found: &Bytes, piece: &Bytes| found.starts_with(piece);
    expected.iter().all(|(blob, pieces)| {
        let found = found.get(blob).map(Vec::as_slice).unwrap_or_default();
        found.len() >= pieces.len() && found.iter().zip(pieces).all(|(found, piece)| starts_with(found, piece))
    })
}

/// What is not durable yet.
#[derive(Default)]
pub(super) struct BlobFiles {
    unsynced: BTreeMap<u64, Unsynced>,
    unsynced_bytes: usize,
    /// Files of an earlier process that this one has not written to.
    found: BTreeSet<u64>,
    /// Whether files were created since the folder was last synced.
    has_new_names: bool,
    /// What to remove when the current write is durable.
    removals: Vec<BlobWrite>,
}

/// A file that is not durable.
enum Unsynced {
    /// The file, if it is open, and the first piece that is not written.
    Written(Option<Box<dyn Handle>>, usize),
    /// Nobody knows what the file contains.
    Suspect,
}

impl BlobFiles {
    /// The files of a store that was opened.
    pub(super) fn found(state: &State) -> Self {
        BlobFiles { found: state.blobs.keys().copied().collect(), ..BlobFiles::default() }
    }

    /// Notes a change that is part of `state` already. Nothing is written yet.
    pub(super) fn note(&mut self, write: &BlobWrite) {
        match write {
            BlobWrite::Piece { blob, index, data } => {
                self.unsynced_bytes += data.len();
                let index = *index as usize;
                let first = match self.found.remove(blob) {
                    // The process that created it may have ended after the folder's sync failed.
                    true => Unsynced::Suspect,
                    false => Unsynced::Written(None, index),
                };
                if let Unsynced::Written(_, next) = self.unsynced.entry(*blob).or_insert(first) {
                    *next = index.min(*next);
                }
            }
            BlobWrite::Retain { .. } => self.removals.push(write.clone()),
        }
    }

    /// Notes that no blob of `state` may be on this disk.
    pub(super) fn note_all(&mut self, state: &State) {
        self.unsynced.extend(state.blobs.keys().map(|blob| (*blob, Unsynced::Suspect)));
    }

    /// Believes nothing about files that are not durable.
    pub(super) fn distrust(&mut self) {
        self.unsynced.values_mut().for_each(|file| *file = Unsynced::Suspect);
    }

    /// Writes what was noted, not yet durable.
    pub(super) fn write(&mut self, state: &State, files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
        for (blob, file) in &mut self.unsynced {
            let (Unsynced::Written(handle, next), Some(pieces)) = (file, state.blobs.get(blob)) else { continue };
            let name = name(*blob);
            let path = folder.join(&name);
            let open = match handle {
                Some(open) => open,
                None => {
                    self.has_new_names = true;
                    handle.insert(files.open(&name).map_err(StoreError::io("open", &path))?)
                }
            };
            for (index, piece) in pieces.iter().enumerate().skip(*next) {
                open.write_at((index * PIECE_BYTES) as u64, piece).map_err(StoreError::io("write", &path))?;
                *next = index + 1;
            }
        }
        Ok(())
    }

    /// Makes all blobs durable.
    pub(super) fn sync(&mut self, state: &State, files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
        self.try_sync(state, files, folder).inspect_err(|_| self.distrust())
    }

    fn try_sync(&mut self, state: &State, files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
        self.write(state, files, folder)?;
        let mut rewritten = Vec::new();
        for (blob, file) in &mut self.unsynced {
            match (file, state.blobs.get(blob)) {
                (Unsynced::Written(Some(handle), _), _) => {
                    handle.sync().map_err(StoreError::io("sync", &folder.join(name(*blob))))?;
                }
                (Unsynced::Suspect, Some(pieces)) => {
                    write_again(*blob, pieces, files, folder)?;
                    rewritten.push(*blob);
                }
                // It was removed meanwhile.
                (Unsynced::Written(None, _) | Unsynced::Suspect, _) => {}
            }
        }
        if !rewritten.is_empty() {
            self.has_new_names = true;
            // Names may become durable in any order. What an earlier attempt left must not get the name.
            files.sync().map_err(StoreError::io("sync", folder))?;
        }
        for blob in rewritten {
            let (new, path) = (new_name(blob), folder.join(new_name(blob)));
            files.rename(&new, &name(blob)).map_err(StoreError::io("rename", &path))?;
        }
        if self.has_new_names {
            files.sync().map_err(StoreError::io("sync", folder))?;
        }
        (self.has_new_names, self.unsynced_bytes) = (false, 0);
        self.unsynced.clear();
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
                let is_left = name.starts_with(PREFIX) && name.ends_with(NEW);
                if is_left || parse_name(&name).is_some_and(|blob| blob <= upto && !keep.contains(&blob)) {
                    let _ = files.remove(&name);
                }
            }
        }
    }
}

fn new_name(blob: u64) -> String {
    name(blob) + NEW
}

/// Writes a blob to a new file, which is to replace the old one.
fn write_again(blob: u64, pieces: &[Bytes], files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(new_name(blob));
    let mut file = files.create(&new_name(blob)).map_err(StoreError::io("create", &path))?;
    for (index, piece) in pieces.iter().enumerate() {
        file.write_at((index * PIECE_BYTES) as u64, piece).map_err(StoreError::io("write", &path))?;
    }
    file.sync().map_err(StoreError::io("sync", &path))
}
