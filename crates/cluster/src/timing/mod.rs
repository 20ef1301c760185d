//! The timing of a node: heartbeats, timeouts and leases.

mod check;
mod explain;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use check::TimingError;
pub use explain::{FailoverEstimate, FailoverPath, HolderLoss};

/// The arbiter waits this much longer than the longest possible lease, so that two leases never touch.
pub(crate) const LEASE_MARGIN: Duration = Duration::from_millis(1);

/// No lease is longer.
const MAX_LEASE: Duration = Duration::from_secs(3600);

const MILLION: u128 = 1_000_000;

/// The timing of a node. [`Timing::check`] validates it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// The time between two heartbeats of the arbiter's leader, and between two replies.
    pub heartbeat: Duration,
    /// A member is not suspected after a shorter silence.
    pub silence_floor: Duration,
    /// A member is suspected after a longer silence, whatever the failure detector has learned.
    pub silence_ceiling: Duration,
    /// How long a holder may work after its last confirmed renewal.
    pub lease: Duration,
    /// The largest drift between two clocks, in parts per million.
    pub drift_ppm: u32,
    /// How long a holder needs to stop its work. It is told to stop this much before its lease ends.
    pub stop: Duration,
    /// One tick of the election algorithm: an upper bound for the usual delay of a message.
    pub tick: Duration,
    /// How long a member must have been up, without interruption, before it may preempt a live holder.
    pub settle: Duration,
    /// How long a hand-over may take before it is given up.
    pub hand_over: Duration,
}

impl Timing {
    /// For hosts of one network that have a processor to spare. This is the default.
    pub const LAN: Timing = Timing {
        heartbeat: Duration::from_millis(50),
        silence_floor: Duration::from_millis(150),
        silence_ceiling: Duration::from_millis(1000),
        lease: Duration::from_millis(300),
        drift_ppm: 10_000,
        stop: Duration::from_millis(10),
        tick: Duration::from_millis(5),
        settle: Duration::from_millis(1000),
        hand_over: Duration::from_millis(2000),
    };
    /// For hosts that are shared, virtual or at times overloaded: a second without the processor costs nothing.
    pub const CAUTIOUS: Timing = Timing {
        heartbeat: Duration::from_millis(250),
        silence_floor: Duration::from_millis(1500),
        silence_ceiling: Duration::from_millis(3000),
        lease: Duration::from_millis(3000),
        stop: Duration::from_millis(100),
        tick: Duration::from_millis(20),
        settle: Duration::from_millis(5000),
        hand_over: Duration::from_millis(5000),
        ..Timing::LAN
    };
    /// For members that are far apart: messages take up to 150 ms, and a link may be silent for seconds.
    pub const WAN: Timing = Timing {
        heartbeat: Duration::from_millis(500),
        silence_floor: Duration::from_millis(4000),
        silence_ceiling: Duration::from_millis(10_000),
        lease: Duration::from_millis(10_000),
        tick: Duration::from_millis(150),
        settle: Duration::from_millis(15_000),
        hand_over: Duration::from_millis(15_000),
        ..Timing::CAUTIOUS
    };
}

impl Default for Timing {
    fn default() -> Self {
        Timing::LAN
    }
}

/// How long one office is leased, and how long its holder needs to stop. Both are part of a grant, so that everybody
/// counts with what the holder was granted, whatever the configuration says by now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LeaseTerms {
    /// How long the holder may work after its last confirmed renewal.
    #[serde(with = "microseconds")]
    pub lease: Duration,
    /// How long the holder needs to stop its work. It is told to stop this much before its lease ends.
    #[serde(with = "microseconds")]
    pub stop: Duration,
}

/// A duration as a number of microseconds, which takes half as many bytes in a table of many offices.
pub(crate) mod microseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }
}

impl LeaseTerms {
    /// The terms, limited to what [`Timing::check`] allows. Members of other configurations must not be able to block
    /// an office forever.
    pub(crate) fn bounded(self) -> Self {
        LeaseTerms { lease: self.lease.min(MAX_LEASE), stop: self.stop.min(self.lease).min(MAX_LEASE) }
    }
}

impl Timing {
    /// The terms of an office that has none of its own.
    pub(crate) fn terms(&self) -> LeaseTerms {
        LeaseTerms { lease: self.lease, stop: self.stop }
    }

    /// The same timing for an office with these terms.
    pub(crate) fn with_terms(self, terms: LeaseTerms) -> Timing {
        Timing { lease: terms.lease, stop: terms.stop, ..self }
    }

    /// The lease by the holder's clock, counted from just before it sent the confirmed renewal: the configured lease
    /// less the largest possible drift.
    pub(crate) fn holder_lease(&self) -> Duration {
        // Rounded down: a lease may be too short, never too long.
        nanoseconds(self.lease.as_nanos().saturating_mul(MILLION.saturating_sub(u128::from(self.drift_ppm))) / MILLION)
    }

    /// The part of [`Timing::holder_lease`] during which the holder works: after it, the holder must stop.
    pub(crate) fn working_lease(&self) -> Duration {
        self.holder_lease().saturating_sub(self.stop)
    }

    /// How long the arbiter waits, by its own clock, before it replaces a silent holder of an exclusive office: the
    /// lease, the largest possible drift and `LEASE_MARGIN`.
    pub(crate) fn takeover_delay(&self) -> Duration {
        let longest = self.lease.as_nanos().saturating_mul(MILLION + u128::from(self.drift_ppm));
        // Rounded up: the wait may be too long, never too short.
        nanoseconds(longest.div_ceil(MILLION)).saturating_add(LEASE_MARGIN)
    }
}

fn nanoseconds(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}
