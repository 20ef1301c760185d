//! Where output goes, how it is coloured, and how a command ends.

use std::io::Write;
use std::process::ExitCode;

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
}

impl std::fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("colour", &self.colour).finish_non_exhaustive()
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
