//! Seeing who holds an office, without wanting it.

use std::sync::Arc;

use hustings_cluster::api::OfficeStatus;
use hustings_cluster::clock::Clock;
use tokio::sync::watch;

use super::Handle;
use super::state::Deadline;

/// Who holds an office, for certain or not at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Sighting {
    /// Nobody can say: there is no node, it was not heard of lately, or it is not in touch with a majority.
    #[default]
    Unknown,
    /// Nobody.
    Vacant,
    /// This member.
    Leader(Box<OfficeStatus>),
}

impl Sighting {
    pub(super) fn of(status: &OfficeStatus) -> Sighting {
        match (status.current, &status.holder) {
            (false, _) => Sighting::Unknown,
            (true, None) => Sighting::Vacant,
            (true, Some(_)) => Sighting::Leader(Box::new(status.clone())),
        }
    }

    /// The name of the member that holds the office.
    pub fn leader(&self) -> Option<&str> {
        match self {
            Sighting::Leader(status) => status.holder.as_deref(),
            Sighting::Unknown | Sighting::Vacant => None,
        }
    }
}

/// Sees who holds an office, and every change of it. See [`Elector::observe`](super::Elector::observe).
#[derive(Debug)]
pub struct Observer {
    receiver: watch::Receiver<Sighting>,
    fresh_until: Deadline,
    clock: Clock,
    /// What was last handed out.
    last: Option<Sighting>,
    /// As long as it is there, the connection is.
    handle: Arc<Handle>,
}

impl Observer {
    pub(super) fn new(receiver: watch::Receiver<Sighting>, fresh_until: Deadline, handle: Arc<Handle>) -> Self {
        Observer { receiver, fresh_until, clock: Clock::new(), last: None, handle }
    }

    /// Who holds the office now. What the node said counts only for as long as
    /// [`Builder::freshness`](super::Builder::freshness) says: the clock is read at every call.
    pub fn current(&self) -> Sighting {
        let shown = self.receiver.borrow().clone();
        if self.clock.now() < self.fresh_until.get() { shown } else { Sighting::Unknown }
    }

    /// Waits until it is another than was last returned here, and returns it; at first at once. Changes that come
    /// faster than they are waited for are skipped: the last counts.
    ///
    /// It can be dropped and called again: nothing is lost by that.
    pub async fn next(&mut self) -> Sighting {
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

    /// The elector that this came from.
    pub fn elector(&self) -> super::Elector {
        super::Elector { handle: Arc::clone(&self.handle) }
    }
}
