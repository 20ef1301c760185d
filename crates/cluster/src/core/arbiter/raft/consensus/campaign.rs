//! When a voter campaigns for leadership of the arbiter.
//!
//! The raft library waits for an election timeout. Here a voter that has *itself* observed that the leader is down
//! campaigns at once. All voters agree on an order, so that two of them rarely compete:
//!
//! 1. A voter that observed the leader's failure forgets the leader, and with it the promise to reject other
//!    candidates. It never does so on somebody else's report.
//! 2. The first voter in the order campaigns at once, each following one a little later, and only while a quorum is up.
//! 3. A voter that receives another candidate's vote request delays its own campaign.
//! 4. A vote request that arrives before the voter has observed the leader's failure is held for a moment, because the
//!    sockets of a dying process do not all close at the same time.
//! 5. A voter with an empty log votes only for candidates with an empty log, and neither votes nor campaigns before it
//!    knows that there is no other log (see [`super::super::founding`]).
//! 6. If nobody wins, the delays before the next attempt double: that of each voter, so that elections do not outpace a
//!    slow disk, and those between the voters, so that on slow links they do not compete again and again.

use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::{self, MessageType};

use super::{Consensus, Ready};
use crate::clock::Timestamp;
use crate::wire::RaftMessage;

/// The delay between consecutive voters in the order.
const CAMPAIGN_STAGGER: Duration = Duration::from_millis(3);
/// How long a rival's campaign delays a voter's own.
const RIVAL_DELAY: Duration = Duration::from_millis(8);
/// How long a vote request is held until the voter observes the leader's failure itself.
const VOTE_HOLD: Duration = Duration::from_millis(20);
/// The bounds of the delay between attempts.
const MIN_RETRY: Duration = Duration::from_millis(15);
const MAX_RETRY: Duration = Duration::from_secs(5);
/// How many vote requests are held at most.
const MAX_HELD_VOTES: usize = 64;

/// The schedule of this voter's campaigns.
#[derive(Debug, Default)]
pub(crate) struct Campaign {
    at: Option<Timestamp>,
    attempts: u32,
    held_votes: Vec<(Timestamp, eraftpb::Message)>,
}

impl Campaign {
    /// The delay between attempts starts again with the shortest.
    pub(super) fn begin_again(&mut self) {
        (self.at, self.attempts) = (None, 0);
    }
}

impl Consensus {
    /// The leader failed, or there never was one: schedules a campaign of the voter at `position` in the order.
    pub(crate) fn schedule_campaign(&mut self, position: u32, after: Duration, now: Timestamp) {
        self.campaign.attempts = 0;
        self.campaign.at = Some(now + after + self.stagger(position));
    }

    /// When a campaign or the end of a held vote request is due.
    pub(crate) fn campaign_at(&self) -> Timestamp {
        let held_votes = self.campaign.held_votes.first().map_or(Timestamp::NEVER, |(until, _)| *until);
        self.campaign.at.unwrap_or(Timestamp::NEVER).min(held_votes)
    }

    /// If a campaign is due: campaigns if `is_allowed`, and schedules the next attempt of the voter at `position` in
    /// the order.
    pub(crate) fn campaign_if_due(&mut self, position: u32, is_allowed: bool, now: Timestamp) {
        self.campaign.held_votes.retain(|(until, _)| *until > now);
        if self.leader().is_some() {
            self.campaign.begin_again();
            return;
        }
        let Some(at) = self.campaign.at else {
            self.campaign.at = Some(now + self.retry_delay(position));
            return;
        };
        if at > now {
            return;
        }
        let may_begin = !self.is_blank() || self.may_found;
        if is_allowed && may_begin && self.may_campaign() && self.node.raft.promotable() {
            // The library accepts every request to campaign; the outcome shows later.
            let _ = self.node.campaign();
            self.campaign.attempts += 1;
        }
        self.campaign.at = Some(now + self.retry_delay(position));
    }

    fn retry_delay(&self, position: u32) -> Duration {
        self.grown(MIN_RETRY) + self.stagger(position)
    }

    /// How much later than the first voter the one at `position` campaigns.
    fn stagger(&self, position: u32) -> Duration {
        self.grown(CAMPAIGN_STAGGER * position)
    }

    /// A delay that doubles with every attempt.
    fn grown(&self, delay: Duration) -> Duration {
        delay.saturating_mul(2u32.pow(self.campaign.attempts.min(9))).min(MAX_RETRY)
    }

    /// Passes a peer's message to the library. Returns `false` if the message is invalid.
    pub(crate) fn step(&mut self, from: Id, message: &RaftMessage, position: u32, now: Timestamp) -> bool {
        let Some(message) = message.to_raft(from.0, self.node.raft.id) else { return false };
        let kind = message.get_msg_type();
        if kind == MessageType::MsgAppendResponse && !message.reject && message.index > self.last_index() {
            return false;
        }
        let is_impossible = match kind {
            MessageType::MsgAppend => !self.may_be_appended(&message),
            MessageType::MsgTimeoutNow => !self.may_campaign(),
            _ => false,
        };
        if is_impossible {
            return false;
        }
        if matches!(kind, MessageType::MsgRequestVote | MessageType::MsgRequestPreVote) {
            // An empty log may belong to a disk that lost its votes. Until a leader has replicated the log to it, this
            // voter votes only where nothing was ever committed.
            if self.is_blank() && (message.index > 0 || !self.may_found) {
                return true;
            }
            let earliest = now + self.grown(RIVAL_DELAY) + self.stagger(position);
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

    /// Whether a leader may have sent this. It has everything that is committed, so nothing in its log from there on is
    /// of an earlier term. The library panics where it looks for such a place, or replaces what is committed.
    fn may_be_appended(&self, append: &eraftpb::Message) -> bool {
        let log = &self.node.raft.raft_log;
        let committed = log.term(log.committed).unwrap_or(0);
        let is_before = append.index < log.committed;
        is_before || append.log_term >= committed && append.entries.iter().all(|entry| entry.term >= committed)
    }

    /// This voter has observed the leader's failure: answers the vote requests that it held.
    pub(crate) fn release_held_votes(&mut self, ready: &mut Ready) {
        for (_, message) in std::mem::take(&mut self.campaign.held_votes) {
            self.step_raw(message);
        }
        self.collect_ready(ready);
    }
}

/// The context that the library puts into vote requests of a leadership transfer.
fn raft_transfer() -> &'static [u8] {
    b"CampaignTransfer"
}
