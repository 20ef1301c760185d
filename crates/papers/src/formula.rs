//! Arithmetic over named numbers: `n*(n-1)`, `floor(log2(n)) + 1`, `p.k * H(n)`, `n > 500`.
//!
//! What may be written, from what binds least to what binds most: `or`, `and`, comparisons (1 if they hold, else 0),
//! `+ -`, `* / %`, a minus before a term, `^`. `%` is never negative. A name is a letter, then letters, digits and `_`,
//! with dots inside; any other name stands in backquotes: `` `messages.are-you-there` ``.

mod parse;

use std::fmt;
use std::sync::Arc;

/// A formula, ready to be worked out.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    text: Arc<str>,
    /// In the order of evaluation: operands before their operator, so that no recursion is needed.
    steps: Vec<Step>,
}

/// The longest formula, in characters.
pub const MAX_CHARACTERS: usize = 1000;

/// How deep parentheses, signs and powers may nest.
pub const MAX_DEPTH: usize = 50;

/// Text that is no formula.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("column {column}: {problem}; allowed: {allowed}")]
pub struct FormulaError {
    /// The whole text.
    pub text: String,
    /// Which character of it, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: String,
    /// What may stand there.
    pub allowed: String,
    /// The allowed word that comes nearest.
    pub nearest: Option<String>,
}

/// Why a formula has no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ValueError {
    /// A name stands for nothing.
    #[error("`{name}` has no value here")]
    Unknown {
        /// Which.
        name: Arc<str>,
    },
    /// A division by zero, the root of something negative, or a number too great.
    #[error("`{text}` is no finite number here")]
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
    /// How many operands it takes.
    fn arity(self) -> usize {
        if matches!(self, Function::Min | Function::Max) { 2 } else { 1 }
    }
}

impl Formula {
    /// Reads a formula.
    pub fn parse(text: &str) -> Result<Formula, FormulaError> {
        Ok(Formula { text: text.into(), steps: parse::steps(text)? })
    }

    /// The formula as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it, each once, in the order of the alphabet.
    pub fn names(&self) -> Vec<&str> {
        let names = self.steps.iter().filter_map(|step| match step {
            Step::Name(name) => Some(&**name),
            _ => None,
        });
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether it can only be 0 or 1: a comparison, or a name that stands for a flag.
    pub fn is_yes_or_no(&self, is_flag: &dyn Fn(&str) -> bool) -> bool {
        use Binary::{And, AtLeast, AtMost, Equal, Less, More, Or, Unequal};
        match &self.steps[..] {
            [Step::Name(name)] => is_flag(name),
            // The last operator has the whole formula before it.
            [.., Step::Binary(last)] => matches!(last, Or | And | Less | AtMost | More | AtLeast | Equal | Unequal),
            _ => false,
        }
    }

    /// Its value, given those of its names.
    pub fn eval(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, ValueError> {
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
            // At once: a comparison would make a plain number of what is none.
            if !value.is_finite() {
                return Err(ValueError::NotFinite { text: self.text.clone() });
            }
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

/// 1 + 1/2 + … + 1/n; a fraction of n is dropped.
pub fn harmonic(n: f64) -> f64 {
    let n = n.floor();
    if n < 0.0 {
        return f64::NAN;
    }
    if n < 100.0 {
        // The small ones first, so that none is swallowed.
        return (1..=n as u32).rev().map(|k| 1.0 / f64::from(k)).sum();
    }
    // Euler's expansion; the next term is below 1e-14 from here on.
    const EULER: f64 = 0.577_215_664_901_532_9;
    let square = n * n;
    n.ln() + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * square) + 1.0 / (120.0 * square * square)
}

#[cfg(test)]
mod tests;
