//! What a node decides, as a state core without I/O or clock: events and the time go in, [`Output`]s come out.
//!
//! The same value runs in a process on real sockets, and by the dozen in a test that delivers messages as it likes.
//!
//! - [`detector`], `peers`: who is up.
//! - `elections`: who should lead: an algorithm of the catalogue among those who stand for an office and are up.
//! - `start`: how it begins. `reconcile`: what follows from what happened.
//! - `consensus`: the arbiter's log; [`table`]: what it says.
//! - `rounds`: what heartbeats prove, and until when a holder may act.
//! - `grants`: who may lead: what the leader of the arbiter decides; `handover`: how an office goes from a live holder
//!   to the next. `alone`: what takes their place without an arbiter.
//! - `holder`: what this node holds, and for whom. `asks`: what programs and operators ask; `shows`: what they
//!   are shown, and `reads`: how a node makes sure of it.

mod arbiter_none;
mod consensus;
pub mod detector;
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
pub use self::start::{Broken, Setup};
use self::table::Table;
use crate::api::{Cause, Reply, Request};
use crate::clock::Moment;
use crate::member::Member;
use crate::store::Write;
use crate::wire::{Candidacy, Claim, Message};

/// The office that every elector stands for.
pub const LEADER: &str = "leader";
/// A node that was not running for longer than this does not blame others for its silence.
const PAUSE_THRESHOLD: Duration = Duration::from_millis(40);
/// A node that has just met enough others waits so long for word of a leader before it stands itself.
const FIRST_CAMPAIGN_DELAY: Duration = Duration::from_millis(30);

/// A program's connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientId(pub u64);

/// What the core wants done.
#[derive(Debug)]
pub enum Output {
    /// Send this to a peer.
    Send(Id, Message),
    /// End the connection to a peer that was silent for too long.
    Disconnect(Id),
    /// Write this, and say when it is durable: [`Core::persisted`].
    Write(Write),
    /// Tell a program.
    Reply(ClientId, Reply),
    /// These are the members from now on.
    Members(Vec<Member>),
    /// The node must stop, and why.
    Exit(Exit),
}

/// Why a node must stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// It was asked to, and holds nothing any more.
    Left,
    /// It was removed from the cluster.
    Removed,
    /// Its disk is not the one that its votes were kept on.
    UnknownDisk,
}

/// See the module.
pub struct Core {
    settings: Settings,
    now: Moment,
    /// For people: the wall clock.
    unix_ms: u64,
    /// When the core asked to be called.
    next_timeout: Moment,
    peers: BTreeMap<Id, Peer>,
    /// Who passed on what is being handled.
    relayed_by: Option<Id>,
    /// Who is up, ascending: as the leader of the arbiter says, or else by own evidence.
    view: Vec<Id>,
    view_is_stale: bool,
    /// What the leader of the arbiter last said of it, who that was, and in which term.
    leader_view: Option<(Id, u64, Vec<Id>)>,
    candidacy: Candidacy,
    health: u8,
    leaving: bool,
    leave_deadline: Moment,
    elections: Elections,
    /// None without an arbiter.
    consensus: Option<Consensus>,
    ready: Ready,
    table: Table,
    lease_rounds: LeaseRounds,
    grants: Grants,
    local_leases: LocalLeases,
    /// Until when this node may act as a holder.
    deadline: Moment,
    /// Whom and when this node last told what it claims.
    sent_claims: Option<(Id, u64, Vec<Claim>)>,
    claims_sent_at: Moment,
    /// Members whose disks are not those that were registered.
    unknown_disks: BTreeSet<Id>,
    /// Registrations that are on their way through the log.
    pending_registrations: BTreeSet<Id>,
    /// The term in which this node last found itself leading, and whom it last followed.
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
    /// What it wants done, in order.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    /// When it wants to be called at the latest: [`Core::tick`].
    pub fn poll_timeout(&self) -> Moment {
        self.next_timeout
    }

    /// What the wall clock shows, for people.
    pub fn set_unix_ms(&mut self, unix_ms: u64) {
        self.unix_ms = unix_ms;
    }

    /// There is a connection to a peer, in this of its incarnations.
    pub fn handle_connected(&mut self, peer: Id, incarnation: u64, now: Moment) {
        self.advance_clock(now);
        self.peer_connected(peer, incarnation);
        self.reconcile();
    }

    /// The connection to a peer has ended.
    pub fn handle_disconnected(&mut self, peer: Id, now: Moment) {
        self.advance_clock(now);
        self.peer_disconnected(peer);
        self.reconcile();
    }

    /// A peer says something.
    pub fn handle_message(&mut self, from: Id, message: Message, now: Moment) {
        self.advance_clock(now);
        self.dispatch(from, message);
        self.reconcile();
    }

    /// Everything up to this write is durable.
    pub fn handle_persisted(&mut self, number: u64, now: Moment) {
        self.advance_clock(now);
        self.disk_failed = false;
        if let Some(consensus) = &mut self.consensus {
            consensus.handle_persisted(number, &mut self.ready);
        }
        self.reconcile();
    }

    /// The disk cannot be written to: nothing is granted until it can.
    pub fn handle_disk_failed(&mut self, now: Moment) {
        self.advance_clock(now);
        self.disk_failed = true;
        self.increment("failed-writes");
        if self.is_arbiter_leader()
            && let Some(consensus) = &mut self.consensus
        {
            consensus.forget_leader();
        }
        self.reconcile();
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.advance_clock(now);
        self.reconcile();
    }

    /// A program asks.
    pub fn handle_request(&mut self, client: ClientId, request: Request, now: Moment) {
        self.advance_clock(now);
        self.dispatch_request(client, request);
        self.reconcile();
    }

    /// A program's connection has ended.
    pub fn handle_client_gone(&mut self, client: ClientId, now: Moment) {
        self.advance_clock(now);
        self.watchers.remove(&client);
        self.read_index.remove_client(client);
        self.withdraw_client(client);
        self.reconcile();
    }

    /// The host is so well: 0 to 100.
    pub fn set_health(&mut self, health: u8, now: Moment) {
        self.advance_clock(now);
        self.health = health.min(100);
        self.reconcile();
    }

    /// The node is to stop in good order.
    pub fn leave(&mut self, now: Moment) {
        self.advance_clock(now);
        self.leaving = true;
        self.leave_deadline = now + self.settings.timing.hand_over;
        self.reconcile();
    }

    /// Whom this node names as the leader of the arbiter.
    pub fn arbiter_leader(&self) -> Option<Id> {
        self.consensus.as_ref().and_then(|consensus| consensus.leader())
    }

    /// Whether this node leads the arbiter.
    fn is_arbiter_leader(&self) -> bool {
        self.consensus.as_ref().is_some_and(|consensus| consensus.is_leader())
    }

    fn increment(&mut self, what: &'static str) {
        *self.counters.entry(what).or_default() += 1;
    }

    fn advance_clock(&mut self, now: Moment) {
        self.now = self.now.max(now);
        if self.now > self.next_timeout.max(Moment::ZERO) + PAUSE_THRESHOLD && self.next_timeout != Moment::NEVER {
            self.restart_detectors();
            self.increment("own-pauses");
        }
        self.next_timeout = Moment::NEVER;
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
            Message::Election { key, bytes } => self.handle_election(from, key, &bytes),
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
            Message::Leave => self.mark_down(from, Cause::Left),
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
            self.increment("garbled-raft-messages");
        }
    }
}

/// What somebody who looks for a fault wants to see.
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
