//! The arbiter's replicated log: the raft library, its storage and its messages.
//!
//! The library makes the decisions; this module connects it to the core. What the library wants written leaves as a
//! [`Write`], and comes back as a number once it is durable. Messages that depend on the write wait for that; others do
//! not. The library's heartbeats are dropped, because the nodes' own heartbeats carry the same information (see
//! [`super::lease_rounds`]).

mod campaign;
mod ready;
mod snapshots;

use std::collections::VecDeque;
use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::{self, ConfChangeType, ConfChangeV2, ConfState, EntryType, MessageType};
use raft::{Config, INVALID_ID, RawNode, StateRole, Storage};

pub(crate) use self::campaign::Campaign;
pub(crate) use self::ready::{Committed, CommittedChange, Place, Ready};
use crate::clock::Timestamp;
use crate::core::table::parse_membership;
use crate::store::{BlobWrite, DiskPosition, KnownDisks, RaftStorage, Write};
use crate::wire::{MAX_INDEX, RaftMessage};

/// After how many ticks without a quorum a leader steps down. This is a safety net: the failure detector is faster.
const ELECTION_TICKS: usize = 20;
/// After how many ticks the library campaigns by itself: longer than a very slow disk takes to store a vote.
const FALLBACK_ELECTION_TICKS: usize = 200;
/// The size of a message with entries, unless a single entry is larger, and how many of them may be on their way. A
/// heartbeat waits for what was sent before it.
const MAX_APPEND_BYTES: u64 = 64 << 10;
const MAX_APPENDS: usize = 64;

/// By how much others may raise the term of a node, and how often: by an election in every second of a hundred years.
/// Who does so all the time needs decades to use up all terms.
const MAX_TERM_JUMP: u64 = 1 << 32;
const TERM_JUMP_INTERVAL: Duration = Duration::from_secs(1);

/// Work that waits for the disk.
struct PendingWrite {
    /// The number of the write.
    write: u64,
    /// The library's number of the `Ready` that the write belongs to.
    ready_number: u64,
    /// The term that is then durable.
    term: u64,
    /// Messages that may only be sent when the write is durable.
    messages: Vec<eraftpb::Message>,
}

/// The raft library, and the work that waits for the disk.
pub(crate) struct Consensus {
    node: RawNode<RaftStorage>,
    storage: RaftStorage,
    conf: ConfState,
    /// In ascending order of the writes' numbers.
    pending_writes: VecDeque<PendingWrite>,
    /// The number of the last write.
    last_write: u64,
    /// How far the disk certainly is.
    durable: DiskPosition,
    applied: u64,
    snapshot_index: u64,
    /// The term of a while ago, and when that was.
    earlier_term: (u64, Timestamp),
    /// How many bytes were applied since the last snapshot.
    applied_bytes: usize,
    /// Whether a member was added since the last snapshot.
    has_new_member: bool,
    campaign: Campaign,
    /// Whether this node may take part in the election that begins the log. See [`super::founding`].
    may_found: bool,
    /// Test only: does not wait for the disk.
    skips_durability: bool,
}

impl Consensus {
    /// Creates the consensus module from the contents of the disk.
    pub(crate) fn new(
        own: Id,
        storage: RaftStorage,
        campaign: Campaign,
        skips_durability: bool,
    ) -> Result<Self, raft::Error> {
        let snapshot_index =
            storage.latest_snapshot().get_metadata().index.max(storage.first_index()?.saturating_sub(1));
        let (conf, term) = (storage.initial_state()?.conf_state, storage.initial_state()?.hard_state.term);
        let config = Config {
            id: own.0,
            election_tick: ELECTION_TICKS,
            heartbeat_tick: 1,
            min_election_tick: FALLBACK_ELECTION_TICKS,
            max_election_tick: 2 * FALLBACK_ELECTION_TICKS,
            applied: snapshot_index,
            max_size_per_msg: MAX_APPEND_BYTES,
            max_inflight_msgs: MAX_APPENDS,
            check_quorum: true,
            pre_vote: true,
            batch_append: true,
            ..Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&config, storage.clone(), &logger)?;
        Ok(Consensus {
            node,
            storage,
            conf,
            pending_writes: VecDeque::new(),
            last_write: 0,
            durable: DiskPosition { term, ..DiskPosition::default() },
            applied: snapshot_index,
            snapshot_index,
            earlier_term: (term, Timestamp::ZERO),
            applied_bytes: 0,
            has_new_member: false,
            campaign,
            may_found: false,
            skips_durability,
        })
    }

    pub(crate) fn term(&self) -> u64 {
        self.node.raft.term
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.node.raft.state == StateRole::Leader
    }

    /// Whether this node leads, and has applied everything that was committed before its term.
    pub(crate) fn is_established(&self) -> bool {
        self.is_leader() && self.node.raft.apply_to_current_term()
    }

    pub(crate) fn leader(&self) -> Option<Id> {
        (self.node.raft.leader_id != INVALID_ID).then_some(Id(self.node.raft.leader_id))
    }

    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    /// The place of the entry that was proposed last, if this node leads.
    pub(crate) fn last_proposed(&self) -> Place {
        Place { index: self.last_index(), term: self.term() }
    }

    pub(crate) fn last_index(&self) -> u64 {
        self.node.raft.raft_log.last_index()
    }

    pub(crate) fn committed(&self) -> u64 {
        self.node.raft.raft_log.committed
    }

    /// Whether nothing was ever appended to this node's log.
    pub(crate) fn is_blank(&self) -> bool {
        self.last_index() == 0
    }

    /// Whether this node may take part in the election that begins the log.
    pub(crate) fn may_found(&self) -> bool {
        self.may_found
    }

    /// Whether this node may take part in the election that begins the log.
    pub(crate) fn set_may_found(&mut self, may_found: bool) {
        self.may_found = may_found;
    }

    /// Where this node's log ends.
    pub(crate) fn position(&self) -> DiskPosition {
        let log = &self.node.raft.raft_log;
        DiskPosition { term: self.term(), log_term: log.last_term(), index: log.last_index() }
    }

    /// How far the disk certainly is, now and after every restart: its term is durable, and so is the entry, which is
    /// known to be committed.
    pub(crate) fn durable_position(&mut self) -> DiskPosition {
        let log = &self.node.raft.raft_log;
        let index = log.committed.min(log.persisted);
        // While a snapshot is written, the log has only what follows it.
        if let Some(log_term) = log.term(index).ok().filter(|term| *term > 0 && index > self.durable.index) {
            (self.durable.index, self.durable.log_term) = (index, log_term);
        }
        self.durable
    }

    /// The commit index that a follower may use.
    pub(crate) fn commit_for(&self, follower: Id) -> u64 {
        let matched = self.node.raft.prs().get(follower.0).map_or(0, |progress| progress.matched);
        matched.min(self.committed())
    }

    /// Up to which index a follower's log is known to match the leader's.
    pub(crate) fn matched(&self, follower: Id) -> u64 {
        self.node.raft.prs().get(follower.0).map_or(0, |progress| progress.matched)
    }

    /// Whether somebody votes, in either configuration during a membership change.
    pub(crate) fn is_voter(&self, id: Id) -> bool {
        self.conf.voters.contains(&id.0) || self.conf.voters_outgoing.contains(&id.0)
    }

    /// The highest term that this node follows others into now.
    pub(crate) fn max_term(&self) -> u64 {
        (self.earlier_term.0 + MAX_TERM_JUMP).min(MAX_INDEX).max(self.term())
    }

    /// A voter is in a higher term than that. This node does not believe it at once, but approaches that term: if one
    /// voter lied to another, the two could otherwise be too far from each other for good.
    pub(crate) fn approach_term(&mut self) {
        if self.max_term() > self.term() {
            self.node.raft.become_follower(self.max_term(), INVALID_ID);
            // The next refusal tells how far it still is.
            self.campaign.begin_again();
        }
    }

    /// Time has passed.
    pub(crate) fn note_term(&mut self, now: Timestamp) {
        if now.since(self.earlier_term.1) >= TERM_JUMP_INTERVAL {
            self.earlier_term = (self.term(), now);
        }
    }

    /// All voters; during a membership change, those of both configurations.
    pub(crate) fn voters(&self) -> Vec<Id> {
        let mut voters: Vec<Id> = self.conf.voters.iter().chain(&self.conf.voters_outgoing).map(|&id| Id(id)).collect();
        voters.sort_unstable();
        voters.dedup();
        voters
    }

    /// The voters of the configuration; during a membership change, of both configurations.
    pub(crate) fn voter_sets(&self) -> Vec<&[u64]> {
        let sets = [&self.conf.voters[..], &self.conf.voters_outgoing[..]];
        sets.into_iter().filter(|voters| !voters.is_empty()).collect()
    }

    /// Whether the voters for which `supports` holds are a quorum; during a membership change, a quorum of both
    /// configurations.
    pub(crate) fn has_quorum(&self, supports: impl Fn(Id) -> bool) -> bool {
        let is_majority_of = |voters: &[u64]| 2 * voters.iter().filter(|&&id| supports(Id(id))).count() > voters.len();
        is_majority_of(&self.conf.voters)
            && (self.conf.voters_outgoing.is_empty() || is_majority_of(&self.conf.voters_outgoing))
    }

    /// A heartbeat interval has passed.
    pub(crate) fn tick(&mut self) {
        if self.is_leader() || self.may_campaign() && (!self.is_blank() || self.may_found) {
            self.node.tick();
        }
    }

    /// Whether this node may stand for election. The library panics if it wins while entries are not durable, and while
    /// a snapshot is being installed, because it looks through what is committed and not applied.
    pub(super) fn may_campaign(&self) -> bool {
        let next = self.node.raft.raft_log.applied + 1;
        self.is_log_durable() && self.storage.first_index().is_ok_and(|first| first <= next)
    }

    /// Whether the whole log is durable.
    pub(super) fn is_log_durable(&self) -> bool {
        self.node.raft.raft_log.persisted == self.last_index()
    }

    /// Proposes a command. Returns whether it was accepted; only a leader accepts it.
    pub(crate) fn propose(&mut self, command: Vec<u8>) -> bool {
        self.is_leader() && self.node.propose(Vec::new(), command).is_ok()
    }

    /// Proposes a membership change. Only a leader accepts it, and only one at a time.
    pub(crate) fn propose_membership(&mut self, change: ConfChangeV2, context: Vec<u8>) -> bool {
        let before = self.last_index();
        self.is_leader()
            && !self.node.raft.has_pending_conf()
            && self.node.propose_conf_change(context, change).is_ok()
            && self.last_index() > before
    }

    /// Transfers leadership of the arbiter to another voter.
    pub(crate) fn transfer_leadership(&mut self, id: Id) {
        if self.is_leader() {
            self.node.transfer_leader(id.0);
        }
    }

    /// Stops leading or following, after this node has observed that the leader, or its own quorum, is lost.
    pub(crate) fn forget_leader(&mut self) {
        let term = self.term();
        self.node.raft.become_follower(term, INVALID_ID);
    }

    /// The leader's heartbeat arrived: passes the library's heartbeat on.
    pub(crate) fn step_leader_heartbeat(&mut self, from: Id, term: u64, commit: u64) {
        // The library panics on a commit index beyond the log. An older copy of this node's disk would cause that, if
        // the leader did not remember the newer one.
        let commit = commit.min(self.last_index());
        let mut message = self.message(MessageType::MsgHeartbeat, from, term);
        message.commit = commit;
        self.step_raw(message);
    }

    /// A follower's heartbeat arrived: passes the library's heartbeat response on.
    pub(crate) fn step_follower_heartbeat(&mut self, from: Id, term: u64) {
        let mut message = self.message(MessageType::MsgHeartbeatResponse, from, term);
        message.commit = self.commit_for(from);
        self.step_raw(message);
    }

    fn message(&self, kind: MessageType, from: Id, term: u64) -> eraftpb::Message {
        let mut message = eraftpb::Message::default();
        message.set_msg_type(kind);
        (message.from, message.to, message.term) = (from.0, self.node.raft.id, term);
        message
    }

    /// Passes a message to the library. A message that the library rejects counts as lost.
    fn step_raw(&mut self, message: eraftpb::Message) {
        let _ = self.node.step(message);
    }

    /// The connection to a peer has ended: messages to it may be lost.
    pub(crate) fn report_unreachable(&mut self, id: Id) {
        self.node.report_unreachable(id.0);
        // A snapshot that was being sent did not arrive.
        self.node.report_snapshot(id.0, raft::SnapshotStatus::Failure);
    }

    /// All writes up to and including `number` are durable.
    pub(crate) fn handle_persisted(&mut self, number: u64, ready: &mut Ready) {
        while let Some(pending) = self.pending_writes.pop_front_if(|pending| pending.write <= number) {
            self.node.on_persist_ready(pending.ready_number);
            self.durable.term = pending.term;
            self.queue_messages(pending.messages, ready);
        }
        self.collect_ready(ready);
    }

    /// Collects what the library wants done now.
    pub(crate) fn collect_ready(&mut self, ready: &mut Ready) {
        while self.node.has_ready() {
            let mut raft_ready = self.node.ready();
            let number = raft_ready.number();
            let messages = raft_ready.take_messages();
            self.queue_messages(messages, ready);
            let snapshot = (!raft_ready.snapshot().is_empty()).then(|| raft_ready.snapshot().clone());
            if let Some(snapshot) = &snapshot {
                let _ = self.storage.install(snapshot.clone());
                let index = snapshot.get_metadata().index;
                (self.applied, self.snapshot_index, self.applied_bytes) = (index, index, 0);
                self.conf = snapshot.get_metadata().get_conf_state().clone();
                let (term, change) = (snapshot.get_metadata().term, CommittedChange::Snapshot(snapshot.data.to_vec()));
                ready.committed.push(Committed { place: Place { index, term }, change });
            }
            self.collect_committed(raft_ready.take_committed_entries(), ready);
            let entries = raft_ready.take_entries();
            let _ = self.storage.append(&entries);
            if let Some(state) = raft_ready.hs() {
                self.storage.set_hard_state(state.clone());
            }
            let promises = raft_ready.take_persisted_messages();
            // A change of the commit index alone need not be durable. It is written with the next entries, so that a
            // restarted node knows most of what is committed. What this means for the voters is in `super::settling`.
            let is_written = raft_ready.must_sync() || snapshot.is_some() || !entries.is_empty();
            self.node.advance_append_async(raft_ready);
            if is_written {
                self.last_write += 1;
                let (number, hard_state) = (self.last_write, Some(self.node.raft.hard_state()));
                let write = Write { number, hard_state, entries, snapshot, sync: true, ..Write::default() };
                ready.writes.push(write);
            }
            let waits = if is_written { !self.skips_durability } else { !self.pending_writes.is_empty() };
            if waits {
                let write = self.last_write;
                let term = self.term();
                self.pending_writes.push_back(PendingWrite { write, ready_number: number, term, messages: promises });
            } else {
                self.node.on_persist_ready(number);
                self.queue_messages(promises, ready);
            }
        }
    }

    fn queue_messages(&self, messages: Vec<eraftpb::Message>, ready: &mut Ready) {
        let heartbeats = [MessageType::MsgHeartbeat, MessageType::MsgHeartbeatResponse];
        let real = messages.iter().filter(|message| !heartbeats.contains(&message.get_msg_type()));
        ready.messages.extend(real.map(|message| (Id(message.to), RaftMessage::from(message))));
    }

    fn collect_committed(&mut self, entries: Vec<eraftpb::Entry>, ready: &mut Ready) {
        for entry in entries {
            self.applied = entry.index;
            self.applied_bytes += entry.data.len();
            let place = Place { index: entry.index, term: entry.term };
            let change = match entry.get_entry_type() {
                _ if entry.data.is_empty() => CommittedChange::Empty,
                EntryType::EntryNormal => CommittedChange::Command(entry.data),
                kind => match parse_membership(kind, &entry.data) {
                    Some(change) => CommittedChange::Membership(change, entry.context.to_vec()),
                    None => CommittedChange::Malformed,
                },
            };
            ready.committed.push(Committed { place, change });
        }
    }

    /// A membership change takes effect.
    pub(crate) fn apply_membership(&mut self, change: &ConfChangeV2) {
        let is_member = |id: u64| self.conf.voters.contains(&id) || self.conf.learners.contains(&id);
        let adds = |single: &eraftpb::ConfChangeSingle| {
            single.get_change_type() != ConfChangeType::RemoveNode && !is_member(single.node_id)
        };
        self.has_new_member |= change.get_changes().iter().any(adds);
        if let Ok(state) = self.node.apply_conf_change(change) {
            self.conf = state.clone();
            self.storage.set_conf_state(state);
        }
    }

    /// Whether a membership change is proposed and not applied yet.
    pub(crate) fn has_pending_membership(&self) -> bool {
        self.node.raft.has_pending_conf()
    }

    /// Whether a member was added since the last call.
    pub(crate) fn take_new_member(&mut self) -> bool {
        std::mem::take(&mut self.has_new_member)
    }

    /// Everything committed so far has been applied. The library must not be told so about a snapshot that is not
    /// durable yet.
    pub(crate) fn advance_apply(&mut self) {
        if self.applied <= self.node.raft.raft_log.persisted {
            self.node.advance_apply_to(self.applied);
        }
    }

    /// A member has refused this disk, in this process. It says so from now on. Returns the number of the write.
    pub(crate) fn write_refusal(&mut self, incarnation: u64, ready: &mut Ready) -> u64 {
        self.storage.set_refused_as(incarnation);
        self.last_write += 1;
        let refused_as = Some(incarnation);
        ready.writes.push(Write { number: self.last_write, refused_as, sync: true, ..Write::default() });
        self.last_write
    }

    /// What is known of other members' disks is being written.
    pub(crate) fn note_known_disks(&self, disks: KnownDisks) {
        self.storage.set_known_disks(disks);
    }

    /// Hands changes of blobs to the disk. They need not be durable before a snapshot is.
    pub(crate) fn write_blobs(&mut self, blobs: Vec<BlobWrite>, ready: &mut Ready) {
        self.last_write += 1;
        ready.writes.push(Write { number: self.last_write, blobs, ..Write::default() });
    }
}
