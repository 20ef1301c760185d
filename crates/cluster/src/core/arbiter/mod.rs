//! Who *may* lead: the arbiter decides who holds which office, with which token, and until when.
//!
//! Every node has an [`Arbiter`], its access to the deciding authority: the replicated log of the voters (`raft`),
//! nobody (`none`), or an external store. An arbiter is a state machine like the other parts of the core. Requests go
//! in with a number, and events come out later, so that it can be as slow as a network. It provides four things:
//!
//! 1. **The table**: this node's copy of all offices, members and settings, which follows the authority's changes
//!    without gaps ([`Arbiter::table`], [`ArbiterEvent::Applied`]). [`Arbiter::submit`] changes it, by compare-and-set:
//!    a grant names the last token that the proposer saw, a setting its revision. Tokens of an office only grow.
//! 2. **Leases**: [`Arbiter::confirmed_at`] is the time, on this node's clock, from which this node's leases count. To
//!    the coordinator, [`Arbiter::lease_start`] is the latest time from which another holder may count its lease.
//! 3. **The coordinator**: the one member that announces who is up, evaluates claims and decides handovers
//!    (`coordinator`). With Raft it is the leader of the log; an external store has
//!    a reserved office for it. Two members may believe that they coordinate. Compare-and-set keeps that safe.
//! 4. **Linearizable reads**: [`Arbiter::read`] is answered when the table contains everything that was decided before.
//!
//! Nothing above the arbiter knows which one it is. To add one, implement the trait, pass it to
//! [`Core::with_arbiter`](super::Core::with_arbiter), and let it pass the conformance suite, `tests/conformance`, which
//! has an external store as an example.

pub(super) mod none;
pub(super) mod raft;

use bytes::Bytes;
use hustings_protocol::Id;

use super::Exit;
use super::context::Context;
use super::table::{Command, Holder, OfficeName, PieceEffect, Table};
use crate::api::RequestError;
use crate::clock::Timestamp;
use crate::store::DiskState;
use crate::wire::{Candidacy, Heartbeat, Message};

/// The disk of this node does not take writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DiskFailure {
    /// The last error.
    pub error: String,
    /// When the first write failed after the last one that succeeded.
    pub since: Timestamp,
}

impl DiskFailure {
    /// The failure in words, at this time.
    pub(super) fn describe(&self, now: Timestamp) -> String {
        format!("{}; since {} s", self.error, now.since(self.since).as_secs())
    }
}

/// What an arbiter reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ArbiterEvent {
    /// A change was decided, and the table contains it.
    Applied {
        /// The office that it is about.
        office: Option<OfficeName>,
        /// The number of the request, if this node submitted it.
        request: Option<u64>,
        /// Whether it took effect: its expectation was still true.
        took_effect: bool,
        /// Whether it granted the office.
        is_grant: bool,
    },
    /// A [`Command::Complete`] or [`Command::DeleteState`] was decided. No office has changed.
    Recorded {
        /// The number of the request, if this node submitted it.
        request: Option<u64>,
        /// Whether it took effect: its expectation was still true.
        took_effect: bool,
    },
    /// A [`Command::StatePiece`] was decided. No office has changed.
    PieceReceived {
        /// The number of the request, if this node submitted it.
        request: Option<u64>,
        /// What became of the piece.
        effect: PieceEffect,
    },
    /// A request that this node submitted is not answered by what was decided.
    Unanswered {
        /// The number of the request.
        request: u64,
        /// Whether something else was decided in its place, so that it never takes effect. Otherwise nobody knows.
        is_replaced: bool,
    },
    /// The table was replaced as a whole.
    Replaced,
    /// The members changed. Those that are listed were removed for good.
    MembersChanged {
        /// The removed members.
        removed: Vec<Id>,
    },
    /// The reads up to this number may be answered from the table.
    ReadConfirmed(u64),
    /// The node must stop.
    Exit(Exit),
}

/// Access to the authority that decides who may lead. See the module's documentation.
pub(crate) trait Arbiter {
    /// Its name, for display.
    fn name(&self) -> &str;

    /// Whether anybody decides who may lead. If not, whoever is elected holds the office
    /// ([`Arbiter::handle_elected`]), leases do not end, and nobody coordinates.
    fn has_authority(&self) -> bool {
        true
    }

    /// This node's copy of what was decided.
    fn table(&self) -> &Table;

    /// The member that coordinates, as far as this node knows. `None` if nobody does, or if nothing is coordinated.
    fn coordinator(&self) -> Option<Id>;

    /// Grows with every change of the coordinator.
    fn epoch(&self) -> u64;

    /// Whether this node coordinates, its table contains everything that was decided before, and it can decide more.
    fn is_established(&self) -> bool;

    /// Since when this node coordinates, if it does.
    fn coordinator_since(&self) -> Timestamp;

    /// From when this node's leases count: the authority confirmed something that this node sent at this time or later.
    /// [`Timestamp::NEVER`] if leases do not end.
    fn confirmed_at(&self) -> Timestamp;

    /// To the coordinator: the latest time, on its own clock, from which this holder may count its leases.
    fn lease_start(&self, holder: Holder) -> Timestamp;

    /// The members whose reports that a holder is down count.
    fn voters(&self) -> Vec<Id> {
        self.table().members.keys().copied().collect()
    }

    /// Whether a peer is one of the voters, as far as this node can tell: also one that is about to vote.
    fn votes(&self, id: Id) -> bool {
        self.table().member(id).is_some_and(|member| member.role.votes())
    }

    /// The highest term that a peer may name.
    fn max_term(&self) -> u64 {
        u64::MAX
    }

    /// A voter names a higher one.
    fn approach_term(&mut self) {}

    /// Whether something that is said against this node may be true.
    fn is_plausible(&self, doubt: &Message) -> bool {
        let _ = doubt;
        true
    }

    /// A voter says that this node's disk is an older copy, to this process.
    fn note_old_disk(&mut self, incarnation: u64) {
        let _ = incarnation;
    }

    /// Whether a voter that is up says that this node's disk is not the right one.
    fn set_doubted(&mut self, is_doubted: bool) {
        let _ = is_doubted;
    }

    /// Submits a change. Its outcome is an [`ArbiterEvent::Applied`] with this number; for a [`Command::Complete`] or
    /// [`Command::DeleteState`], an [`ArbiterEvent::Recorded`]; for a [`Command::StatePiece`], an
    /// [`ArbiterEvent::PieceReceived`]. The arbiter repeats what may be lost on the way to the authority: only if the
    /// epoch changes, there may be no outcome.
    fn submit(&mut self, request: u64, command: Command, context: &mut Context<'_>) -> Result<(), RequestError>;

    /// To the coordinator: whether this holder knows of the grant with this token, as far as the authority can tell.
    fn has_learned(&self, holder: Id, token: u64) -> bool {
        let _ = (holder, token);
        true
    }

    /// The coordinator has just submitted a change that takes an office from this lost holder, or is about to. Nothing
    /// that the holder sends is confirmed until it has learned of the change.
    fn revoke(&mut self, holder: Id);

    /// Whether this arbiter keeps what the holders of offices store for their successors ([`Command::StatePiece`],
    /// [`Command::DeleteState`]).
    fn keeps_states(&self) -> bool {
        false
    }

    /// The bytes of a state that the table refers to, in pieces.
    fn blob(&self, blob: u64) -> Option<&[Bytes]> {
        let _ = blob;
        None
    }

    /// Whether reads can be confirmed at the moment.
    fn can_confirm_reads(&self) -> bool {
        self.coordinator().is_some()
    }

    /// Begins a linearizable read with this number.
    fn read(&mut self, number: u64, context: &mut Context<'_>);

    /// A heartbeat interval has passed: sends heartbeats. By default, the coordinator exchanges them with all members.
    fn heartbeat(&mut self, context: &mut Context<'_>) {
        let own = context.own();
        let receivers: Vec<Id> = match self.coordinator() {
            Some(coordinator) if coordinator != own => vec![coordinator],
            Some(_) => context.liveness.members().filter(|id| *id != own).collect(),
            None => context.liveness.connected().collect(),
        };
        let heartbeat = Message::Heartbeat(Heartbeat { number: 0, leader: None, follower: None });
        receivers.into_iter().for_each(|id| context.send_heartbeat(id, heartbeat.clone(), true));
    }

    /// A message from another node's arbiter arrived.
    fn handle_message(&mut self, from: Id, message: Message, context: &mut Context<'_>) {
        let _ = (from, message, context);
    }

    /// A connection to a member was established.
    fn handle_connected(&mut self, id: Id, context: &mut Context<'_>) {
        let _ = (id, context);
    }

    /// This node observed that a member is down.
    fn handle_down(&mut self, id: Id, context: &mut Context<'_>) {
        let _ = (id, context);
    }

    /// A member announced another disk or health score, or the members changed.
    fn handle_announcements(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }

    /// What this node's disk holds, for its introduction to others.
    fn disk_state(&self) -> DiskState {
        DiskState::default()
    }

    /// A member introduced itself: its disk, where the log on it ends, and what its program reads.
    fn handle_introduction(&mut self, id: Id, candidacy: &Candidacy, context: &mut Context<'_>) {
        let _ = (id, candidacy, context);
    }

    /// Whether this node trusts nothing that the present process of a member says, because of its disk or its program.
    fn refuses(&self, id: Id) -> bool {
        let _ = id;
        false
    }

    /// The members that must introduce themselves before a new cluster begins.
    fn missing_founders(&self) -> Vec<Id> {
        Vec::new()
    }

    /// The node's elections have this result for an office; `None` if they have none, or if this node is no candidate.
    /// `is_regrant` says that the holder's work has stopped, and that the office may be granted to it again.
    fn handle_elected(&mut self, claim: Elected<'_>, context: &mut Context<'_>) {
        let _ = (claim, context);
    }

    /// All writes up to and including `number` are durable.
    fn handle_persisted(&mut self, number: u64, context: &mut Context<'_>) {
        let _ = (number, context);
    }

    /// The disk failed to write, for this reason.
    fn handle_disk_failed(&mut self, error: &str, context: &mut Context<'_>) {
        let _ = (error, context);
    }

    /// Why the disk does not take writes. `None` if it does, or if none is needed.
    fn disk_failure(&self) -> Option<&DiskFailure> {
        None
    }

    /// This node is about to leave: it no longer tries to become the coordinator.
    fn handle_leaving(&mut self) {}

    /// If this node coordinates, another member should. Returns the member that is expected to.
    fn release_coordination(&mut self, context: &mut Context<'_>) -> Option<Id> {
        let _ = context;
        None
    }

    /// Does what is due now. Returns whether anything happened.
    fn process(&mut self, context: &mut Context<'_>) -> bool;

    /// The next event.
    fn poll_event(&mut self) -> Option<ArbiterEvent>;

    /// When to call [`Arbiter::process`] at the latest.
    fn poll_timeout(&self) -> Timestamp;
}

/// The result of a node's elections for one office.
pub(crate) struct Elected<'a> {
    /// The office.
    pub office: &'a OfficeName,
    /// The leader that the node names.
    pub leader: Option<Holder>,
    /// Whether the leader's work has stopped, so that it may be granted the office again.
    pub is_regrant: bool,
}
