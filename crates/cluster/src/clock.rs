//! The clock: monotonic, and running while the host is suspended.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A point in time on this host's `CLOCK_BOOTTIME`, in nanoseconds. It never jumps, and it advances while the host is
/// suspended. Timestamps of different hosts cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The earliest timestamp.
    pub const ZERO: Timestamp = Timestamp(0);
    /// Later than every other timestamp: a deadline that never comes.
    pub const NEVER: Timestamp = Timestamp(u64::MAX);

    /// The duration since an earlier timestamp; zero if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;
    fn add(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;
    fn sub(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The clock of this host.
///
/// With the cargo feature `fault-injection`, tests of the safety margins can make it run faster or slower, in parts per
/// million, and shift its wall time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    #[cfg(feature = "fault-injection")]
    rate_ppm: i32,
    #[cfg(feature = "fault-injection")]
    wall_offset_seconds: i64,
}

impl Clock {
    /// An exact clock.
    pub fn new() -> Self {
        Clock::default()
    }

    /// A clock that runs fast by this many parts per million; slow if negative. Two clocks with the same rate on one
    /// host agree.
    #[cfg(feature = "fault-injection")]
    pub fn skewed(rate_ppm: i32) -> Self {
        Clock { rate_ppm, wall_offset_seconds: 0 }
    }

    /// The same clock with its wall time shifted by this many seconds.
    #[cfg(feature = "fault-injection")]
    pub fn with_wall_seconds(self, wall_offset_seconds: i64) -> Self {
        Clock { wall_offset_seconds, ..self }
    }

    /// The wall time since 1970. It is used for display and for the validity of certificates, and for nothing else.
    pub(crate) fn wall_time(&self) -> Duration {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let error = Duration::from_secs(self.wall_offset_seconds().unsigned_abs());
        if self.wall_offset_seconds() < 0 { since.saturating_sub(error) } else { since.saturating_add(error) }
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        let time = clock_gettime(ClockId::Boottime);
        self.at_host_time(Timestamp(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
    }

    fn at_host_time(&self, host_time: Timestamp) -> Timestamp {
        if self.rate_ppm() == 0 {
            return host_time;
        }
        let passed = i128::from(host_time.0);
        Timestamp((passed + passed * i128::from(self.rate_ppm()) / 1_000_000) as u64)
    }

    /// The host time at which this clock shows `timestamp`, or slightly later.
    pub(crate) fn host_time_at(&self, timestamp: Timestamp) -> Timestamp {
        if self.rate_ppm() == 0 {
            return timestamp;
        }
        let real = i128::from(timestamp.0) * 1_000_000 / (1_000_000 + i128::from(self.rate_ppm())).max(1);
        // Both conversions round down.
        Timestamp(u64::try_from(real).unwrap_or(u64::MAX).saturating_add(2))
    }
}

#[cfg(feature = "fault-injection")]
impl Clock {
    fn rate_ppm(&self) -> i32 {
        self.rate_ppm
    }

    fn wall_offset_seconds(&self) -> i64 {
        self.wall_offset_seconds
    }
}

/// The clock is right: there is nothing to correct.
#[cfg(not(feature = "fault-injection"))]
impl Clock {
    fn rate_ppm(&self) -> i32 {
        0
    }

    fn wall_offset_seconds(&self) -> i64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_monotonic_and_a_skewed_clock_runs_fast() {
        let (plain, fast) = (Clock::new(), Clock::skewed(10_000));
        let before = plain.now();
        let ahead = fast.now();
        assert!(plain.now() >= before);
        let gained = ahead.since(before);
        assert!(gained >= Duration::from_nanos(before.0 / 100), "{gained:?}");
    }

    #[test]
    fn a_wall_offset_does_not_change_the_monotonic_time() {
        let (right, ahead) = (Clock::new(), Clock::new().with_wall_seconds(86_400));
        let day = Duration::from_secs(86_400);
        let before = right.wall_time();
        let gained = ahead.wall_time().saturating_sub(before);
        assert!(gained >= day && gained < day * 2, "{gained:?}");
        assert!(right.wall_time() > Clock::new().with_wall_seconds(-86_400).wall_time());
        assert_eq!(right.at_host_time(Timestamp(5)), ahead.at_host_time(Timestamp(5)));
        assert_eq!(Clock::new().with_wall_seconds(i64::MIN).wall_time(), Duration::ZERO);
    }

    #[test]
    fn host_time_round_trips_through_a_skewed_clock() {
        for rate_ppm in [-200_000, -7, 0, 1, 10_000, 999_999] {
            let clock = Clock::skewed(rate_ppm);
            for shown in [Timestamp(0), Timestamp(1), Timestamp(987_654_321_987_654)] {
                let there = clock.at_host_time(clock.host_time_at(shown));
                assert!(there >= shown && there <= Timestamp(shown.0 + 5), "{rate_ppm}: {shown} is {there}");
            }
        }
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Timestamp::NEVER + Duration::from_secs(1), Timestamp::NEVER);
        assert_eq!(Timestamp(5) - Duration::from_secs(1), Timestamp::ZERO);
        assert_eq!(Timestamp(3).since(Timestamp(5)), Duration::ZERO);
    }
}
