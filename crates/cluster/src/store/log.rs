//! The log file of a store: appended to, and rewritten from time to time.

use std::path::{Path, PathBuf};

use super::blobs::{self, BlobFiles};
use super::block::{self, BLOCK, Batch};
use super::files::{Files, Handle};
use super::header::Identity;
use super::open::load;
use super::state::State;
use super::{StoreError, Write, record};

pub(super) const LOG: &str = "log";
const NEW_LOG: &str = "log.new";
/// The file grows in steps of this many blocks (1 MiB).
const ALLOCATION_STEP: usize = (1 << 20) / BLOCK;
/// How many blocks are allocated in advance.
const PREALLOCATE: usize = ALLOCATION_STEP / 4;
/// A file with more blocks (4 MiB) is rewritten, unless much of it was there from the beginning.
const REWRITE_THRESHOLD: usize = 4 * ALLOCATION_STEP;
/// The largest file that is written, in blocks: half of what can be read.
const MAX_BLOCKS: usize = 256 * ALLOCATION_STEP;

/// An open store: its files and their content.
pub(crate) struct Store {
    pub(super) files: Box<dyn Files>,
    /// For error messages.
    pub(super) folder: PathBuf,
    identity: Identity,
    /// What the files contain, or will contain once a failed write has been repeated.
    state: State,
    /// `None` if nothing on the disk is believed: after a failure, and before the first file. Then everything is
    /// written again and read back before anything is acknowledged.
    log: Option<Log>,
    /// The blobs that are not durable yet.
    blobs: BlobFiles,
    /// The number of the last write that is part of `state`.
    applied: u64,
    /// The number of the first write that a transient error left unacknowledged.
    retry_from: Option<u64>,
    /// The message of a permanent error, after which nothing is written.
    broken: Option<String>,
}

/// The file that is appended to. All numbers but `batches` count blocks.
struct Log {
    handle: Box<dyn Handle>,
    /// The length of the file.
    allocated: usize,
    /// Where the next batch begins.
    end: usize,
    /// Up to where the file is durable.
    durable: usize,
    /// Beyond this length the file is rewritten.
    bound: usize,
    /// From this end on, room is allocated in advance.
    reserve_at: usize,
    /// The number of batches.
    batches: u64,
}

impl Store {
    /// A store that has no file yet.
    pub(super) fn new(files: Box<dyn Files>, folder: PathBuf, identity: Identity, state: State) -> Self {
        Store {
            files,
            folder,
            identity,
            blobs: BlobFiles::found(&state),
            state,
            log: None,
            applied: 0,
            retry_from: None,
            broken: None,
        }
    }

    /// The identity of the store.
    #[cfg(test)]
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Applies a write. If the write asks for `sync`, it and everything before it is durable when this returns.
    ///
    /// Numbers increase from write to write. After [`StoreError::Io`] nothing acknowledged is lost, and the only valid
    /// next write is the same one again. After any other error no further write is accepted.
    #[cfg(test)]
    pub(crate) fn write(&mut self, write: &Write) -> Result<(), StoreError> {
        self.write_all(std::slice::from_ref(write))?;
        self.maintain();
        Ok(())
    }

    /// Applies several writes in order, and makes them durable together if one of them asks for it.
    pub(crate) fn write_all(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        if let Some(reason) = &self.broken {
            return Err(StoreError::OutOfOrder(format!("an earlier write failed: {reason}")));
        }
        let Some(first) = writes.first() else { return Ok(()) };
        self.check_numbers(writes)?;
        let done = self.apply(writes);
        if let Err(error) = &done {
            match error.is_transient() {
                true => self.retry_from = Some(first.number),
                false => self.broken = Some(error.to_string()),
            }
        }
        done
    }

    fn check_numbers(&self, writes: &[Write]) -> Result<(), StoreError> {
        let first = writes[0].number;
        match self.retry_from {
            Some(retry_from) if first != retry_from => {
                return Err(StoreError::OutOfOrder(format!(
                    "write {first} follows, but write {retry_from} failed and was not repeated"
                )));
            }
            None if first <= self.applied => {
                return Err(StoreError::OutOfOrder(format!("write {first} follows write {}", self.applied)));
            }
            _ => {}
        }
        match writes.windows(2).find(|pair| pair[1].number <= pair[0].number) {
            Some(pair) => {
                Err(StoreError::OutOfOrder(format!("write {} follows write {}", pair[1].number, pair[0].number)))
            }
            None => Ok(()),
        }
    }

    fn apply(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        // The other writes are part of the state already: an earlier attempt failed after applying them.
        let fresh = &writes[writes.partition_point(|write| write.number <= self.applied)..];
        for write in fresh {
            self.state.apply(write)?;
            write.blobs.iter().for_each(|blob| self.blobs.note(blob));
            self.applied = write.number;
        }
        let done = self.write_down(fresh, writes.iter().any(|write| write.sync));
        match &done {
            Ok(()) => {
                self.retry_from = None;
                self.blobs.remove_obsolete(&*self.files);
            }
            Err(_) => self.distrust(),
        }
        done
    }

    /// Writes what is part of the state already.
    fn write_down(&mut self, fresh: &[Write], sync: bool) -> Result<(), StoreError> {
        if self.log.is_none() {
            return self.restore();
        }
        if fresh.iter().any(|write| write.snapshot.is_some()) {
            return self.rewrite();
        }
        self.blobs.write(&self.state, &*self.files, &self.folder)?;
        self.append(fresh)?;
        if sync { self.sync() } else { Ok(()) }
    }

    /// Believes nothing any more: after a failure a file may contain part of a batch, and another batch in the same
    /// place could be mistaken for it; and the kernel may have dropped what it could not write, which the next sync
    /// would not report.
    fn distrust(&mut self) {
        self.log = None;
        self.blobs.distrust();
    }

    /// Writes everything again after a failure, and reads it back.
    fn restore(&mut self) -> Result<(), StoreError> {
        self.rewrite()?;
        match self.is_recorded()? {
            true => Ok(()),
            false => Err(StoreError::Corrupt {
                file: self.folder.join(LOG),
                offset: 0,
                expected: "what was written a moment ago".to_string(),
                found: "something else".to_string(),
            }),
        }
    }

    /// Whether the files contain the state.
    fn is_recorded(&self) -> Result<bool, StoreError> {
        let found = load(&*self.files, &self.folder)?;
        let encode = |state| record::encode_all(&self.identity, state);
        Ok(found.torn_at.is_none()
            && encode(&found.state)? == encode(&self.state)?
            && blobs::contain(&found.state.blobs, &self.state.blobs))
    }

    /// Appends a batch, not yet durable.
    fn append(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        let contents = record::encode_writes(writes.iter())?;
        let needed = block::blocks(contents.len());
        self.ensure_allocated(needed)?;
        let Some(log) = &mut self.log else { return Ok(()) };
        if needed == 0 {
            return Ok(());
        }
        let batch = Batch { number: log.batches, durable: log.durable as u32, allocated: log.allocated as u32 };
        let bytes = block::encode(&contents, batch, log.end, self.identity.salt())?;
        log.handle
            .write_at((log.end * BLOCK) as u64, &bytes)
            .map_err(StoreError::io("write", &self.folder.join(LOG)))?;
        log.end += needed;
        log.batches += 1;
        Ok(())
    }

    /// Extends the file so that it has room for more blocks. The new length is made durable, because every block
    /// records it.
    fn ensure_allocated(&mut self, needed: usize) -> Result<(), StoreError> {
        let path = self.folder.join(LOG);
        let Some(log) = &mut self.log else { return Ok(()) };
        if log.end + needed <= log.allocated {
            return Ok(());
        }
        let allocated = (log.end + needed).next_multiple_of(ALLOCATION_STEP);
        check_length(allocated)?;
        log.handle
            .extend((log.allocated * BLOCK) as u64, (allocated * BLOCK) as u64)
            .map_err(StoreError::io("extend", &path))?;
        if let Err(error) = log.handle.sync() {
            self.log = None;
            return Err(StoreError::io("sync", &path)(error));
        }
        log.allocated = allocated;
        log.durable = log.end;
        Ok(())
    }

    /// Makes everything durable.
    fn sync(&mut self) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        if log.durable < log.end {
            log.handle.sync().map_err(StoreError::io("sync", &self.folder.join(LOG)))?;
            log.durable = log.end;
        }
        Ok(())
    }

    /// Does work that can follow an acknowledgement: makes blobs durable, rewrites a long file and allocates room in
    /// advance. If it fails, the next write does it, or does without.
    pub(crate) fn maintain(&mut self) {
        if self.log.is_none() {
            return;
        }
        let is_blob_lost = self.blobs.wants_sync() && self.blobs.sync(&self.state, &*self.files, &self.folder).is_err();
        if is_blob_lost {
            self.distrust();
        } else if self.make_room().is_err() {
            self.reopen();
        }
    }

    /// Rewrites a long file, and allocates room in advance. Neither is tried again at every write: the disk may be
    /// full.
    fn make_room(&mut self) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        if log.end > log.bound {
            log.bound = log.end + ALLOCATION_STEP;
            self.rewrite()?;
        }
        let Some(log) = &mut self.log else { return Ok(()) };
        if log.end < log.reserve_at {
            return Ok(());
        }
        log.reserve_at = log.end + PREALLOCATE / 4;
        self.ensure_allocated(PREALLOCATE)
    }

    /// After a failure that concerns a new file, or the end of this one, where nothing is written yet: keeps this one
    /// if it contains the state. On a full disk it may have room for many more writes.
    fn reopen(&mut self) {
        match (self.files.open(LOG), self.is_recorded(), &mut self.log) {
            (Ok(handle), Ok(true), Some(log)) => log.handle = handle,
            _ => self.distrust(),
        }
    }

    /// Writes all blobs with the next write, whether or not they seem to be on the disk already.
    pub(super) fn write_all_blobs(&mut self) {
        self.blobs.note_all(&self.state);
    }

    /// Writes everything, blobs included, to a folder that has none of it.
    pub(super) fn write_everything(&mut self) -> Result<(), StoreError> {
        self.write_all_blobs();
        self.restore()
    }

    /// Writes everything to a new file, which replaces the old one. It is durable when this returns.
    pub(super) fn rewrite(&mut self) -> Result<(), StoreError> {
        // The snapshot refers to blobs.
        self.blobs.sync(&self.state, &*self.files, &self.folder)?;
        let new_path = self.folder.join(NEW_LOG);
        let log = self.write_new(&new_path).inspect_err(|_| {
            // The disk may be full. If the file stays, the next attempt overwrites it.
            let _ = self.files.remove(NEW_LOG);
        })?;
        // Names may become durable in any order. What an earlier attempt left as a new log must not get the name.
        self.files.sync().map_err(StoreError::io("sync", &self.folder))?;
        // From here on a crash may leave either file under the name.
        self.log = None;
        self.files.rename(NEW_LOG, LOG).map_err(StoreError::io("rename", &new_path))?;
        self.files.sync().map_err(StoreError::io("sync", &self.folder))?;
        self.log = Some(log);
        Ok(())
    }

    /// Removes another file of the folder, durably.
    pub(super) fn remove(&self, name: &str) -> Result<(), StoreError> {
        self.files.remove(name).map_err(StoreError::io("remove", &self.folder.join(name)))?;
        self.files.sync().map_err(StoreError::io("sync", &self.folder))
    }

    fn write_new(&self, path: &Path) -> Result<Log, StoreError> {
        let batches = record::encode_all(&self.identity, &self.state)?;
        let end = batches.iter().map(|contents| block::blocks(contents.len())).sum::<usize>();
        let allocated = (end + PREALLOCATE).next_multiple_of(ALLOCATION_STEP);
        check_length(allocated)?;
        let mut handle = self.files.create(NEW_LOG).map_err(StoreError::io("create", path))?;
        handle.extend(0, (allocated * BLOCK) as u64).map_err(StoreError::io("extend", path))?;
        let mut position = 0;
        for (number, contents) in (0..).zip(&batches) {
            let batch = Batch { number, durable: 0, allocated: allocated as u32 };
            let bytes = block::encode(contents, batch, position, self.identity.salt())?;
            handle.write_at((position * BLOCK) as u64, &bytes).map_err(StoreError::io("write", path))?;
            position += bytes.len() / BLOCK;
        }
        handle.sync().map_err(StoreError::io("sync", path))?;
        let bound = REWRITE_THRESHOLD.max(4 * end);
        Ok(Log { handle, allocated, end, durable: end, bound, reserve_at: 0, batches: batches.len() as u64 })
    }
}

fn check_length(blocks: usize) -> Result<(), StoreError> {
    if blocks > MAX_BLOCKS {
        return Err(StoreError::TooLarge { bytes: (blocks * BLOCK) as u64, limit: (MAX_BLOCKS * BLOCK) as u64 });
    }
    Ok(())
}
