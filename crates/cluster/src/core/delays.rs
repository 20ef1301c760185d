//! How late the core was called. A delay is the doing of this host: the node was not scheduled, or had too much to do.

use std::time::Duration;

use crate::api::Histogram;
use crate::clock::Timestamp;

/// The upper bounds of the buckets, in milliseconds.
const BOUNDS_MS: [u64; 9] = [1, 2, 5, 10, 20, 40, 100, 300, 1_000];
/// When the core is called later than it asked for by more than this, the process was paused. It then does not hold the
/// silence of its peers against them.
pub(super) const PAUSE_THRESHOLD: Duration = Duration::from_millis(40);

/// A delay that was long enough to be noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Delay {
    /// When it ended.
    pub(crate) ended: Timestamp,
    pub(crate) took: Duration,
}

/// What was measured since the start.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    counts: [u64; BOUNDS_MS.len() + 1],
    sum: Duration,
    last: Option<Delay>,
}

impl Delays {
    /// The core was called at this time, when something was due that much earlier. Returns whether the process was
    /// paused.
    pub(super) fn record(&mut self, took: Duration, ended: Timestamp) -> bool {
        self.counts[BOUNDS_MS.partition_point(|bound| Duration::from_millis(*bound) < took)] += 1;
        self.sum += took;
        let is_pause = took > PAUSE_THRESHOLD;
        if is_pause {
            self.last = Some(Delay { ended, took });
        }
        is_pause
    }

    /// The last pause.
    pub(crate) fn last(&self) -> Option<Delay> {
        self.last
    }

    pub(crate) fn to_histogram(&self) -> Histogram {
        let buckets = BOUNDS_MS.iter().zip(self.counts).map(|(bound, count)| (bound * 1_000_000, count));
        let above = self.counts.last().copied().unwrap_or_default();
        Histogram { buckets: buckets.collect(), above, sum_ns: self.sum.as_nanos() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_delay_is_remembered_and_every_one_is_counted() {
        let mut delays = Delays::default();
        let ms = Duration::from_millis;
        assert!(!delays.record(ms(0), Timestamp(1)) && !delays.record(PAUSE_THRESHOLD, Timestamp(2)));
        assert_eq!(delays.last(), None);
        assert!(delays.record(ms(180), Timestamp(3)) && !delays.record(ms(2), Timestamp(4)));
        assert_eq!(delays.last(), Some(Delay { ended: Timestamp(3), took: ms(180) }));
        let histogram = delays.to_histogram();
        let of = |bound: u64| histogram.buckets.iter().find(|(known, _)| *known == bound * 1_000_000).map(|(_, n)| *n);
        assert_eq!([of(1), of(2), of(40), of(300)], [Some(1); 4]);
        assert_eq!((histogram.above, histogram.sum_ns), (0, 222_000_000));
    }
}
