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
use self::start::Fixed;
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
const PAUSE: Duration = Duration::from_millis(40);
/// A node that has just met enough others waits so long for word of a leader before it stands itself.
const LISTEN: Duration = Duration::from_millis(30);

/// A program's connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientId(pub u64);

/// What the core wants done.
#[derive(Debug)]
pub enum Output {
    /// Send this to a peer.
    Send(Id, Message),
    /// End the connection to a peer that was silent for too long.
    Drop(Id),
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
    setup: Fixed,
    now: Moment,
    /// For people: the wall clock.
    unix_ms: u64,
    /// When the core asked to be called.
    wake: Moment,
    peers: BTreeMap<Id, Peer>,
    /// Who passed on what is being handled.
    by_way_of: Option<Id>,
    /// Who is up, ascending: as the leader of the arbiter says, or else by own evidence.
    view: Vec<Id>,
    view_is_stale: bool,
    /// What the leader of the arbiter last said of it, who that was, and in which term.
    told_view: Option<(Id, u64, Vec<Id>)>,
    candidacy: Candidacy,
    health: u8,
    leaving: bool,
    leave_by: Moment,
    elections: Elections,
    /// None without an arbiter.
    consensus: Option<Consensus>,
    ready: Ready,
    table: Table,
    rounds: LeaseRounds,
    grants: Grants,
    local_leases: LocalLeases,
    /// Until when this node may act as a holder.
    deadline: Moment,
    /// Whom and when this node last told what it claims.
    claims_told: Option<(Id, u64, Vec<Claim>)>,
    claimed: Moment,
    /// Members whose disks are not those that were registered.
    unknown_disks: BTreeSet<Id>,
    /// Registrations that are on their way through the log.
    registering: BTreeSet<Id>,
    /// The term in which this node last found itself leading, and whom it last followed.
    led_in: u64,
    followed: Option<Id>,
    disk_failed: bool,
    open: BTreeMap<u64, requests::Open>,
    asked_so_far: u64,
    agreeing: Vec<(u64, requests::Asker)>,
    watchers: BTreeMap<ClientId, Vec<Option<String>>>,
    shown: BTreeMap<String, status::Seen>,
    read_index: ReadIndex,
    counters: BTreeMap<&'static str, u64>,
    out: Vec<Output>,
}

impl Core {
    /// What it wants done, in order.
    pub fn outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.out)
    }

    /// When it wants to be called at the latest: [`Core::tick`].
    pub fn wake_at(&self) -> Moment {
        self.wake
    }

    /// What the wall clock shows, for people.
    pub fn set_unix_ms(&mut self, unix_ms: u64) {
        self.unix_ms = unix_ms;
    }

    /// There is a connection to a peer, in this of its incarnations.
    pub fn up(&mut self, peer: Id, incarnation: u64, now: Moment) {
        self.advance_clock(now);
        self.connected(peer, incarnation);
        self.reconcile();
    }

    /// The connection to a peer has ended.
    pub fn down(&mut self, peer: Id, now: Moment) {
        self.advance_clock(now);
        self.disconnected(peer);
        self.reconcile();
    }

    /// A peer says something.
    pub fn message(&mut self, from: Id, message: Message, now: Moment) {
        self.advance_clock(now);
        self.handle(from, message);
        self.reconcile();
    }

    /// Everything up to this write is durable.
    pub fn persisted(&mut self, number: u64, now: Moment) {
        self.advance_clock(now);
        self.disk_failed = false;
        if let Some(consensus) = &mut self.consensus {
            consensus.persisted(number, &mut self.ready);
        }
        self.reconcile();
    }

    /// The disk cannot be written to: nothing is granted until it can.
    pub fn disk_failed(&mut self, now: Moment) {
        self.advance_clock(now);
        self.disk_failed = true;
        self.count("failed-writes");
        if self.leads()
            && let Some(consensus) = &mut self.consensus
        {
            consensus.forget_leader();
        }
        self.reconcile();
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Moment) {
        self.advance_clock(now);
        self.reconcile();
    }

    /// A program asks.
    pub fn request(&mut self, client: ClientId, request: Request, now: Moment) {
        self.advance_clock(now);
        self.handle_request(client, request);
        self.reconcile();
    }

    /// A program's connection has ended.
    pub fn client_gone(&mut self, client: ClientId, now: Moment) {
        self.advance_clock(now);
        self.watchers.remove(&client);
        self.read_index.forget(client);
        self.handle_client_gone(client);
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
        self.leave_by = now + self.setup.timing.hand_over;
        self.reconcile();
    }

    /// Whom this node names as the leader of the arbiter.
    pub fn arbiter_leader(&self) -> Option<Id> {
        self.consensus.as_ref().and_then(|consensus| consensus.leader())
    }

    /// Whether this node leads the arbiter.
    fn leads(&self) -> bool {
        self.consensus.as_ref().is_some_and(|consensus| consensus.is_leader())
    }

    fn count(&mut self, what: &'static str) {
        *self.counters.entry(what).or_default() += 1;
    }

    fn advance_clock(&mut self, now: Moment) {
        self.now = self.now.max(now);
        if self.now > self.wake.max(Moment::ZERO) + PAUSE && self.wake != Moment::NEVER {
            self.restart_silence();
            self.count("own-pauses");
        }
        self.wake = Moment::NEVER;
    }

    fn handle(&mut self, from: Id, message: Message) {
        if let Message::Relay { from: origin, incarnation, to, bytes } = message {
            self.heard(from, false);
            if to != self.setup.own {
                self.relay(origin, incarnation, to, bytes);
            } else if let Ok(message) = Message::decode(&bytes)
                && !matches!(message, Message::Relay { .. })
                && self.peers.get(&origin).is_some_and(|peer| peer.incarnation == incarnation)
            {
                self.by_way_of = Some(from);
                self.handle(origin, message);
                self.by_way_of = None;
            }
            return;
        }
        if !self.peers.contains_key(&from) {
            return;
        }
        self.heard(from, matches!(message, Message::Heartbeat(_)));
        match message {
            Message::Heartbeat(heartbeat) => self.handle_heartbeat(from, heartbeat),
            Message::Candidacy(candidacy) => self.handle_standing(from, candidacy),
            Message::View(view) => {
                let term = self.consensus.as_ref().map_or(0, |consensus| consensus.term());
                self.told_view = Some((from, term, view));
                self.view_is_stale = true;
            }
            Message::Raft(message) => self.handle_raft(from, &message),
            Message::Election { key, bytes } => self.handle_race(from, key, &bytes),
            Message::Claims(claims) => self.handle_claims(from, claims),
            Message::Yield { office, token, why } => self.yield_office(&office, token, why),
            Message::Yielded { office, token, why } => self.handle_yielded(from, &office, token, why),
            Message::Rest { office } => self.rest(&office),
            Message::Prepare { office } => {
                let ready = self.stands_for(self.setup.own, &office) && !self.disk_failed;
                self.send(from, Message::Prepared { office, ready });
            }
            Message::Prepared { office, ready } => self.handle_prepared(from, &office, ready),
            Message::Ask(ask) => {
                if let Ok(request) = ask.request() {
                    self.handle_ask(requests::Asker { node: from, number: ask.number }, &request);
                }
            }
            Message::Answer { number, result } => self.handle_answer(number, result),
            Message::Ended(id) => {
                if let Some(peer) = self.peers.get_mut(&id) {
                    peer.witnesses.insert(from, self.now);
                }
            }
            Message::Read { number } => self.handle_read(from, number),
            Message::Poll { term, poll } => self.handle_poll(from, term, poll),
            Message::With { term, poll } => self.handle_with(from, term, poll),
            Message::Sure { number, committed } => self.handle_sure(number, committed),
            Message::Unknown => self.out.push(Output::Exit(Exit::UnknownDisk)),
            Message::Farewell => self.ended(from, Cause::Left),
            Message::Relay { .. } => {}
        }
    }

    fn handle_standing(&mut self, from: Id, mut candidacy: Candidacy) {
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
        let (place, now) = (self.place_in_line(), self.now);
        let Some(consensus) = &mut self.consensus else { return };
        if !consensus.step(from, message, place, now) {
            self.count("garbled-raft-messages");
        }
    }
}

/// What somebody who looks for a fault wants to see.
impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("own", &self.setup.own)
            .field("now", &self.now)
            .field("deadline", &self.deadline)
            .field("leader", &self.arbiter_leader())
            .field("view", &self.view)
            .field("peers", &self.peers)
            .field("elected", &self.elections.elected().collect::<Vec<_>>())
            .field("claims", &self.claims_told)
            .field("rounds", &self.rounds)
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
