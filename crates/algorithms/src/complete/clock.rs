//! Timers of which only the last one counts.

use hustings_protocol::{Context, Protocol, Timer};

/// The number of the timer that was set last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Clock {
    token: u16,
}

impl Clock {
    /// Sets a timer; those before it count no longer.
    #[inline(always)]
    pub(super) fn set<P: Protocol, C: Context<P>>(&mut self, kind: u8, after: u64, cx: &mut C) {
        self.stop();
        cx.set_timer(after, Timer { kind, token: self.token.into() });
    }

    /// No timer that was set counts any longer.
    #[inline(always)]
    pub(super) fn stop(&mut self) {
        self.token = self.token.wrapping_add(1);
    }

    /// Whether this is the timer that counts.
    #[inline(always)]
    pub(super) fn is_due(self, timer: Timer) -> bool {
        timer.token == u32::from(self.token)
    }
}
