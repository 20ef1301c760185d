//! Requests per second: a token bucket for each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many addresses are remembered. When there are more, those that have not been seen for long are forgotten.
const MAX_ADDRESSES: usize = 4096;
/// How many seconds' worth of requests may come at once.
const BURST_SECONDS: f64 = 2.0;

/// Limits the requests of each address.
pub(crate) struct RateLimit {
    per_second: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

struct Bucket {
    left: f64,
    filled: Instant,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32) -> RateLimit {
        RateLimit { per_second: f64::from(per_second), buckets: Mutex::default() }
    }

    /// Whether an address may send one more request now.
    pub(crate) fn allows(&self, address: IpAddr, now: Instant) -> bool {
        let (address, burst) = (key(address), self.per_second * BURST_SECONDS);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_ADDRESSES && !buckets.contains_key(&address) {
            // A bucket that has had this long is full again, and need not be remembered.
            let long = Duration::from_secs_f64(BURST_SECONDS);
            buckets.retain(|_, bucket| now.saturating_duration_since(bucket.filled) < long);
            if buckets.len() >= MAX_ADDRESSES {
                return false;
            }
        }
        let bucket = buckets.entry(address).or_insert(Bucket { left: burst, filled: now });
        let passed = now.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.left = (bucket.left + passed * self.per_second).min(burst);
        bucket.filled = now;
        let is_allowed = bucket.left >= 1.0;
        if is_allowed {
            bucket.left -= 1.0;
        }
        is_allowed
    }
}

/// An IPv6 host has a whole network of addresses: /64.
fn key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into())
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let limit = RateLimit::new(10);
        let start = Instant::now();
        let address = "10.0.0.1".parse().expect("an address");
        let allowed = |at: Duration| limit.allows(address, start + at);
        assert_eq!((0..30).filter(|_| allowed(Duration::ZERO)).count(), 20);
        assert_eq!((0..30).filter(|_| allowed(Duration::from_millis(500))).count(), 5);
        assert!(limit.allows("10.0.0.2".parse().expect("an address"), start), "others are not affected");
        assert_eq!((0..30).filter(|_| allowed(Duration::from_secs(60))).count(), 20, "a long pause saves no more");
    }

    #[test]
    fn addresses_of_one_network_share_a_bucket_and_memory_is_bounded() {
        let limit = RateLimit::new(1);
        let start = Instant::now();
        let hosts = (0..9_u128).map(|host| IpAddr::V6(((0x2001_0db8 << 96) | host).into()));
        assert_eq!(hosts.filter(|host| limit.allows(*host, start)).count(), 2);
        let many = (0..2 * MAX_ADDRESSES as u32).map(|host| IpAddr::V4((0x0a00_0000 + host).into()));
        many.for_each(|host| _ = limit.allows(host, start));
        assert!(limit.buckets.lock().expect("no panic").len() <= MAX_ADDRESSES);
        assert!(limit.allows("10.9.9.9".parse().expect("an address"), start + Duration::from_secs(3)));
    }
}
