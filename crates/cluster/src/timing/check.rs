//! Validates the timing of a node.

use std::time::Duration;

use humantime::format_duration;

use super::Timing;

/// Every duration must be shorter than this.
const MAX_DURATION: Duration = Duration::from_secs(3600);
/// Clocks with a larger drift (10 %) are broken.
const MAX_DRIFT_PPM: u32 = 100_000;

/// Why the timing is invalid. Names are those of the `[timing]` table of the configuration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TimingError {
    /// A duration is zero that must not be.
    #[error("timing.{name} is 0s: it must be greater than zero")]
    Zero {
        /// The name of the duration.
        name: &'static str,
    },
    /// A duration is too long.
    #[error("timing.{name} is {}: it must be shorter than an hour", format_duration(*value))]
    TooLong {
        /// The name of the duration.
        name: &'static str,
        /// The value.
        value: Duration,
    },
    /// The drift is too large.
    #[error("timing.drift-ppm is {drift_ppm}: it must be below {MAX_DRIFT_PPM} steps per million, which is 10 %")]
    Drift {
        /// The value.
        drift_ppm: u32,
    },
    /// The silence floor is shorter than two heartbeats.
    #[error(
        "timing.silence-floor is {}: it must be at least two heartbeats, 2 x {} = {}",
        format_duration(*floor), format_duration(*heartbeat), format_duration(heartbeat.saturating_mul(2))
    )]
    Floor {
        /// The silence floor.
        floor: Duration,
        /// The heartbeat.
        heartbeat: Duration,
    },
    /// The silence ceiling is below the floor.
    #[error(
        "timing.silence-ceiling is {}: it must be at least timing.silence-floor, {}",
        format_duration(*ceiling), format_duration(*floor)
    )]
    Ceiling {
        /// The silence ceiling.
        ceiling: Duration,
        /// The shortest silence.
        floor: Duration,
    },
    /// The lease is so short that a holder would lose it after one or two late heartbeats.
    #[error(
        "timing.lease is {}: less {drift_ppm} ppm of drift and {} to stop it leaves {}, but it must leave more than the \
         confirmed heartbeat and two missed ones, 3 x {} = {}",
        format_duration(*lease), format_duration(*stop), format_duration(*left), format_duration(*heartbeat),
        format_duration(heartbeat.saturating_mul(3))
    )]
    Lease {
        /// The lease.
        lease: Duration,
        /// The drift.
        drift_ppm: u32,
        /// The time that a holder needs to stop.
        stop: Duration,
        /// The part of the lease in which the holder works.
        left: Duration,
        /// How often there is a heartbeat.
        heartbeat: Duration,
    },
}

impl Timing {
    /// Fails with the first violated rule.
    pub fn check(&self) -> Result<(), TimingError> {
        for (name, value) in self.named() {
            if value >= MAX_DURATION {
                return Err(TimingError::TooLong { name, value });
            }
        }
        for (name, value) in [("heartbeat", self.heartbeat), ("tick", self.tick)] {
            if value.is_zero() {
                return Err(TimingError::Zero { name });
            }
        }
        let Timing { heartbeat, silence_floor: floor, silence_ceiling: ceiling, lease, drift_ppm, stop, .. } = *self;
        if drift_ppm >= MAX_DRIFT_PPM {
            return Err(TimingError::Drift { drift_ppm });
        }
        if floor < heartbeat * 2 {
            return Err(TimingError::Floor { floor, heartbeat });
        }
        if ceiling < floor {
            return Err(TimingError::Ceiling { ceiling, floor });
        }
        let left = self.working_lease();
        if left <= heartbeat * 3 {
            return Err(TimingError::Lease { lease, drift_ppm, stop, left, heartbeat });
        }
        Ok(())
    }

    /// Every duration, with its name in the configuration.
    pub(crate) fn named(&self) -> [(&'static str, Duration); 8] {
        [
            ("heartbeat", self.heartbeat),
            ("silence-floor", self.silence_floor),
            ("silence-ceiling", self.silence_ceiling),
            ("lease", self.lease),
            ("stop", self.stop),
            ("tick", self.tick),
            ("settle", self.settle),
            ("hand-over", self.hand_over),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::LEASE_MARGIN;
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn refused(change: impl FnOnce(&mut Timing)) -> String {
        let mut timing = Timing::default();
        change(&mut timing);
        timing.check().expect_err("the change breaks a relation").to_string()
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(Timing::default().check(), Ok(()));
    }

    #[test]
    fn errors_name_the_violated_rule_and_its_numbers() {
        assert_eq!(refused(|t| t.heartbeat = ms(0)), "timing.heartbeat is 0s: it must be greater than zero");
        assert_eq!(refused(|t| t.tick = ms(0)), "timing.tick is 0s: it must be greater than zero");
        assert_eq!(refused(|t| t.settle = MAX_DURATION), "timing.settle is 1h: it must be shorter than an hour");
        assert!(refused(|t| t.drift_ppm = 100_000).starts_with("timing.drift-ppm is 100000: it must be below 100000"));
        assert_eq!(
            refused(|t| t.silence_floor = ms(99)),
            "timing.silence-floor is 99ms: it must be at least two heartbeats, 2 x 50ms = 100ms"
        );
        assert_eq!(
            refused(|t| t.silence_ceiling = ms(149)),
            "timing.silence-ceiling is 149ms: it must be at least timing.silence-floor, 150ms"
        );
        assert_eq!(
            refused(|t| t.lease = ms(160)),
            "timing.lease is 160ms: less 10000 ppm of drift and 10ms to stop it leaves 148ms 400us, but it must leave \
             more than the confirmed heartbeat and two missed ones, 3 x 50ms = 150ms"
        );
    }

    #[test]
    fn accepts_values_at_the_boundary() {
        let just = Timing { silence_floor: ms(100), silence_ceiling: ms(100), drift_ppm: 0, ..Timing::default() };
        assert_eq!(Timing { lease: ms(160) + Duration::from_nanos(1), ..just }.check(), Ok(()));
        assert!(matches!(Timing { lease: ms(160), ..just }.check(), Err(TimingError::Lease { .. })));
        assert_eq!(Timing { drift_ppm: 99_999, ..just }.check(), Ok(()));
    }

    #[test]
    fn rejects_huge_values_without_overflow() {
        let absurd = Timing { lease: Duration::MAX, drift_ppm: u32::MAX, stop: Duration::MAX, ..Timing::default() };
        assert!(absurd.check().is_err());
        assert_eq!((absurd.holder_lease(), absurd.working_lease()), (Duration::ZERO, Duration::ZERO));
        assert!(absurd.takeover_delay() > ms(1));
    }

    fn short() -> impl Strategy<Value = Duration> {
        (0..4_000_000_000_u64).prop_map(Duration::from_nanos)
    }

    prop_compose! {
        fn timings()(
            heartbeat in 1..100_000_000_u64, times in proptest::array::uniform7(short()), drift_ppm in 0..105_000_u32,
        ) -> Timing {
            let heartbeat = Duration::from_nanos(heartbeat);
            let [over_floor, over_ceiling, over_lease, stop, tick, settle, hand_over] = times;
            let silence_floor = heartbeat * 2 + over_floor;
            let silence_ceiling = silence_floor + over_ceiling;
            // Most, but not all, of these leases are long enough for the drift.
            let lease = heartbeat * 3 + stop + over_lease;
            Timing { heartbeat, silence_floor, silence_ceiling, lease, drift_ppm, stop, tick, settle, hand_over }
        }
    }

    proptest! {
        /// With the slowest holder's clock and the fastest arbiter's clock that the drift allows, the holder still
        /// stops before the arbiter stops waiting, by nearly the whole margin of real time.
        #[test]
        fn a_holder_stops_before_the_next_one_begins(timing in timings()) {
            prop_assume!(timing.check().is_ok());
            let drift = u128::from(timing.drift_ppm);
            // Nanoseconds of real time, times a million, so that the arithmetic is exact.
            let scale = 1_000_000_u128;
            let holds = timing.holder_lease().as_nanos() * scale * scale / (scale - drift);
            let waits = timing.takeover_delay().as_nanos() * scale * scale / (scale + drift);
            let safety = LEASE_MARGIN.as_nanos() * scale * 9 / 10;
            prop_assert!(holds + safety < waits, "{timing:?}: {holds} {waits}");
            prop_assert!(timing.holder_lease() + LEASE_MARGIN <= timing.takeover_delay());
            prop_assert!(timing.working_lease() + timing.stop <= timing.holder_lease());
        }
    }
}
