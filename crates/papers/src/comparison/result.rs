//! The result of a test: the answer, the measured value and the condition in words.

use super::answer::{Answer, is_inside};
use super::plant::FAR;
use super::words::conditions;
use super::{CompareError, DisplayValue, number};
use crate::stats::Estimate;

/// The result of a test.
pub(super) struct TestResult {
    pub(super) answer: Answer,
    pub(super) measured: DisplayValue,
    /// The condition.
    pub(super) condition: String,
}

/// A test that some conditions hold, in words.
pub(super) fn in_every_run(result: TestResult, y: &str, within: [f64; 2]) -> TestResult {
    match conditions(y).filter(|_| within == [1.0, 1.0]) {
        None => result,
        Some(conditions) => {
            let words = if result.answer.holds() { "so in every run" } else { "not in every run" };
            let measured = DisplayValue::text(words);
            TestResult { condition: format!("in every run: {conditions}"), measured, ..result }
        }
    }
}

/// A test that some conditions hold in a run, or in none, in words.
pub(super) fn in_some_run(result: TestResult, y: &str, within: [f64; 2]) -> TestResult {
    let words = match within {
        [1.0, 1.0] => ["in some run", "so in some run", "so in no run"],
        [0.0, 0.0] => ["in no run", "so in no run", "so in some run"],
        _ => return result,
    };
    match conditions(y) {
        None => result,
        Some(conditions) => {
            let measured = DisplayValue::text(if result.answer.holds() { words[1] } else { words[2] });
            TestResult { condition: format!("{}: {conditions}", words[0]), measured, ..result }
        }
    }
}

/// The smallest and the largest of several values, which must all be within the bounds.
pub(super) fn ranging(what: &str, (min, max): (f64, f64), answer: Answer, within: [f64; 2]) -> TestResult {
    let (low, high) = (DisplayValue::value(min), DisplayValue::value(max));
    let measured = if min == max { low } else { DisplayValue::text(format!("{} to {}", low.text, high.text)) };
    TestResult { answer, ..bounded(what, measured, min, within) }
}

pub(super) fn estimated(what: &str, estimate: Option<Estimate>, within: [f64; 2]) -> Result<TestResult, CompareError> {
    let estimate = estimate.ok_or_else(|| CompareError::new(what, "there are no values"))?;
    let interval = estimate.margin.map(|_| estimate.interval());
    let result = bounded(what, DisplayValue::mean(estimate.value, interval), estimate.value, within);
    Ok(TestResult { answer: Answer::of(&estimate, within), ..result })
}

pub(super) fn bounded(what: &str, measured: DisplayValue, value: f64, [from, to]: [f64; 2]) -> TestResult {
    let condition = match (from, to) {
        _ if from == to => format!("{what} = {}", number(from)),
        _ if from <= -FAR => format!("{what} ≤ {}", number(to)),
        _ if to >= FAR => format!("{what} ≥ {}", number(from)),
        _ => format!("{what}: {} to {}", number(from), number(to)),
    };
    TestResult { answer: Answer::Sure(is_inside(value, [from, to])), measured, condition }
}
