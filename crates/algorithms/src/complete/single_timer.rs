//! A timer that replaces the one before.

use hustings_protocol::{Context, Protocol, Timer};

/// The token of the timer set last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct SingleTimer {
    token: u16,
}

impl SingleTimer {
    /// Sets a timer. It replaces the one before.
    #[inline(always)]
    pub(super) fn set<P: Protocol, C: Context<P>>(&mut self, kind: u8, after: u64, cx: &mut C) {
        self.stop();
        cx.set_timer(after, Timer { kind, token: self.token.into() });
    }

    /// Cancels the timer.
    #[inline(always)]
    pub(super) fn stop(&mut self) {
        self.token = self.token.wrapping_add(1);
    }

    /// Whether this timer is the current one.
    #[inline(always)]
    pub(super) fn is_due(self, timer: Timer) -> bool {
        timer.token == u32::from(self.token)
    }
}
