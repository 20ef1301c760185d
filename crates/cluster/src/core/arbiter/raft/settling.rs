//! When a change of the voters is complete.
//!
//! A change takes effect on a node when the node learns that it is committed. The commit index alone is not written to
//! disk, so a node that is killed forgets that, and takes the former voters for the voters again. Usually they tell it
//! more. But a voter that was removed is gone: if all that remain are killed, those who could tell may be no majority
//! of the former voters.
//!
//! So a change is complete, and whoever asked for it is told so, only when *an entry that was proposed after it took
//! effect* is committed. The leader proposes such an entry at once. It proves that the change survives, if the new
//! voters keep what they have confirmed:
//!
//! 1. Whoever has that entry on disk knows from its disk that the change is committed. The leader's commit index
//!    covered the change before it sent the entry, the message says so, and a node writes entries and its commit index
//!    together.
//! 2. A majority of the *new* voters has the entry. So among the members of any majority of them there is one.
//! 3. Of these members, the one with the most up-to-date log has the entry too, because a log that is more up to date
//!    than one with a committed entry contains it. It campaigns among the new voters, and all of them vote for it,
//!    whether they know of the change or not, because voters compare logs and not configurations.
//!
//! Before the entry is committed, a voter that is to be removed must stay, so that the former voters have their
//! majority. So a voter is removed in two steps. It first becomes a learner, which follows the log and answers requests
//! for votes; its removal is then the entry that completes this. The removal of a learner changes no majority, so it
//! needs nothing more. If the leader changes between the two steps, the member is one that joins, and votes again
//! before long; the request is not answered with success, but sent to the next leader.

use std::collections::VecDeque;

use hustings_protocol::Id;

use super::RaftArbiter;
use super::consensus::Place;
use crate::core::arbiter::ArbiterEvent;

/// Changes of the voters that are not complete. See the module's documentation.
#[derive(Default)]
pub(super) struct Settling {
    /// The voter whose removal this node proposed last, and the place of the first step.
    removal: Option<(Place, Id)>,
    /// The changes that this leader has applied, and for which it has not proposed the entry that completes them.
    applied: VecDeque<Unsettled>,
}

/// A change of the voters that took effect.
struct Unsettled {
    /// The request that it answers when it is complete.
    request: Option<u64>,
    /// The member that is to be removed now.
    removes: Option<Id>,
}

impl Settling {
    /// The first step of a removal was proposed, in this place.
    pub(super) fn begin_removal(&mut self, place: Place, id: Id) {
        self.removal = Some((place, id));
    }

    /// A change of the voters took effect: the entry in this place.
    pub(super) fn handle_applied(&mut self, place: Place, request: Option<u64>) {
        let removes = self.removal.take_if(|(first_step, _)| *first_step == place).map(|(_, id)| id);
        self.applied.push_back(Unsettled { request, removes });
    }
}

impl RaftArbiter {
    /// The leader proposes the entries that complete the changes of the voters that it has applied.
    pub(super) fn settle(&mut self) {
        while let Some(Unsettled { request, removes }) = self.settling.applied.front() {
            let (request, removes) = (*request, *removes);
            if self.consensus.is_leader() {
                let is_proposed = match removes {
                    Some(id) => self.propose_removal(id).is_ok(),
                    None => self.consensus.propose(Vec::new()),
                };
                if !is_proposed {
                    // The library is busy, for instance with the leader's own hand-over. The next turn tries again.
                    return;
                }
                request.map(|request| self.submitted.insert(self.consensus.last_proposed(), request));
            } else if let Some(request) = request {
                // A removal that is only half done never takes effect by itself.
                self.events.push_back(ArbiterEvent::Unanswered { request, is_replaced: removes.is_some() });
            }
            self.settling.applied.pop_front();
        }
    }
}
