//! The first start of a cluster.
//!
//! A new cluster and one whose disks were wiped look alike to a blank disk. If a majority could begin a log, then a
//! majority of wiped disks would, and forget what the others still hold. So a voter with a blank disk neither campaigns
//! nor votes for a log that begins before *every* initial voter has told it that its disk is blank, too. As soon as one
//! has a log, there is a cluster, which replicates it to the blank ones, or refuses them.
//!
//! The price is that every initial voter must be up once, at the same time, before anything is granted. Who cannot wait
//! for one says so with `hustings recover --new`.

use std::collections::BTreeMap;

use hustings_protocol::Id;

use super::RaftArbiter;
use crate::core::context::Context;
use crate::store::DiskPosition;

/// What a node with a blank disk knows of the disks of others.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Founding {
    /// Whether the disk of a member was blank when it introduced itself last.
    is_blank: BTreeMap<Id, bool>,
}

impl RaftArbiter {
    /// A member introduced itself.
    pub(super) fn note_founder(&mut self, id: Id, position: DiskPosition, context: &mut Context<'_>) {
        if !self.consensus.is_blank() {
            self.founding.is_blank.clear();
            return;
        }
        self.founding.is_blank.insert(id, position.index == 0);
        let could_found = self.consensus.may_found();
        self.decide_founding();
        if self.consensus.may_found() && !could_found {
            self.campaign_if_quorum_is_up(context);
        }
    }

    /// Whether this node may begin a log, or vote for one that begins.
    pub(super) fn decide_founding(&mut self) {
        let is_ready = |id: &Id| *id == self.own || self.founding.is_blank.get(id) == Some(&true);
        let may_found = self.consensus.voters().iter().all(is_ready);
        self.consensus.set_may_found(may_found);
    }

    /// The initial voters that a new cluster waits for. There are none if one of them has a log.
    pub(super) fn missing_founders(&self) -> Vec<Id> {
        let voters = self.consensus.voters();
        let has_log = voters.iter().any(|id| self.founding.is_blank.get(id) == Some(&false));
        if !self.consensus.is_blank() || has_log || !voters.contains(&self.own) {
            return Vec::new();
        }
        let is_missing = |id: &Id| *id != self.own && !self.founding.is_blank.contains_key(id);
        voters.into_iter().filter(is_missing).collect()
    }
}
