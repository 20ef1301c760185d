//! Whose disk is trusted. A disk that is not the registered one, or an older copy of it, has forgotten votes and
//! entries: a majority that counts it could elect a second leader of a term, or lose what was committed.
//!
//! - Every member's disk is registered in the log, by a random number. Another disk is *unknown*.
//! - Every member tells the others, now and then, how far its disk certainly is ([`Message::DiskMark`]): a term and a
//!   committed entry, both durable. On a disk that keeps what it has confirmed, neither ever becomes smaller. The
//!   others remember the highest ones, and write them to disk with whatever they write next.
//! - When a member introduces itself, it says where its log ends. If that is before what somebody remembers of the same
//!   disk, then it is an *old* copy.
//!
//! Who notices either refuses the member: it says so, and handles nothing of what the member sends. It neither counts
//! the member's votes and acknowledgements nor follows it. The member writes that it was refused and stops. Without
//! this record, what it had received before it was told would make its disk look complete at the next start, although
//! votes are still missing. So the folder stays refused until it is replaced.
//!
//! Every member refuses by itself, whoever leads. It is enough that one that remembers is up: the old copy stops before
//! it can form a majority, unless it does so without hearing from the one that remembers. What nobody who is up has
//! heard of, nobody can notice.

use std::collections::BTreeMap;

use hustings_protocol::Id;
use raft::{GetEntriesContext, Storage};

use super::RaftArbiter;
use crate::core::Exit;
use crate::core::arbiter::ArbiterEvent;
use crate::core::context::Context;
use crate::core::table::{Command, EntryEffect, decode_entry};
use crate::store::{DiskPosition, KnownDisk, KnownDisks, RaftStorage, Refusal};
use crate::wire::Message;

/// What this node knows of disks.
pub(super) struct Disks {
    /// The disks that the log registered when this node started. How much of the log is committed, a restarted node
    /// learns only from a leader.
    logged: LoggedDisks,
    /// Members whose registration is proposed, and which formats they read according to it.
    pending_registrations: BTreeMap<Id, u8>,
    /// The members that this node refuses.
    refused: BTreeMap<Id, Refusal>,
    /// What it remembers, and whether that has changed since it was written.
    known: KnownDisks,
    is_unwritten: bool,
    /// Where this node's log ended when it started.
    started_at: DiskPosition,
    /// What it last told the others of its own disk.
    told: DiskPosition,
    /// Test only: disks are known to forget.
    is_blind: bool,
}

impl Disks {
    pub(super) fn new(
        storage: &RaftStorage,
        started_at: DiskPosition,
        reads: u8,
        is_blind: bool,
    ) -> Result<Self, raft::Error> {
        Ok(Disks {
            logged: LoggedDisks::new(storage, reads)?,
            pending_registrations: BTreeMap::new(),
            refused: BTreeMap::new(),
            known: storage.known_disks(),
            is_unwritten: false,
            started_at,
            told: DiskPosition::default(),
            is_blind,
        })
    }

    pub(super) fn refuses(&self, id: Id) -> bool {
        self.refused.contains_key(&id)
    }

    /// This node became the leader.
    pub(super) fn handle_leadership(&mut self) {
        self.pending_registrations.clear();
    }

    pub(super) fn forget(&mut self, id: Id) {
        self.refused.remove(&id);
        self.pending_registrations.remove(&id);
        self.is_unwritten |= self.known.remove(&id).is_some();
    }

    /// What is to be written with the next write.
    pub(super) fn take_unwritten(&mut self) -> Option<KnownDisks> {
        std::mem::take(&mut self.is_unwritten).then(|| self.known.clone())
    }

    /// A member that this node trusts says how far its disk is.
    fn remember(&mut self, id: Id, store_id: u64, incarnation: u64, reached: DiskPosition) {
        let former = self.known.get(&id).copied();
        let before = former.filter(|known| known.store_id == store_id);
        let reached = before.map_or(reached, |known| known.reached.max(reached));
        let now = KnownDisk { store_id, incarnation, reached };
        self.is_unwritten |= former != Some(now);
        self.known.insert(id, now);
    }

    /// Whether a disk whose log ends at `position` is older than what an earlier process has said of it. What the same
    /// process says may arrive in another order, directly and through relays.
    fn is_old(&self, id: Id, store_id: u64, incarnation: u64, position: DiskPosition) -> bool {
        let is_earlier = |known: &&KnownDisk| known.store_id == store_id && known.incarnation != incarnation;
        let known = self.known.get(&id).filter(is_earlier);
        known.is_some_and(|known| !position.includes(known.reached)) && !self.is_blind
    }
}

/// The disks that a log registers.
struct LoggedDisks {
    by_member: BTreeMap<Id, u64>,
    last_index: u64,
}

impl LoggedDisks {
    fn new(storage: &RaftStorage, reads: u8) -> Result<Self, raft::Error> {
        let (first, last_index) = (storage.first_index()?, storage.last_index()?);
        let entries = storage.entries(first, last_index + 1, None, GetEntriesContext::empty(false))?;
        let registered = entries.iter().filter_map(|entry| match decode_entry(entry, reads) {
            Ok(EntryEffect::Command(Command::RegisterStore { id, store_id, .. })) => Some((id, store_id)),
            _ => None,
        });
        Ok(LoggedDisks { by_member: registered.collect(), last_index })
    }

    /// The disk of a member, 0 if there is none. When everything is applied, the table knows better: entries that were
    /// not committed may have been replaced.
    fn get(&self, id: Id, applied: u64) -> u64 {
        let disk = self.by_member.get(&id).filter(|_| applied < self.last_index);
        disk.copied().unwrap_or(0)
    }
}

impl RaftArbiter {
    /// The disk that is registered for a member, 0 if there is none. `None` if it is no member.
    fn registered_disk(&self, id: Id) -> Option<u64> {
        let applied = self.table.members.get(&id)?.store_id;
        let logged = || self.disks.logged.get(id, self.consensus.applied());
        Some(if applied != 0 { applied } else { logged() })
    }

    /// A member introduced itself: its log ends here.
    pub(super) fn check_disk(&mut self, id: Id, store_id: u64, position: DiskPosition, context: &mut Context<'_>) {
        let incarnation = context.liveness.incarnation_of(id).unwrap_or(0);
        if self.registered_disk(id).is_some_and(|known| known != 0 && known != store_id) {
            // If it was refused before, it is another process now.
            self.refuse(id, Refusal::UnknownDisk, context);
        } else if self.disks.is_old(id, store_id, incarnation, position) {
            self.refuse(id, Refusal::OldDisk, context);
        } else {
            self.disks.refused.remove(&id);
        }
    }

    fn refuse(&mut self, id: Id, refusal: Refusal, context: &mut Context<'_>) {
        self.disks.refused.insert(id, refusal);
        match (refusal, self.disks.known.get(&id)) {
            (Refusal::OldDisk, Some(known)) => context.send(id, Message::OldDisk(*known)),
            _ => context.send(id, Message::UnknownDisk),
        }
        if self.consensus.leader() == Some(id) && id != self.own {
            self.handle_leader_lost(context);
        }
    }

    /// The registered disks may have changed. The leader registers new ones.
    pub(super) fn check_registrations(&mut self, context: &mut Context<'_>) {
        let peers: Vec<(Id, u64, u8)> =
            context.liveness.peers().filter_map(|(id, peer)| Some((id, peer.store_id?, peer.reads))).collect();
        for (id, store_id, reads) in peers.into_iter().chain([(self.own, self.store_id, self.reads)]) {
            self.check_program(id, reads, context);
            let registered = self.registered_disk(id);
            let is_refused = self.disks.refused.get(&id) == Some(&Refusal::UnknownDisk);
            match registered.is_some_and(|known| known != 0 && known != store_id) {
                true if !is_refused => self.refuse(id, Refusal::UnknownDisk, context),
                false if is_refused => _ = self.disks.refused.remove(&id),
                _ => {}
            }
            let is_new = registered == Some(0) || self.has_other_program(id, store_id, reads);
            let command = Command::RegisterStore { id, store_id, reads };
            if is_new
                && self.disks.pending_registrations.get(&id) != Some(&reads)
                && self.consensus.propose(command.encode(self.table.version()))
            {
                self.disks.pending_registrations.insert(id, reads);
            }
        }
    }

    /// A member says how far its disk certainly is.
    pub(super) fn handle_disk_mark(&mut self, from: Id, reached: DiskPosition, context: &Context<'_>) {
        let introduced = context.liveness.peer(from).and_then(|peer| Some((peer.store_id?, peer.incarnation)));
        if let Some((store_id, incarnation)) = introduced.filter(|_| self.table.members.contains_key(&from)) {
            self.disks.remember(from, store_id, incarnation, reached);
        }
    }

    /// Tells the others how far this node's disk certainly is, if that has changed.
    pub(super) fn tell_disk_mark(&mut self, context: &mut Context<'_>) {
        let reached = self.own_disk_mark();
        if self.disks.told != reached {
            self.disks.told = reached;
            context.broadcast(&Message::DiskMark(reached));
        }
    }

    pub(super) fn own_disk_mark(&mut self) -> DiskPosition {
        if self.disks.is_blind { DiskPosition::default() } else { self.consensus.durable_position() }
    }

    /// Whether this node's disk is older than what a member remembers of it.
    pub(super) fn is_older_than(&self, known: KnownDisk) -> bool {
        known.store_id == self.store_id && !self.disks.started_at.includes(known.reached)
    }

    /// The cluster refuses this node's disk, now or before.
    pub(super) fn handle_refusal(&mut self, refusal: Refusal) {
        self.consensus.write_refusal(refusal, &mut self.ready);
        self.events.push_back(ArbiterEvent::Exit(match refusal {
            Refusal::UnknownDisk => Exit::UnknownDisk,
            Refusal::OldDisk => Exit::OldDisk,
        }));
    }
}
