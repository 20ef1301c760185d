//! Inclusive ranges of numbers: `1..5`, `10..100 step 10`, `2^4..2^20`.

use super::error::Diagnostic;

/// The maximum number of values of a range.
const MAX_VALUES: u64 = 10_000;

const FORMS: &str = "a range such as `1..5`, `10..100 step 10`, `0..1 step 0.1` or `2^4..2^20`";

/// Whether a text is written as a range.
pub(super) fn is_range(text: &str) -> bool {
    text.contains("..")
}

/// All numbers of a range, as text.
pub(super) fn expand(text: &str) -> Result<Vec<String>, Diagnostic> {
    let wrong = |problem: String| Diagnostic::new(problem, FORMS);
    let (ends, step) = match text.split_once(" step ") {
        Some((ends, step)) => (ends, Some(step.trim())),
        None => (text, None),
    };
    let (from, to) = ends.split_once("..").ok_or_else(|| wrong("this is not a range".into()))?;
    let (from, to) = (from.trim(), to.trim());
    if let (Some((base, low)), Some((other, high))) = (from.split_once('^'), to.split_once('^')) {
        if base != other || step.is_some() {
            return Err(wrong("both ends must be powers of the same base, without a step".into()));
        }
        return powers(base, low, high).ok_or_else(|| wrong("these are not powers, or they are too large".into()))?;
    }
    let read = |piece: &str| Decimal::read(piece).ok_or_else(|| wrong(format!("`{piece}` is not a number")));
    let (from, to, step) = (read(from)?, read(to)?, read(step.unwrap_or("1"))?);
    let digits = from.digits.max(to.digits).max(step.digits);
    let (low, high, step) = (from.scaled(digits), to.scaled(digits), step.scaled(digits));
    if step <= 0 {
        return Err(wrong("the step must be above 0".into()));
    }
    if high < low {
        return Err(wrong("the range ends before it begins".into()));
    }
    let count = (high - low) / step + 1;
    if count > i128::from(MAX_VALUES) {
        return Err(Diagnostic::new(format!("the range has {count} values"), format!("at most {MAX_VALUES}")));
    }
    Ok((0..count).map(|k| shown(low + k * step, digits)).collect())
}

/// Powers of one base.
fn powers(base: &str, low: &str, high: &str) -> Option<Result<Vec<String>, Diagnostic>> {
    let (base, low, high): (u64, u32, u32) = (base.parse().ok()?, low.parse().ok()?, high.parse().ok()?);
    if high < low {
        return Some(Err(Diagnostic::new("the range ends before it begins", FORMS)));
    }
    if base < 2 {
        return None;
    }
    let each = (low..=high).map(|exponent| base.checked_pow(exponent).map(|power| power.to_string()));
    each.collect::<Option<_>>().map(Ok)
}

/// A decimal number. Unlike floating-point numbers, steps of 0.1 add up exactly.
#[derive(Clone, Copy)]
struct Decimal {
    number: i128,
    digits: u32,
}

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if text.len() > 18 || whole.trim_start_matches('-').is_empty() || (text.contains('.') && fraction.is_empty()) {
            return None;
        }
        if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number = format!("{whole}{fraction}").parse().ok()?;
        Some(Decimal { number, digits: fraction.len() as u32 })
    }

    fn scaled(self, digits: u32) -> i128 {
        self.number * 10i128.pow(digits - self.digits)
    }
}

fn shown(number: i128, digits: u32) -> String {
    let unit = 10i128.pow(digits);
    let (whole, rest) = (number.abs() / unit, number.abs() % unit);
    let sign = if number < 0 { "-" } else { "" };
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    let fraction = format!("{rest:0width$}", width = digits as usize);
    format!("{sign}{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (text, expected) in [
            ("1..4", "1 2 3 4"),
            ("10..45 step 10", "10 20 30 40"),
            ("2^3..2^6", "8 16 32 64"),
            ("10^0..10^2", "1 10 100"),
            ("0..0.3 step 0.1", "0 0.1 0.2 0.3"),
            ("0.25..1 step 0.25", "0.25 0.5 0.75 1"),
            ("-2..2 step 2", "-2 0 2"),
            ("7..7", "7"),
        ] {
            assert_eq!(expand(text).unwrap().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn rejects_invalid_ranges() {
        for (text, expected) in [
            ("5..1", "the range ends before it begins"),
            ("2^5..2^1", "the range ends before it begins"),
            ("1..x", "`x` is not a number"),
            ("..", "`` is not a number"),
            ("1..9 step 0", "the step must be above 0"),
            ("1..9 step -1", "the step must be above 0"),
            ("2^1..3^2", "both ends must be powers of the same base, without a step"),
            ("2^1..2^64", "these are not powers, or they are too large"),
            ("1^1..1^9", "these are not powers, or they are too large"),
            ("1..100000", "the range has 100000 values"),
            ("1..9999999999999999999999", "`9999999999999999999999` is not a number"),
        ] {
            assert_eq!(expand(text).unwrap_err().problem, expected, "{text}");
        }
    }
}
