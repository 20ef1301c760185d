//! Time: one clock that only goes forward, also while the host is suspended.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A moment on this host's clock that never jumps and also runs while the host sleeps (`CLOCK_BOOTTIME`), in
/// nanoseconds. Moments of two hosts have nothing to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub u64);

impl Moment {
    /// Before everything.
    pub const ZERO: Moment = Moment(0);
    /// After everything.
    pub const NEVER: Moment = Moment(u64::MAX);

    /// How long after another moment this is; nothing if it is before it.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;
    fn add(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Moment {
    type Output = Moment;
    fn sub(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_sub(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The clock of this host.
///
/// With the cargo feature `fault-injection` it can be made to run faster or slower, by parts per million, and to show a
/// wrong time of day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    #[cfg(feature = "fault-injection")]
    rate_ppm: i32,
    #[cfg(feature = "fault-injection")]
    wall_seconds: i64,
}

impl Clock {
    /// The clock as it is.
    pub fn new() -> Self {
        Clock::default()
    }

    /// A clock that gains (or loses) this many parts in a million. Two such clocks with the same rate on one host show
    /// the same.
    #[cfg(feature = "fault-injection")]
    pub fn skewed(rate_ppm: i32) -> Self {
        Clock { rate_ppm, wall_seconds: 0 }
    }

    /// The same, with a time of day that is wrong by this many seconds.
    #[cfg(feature = "fault-injection")]
    pub fn with_wall_seconds(self, wall_seconds: i64) -> Self {
        Clock { wall_seconds, ..self }
    }

    /// The time of day, since 1970: for people, and for how long certificates are valid. Nothing else goes by it.
    pub fn time_of_day(&self) -> Duration {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let error = Duration::from_secs(self.wall_seconds().unsigned_abs());
        if self.wall_seconds() < 0 { since.saturating_sub(error) } else { since.saturating_add(error) }
    }

    /// What it shows.
    pub fn now(&self) -> Moment {
        let time = clock_gettime(ClockId::Boottime);
        self.shows(Moment(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
    }

    fn shows(&self, on_host: Moment) -> Moment {
        if self.rate_ppm() == 0 {
            return on_host;
        }
        let passed = i128::from(on_host.0);
        Moment((passed + passed * i128::from(self.rate_ppm()) / 1_000_000) as u64)
    }

    /// What the clock of the host shows when this one shows the moment, or very little later.
    pub(crate) fn on_host(&self, moment: Moment) -> Moment {
        if self.rate_ppm() == 0 {
            return moment;
        }
        let real = i128::from(moment.0) * 1_000_000 / (1_000_000 + i128::from(self.rate_ppm())).max(1);
        // Both this and the reading are rounded down.
        Moment(u64::try_from(real).unwrap_or(u64::MAX).saturating_add(2))
    }
}

#[cfg(feature = "fault-injection")]
impl Clock {
    fn rate_ppm(&self) -> i32 {
        self.rate_ppm
    }

    fn wall_seconds(&self) -> i64 {
        self.wall_seconds
    }
}

/// The clock is right: there is nothing to correct.
#[cfg(not(feature = "fault-injection"))]
impl Clock {
    fn rate_ppm(&self) -> i32 {
        0
    }

    fn wall_seconds(&self) -> i64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_forward_and_a_skewed_one_gains() {
        let (plain, fast) = (Clock::new(), Clock::skewed(10_000));
        let before = plain.now();
        let ahead = fast.now();
        assert!(plain.now() >= before);
        let gained = ahead.since(before);
        assert!(gained >= Duration::from_nanos(before.0 / 100), "{gained:?}");
    }

    #[test]
    fn a_wrong_time_of_day_changes_nothing_else() {
        let (right, ahead) = (Clock::new(), Clock::new().with_wall_seconds(86_400));
        let day = Duration::from_secs(86_400);
        let before = right.time_of_day();
        let gained = ahead.time_of_day().saturating_sub(before);
        assert!(gained >= day && gained < day * 2, "{gained:?}");
        assert!(right.time_of_day() > Clock::new().with_wall_seconds(-86_400).time_of_day());
        assert_eq!(right.shows(Moment(5)), ahead.shows(Moment(5)));
        assert_eq!(Clock::new().with_wall_seconds(i64::MIN).time_of_day(), Duration::ZERO);
    }

    #[test]
    fn a_moment_of_a_skewed_clock_is_found_on_that_of_the_host() {
        for rate_ppm in [-200_000, -7, 0, 1, 10_000, 999_999] {
            let clock = Clock::skewed(rate_ppm);
            for shown in [Moment(0), Moment(1), Moment(987_654_321_987_654)] {
                let there = clock.shows(clock.on_host(shown));
                assert!(there >= shown && there <= Moment(shown.0 + 5), "{rate_ppm}: {shown} is {there}");
            }
        }
    }

    #[test]
    fn moments_do_not_wrap() {
        assert_eq!(Moment::NEVER + Duration::from_secs(1), Moment::NEVER);
        assert_eq!(Moment(5) - Duration::from_secs(1), Moment::ZERO);
        assert_eq!(Moment(3).since(Moment(5)), Duration::ZERO);
    }
}
