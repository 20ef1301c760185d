//! A folder in memory with injected faults, which forgets what was not made durable.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use hustings_protocol::SplitMix64;

use crate::store::block::BLOCK;
use crate::store::files::{Files, Handle};
use crate::store::{Recovered, Store, StoreError, StoreOwner};

/// An injected fault: at which file operation, and what happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) step: usize,
    /// Whether the operation takes effect although it reports an error.
    pub(crate) done: bool,
    /// Whether every later operation fails too.
    pub(crate) lasts: bool,
    pub(crate) of: Operations,
    /// How many operations later another one fails; 0 if none does.
    pub(crate) again: usize,
}

/// Which operations fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operations {
    All,
    /// Those that need more space: the disk is full.
    Growing,
    /// Those that make something durable.
    Syncing,
    /// Those that read what was written.
    Reading,
    /// Those that make something durable, and report success: the disk lies.
    Lying,
}

impl Fault {
    /// One operation fails.
    pub(crate) fn once(step: usize, done: bool) -> Self {
        Fault { step, done, lasts: false, of: Operations::All, again: 0 }
    }

    /// One operation fails, and another one while the store recovers from it.
    pub(crate) fn twice(step: usize, done: bool, again: usize) -> Self {
        Fault { again, ..Fault::once(step, done) }
    }

    /// The process dies in an operation.
    pub(crate) fn death(step: usize, done: bool) -> Self {
        Fault { lasts: true, ..Fault::once(step, done) }
    }

    /// From an operation on, some fail.
    pub(crate) fn lasting(step: usize, done: bool, of: Operations) -> Self {
        Fault { step, done, lasts: true, of, again: 0 }
    }

    /// A fault that begins at one of the next operations.
    pub(crate) fn random(mut below: impl FnMut(u64) -> u64, within: u64) -> Self {
        let kinds = [Operations::All, Operations::Growing, Operations::Syncing, Operations::Reading];
        let of = kinds[below(kinds.len() as u64) as usize];
        let (step, done, lasts) = (below(within) as usize, below(2) == 0, below(2) == 0);
        let again = if below(2) == 0 { below(within) as usize } else { 0 };
        Fault { step, done, lasts, of, again }
    }

    /// Every fault that begins at this operation.
    pub(crate) fn all_at(step: usize) -> impl Iterator<Item = Fault> {
        let kinds = [Operations::All, Operations::Growing, Operations::Syncing, Operations::Reading];
        let with = move |done| {
            let lasting = kinds.into_iter().map(move |of| Fault::lasting(step, done, of));
            [Fault::once(step, done)].into_iter().chain(lasting)
        };
        with(false).chain(with(true))
    }
}

/// What is lost when a process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Crash {
    /// Nothing: the kernel keeps the page cache.
    Process,
    /// A part of what was not durable, chosen by a seed.
    Power(u64),
    /// All of what was not durable.
    Everything,
}

#[derive(Clone, Default)]
struct Inode {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Blocks that the kernel has not written yet.
    dirty: BTreeSet<usize>,
    /// Blocks that it could not write, and considers written.
    lost: BTreeSet<usize>,
}

type Names = BTreeMap<String, usize>;

/// A change of names.
#[derive(Clone)]
enum Change {
    Create(String, usize),
    Rename(String, String),
    Remove(String),
}

impl Change {
    /// Has no effect if the file does not exist.
    fn apply(&self, names: &mut Names) {
        match self {
            Change::Create(name, inode) => {
                names.insert(name.clone(), *inode);
            }
            Change::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            Change::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

#[derive(Clone, Default)]
struct Inner {
    inodes: Vec<Inode>,
    names: Names,
    /// The names that a crash leaves, and the changes since the folder was last synced. A failed sync loses them.
    durable_names: Names,
    changes: Vec<Change>,
    steps: usize,
    syncs: usize,
    fault: Option<Fault>,
    /// How many stores were created.
    stores: u64,
    /// The disk is full beyond this length of a file.
    room: Option<u64>,
    /// Reads find what the kernel has in its cache, whether or not it could write it.
    keeps_cache: bool,
}

/// The folder. Clones are the same folder.
#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<Inner>>);

struct Open {
    folder: Fake,
    inode: usize,
}

fn injected(what: &str, of: Operations) -> io::Error {
    match of {
        Operations::Growing => io::ErrorKind::StorageFull.into(),
        _ => io::Error::other(format!("{what}: injected fault")),
    }
}

impl Fake {
    pub(crate) fn new() -> Self {
        Fake::default()
    }

    /// An independent copy.
    pub(crate) fn copy(&self) -> Self {
        self.inner().forget_nameless();
        Fake(Arc::new(Mutex::new(self.inner().clone())))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no test panics while it holds this")
    }

    pub(crate) fn open(&self, owner: &StoreOwner) -> Result<(Store, Recovered), StoreError> {
        Store::open_in(Box::new(self.clone()), Path::new("/fake"), owner)
    }

    /// Injects a fault from now on.
    pub(crate) fn set_fault(&self, fault: Option<Fault>) {
        let mut inner = self.inner();
        inner.fault = fault;
        inner.steps = 0;
    }

    /// Stores that are created from now on have other identities.
    pub(crate) fn change_identities(&self) {
        self.inner().stores += 1 << 32;
    }

    pub(crate) fn set_room(&self, room: Option<u64>) {
        self.inner().room = room;
    }

    /// From now on the cache cannot be dropped, as on some file systems.
    pub(crate) fn keep_cache(&self) {
        self.inner().keeps_cache = true;
    }

    /// The kernel writes files by itself, cannot, and considers them written. It reports that to nobody.
    pub(crate) fn fail_in_background(&self) {
        self.inner().inodes.iter_mut().for_each(|inode| inode.lost.append(&mut inode.dirty));
    }

    /// How many file operations there were since a fault was last set.
    pub(crate) fn steps(&self) -> usize {
        self.inner().steps
    }

    /// How often a file, not the folder, was synced.
    pub(crate) fn syncs(&self) -> usize {
        self.inner().syncs
    }

    /// The content of a file.
    pub(crate) fn contents(&self, name: &str) -> Vec<u8> {
        self.inner().read(name).expect("the file exists")
    }

    /// Changes the content of a file behind the store's back.
    pub(crate) fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut inner = self.inner();
        let inode = inner.names[name];
        edit(&mut inner.inodes[inode].now);
    }

    /// The process ends, and the fault with it.
    pub(crate) fn crash(&self, crash: Crash) {
        let mut inner = self.inner();
        inner.fault = None;
        inner.forget_nameless();
        let mut rng = match crash {
            Crash::Process => return,
            Crash::Power(seed) => Some(SplitMix64::new(seed)),
            Crash::Everything => None,
        };
        let mut is_kept = || rng.as_mut().is_some_and(|rng| rng.below(2) == 0);
        let mut names = inner.durable_names.clone();
        for change in std::mem::take(&mut inner.changes) {
            if is_kept() {
                change.apply(&mut names);
            }
        }
        (inner.names, inner.durable_names) = (names.clone(), names);
        for inode in &mut inner.inodes {
            if is_kept() {
                let length = inode.now.len();
                inode.durable.resize(length, 0);
            }
            for block in std::mem::take(&mut inode.dirty) {
                if is_kept() {
                    inode.keep(block);
                }
            }
            inode.lost.clear();
            inode.now = inode.durable.clone();
        }
    }

    /// Counts a step; `true` if it is to be done, and an error if it is to be reported.
    fn step(&self, what: &str, kind: Operations) -> (bool, io::Result<()>) {
        let mut inner = self.inner();
        let step = inner.steps;
        inner.steps += 1;
        let concerns = |fault: &Fault| match fault.of {
            Operations::All => true,
            Operations::Lying => kind == Operations::Syncing,
            of => of == kind,
        };
        match inner.fault.filter(concerns) {
            Some(fault) if fault.of == Operations::Lying && fault.step <= step => (false, Ok(())),
            Some(fault) if step == fault.step || (fault.again > 0 && step == fault.step + fault.again) => {
                (fault.done, Err(injected(what, fault.of)))
            }
            Some(fault) if fault.lasts && fault.step < step => {
                (fault.done && fault.of != Operations::All, Err(injected(what, fault.of)))
            }
            _ => (true, Ok(())),
        }
    }

    fn change(&self, what: &str, change: Change) -> io::Result<()> {
        let kind = if matches!(change, Change::Create(..)) { Operations::Growing } else { Operations::All };
        let (go, result) = self.step(what, kind);
        if go {
            let mut inner = self.inner();
            change.apply(&mut inner.names);
            inner.changes.push(change);
        }
        result
    }
}

impl Inner {
    /// A process that dies in a sync leaves everything to the kernel.
    fn is_dead(&self) -> bool {
        self.fault.is_some_and(|fault| fault.lasts && fault.of == Operations::All)
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let inode = &self.inodes[*self.names.get(name)?];
        Some(if self.keeps_cache { inode.now.clone() } else { inode.read() })
    }

    /// Forgets the contents of files that no longer have a name, and cannot get one back.
    fn forget_nameless(&mut self) {
        let created = self.changes.iter().filter_map(|change| match change {
            Change::Create(_, inode) => Some(*inode),
            _ => None,
        });
        let named: BTreeSet<usize> =
            self.names.values().chain(self.durable_names.values()).copied().chain(created).collect();
        let inodes = self.inodes.iter_mut().enumerate();
        inodes.filter(|(place, _)| !named.contains(place)).for_each(|(_, inode)| *inode = Inode::default());
    }
}

impl Inode {
    /// Reads from the disk what is not waiting to be written.
    fn read(&self) -> Vec<u8> {
        let mut bytes = self.now.clone();
        let blocks = self.lost.iter().map(|block| block * BLOCK..((block + 1) * BLOCK).min(bytes.len()));
        for range in blocks.collect::<Vec<_>>() {
            let durable = self.durable.get(range.start..range.end.min(self.durable.len())).unwrap_or_default();
            bytes[range.clone()].fill(0);
            bytes[range.start..range.start + durable.len()].copy_from_slice(durable);
        }
        bytes
    }

    /// Makes a block durable, if the file is that long.
    fn keep(&mut self, block: usize) {
        let end = ((block + 1) * BLOCK).min(self.now.len()).min(self.durable.len());
        if block * BLOCK < end {
            self.durable[block * BLOCK..end].copy_from_slice(&self.now[block * BLOCK..end]);
        }
    }
}

impl Files for Fake {
    fn names(&self) -> io::Result<Vec<String>> {
        self.step("list", Operations::Reading).1?;
        Ok(self.inner().names.keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.step("read", Operations::Reading).1?;
        Ok(self.inner().read(name))
    }

    /// An existing file is replaced, which loses at least as much as truncating it.
    fn create(&self, name: &str) -> io::Result<Box<dyn Handle>> {
        let inode = {
            let mut inner = self.inner();
            inner.inodes.push(Inode::default());
            inner.inodes.len() - 1
        };
        self.change("create", Change::Create(name.to_string(), inode))?;
        Ok(Box::new(Open { folder: self.clone(), inode }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Handle>> {
        let known = self.inner().names.get(name).copied();
        match known {
            Some(inode) => Ok(Box::new(Open { folder: self.clone(), inode })),
            None => self.create(name),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change("rename", Change::Rename(from.to_string(), to.to_string()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change("remove", Change::Remove(name.to_string()))
    }

    fn random(&self) -> io::Result<u128> {
        let mut inner = self.inner();
        inner.stores += 1;
        Ok(u128::from(SplitMix64::new(inner.stores).next_u64()) << 60)
    }

    /// After a failed sync the kernel considers all names durable.
    fn sync(&self) -> io::Result<()> {
        let (go, result) = self.step("sync of the folder", Operations::Syncing);
        let mut inner = self.inner();
        if !go && inner.is_dead() {
            return result;
        }
        let changes = std::mem::take(&mut inner.changes);
        if go {
            changes.iter().for_each(|change| change.apply(&mut inner.durable_names));
        }
        result
    }
}

impl Handle for Open {
    fn extend(&mut self, _: u64, to: u64) -> io::Result<()> {
        let (go, result) = self.folder.step("extend", Operations::Growing);
        let mut inner = self.folder.inner();
        if inner.room.is_some_and(|room| to > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if go {
            inner.inodes[self.inode].now.resize(to as usize, 0);
        }
        result
    }

    /// A failed write may have written its first half.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let length = self.folder.inner().inodes[self.inode].now.len();
        let kind = if offset as usize + bytes.len() > length { Operations::Growing } else { Operations::All };
        let (go, result) = self.folder.step("write", kind);
        let length = match (go, &result) {
            (true, Ok(())) => bytes.len(),
            (true, Err(_)) => (bytes.len() / 2).next_multiple_of(BLOCK).min(bytes.len()),
            (false, _) => 0,
        };
        let mut inner = self.folder.inner();
        let inode = &mut inner.inodes[self.inode];
        let (start, end) = (offset as usize, offset as usize + length);
        if inode.now.len() < end {
            inode.now.resize(end, 0);
        }
        inode.now[start..end].copy_from_slice(&bytes[..length]);
        let blocks = start / BLOCK..end.div_ceil(BLOCK);
        blocks.clone().for_each(|block| _ = inode.lost.remove(&block));
        inode.dirty.extend(blocks);
        result
    }

    /// After a failed sync the kernel considers everything written.
    fn sync(&mut self) -> io::Result<()> {
        let (go, result) = self.folder.step("sync", Operations::Syncing);
        let mut inner = self.folder.inner();
        inner.syncs += 1;
        let is_dead = inner.is_dead();
        let inode = &mut inner.inodes[self.inode];
        if go {
            inode.durable.resize(inode.now.len(), 0);
            std::mem::take(&mut inode.dirty).into_iter().for_each(|block| inode.keep(block));
        } else if !is_dead {
            inode.lost.append(&mut inode.dirty);
        }
        result
    }
}
