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

/// The delays of messages under which the costs of an algorithm are claimed, with its default parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostDelays {
    /// Any delays.
    Any,
    /// At most this number of ticks. If a message is slower, timeouts expire before it arrives, and nodes ask again.
    AtMost(u64),
    /// One tick for every message. If they race, a token may overtake those that are to replace it.
    Equal,
}

/// What is assumed, as it follows the costs in lists: `if every message takes 1 tick`.
impl fmt::Display for CostDelays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CostDelays::Any => f.write_str("with any delays"),
            CostDelays::AtMost(1) => f.write_str("if messages take at most 1 tick"),
            CostDelays::AtMost(ticks) => write!(f, "if messages take at most {ticks} ticks"),
            CostDelays::Equal => f.write_str("if every message takes 1 tick"),
        }
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
