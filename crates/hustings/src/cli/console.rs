//! Where output goes, how it is coloured, and how a command ends.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Where a command writes.
pub struct Console<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// Errors and warnings.
    pub err: &'a mut dyn Write,
    /// Whether results may be coloured.
    pub colour: bool,
    /// Whether errors may be coloured.
    pub colour_errors: bool,
    /// Whether somebody watches the errors, and would like to see that work goes on.
    pub progress: bool,
}

impl std::fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("colour", &self.colour).finish_non_exhaustive()
    }
}

impl Console<'_> {
    /// A line that moves while something long is done, if anybody watches; it is gone when it is dropped.
    pub(crate) fn working(&self, what: String) -> Working {
        if !self.progress {
            return Working(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(Duration::from_millis(100));
        Working(bar)
    }
}

/// See [`Console::working`].
#[derive(Debug)]
pub(crate) struct Working(ProgressBar);

impl Working {
    /// Says something else from now on.
    pub(crate) fn say(&self, what: String) {
        self.0.set_message(what);
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The answer is no: no leader, no agreement.
    No = 1,
    /// Wrong use.
    WrongUse = 2,
    /// It could not be done: a file, a device.
    CouldNot = 3,
    /// Stopped by Ctrl-C, in good order.
    Stopped = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// A colour, or the lack of it.
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
