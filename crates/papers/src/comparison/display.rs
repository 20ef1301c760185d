//! Numbers as text.

use super::DisplayValue;
use super::words::in_words;

/// A number with four significant digits; integers are written in full.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_string();
    }
    if (value - value.round()).abs() < 1e-9 && value.abs() < 1e15 {
        return grouped(&format!("{}", value.round() as i64));
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    // A value that would round to zero is shown with its exponent.
    if text.trim_matches(['-', '0', '.']).is_empty() { format!("{value:.1e}") } else { grouped(text) }
}

/// Adds thousands separators from ten thousand on.
pub(super) fn grouped(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut shown = sign.to_string();
    for (index, digit) in whole.chars().enumerate() {
        if whole.len() > 4 && index > 0 && (whole.len() - index) % 3 == 0 {
            shown.push(',');
        }
        shown.push(digit);
    }
    if let Some(fraction) = fraction {
        shown.push('.');
        shown.push_str(fraction);
    }
    shown
}

impl DisplayValue {
    /// A number.
    pub fn value(value: f64) -> Self {
        DisplayValue { text: number(value), value: Some(value), interval: None }
    }

    /// A text without a number.
    pub fn text(text: impl Into<String>) -> Self {
        DisplayValue { text: text.into(), value: None, interval: None }
    }

    /// A formula and its value.
    pub fn formula(text: &str, value: f64) -> Self {
        let plain = text.parse::<f64>().is_ok();
        let text = if plain { number(value) } else { format!("{} = {}", in_words(text), number(value)) };
        DisplayValue { text, value: Some(value), interval: None }
    }

    /// A mean with its confidence interval.
    pub fn mean(value: f64, interval: Option<(f64, f64)>) -> Self {
        let text = match interval {
            Some((low, high)) if high - low > 1e-9 => {
                format!("{} ({} to {})", number(value), number(low), number(high))
            }
            _ => number(value),
        };
        DisplayValue { text, value: Some(value), interval }
    }
}

/// A formula in mathematical notation: `·` for `*`, raised squares, `⌈ ⌉` for `ceil( )`, and no backquotes.
pub(super) fn pretty(formula: &str) -> String {
    let mut out = String::new();
    // The closing character of each open parenthesis.
    let mut open: Vec<char> = Vec::new();
    let mut rest = formula;
    while let Some(sign) = rest.chars().next() {
        let brackets = [("ceil(", "⌈", '⌉'), ("floor(", "⌊", '⌋'), ("log2(", "log₂(", ')'), ("^2", "²", ' ')];
        let longer =
            rest.strip_prefix("^2").is_some_and(|more| more.starts_with(|c: char| c.is_ascii_digit() || c == '.'));
        let word = brackets.into_iter().find(|(word, ..)| rest.starts_with(word) && !longer);
        if let Some((word, shown, close)) = word {
            out.push_str(shown);
            if word.ends_with('(') {
                open.push(close);
            }
            rest = &rest[word.len()..];
            continue;
        }
        match sign {
            '`' => {}
            '*' => out.push('·'),
            '-' => out.push('−'),
            '(' => {
                open.push(')');
                out.push('(');
            }
            ')' => out.push(open.pop().unwrap_or(')')),
            _ => out.push(sign),
        }
        rest = &rest[sign.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits() {
        let shown = [0.0, 7.0, -3.0, 1234.0, 12345.0, 0.5, 0.503_712, 1.0 / 3.0, 12_345.678, 1e-12, -0.000_012_3];
        let texts = ["0", "7", "−3", "1234", "12,345", "0.5", "0.5037", "0.3333", "12,346", "0", "−0.0000123"];
        assert_eq!(shown.map(number), texts.map(str::to_string));
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(number(2.5e-8), "0.000000025");
    }

    #[test]
    fn formulas_and_intervals_are_shown_with_their_values() {
        assert_eq!(DisplayValue::formula("n^2*`p.u`", 25.0).text, "n²·u = 25");
        assert_eq!(DisplayValue::formula("2*ceil(n/2)-(1+n)", 0.0).text, "2·⌈n/2⌉−(1+n) = 0");
        assert_eq!(DisplayValue::formula("floor(log2(n)) + 1", 4.0).text, "⌊log₂(n)⌋ + 1 = 4");
        assert_eq!(DisplayValue::formula("25", 25.0).text, "25");
        assert_eq!(DisplayValue::mean(0.5, Some((0.25, 0.75))).text, "0.5 (0.25 to 0.75)");
        assert_eq!(DisplayValue::mean(4.0, Some((4.0, 4.0))).text, "4");
    }
}
