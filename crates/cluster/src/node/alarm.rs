//! A timer that the poll loop waits for together with everything else, exact to the clock's own resolution.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::clock::{Clock, Moment};

/// A poll's own time-out is counted in milliseconds: too coarse for leases, and too coarse to be fast.
pub(super) struct Alarm {
    timer: OwnedFd,
    set_for: Moment,
}

impl Alarm {
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Alarm { timer, set_for: Moment::NEVER })
    }

    /// There will be an event at this moment. What was set before is forgotten, and need not be read.
    pub(super) fn set(&mut self, clock: &Clock, at: Moment) -> io::Result<()> {
        if at == self.set_for {
            return Ok(());
        }
        // All zeros switch the timer off; nobody asks for that moment.
        let nanoseconds = if at == Moment::NEVER { 0 } else { clock.on_host(at).0.max(1) };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let seconds = i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX);
        let it_value = Timespec { tv_sec: seconds, tv_nsec: (nanoseconds % 1_000_000_000) as _ };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval: zero, it_value })?;
        self.set_for = at;
        Ok(())
    }
}
