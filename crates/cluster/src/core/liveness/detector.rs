//! An adaptive failure detector: how long a peer may be silent before it is suspected.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::core::normalise::Normalise;
use crate::timing::Timing;

/// The weight of a new interval in the running averages is one over this.
const GAIN_DIVISOR: i64 = 16;
/// Heartbeats that arrive within this time were waiting together, somewhere on their way: after this node or a link was
/// paused. When they were sent is not known.
const TOGETHER: Duration = Duration::from_millis(1);
/// The timeout is this many mean deviations above the mean interval.
const DEVIATIONS: i64 = 8;

/// The running statistics of one peer's heartbeat intervals.
///
/// The timeout is the mean interval plus a multiple of the mean deviation, clamped between a floor and a ceiling, like
/// TCP's retransmission timeout (RFC 6298). On a quiet host it is the floor. Where heartbeats arrive irregularly, it
/// grows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FailureDetector {
    last_contact: Timestamp,
    mean: i64,
    deviation: i64,
}

impl FailureDetector {
    /// A detector for a peer that was heard from just now.
    pub(crate) fn new(timing: &Timing, now: Timestamp) -> Self {
        FailureDetector { last_contact: now, mean: timing.heartbeat.as_nanos() as i64, deviation: 0 }
    }

    /// A heartbeat arrived: updates the statistics.
    pub(crate) fn record_heartbeat(&mut self, now: Timestamp) {
        let interval = now.since(self.last_contact);
        if interval < TOGETHER {
            return self.record_contact(now);
        }
        let interval = interval.as_nanos().min(60_000_000_000) as i64;
        let error = interval - self.mean;
        self.mean += error / GAIN_DIVISOR;
        self.deviation += (error.abs() - self.deviation) / GAIN_DIVISOR;
        self.last_contact = now;
    }

    /// Another message arrived. It proves that the peer is alive, but says nothing about heartbeat intervals.
    pub(crate) fn record_contact(&mut self, now: Timestamp) {
        self.last_contact = now;
    }

    /// When the peer was last heard from.
    pub(crate) fn last_contact(&self) -> Timestamp {
        self.last_contact
    }

    /// Silence of this length does not count.
    pub(crate) fn excuse_silence(&mut self, time: Duration, now: Timestamp) {
        self.last_contact = (self.last_contact + time).min(now);
    }

    /// How long the peer may be silent.
    pub(crate) fn timeout(&self, timing: &Timing) -> Duration {
        let estimate = Duration::from_nanos((self.mean + DEVIATIONS * self.deviation).max(0) as u64);
        estimate.clamp(timing.silence_floor, timing.silence_ceiling)
    }

    /// When the peer becomes suspected if it stays silent.
    pub(crate) fn suspect_at(&self, timing: &Timing) -> Timestamp {
        self.last_contact + self.timeout(timing)
    }
}

impl Normalise for FailureDetector {
    fn normalise(&mut self, now: Timestamp) {
        let FailureDetector { last_contact, mean: _, deviation: _ } = self;
        last_contact.normalise(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(intervals: impl IntoIterator<Item = u64>) -> Duration {
        let timing = Timing::default();
        let mut now = Timestamp(1 << 40);
        let mut detector = FailureDetector::new(&timing, now);
        for interval in intervals {
            now = now + Duration::from_millis(interval);
            detector.record_heartbeat(now);
        }
        detector.timeout(&timing)
    }

    #[test]
    fn the_timeout_is_the_floor_for_regular_heartbeats_and_grows_for_irregular_ones() {
        let timing = Timing::default();
        assert_eq!(after([50; 100]), timing.silence_floor);
        let uneven = after((0..100).map(|heartbeat| if heartbeat % 2 == 0 { 10 } else { 90 }));
        assert!(uneven > Duration::from_millis(300), "{uneven:?}");
        let slow = after([900; 200]);
        assert!(slow >= Duration::from_millis(900) && slow < timing.silence_ceiling, "{slow:?}");
        assert_eq!(after([5000; 3]), timing.silence_ceiling);
    }

    #[test]
    fn heartbeats_that_arrive_together_are_not_irregular() {
        assert_eq!(after([50; 20].into_iter().chain([0; 14])), Timing::default().silence_floor);
    }

    #[test]
    fn the_timeout_recovers_after_an_unusual_interval() {
        let calm = after([300].into_iter().chain([50; 200]));
        assert_eq!(calm, Timing::default().silence_floor);
    }
}
