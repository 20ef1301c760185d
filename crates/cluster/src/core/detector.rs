//! Who is silent for too long: an adaptive time-out per peer.

use std::time::Duration;

use crate::clock::Moment;
use crate::timing::Timing;

/// How much one more interval counts against what was seen before: one part in so many.
const GAIN_DIVISOR: i64 = 16;
/// So many mean deviations above the mean are still nothing unusual.
const DEVIATIONS: i64 = 8;

/// What is known of how regularly a peer is heard.
///
/// The time-out is the mean of the intervals plus a multiple of their mean deviation, within a floor and a ceiling: on
/// a quiet host it is the floor; where messages come irregularly, more is needed before anybody is suspected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailureDetector {
    last_contact: Moment,
    mean: i64,
    deviation: i64,
}

impl FailureDetector {
    /// A peer that was heard just now.
    pub fn new(timing: &Timing, now: Moment) -> Self {
        FailureDetector { last_contact: now, mean: timing.heartbeat.as_nanos() as i64, deviation: 0 }
    }

    /// A heartbeat came in that was due after the usual interval.
    pub fn record_heartbeat(&mut self, now: Moment) {
        let interval = now.since(self.last_contact).as_nanos().min(60_000_000_000) as i64;
        let error = interval - self.mean;
        self.mean += error / GAIN_DIVISOR;
        self.deviation += (error.abs() - self.deviation) / GAIN_DIVISOR;
        self.last_contact = now;
    }

    /// Something else came in: it incarnations, but that says nothing about its heartbeat.
    pub fn record_contact(&mut self, now: Moment) {
        self.last_contact = now;
    }

    /// When it was last heard.
    pub fn last_contact(&self) -> Moment {
        self.last_contact
    }

    /// How long it may be silent.
    pub fn timeout(&self, timing: &Timing) -> Duration {
        let estimate = Duration::from_nanos((self.mean + DEVIATIONS * self.deviation).max(0) as u64);
        estimate.clamp(timing.silence_floor, timing.silence_ceiling)
    }

    /// When it is suspected if it stays silent.
    pub fn suspect_at(&self, timing: &Timing) -> Moment {
        self.last_contact + self.timeout(timing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(intervals: impl IntoIterator<Item = u64>) -> Duration {
        let timing = Timing::default();
        let mut now = Moment(1 << 40);
        let mut detector = FailureDetector::new(&timing, now);
        for interval in intervals {
            now = now + Duration::from_millis(interval);
            detector.record_heartbeat(now);
        }
        detector.timeout(&timing)
    }

    #[test]
    fn a_regular_pulse_is_given_the_floor_and_an_irregular_one_more() {
        let timing = Timing::default();
        assert_eq!(after([50; 100]), timing.silence_floor);
        let uneven = after((0..100).map(|heartbeat| if heartbeat % 2 == 0 { 10 } else { 90 }));
        assert!(uneven > Duration::from_millis(300), "{uneven:?}");
        let slow = after([900; 200]);
        assert!(slow >= Duration::from_millis(900) && slow < timing.silence_ceiling, "{slow:?}");
        assert_eq!(after([5000; 3]), timing.silence_ceiling);
    }

    #[test]
    fn what_was_unusual_is_forgotten() {
        let calm = after([300].into_iter().chain([50; 200]));
        assert_eq!(calm, Timing::default().silence_floor);
    }
}
