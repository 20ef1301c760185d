//! The terminal that `run` was started from: its settings are restored at the end.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// The controlling terminal of this process.
pub(crate) struct Terminal {
    file: File,
    settings: Option<Termios>,
}

impl Terminal {
    /// The controlling terminal, if there is one.
    pub(crate) fn open() -> Option<Terminal> {
        let file = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let settings = tcgetattr(file.as_fd()).ok();
        Some(Terminal { file, settings })
    }
}

impl Drop for Terminal {
    /// Restores the settings, which a killed command cannot do. In the background they are somebody else's.
    fn drop(&mut self) {
        let is_foreground = tcgetpgrp(self.file.as_fd()).is_ok_and(|group| group == rustix::process::getpgrp());
        if let Some(settings) = self.settings.as_ref().filter(|_| is_foreground) {
            let _ = tcsetattr(self.file.as_fd(), OptionalActions::Now, settings);
        }
    }
}
