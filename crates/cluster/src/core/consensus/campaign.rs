//! When a voter stands for the lead of the arbiter.
//!
//! The library would wait for a time-out. Here whoever has *itself* seen the leader's end stands at once, in an order
//! that all agree on, so that two rarely stand against each other:
//!
//! 1. A voter that saw the leader end forgets it, which lifts its promise to refuse others. Never on another's word.
//! 2. The first in the order stands at once, the next one a little later, and so on; only where a majority is up.
//! 3. Whoever sees somebody else stand puts its own campaign off.
//! 4. A request for a vote that comes before the voter has seen the leader's end is kept for a moment: the sockets of a
//!    dying process close one after the other.
//! 5. A voter whose disk is blank votes for those only whose disks are blank, too.
//! 6. If nobody wins, the next attempt comes later each time: a slow disk must not make elections chase each other.

use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::{self, MessageType};

use super::{Consensus, Ready};
use crate::clock::Moment;
use crate::wire::RaftMessage;

/// Between candidates in the order.
const STAGGER: Duration = Duration::from_millis(3);
/// How long somebody else's campaign puts one's own off.
const RIVAL_DELAY: Duration = Duration::from_millis(8);
/// How long a vote waits for the voter's own evidence.
const VOTE_HOLD: Duration = Duration::from_millis(20);
/// The shortest and the longest wait between attempts.
const MIN_RETRY: Duration = Duration::from_millis(15);
const MAX_RETRY: Duration = Duration::from_secs(5);
/// At most so many votes wait.
const MAX_HELD_VOTES: usize = 64;

/// When to stand.
#[derive(Debug, Default)]
pub(crate) struct Campaign {
    at: Option<Moment>,
    attempts: u32,
    held_votes: Vec<(Moment, eraftpb::Message)>,
}

impl Consensus {
    /// The leader has ended, or there never was one: stand soon, as the `place`-th in the order.
    pub(crate) fn schedule_campaign(&mut self, position: u32, after: Duration, now: Moment) {
        self.campaign.attempts = 0;
        self.campaign.at = Some(now + after + STAGGER * position);
    }

    /// When this voter will stand.
    pub(crate) fn campaign_at(&self) -> Moment {
        let held_votes = self.campaign.held_votes.first().map_or(Moment::NEVER, |(until, _)| *until);
        self.campaign.at.unwrap_or(Moment::NEVER).min(held_votes)
    }

    /// Stands, if it is time to; as the `place`-th in the order, if a majority is up and it may.
    pub(crate) fn campaign_if_due(&mut self, position: u32, is_allowed: bool, now: Moment) {
        self.campaign.held_votes.retain(|(until, _)| *until > now);
        if self.leader().is_some() {
            (self.campaign.at, self.campaign.attempts) = (None, 0);
            return;
        }
        let Some(at) = self.campaign.at else {
            self.campaign.at = Some(now + self.retry_delay(position));
            return;
        };
        if at > now {
            return;
        }
        if is_allowed && self.is_log_durable() && self.node.raft.promotable() {
            // The library says yes to everything; whether it won shows later.
            let _ = self.node.campaign();
            self.campaign.attempts += 1;
        }
        self.campaign.at = Some(now + self.retry_delay(position));
    }

    fn retry_delay(&self, position: u32) -> Duration {
        (MIN_RETRY * 2u32.pow(self.campaign.attempts.min(9))).min(MAX_RETRY) + STAGGER * position
    }

    /// A message of the library came from a peer.
    pub(crate) fn step(&mut self, from: Id, message: &RaftMessage, position: u32, now: Moment) -> bool {
        let Some(message) = message.to_raft(from.0, self.node.raft.id) else { return false };
        let kind = message.get_msg_type();
        if kind == MessageType::MsgAppendResponse && !message.reject && message.index > self.last_index() {
            return false;
        }
        if matches!(kind, MessageType::MsgRequestVote | MessageType::MsgRequestPreVote) {
            // A blank disk may be one that lost its votes: it votes only where nothing was ever agreed on, until a
            // leader has given it the log.
            if self.last_index() == 0 && message.index > 0 {
                return true;
            }
            let earliest = now + RIVAL_DELAY + STAGGER * position;
            self.campaign.at = self.campaign.at.map(|at| at.max(earliest));
            let is_bound = self.leader().is_some() && message.context.as_ref() != raft_transfer();
            if is_bound && !self.is_leader() && self.campaign.held_votes.len() < MAX_HELD_VOTES {
                self.campaign.held_votes.push((now + VOTE_HOLD, message));
                return true;
            }
        }
        self.step_raw(message);
        true
    }

    /// This voter has seen the leader's end: votes that waited for that are cast.
    pub(crate) fn release_held_votes(&mut self, ready: &mut Ready) {
        for (_, message) in std::mem::take(&mut self.campaign.held_votes) {
            self.step_raw(message);
        }
        self.collect_ready(ready);
    }
}

/// What the library writes on requests of one who was asked to take over.
fn raft_transfer() -> &'static [u8] {
    b"CampaignTransfer"
}
