//! How long writes take, counted by the disk thread and read by the node.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::api::Histogram;

/// The upper bounds of the buckets, in microseconds.
const BOUNDS_US: [u64; 11] = [250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];

/// The distribution of the times that writes took.
#[derive(Debug, Default)]
pub(super) struct WriteLatencies {
    counts: [AtomicU64; BOUNDS_US.len() + 1],
    sum_ns: AtomicU64,
}

impl WriteLatencies {
    pub(super) fn record(&self, took: Duration) {
        let bucket = BOUNDS_US.partition_point(|bound| Duration::from_micros(*bound) < took);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(super) fn to_histogram(&self) -> Histogram {
        let count = |bucket: &AtomicU64| bucket.load(Ordering::Relaxed);
        let buckets = BOUNDS_US.iter().zip(&self.counts).map(|(bound, bucket)| (bound * 1_000, count(bucket)));
        Histogram {
            buckets: buckets.collect(),
            above: self.counts.last().map_or(0, count),
            sum_ns: self.sum_ns.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_up_to_the_first_bound_that_it_does_not_exceed() {
        let latencies = WriteLatencies::default();
        [0, 250, 251, 1_000_000, 1_000_001].into_iter().for_each(|us| latencies.record(Duration::from_micros(us)));
        let histogram = latencies.to_histogram();
        assert_eq!((histogram.buckets[0], histogram.buckets[1]), ((250_000, 2), (500_000, 1)));
        assert_eq!((histogram.buckets.last(), histogram.above), (Some(&(1_000_000_000, 1)), 1));
        assert_eq!(histogram.sum_ns, 2_000_502_000);
    }
}
