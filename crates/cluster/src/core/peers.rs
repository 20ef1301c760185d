//! Who is up: what a node knows of each of its peers, by its own evidence.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::Id;

use super::Core;
use super::detector::Pulse;
use crate::api::Cause;
use crate::clock::Moment;
use crate::member::MemberRank;
use crate::timing::Timing;
use crate::wire::{Candidacy, Heartbeat, Message};

/// How many heartbeats are remembered until they are confirmed.
const MAX_UNCONFIRMED: usize = 256;
/// An end within this time of the one before makes a peer one that comes and goes.
const FLAPPING: std::time::Duration = std::time::Duration::from_secs(600);
/// The settling time is doubled at most so often.
const MAX_DOUBLINGS: u32 = 6;

/// What a node knows of a peer.
#[derive(Debug)]
pub(super) struct Peer {
    /// Whether there is a connection.
    pub(super) connected: bool,
    /// Which start of it this is.
    pub(super) incarnation: u64,
    /// Whether it is up, as far as can be told.
    pub(super) up: bool,
    /// Since when it is up or not.
    pub(super) since: Moment,
    /// Why it is not.
    pub(super) why: Cause,
    pub(super) pulse: Pulse,
    /// When it was last heard over its own connection, not by way of others.
    pub(super) heard_directly: Moment,
    /// What it last said of itself.
    pub(super) candidacy: Option<Candidacy>,
    /// Beats that were sent to it: their numbers, and when.
    pub(super) sent: VecDeque<(u64, Moment)>,
    pub(super) number: u64,
    /// Who else saw it end.
    pub(super) witnesses: BTreeMap<Id, Moment>,
    /// How often it ended lately, and when it last did.
    flaps: u32,
    last_end: Moment,
}

impl Peer {
    pub(super) fn new(timing: &Timing, now: Moment) -> Self {
        Peer {
            connected: false,
            incarnation: 0,
            up: false,
            since: now,
            why: Cause::Silent,
            pulse: Pulse::new(timing, now),
            heard_directly: now,
            candidacy: None,
            sent: VecDeque::new(),
            number: 0,
            witnesses: BTreeMap::new(),
            flaps: 0,
            last_end: Moment::ZERO,
        }
    }

    /// The next heartbeat to it goes out now.
    pub(super) fn next_number(&mut self, now: Moment) -> u64 {
        self.number += 1;
        if self.sent.len() >= MAX_UNCONFIRMED {
            self.sent.pop_front();
        }
        self.sent.push_back((self.number, now));
        self.number
    }

    /// When the heartbeat with this number went out; earlier ones are forgotten.
    pub(super) fn sent_at(&mut self, number: u64) -> Option<Moment> {
        while self.sent.pop_front_if(|(sent, _)| *sent < number).is_some() {}
        self.sent.front().filter(|(sent, _)| *sent == number).map(|(_, at)| *at)
    }

    /// For how long it must be up before it may take an office from a live holder: longer, if it comes and goes.
    pub(super) fn settles_in(&self, base: std::time::Duration, now: Moment) -> std::time::Duration {
        let is_calm = now.since(self.last_end) > FLAPPING;
        base * 2u32.pow(if is_calm { 0 } else { self.flaps.saturating_sub(1).min(MAX_DOUBLINGS) })
    }
}

impl Core {
    /// There is a connection to a peer.
    pub(super) fn connected(&mut self, id: Id, incarnation: u64) {
        let (timing, now) = (self.setup.timing, self.now);
        let peer = self.peers.entry(id).or_insert_with(|| Peer::new(&timing, now));
        if peer.incarnation != incarnation {
            let (flaps, last_end) = (peer.flaps, peer.last_end);
            *peer = Peer { incarnation, flaps, last_end, ..Peer::new(&timing, now) };
        }
        peer.connected = true;
        peer.pulse = Pulse::new(&timing, now);
        peer.heard_directly = now;
        self.race_lost(id);
        self.view_is_stale = true;
        self.revive(id);
        let candidacy = self.candidacy.clone();
        self.send(id, Message::Candidacy(candidacy));
        if self.leads() {
            let view = self.view.clone();
            self.send(id, Message::View(view));
            self.heartbeat(id);
        } else {
            self.claims_told = None;
            self.heartbeat(id);
        }
        self.stand_when_there_are_enough();
    }

    /// The connection to a peer has ended.
    pub(super) fn disconnected(&mut self, id: Id) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.connected = false;
        }
        self.race_lost(id);
        self.ended(id, Cause::Disconnected);
    }

    /// A peer was heard.
    pub(super) fn heard(&mut self, id: Id, is_beat: bool) {
        let now = self.now;
        let is_direct = self.by_way_of.is_none();
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if is_direct {
            peer.heard_directly = now;
        }
        if is_beat {
            peer.pulse.heartbeat(now);
        } else {
            peer.pulse.word(now);
        }
        if !peer.up {
            self.revive(id);
        }
    }

    fn revive(&mut self, id: Id) {
        let now = self.now;
        if let Some(peer) = self.peers.get_mut(&id)
            && !peer.up
        {
            (peer.up, peer.since) = (true, now);
            peer.witnesses.clear();
            self.view_is_stale = true;
        }
    }

    /// This node has seen a peer end.
    pub(super) fn ended(&mut self, id: Id, why: Cause) {
        let now = self.now;
        let Some(peer) = self.peers.get_mut(&id).filter(|peer| peer.up) else { return };
        (peer.up, peer.since, peer.why) = (false, now, why);
        peer.flaps = if now.since(peer.last_end) > FLAPPING { 1 } else { peer.flaps.saturating_add(1) };
        peer.last_end = now;
        self.view_is_stale = true;
        let leader = self.arbiter_leader();
        if let Some(consensus) = &mut self.consensus {
            consensus.unreachable(id);
        }
        if leader == Some(id) {
            self.lost_arbiter_leader();
        } else if let Some(leader) = leader.filter(|&leader| leader != self.setup.own) {
            self.send(leader, Message::Ended(id));
        }
    }

    /// Suspects those who were silent for too long. Returns when to look again.
    pub(super) fn suspect(&mut self) -> Moment {
        let timing = self.setup.timing;
        let silent: Vec<Id> = self
            .peers
            .iter()
            .filter(|(id, peer)| peer.up && self.is_beating(**id) && peer.pulse.suspected_at(&timing) <= self.now)
            .map(|(id, _)| *id)
            .collect();
        silent.into_iter().for_each(|id| self.ended(id, Cause::Silent));
        let is_dead = |peer: &Peer| peer.connected && peer.heard_directly + peer.pulse.patience(&timing) <= self.now;
        let dead = self.peers.iter().filter(|(id, peer)| self.is_beating(**id) && is_dead(peer));
        let dead: Vec<Id> = dead.map(|(id, _)| *id).collect();
        dead.into_iter().for_each(|id| self.hang_up(id));
        let watched = self.peers.iter().filter(|(id, peer)| peer.up && self.is_beating(**id));
        watched.map(|(_, peer)| peer.pulse.suspected_at(&timing)).min().unwrap_or(Moment::NEVER)
    }

    /// Ends the connection to a peer that was silent for too long: what it says now may come by way of others, and a
    /// new connection is as good as the old one.
    fn hang_up(&mut self, id: Id) {
        if let Some(peer) = self.peers.get_mut(&id).filter(|peer| peer.connected) {
            peer.connected = false;
            self.race_lost(id);
            self.view_is_stale = true;
            self.out.push(super::Output::Drop(id));
        }
    }

    /// Whether this node and a peer hear of each other regularly: everybody and the arbiter's leader do; all do while
    /// there is none.
    fn is_beating(&self, id: Id) -> bool {
        match self.arbiter_leader() {
            Some(leader) => leader == id || leader == self.setup.own,
            None => true,
        }
    }

    /// This node was not running for a while, or whom it listens to has changed: silence is counted from now.
    pub(super) fn restart_silence(&mut self) {
        let now = self.now;
        for peer in self.peers.values_mut() {
            peer.pulse.word(now);
            peer.heard_directly = now;
        }
    }

    /// Sends a heartbeat to a peer: as the leader of the arbiter, with its round; else a plain one.
    pub(super) fn heartbeat(&mut self, id: Id) {
        let lead = self.lead_for(id);
        let now = self.now;
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let number = peer.next_number(now);
        // Before it is suspected, others are asked to pass a heartbeat on: perhaps only one link is cut.
        let is_quiet = peer.connected && now.since(peer.heard_directly) > self.setup.timing.heartbeat * 3 / 2;
        let heartbeat = Message::Heartbeat(Heartbeat { number, lead, follow: None });
        if is_quiet && lead.is_some() {
            self.send_by_way_of_others(id, &heartbeat);
        }
        self.send(id, heartbeat);
    }

    /// Sends to a peer: straight, or through another one where there is no connection.
    pub(super) fn send(&mut self, to: Id, message: Message) {
        if to == self.setup.own {
            return;
        }
        if self.peers.get(&to).is_some_and(|peer| peer.connected) {
            self.out.push(super::Output::Send(to, message));
        } else {
            self.send_by_way_of_others(to, &message);
        }
    }

    /// Sends through somebody who may have a connection to the receiver: whoever passed its last word on, or anybody.
    pub(super) fn send_by_way_of_others(&mut self, to: Id, message: &Message) {
        let could = |id: &Id| *id != to && self.peers.get(id).is_some_and(|peer| peer.connected && peer.up);
        let between = self.by_way_of.filter(could).or_else(|| self.peers.keys().copied().find(could));
        if let Some(between) = between {
            let relay = Message::Relay {
                from: self.setup.own,
                incarnation: self.setup.incarnation,
                to,
                bytes: message.encode(),
            };
            self.out.push(super::Output::Send(between, relay));
        }
    }

    /// Sends to everybody there is a connection to.
    pub(super) fn send_all(&mut self, message: &Message) {
        let connected: Vec<Id> = self.peers.iter().filter(|(_, peer)| peer.connected).map(|(id, _)| *id).collect();
        connected.into_iter().for_each(|id| self.send(id, message.clone()));
    }

    /// What a member is worth as a holder.
    pub(super) fn rank(&self, id: Id) -> MemberRank {
        let priority = self.table.member(id).map_or(0, |member| member.priority);
        MemberRank { priority, health: self.health_of(id), id }
    }

    fn health_of(&self, id: Id) -> u8 {
        if id == self.setup.own {
            return self.candidacy.health;
        }
        self.peers.get(&id).and_then(|peer| peer.candidacy.as_ref()).map_or(0, |candidacy| candidacy.health)
    }

    /// Whether a member stands for an office, as far as it is known.
    pub(super) fn stands_for(&self, id: Id, office: &str) -> bool {
        let candidacy = if id == self.setup.own {
            Some(&self.candidacy)
        } else {
            self.peers.get(&id).filter(|peer| peer.up).and_then(|peer| peer.candidacy.as_ref())
        };
        candidacy.is_some_and(|candidacy| candidacy.offices.binary_search_by(|name| name.as_str().cmp(office)).is_ok())
    }

    /// Which start of a member is known.
    pub(super) fn life_of(&self, id: Id) -> Option<u64> {
        if id == self.setup.own {
            return Some(self.setup.incarnation);
        }
        self.peers.get(&id).map(|peer| peer.incarnation).filter(|&incarnation| incarnation != 0)
    }

    /// Whether a member is up, as far as this node can tell.
    pub(super) fn is_up(&self, id: Id) -> bool {
        id == self.setup.own || self.peers.get(&id).is_some_and(|peer| peer.up)
    }
}
