//! Limits the rate of a peer's frames.

use std::time::Duration;

use crate::clock::Timestamp;

/// A token bucket, stored as the time at which it would be full again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TokenBucket {
    full_at: Timestamp,
    each: Duration,
    size: Duration,
}

impl TokenBucket {
    pub(super) fn new(per_second: u32, burst: u32) -> Self {
        let each = Duration::from_secs(1) / per_second.max(1);
        TokenBucket { full_at: Timestamp::ZERO, each, size: each * burst.max(1) }
    }

    /// Whether a token is available.
    pub(super) fn has_token(&self, now: Timestamp) -> bool {
        self.full_at.since(now) + self.each <= self.size
    }

    /// Takes a token.
    pub(super) fn take(&mut self, now: Timestamp) {
        self.full_at = self.full_at.max(now) + self.each;
    }

    /// When this many tokens are available, if none is taken until then.
    pub(super) fn available_at(&self, count: u32) -> Timestamp {
        let wanted = (self.each * count).min(self.size);
        self.full_at + wanted - self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_a_burst_and_then_the_sustained_rate() {
        let mut token_bucket = TokenBucket::new(100, 5);
        let mut now = Timestamp(1_000_000_000);
        let mut drain = |now: Timestamp| {
            let mut taken = 0;
            while token_bucket.has_token(now) {
                token_bucket.take(now);
                taken += 1;
            }
            (taken, token_bucket.available_at(2))
        };
        let (taken, again) = drain(now);
        assert_eq!((taken, again.since(now)), (5, Duration::from_millis(20)));
        now = again;
        assert_eq!(drain(now).0, 2);
        assert_eq!(drain(now + Duration::from_secs(9)).0, 5, "it does not overflow");
    }
}
