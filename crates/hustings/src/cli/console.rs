//! The output of a command, its colours, and its exit code.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use hustings_sim::memory::resident_memory;
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// The output of a command.
pub struct Console<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// Errors and warnings.
    pub err: &'a mut dyn Write,
    /// Whether results may be coloured.
    pub colour: bool,
    /// Whether errors may be coloured.
    pub colour_errors: bool,
    /// Whether progress is shown on standard error.
    pub progress: bool,
}

impl std::fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("colour", &self.colour).finish_non_exhaustive()
    }
}

impl Console<'_> {
    /// A progress bar of this length, hidden unless progress is shown.
    pub(crate) fn progress_bar(&self, length: u64, template: &str) -> ProgressBar {
        if !self.progress {
            return ProgressBar::hidden();
        }
        ProgressBar::new(length).with_style(style(template))
    }

    /// Shows what is being done, for how long and with how much memory, from the second second on until the returned
    /// value is dropped, if progress is shown.
    pub(crate) fn late_spinner(&self, message: String) -> Spinner {
        if !self.progress {
            return Spinner(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        let line = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            // What cannot be drawn is not shown.
            let _ = out.write_str(&late_text(&message, state.elapsed(), resident_memory()));
        };
        bar.set_style(style("{late}").with_key("late", line));
        bar.enable_steady_tick(Duration::from_millis(100));
        Spinner(bar)
    }

    /// Shows a spinner until the returned value is dropped, if progress is shown.
    pub(crate) fn spinner(&self, message: String) -> Spinner {
        if !self.progress {
            return Spinner(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner().with_message(message);
        bar.set_style(style("{spinner} {msg}, {elapsed}"));
        bar.enable_steady_tick(Duration::from_millis(100));
        Spinner(bar)
    }
}

/// The line of [`Console::late_spinner`]; empty in the first second, which is as long as most commands take.
fn late_text(message: &str, elapsed: Duration, memory: Option<u64>) -> String {
    if elapsed < Duration::from_secs(1) {
        return String::new();
    }
    let memory = memory.map_or_else(String::new, |bytes| format!(", {}", HumanBytes(bytes)));
    format!("{message}, {}{memory}", HumanDuration(elapsed))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// The number of threads: the given one, or one per core.
pub(crate) fn threads(given: Option<usize>) -> usize {
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// See [`Console::spinner`].
#[derive(Debug)]
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    /// Changes the message.
    pub(crate) fn set_message(&self, message: String) {
        self.0.set_message(message);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The exit code of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Success.
    Done,
    /// A negative result, such as no leader or no agreement.
    No,
    /// Wrong use.
    WrongUse,
    /// The command failed, for example because of a file or a device.
    CouldNot,
    /// The cluster refuses this node. Another start would not change that, and must not be tried without a person.
    Refused,
    /// Stopped by Ctrl-C.
    Stopped,
    /// The exit code of `hustings run`: usually that of its command.
    Run(u8),
}

impl Exit {
    /// The exit code as a number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::WrongUse => 2,
            Exit::CouldNot => 3,
            Exit::Refused => 4,
            Exit::Stopped => 130,
            Exit::Run(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// A text style.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paint {
    Good,
    Bad,
    Faint,
    Strong,
}

impl Paint {
    /// The text in this colour, if colours are on.
    pub(crate) fn on(self, text: &str, colour: bool) -> String {
        let code = match self {
            Paint::Good => "1;32",
            Paint::Bad => "1;31",
            Paint::Faint => "2",
            Paint::Strong => "1",
        };
        if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_a_run_appears_after_a_second() {
        let line = |milliseconds, memory| late_text("bully", Duration::from_millis(milliseconds), memory);
        assert_eq!(line(999, Some(1)), "");
        assert_eq!(line(2000, Some(3 << 30)), "bully, 2 seconds, 3.00 GiB");
        assert_eq!(line(2000, None), "bully, 2 seconds");
    }
}
