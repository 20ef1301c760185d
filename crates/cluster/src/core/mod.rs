//! The decision logic of a node, as a state machine without I/O and without a clock.
//!
//! Inputs are events, each with the current time ([`Core::handle_connected`], [`Core::handle_message`] and the other
//! `handle_*` methods). Outputs are [`Output`] values, which the caller takes with [`Core::take_outputs`] and carries
//! out in order. The caller also calls [`Core::handle_timeout`] at the time that [`Core::poll_timeout`] returns. The
//! same type runs in a real process and, many at a time, in tests that control every message, disk and clock.
//!
//! - `detector`, `peers`: which members are up.
//! - `elections`: who *should* lead. An algorithm of the catalogue runs among the candidates that are up.
//! - `consensus`: the arbiter's replicated log (Raft); [`table`]: the state machine that the log drives.
//! - `lease_rounds`: what heartbeats prove, and until when a holder may act.
//! - `grants`: who *may* lead, decided by the arbiter's leader; `handover`: how an office moves away from a live
//!   holder; `arbiter_none`: what replaces both in a cluster without an arbiter.
//! - `local_leases`: what this node holds, and for which client.
//! - `requests`: what clients and operators ask for; `status`: what they are shown; `read_index`: how a node makes sure
//!   that what it shows is current.
//! - `start`: the initial state; `reconcile`: the re-evaluation after every event.

mod arbiter_none;
mod consensus;
mod detector;
mod elections;
mod grants;
mod handover;
mod lease_rounds;
mod local_leases;
mod peers;
mod read_index;
mod reconcile;
mod requests;
mod start;
mod status;
pub mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use hustings_protocol::Id;

use self::consensus::{Consensus, Ready};
use self::elections::Elections;
use self::grants::Grants;
use self::lease_rounds::LeaseRounds;
use self::local_leases::LocalLeases;
use self::peers::Peer;
use self::read_index::ReadIndex;
use self::start::Settings;
pub use self::start::Setup;
use self::table::Table;
use crate::api::{ChangeReason, Reply, Request};
use crate::clock::Timestamp;
use crate::member::Member;
use crate::store::Write;
use crate::wire::{Candidacy, Claim, Message};

/// The office that every elector is a candidate for.
pub(crate) const LEADER: &str = "leader";
/// When the core is called later than it asked for by more than this, the process was paused. It then does not hold the
/// silence of its peers against them.
const PAUSE_THRESHOLD: Duration = Duration::from_millis(40);
/// How long a node that has just connected to a quorum waits for a heartbeat of an existing leader before it campaigns.
const FIRST_CAMPAIGN_DELAY: Duration = Duration::from_millis(30);

/// Identifies a client's connection to this node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientId(pub u64);

/// Something that the caller must do.
#[derive(Debug)]
pub enum Output {
    /// Send a message to a peer.
    Send(Id, Message),
    /// Close the connection to a peer that has been silent for too long.
    Disconnect(Id),
    /// Write this to disk, and report it with [`Core::handle_persisted`] when it is durable.
    Write(Write),
    /// Send a reply to a client.
    Reply(ClientId, Reply),
    /// The cluster's members changed to these.
    Members(Vec<Member>),
    /// Stop the node.
    Exit(Exit),
}

/// Why a node stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// It was asked to leave, and no longer holds any office.
    Left,
    /// It was removed from the cluster.
    Removed,
    /// Its disk is not the one that the cluster registered for it, so its votes may be lost.
    UnknownDisk,
}

/// The decision logic of one node. See the module's documentation.
pub struct Core {
    settings: Settings,
    now: Timestamp,
    /// Wall-clock time. It is only displayed, never used for decisions.
    unix_ms: u64,
    /// When the core asked to be called.
    next_timeout: Timestamp,
    peers: BTreeMap<Id, Peer>,
    /// The peer that relayed the message being handled, if it did not come directly.
    relayed_by: Option<Id>,
    /// The members that are up, ascending: as announced by the arbiter's leader, or else by this node's own detector.
    view: Vec<Id>,
    view_is_stale: bool,
    /// The last view announced by the arbiter's leader: the leader, its term, and the view.
    leader_view: Option<(Id, u64, Vec<Id>)>,
    candidacy: Candidacy,
    health: u8,
    leaving: bool,
    leave_deadline: Timestamp,
    elections: Elections,
    /// `None` in a cluster without an arbiter.
    consensus: Option<Consensus>,
    ready: Ready,
    table: Table,
    lease_rounds: LeaseRounds,
    grants: Grants,
    local_leases: LocalLeases,
    /// Until when this node may act as a holder.
    deadline: Timestamp,
    /// The claims that this node last sent: to which leader, in which term.
    sent_claims: Option<(Id, u64, Vec<Claim>)>,
    claims_sent_at: Timestamp,
    /// Members whose disk is not the one that was registered for them.
    unknown_disks: BTreeSet<Id>,
    /// Members whose registration is proposed but not committed yet.
    pending_registrations: BTreeSet<Id>,
    /// The last term in which this node noticed that it leads the arbiter, and the leader that it last followed.
    leading_term: u64,
    followed_leader: Option<Id>,
    disk_failed: bool,
    pending_requests: BTreeMap<u64, requests::PendingRequest>,
    last_request: u64,
    pending_proposals: Vec<(u64, requests::Requester)>,
    watchers: BTreeMap<ClientId, Vec<Option<String>>>,
    published: BTreeMap<String, status::PublishedOffice>,
    read_index: ReadIndex,
    counters: BTreeMap<&'static str, u64>,
    outputs: Vec<Output>,
}

impl Core {
    /// Takes the pending outputs, in the order in which they must be carried out.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    /// When to call [`Core::handle_timeout`] at the latest.
    pub fn poll_timeout(&self) -> Timestamp {
        self.next_timeout
    }

    /// Sets the wall-clock time, for display.
    pub fn set_unix_ms(&mut self, unix_ms: u64) {
        self.unix_ms = unix_ms;
    }

    /// A connection to `peer` was established; `incarnation` identifies its process.
    pub fn handle_connected(&mut self, peer: Id, incarnation: u64, now: Timestamp) {
        self.advance_clock(now);
        self.peer_connected(peer, incarnation);
        self.reconcile();
    }

    /// The connection to a peer has ended.
    pub fn handle_disconnected(&mut self, peer: Id, now: Timestamp) {
        self.advance_clock(now);
        self.peer_disconnected(peer);
        self.reconcile();
    }

    /// A message from a peer arrived.
    pub fn handle_message(&mut self, from: Id, message: Message, now: Timestamp) {
        self.advance_clock(now);
        self.dispatch(from, message);
        self.reconcile();
    }

    /// All writes up to and including `number` are durable.
    pub fn handle_persisted(&mut self, number: u64, now: Timestamp) {
        self.advance_clock(now);
        self.disk_failed = false;
        if let Some(consensus) = &mut self.consensus {
            consensus.handle_persisted(number, &mut self.ready);
        }
        self.reconcile();
    }

    /// The disk failed to write. The node grants nothing until a later write is durable.
    pub fn handle_disk_failed(&mut self, now: Timestamp) {
        self.advance_clock(now);
        self.disk_failed = true;
        self.increment("failed-disk-writes");
        if self.is_arbiter_leader()
            && let Some(consensus) = &mut self.consensus
        {
            consensus.forget_leader();
        }
        self.reconcile();
    }

    /// The time that [`Core::poll_timeout`] returned has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.advance_clock(now);
        self.reconcile();
    }

    /// A client sent a request.
    pub fn handle_request(&mut self, client: ClientId, request: Request, now: Timestamp) {
        self.advance_clock(now);
        self.dispatch_request(client, request);
        self.reconcile();
    }

    /// A client's connection has ended.
    pub fn handle_client_gone(&mut self, client: ClientId, now: Timestamp) {
        self.advance_clock(now);
        self.watchers.remove(&client);
        self.read_index.remove_client(client);
        self.withdraw_client(client);
        self.reconcile();
    }

    /// Sets the host's health score, 0–100.
    pub fn set_health(&mut self, health: u8, now: Timestamp) {
        self.advance_clock(now);
        self.health = health.min(100);
        self.reconcile();
    }

    /// Begins an orderly shutdown: the node hands its offices over before it stops.
    pub fn leave(&mut self, now: Timestamp) {
        self.advance_clock(now);
        self.leaving = true;
        self.leave_deadline = now + self.settings.timing.hand_over;
        self.reconcile();
    }

    /// The leader of the arbiter, as far as this node knows.
    pub fn arbiter_leader(&self) -> Option<Id> {
        self.consensus.as_ref().and_then(|consensus| consensus.leader())
    }

    /// Whether this node leads the arbiter.
    fn is_arbiter_leader(&self) -> bool {
        self.consensus.as_ref().is_some_and(|consensus| consensus.is_leader())
    }

    fn increment(&mut self, counter: &'static str) {
        *self.counters.entry(counter).or_default() += 1;
    }

    fn advance_clock(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        if self.now > self.next_timeout.max(Timestamp::ZERO) + PAUSE_THRESHOLD && self.next_timeout != Timestamp::NEVER
        {
            self.restart_detectors();
            self.increment("process-pauses");
        }
        self.next_timeout = Timestamp::NEVER;
    }

    fn dispatch(&mut self, from: Id, message: Message) {
        if let Message::Relay { from: origin, incarnation, to, bytes } = message {
            self.record_contact(from, false);
            if to != self.settings.own {
                self.relay(origin, incarnation, to, bytes);
            } else if let Ok(message) = Message::decode(&bytes)
                && !matches!(message, Message::Relay { .. })
                && self.peers.get(&origin).is_some_and(|peer| peer.incarnation == incarnation)
            {
                self.relayed_by = Some(from);
                self.dispatch(origin, message);
                self.relayed_by = None;
            }
            return;
        }
        if !self.peers.contains_key(&from) {
            return;
        }
        self.record_contact(from, matches!(message, Message::Heartbeat(_)));
        match message {
            Message::Heartbeat(heartbeat) => self.handle_heartbeat(from, heartbeat),
            Message::Candidacy(candidacy) => self.handle_candidacy(from, candidacy),
            Message::View(view) => {
                let term = self.consensus.as_ref().map_or(0, |consensus| consensus.term());
                self.leader_view = Some((from, term, view));
                self.view_is_stale = true;
            }
            Message::Raft(message) => self.handle_raft(from, &message),
            Message::Election { key, bytes } => self.handle_election_message(from, key, &bytes),
            Message::Claims(claims) => self.handle_claims(from, claims),
            Message::StepDown { office, token, cause } => self.step_down(&office, token, cause),
            Message::SteppedDown { office, token, cause } => self.handle_stepped_down(from, &office, token, cause),
            Message::PauseCampaign { office } => self.pause_campaign(&office),
            Message::ReadinessRequest { office } => {
                let is_ready = self.is_candidate_for(self.settings.own, &office) && !self.disk_failed;
                self.send(from, Message::ReadinessResponse { office, is_ready });
            }
            Message::ReadinessResponse { office, is_ready } => self.handle_readiness(from, &office, is_ready),
            Message::ForwardedRequest(forwarded) => {
                if let Ok(request) = forwarded.parse() {
                    self.handle_forwarded_request(
                        requests::Requester { node: from, number: forwarded.number },
                        &request,
                    );
                }
            }
            Message::ForwardedResponse { number, result } => self.handle_forwarded_response(number, result),
            Message::PeerDown(id) => {
                if let Some(peer) = self.peers.get_mut(&id) {
                    peer.down_reports.insert(from, self.now);
                }
            }
            Message::ReadIndexRequest { number } => self.handle_read_index_request(from, number),
            Message::PollRequest { term, poll } => self.handle_poll_request(from, term, poll),
            Message::PollResponse { term, poll } => self.handle_poll_response(from, term, poll),
            Message::ReadIndexResponse { number, committed } => self.handle_read_index_response(number, committed),
            Message::UnknownDisk => self.outputs.push(Output::Exit(Exit::UnknownDisk)),
            Message::Leave => self.mark_down(from, ChangeReason::Left),
            Message::Relay { .. } => {}
        }
    }

    fn handle_candidacy(&mut self, from: Id, mut candidacy: Candidacy) {
        candidacy.offices.sort_unstable();
        candidacy.offices.dedup();
        let Some(peer) = self.peers.get_mut(&from) else { return };
        if peer.candidacy.as_ref() != Some(&candidacy) {
            peer.candidacy = Some(candidacy);
            self.view_is_stale = true;
        }
    }

    fn handle_raft(&mut self, from: Id, message: &crate::wire::RaftMessage) {
        if self.unknown_disks.contains(&from) {
            return;
        }
        let (position, now) = (self.campaign_position(), self.now);
        let Some(consensus) = &mut self.consensus else { return };
        if !consensus.step(from, message, position, now) {
            self.increment("invalid-raft-messages");
        }
    }
}

/// Only what helps to diagnose a failed test.
impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("own", &self.settings.own)
            .field("now", &self.now)
            .field("deadline", &self.deadline)
            .field("leader", &self.arbiter_leader())
            .field("view", &self.view)
            .field("peers", &self.peers)
            .field("elected", &self.elections.elected().collect::<Vec<_>>())
            .field("claims", &self.sent_claims)
            .field("rounds", &self.lease_rounds)
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
