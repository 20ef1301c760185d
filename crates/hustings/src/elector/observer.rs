//! Observing the holder of an office without campaigning for it.

use std::sync::Arc;

use hustings_cluster::api::OfficeStatus;
use hustings_cluster::clock::Clock;
use tokio::sync::watch;

use super::Handle;
use super::deadline::Deadline;

/// What is known for certain about the holder of an office.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum LeaderView {
    /// The holder is not known: there is no node, it did not answer recently, or it cannot reach a majority.
    #[default]
    Unknown,
    /// The office is vacant.
    Vacant,
    /// A member holds the office.
    Leader(Box<OfficeStatus>),
}

impl LeaderView {
    pub(super) fn new(status: &OfficeStatus) -> LeaderView {
        match (status.current, &status.holder) {
            (false, _) => LeaderView::Unknown,
            (true, None) => LeaderView::Vacant,
            (true, Some(_)) => LeaderView::Leader(Box::new(status.clone())),
        }
    }

    /// The name of the member that holds the office.
    pub fn leader(&self) -> Option<&str> {
        match self {
            LeaderView::Leader(status) => status.holder.as_deref(),
            LeaderView::Unknown | LeaderView::Vacant => None,
        }
    }
}

/// Observes the holder of an office. See [`Elector::observe`](super::Elector::observe).
#[derive(Debug)]
pub struct Observer {
    receiver: watch::Receiver<LeaderView>,
    fresh_until: Deadline,
    clock: Clock,
    /// The view that [`Observer::next`] last returned.
    last: Option<LeaderView>,
    /// Keeps the connection open.
    handle: Arc<Handle>,
}

impl Observer {
    pub(super) fn new(receiver: watch::Receiver<LeaderView>, fresh_until: Deadline, handle: Arc<Handle>) -> Self {
        Observer { receiver, fresh_until, clock: Clock::new(), last: None, handle }
    }

    /// The holder of the office now. What the node said counts only for the period set by
    /// [`Builder::freshness`](super::Builder::freshness); the clock is read at every call.
    pub fn current(&self) -> LeaderView {
        let view = self.receiver.borrow().clone();
        if self.clock.now() < self.fresh_until.get() { view } else { LeaderView::Unknown }
    }

    /// Waits until the view differs from the last one returned here, and returns it. The first call returns at once. If
    /// several changes happen between two calls, only the last is reported.
    ///
    /// The future can be dropped and called again without losing a change.
    pub async fn next(&mut self) -> LeaderView {
        loop {
            self.receiver.mark_unchanged();
            let current = self.current();
            if self.last.as_ref() != Some(&current) {
                self.last = Some(current.clone());
                return current;
            }
            // The sender lives as long as the handle.
            if self.receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The elector that created this observer.
    pub fn elector(&self) -> super::Elector {
        super::Elector { handle: Arc::clone(&self.handle) }
    }
}
