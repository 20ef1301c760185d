//! The guard that is leadership.

use std::sync::Arc;
use std::time::Duration;

use hustings_cluster::clock::{Clock, Moment};
use tokio::sync::{oneshot, watch};

use super::ending::Ending;
use super::news::Phase;
use super::state::Deadline;
use super::{Handle, ResignError};

/// A wish for an office that ends when it is dropped.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) office: String,
    pub(super) receiver: watch::Receiver<Phase>,
    pub(super) deadline: Deadline,
    pub(super) handle: Arc<Handle>,
    /// Whether the node was told.
    is_over: bool,
}

impl Wish {
    pub(super) fn new(
        office: String,
        receiver: watch::Receiver<Phase>,
        deadline: Deadline,
        handle: Arc<Handle>,
    ) -> Self {
        Wish { office, receiver, deadline, handle, is_over: false }
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        if !self.is_over {
            self.handle.change(|state, _| ((), state.withdraw(&self.office, None)));
        }
    }
}

/// An office that this program holds. Dropping it gives the office up, so drop it when the work has stopped.
///
/// The work may go on only while [`Leadership::is_held`] says so; whatever it writes to should be given the
/// [`Leadership::token`] and refuse lower ones than it has seen, because a program can be stopped by its host between
/// the question and the act.
#[derive(Debug)]
pub struct Leadership {
    wish: Wish,
    token: u64,
    clock: Clock,
}

impl Leadership {
    pub(super) fn new(wish: Wish, token: u64) -> Self {
        Leadership { wish, token, clock: Clock::new() }
    }

    /// The office.
    pub fn office(&self) -> &str {
        &self.wish.office
    }

    /// A number that is greater than that of every holder of this office before.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Until when the work may go on, by this host's clock. It moves with every renewal, and is zero once the office is
    /// lost.
    pub fn deadline(&self) -> Moment {
        self.wish.deadline.get()
    }

    /// How long that is from now.
    pub fn remaining(&self) -> Duration {
        self.deadline().since(self.clock.now())
    }

    /// Whether this program holds the office now: the clock is read at every call, and nothing else needs to happen for
    /// it to become false.
    pub fn is_held(&self) -> bool {
        self.clock.now() < self.deadline()
    }

    /// Waits until the work should stop, and says why: the office is to go to somebody else, the node is gone, or the
    /// office is lost already. Until it is dropped or its deadline has passed, the office is still held.
    pub async fn stopping(&self) -> Ending {
        self.until(|phase| match phase {
            Phase::Stopping(_, why) | Phase::Lost(why) => Some(*why),
            Phase::Waiting | Phase::Held(_) | Phase::Refused(_) => None,
        })
        .await
    }

    /// Waits until the office is lost, and says why. The work must have stopped by now.
    pub async fn lost(&self) -> Ending {
        self.until(|phase| match phase {
            Phase::Lost(why) => Some(*why),
            _ => None,
        })
        .await
    }

    async fn until(&self, wanted: impl Fn(&Phase) -> Option<Ending>) -> Ending {
        let mut receiver = self.wish.receiver.clone();
        loop {
            if let Some(ending) = wanted(&receiver.borrow_and_update()) {
                return ending;
            }
            if receiver.changed().await.is_err() {
                // Nobody is left to tell: so nobody renews it.
                return Ending::NodeGone;
            }
        }
    }

    /// Gives the office up; the work has stopped. Returns when the node knows: somebody else can be appointed at once.
    /// If the node cannot be told, it gives the office to somebody else when the deadline has passed.
    pub async fn resign(mut self) -> Result<(), ResignError> {
        let (waits, known) = oneshot::channel();
        self.wish.is_over = true;
        self.wish.handle.change(|state, _| ((), state.withdraw(&self.wish.office, Some(waits))));
        known.await.map_err(|_| ResignError)
    }
}
