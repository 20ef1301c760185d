//! The state that all client threads and the runner share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::history::{Event, Recorder};
use crate::store::Store;

/// The state that all client threads and the runner share.
pub(crate) struct Shared {
    /// The history.
    pub(crate) recorder: Arc<Recorder>,
    /// The store that holders of fenced offices write to.
    pub(crate) store: Store,
    /// Whether clients hang, withdraw and disconnect often.
    pub(crate) has_churn: bool,
    states: AtomicU64,
    is_recovering: AtomicBool,
    is_over: AtomicBool,
    /// When the last stall of the machine ended.
    last_stall: AtomicU64,
    /// The greatest known term of the arbiter, and its leader in that term.
    arbiter: Mutex<(u64, Option<String>)>,
}

impl Shared {
    /// The state at the beginning: faults are active.
    pub(crate) fn new(recorder: Arc<Recorder>, has_churn: bool) -> Self {
        Shared {
            store: Store::new(Arc::clone(&recorder)),
            recorder,
            has_churn,
            states: AtomicU64::new(0),
            is_recovering: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            last_stall: AtomicU64::new(0),
            arbiter: Mutex::default(),
        }
    }

    /// Whether clients only campaign, and neither hang nor withdraw.
    pub(crate) fn is_recovering(&self) -> bool {
        self.is_recovering.load(Ordering::Relaxed)
    }

    /// Sets whether clients only campaign.
    pub(crate) fn set_recovering(&self, is_recovering: bool) {
        self.is_recovering.store(is_recovering, Ordering::Relaxed);
    }

    /// Whether the run is over, so that clients stop.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// The number of the next state that is stored.
    pub(crate) fn next_state(&self) -> u64 {
        self.states.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends the run.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Records a stall of the machine.
    pub(crate) fn record_stall(&self, from: u64, at: u64) {
        self.recorder.record(&Event::Stall { from, at });
        self.last_stall.store(at, Ordering::Relaxed);
    }

    /// When the last stall of the machine ended; 0 if there was none.
    pub(crate) fn last_stall(&self) -> u64 {
        self.last_stall.load(Ordering::Relaxed)
    }

    /// Updates the known term and leader of the arbiter.
    pub(crate) fn update_arbiter(&self, term: u64, leader: Option<String>) {
        let mut known = self.arbiter.lock().unwrap_or_else(PoisonError::into_inner);
        if term > known.0 || (term == known.0 && leader.is_some()) {
            *known = (term, leader);
        }
    }

    /// The greatest known term of the arbiter, and its leader if one is known.
    pub(crate) fn arbiter(&self) -> (u64, Option<String>) {
        self.arbiter.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sleeps until this time has passed, or the run is over.
    pub(crate) fn wait(&self, length: Duration) {
        let until = Instant::now() + length;
        while !self.is_over() && Instant::now() < until {
            self.pause(until.saturating_duration_since(Instant::now()));
        }
    }

    /// Sleeps, but not long beyond the end of the run.
    pub(crate) fn pause(&self, length: Duration) {
        if !self.is_over() {
            thread::sleep(length.min(Duration::from_millis(50)));
        }
    }
}
