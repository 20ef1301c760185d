//! Who is silent for too long: an adaptive time-out per peer.

use std::time::Duration;

use crate::clock::Moment;
use crate::timing::Timing;

/// How much one more interval counts against what was seen before: one part in so many.
const WEIGHT: i64 = 16;
/// So many mean deviations above the mean are still nothing unusual.
const DEVIATIONS: i64 = 8;

/// What is known of how regularly a peer is heard.
///
/// The time-out is the mean of the intervals plus a multiple of their mean deviation, within a floor and a ceiling: on
/// a quiet host it is the floor; where messages come irregularly, more is needed before anybody is suspected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pulse {
    heard: Moment,
    mean: i64,
    deviation: i64,
}

impl Pulse {
    /// A peer that was heard just now.
    pub fn new(timing: &Timing, now: Moment) -> Self {
        Pulse { heard: now, mean: timing.heartbeat.as_nanos() as i64, deviation: 0 }
    }

    /// A heartbeat came in that was due after the usual interval.
    pub fn heartbeat(&mut self, now: Moment) {
        let interval = now.since(self.heard).as_nanos().min(60_000_000_000) as i64;
        let error = interval - self.mean;
        self.mean += error / WEIGHT;
        self.deviation += (error.abs() - self.deviation) / WEIGHT;
        self.heard = now;
    }

    /// Something else came in: it incarnations, but that says nothing about its heartbeat.
    pub fn word(&mut self, now: Moment) {
        self.heard = now;
    }

    /// When it was last heard.
    pub fn heard(&self) -> Moment {
        self.heard
    }

    /// How long it may be silent.
    pub fn patience(&self, timing: &Timing) -> Duration {
        let usual = Duration::from_nanos((self.mean + DEVIATIONS * self.deviation).max(0) as u64);
        usual.clamp(timing.silence_floor, timing.silence_ceiling)
    }

    /// When it is suspected if it stays silent.
    pub fn suspected_at(&self, timing: &Timing) -> Moment {
        self.heard + self.patience(timing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(intervals: impl IntoIterator<Item = u64>) -> Duration {
        let timing = Timing::default();
        let mut now = Moment(1 << 40);
        let mut pulse = Pulse::new(&timing, now);
        for interval in intervals {
            now = now + Duration::from_millis(interval);
            pulse.heartbeat(now);
        }
        pulse.patience(&timing)
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
