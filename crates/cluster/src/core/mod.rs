//! The decision logic of a node, as a state machine without I/O and without a clock.
//!
//! Inputs are events, each with the current time ([`Core::handle_connected`], [`Core::handle_message`] and the other
//! `handle_*` methods). Outputs are [`Output`] values, which the caller takes with [`Core::take_outputs`] and carries
//! out in order. The caller also calls [`Core::handle_timeout`] at the time that [`Core::poll_timeout`] returns. The
//! same type runs in a real process and, many at a time, in tests that control every message, disk and clock.
//!
//! The core owns a handful of parts. Each is a state machine of its own, with private state, inputs (`handle_*`) and
//! outputs (`poll_*`, `take_*`). What passes between them is values; `turn` is the one place where that happens, and
//! documents the order.
//!
//! - [`liveness`]: which members are up, and the view that elections use.
//! - `elections`: who *should* lead. An algorithm of the catalogue runs among the candidates that are up.
//! - `claims`: the offices that this node was elected for and does not hold.
//! - [`arbiter`]: who *may* lead: the table of offices, leases, the coordinator, linearizable reads. There is one
//!   implementation per file or folder: `raft`, `none`.
//! - `coordinator`: what the coordinator decides: grants and handovers.
//! - `local_leases`: what this node holds, and for which client.
//! - `requests`: what clients and operators ask for, and what they are shown.
//!
//! All parts but the arbiter's consensus are plain values: they can be cloned, compared and hashed, and `normalise`
//! expresses their times relative to now. [`table`] is the state that the arbiter replicates; `settings` is what hardly
//! ever changes; [`context`] is what a part may read and send while it handles an input.

pub(crate) mod arbiter;
mod claims;
pub(crate) mod context;
mod coordinator;
mod delays;
mod dispatch;
mod doubts;
mod elections;
pub(crate) mod liveness;
mod local_leases;
mod metrics;
#[cfg_attr(not(test), allow(dead_code, reason = "only tests compare states"))]
mod normalise;
mod parts;
mod relays;
mod requests;
mod senders;
mod settings;
pub(crate) mod table;
mod turn;

use std::fmt;

use hustings_protocol::Id;

use self::arbiter::{Arbiter, DiskFailure};
use self::claims::Claims;
use self::context::Outbox;
use self::coordinator::Coordinator;
pub(crate) use self::delays::{Delay, Delays};
use self::doubts::Doubts;
use self::elections::Elections;
use self::liveness::Liveness;
use self::local_leases::LocalLeases;
use self::requests::Requests;
use self::settings::Settings;
pub(crate) use self::settings::{Setup, StartError};
pub(crate) use self::settings::{check_blobs, initial_conf_state, stored_table};
use self::table::OfficeName;
use crate::api::{Reply, Request, RequestError};
use crate::clock::Timestamp;
use crate::config::Limits;
use crate::election::SharedState;
use crate::format::FormatError;
use crate::member::Member;
use crate::store::Write;
use crate::wire::Message;

/// The office that every elector is a candidate for.
pub(crate) const LEADER: &str = "leader";

/// Identifies a client's connection to this node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ClientId(pub u64);

/// Something that the caller must do.
#[derive(Debug)]
pub(crate) enum Output {
    /// Send a message to a peer.
    Send(Id, Message),
    /// Close the connection to a peer that has been silent for too long.
    Disconnect(Id),
    /// Write this to disk, and report it with [`Core::handle_persisted`] when it is durable.
    Write(Write),
    /// Send a reply to a client.
    Reply(ClientId, Reply),
    /// A request for a change was decided. The reply to the client is an output of its own.
    Outcome {
        /// Who asked. It may be gone by now.
        client: ClientId,
        /// What it asked for.
        request: Request,
        /// What became of it.
        result: Result<(), RequestError>,
    },
    /// The cluster's members changed.
    Members {
        /// All members.
        members: Vec<Member>,
        /// The highest member id so far. Other ids up to it belong to members that were removed; members with higher
        /// ids may connect, because this node may learn of them later.
        max_id: u64,
    },
    /// The configuration of a member differs from this node's where it must not, or no longer does.
    ConfigDiffers {
        /// The member.
        member: Id,
        /// The parts in which it differs. Empty if there are none any more.
        parts: Vec<&'static str>,
    },
    /// This node's disk is blank, and a new cluster waits for these members. If there are none any more, it waits no
    /// longer.
    MissingFounders(Vec<Id>),
    /// Stop the node.
    Exit(Exit),
}

/// Why a node stops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Exit {
    /// It was asked to leave, and no longer holds any office.
    Left,
    /// It was removed from the cluster.
    Removed,
    /// Its disk is not the one that the cluster registered for it, so its votes may be lost.
    UnknownDisk,
    /// Its disk is an older copy of the one that others have seen, so votes and entries are lost.
    OldDisk,
    /// Another process runs as the same member, and was started later.
    Superseded,
    /// All members read this version of the formats, and the cluster writes it; this program does not read it.
    OldProgram {
        /// The version that the cluster writes.
        version: u8,
        /// The highest version that this program reads.
        reads: u8,
    },
    /// It cannot read what the cluster has committed at this log index: a later version of the program wrote it.
    Unreadable {
        /// The index of the log entry, or of the last entry of a snapshot.
        index: u64,
        /// What is wrong with it.
        error: FormatError,
    },
}

/// The decision logic of one node. See the module's documentation.
pub(crate) struct Core {
    settings: Settings,
    now: Timestamp,
    /// Wall-clock time. It is only displayed, never used for decisions.
    unix_ms: u64,
    /// When the core asked to be called, apart from questions.
    next_timeout: Timestamp,
    /// Whether there are questions that no turn has looked at yet.
    has_questions: bool,
    /// Until when what peers sent was handled, if the caller says so. What came later may wait to be read.
    listened_until: Option<Timestamp>,
    next_heartbeat: Timestamp,
    liveness: Liveness,
    elections: Elections,
    claims: Claims,
    arbiter: Box<dyn Arbiter>,
    coordinator: Coordinator,
    local_leases: LocalLeases,
    requests: Requests,
    /// What the turn remembers between two calls.
    progress: parts::Progress,
    doubts: Doubts,
    delays: Delays,
    out: Outbox,
    /// Why the core does nothing any more, if it does not.
    halted: Option<Exit>,
}

impl Core {
    fn with_parts(settings: Settings, arbiter: Box<dyn Arbiter>, health: u8, seed: u64, now: Timestamp) -> Self {
        let shared = SharedState::new(seed);
        #[cfg(feature = "fault-injection")]
        let shared = match settings.disabled_rules.contains(crate::faults::Rule::StaleRuns) {
            true => shared.with_fault(crate::faults::InjectedFault::NotDropped),
            false => shared,
        };
        let mut core = Core {
            now,
            unix_ms: 0,
            next_timeout: Timestamp::NEVER,
            has_questions: false,
            listened_until: None,
            next_heartbeat: now,
            liveness: Liveness::new(settings.own, settings.incarnation, health),
            elections: Elections::new(settings.own, shared, health),
            claims: Claims::default(),
            arbiter,
            coordinator: Coordinator::default(),
            local_leases: LocalLeases::default(),
            requests: Requests::new(settings.incarnation),
            progress: parts::Progress::new(health),
            doubts: Doubts::default(),
            delays: Delays::default(),
            out: Outbox::default(),
            halted: None,
            settings,
        };
        core.start();
        core
    }

    /// Takes the pending outputs, in the order in which they must be carried out.
    pub(crate) fn take_outputs(&mut self) -> Vec<Output> {
        let outputs = std::mem::take(&mut self.out.outputs);
        match self.halted {
            // They may follow from a table that lacks a committed change.
            Some(exit) => Vec::from_iter((!outputs.is_empty()).then_some(Output::Exit(exit))),
            None => outputs,
        }
    }

    /// Takes the leases that began or ended since the last call: the office, the token, and whether it began.
    pub(crate) fn take_lease_changes(&mut self) -> Vec<(OfficeName, u64, bool)> {
        self.local_leases.take_log()
    }

    /// When to call [`Core::handle_timeout`] at the latest.
    pub(crate) fn poll_timeout(&self) -> Timestamp {
        if self.has_questions { self.now } else { self.next_timeout }
    }

    /// Sets the wall-clock time, for display.
    pub(crate) fn set_unix_ms(&mut self, unix_ms: u64) {
        self.unix_ms = unix_ms;
    }

    /// A connection to `peer` was established; `incarnation` identifies its process.
    pub(crate) fn handle_connected(&mut self, peer: Id, incarnation: u64, now: Timestamp) {
        self.advance_clock(now);
        if self.liveness.handle_returned(peer, incarnation) {
            // Two processes run as this member: a copy of it, or one that was replaced while it was frozen.
            self.out.increment("returned-incarnations");
            self.out.push(Output::Send(peer, Message::Superseded));
            self.out.push(Output::Disconnect(peer));
        } else {
            self.liveness.handle_connected(peer, incarnation, &self.settings.timing, self.now);
        }
        self.turn();
    }

    /// Everything that peers had sent by this time was handled. While the caller has much to do, what they send waits
    /// to be read, and that is no silence of theirs. A caller that never says so handles everything at once.
    pub(crate) fn set_listened_until(&mut self, time: Timestamp) {
        self.listened_until = Some(time);
    }

    /// The connection to a peer has ended.
    pub(crate) fn handle_disconnected(&mut self, peer: Id, now: Timestamp) {
        self.advance_clock(now);
        self.liveness.handle_disconnected(peer, self.now);
        self.turn();
    }

    /// A message from a peer arrived.
    pub(crate) fn handle_message(&mut self, from: Id, message: Message, now: Timestamp) {
        self.advance_clock(now);
        match self.liveness.has_returned(from) {
            // It arrived before the connection was closed. A farewell of the earlier process is none of the later one.
            true => self.out.increment("messages-of-returned-incarnations"),
            false => self.dispatch(from, message),
        }
        self.turn();
    }

    /// All writes up to and including `number` are durable.
    pub(crate) fn handle_persisted(&mut self, number: u64, now: Timestamp) {
        self.advance_clock(now);
        let (parts, mut context) = self.split();
        parts.arbiter.handle_persisted(number, &mut context);
        self.turn();
    }

    /// The disk failed to write, for this reason. The node grants nothing until a later write is durable.
    pub(crate) fn handle_disk_failed(&mut self, error: &str, now: Timestamp) {
        self.advance_clock(now);
        let (parts, mut context) = self.split();
        parts.arbiter.handle_disk_failed(error, &mut context);
        self.turn();
    }

    /// The time that [`Core::poll_timeout`] returned has come.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        self.advance_clock(now);
        self.turn();
    }

    /// A client sent a request.
    pub(crate) fn handle_request(&mut self, client: ClientId, request: Request, now: Timestamp) {
        self.advance_clock(now);
        self.dispatch_request(client, request);
        self.turn();
    }

    /// A client asked for something that changes nothing ([`Request::right`] is `None`). What many clients ask is
    /// answered in one turn, which is due at once.
    pub(crate) fn handle_question(&mut self, client: ClientId, request: Request, now: Timestamp) {
        // Whether the core was called late is judged by what was due, in that turn.
        self.now = self.now.max(now);
        self.dispatch_request(client, request);
        self.has_questions = true;
    }

    /// A client's connection has ended.
    pub(crate) fn handle_client_gone(&mut self, client: ClientId, now: Timestamp) {
        self.advance_clock(now);
        let (parts, mut context) = self.split();
        parts.requests.handle_client_gone(client, &mut context);
        let known = local_leases::Known::of(parts.arbiter);
        parts.local_leases.handle_client_gone(client, &known, &mut context);
        self.turn();
    }

    /// The work of a client for an office is certainly gone, because its process is.
    pub(crate) fn handle_work_gone(&mut self, client: ClientId, office: &str, token: u64, now: Timestamp) {
        self.advance_clock(now);
        let (mut parts, mut context) = self.split();
        let (local_leases, known) = parts.local_leases();
        // Only a lease of another client would be refused, and that one has another token.
        let _ = local_leases.handle_client_stopped(client, &office.into(), token, &known, &mut context);
        self.turn();
    }

    /// Sets the host's health score, 0–100.
    pub(crate) fn set_health(&mut self, health: u8, now: Timestamp) {
        self.advance_clock(now);
        self.progress.health = health.min(100);
        self.turn();
    }

    /// Replaces what may change while the node runs: the health score below which it campaigns for no office, and the
    /// limits of programs. What a program already has, it keeps.
    pub(crate) fn reconfigure(&mut self, health_threshold: u8, limits: Limits, now: Timestamp) {
        self.advance_clock(now);
        (self.settings.health_threshold, self.settings.limits) = (health_threshold, limits);
        self.turn();
    }

    /// Begins an orderly shutdown: the node hands its offices over before it stops.
    pub(crate) fn leave(&mut self, now: Timestamp) {
        self.advance_clock(now);
        self.progress.leave_by = Some(now + self.settings.timing.hand_over);
        self.arbiter.handle_leaving();
        self.turn();
    }

    /// The leader of the arbiter, as far as this node knows.
    pub(crate) fn arbiter_leader(&self) -> Option<Id> {
        self.arbiter.coordinator()
    }

    /// Why the disk does not take writes, if it does not.
    pub(crate) fn disk_failure(&self) -> Option<&DiskFailure> {
        self.arbiter.disk_failure()
    }

    /// The term of the arbiter's leader.
    pub(crate) fn arbiter_term(&self) -> u64 {
        self.arbiter.epoch()
    }

    /// The version of the formats that may be written now.
    #[cfg(test)]
    pub(crate) fn version(&self) -> u8 {
        self.arbiter.table().version()
    }

    /// The offices that this node holds, by name, with their tokens.
    #[cfg(test)]
    pub(crate) fn held_offices(&self) -> impl Iterator<Item = (&str, u64)> {
        self.local_leases.held()
    }

    /// The client that this node holds an office for with this token, if its work has not stopped.
    pub(crate) fn holder(&self, office: &str, token: u64) -> Option<ClientId> {
        self.local_leases.client_of(office, token)
    }

    /// The mode of the lease of an office that this node holds.
    #[cfg(test)]
    pub(crate) fn held_mode(&self, office: &str) -> Option<crate::config::Mode> {
        self.local_leases.held_mode(office)
    }

    /// How late the core was called.
    pub(crate) fn delays(&self) -> &Delays {
        &self.delays
    }

    /// Whether a client waits for a reply.
    pub(crate) fn has_pending_reply(&self, client: ClientId) -> bool {
        self.requests.has_pending_reply(client)
    }

    fn advance_clock(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        let lateness = self.now.since(self.next_timeout);
        if self.next_timeout <= self.now && self.delays.record(lateness, self.now) {
            self.liveness.excuse_silence(lateness, self.now);
            self.out.increment("process-pauses");
        }
        self.next_timeout = Timestamp::NEVER;
    }
}

/// Only what helps to diagnose a failed test.
impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("own", &self.settings.own)
            .field("now", &self.now)
            .field("leader", &self.arbiter_leader())
            .field("confirmed_at", &self.arbiter.confirmed_at())
            .field("liveness", &self.liveness)
            .field("claims", &self.claims)
            .field("coordinator", &self.coordinator)
            .field("leases", &self.local_leases)
            .field("table", self.arbiter.table())
            .finish_non_exhaustive()
    }
}
