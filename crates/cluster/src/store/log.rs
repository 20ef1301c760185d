//! The log file of a store: appended to, and written anew from time to time.

use std::path::{Path, PathBuf};

use super::block::{self, BLOCK, Batch};
use super::files::{Files, Handle};
use super::header::Identity;
use super::state::State;
use super::{StoreError, Write, record};

pub(super) const LOG: &str = "log";
const NEW_LOG: &str = "log.new";
/// Room for batches is made in steps of so many blocks: 1 MiB.
const STEP: usize = (1 << 20) / BLOCK;
/// So much room is made in advance.
const AHEAD: usize = STEP / 4;
/// A file with more blocks than this is written anew, unless much of it was there from the beginning: 4 MiB.
const MANY: usize = 4 * STEP;
/// No file is made longer than this: half of what is read.
const MOST: usize = 256 * STEP;

/// A store that is open: the files, and what is in them.
pub struct Store {
    pub(super) files: Box<dyn Files>,
    /// For messages.
    pub(super) folder: PathBuf,
    identity: Identity,
    /// What the file says, or will say when what failed has been repeated.
    state: State,
    /// `None` if the file does not say what `state` says, or cannot be trusted: everything is written anew before
    /// anything is acknowledged.
    log: Option<Log>,
    /// The number of the last write that is in `state`.
    applied: u64,
    /// The number of the first write that was not acknowledged because of an error that may pass.
    owed: Option<u64>,
    /// After any other error, nothing is written any more.
    broken: Option<String>,
}

/// The file that is appended to. All numbers but the last count blocks.
struct Log {
    handle: Box<dyn Handle>,
    /// How long it is.
    allocated: usize,
    /// Where the next batch goes.
    end: usize,
    /// Up to where it is durable.
    durable: usize,
    /// When to write it anew.
    bound: usize,
    /// How many batches it has.
    batches: u64,
}

impl Store {
    /// Without a file yet.
    pub(super) fn new(files: Box<dyn Files>, folder: PathBuf, identity: Identity, state: State) -> Self {
        Store { files, folder, identity, state, log: None, applied: 0, owed: None, broken: None }
    }

    /// Whose store it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Does what a write says. If it returns and the write asks for `sync`, everything up to and with it is durable.
    ///
    /// Numbers grow from write to write. After an [`StoreError::Io`], nothing that was acknowledged is lost, and no
    /// other write is taken than the same once more. After any error in what a write says, none is.
    pub fn write(&mut self, write: &Write) -> Result<(), StoreError> {
        self.write_all(std::slice::from_ref(write))?;
        self.clear_up();
        Ok(())
    }

    /// Does what some writes say, one after the other, and makes them durable together if one of them asks for it.
    pub(super) fn write_all(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        if let Some(reason) = &self.broken {
            return Err(StoreError::OutOfOrder(format!("another write failed before: {reason}")));
        }
        let Some(first) = writes.first() else { return Ok(()) };
        self.check_numbers(writes)?;
        let done = self.apply(writes);
        if let Err(error) = &done {
            match error.may_pass() {
                true => self.owed = Some(first.number),
                false => self.broken = Some(error.to_string()),
            }
        }
        done
    }

    fn check_numbers(&self, writes: &[Write]) -> Result<(), StoreError> {
        let first = writes[0].number;
        match self.owed {
            Some(owed) if first != owed => {
                return Err(StoreError::OutOfOrder(format!("number {first}, but {owed} failed and was not repeated")));
            }
            None if first <= self.applied => {
                return Err(StoreError::OutOfOrder(format!("number {first} after {}", self.applied)));
            }
            _ => {}
        }
        match writes.windows(2).find(|pair| pair[1].number <= pair[0].number) {
            Some(pair) => Err(StoreError::OutOfOrder(format!("number {} after {}", pair[1].number, pair[0].number))),
            None => Ok(()),
        }
    }

    fn apply(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        // The others are in the state already: an attempt failed after it had taken them over.
        let fresh = &writes[writes.partition_point(|write| write.number <= self.applied)..];
        for write in fresh {
            self.state.apply(write)?;
            self.applied = write.number;
        }
        let done = match &self.log {
            Some(_) if fresh.iter().all(|write| write.snapshot.is_none()) => self.append(fresh),
            _ => self.rewrite(),
        };
        let done = done.and_then(|()| if writes.iter().any(|write| write.sync) { self.sync() } else { Ok(()) });
        match &done {
            Ok(()) => self.owed = None,
            // A part of a batch may be in the file; another in the same place could be mistaken for it. And after a
            // failed sync the kernel may have thrown away what it could not write, and the next sync would not know.
            Err(_) => self.log = None,
        }
        done
    }

    /// Puts a batch behind the others, not yet durable.
    fn append(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        let contents = record::changes(writes.iter())?;
        let needed = block::blocks(contents.len());
        self.make_room(needed)?;
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

    /// Makes the file so long that some blocks more fit in; durably, since every block says how long its file was.
    fn make_room(&mut self, needed: usize) -> Result<(), StoreError> {
        let path = self.folder.join(LOG);
        let Some(log) = &mut self.log else { return Ok(()) };
        if log.end + needed <= log.allocated {
            return Ok(());
        }
        let allocated = (log.end + needed).next_multiple_of(STEP);
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

    /// What can be done after an acknowledgement instead of before one: a long file is written anew, and there is room
    /// for what comes next. If it fails, the next write has to do it, or to do without.
    pub(super) fn clear_up(&mut self) {
        let Some(log) = &self.log else { return };
        if log.end > log.bound && self.rewrite().is_err() {
            // Not again for every write: it may be the room that is missing.
            if let Some(log) = &mut self.log {
                log.bound = log.end + STEP;
            }
        }
        // Without, there may still be room for many writes: only a failed sync makes the file useless.
        let _ = self.make_room(AHEAD);
    }

    /// Writes everything into a new file, which takes the place of the old one: durable when it returns.
    pub(super) fn rewrite(&mut self) -> Result<(), StoreError> {
        let new_path = self.folder.join(NEW_LOG);
        let log = self.write_new(&new_path).inspect_err(|_| {
            // It may be its room that is missing. If it stays, the next one takes its place.
            let _ = self.files.remove(NEW_LOG);
        })?;
        // From here on it is not certain which of the files a crash would leave under the name.
        self.log = None;
        self.files.rename(NEW_LOG, LOG).map_err(StoreError::io("rename", &new_path))?;
        self.files.sync().map_err(StoreError::io("sync", &self.folder))?;
        self.log = Some(log);
        Ok(())
    }

    fn write_new(&self, path: &Path) -> Result<Log, StoreError> {
        let batches = record::whole(&self.identity, &self.state)?;
        let end = batches.iter().map(|contents| block::blocks(contents.len())).sum::<usize>();
        let allocated = (end + AHEAD).next_multiple_of(STEP);
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
        let bound = MANY.max(4 * end);
        Ok(Log { handle, allocated, end, durable: end, bound, batches: batches.len() as u64 })
    }
}

fn check_length(blocks: usize) -> Result<(), StoreError> {
    if blocks > MOST {
        return Err(StoreError::TooLarge { bytes: (blocks * BLOCK) as u64, limit: (MOST * BLOCK) as u64 });
    }
    Ok(())
}
