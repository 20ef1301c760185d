//! Run numbers, and the starter's fallback: "if proposed algorithms didn't work then the original algorithm will be
//! done".
//!
//! Every message carries a run number. A node takes part in the newest run that it knows and drops older messages. Even
//! numbers are elections by the algorithm's own rules; odd numbers are fallbacks: token-ring, started by a starter that
//! received no `coordinator` in time.

use hustings_protocol::{Context, Protocol, Timer};
use serde::{Deserialize, Serialize};

/// The number of a run. It may wrap around: the number ahead by less than half the range is newer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunNumber(u16);

impl RunNumber {
    /// The next election by the algorithm's own rules.
    pub(super) fn next(self) -> RunNumber {
        RunNumber((self.0 | 1).wrapping_add(1))
    }

    /// The next fallback.
    pub(super) fn next_fallback(self) -> RunNumber {
        RunNumber(self.0.wrapping_add(1) | 1)
    }

    /// Whether it is a fallback.
    #[inline(always)]
    pub(super) fn is_fallback(self) -> bool {
        self.0 & 1 == 1
    }

    /// Joins a newer run: calls `enter` and restarts the timeout. Returns whether `other` is the newest run now.
    #[inline(always)]
    pub(super) fn join<P: Protocol, C: Context<P>>(
        &mut self,
        other: RunNumber,
        timeout: &mut CoordinatorTimeout,
        backoff: u64,
        cx: &mut C,
        enter: impl FnOnce(),
    ) -> bool {
        if self.is_older_than(other) {
            *self = other;
            enter();
            timeout.extend(coordinator_timeout(cx.size(), backoff), cx);
        }
        *self == other
    }

    /// Whether the other run is newer.
    #[inline(always)]
    pub(super) fn is_older_than(self, other: RunNumber) -> bool {
        (other.0.wrapping_sub(self.0) as i16) > 0
    }
}

impl From<RunNumber> for u32 {
    fn from(run: RunNumber) -> u32 {
        run.0.into()
    }
}

/// A starter's timeout for a `coordinator`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct CoordinatorTimeout {
    /// The token of the current timer.
    serial: u8,
    /// The number of timeouts started so far; 0: none is pending.
    waits: u8,
}

/// The kind of its timer.
const COORDINATOR_TIMEOUT: u8 = 0;

/// The number of doublings of the timeout. Slow links get more time with each fallback, and a network that is cut for
/// good is eventually left alone.
const MAX_WAITS: u8 = 10;

impl CoordinatorTimeout {
    /// Starts the timeout: `ticks`, doubled after each failure.
    pub(super) fn start<P: Protocol, C: Context<P>>(&mut self, ticks: u64, cx: &mut C) {
        if self.waits >= MAX_WAITS {
            self.waits = 0;
            return;
        }
        self.serial = self.serial.wrapping_add(1);
        cx.set_timer(
            ticks.saturating_mul(1 << self.waits),
            Timer { kind: COORDINATOR_TIMEOUT, token: self.serial.into() },
        );
        self.waits += 1;
    }

    /// Restarts a pending timeout for a newer run.
    pub(super) fn extend<P: Protocol, C: Context<P>>(&mut self, ticks: u64, cx: &mut C) {
        if self.waits > 0 {
            self.waits -= 1;
            self.start(ticks, cx);
        }
    }

    /// Cancels it: a `coordinator` came.
    #[inline(always)]
    pub(super) fn cancel(&mut self) {
        self.waits = 0;
    }

    /// Whether this timer is the end of the timeout.
    pub(super) fn is_due(self, timer: Timer) -> bool {
        self.waits > 0 && timer == Timer { kind: COORDINATOR_TIMEOUT, token: self.serial.into() }
    }
}

/// The timeout of a starter among this many members with this backoff.
pub(super) fn coordinator_timeout(size: u32, backoff: u64) -> u64 {
    (8 * u64::from(size)).saturating_mul(backoff.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elections_are_even_fallbacks_odd_and_each_is_newer() {
        let first = RunNumber::default().next();
        let resort = first.next_fallback();
        assert_eq!(
            (first, resort, resort.next_fallback(), resort.next()),
            (RunNumber(2), RunNumber(3), RunNumber(5), RunNumber(4))
        );
        assert!(resort.is_fallback() && !first.is_fallback());
        assert!(first.is_older_than(resort) && !resort.is_older_than(first) && !first.is_older_than(first));
        let last = RunNumber(u16::MAX);
        assert_eq!((last.next(), last.next_fallback()), (RunNumber(0), RunNumber(1)));
        assert!(last.is_older_than(RunNumber(0)) && !RunNumber(0).is_older_than(last));
    }
}
