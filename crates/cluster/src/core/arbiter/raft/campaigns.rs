//! When this node campaigns for leadership of the log. The schedule of the campaigns is in [`super::consensus`].

use std::time::Duration;

use hustings_protocol::Id;

use super::RaftArbiter;
use crate::clock::Timestamp;
use crate::core::context::Context;

/// How long a node that has just connected to a quorum waits for a heartbeat of an existing leader before it campaigns.
const FIRST_CAMPAIGN_DELAY: Duration = Duration::from_millis(30);

impl RaftArbiter {
    /// This node has itself observed that the leader is down, or the leader was removed.
    pub(super) fn handle_leader_lost(&mut self, context: &mut Context<'_>) {
        let position = self.campaign_position(context);
        self.consensus.forget_leader();
        self.consensus.release_held_votes(&mut self.ready);
        self.consensus.schedule_campaign(position, Duration::ZERO, context.now);
        self.campaign_if_due(context);
    }

    pub(super) fn campaign_if_due(&mut self, context: &mut Context<'_>) {
        let position = self.campaign_position(context);
        let is_allowed = self.sees_quorum(context) && self.disk_failure.is_none() && !self.is_leaving;
        self.consensus.campaign_if_due(position, is_allowed, context.now);
        if self.votes.0 < self.consensus.term() {
            self.votes = (self.consensus.term(), Timestamp::ZERO);
        }
    }

    /// If a quorum is up and there is no leader, campaigns soon.
    pub(super) fn campaign_if_quorum_is_up(&mut self, context: &Context<'_>) {
        if self.consensus.leader().is_none() && self.sees_quorum(context) {
            let position = self.campaign_position(context);
            self.consensus.schedule_campaign(position, FIRST_CAMPAIGN_DELAY, context.now);
        }
    }

    fn sees_quorum(&self, context: &Context<'_>) -> bool {
        self.consensus.has_quorum(|id| context.liveness.is_up(id) && !super::Arbiter::refuses(self, id))
    }

    /// This node's position in the order in which voters campaign for leadership of the log. The lowest-ranked voter
    /// campaigns first, so that one failure rarely takes both the coordinator and the holder of offices. Witnesses come
    /// last.
    pub(super) fn campaign_position(&self, context: &Context<'_>) -> u32 {
        let liveness = context.liveness;
        let order = |id: Id| (liveness.is_witness(id), liveness.rank(id));
        let own = order(self.own);
        let before = self.consensus.voters().into_iter().filter(|&id| liveness.is_up(id) && order(id) < own);
        before.count() as u32
    }
}
