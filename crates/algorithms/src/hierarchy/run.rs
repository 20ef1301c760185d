//! The numbers of elections, and the starter's patience: "if proposed algorithms didn't work then the original
//! algorithm will be done".
//!
//! Every message carries the number of its election. A node takes part in the newest that it has heard of and drops
//! everything older. Even numbers are elections by the algorithm's own rules, odd ones are last resorts: token-ring,
//! run by a starter that heard no `coordinator` in time.

use hustings_protocol::{Context, Protocol, Timer};
use serde::{Deserialize, Serialize};

/// The number of an election. It may wrap round: of two numbers the one that is ahead by less than half of all is
/// newer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Run(u16);

impl Run {
    /// The next election by the algorithm's own rules.
    pub(super) fn next(self) -> Run {
        Run((self.0 | 1).wrapping_add(1))
    }

    /// The next last resort.
    pub(super) fn next_resort(self) -> Run {
        Run(self.0.wrapping_add(1) | 1)
    }

    /// Whether it is a last resort.
    #[inline(always)]
    pub(super) fn is_resort(self) -> bool {
        self.0 & 1 == 1
    }

    /// Inputs over the number of a newer election, which then has its time and is entered. Says whether this one is the
    /// newest now.
    #[inline(always)]
    pub(super) fn join<P: Protocol, C: Context<P>>(
        &mut self,
        other: Run,
        watch: &mut Watch,
        backoff: u64,
        cx: &mut C,
        enter: impl FnOnce(),
    ) -> bool {
        if self.yields_to(other) {
            *self = other;
            enter();
            watch.prolong(patience(cx.size(), backoff), cx);
        }
        *self == other
    }

    /// Whether the other one is newer.
    #[inline(always)]
    pub(super) fn yields_to(self, other: Run) -> bool {
        (other.0.wrapping_sub(self.0) as i16) > 0
    }
}

impl From<Run> for u32 {
    fn from(run: Run) -> u32 {
        run.0.into()
    }
}

/// What a starter remembers of its wait for a `coordinator`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Watch {
    /// Which setting of the timer counts.
    serial: u8,
    /// How often it has begun to wait; 0: it does not wait.
    waits: u8,
}

/// The kind of the timer that ends the wait.
const PATIENCE: u8 = 0;

/// How often the wait is doubled: so that slow links do not keep a last resort from ever being the last, and a network
/// that is cut for good is left alone some time.
const MAX_WAITS: u8 = 10;

impl Watch {
    /// Begins to wait: `ticks`, and twice as many each time that nothing came.
    pub(super) fn begin<P: Protocol, C: Context<P>>(&mut self, ticks: u64, cx: &mut C) {
        if self.waits >= MAX_WAITS {
            self.waits = 0;
            return;
        }
        self.serial = self.serial.wrapping_add(1);
        cx.set_timer(ticks.saturating_mul(1 << self.waits), Timer { kind: PATIENCE, token: self.serial.into() });
        self.waits += 1;
    }

    /// Gives a newer election its time, if this node waits for one.
    pub(super) fn prolong<P: Protocol, C: Context<P>>(&mut self, ticks: u64, cx: &mut C) {
        if self.waits > 0 {
            self.waits -= 1;
            self.begin(ticks, cx);
        }
    }

    /// A `coordinator` came.
    #[inline(always)]
    pub(super) fn end(&mut self) {
        self.waits = 0;
    }

    /// Whether this timer is the end of the wait.
    pub(super) fn is_over(self, timer: Timer) -> bool {
        self.waits > 0 && timer == Timer { kind: PATIENCE, token: self.serial.into() }
    }
}

/// How long a starter waits among so many members, if each may hold its first message back so long.
pub(super) fn patience(size: u32, backoff: u64) -> u64 {
    (8 * u64::from(size)).saturating_mul(backoff.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_rules_are_even_last_resorts_odd_and_each_is_newer() {
        let first = Run::default().next();
        let resort = first.next_resort();
        assert_eq!((first, resort, resort.next_resort(), resort.next()), (Run(2), Run(3), Run(5), Run(4)));
        assert!(resort.is_resort() && !first.is_resort());
        assert!(first.yields_to(resort) && !resort.yields_to(first) && !first.yields_to(first));
        let last = Run(u16::MAX);
        assert_eq!((last.next(), last.next_resort()), (Run(0), Run(1)));
        assert!(last.yields_to(Run(0)) && !Run(0).yields_to(last));
    }
}
