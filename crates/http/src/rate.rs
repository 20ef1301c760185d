//! Requests per second: a token bucket for each known caller, each network of strangers, and each session.
//!
//! Whoever can only reach the address must not use up what callers who are known need, and nobody's other requests what
//! the renewal of a session needs. So a request is charged to the caller if it is known by a token or a certificate,
//! and else to the network that it came from; and the renewals of a session to the session alone.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// How many payers of each kind are remembered. When there are more, the one that has not been seen for longest is
/// forgotten.
const MAX_BUCKETS: usize = 4096;
/// How many seconds' worth of requests may come at once.
const BURST_SECONDS: f64 = 2.0;
/// How often one session may be renewed in a second. The shortest one needs 30.
const RENEWALS_PER_SECOND: f64 = 100.0;

/// Whom a request is charged to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Payer {
    /// Whoever is in this network.
    Network(IpAddr),
    /// The caller with this name.
    Caller(Arc<str>),
}

impl Payer {
    /// The network of this address.
    pub(crate) fn stranger(address: IpAddr) -> Payer {
        Payer::Network(network(address))
    }
}

/// Limits the requests of each payer.
pub(crate) struct RateLimit {
    per_second: f64,
    networks: Buckets<IpAddr>,
    callers: Buckets<Arc<str>>,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32) -> RateLimit {
        RateLimit { per_second: f64::from(per_second), networks: Buckets::default(), callers: Buckets::default() }
    }

    /// Whether a payer may send one more request now.
    pub(crate) fn allows(&self, payer: &Payer, now: Instant) -> bool {
        match payer {
            Payer::Network(network) => self.networks.take(network, self.per_second, now),
            Payer::Caller(name) => self.callers.take(name, self.per_second, now),
        }
    }
}

struct Buckets<K>(Mutex<HashMap<K, Bucket>>);

impl<K> Default for Buckets<K> {
    fn default() -> Self {
        Buckets(Mutex::default())
    }
}

/// A token bucket.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    filled: Instant,
}

impl Bucket {
    fn full(per_second: f64, now: Instant) -> Bucket {
        Bucket { left: per_second * BURST_SECONDS, filled: now }
    }

    /// Takes a token, if there is one.
    fn take(&mut self, per_second: f64, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.left = (self.left + passed * per_second).min(per_second * BURST_SECONDS);
        self.filled = now;
        let is_allowed = self.left >= 1.0;
        if is_allowed {
            self.left -= 1.0;
        }
        is_allowed
    }
}

/// The renewals of one session.
pub(crate) struct Renewals(Mutex<Bucket>);

impl Renewals {
    pub(crate) fn new(now: Instant) -> Renewals {
        Renewals(Mutex::new(Bucket::full(RENEWALS_PER_SECOND, now)))
    }

    /// Whether there may be one more now.
    pub(crate) fn allow(&self, now: Instant) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(RENEWALS_PER_SECOND, now)
    }
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    fn take(&self, key: &K, per_second: f64, now: Instant) -> bool {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(key) {
            let oldest = buckets.iter().min_by_key(|(_, bucket)| bucket.filled).map(|(key, _)| key.clone());
            oldest.iter().for_each(|key| _ = buckets.remove(key));
        }
        buckets.entry(key.clone()).or_insert_with(|| Bucket::full(per_second, now)).take(per_second, now)
    }
}

/// An IPv6 host has a whole network of addresses: /64.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into())
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn stranger(address: &str) -> Payer {
        Payer::stranger(address.parse().expect("an address"))
    }

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let limit = RateLimit::new(10);
        let start = Instant::now();
        let allowed = |at: Duration| limit.allows(&stranger("10.0.0.1"), start + at);
        assert_eq!((0..30).filter(|_| allowed(Duration::ZERO)).count(), 20);
        assert_eq!((0..30).filter(|_| allowed(Duration::from_millis(500))).count(), 5);
        assert!(limit.allows(&stranger("10.0.0.2"), start), "others are not affected");
        assert!(limit.allows(&Payer::Caller("token:x".into()), start), "nor is a caller who is known");
        assert_eq!((0..30).filter(|_| allowed(Duration::from_secs(60))).count(), 20, "a long pause saves no more");
    }

    #[test]
    fn sessions_have_a_lane_of_their_own() {
        let start = Instant::now();
        let [one, other] = [start; 2].map(Renewals::new);
        let burst = (RENEWALS_PER_SECOND * BURST_SECONDS) as usize;
        assert_eq!((0..2 * burst).filter(|_| one.allow(start)).count(), burst);
        assert!(other.allow(start));
    }

    #[test]
    fn addresses_of_one_network_share_a_bucket_and_the_oldest_is_forgotten() {
        let limit = RateLimit::new(1);
        let start = Instant::now();
        let hosts = (0..9_u128).map(|host| Payer::stranger(IpAddr::V6(((0x2001_0db8 << 96) | host).into())));
        assert_eq!(hosts.filter(|host| limit.allows(host, start)).count(), 2);
        let host = |number: u32| Payer::stranger(IpAddr::V4((0x0a00_0000 + number).into()));
        let at = |number: u32| start + Duration::from_micros(number.into());
        for number in 1..2 * MAX_BUCKETS as u32 {
            assert!(limit.allows(&host(number), at(number)), "one who comes late is served as well");
        }
        assert_eq!(limit.networks.0.lock().expect("no panic").len(), MAX_BUCKETS);
        let last = 2 * MAX_BUCKETS as u32 - 1;
        let allowed = (0..9).filter(|_| limit.allows(&host(last), at(last))).count();
        assert_eq!(allowed, 1, "the newest are remembered");
    }
}
