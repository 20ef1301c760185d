//! The arbiter `raft`: the table is a state machine that the replicated log of the voters drives.
//!
//! - [`consensus`]: the raft library, its storage and its messages; [`campaigns`]: when this node wants to lead.
//! - [`apply`]: what is committed takes effect; [`blobs`]: the bytes of offices' states, which are not in the table.
//! - [`heartbeats`]: the leader's heartbeats and their answers; [`lease_rounds`]: what they prove, and from when leases
//!   count. It has the correctness argument.
//! - [`polls`]: linearizable reads.
//! - [`membership`]: members join and leave; [`settling`]: when that is complete; [`disks`]: whose disk is trusted;
//!   [`formats`]: whose program is; [`founding`]: the first start.
//!
//! The leader of the log is the coordinator. A token is the log index of its grant.

mod apply;
mod blobs;
mod campaigns;
mod consensus;
mod disks;
mod formats;
mod founding;
mod heartbeats;
mod lease_rounds;
mod membership;
mod polls;
mod settling;
mod voters;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use hustings_protocol::Id;

use self::blobs::Blobs;
use self::consensus::{Campaign, Consensus, Place, Ready};
use self::disks::Disks;
use self::founding::Founding;
use self::lease_rounds::{LeaseRounds, SentAnswers};
use self::polls::Polls;
use self::settling::Settling;
use self::voters::KnownVoters;
use super::{Arbiter, ArbiterEvent, DiskFailure};
use crate::api::RequestError;
use crate::clock::Timestamp;
use crate::config::Config;
use crate::core::Exit;
use crate::core::context::Context;
use crate::core::requests::errors;
use crate::core::settings::StartError;
use crate::core::table::{Command, Holder, Table};
use crate::store::{DiskState, RaftStorage};
use crate::wire::{Candidacy, Heartbeat, Message, RaftMessage};

/// After how long a write that neither succeeds nor fails counts as failed.
const DISK_PATIENCE: Duration = Duration::from_secs(5);
const DISK_HANGS: &str = "the disk has not finished a write for 5 seconds";

/// Checks that these are all blobs that a table refers to.
pub(in crate::core) fn check_blobs(stored: crate::store::Blobs, table: &Table) -> Result<(), StartError> {
    Blobs::load(stored, &table.states).map(drop)
}

/// The arbiter `raft`. See the module's documentation.
pub(in crate::core) struct RaftArbiter {
    own: Id,
    store_id: u64,
    consensus: Consensus,
    ready: Ready,
    table: Table,
    /// The bytes that the table refers to.
    blobs: Blobs,
    rounds: LeaseRounds,
    answers: SentAnswers,
    /// From when this node's leases count.
    confirmed_at: Timestamp,
    /// When this node last supported a leader's lease round, or its own.
    last_support: Timestamp,
    /// The votes that this node got in its last candidacy: the term, and the latest time from which a lease that an
    /// earlier leader confirmed may count.
    votes: (u64, Timestamp),
    polls: Polls,
    last_read: u64,
    disks: Disks,
    /// The highest version of the formats that this node reads.
    reads: u8,
    /// The members whose programs do not read what the cluster writes.
    old_programs: BTreeSet<Id>,
    founding: Founding,
    settling: Settling,
    /// Members that a snapshot was sent to, and since when they have not installed it.
    snapshots_since: BTreeMap<Id, Timestamp>,
    /// The last term in which this node noticed that it leads.
    leading_term: u64,
    disk_failure: Option<DiskFailure>,
    /// Voters that the table does not name.
    known_voters: KnownVoters,
    /// Whether a voter that is up says that this disk is not the right one.
    is_doubted: bool,
    /// The last write that is not durable, and since when none has become durable.
    unwritten: Option<(u64, Timestamp)>,
    is_leaving: bool,
    /// Whether something committed could not be read.
    is_halted: bool,
    /// The requests that this node submitted, by the places of their entries. Only the entry in that place answers one:
    /// another leader's entry may have the same index.
    submitted: BTreeMap<Place, u64>,
    events: VecDeque<ArbiterEvent>,
}

impl RaftArbiter {
    /// Creates the arbiter of a node that starts now, with the table of its last snapshot.
    pub(in crate::core) fn new(
        config: &Config,
        store_id: u64,
        storage: RaftStorage,
        table: Table,
        (reads, skips_durability): (u8, bool),
        now: Timestamp,
    ) -> Result<Self, StartError> {
        let own = config.node;
        let blobs = Blobs::load(storage.take_blobs(), &table.states)?;
        let consensus = Consensus::new(own, storage.clone(), Campaign::default(), skips_durability)?;
        let disks = Disks::new(&storage, consensus.position(), reads, skips_durability)?;
        let mut arbiter = RaftArbiter {
            own,
            store_id,
            consensus,
            ready: Ready::default(),
            table,
            blobs,
            rounds: LeaseRounds::default(),
            answers: SentAnswers::default(),
            confirmed_at: Timestamp::ZERO,
            // An earlier incarnation may have supported a leader until a moment ago.
            last_support: now,
            votes: (0, Timestamp::ZERO),
            polls: Polls::default(),
            last_read: 0,
            disks,
            reads,
            old_programs: BTreeSet::new(),
            founding: Founding::default(),
            settling: Settling::default(),
            snapshots_since: BTreeMap::new(),
            leading_term: 0,
            disk_failure: None,
            known_voters: KnownVoters::new(config),
            is_doubted: false,
            unwritten: None,
            is_leaving: false,
            is_halted: false,
            submitted: BTreeMap::new(),
            events: VecDeque::new(),
        };
        arbiter.decide_founding();
        Ok(arbiter)
    }

    /// Notices that this node became the leader.
    fn observe_leadership(&mut self, context: &mut Context<'_>) {
        if !self.consensus.is_leader() || self.leading_term == self.consensus.term() {
            return;
        }
        self.leading_term = self.consensus.term();
        self.disks.handle_leadership();
        let (term, voted) = self.votes;
        // After a recovery from one member's disk, votes say nothing about what the lost members confirmed.
        let is_known = term == self.leading_term && !self.table.recovered;
        let earlier_leases = if is_known { voted.max(self.last_support) } else { context.now };
        self.rounds.reset(self.consensus.last_index(), earlier_leases.min(context.now), context.now);
        self.begin_round(context);
    }

    fn handle_raft(&mut self, from: Id, message: &RaftMessage, context: &mut Context<'_>) {
        if let Some(term) = message.granted_vote().filter(|term| *term == self.consensus.term()) {
            let supported = context.now - message.lease_age();
            let earlier = if self.votes.0 == term { self.votes.1 } else { Timestamp::ZERO };
            self.votes = (term, earlier.max(supported));
        }
        if !self.prepare_snapshot(from, message, context) {
            return;
        }
        let position = self.campaign_position(context);
        if !self.consensus.step(from, message, position, context.now) {
            context.increment("invalid-raft-messages");
        }
        self.observe_leadership(context);
    }
}

impl Arbiter for RaftArbiter {
    fn name(&self) -> &str {
        "raft"
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn coordinator(&self) -> Option<Id> {
        self.consensus.leader()
    }

    fn epoch(&self) -> u64 {
        self.consensus.term()
    }

    fn is_established(&self) -> bool {
        self.consensus.is_established() && self.disk_failure.is_none()
    }

    fn coordinator_since(&self) -> Timestamp {
        self.rounds.leader_since()
    }

    fn confirmed_at(&self) -> Timestamp {
        self.confirmed_at
    }

    fn lease_start(&self, holder: Holder) -> Timestamp {
        self.rounds.lease_start(holder)
    }

    fn voters(&self) -> Vec<Id> {
        self.consensus.voters()
    }

    fn votes(&self, id: Id) -> bool {
        self.is_voter(id)
    }

    fn max_term(&self) -> u64 {
        self.consensus.max_term()
    }

    fn approach_term(&mut self) {
        self.consensus.approach_term();
    }

    fn is_plausible(&self, doubt: &Message) -> bool {
        match doubt {
            Message::UnknownDisk(registered) => self.is_unknown(*registered),
            Message::OldDisk(known) => self.is_older_than(*known),
            Message::OldProgram { version } => *version > self.reads,
            _ => true,
        }
    }

    fn note_old_disk(&mut self, incarnation: u64) {
        self.write_refusal(incarnation);
    }

    fn set_doubted(&mut self, is_doubted: bool) {
        if is_doubted && !self.is_doubted {
            self.consensus.forget_leader();
        }
        self.is_doubted = is_doubted;
    }

    fn submit(&mut self, request: u64, command: Command, context: &mut Context<'_>) -> Result<(), RequestError> {
        match command {
            Command::SetMember(member) if !self.table.members.contains_key(&member.id) => self.add_member(&member)?,
            Command::SetMember(member) if !member.role.votes() && self.consensus.voters().contains(&member.id) => {
                self.demote_member(&member, context)?;
            }
            Command::RemoveMember(id) => self.remove_member(id, context)?,
            // It describes the member as it was before the pending change.
            Command::SetMember(_) if self.consensus.has_pending_membership() => return Err(errors::membership_busy()),
            command => {
                if !self.consensus.propose(command.encode(self.table.version())) {
                    return Err(errors::no_majority());
                }
            }
        }
        self.submitted.insert(self.consensus.last_proposed(), request);
        Ok(())
    }

    fn has_learned(&self, holder: Id, token: u64) -> bool {
        holder == self.own || self.rounds.applied_by(holder) >= token
    }

    fn revoke(&mut self, holder: Id) {
        self.rounds.require_applied(holder, self.consensus.last_index());
    }

    fn keeps_states(&self) -> bool {
        true
    }

    fn blob(&self, blob: u64) -> Option<&[Bytes]> {
        self.blobs.get(blob)
    }

    fn read(&mut self, number: u64, context: &mut Context<'_>) {
        self.last_read = number;
        if let Some(leader) = self.consensus.leader() {
            context.send(leader, Message::ReadIndexRequest { number });
        }
    }

    fn heartbeat(&mut self, context: &mut Context<'_>) {
        let hangs = self.unwritten.is_some_and(|(_, since)| context.now.since(since) > DISK_PATIENCE);
        if self.disk_failure.is_none() && hangs {
            self.handle_disk_failed(DISK_HANGS, context);
        }
        self.consensus.note_term(context.now);
        if !self.is_doubted {
            self.consensus.tick();
        }
        self.tell_disk_mark(context);
        self.observe_leadership(context);
        self.repeat_blob_requests(context);
        if self.consensus.is_leader() {
            self.begin_round(context);
            self.check_registrations(context);
            self.promote_members(context);
            self.repeat_snapshots(context.now);
        } else if self.consensus.leader().is_none() {
            let connected: Vec<Id> = context.liveness.connected().collect();
            let heartbeat = Message::Heartbeat(Heartbeat { number: 0, leader: None, follower: None });
            connected.into_iter().for_each(|id| context.send_heartbeat(id, heartbeat.clone(), false));
        }
    }

    fn handle_message(&mut self, from: Id, message: Message, context: &mut Context<'_>) {
        match message {
            _ if self.disks.is_stopping() => {}
            Message::UnknownDisk(_) => self.events.push_back(ArbiterEvent::Exit(Exit::UnknownDisk)),
            Message::OldDisk(_) => self.stop_with_old_disk(),
            Message::OldProgram { version } => self.handle_old_program(version),
            _ if self.refuses(from) => {}
            Message::Heartbeat(_) | Message::Raft(_) if self.is_doubted => {}
            Message::DiskMark(reached) => self.handle_disk_mark(from, reached, context),
            Message::Heartbeat(heartbeat) => self.handle_heartbeat(from, heartbeat, context),
            Message::Raft(message) => self.handle_raft(from, &message, context),
            Message::ReadIndexRequest { number } => {
                self.polls.handle_request(from, number, &self.consensus, context);
            }
            Message::PollRequest { term, poll } => {
                // It comes from the leader that this node follows: see `wire::Sender::Leader`.
                if self.consensus.term() == term {
                    context.send(from, Message::PollResponse { term, poll });
                }
            }
            Message::PollResponse { term, poll } => {
                self.polls.handle_response(from, term, poll, &self.consensus, context);
            }
            Message::ReadIndexResponse { number, committed } => {
                // Other numbers are those of an earlier incarnation.
                if number <= self.last_read {
                    self.polls.handle_read_index(number, committed);
                }
            }
            Message::BlobRequest { blob, piece } => self.handle_blob_request(from, blob, piece, context),
            Message::BlobPiece { blob, piece, data } => self.handle_blob_piece(from, (blob, piece), data, context),
            Message::Voters { applied, voters } => self.handle_voters(from, applied, voters),
            other => debug_assert!(false, "{} is not for the arbiter", other.kind().name()),
        }
    }

    fn handle_connected(&mut self, id: Id, context: &mut Context<'_>) {
        if self.consensus.is_leader() {
            self.send_leader_heartbeat(id, context);
        } else {
            let heartbeat = Message::Heartbeat(Heartbeat { number: 0, leader: None, follower: None });
            context.send_heartbeat(id, heartbeat, false);
        }
        let reached = self.own_disk_mark();
        context.send(id, Message::DiskMark(reached));
        context.send(id, self.own_voters());
        self.campaign_if_quorum_is_up(context);
    }

    fn handle_down(&mut self, id: Id, context: &mut Context<'_>) {
        self.consensus.report_unreachable(id);
        if self.consensus.leader() == Some(id) {
            self.handle_leader_lost(context);
        }
    }

    fn handle_announcements(&mut self, context: &mut Context<'_>) {
        self.check_registrations(context);
    }

    fn disk_state(&self) -> DiskState {
        self.disks.state(self.consensus.position())
    }

    fn handle_introduction(&mut self, id: Id, candidacy: &Candidacy, context: &mut Context<'_>) {
        // If it was told before, it is another process now.
        self.old_programs.remove(&id);
        self.check_program(id, candidacy.reads, context);
        self.check_disk(id, candidacy.store_id, candidacy.disk, context);
        self.note_founder(id, candidacy.disk.now, context);
    }

    fn refuses(&self, id: Id) -> bool {
        self.disks.refuses(id) || self.old_programs.contains(&id)
    }

    fn missing_founders(&self) -> Vec<Id> {
        RaftArbiter::missing_founders(self)
    }

    fn handle_persisted(&mut self, number: u64, context: &mut Context<'_>) {
        self.disk_failure = None;
        self.unwritten = self.unwritten.filter(|(last, _)| *last > number).map(|(last, _)| (last, context.now));
        self.note_durable_refusal(number);
        self.consensus.handle_persisted(number, &mut self.ready);
        self.observe_leadership(context);
    }

    fn handle_disk_failed(&mut self, error: &str, context: &mut Context<'_>) {
        let since = self.disk_failure.as_ref().map_or(context.now, |known| known.since);
        self.disk_failure = Some(DiskFailure { error: error.to_string(), since });
        context.increment("failed-disk-writes");
        if self.consensus.is_leader() {
            self.consensus.forget_leader();
        }
    }

    fn disk_failure(&self) -> Option<&DiskFailure> {
        self.disk_failure.as_ref()
    }

    fn handle_leaving(&mut self) {
        self.is_leaving = true;
    }

    fn release_coordination(&mut self, context: &mut Context<'_>) -> Option<Id> {
        if !self.consensus.is_leader() {
            return None;
        }
        let others = self.consensus.voters().into_iter().filter(|id| *id != self.own && context.liveness.is_up(*id));
        let next = others.max_by_key(|id| self.consensus.matched(*id))?;
        self.consensus.transfer_leadership(next);
        Some(next)
    }

    fn process(&mut self, context: &mut Context<'_>) -> bool {
        self.campaign_if_due(context);
        let mut has_worked = self.process_ready(context);
        self.observe_leadership(context);
        self.polls.process(&self.consensus, context);
        has_worked |= self.process_ready(context);
        if let Some(number) = self.polls.take_confirmed(self.consensus.applied()) {
            self.events.push_back(ArbiterEvent::ReadConfirmed(number));
        }
        has_worked
    }

    fn poll_event(&mut self) -> Option<ArbiterEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Timestamp {
        self.consensus.campaign_at().min(self.polls.next_timeout())
    }
}
