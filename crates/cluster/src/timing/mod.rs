//! The numbers by which a node incarnations: how often, how long, how sure.

mod check;
mod explain;

use std::time::Duration;

pub use check::TimingError;
pub use explain::{DEFERENCE, Explanation, Loss, Part, STAGGER, Way};

/// An arbiter waits this much longer than a lease with all its drift can last, so that ends never coincide.
pub const MARGIN: Duration = Duration::from_millis(1);

const MILLION: u128 = 1_000_000;

/// All times of a node. [`Timing::check`] says whether they go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// How often the leader of the arbiter and the others hear of each other.
    pub heartbeat: Duration,
    /// Nobody is suspected after a shorter silence than this.
    pub silence_floor: Duration,
    /// Everybody is suspected after a longer silence than this.
    pub silence_ceiling: Duration,
    /// For how long a holder may act after its last confirmed renewal.
    pub lease: Duration,
    /// By how much clocks may go wrong against each other, in parts per million.
    pub drift_ppm: u32,
    /// How long a holder takes to stop its work: it is told to stop that much before its lease ends.
    pub stop: Duration,
    /// One tick of the election algorithm: a message should take no longer.
    pub tick: Duration,
    /// How long somebody must have been up without a break before it may take an office from a live holder.
    pub settle: Duration,
    /// How long a hand-over may take before it is given up.
    pub hand_over: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            heartbeat: Duration::from_millis(50),
            silence_floor: Duration::from_millis(150),
            silence_ceiling: Duration::from_millis(1000),
            lease: Duration::from_millis(300),
            drift_ppm: 10_000,
            stop: Duration::from_millis(10),
            tick: Duration::from_millis(5),
            settle: Duration::from_millis(1000),
            hand_over: Duration::from_millis(2000),
        }
    }
}

impl Timing {
    /// For how long a holder may act, by its own clock, from just before it sent the renewal that was confirmed: the
    /// lease, less what its clock may lose.
    pub fn holds_for(&self) -> Duration {
        // Rounded down: rather a nanosecond too short.
        nanoseconds(self.lease.as_nanos().saturating_mul(MILLION.saturating_sub(u128::from(self.drift_ppm))) / MILLION)
    }

    /// When a holder is told to stop, from the same moment on: it is to have stopped when [`Timing::holds_for`] ends.
    pub fn acts_for(&self) -> Duration {
        self.holds_for().saturating_sub(self.stop)
    }

    /// How long the arbiter waits, by its own clock, until a holder that it no longer hears of has stopped for certain:
    /// the lease, what its clock may gain, and the [`MARGIN`].
    pub fn waits_for(&self) -> Duration {
        let gained = self.lease.as_nanos().saturating_mul(MILLION + u128::from(self.drift_ppm));
        // Rounded up: rather a nanosecond too long.
        nanoseconds(gained.div_ceil(MILLION)).saturating_add(MARGIN)
    }
}

fn nanoseconds(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}
