//! What all clients share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::history::{Event, Recorder};
use crate::store::Store;

/// What all clients share.
pub(crate) struct Scene {
    /// Where they note what they see.
    pub(crate) recorder: Arc<Recorder>,
    /// Where holders of fenced offices write.
    pub(crate) store: Store,
    /// Whether clients hang, resign and leave all the time.
    pub(crate) restless: bool,
    calm: AtomicBool,
    over: AtomicBool,
    /// When the machine last stood still.
    last_stall: AtomicU64,
    /// The greatest term of the arbiter that anybody was told, and who led it then.
    arbiter: Mutex<(u64, Option<String>)>,
}

impl Scene {
    /// A stormy scene that is not over.
    pub(crate) fn new(recorder: Arc<Recorder>, restless: bool) -> Self {
        Scene {
            store: Store::new(Arc::clone(&recorder)),
            recorder,
            restless,
            calm: AtomicBool::new(false),
            over: AtomicBool::new(false),
            last_stall: AtomicU64::new(0),
            arbiter: Mutex::default(),
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

    /// The machine stood still from one moment to another.
    pub(crate) fn note_stall(&self, from: u64, at: u64) {
        self.recorder.note(&Event::Stall { from, at });
        self.last_stall.store(at, Ordering::Relaxed);
    }

    /// Whether the machine has stood still after this moment.
    pub(crate) fn stalled_since(&self, moment: u64) -> bool {
        self.last_stall.load(Ordering::Relaxed) > moment
    }

    /// Somebody was told this term of the arbiter, and who leads it.
    pub(crate) fn saw_arbiter(&self, term: u64, leader: Option<String>) {
        let mut known = self.arbiter.lock().unwrap_or_else(PoisonError::into_inner);
        if term > known.0 || (term == known.0 && leader.is_some()) {
            *known = (term, leader);
        }
    }

    /// The greatest term of the arbiter, and who leads it as far as anybody said.
    pub(crate) fn arbiter(&self) -> (u64, Option<String>) {
        self.arbiter.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits, but not beyond the end by much.
    pub(crate) fn pause(&self, length: Duration) {
        if !self.over() {
            thread::sleep(length.min(Duration::from_millis(50)));
        }
    }
}
