//! Updates for waiting tasks.

use std::sync::Arc;

use hustings_cluster::api::{Request, RequestError};
use tokio::sync::{oneshot, watch};

use super::end_reason::EndReason;
use super::observer::LeaderView;

/// The phase of a campaign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Waiting,
    Held(u64),
    /// Still held, but the work must stop.
    Stopping(u64, EndReason),
    Lost(EndReason),
    Rejected(RequestError),
}

/// What to do after a change of state. It is done without the lock, because a waker may run any code.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct Updates {
    pub(super) phases: Vec<(Arc<watch::Sender<Phase>>, Phase)>,
    pub(super) views: Vec<(Arc<watch::Sender<LeaderView>>, LeaderView)>,
    /// Sent while the state is still locked, so that the order is kept.
    pub(super) requests: Vec<Request>,
    pub(super) acknowledged: Vec<oneshot::Sender<()>>,
}

impl Updates {
    /// Wakes the waiting tasks.
    pub(super) fn publish(self) {
        for (sender, phase) in self.phases {
            sender.send_replace(phase);
        }
        for (sender, view) in self.views {
            sender.send_if_modified(|last| {
                let is_changed = *last != view;
                *last = view;
                is_changed
            });
        }
        for waiting in self.acknowledged {
            // The task may have stopped waiting.
            let _ = waiting.send(());
        }
    }
}
