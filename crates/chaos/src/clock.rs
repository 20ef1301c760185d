//! The clock of the history, and the skewed clocks of nodes.

use rustix::time::{ClockId, clock_gettime};

/// A millisecond in nanoseconds.
pub(crate) const MILLISECOND: u64 = 1_000_000;

/// The machine's `CLOCK_BOOTTIME` in nanoseconds. All moments of a history are read from this clock.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The clock of a node that was started with `--test-clock-ppm`. The node's deadlines are moments of this clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HostClock {
    /// How many parts in a million the clock gains.
    pub(crate) ppm: i32,
}

impl HostClock {
    /// The moment of the machine's clock at which this clock shows `shown`.
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
    fn converts_a_skewed_moment_to_the_machine_s_clock() {
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
