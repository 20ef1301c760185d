//! The numbers by which a node lives: how often, how long, how sure.

use std::time::Duration;

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
            lease: Duration::from_millis(250),
            drift_ppm: 10_000,
            stop: Duration::from_millis(10),
            tick: Duration::from_millis(5),
            settle: Duration::from_millis(1000),
            hand_over: Duration::from_millis(2000),
        }
    }
}
