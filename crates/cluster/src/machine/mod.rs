//! What a node decides, as a state machine without I/O or clock: events and the time go in, [`Output`]s come out.
//!
//! The same value runs in a process on real sockets, and by the dozen in a test that delivers messages as it likes.
//!
//! - [`detector`], `peers`: who is up.
//! - `races`: who should lead: an algorithm of the catalogue among those who stand for an office and are up.
//! - `start`: how it begins. `settle`: what follows from what happened.
//! - `council`: the arbiter's log; [`table`]: what it says.
//! - `rounds`: what beats prove, and until when a holder may act.
//! - `granter`: who may lead: what the leader of the arbiter decides; `handing`: how an office goes from a live holder
//!   to the next. `alone`: what takes their place without an arbiter.
//! - `holder`: what this node holds, and for whom. `asks`: what programs and operators ask; `shows`: what they
//!   are shown, and `reads`: how a node makes sure of it.

mod alone;
mod asks;
mod council;
pub mod detector;
mod granter;
mod handing;
mod holder;
mod peers;
mod races;
mod reads;
mod rounds;
mod settle;
mod shows;
mod start;
pub mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use hustings_protocol::Id;

use self::council::{Council, Errands};
use self::granter::Granter;
use self::holder::Desk;
use self::peers::Peer;
use self::races::Races;
use self::reads::Reads;
use self::rounds::Rounds;
use self::start::Fixed;
pub use self::start::{Broken, Setup};
use self::table::Table;
use crate::api::{Cause, Reply, Request};
use crate::clock::Moment;
use crate::member::Member;
use crate::store::Write;
use crate::wire::{Claim, Message, Standing};

/// The office that every elector stands for.
pub const LEADER: &str = "leader";
/// A node that was not running for longer than this does not blame others for its silence.
const PAUSE: Duration = Duration::from_millis(40);
/// A node that has just met enough others waits so long for word of a leader before it stands itself.
const LISTEN: Duration = Duration::from_millis(30);

/// A program's connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientId(pub u64);

/// What the machine wants done.
#[derive(Debug)]
pub enum Output {
    /// Send this to a peer.
    Send(Id, Message),
    /// End the connection to a peer that was silent for too long.
    Drop(Id),
    /// Write this, and say when it is durable: [`Machine::persisted`].
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
pub struct Machine {
    setup: Fixed,
    now: Moment,
    /// For people: the wall clock.
    unix_ms: u64,
    /// When the machine asked to be called.
    wake: Moment,
    peers: BTreeMap<Id, Peer>,
    /// Who passed on what is being handled.
    by_way_of: Option<Id>,
    /// Who is up, ascending: as the leader of the arbiter says, or else by own evidence.
    view: Vec<Id>,
    view_is_stale: bool,
    /// What the leader of the arbiter last said of it, who that was, and in which term.
    told_view: Option<(Id, u64, Vec<Id>)>,
    standing: Standing,
    health: u8,
    leaving: bool,
    leave_by: Moment,
    races: Races,
    /// None without an arbiter.
    council: Option<Council>,
    errands: Errands,
    table: Table,
    rounds: Rounds,
    granter: Granter,
    desk: Desk,
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
    open: BTreeMap<u64, asks::Open>,
    asked_so_far: u64,
    agreeing: Vec<(u64, asks::Asker)>,
    watchers: BTreeMap<ClientId, Vec<Option<String>>>,
    shown: BTreeMap<String, shows::Seen>,
    reads: Reads,
    counters: BTreeMap<&'static str, u64>,
    out: Vec<Output>,
}

impl Machine {
    /// What it wants done, in order.
    pub fn outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.out)
    }

    /// When it wants to be called at the latest: [`Machine::tick`].
    pub fn wake_at(&self) -> Moment {
        self.wake
    }

    /// What the wall clock shows, for people.
    pub fn set_unix_ms(&mut self, unix_ms: u64) {
        self.unix_ms = unix_ms;
    }

    /// There is a connection to a peer, in this of its lives.
    pub fn up(&mut self, peer: Id, life: u64, now: Moment) {
        self.arrive(now);
        self.connected(peer, life);
        self.settle();
    }

    /// The connection to a peer has ended.
    pub fn down(&mut self, peer: Id, now: Moment) {
        self.arrive(now);
        self.disconnected(peer);
        self.settle();
    }

    /// A peer says something.
    pub fn message(&mut self, from: Id, message: Message, now: Moment) {
        self.arrive(now);
        self.got(from, message);
        self.settle();
    }

    /// Everything up to this write is durable.
    pub fn persisted(&mut self, number: u64, now: Moment) {
        self.arrive(now);
        self.disk_failed = false;
        if let Some(council) = &mut self.council {
            council.persisted(number, &mut self.errands);
        }
        self.settle();
    }

    /// The disk cannot be written to: nothing is granted until it can.
    pub fn disk_failed(&mut self, now: Moment) {
        self.arrive(now);
        self.disk_failed = true;
        self.count("failed-writes");
        if self.leads()
            && let Some(council) = &mut self.council
        {
            council.forget_leader();
        }
        self.settle();
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Moment) {
        self.arrive(now);
        self.settle();
    }

    /// A program asks.
    pub fn request(&mut self, client: ClientId, request: Request, now: Moment) {
        self.arrive(now);
        self.asked(client, request);
        self.settle();
    }

    /// A program's connection has ended.
    pub fn client_gone(&mut self, client: ClientId, now: Moment) {
        self.arrive(now);
        self.watchers.remove(&client);
        self.reads.forget(client);
        self.gone(client);
        self.settle();
    }

    /// The host is so well: 0 to 100.
    pub fn set_health(&mut self, health: u8, now: Moment) {
        self.arrive(now);
        self.health = health.min(100);
        self.settle();
    }

    /// The node is to stop in good order.
    pub fn leave(&mut self, now: Moment) {
        self.arrive(now);
        self.leaving = true;
        self.leave_by = now + self.setup.timing.hand_over;
        self.settle();
    }

    /// Whom this node names as the leader of the arbiter.
    pub fn arbiter_leader(&self) -> Option<Id> {
        self.council.as_ref().and_then(|council| council.leader())
    }

    /// Whether this node leads the arbiter.
    fn leads(&self) -> bool {
        self.council.as_ref().is_some_and(|council| council.is_leader())
    }

    fn count(&mut self, what: &'static str) {
        *self.counters.entry(what).or_default() += 1;
    }

    fn arrive(&mut self, now: Moment) {
        self.now = self.now.max(now);
        if self.now > self.wake.max(Moment::ZERO) + PAUSE && self.wake != Moment::NEVER {
            self.restart_silence();
            self.count("own-pauses");
        }
        self.wake = Moment::NEVER;
    }

    fn got(&mut self, from: Id, message: Message) {
        if let Message::Relay { from: origin, life, to, bytes } = message {
            self.heard(from, false);
            if to != self.setup.own {
                self.relay(origin, life, to, bytes);
            } else if let Ok(message) = Message::decode(&bytes)
                && !matches!(message, Message::Relay { .. })
                && self.peers.get(&origin).is_some_and(|peer| peer.life == life)
            {
                self.by_way_of = Some(from);
                self.got(origin, message);
                self.by_way_of = None;
            }
            return;
        }
        if !self.peers.contains_key(&from) {
            return;
        }
        self.heard(from, matches!(message, Message::Beat(_)));
        match message {
            Message::Beat(beat) => self.got_beat(from, beat),
            Message::Standing(standing) => self.got_standing(from, standing),
            Message::View(view) => {
                let term = self.council.as_ref().map_or(0, |council| council.term());
                self.told_view = Some((from, term, view));
                self.view_is_stale = true;
            }
            Message::Raft(message) => self.got_raft(from, &message),
            Message::Race { key, bytes } => self.got_race(from, key, &bytes),
            Message::Claims(claims) => self.got_claims(from, claims),
            Message::Yield { office, token, why } => self.yield_office(&office, token, why),
            Message::Yielded { office, token, why } => self.got_yielded(from, &office, token, why),
            Message::Rest { office } => self.rest(&office),
            Message::Prepare { office } => {
                let ready = self.stands_for(self.setup.own, &office) && !self.disk_failed;
                self.send(from, Message::Prepared { office, ready });
            }
            Message::Prepared { office, ready } => self.got_prepared(from, &office, ready),
            Message::Ask(ask) => {
                if let Ok(request) = ask.request() {
                    self.got_ask(asks::Asker { node: from, number: ask.number }, &request);
                }
            }
            Message::Answer { number, result } => self.got_answer(number, result),
            Message::Ended(id) => {
                if let Some(peer) = self.peers.get_mut(&id) {
                    peer.witnesses.insert(from, self.now);
                }
            }
            Message::Read { number } => self.got_read(from, number),
            Message::Poll { term, poll } => self.got_poll(from, term, poll),
            Message::With { term, poll } => self.got_with(from, term, poll),
            Message::Sure { number, committed } => self.got_sure(number, committed),
            Message::Unknown => self.out.push(Output::Exit(Exit::UnknownDisk)),
            Message::Farewell => self.ended(from, Cause::Left),
            Message::Relay { .. } => {}
        }
    }

    fn got_standing(&mut self, from: Id, mut standing: Standing) {
        standing.offices.sort_unstable();
        standing.offices.dedup();
        let Some(peer) = self.peers.get_mut(&from) else { return };
        if peer.standing.as_ref() != Some(&standing) {
            peer.standing = Some(standing);
            self.view_is_stale = true;
        }
    }

    fn got_raft(&mut self, from: Id, message: &crate::wire::RaftMessage) {
        if self.unknown_disks.contains(&from) {
            return;
        }
        let (place, now) = (self.place_in_line(), self.now);
        let Some(council) = &mut self.council else { return };
        if !council.step(from, message, place, now) {
            self.count("garbled-raft-messages");
        }
    }
}

/// What somebody who looks for a fault wants to see.
impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("own", &self.setup.own)
            .field("now", &self.now)
            .field("deadline", &self.deadline)
            .field("leader", &self.arbiter_leader())
            .field("view", &self.view)
            .field("peers", &self.peers)
            .field("elected", &self.races.elected().collect::<Vec<_>>())
            .field("claims", &self.claims_told)
            .field("rounds", &self.rounds)
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
