//! Whose disk is trusted. A disk that is not the registered one, or an older copy of it, has forgotten votes and
//! entries: a majority that counts it could elect a second leader of a term, or lose what was committed.
//!
//! - Every member's disk is registered in the log, by a random number. Another disk is *unknown*.
//! - Every member tells the others, now and then, how far its disk certainly is ([`Message::DiskMark`]): a term and a
//!   committed entry, both durable. On a disk that keeps what it has confirmed, neither ever becomes smaller. The
//!   others remember the highest ones, and write them to disk with whatever they write next.
//! - When a member introduces itself, it says where its log ended when its process started. If that is before what
//!   somebody remembers of the same disk from an earlier process, then it is an *old* copy.
//!
//! Who notices either refuses the member: it says so, and handles nothing of what the member sends. It neither counts
//! the member's votes and acknowledgements nor follows it. Every member refuses by itself, whoever leads. It is
//! enough that one that remembers is up: the old copy takes no part in the log from then on, and stops (see
//! `core::doubts`), unless it forms a majority without hearing from the one that remembers. What nobody who is up has
//! heard of, nobody can notice.
//!
//! An old copy may receive from others what it lacked, before somebody refuses it or between two starts. Its log is
//! then complete, but votes are still missing. So a process tells where its log ended when it *started*, and a copy
//! that was refused writes that down, with the process that was refused first. Who has refused that process remembers
//! it, too, and refuses the copy at every later start.
//!
//! A voter may lie. What others write down because of it counts only for the one that has refused them. So no folder
//! becomes unusable because of what one member says, and the member can be removed. What is *logged* says less than
//! what is applied: another entry may have been committed in its place. So who knows another disk from its log alone
//! refuses in silence.

use std::collections::BTreeMap;

use hustings_protocol::Id;
use raft::{GetEntriesContext, Storage};

use super::RaftArbiter;
use crate::core::Exit;
use crate::core::arbiter::ArbiterEvent;
use crate::core::context::Context;
use crate::core::table::{Command, EntryEffect, decode_entry};
use crate::store::{DiskPosition, DiskState, KnownDisk, KnownDisks, RaftStorage};
use crate::wire::Message;

/// Why a member is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refusal {
    /// The log registers another disk for it, in an entry that is not applied yet. Nobody is told.
    Logged,
    /// Another disk is registered for it: this one.
    Unknown(u64),
    /// This process runs with an older copy of its disk.
    Old { incarnation: u64 },
}

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
    /// If this node's disk was refused as an older copy: the first process that was refused with it.
    refused_as: Option<u64>,
    /// The write that says so, until it is durable.
    refusal_write: Option<u64>,
    /// Whether this node stops because of that, as soon as it is durable.
    is_stopping: bool,
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
            refused_as: storage.refused_as(),
            refusal_write: None,
            is_stopping: false,
            told: DiskPosition::default(),
            is_blind,
        })
    }

    pub(super) fn refuses(&self, id: Id) -> bool {
        self.refused.contains_key(&id)
    }

    /// What this node says of its disk, on which the log ends here.
    pub(super) fn state(&self, now: DiskPosition) -> DiskState {
        DiskState { now, started_at: self.started_at, refused_as: self.refused_as }
    }

    /// Whether this node believes that its disk is an older copy, and stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping
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
        let refused_as = before.and_then(|known| known.refused_as);
        let now = KnownDisk { store_id, incarnation, reached, refused_as };
        self.is_unwritten |= former != Some(now);
        self.known.insert(id, now);
    }

    /// Whether the disk of a process is older than what an earlier process has said of it, or comes from a copy that
    /// was. What the same process says may arrive in another order, directly and through relays.
    fn is_old(&self, id: Id, store_id: u64, incarnation: u64, disk: DiskState) -> bool {
        if self.refused.get(&id) == Some(&Refusal::Old { incarnation }) {
            return true;
        }
        let is_earlier = |known: &&KnownDisk| known.store_id == store_id && known.incarnation != incarnation;
        let is_older = |known: &KnownDisk| !disk.started_at.includes(known.reached);
        let is_same_copy = |known: &KnownDisk| disk.refused_as.is_some() && disk.refused_as == known.refused_as;
        let known = self.known.get(&id).filter(is_earlier);
        known.is_some_and(|known| is_older(known) || is_same_copy(known)) && !self.is_blind
    }

    /// Remembers an old copy that this node refuses: by the first process that was refused with it.
    fn remember_copy(&mut self, id: Id, incarnation: u64, disk: DiskState) {
        if let Some(known) = self.known.get_mut(&id) {
            let refused_as = disk.refused_as.or(Some(incarnation));
            self.is_unwritten |= known.refused_as != refused_as;
            known.refused_as = refused_as;
        }
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
    /// Why a member is refused that has this disk, as far as the registered disks say.
    fn other_disk(&self, id: Id, store_id: u64) -> Option<Refusal> {
        let applied = self.table.members.get(&id)?.store_id;
        let logged = self.disks.logged.get(id, self.consensus.applied());
        match applied {
            // About its own disk, this node believes only what is committed.
            0 => (logged != 0 && logged != store_id && id != self.own).then_some(Refusal::Logged),
            _ => (applied != store_id).then_some(Refusal::Unknown(applied)),
        }
    }

    /// Whether the log knows no disk of a member.
    fn is_unregistered(&self, id: Id) -> bool {
        let is_missing = self.table.members.get(&id).is_some_and(|member| member.store_id == 0);
        is_missing && self.disks.logged.get(id, self.consensus.applied()) == 0
    }

    /// A member introduced itself, with this disk.
    pub(super) fn check_disk(&mut self, id: Id, store_id: u64, disk: DiskState, context: &mut Context<'_>) {
        let incarnation = context.liveness.incarnation_of(id).unwrap_or(0);
        if let Some(refusal) = self.other_disk(id, store_id) {
            // If it was refused before, it is another process now.
            self.refuse(id, refusal, context);
        } else if self.disks.is_old(id, store_id, incarnation, disk) {
            self.disks.remember_copy(id, incarnation, disk);
            self.refuse(id, Refusal::Old { incarnation }, context);
        } else {
            self.disks.refused.remove(&id);
        }
    }

    fn refuse(&mut self, id: Id, refusal: Refusal, context: &mut Context<'_>) {
        self.disks.refused.insert(id, refusal);
        match (refusal, self.disks.known.get(&id)) {
            (Refusal::Unknown(registered), _) => context.send(id, Message::UnknownDisk(registered)),
            (Refusal::Old { .. }, Some(known)) => context.send(id, Message::OldDisk(*known)),
            _ => {}
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
            let refused = self.disks.refused.get(&id).copied();
            match (self.other_disk(id, store_id), refused) {
                (Some(refusal), _) if refused != Some(refusal) => self.refuse(id, refusal, context),
                (None, Some(Refusal::Logged | Refusal::Unknown(_))) => _ = self.disks.refused.remove(&id),
                _ => {}
            }
            let is_new = self.is_unregistered(id) || self.has_other_program(id, store_id, reads);
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

    /// Whether another disk than this one may be registered for this node. The log of this disk says whose it is.
    pub(super) fn is_unknown(&self, registered: u64) -> bool {
        let own = self.table.members.get(&self.own);
        registered != self.store_id && own.is_none_or(|own| own.store_id != self.store_id)
    }

    /// Whether this node's disk is older than what a member remembers of it, or comes from a copy that was.
    pub(super) fn is_older_than(&self, known: KnownDisk) -> bool {
        let is_same_copy = known.refused_as.is_some() && known.refused_as == self.disks.refused_as;
        let is_older = !self.disks.started_at.includes(known.reached);
        known.store_id == self.store_id && (is_same_copy || is_older)
    }

    /// A member refuses this disk as an older copy. This node writes that down, whether it believes it or not: who has
    /// refused it recognises the copy by this.
    pub(super) fn write_refusal(&mut self, incarnation: u64) {
        if self.disks.refused_as.is_none() {
            self.disks.refused_as = Some(incarnation);
            self.disks.refusal_write = Some(self.consensus.write_refusal(incarnation, &mut self.ready));
        }
    }

    /// This node believes that its disk is an older copy. It does nothing any more, and stops when that is written.
    pub(super) fn stop_with_old_disk(&mut self) {
        self.disks.is_stopping = true;
        self.stop_if_refusal_is_durable();
    }

    /// Writes up to this number are durable.
    pub(super) fn note_durable_refusal(&mut self, number: u64) {
        self.disks.refusal_write = self.disks.refusal_write.filter(|write| *write > number);
        self.stop_if_refusal_is_durable();
    }

    fn stop_if_refusal_is_durable(&mut self) {
        if self.disks.is_stopping && self.disks.refusal_write.is_none() {
            self.events.push_back(ArbiterEvent::Exit(Exit::OldDisk));
        }
    }
}
