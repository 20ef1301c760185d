//! Signals that `run` receives reach the command.

use std::{fs, io};

use nix::sys::signal::{SigHandler, SigSet, Signal};

use super::{Guarded, Instruction, Supervisor, write_line};

/// The signals that are passed on, and those that `run` must not die or stop from unawares.
pub(super) const HANDLED: [Signal; 13] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGWINCH,
    Signal::SIGTSTP,
    Signal::SIGCONT,
    Signal::SIGCHLD,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
];

/// The signals that this process was started to ignore. SIGCHLD is not ignored from now on: otherwise the kernel would
/// reap children, and nobody would learn how they ended.
pub(super) fn ignored_signals() -> io::Result<SigSet> {
    let ignored = parse_ignored(&fs::read_to_string("/proc/self/status")?);
    if ignored.contains(Signal::SIGCHLD) {
        // SAFETY: the default action runs no code of ours.
        unsafe { nix::sys::signal::signal(Signal::SIGCHLD, SigHandler::SigDfl)? };
    }
    Ok(Signal::iterator().filter(|signal| *signal != Signal::SIGCHLD && ignored.contains(*signal)).collect())
}

/// Reads the line `SigIgn` of `/proc/PID/status`: a bit for each signal.
fn parse_ignored(status: &str) -> SigSet {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    Signal::iterator().filter(|signal| bits >> (*signal as i32 - 1) & 1 == 1).collect()
}

impl Supervisor {
    /// Passes the signals that have arrived on to the command, through the guardian.
    ///
    /// A key pressed in the terminal signals the whole foreground group, to which the command belongs if it was started
    /// there. It must not get the signal twice.
    pub(super) fn pass_signals_on(&mut self, guarded: &mut Guarded) {
        while let Some(received) = self.signals.read() {
            let signal = received.signal;
            if matches!(signal, libc::SIGCHLD | libc::SIGTTIN | libc::SIGTTOU) {
                continue;
            }
            let is_delivered = received.is_from_kernel && self.shares_process_group;
            // If the guardian is gone or frozen, the command's life is decided elsewhere.
            let _ = write_line(&mut guarded.stream, &Instruction::Signal { signal, is_delivered });
            if signal == libc::SIGTSTP {
                // The shell waits for `run` to stop. The office is kept: the guardian goes on.
                let _ = nix::sys::signal::raise(Signal::SIGSTOP);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_their_bits() {
        let ignored = parse_ignored("Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000010001\n");
        assert!(ignored.contains(Signal::SIGHUP) && ignored.contains(Signal::SIGCHLD));
        assert!(!ignored.contains(Signal::SIGTERM));
        assert!(!parse_ignored("").contains(Signal::SIGHUP));
    }
}
