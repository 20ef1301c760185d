//! How much a visitor of a class may ask for.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A bucket of tokens for each visitor: a request takes some, and they come back with time.
#[derive(Debug)]
pub(super) struct Quota {
    visitors: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    last: Instant,
}

/// What a visitor can do at once, and how many tokens come back in a second. A class room behind one address shares
/// them, so they are generous.
const FULL: f64 = 120.0;
const PER_SECOND: f64 = 20.0;
/// The number of visitors that are remembered. Those with full buckets are forgotten first.
const MAX_VISITORS: usize = 10_000;

impl Quota {
    pub(super) fn new() -> Self {
        Quota { visitors: Mutex::new(HashMap::new()) }
    }

    /// Takes tokens; otherwise the number of seconds after which there are enough.
    pub(super) fn take(&self, visitor: IpAddr, cost: f64, now: Instant) -> Result<(), u64> {
        let mut visitors = self.visitors.lock().unwrap_or_else(PoisonError::into_inner);
        if visitors.len() >= MAX_VISITORS && !visitors.contains_key(&visitor) {
            visitors.retain(|_, bucket| bucket.at(now).tokens < FULL);
            if visitors.len() >= MAX_VISITORS {
                return Err(1);
            }
        }
        let bucket = visitors.entry(visitor).or_insert(Bucket { tokens: FULL, last: now });
        *bucket = bucket.at(now);
        if bucket.tokens < cost {
            return Err(((cost - bucket.tokens) / PER_SECOND).ceil() as u64);
        }
        bucket.tokens -= cost;
        Ok(())
    }
}

impl Bucket {
    fn at(self, now: Instant) -> Self {
        let earned = now.saturating_duration_since(self.last).as_secs_f64() * PER_SECOND;
        Bucket { tokens: (self.tokens + earned).min(FULL), last: now }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_visitor_cannot_ask_without_end_and_does_not_hinder_others() {
        let (quota, now) = (Quota::new(), Instant::now());
        let [one, other] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let taken = (0..1000).take_while(|_| quota.take(one, 4.0, now).is_ok()).count();
        assert_eq!(taken, 30);
        assert_eq!(quota.take(one, 4.0, now), Err(1));
        assert_eq!(quota.take(other, 4.0, now), Ok(()));
        assert_eq!(quota.take(one, 4.0, now + Duration::from_secs(1)), Ok(()));
    }

    #[test]
    fn the_number_of_visitors_is_bounded() {
        let (quota, now) = (Quota::new(), Instant::now());
        for number in 0..MAX_VISITORS as u32 {
            assert_eq!(quota.take(IpAddr::from(number.to_be_bytes()), 1.0, now), Ok(()));
        }
        let late = IpAddr::from([200, 0, 0, 1]);
        assert_eq!(quota.take(late, 1.0, now), Err(1));
        assert_eq!(quota.take(late, 1.0, now + Duration::from_secs(1)), Ok(()), "the others are forgotten");
    }
}
