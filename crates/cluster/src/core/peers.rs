//! What a node knows about its peers: connections, liveness, incarnations.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::Id;

use super::Core;
use super::detector::FailureDetector;
use crate::api::ChangeReason;
use crate::clock::Timestamp;
use crate::member::MemberRank;
use crate::timing::Timing;
use crate::wire::{Candidacy, Heartbeat, Message};

/// How many sent heartbeats are remembered until they are confirmed.
const MAX_UNCONFIRMED: usize = 256;
/// A peer that goes down twice within this time is flapping.
const FLAP_WINDOW: std::time::Duration = std::time::Duration::from_secs(600);
/// How often the settle time of a flapping peer is doubled at most.
const MAX_DOUBLINGS: u32 = 6;

/// What a node knows about one peer.
#[derive(Debug)]
pub(super) struct Peer {
    /// Whether there is a direct connection.
    pub(super) connected: bool,
    /// Identifies the peer's process.
    pub(super) incarnation: u64,
    /// Whether the peer is up, as far as this node can tell.
    pub(super) up: bool,
    /// When it last went up or down.
    pub(super) since: Timestamp,
    /// Why it went down, if it is down.
    pub(super) down_cause: ChangeReason,
    pub(super) detector: FailureDetector,
    /// When it was last heard from directly, not through a relay.
    pub(super) last_direct_contact: Timestamp,
    /// The last candidacy that it announced.
    pub(super) candidacy: Option<Candidacy>,
    /// Heartbeats sent to it that are not confirmed yet: number and time.
    pub(super) sent_heartbeats: VecDeque<(u64, Timestamp)>,
    pub(super) last_number: u64,
    /// Members that reported it down, and when.
    pub(super) down_reports: BTreeMap<Id, Timestamp>,
    /// How often it went down recently, and when it last did.
    flaps: u32,
    last_down: Timestamp,
}

impl Peer {
    pub(super) fn new(timing: &Timing, now: Timestamp) -> Self {
        Peer {
            connected: false,
            incarnation: 0,
            up: false,
            since: now,
            down_cause: ChangeReason::Silent,
            detector: FailureDetector::new(timing, now),
            last_direct_contact: now,
            candidacy: None,
            sent_heartbeats: VecDeque::new(),
            last_number: 0,
            down_reports: BTreeMap::new(),
            flaps: 0,
            last_down: Timestamp::ZERO,
        }
    }

    /// Numbers the heartbeat that is sent now.
    pub(super) fn next_number(&mut self, now: Timestamp) -> u64 {
        self.last_number += 1;
        if self.sent_heartbeats.len() >= MAX_UNCONFIRMED {
            self.sent_heartbeats.pop_front();
        }
        self.sent_heartbeats.push_back((self.last_number, now));
        self.last_number
    }

    /// When the heartbeat with this number was sent. Forgets earlier ones.
    pub(super) fn sent_at(&mut self, number: u64) -> Option<Timestamp> {
        while self.sent_heartbeats.pop_front_if(|(sent, _)| *sent < number).is_some() {}
        self.sent_heartbeats.front().filter(|(sent, _)| *sent == number).map(|(_, at)| *at)
    }

    /// How long this peer must be up before it may take an office from a live holder. The time grows if the peer is
    /// flapping.
    pub(super) fn settle_time(&self, base: std::time::Duration, now: Timestamp) -> std::time::Duration {
        let is_stable = now.since(self.last_down) > FLAP_WINDOW;
        base * 2u32.pow(if is_stable { 0 } else { self.flaps.saturating_sub(1).min(MAX_DOUBLINGS) })
    }
}

impl Core {
    /// A connection to a peer was established.
    pub(super) fn peer_connected(&mut self, id: Id, incarnation: u64) {
        let (timing, now) = (self.settings.timing, self.now);
        let peer = self.peers.entry(id).or_insert_with(|| Peer::new(&timing, now));
        if peer.incarnation != incarnation {
            let (flaps, last_down) = (peer.flaps, peer.last_down);
            *peer = Peer { incarnation, flaps, last_down, ..Peer::new(&timing, now) };
        }
        peer.connected = true;
        peer.detector = FailureDetector::new(&timing, now);
        peer.last_direct_contact = now;
        self.interrupt_elections(id);
        self.view_is_stale = true;
        self.mark_up(id);
        let candidacy = self.candidacy.clone();
        self.send(id, Message::Candidacy(candidacy));
        if self.is_arbiter_leader() {
            let view = self.view.clone();
            self.send(id, Message::View(view));
            self.send_heartbeat(id);
        } else {
            self.sent_claims = None;
            self.send_heartbeat(id);
        }
        self.campaign_if_quorum_is_up();
    }

    /// The connection to a peer has ended.
    pub(super) fn peer_disconnected(&mut self, id: Id) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.connected = false;
        }
        self.interrupt_elections(id);
        self.mark_down(id, ChangeReason::Disconnected);
    }

    /// A message from a peer arrived, directly or through a relay.
    pub(super) fn record_contact(&mut self, id: Id, is_heartbeat: bool) {
        let now = self.now;
        let is_direct = self.relayed_by.is_none();
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if is_direct {
            peer.last_direct_contact = now;
        }
        if is_heartbeat {
            peer.detector.record_heartbeat(now);
        } else {
            peer.detector.record_contact(now);
        }
        if !peer.up {
            self.mark_up(id);
        }
    }

    fn mark_up(&mut self, id: Id) {
        let now = self.now;
        if let Some(peer) = self.peers.get_mut(&id)
            && !peer.up
        {
            (peer.up, peer.since) = (true, now);
            peer.down_reports.clear();
            self.view_is_stale = true;
        }
    }

    /// This node observed that a peer went down.
    pub(super) fn mark_down(&mut self, id: Id, cause: ChangeReason) {
        let now = self.now;
        let Some(peer) = self.peers.get_mut(&id).filter(|peer| peer.up) else { return };
        (peer.up, peer.since, peer.down_cause) = (false, now, cause);
        peer.flaps = if now.since(peer.last_down) > FLAP_WINDOW { 1 } else { peer.flaps.saturating_add(1) };
        peer.last_down = now;
        self.view_is_stale = true;
        let leader = self.arbiter_leader();
        if let Some(consensus) = &mut self.consensus {
            consensus.report_unreachable(id);
        }
        if leader == Some(id) {
            self.handle_leader_lost();
        } else if let Some(leader) = leader.filter(|&leader| leader != self.settings.own) {
            self.send(leader, Message::PeerDown(id));
        }
    }

    /// Marks peers down that have been silent for too long. Returns when the next one is due.
    pub(super) fn detect_failures(&mut self) -> Timestamp {
        let timing = self.settings.timing;
        let silent_peers: Vec<Id> = self
            .peers
            .iter()
            .filter(|(id, peer)| {
                peer.up && self.exchanges_heartbeats_with(**id) && peer.detector.suspect_at(&timing) <= self.now
            })
            .map(|(id, _)| *id)
            .collect();
        silent_peers.into_iter().for_each(|id| self.mark_down(id, ChangeReason::Silent));
        let is_silent =
            |peer: &Peer| peer.connected && peer.last_direct_contact + peer.detector.timeout(&timing) <= self.now;
        let silent_links =
            self.peers.iter().filter(|(id, peer)| self.exchanges_heartbeats_with(**id) && is_silent(peer));
        let silent_links: Vec<Id> = silent_links.map(|(id, _)| *id).collect();
        silent_links.into_iter().for_each(|id| self.drop_connection(id));
        let watched = self.peers.iter().filter(|(id, peer)| peer.up && self.exchanges_heartbeats_with(**id));
        watched.map(|(_, peer)| peer.detector.suspect_at(&timing)).min().unwrap_or(Timestamp::NEVER)
    }

    /// Closes the connection to a peer that has been silent for too long. Its messages may still arrive through relays,
    /// and a new connection may work where the old one does not.
    fn drop_connection(&mut self, id: Id) {
        if let Some(peer) = self.peers.get_mut(&id).filter(|peer| peer.connected) {
            peer.connected = false;
            self.interrupt_elections(id);
            self.view_is_stale = true;
            self.outputs.push(super::Output::Disconnect(id));
        }
    }

    /// Whether this node and a peer exchange heartbeats. While there is a leader, only the leader and each of the
    /// others do; otherwise all members do.
    fn exchanges_heartbeats_with(&self, id: Id) -> bool {
        match self.arbiter_leader() {
            Some(leader) => leader == id || leader == self.settings.own,
            None => true,
        }
    }

    /// Restarts the silence of all peers now: this process was paused, or it now exchanges heartbeats with other peers.
    pub(super) fn restart_detectors(&mut self) {
        let now = self.now;
        for peer in self.peers.values_mut() {
            peer.detector.record_contact(now);
            peer.last_direct_contact = now;
        }
    }

    /// Sends a heartbeat to a peer. The arbiter's leader adds its lease round.
    pub(super) fn send_heartbeat(&mut self, id: Id) {
        let leader = self.leader_heartbeat_for(id);
        let now = self.now;
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let number = peer.next_number(now);
        // Before a peer becomes suspected, the heartbeat is also sent through a relay: perhaps only one link is cut.
        let is_link_quiet =
            peer.connected && now.since(peer.last_direct_contact) > self.settings.timing.heartbeat * 3 / 2;
        let heartbeat = Message::Heartbeat(Heartbeat { number, leader, follower: None });
        if is_link_quiet && leader.is_some() {
            self.send_relayed(id, &heartbeat);
        }
        self.send(id, heartbeat);
    }

    /// Sends a message to a peer: directly, or through a relay if there is no connection.
    pub(super) fn send(&mut self, to: Id, message: Message) {
        if to == self.settings.own {
            return;
        }
        if self.peers.get(&to).is_some_and(|peer| peer.connected) {
            self.outputs.push(super::Output::Send(to, message));
        } else {
            self.send_relayed(to, &message);
        }
    }

    /// Sends a message through a relay: the peer that relayed the message being handled, or any peer that is connected.
    pub(super) fn send_relayed(&mut self, to: Id, message: &Message) {
        let can_relay = |id: &Id| *id != to && self.peers.get(id).is_some_and(|peer| peer.connected && peer.up);
        let relay = self.relayed_by.filter(can_relay).or_else(|| self.peers.keys().copied().find(can_relay));
        if let Some(relay) = relay {
            let message = Message::Relay {
                from: self.settings.own,
                incarnation: self.settings.incarnation,
                to,
                bytes: message.encode(),
            };
            self.outputs.push(super::Output::Send(relay, message));
        }
    }

    /// Sends a message to all connected peers.
    pub(super) fn broadcast(&mut self, message: &Message) {
        let connected: Vec<Id> = self.peers.iter().filter(|(_, peer)| peer.connected).map(|(id, _)| *id).collect();
        connected.into_iter().for_each(|id| self.send(id, message.clone()));
    }

    /// A member's rank in elections.
    pub(super) fn rank(&self, id: Id) -> MemberRank {
        let priority = self.table.member(id).map_or(0, |member| member.priority);
        MemberRank { priority, health: self.health_of(id), id }
    }

    fn health_of(&self, id: Id) -> u8 {
        if id == self.settings.own {
            return self.candidacy.health;
        }
        self.peers.get(&id).and_then(|peer| peer.candidacy.as_ref()).map_or(0, |candidacy| candidacy.health)
    }

    /// Whether a member is a candidate for an office, as far as this node knows.
    pub(super) fn is_candidate_for(&self, id: Id, office: &str) -> bool {
        let candidacy = if id == self.settings.own {
            Some(&self.candidacy)
        } else {
            self.peers.get(&id).filter(|peer| peer.up).and_then(|peer| peer.candidacy.as_ref())
        };
        candidacy.is_some_and(|candidacy| candidacy.offices.binary_search_by(|name| name.as_str().cmp(office)).is_ok())
    }

    /// A member's current incarnation, if it is known.
    pub(super) fn incarnation_of(&self, id: Id) -> Option<u64> {
        if id == self.settings.own {
            return Some(self.settings.incarnation);
        }
        self.peers.get(&id).map(|peer| peer.incarnation).filter(|&incarnation| incarnation != 0)
    }

    /// Whether a member is up, as far as this node can tell.
    pub(super) fn is_up(&self, id: Id) -> bool {
        id == self.settings.own || self.peers.get(&id).is_some_and(|peer| peer.up)
    }
}
