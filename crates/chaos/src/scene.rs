//! What all clients share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::history::Recorder;
use crate::store::Store;

/// What all clients share.
pub(crate) struct Scene {
    /// Where they note what they see.
    pub(crate) recorder: Arc<Recorder>,
    /// Where holders of fenced offices write.
    pub(crate) store: Store,
    calm: AtomicBool,
    over: AtomicBool,
    /// The greatest term of the arbiter that anybody was told.
    term: AtomicU64,
}

impl Scene {
    /// A stormy scene that is not over.
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        Scene {
            store: Store::new(Arc::clone(&recorder)),
            recorder,
            calm: AtomicBool::new(false),
            over: AtomicBool::new(false),
            term: AtomicU64::new(0),
        }
    }

    /// Whether clients keep still: they campaign, and neither hang nor resign.
    pub(crate) fn calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Sets it.
    pub(crate) fn set_calm(&self, calm: bool) {
        self.calm.store(calm, Ordering::Relaxed);
    }

    /// Whether clients end.
    pub(crate) fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Everybody ends.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Somebody was told this term.
    pub(crate) fn saw_term(&self, term: u64) {
        self.term.fetch_max(term, Ordering::Relaxed);
    }

    /// The greatest term.
    pub(crate) fn term(&self) -> u64 {
        self.term.load(Ordering::Relaxed)
    }

    /// Waits, but not beyond the end by much.
    pub(crate) fn pause(&self, length: Duration) {
        if !self.over() {
            thread::sleep(length.min(Duration::from_millis(50)));
        }
    }
}
