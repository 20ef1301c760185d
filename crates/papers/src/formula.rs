//! Arithmetic over named numbers: `n*(n-1)`, `floor(log2(n)) + 1`, `p.k * H(n)`, `n > 500`.
//!
//! The operators, from the weakest to the strongest binding: `or`, `and`, comparisons (1 if they hold, else 0),
//! `+ -`, `* / %`, a minus before a term, `^`. `%` is never negative. A name is a letter, then letters, digits and `_`,
//! with dots inside; any other name is written in backquotes: `` `messages.are-you-there` ``.

mod parse;

use std::fmt;
use std::sync::Arc;

/// A parsed formula.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Formula {
    text: Arc<str>,
    /// In the order of evaluation: operands before their operator, so that no recursion is needed.
    steps: Vec<Step>,
}

/// The maximum length of a formula, in characters.
const MAX_CHARACTERS: usize = 1000;

/// The maximum nesting of parentheses, signs and powers.
const MAX_DEPTH: usize = 50;

/// Why a text is not a formula.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("column {column}: {problem}; allowed: {allowed}")]
pub struct FormulaError {
    /// The whole text.
    pub text: String,
    /// The character, from 1.
    pub column: usize,
    /// The problem.
    pub problem: String,
    /// What is allowed there.
    pub allowed: String,
    /// The most similar allowed word.
    pub nearest: Option<String>,
}

/// Why a formula has no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ValueError {
    /// A name has no value.
    #[error("`{name}` has no value here")]
    Unknown {
        /// The name.
        name: Arc<str>,
    },
    /// A division by zero, the root of a negative number, or an overflow.
    #[error("`{text}` is not a finite number here")]
    NotFinite {
        /// The formula.
        text: Arc<str>,
    },
}

#[derive(Clone, PartialEq, Debug)]
enum Step {
    Number(f64),
    Name(Arc<str>),
    Negate,
    Binary(Binary),
    Call(Function),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Binary {
    Or,
    And,
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    Min,
    Max,
    Floor,
    Ceil,
    Round,
    Sqrt,
    Ln,
    Log2,
    Harmonic,
}

const FUNCTIONS: [(&str, Function); 9] = [
    ("min", Function::Min),
    ("max", Function::Max),
    ("floor", Function::Floor),
    ("ceil", Function::Ceil),
    ("round", Function::Round),
    ("sqrt", Function::Sqrt),
    ("ln", Function::Ln),
    ("log2", Function::Log2),
    ("H", Function::Harmonic),
];

impl Function {
    /// The number of operands.
    fn arity(self) -> usize {
        if matches!(self, Function::Min | Function::Max) { 2 } else { 1 }
    }
}

impl Formula {
    /// Parses a formula.
    pub(crate) fn parse(text: &str) -> Result<Formula, FormulaError> {
        Ok(Formula { text: text.into(), steps: parse::steps(text)? })
    }

    /// The text of the formula.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The names in the formula, sorted and without duplicates.
    pub(crate) fn names(&self) -> Vec<&str> {
        let names = self.steps.iter().filter_map(|step| match step {
            Step::Name(name) => Some(&**name),
            _ => None,
        });
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether its value is always 0 or 1: a comparison, or the name of a boolean.
    pub(crate) fn is_condition(&self, is_flag: &dyn Fn(&str) -> bool) -> bool {
        use Binary::{And, AtLeast, AtMost, Equal, Less, More, Or, Unequal};
        match &self.steps[..] {
            [Step::Name(name)] => is_flag(name),
            // The last step applies to the whole formula.
            [.., Step::Binary(last)] => matches!(last, Or | And | Less | AtMost | More | AtLeast | Equal | Unequal),
            _ => false,
        }
    }

    /// Evaluates the formula with these values of its names.
    pub(crate) fn eval(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, ValueError> {
        self.steps_with(value_of, &mut |_| {})
    }

    /// The values of the formula's parts, the whole last.
    pub(crate) fn values(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>, ValueError> {
        let mut values = Vec::with_capacity(self.steps.len());
        self.steps_with(value_of, &mut |value| values.push(value))?;
        Ok(values)
    }

    /// Evaluates the formula and shows the value of each part.
    fn steps_with(&self, value_of: &dyn Fn(&str) -> Option<f64>, show: &mut dyn FnMut(f64)) -> Result<f64, ValueError> {
        let mut stack: Vec<f64> = Vec::with_capacity(8);
        let pop = |stack: &mut Vec<f64>| stack.pop().expect("the parser puts operands before their operator");
        for step in &self.steps {
            let value = match step {
                Step::Number(number) => *number,
                Step::Name(name) => value_of(name).ok_or_else(|| ValueError::Unknown { name: name.clone() })?,
                Step::Negate => -pop(&mut stack),
                Step::Binary(operator) => {
                    let right = pop(&mut stack);
                    operator.of(pop(&mut stack), right)
                }
                Step::Call(function) if function.arity() == 2 => {
                    let right = pop(&mut stack);
                    let left = pop(&mut stack);
                    if *function == Function::Min { left.min(right) } else { left.max(right) }
                }
                Step::Call(function) => function.of(pop(&mut stack)),
            };
            // Checked at each step, because a comparison would hide the problem.
            if !value.is_finite() {
                return Err(ValueError::NotFinite { text: self.text.clone() });
            }
            show(value);
            stack.push(value);
        }
        Ok(pop(&mut stack))
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl Binary {
    fn of(self, left: f64, right: f64) -> f64 {
        let flag = |holds: bool| f64::from(u8::from(holds));
        match self {
            Binary::Or => flag(left != 0.0 || right != 0.0),
            Binary::And => flag(left != 0.0 && right != 0.0),
            Binary::Less => flag(left < right),
            Binary::AtMost => flag(left <= right),
            Binary::More => flag(left > right),
            Binary::AtLeast => flag(left >= right),
            Binary::Equal => flag(left == right),
            Binary::Unequal => flag(left != right),
            Binary::Add => left + right,
            Binary::Subtract => left - right,
            Binary::Multiply => left * right,
            Binary::Divide => left / right,
            Binary::Remainder => left.rem_euclid(right),
            Binary::Power => left.powf(right),
        }
    }
}

impl Function {
    /// The value of a function of one operand.
    fn of(self, operand: f64) -> f64 {
        match self {
            Function::Floor => operand.floor(),
            Function::Ceil => operand.ceil(),
            Function::Round => operand.round(),
            Function::Sqrt => operand.sqrt(),
            Function::Ln => operand.ln(),
            Function::Log2 => operand.log2(),
            Function::Harmonic => harmonic(operand),
            Function::Min | Function::Max => operand,
        }
    }
}

/// The harmonic number 1 + 1/2 + … + 1/n, with n rounded down.
pub(crate) fn harmonic(n: f64) -> f64 {
    let n = n.floor();
    if n < 0.0 {
        return f64::NAN;
    }
    if n < 100.0 {
        // Small terms first, to reduce rounding errors.
        return (1..=n as u32).rev().map(|k| 1.0 / f64::from(k)).sum();
    }
    // Euler's expansion; the next term is below 1e-14 from here on.
    const EULER: f64 = 0.577_215_664_901_532_9;
    let square = n * n;
    n.ln() + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * square) + 1.0 / (120.0 * square * square)
}

#[cfg(test)]
mod tests;
