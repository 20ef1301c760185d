//! What a node knows about one peer.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hustings_protocol::Id;

use super::detector::FailureDetector;
use crate::api::ChangeReason;
use crate::clock::Timestamp;
use crate::config::ConfigDigest;
use crate::core::normalise::Normalise;
use crate::timing::Timing;

/// A peer that goes down twice within this time is flapping.
const FLAP_WINDOW: Duration = Duration::from_secs(600);
/// How often the settle time of a flapping peer is doubled at most.
const MAX_DOUBLINGS: u32 = 6;
/// How many former incarnations of a peer are remembered.
const MAX_FORMER: usize = 16;

/// What a node knows about one peer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Peer {
    /// Whether there is a direct connection.
    pub(super) connected: bool,
    /// Identifies the peer's process.
    pub(crate) incarnation: u64,
    /// The incarnations before it. They are no longer running.
    former: VecDeque<u64>,
    /// The incarnations that introduced themselves on a connection and have a trusted disk, in the order in which they
    /// first did. If another one than the last connects again, then two processes run as this member.
    trusted: VecDeque<u64>,
    /// Whether the present connection is that of an incarnation that returned. Nothing that comes over it is from the
    /// process that this node knows.
    has_returned: bool,
    /// Whether the peer is up, as far as this node can tell.
    pub(super) up: bool,
    /// When it last went up or down.
    pub(crate) since: Timestamp,
    /// Why it went down, if it is down.
    pub(crate) down_cause: ChangeReason,
    pub(super) detector: FailureDetector,
    /// When it was last heard from directly, not through a relay.
    pub(super) last_direct_contact: Timestamp,
    /// The peer that last relayed a message of it, and thus reaches it.
    pub(super) relay: Option<Id>,
    /// The greatest numbers of messages that came from this process through relays: of those that stay in order, and of
    /// those that others may overtake.
    relayed: [u64; 2],
    /// The disk that it announced; `None` before it has.
    pub(crate) store_id: Option<u64>,
    /// The version of the formats up to which its program reads, as it announced; 0 before it has.
    pub(crate) reads: u8,
    /// The health score that it announced.
    pub(super) health: u8,
    /// Whether it announced that its disk does not take writes.
    pub(super) disk_fails: bool,
    /// The configuration that it announced.
    pub(crate) digest: Option<ConfigDigest>,
    /// Members that reported it down, and when.
    pub(super) down_reports: BTreeMap<Id, Timestamp>,
    /// When it last got this node's list of candidacies because it asked for it.
    pub(super) list_sent_at: Timestamp,
    /// How often it went down recently, and when it last did.
    flaps: u32,
    last_down: Timestamp,
}

impl Peer {
    pub(super) fn new(timing: &Timing, now: Timestamp) -> Self {
        Peer {
            connected: false,
            incarnation: 0,
            former: VecDeque::new(),
            trusted: VecDeque::new(),
            has_returned: false,
            up: false,
            since: now,
            down_cause: ChangeReason::Silent,
            detector: FailureDetector::new(timing, now),
            last_direct_contact: now,
            relay: None,
            relayed: [0; 2],
            store_id: None,
            reads: 0,
            health: 0,
            disk_fails: false,
            digest: None,
            down_reports: BTreeMap::new(),
            list_sent_at: Timestamp::ZERO,
            flaps: 0,
            last_down: Timestamp::ZERO,
        }
    }

    /// Its process is another one than before.
    pub(super) fn set_incarnation(&mut self, incarnation: u64, timing: &Timing, now: Timestamp) {
        if self.incarnation != incarnation {
            let (mut former, flaps, last_down) = (std::mem::take(&mut self.former), self.flaps, self.last_down);
            let (trusted, has_returned) = (std::mem::take(&mut self.trusted), self.has_returned);
            former.extend(Some(self.incarnation).filter(|known| *known != 0));
            if former.len() > MAX_FORMER {
                former.pop_front();
            }
            *self = Peer { incarnation, former, trusted, has_returned, flaps, last_down, ..Peer::new(timing, now) };
        }
    }

    pub(super) fn handle_connected(&mut self, incarnation: u64, timing: &Timing, now: Timestamp) {
        self.set_incarnation(incarnation, timing, now);
        (self.connected, self.has_returned) = (true, false);
        // How regularly its heartbeats arrive is a matter of the hosts, not of the connection.
        self.restart_silence(now);
    }

    /// How long a connection may be silent before it is given up. If the peer is heard through others, the connection
    /// does not work. If it is not heard at all, its process or its host is late, or has ended: then a new connection
    /// would not help, and would cost both of them everything that they tell each other at the beginning of one.
    pub(super) fn patience(&self, timing: &Timing) -> Duration {
        let is_heard_through_others = self.detector.last_contact() > self.last_direct_contact;
        if is_heard_through_others { self.detector.timeout(timing) } else { timing.silence_ceiling }
    }

    /// An incarnation connects. Returns whether it has been followed by another one.
    pub(super) fn handle_returned(&mut self, incarnation: u64) -> bool {
        self.has_returned = self.trusted.contains(&incarnation) && self.trusted.back() != Some(&incarnation);
        self.has_returned
    }

    /// Whether what comes over the present connection is from an incarnation that has been followed by another one.
    pub(super) fn has_returned(&self) -> bool {
        self.has_returned
    }

    pub(super) fn handle_disconnected(&mut self) {
        (self.connected, self.has_returned) = (false, false);
    }

    /// The present incarnation has introduced itself on its connection, and its disk is trusted.
    pub(super) fn handle_trusted(&mut self) {
        if self.connected && !self.trusted.contains(&self.incarnation) {
            self.trusted.push_back(self.incarnation);
            if self.trusted.len() > MAX_FORMER {
                self.trusted.pop_front();
            }
        }
    }

    /// Whether the peer may have been restarted in this incarnation, as a relay says. A connection would know better,
    /// and so does who still hears the present incarnation.
    pub(super) fn may_have_restarted(&self, incarnation: u64) -> bool {
        let is_former = self.former.contains(&incarnation);
        !self.connected && !self.up && incarnation != self.incarnation && incarnation != 0 && !is_former
    }

    /// Whether a relayed message is later than all of its kind before it.
    pub(super) fn accepts_relayed(&mut self, is_bulk: bool, number: u64) -> bool {
        let last = &mut self.relayed[usize::from(is_bulk)];
        let is_later = number > *last;
        *last = number.max(*last);
        is_later
    }

    pub(super) fn record_contact(&mut self, is_heartbeat: bool, is_direct: bool, now: Timestamp) {
        if is_direct {
            self.last_direct_contact = now;
        }
        // The silence of a peer that was suspected was a fault, and says nothing about the intervals of heartbeats.
        if is_heartbeat && self.up {
            self.detector.record_heartbeat(now);
        } else {
            self.detector.record_contact(now);
        }
    }

    pub(super) fn restart_silence(&mut self, now: Timestamp) {
        self.detector.record_contact(now);
        self.last_direct_contact = now;
    }

    /// This node could not listen for so long: its peer's silence of that time does not count.
    pub(super) fn excuse_silence(&mut self, time: Duration, now: Timestamp) {
        self.detector.excuse_silence(time, now);
        self.last_direct_contact = (self.last_direct_contact + time).min(now);
    }

    pub(super) fn mark_up(&mut self, now: Timestamp) {
        (self.up, self.since) = (true, now);
        self.down_reports.clear();
    }

    pub(super) fn mark_down(&mut self, cause: ChangeReason, now: Timestamp) {
        (self.up, self.since, self.down_cause) = (false, now, cause);
        self.flaps = if now.since(self.last_down) > FLAP_WINDOW { 1 } else { self.flaps.saturating_add(1) };
        self.last_down = now;
    }

    /// How many of these members reported this failure. Reports that are older than it by more than `tolerance` are
    /// about an earlier one.
    pub(crate) fn recent_down_reports(&self, tolerance: Duration, reporters: &[Id]) -> usize {
        let is_recent = |(id, at): &(&Id, &Timestamp)| reporters.contains(id) && **at + tolerance >= self.since;
        self.down_reports.iter().filter(is_recent).count()
    }

    /// Whether this incarnation of the peer has said that it left.
    pub(crate) fn has_left(&self, incarnation: u64) -> bool {
        !self.up && self.down_cause == ChangeReason::Left && self.incarnation == incarnation
    }

    /// How long this peer must be up before it may take an office from a live holder. The time grows if the peer is
    /// flapping.
    pub(crate) fn settle_time(&self, base: Duration, now: Timestamp) -> Duration {
        let is_stable = now.since(self.last_down) > FLAP_WINDOW;
        let doublings = if is_stable { 0 } else { self.flaps.saturating_sub(1).min(MAX_DOUBLINGS) };
        base.saturating_mul(2u32.pow(doublings))
    }
}

impl Normalise for Peer {
    fn normalise(&mut self, now: Timestamp) {
        let Peer {
            since,
            detector,
            last_direct_contact,
            down_reports,
            last_down,
            list_sent_at,
            connected: _,
            incarnation: _,
            former: _,
            trusted: _,
            has_returned: _,
            up: _,
            down_cause: _,
            relay: _,
            relayed: _,
            store_id: _,
            reads: _,
            health: _,
            disk_fails: _,
            digest: _,
            flaps: _,
        } = self;
        [since, last_direct_contact, last_down, list_sent_at].into_iter().for_each(|time| time.normalise(now));
        detector.normalise(now);
        down_reports.normalise(now);
    }
}
