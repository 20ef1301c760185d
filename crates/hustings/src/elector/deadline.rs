//! A deadline that several threads share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hustings_cluster::clock::Timestamp;

/// A deadline that can be read without a lock.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadline(Arc<AtomicU64>);

impl Deadline {
    pub(super) fn get(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Acquire))
    }

    pub(super) fn set(&self, deadline: Timestamp) {
        self.0.store(deadline.0, Ordering::Release);
    }
}
