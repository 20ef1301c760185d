//! A timer for the event loop, with the resolution of the clock.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::clock::{Clock, Timestamp};

/// A `timerfd`. The timeout of `poll` counts milliseconds, which is too coarse for leases.
pub(super) struct Timer {
    timer: OwnedFd,
    set_for: Timestamp,
}

impl Timer {
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Timer { timer, set_for: Timestamp::NEVER })
    }

    /// Sets the timer. The previous setting is forgotten.
    pub(super) fn set(&mut self, clock: &Clock, at: Timestamp) -> io::Result<()> {
        if at == self.set_for {
            return Ok(());
        }
        // A zero switches the timer off.
        let nanoseconds = if at == Timestamp::NEVER { 0 } else { clock.host_time_at(at).0.max(1) };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let seconds = i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX);
        let it_value = Timespec { tv_sec: seconds, tv_nsec: (nanoseconds % 1_000_000_000) as _ };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval: zero, it_value })?;
        self.set_for = at;
        Ok(())
    }
}
