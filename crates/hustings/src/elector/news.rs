//! What waiting tasks are told.

use std::sync::Arc;

use hustings_cluster::api::{Refusal, Request};
use tokio::sync::{oneshot, watch};

use super::ending::Ending;
use super::observer::Sighting;

/// How a campaign stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Waiting,
    Held(u64),
    /// Still held, but to be given up.
    Stopping(u64, Ending),
    Lost(Ending),
    Refused(Refusal),
}

/// What is to be done after the state was changed, when nobody has it locked any more: a waker may do anything.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct News {
    pub(super) phases: Vec<(Arc<watch::Sender<Phase>>, Phase)>,
    pub(super) sightings: Vec<(Arc<watch::Sender<Sighting>>, Sighting)>,
    /// To be sent at once, in order, while the state is still locked.
    pub(super) requests: Vec<Request>,
    pub(super) acknowledged: Vec<oneshot::Sender<()>>,
}

impl News {
    /// Wakes everybody concerned.
    pub(super) fn publish(self) {
        for (told, phase) in self.phases {
            told.send_replace(phase);
        }
        for (told, sighting) in self.sightings {
            told.send_if_modified(|last| {
                let is_news = *last != sighting;
                *last = sighting;
                is_news
            });
        }
        for waiting in self.acknowledged {
            // Whoever asked may have stopped waiting.
            let _ = waiting.send(());
        }
    }
}
