//! The hosts of a simulated cluster: a node, its disk, its clock, and a program that campaigns.

use std::collections::BTreeMap;
use std::time::Duration;

use hustings_protocol::Id;

use super::events::EventKind;
use super::{Rng, SimCluster};
use crate::api::Request;
use crate::core::{ClientId, Core};
use crate::store::tests::fake::{Crash, Fake, Fault};
use crate::store::{RaftStorage, Store, StoreError, StoreOwner, Write};

/// Programs have ids from here on.
const FIRST_CLIENT: u64 = 1 << 40;

#[derive(Default)]
pub(super) struct Host {
    pub(super) core: Option<Core>,
    pub(super) incarnation: u64,
    pub(super) disk: Fake,
    /// The open store on the disk.
    pub(super) store: Option<Store>,
    /// Writes that are not durable yet.
    pub(super) queue: Vec<Write>,
    /// The number of the last write that was tried.
    pub(super) tried: u64,
    /// The disk that was replaced by a blank one.
    pub(super) replaced: Option<Fake>,
    /// The disk that was replaced by an older copy of it.
    pub(super) newest: Option<Fake>,
    /// The older copy that the cluster refused last.
    pub(super) refused: Option<Fake>,
    pub(super) frozen: bool,
    pub(super) is_leaving: bool,
    /// It was removed from the cluster, and is not started again.
    pub(super) is_removed: bool,
    pub(super) deferred: Vec<EventKind>,
    pub(super) ppm: i64,
    pub(super) wake: u64,
    /// The program that campaigns, while it runs.
    pub(super) client: Option<ClientId>,
    /// What the program holds and was not told to stop: token and length of the lease.
    pub(super) held: BTreeMap<String, (u64, Duration)>,
}

/// To whom the store of a host belongs.
pub(super) fn owner(node: usize) -> StoreOwner {
    StoreOwner { cluster: "test".to_string(), id: Id(node as u64 + 1) }
}

impl Host {
    pub(super) fn has_blank_disk(&self) -> bool {
        self.replaced.is_some()
    }

    pub(super) fn store_id(&self, node: usize) -> u64 {
        node as u64 + if self.has_blank_disk() { 10_077 } else { 77 }
    }

    /// Opens the store, unless the disk fails just now.
    pub(super) fn open_store(&mut self, node: usize) -> Option<RaftStorage> {
        let opened = self.disk.open(&owner(node));
        let (store, recovered) = match opened {
            Ok(opened) => opened,
            Err(error) if error.is_transient() => return None,
            Err(error) => panic!("node {node} cannot start: {error}"),
        };
        self.store = Some(store);
        Some(recovered.storage)
    }

    /// Writes what is queued up to a number, together with what was tried before and failed. Returns up to which number
    /// everything is durable; `None` if there was nothing to write.
    pub(super) fn write(&mut self, number: u64) -> Option<Result<u64, StoreError>> {
        let (store, tried) = (self.store.as_mut()?, number.max(self.tried));
        let count = self.queue.partition_point(|write| write.number <= tried);
        let last = self.queue[..count].last()?.number;
        self.tried = last;
        let done = store.write_all(&self.queue[..count]);
        if done.is_ok() {
            self.queue.drain(..count);
        }
        Some(done.map(|()| last))
    }

    /// The process dies while it writes some of what is queued, and the power may fail.
    pub(super) fn crash(&mut self, rng: &mut Rng) {
        let (queued, step, is_done) = (rng.below(self.queue.len() as u64 + 1), rng.below(12), rng.below(2) == 0);
        self.disk.set_fault(Some(Fault::death(step as usize, is_done)));
        if let Some(last) = queued.checked_sub(1) {
            let last = self.queue[last as usize].number;
            self.write(last);
        }
        self.disk.crash(if rng.below(2) == 0 { Crash::Process } else { Crash::Power(rng.below(u64::MAX)) });
        (self.store, self.tried) = (None, 0);
        self.queue.clear();
    }

    /// Puts the former disk back.
    pub(super) fn restore_disk(&mut self) {
        if let Some(disk) = self.replaced.take() {
            self.disk = disk;
        }
    }
}

impl SimCluster {
    /// A node leaves in good order, and stays down.
    pub(crate) fn leave(&mut self, node: usize) {
        if !self.hosts[node].frozen {
            self.hosts[node].is_leaving = self.hosts[node].core.is_some();
            self.drive(node, |core, now| core.leave(now));
        }
    }

    /// A program starts on a host, and campaigns.
    pub(crate) fn start_client(&mut self, node: usize) {
        if self.hosts[node].client.is_some() || self.hosts[node].core.is_none() || self.hosts[node].frozen {
            return;
        }
        self.serial += 1;
        let client = ClientId(FIRST_CLIENT + self.serial);
        self.hosts[node].client = Some(client);
        let more = (0..self.options.extra_offices).map(|number| format!("office-{number}"));
        for office in ["job".to_string(), "fast".to_string()].into_iter().chain(more) {
            let request = Request::Campaign { office, mode: None, guard: None };
            self.drive(node, |core, now| core.handle_request(client, request, now));
        }
    }

    /// The connection of the program on a host ends. It may act until the deadlines that it knows.
    pub(crate) fn end_client(&mut self, node: usize) {
        if let Some(client) = self.hosts[node].client.take() {
            self.hosts[node].held.clear();
            let incarnation = self.hosts[node].incarnation;
            self.handle_event(EventKind::ClientGone { at: node, incarnation, client });
        }
    }

    /// A host is restarted with a blank disk, which the cluster must not trust. At most a minority has one at a time:
    /// if a majority loses its disks, nobody can know what it had promised.
    pub(crate) fn replace_disk(&mut self, node: usize) {
        let blank = (0..self.size()).filter(|other| *other != node && self.hosts[*other].has_blank_disk()).count();
        if 2 * (blank + 1) >= self.size() {
            return;
        }
        self.kill(node);
        let host = &mut self.hosts[node];
        if host.replaced.is_none() {
            host.replaced = Some(std::mem::take(&mut host.disk));
        }
        self.start(node);
    }

    /// If a host has a blank disk, it is restarted with its former one.
    pub(crate) fn repair_disk(&mut self, node: usize) {
        if self.hosts[node].has_blank_disk() {
            self.kill(node);
            self.hosts[node].restore_disk();
        }
    }

    /// Operations of a disk fail from now on. If its process is killed, it works again.
    pub(crate) fn fail_disk(&mut self, node: usize, fault: Fault) {
        self.hosts[node].disk.set_fault(Some(fault));
    }

    /// A disk works again.
    pub(crate) fn heal_disk(&mut self, node: usize) {
        self.hosts[node].disk.set_fault(None);
    }

    /// How many operations there were on a disk since it last changed whether it fails.
    pub(crate) fn disk_steps(&self, node: usize) -> usize {
        self.hosts[node].disk.steps()
    }
}
