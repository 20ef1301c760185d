//! How a run ends, as a text and as an exit code.

use std::process::ExitCode;

/// How a run ends. Code 2 is wrong use of the command line, which clap reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Conclusion {
    /// Nothing was violated.
    Passed = 0,
    /// A violation was found, whatever else happened.
    Violation = 1,
    /// The run could not be carried out, or was interrupted.
    CouldNotRun = 3,
    /// Nothing was violated, but the machine stalled so much that not everything could be checked.
    Inconclusive = 4,
}

impl Conclusion {
    /// The conclusion of a history: a violation is never excused by a stall or an interrupt.
    pub(crate) fn new(violations: usize, is_interrupted: bool, is_inconclusive: bool) -> Self {
        match (violations, is_interrupted, is_inconclusive) {
            (1.., ..) => Conclusion::Violation,
            (0, true, _) => Conclusion::CouldNotRun,
            (0, false, true) => Conclusion::Inconclusive,
            (0, false, false) => Conclusion::Passed,
        }
    }

    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Conclusion::Passed => "passed",
            Conclusion::Violation => "violation",
            Conclusion::CouldNotRun => "could-not-run",
            Conclusion::Inconclusive => "inconclusive",
        }
    }
}

impl From<Conclusion> for ExitCode {
    fn from(conclusion: Conclusion) -> Self {
        ExitCode::from(conclusion as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_outweighs_everything_else() {
        for (is_interrupted, is_inconclusive) in [(false, false), (false, true), (true, false), (true, true)] {
            assert_eq!(Conclusion::new(1, is_interrupted, is_inconclusive), Conclusion::Violation);
        }
        assert_eq!(Conclusion::new(0, false, false), Conclusion::Passed);
        assert_eq!(Conclusion::new(0, false, true), Conclusion::Inconclusive);
        assert_eq!(Conclusion::new(0, true, true), Conclusion::CouldNotRun);
    }

    #[test]
    fn every_conclusion_has_its_exit_code() {
        let codes = [Conclusion::Passed, Conclusion::Violation, Conclusion::CouldNotRun, Conclusion::Inconclusive];
        assert_eq!(codes.map(|conclusion| conclusion as u8), [0, 1, 3, 4]);
    }
}
