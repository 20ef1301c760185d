//! How many messages an algorithm takes, as its description states it.

use core::fmt;

/// The best, average or worst case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    /// No input takes less.
    Best,
    /// The mean over all orders of ids.
    Average,
    /// No input takes more.
    Worst,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Case::Best => "best",
            Case::Average => "average",
            Case::Worst => "worst",
        })
    }
}

/// The number of messages in one case, with the default initiators and including the announcement.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The case.
    pub case: Case,
    /// The formula, as text.
    pub formula: &'static str,
    /// The formula as a function of n, if there is one.
    pub messages: Option<fn(u64) -> f64>,
    /// Whether the function is exact; otherwise it is an upper bound.
    pub exact: bool,
}

impl Cost {
    /// An exact number of messages.
    pub const fn exactly(case: Case, formula: &'static str, messages: fn(u64) -> f64) -> Self {
        Cost { case, formula, messages: Some(messages), exact: true }
    }

    /// An upper bound.
    pub const fn at_most(case: Case, formula: &'static str, messages: fn(u64) -> f64) -> Self {
        Cost { case, formula, messages: Some(messages), exact: false }
    }

    /// A cost with a description but without a function.
    pub const fn described(case: Case, formula: &'static str) -> Self {
        Cost { case, formula, messages: None, exact: false }
    }

    /// The costs of an algorithm whose number of messages does not depend on the order of ids.
    pub const fn always(formula: &'static str, messages: fn(u64) -> f64) -> [Self; 3] {
        [
            Cost::exactly(Case::Best, formula, messages),
            Cost::exactly(Case::Average, formula, messages),
            Cost::exactly(Case::Worst, formula, messages),
        ]
    }
}

/// `worst: at most n(2⌊log₂ n⌋+3)`, as lists show it.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = if self.messages.is_some() && !self.exact { "at most " } else { "" };
        write!(f, "{}: {bound}{}", self.case, self.formula)
    }
}
