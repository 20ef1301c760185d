//! The clock everything is measured by, and the clocks of hosts that go wrong.

use rustix::time::{ClockId, clock_gettime};

/// A millisecond in nanoseconds.
pub(crate) const MILLISECOND: u64 = 1_000_000;

/// What this machine's `CLOCK_BOOTTIME` shows, in nanoseconds. All moments of a history are of this clock.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The clock of a host that gains (or loses) so many parts in a million: what a node started with `--test-clock-ppm`
/// reads, and what its deadlines are given in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HostClock {
    /// How many parts in a million it gains.
    pub(crate) ppm: i32,
}

impl HostClock {
    /// When this machine's clock shows what is a deadline on the host's clock.
    pub(crate) fn real(self, shown: u64) -> u64 {
        let real = i128::from(shown) * 1_000_000 / (1_000_000 + i128::from(self.ppm)).max(1);
        u64::try_from(real).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hustings_cluster::clock::Clock;

    #[test]
    fn a_deadline_of_a_skewed_clock_is_found_on_the_real_one() {
        for ppm in [-9000, -1, 0, 1, 4900, 9000] {
            let before = now();
            let shown = Clock::skewed(ppm).now().0;
            let after = now();
            let real = HostClock { ppm }.real(shown);
            assert!((before - 2..=after + 2).contains(&real), "{ppm} ppm: {before} <= {real} <= {after}");
        }
        assert_eq!(HostClock { ppm: 0 }.real(u64::MAX), u64::MAX);
    }
}
