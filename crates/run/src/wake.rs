//! What the two event loops wait with: a timer, signals, and `poll`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use hustings_cluster::clock::Timestamp;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// A timer on the clock that leases are measured with. It also fires if the host was suspended meanwhile, which the
/// timeout of `poll` does not.
#[derive(Debug)]
pub(crate) struct Timer(OwnedFd);

impl Timer {
    pub(crate) fn new() -> io::Result<Timer> {
        Ok(Timer(timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?))
    }

    pub(crate) fn set(&self, at: Timestamp) -> io::Result<()> {
        // A zero switches the timer off.
        let nanoseconds = if at == Timestamp::NEVER { 0 } else { at.0.max(1) };
        let seconds = i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX);
        let it_value = Timespec { tv_sec: seconds, tv_nsec: (nanoseconds % 1_000_000_000) as _ };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        Ok(timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval, it_value }).map(drop)?)
    }
}

/// A signal that this process received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Received {
    pub(crate) signal: i32,
    /// Whether the kernel sent it, for example because a key was pressed in the terminal. Then the other processes of
    /// the foreground group have received it, too.
    pub(crate) is_from_kernel: bool,
}

/// Signals that are read rather than handled. They stay blocked in this process, and would in programs that it starts:
/// those get the mask that `run` was started with.
#[derive(Debug)]
pub(crate) struct Signals(SignalFd);

impl Signals {
    pub(crate) fn block(signals: &[Signal]) -> io::Result<Signals> {
        let mask: SigSet = signals.iter().copied().collect();
        mask.thread_block()?;
        Ok(Signals(SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?))
    }

    /// The next signal that has arrived.
    pub(crate) fn read(&self) -> Option<Received> {
        let info = self.0.read_signal().ok().flatten()?;
        Some(Received { signal: info.ssi_signo as i32, is_from_kernel: info.ssi_code == libc::SI_KERNEL })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of the descriptors can be read or has ended, or until a time.
pub(crate) fn wait(timer: &Timer, until: Timestamp, descriptors: &[Option<BorrowedFd<'_>>]) -> io::Result<()> {
    timer.set(until)?;
    let all = descriptors.iter().flatten().copied().chain([timer.0.as_fd()]);
    let mut polled: Vec<PollFd<'_>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    match poll(&mut polled, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
