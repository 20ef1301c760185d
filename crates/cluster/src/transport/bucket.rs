//! How many frames a peer may send: so many a second, and so many at once.

use std::time::Duration;

use crate::clock::Moment;

/// A bucket that fills with time. It is kept as the moment at which it would be full again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bucket {
    full_at: Moment,
    each: Duration,
    size: Duration,
}

impl Bucket {
    pub(super) fn new(a_second: u32, burst: u32) -> Self {
        let each = Duration::from_secs(1) / a_second.max(1);
        Bucket { full_at: Moment::ZERO, each, size: each * burst.max(1) }
    }

    /// Whether one can be taken.
    pub(super) fn has_one(&self, now: Moment) -> bool {
        self.full_at.since(now) + self.each <= self.size
    }

    /// Takes one.
    pub(super) fn take(&mut self, now: Moment) {
        self.full_at = self.full_at.max(now) + self.each;
    }

    /// When so many can be taken, if nothing is taken until then.
    pub(super) fn has_at(&self, count: u32) -> Moment {
        let wanted = (self.each * count).min(self.size);
        self.full_at + wanted - self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_only_the_rate() {
        let mut bucket = Bucket::new(100, 5);
        let mut now = Moment(1_000_000_000);
        let mut drain = |now: Moment| {
            let mut taken = 0;
            while bucket.has_one(now) {
                bucket.take(now);
                taken += 1;
            }
            (taken, bucket.has_at(2))
        };
        let (taken, again) = drain(now);
        assert_eq!((taken, again.since(now)), (5, Duration::from_millis(20)));
        now = again;
        assert_eq!(drain(now).0, 2);
        assert_eq!(drain(now + Duration::from_secs(9)).0, 5, "it does not overflow");
    }
}
