//! Who is up: connections, incarnations, failure detection, and the view that elections use.
//!
//! Inputs are connections, messages and the time; outputs are `LivenessEvent`s. While the cluster has a coordinator,
//! only the coordinator and each of the others exchange heartbeats, and the coordinator announces the view, so that all
//! members elect among the same candidates. Otherwise every member exchanges heartbeats with all others and uses its
//! own view.

mod detector;
mod peer;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use hustings_protocol::Id;

pub(crate) use self::peer::Peer;
use super::normalise::Normalise;
use super::table::Table;
use crate::api::ChangeReason;
use crate::clock::Timestamp;
use crate::config::ConfigDigest;
use crate::member::{MemberRank, Role};
use crate::timing::Timing;
use crate::wire::Candidacy;

/// How often a peer gets this node's list of candidacies because it asks for it. An honest one asks less often.
const LIST_INTERVAL: Duration = Duration::from_millis(250);

/// Something that the other parts must know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LivenessEvent {
    /// A connection to a peer was established.
    Connected(Id),
    /// A connection to a peer ended or was replaced: messages to and from it may be lost.
    Interrupted(Id),
    /// This node observed that a peer came up.
    Up(Id),
    /// This node observed that a peer went down.
    Down(Id, ChangeReason),
    /// The connection to a peer has been silent for too long and must be closed.
    Drop(Id),
}

/// What the parts need to know about a member besides its liveness.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct MemberInfo {
    priority: u32,
    role: Role,
}

/// Which members are up, as far as this node can tell. Public for implementations of
/// [`Arbiter`](super::arbiter::Arbiter).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Liveness {
    own: Id,
    incarnation: u64,
    /// The health score that this node has announced.
    health: u8,
    members: BTreeMap<Id, MemberInfo>,
    peers: BTreeMap<Id, Peer>,
    /// The members that are up, ascending: as announced by the coordinator, or else by this node's own detector.
    view: Vec<Id>,
    view_is_stale: bool,
    /// The ranks of all members when the view was last determined.
    ranks: BTreeMap<Id, MemberRank>,
    /// The last view announced by a coordinator: the coordinator, its epoch, and the view.
    announced_view: Option<(Id, u64, Vec<Id>)>,
    /// When this node last introduced itself to a member through a relay.
    introductions: BTreeMap<Id, Timestamp>,
    events: VecDeque<LivenessEvent>,
}

impl Liveness {
    pub(super) fn new(own: Id, incarnation: u64, health: u8) -> Self {
        Liveness {
            own,
            incarnation,
            health,
            members: BTreeMap::new(),
            peers: BTreeMap::new(),
            view: vec![own],
            ranks: BTreeMap::new(),
            view_is_stale: true,
            announced_view: None,
            introductions: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<LivenessEvent> {
        self.events.pop_front()
    }

    /// The members of the cluster changed. Peers that are no longer members are forgotten. Returns those that are
    /// members only now, or in another role: what they said before was not heard, or not in full.
    pub(super) fn handle_members(&mut self, table: &Table) -> Vec<Id> {
        let info = |member: &crate::member::Member| MemberInfo { priority: member.priority, role: member.role };
        let former = std::mem::take(&mut self.members);
        self.members = table.members.iter().map(|(id, known)| (*id, info(&known.member))).collect();
        self.view_is_stale = true;
        let had_role = |id: &Id, role: Role| former.get(id).is_some_and(|former| former.role == role);
        let is_new = |(id, member): &(&Id, &MemberInfo)| self.peers.contains_key(id) && !had_role(id, member.role);
        self.members.iter().filter(is_new).map(|(id, _)| *id).collect()
    }

    /// Forgets a peer that was removed from the cluster.
    pub(super) fn forget(&mut self, id: Id) {
        self.peers.remove(&id);
        self.introductions.remove(&id);
        self.view_is_stale = true;
    }

    /// A connection to a peer was established.
    pub(super) fn handle_connected(&mut self, id: Id, incarnation: u64, timing: &Timing, now: Timestamp) {
        let peer = self.peers.entry(id).or_insert_with(|| Peer::new(timing, now));
        peer.handle_connected(incarnation, timing, now);
        self.events.push_back(LivenessEvent::Interrupted(id));
        self.view_is_stale = true;
        self.mark_up(id, now);
        self.events.push_back(LivenessEvent::Connected(id));
    }

    /// An incarnation of a peer connects. Returns whether it has been followed by another one: then nothing that comes
    /// over this connection counts.
    pub(super) fn handle_returned(&mut self, id: Id, incarnation: u64) -> bool {
        self.peers.get_mut(&id).is_some_and(|peer| peer.handle_returned(incarnation))
    }

    /// Whether the connection to a peer is that of an incarnation that has been followed by another one.
    pub(super) fn has_returned(&self, id: Id) -> bool {
        self.peers.get(&id).is_some_and(Peer::has_returned)
    }

    /// A peer has introduced itself directly, and its disk is trusted.
    pub(super) fn handle_trusted(&mut self, id: Id) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.handle_trusted();
        }
    }

    /// The connection to a peer has ended.
    pub(super) fn handle_disconnected(&mut self, id: Id, now: Timestamp) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.handle_disconnected();
        }
        self.events.push_back(LivenessEvent::Interrupted(id));
        self.mark_down(id, ChangeReason::Disconnected, now);
    }

    /// A message from a peer arrived, directly or through a relay.
    pub(super) fn record_contact(&mut self, id: Id, is_heartbeat: bool, is_direct: bool, now: Timestamp) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.record_contact(is_heartbeat, is_direct, now);
        if !peer.up {
            self.mark_up(id, now);
        }
    }

    /// Whether a member may have been restarted in this incarnation, which this node has no connection to.
    pub(super) fn may_have_restarted(&self, id: Id, incarnation: u64) -> bool {
        match self.peers.get(&id) {
            Some(peer) => peer.may_have_restarted(incarnation),
            None => id != self.own && self.members.contains_key(&id),
        }
    }

    /// A member that was restarted introduced itself through a relay.
    pub(super) fn handle_relayed_start(&mut self, id: Id, incarnation: u64, timing: &Timing, now: Timestamp) {
        let peer = self.peers.entry(id).or_insert_with(|| Peer::new(timing, now));
        peer.set_incarnation(incarnation, timing, now);
        self.view_is_stale = true;
        self.events.push_back(LivenessEvent::Interrupted(id));
    }

    /// Whether a message that was relayed counts: from the incarnation that this node knows, and with a number that is
    /// greater than the last one of its kind.
    pub(super) fn accepts_relayed(&mut self, id: Id, incarnation: u64, is_bulk: bool, number: u64) -> bool {
        let known = self.peers.get_mut(&id).filter(|peer| peer.incarnation == incarnation);
        known.is_some_and(|peer| peer.accepts_relayed(is_bulk, number))
    }

    /// Whether this node may introduce itself to a member again.
    pub(super) fn may_introduce_to(&mut self, id: Id, interval: Duration, now: Timestamp) -> bool {
        let last = self.introductions.entry(id).or_insert(Timestamp::ZERO);
        let may = *last == Timestamp::ZERO || *last + interval <= now;
        if may {
            *last = now;
        }
        may
    }

    /// Whether a peer that asks for this node's list gets it again.
    pub(super) fn may_send_list(&mut self, id: Id, now: Timestamp) -> bool {
        let Some(peer) = self.peers.get_mut(&id) else { return false };
        let may = peer.list_sent_at == Timestamp::ZERO || now.since(peer.list_sent_at) >= LIST_INTERVAL;
        if may {
            peer.list_sent_at = now;
        }
        may
    }

    /// A peer announced its disk, its health and the digest of its configuration. Returns the digest that it announced
    /// before, if that was another one.
    pub(super) fn handle_announcement(&mut self, id: Id, candidacy: &Candidacy) -> Option<Option<ConfigDigest>> {
        let Candidacy { store_id, health, disk_fails, digest, reads, .. } = *candidacy;
        let peer = self.peers.get_mut(&id)?;
        (peer.disk_fails, peer.reads) = (disk_fails, reads);
        if (peer.store_id, peer.health) != (Some(store_id), health.min(100)) {
            (peer.store_id, peer.health) = (Some(store_id), health.min(100));
            self.view_is_stale = true;
        }
        let former = peer.digest.replace(digest);
        (former != Some(digest)).then_some(former)
    }

    /// The coordinator announced a view.
    pub(super) fn handle_view(&mut self, from: Id, epoch: u64, view: Vec<Id>) {
        let announced = Some((from, epoch, view));
        self.view_is_stale |= self.announced_view != announced;
        self.announced_view = announced;
    }

    /// A member reported that its connection to a peer has ended.
    pub(super) fn handle_down_report(&mut self, from: Id, id: Id, now: Timestamp) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.down_reports.insert(from, now);
        }
    }

    /// A peer says that it stops, and no longer acts as a holder.
    pub(super) fn handle_leave(&mut self, id: Id, now: Timestamp) {
        self.mark_down(id, ChangeReason::Left, now);
    }

    /// This node announces another health score.
    pub(super) fn set_health(&mut self, health: u8) {
        self.health = health;
        self.view_is_stale = true;
    }

    /// The coordinator changed: this node now exchanges heartbeats with other peers.
    pub(super) fn handle_coordinator_change(&mut self, now: Timestamp) {
        self.restart_detectors(now);
        self.view_is_stale = true;
    }

    /// This process was paused for so long. It does not hold the silence of that time against its peers, but silence
    /// before it counts: else a host that pauses often would never notice anything.
    pub(super) fn excuse_silence(&mut self, time: Duration, now: Timestamp) {
        self.peers.values_mut().for_each(|peer| peer.excuse_silence(time, now));
    }

    /// Restarts the silence of all peers now, because this node now exchanges heartbeats with other peers.
    fn restart_detectors(&mut self, now: Timestamp) {
        self.peers.values_mut().for_each(|peer| peer.restart_silence(now));
    }

    /// Marks peers down that have been silent for too long, and drops silent connections. What peers sent until
    /// `listened_until` was handled.
    pub(super) fn handle_timeout(
        &mut self,
        coordinator: Option<Id>,
        timing: &Timing,
        listened_until: Timestamp,
        now: Timestamp,
    ) {
        let own = self.own;
        let watched = |id: &Id| exchanges_heartbeats(own, *id, coordinator);
        let is_silent = |peer: &Peer| peer.up && peer.detector.suspect_at(timing) <= listened_until;
        let silent: Vec<Id> =
            self.peers.iter().filter(|(id, peer)| watched(id) && is_silent(peer)).map(|(id, _)| *id).collect();
        silent.into_iter().for_each(|id| self.mark_down(id, ChangeReason::Silent, now));
        for (id, peer) in self.peers.iter_mut().filter(|(id, _)| watched(id)) {
            if peer.connected && peer.last_direct_contact + peer.patience(timing) <= listened_until {
                // Its messages may still arrive through relays, and a new connection may work where the old one does
                // not.
                peer.connected = false;
                self.view_is_stale = true;
                self.events.extend([LivenessEvent::Interrupted(*id), LivenessEvent::Drop(*id)]);
            }
        }
    }

    /// When the next peer becomes suspected.
    pub(super) fn poll_timeout(&self, coordinator: Option<Id>, timing: &Timing) -> Timestamp {
        let watched =
            self.peers.iter().filter(|(id, peer)| peer.up && exchanges_heartbeats(self.own, **id, coordinator));
        watched.map(|(_, peer)| peer.detector.suspect_at(timing)).min().unwrap_or(Timestamp::NEVER)
    }

    /// Determines the view again if something that it depends on changed. Returns whether ranks or the view may differ.
    pub(super) fn refresh_view(&mut self, coordinator: Option<Id>, epoch: u64) -> Option<BTreeSet<Id>> {
        if !std::mem::take(&mut self.view_is_stale) {
            return None;
        }
        let own = self.own;
        let announced = self.announced_view.as_ref().filter(|(from, view_epoch, view)| {
            coordinator != Some(own) && coordinator == Some(*from) && *view_epoch == epoch && view.contains(&own)
        });
        let view: Vec<Id> = match announced {
            Some((.., view)) => view.iter().copied().filter(|id| self.members.contains_key(id)).collect(),
            None => self.members.keys().copied().filter(|id| self.is_up(*id)).collect(),
        };
        let former = std::mem::replace(&mut self.view, view);
        let ranks: BTreeMap<Id, MemberRank> = self.members.keys().map(|id| (*id, self.rank(*id))).collect();
        let former_ranks = std::mem::replace(&mut self.ranks, ranks);
        let is_same = |id: &Id| {
            self.is_in_view(*id) == former.binary_search(id).is_ok() && self.ranks.get(id) == former_ranks.get(id)
        };
        // Whether a holder counts as lost also depends on how many others are up.
        let has_changed = |id: &Id| !is_same(id) || !self.is_up(*id);
        Some(self.members.keys().chain(former_ranks.keys()).copied().filter(has_changed).collect())
    }

    fn mark_up(&mut self, id: Id, now: Timestamp) {
        if let Some(peer) = self.peers.get_mut(&id)
            && !peer.up
        {
            peer.mark_up(now);
            self.view_is_stale = true;
            self.events.push_back(LivenessEvent::Up(id));
        }
    }

    fn mark_down(&mut self, id: Id, cause: ChangeReason, now: Timestamp) {
        let Some(peer) = self.peers.get_mut(&id).filter(|peer| peer.up) else { return };
        peer.mark_down(cause, now);
        self.view_is_stale = true;
        self.events.push_back(LivenessEvent::Down(id, cause));
    }
}

/// What this node knows.
impl Liveness {
    /// This node's id.
    pub(crate) fn own(&self) -> Id {
        self.own
    }

    /// The members that are up, ascending.
    pub(crate) fn view(&self) -> &[Id] {
        &self.view
    }

    /// Whether a member is part of the view.
    pub(crate) fn is_in_view(&self, id: Id) -> bool {
        self.view.binary_search(&id).is_ok()
    }

    /// Whether a member is up, as far as this node can tell.
    pub(crate) fn is_up(&self, id: Id) -> bool {
        id == self.own || self.peers.get(&id).is_some_and(|peer| peer.up)
    }

    /// A member's current incarnation, if it is known.
    pub(crate) fn incarnation_of(&self, id: Id) -> Option<u64> {
        if id == self.own {
            return Some(self.incarnation);
        }
        self.peers.get(&id).map(|peer| peer.incarnation).filter(|&incarnation| incarnation != 0)
    }

    /// All members, ascending.
    pub(crate) fn members(&self) -> impl Iterator<Item = Id> {
        self.members.keys().copied()
    }

    pub(super) fn is_known(&self, id: Id) -> bool {
        self.peers.contains_key(&id)
    }

    pub(super) fn is_connected(&self, id: Id) -> bool {
        self.peers.get(&id).is_some_and(|peer| peer.connected)
    }

    pub(super) fn is_witness(&self, id: Id) -> bool {
        self.members.get(&id).is_some_and(|member| member.role == Role::Witness)
    }

    pub(super) fn peer(&self, id: Id) -> Option<&Peer> {
        self.peers.get(&id)
    }

    pub(super) fn peers(&self) -> impl Iterator<Item = (Id, &Peer)> {
        self.peers.iter().map(|(id, peer)| (*id, peer))
    }

    pub(super) fn connected(&self) -> impl Iterator<Item = Id> {
        self.peers.iter().filter(|(_, peer)| peer.connected).map(|(id, _)| *id)
    }

    /// Peers that are connected, or up: others relay messages to them.
    pub(super) fn reachable(&self) -> impl Iterator<Item = Id> {
        self.peers.iter().filter(|(_, peer)| peer.connected || peer.up).map(|(id, _)| *id)
    }

    /// Peers whose connection to this node ended, and that are down for that reason.
    pub(super) fn disconnected(&self) -> impl Iterator<Item = Id> {
        let is_lost = |peer: &Peer| !peer.up && peer.down_cause == ChangeReason::Disconnected;
        self.peers.iter().filter(move |(_, peer)| is_lost(peer)).map(|(id, _)| *id)
    }

    pub(super) fn health_of(&self, id: Id) -> u8 {
        if id == self.own { self.health } else { self.peers.get(&id).map_or(0, |peer| peer.health) }
    }

    /// Whether a peer has announced that its disk does not take writes.
    pub(super) fn has_failing_disk(&self, id: Id) -> bool {
        self.peers.get(&id).is_some_and(|peer| peer.disk_fails)
    }

    /// A member's rank in elections.
    pub(super) fn rank(&self, id: Id) -> MemberRank {
        let priority = self.members.get(&id).map_or(0, |member| member.priority);
        MemberRank { priority, health: self.health_of(id), id }
    }

    /// A connected voter that can relay a message to `to`.
    pub(super) fn relay_to(&self, to: Id, preferred: Option<Id>) -> Option<Id> {
        let votes = |id: &Id| self.members.get(id).is_some_and(|member| member.role.votes());
        let is_there = |id: &Id| self.peers.get(id).is_some_and(|peer| peer.connected && peer.up);
        let can_relay = |id: &Id| *id != to && votes(id) && is_there(id);
        let proven = || self.peers.get(&to).and_then(|peer| peer.relay).filter(can_relay);
        preferred.filter(can_relay).or_else(proven).or_else(|| self.peers.keys().copied().find(can_relay))
    }

    /// A message of a peer came through a relay.
    pub(super) fn record_relay(&mut self, id: Id, relay: Id) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.relay = Some(relay);
        }
    }

    /// Whether a direct connection has been silent for so long that a heartbeat should also be sent through a relay.
    pub(super) fn is_link_quiet(&self, id: Id, heartbeat: Duration, now: Timestamp) -> bool {
        self.peers
            .get(&id)
            .is_some_and(|peer| peer.connected && now.since(peer.last_direct_contact) > heartbeat * 3 / 2)
    }
}

impl Normalise for Liveness {
    fn normalise(&mut self, now: Timestamp) {
        let Liveness {
            peers,
            introductions,
            own: _,
            incarnation: _,
            health: _,
            members: _,
            view: _,
            view_is_stale: _,
            ranks: _,
            announced_view: _,
            events: _,
        } = self;
        peers.normalise(now);
        introductions.normalise(now);
    }
}

/// Whether two members exchange heartbeats. While there is a coordinator, only the coordinator and each of the others
/// do.
fn exchanges_heartbeats(own: Id, other: Id, coordinator: Option<Id>) -> bool {
    coordinator.is_none_or(|coordinator| coordinator == other || coordinator == own)
}

#[cfg(test)]
mod tests;
