//! Signals that `run` receives reach the command.

use nix::sys::signal::Signal;

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
