//! What a sentence shows as a value: `16`, `Eight`, `5, 6 and 7`, `7 to 12`, `14.7`, `6 + 5 = 11`, `n(n-1)/2`.

/// Number words, `Eight` as well as `eight`. Ordinals are none: they name, and do not count.
const WORDS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
/// Words that say how many without being a whole number between one and twenty.
const OTHER_WORDS: [(&str, f64); 12] = [
    ("half", 0.5),
    ("halves", 0.5),
    ("twice", 2.0),
    ("thrice", 3.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("hundred", 100.0),
    ("hundreds", 100.0),
    ("thousand", 1e3),
    ("thousands", 1e3),
    ("million", 1e6),
];

/// The number that a word names.
pub(super) fn number_word(word: &str) -> Option<f64> {
    let word = word.to_lowercase();
    let other = || OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, number)| *number);
    WORDS.iter().position(|known| *known == word).map(|number| number as f64).or_else(other)
}

/// What a sentence shows.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Shown {
    /// Values one after the other.
    List(Vec<String>),
    /// Formulas that all have the same value, and whether the number of nodes is in them.
    Formula(Vec<String>, bool),
}

impl Shown {
    /// Reads what a sentence shows.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if let Some(list) = list(text) {
            return Ok(Shown::List(list));
        }
        let parts: Vec<String> = text.split('=').map(|part| part.trim().to_string()).collect();
        match parts.iter().find(|part| formula(part, 3.0).is_none()) {
            Some(part) => Err(format!(
                "`{}` is no value; allowed: numbers, lists such as 5, 6 and 7, and formulas in n",
                hustings_text::quote(part)
            )),
            None => Ok(Shown::Formula(parts, text.contains('n'))),
        }
    }

    /// What it is for a network of this size.
    pub(super) fn of(&self, nodes: u32) -> Vec<Vec<String>> {
        match self {
            Shown::List(list) => vec![list.clone()],
            Shown::Formula(parts, _) => {
                let value = |part: &String| formula(part, f64::from(nodes)).map(number).unwrap_or_default();
                parts.iter().map(|part| vec![value(part)]).collect()
            }
        }
    }

    /// The number of decimals of the first number.
    pub(super) fn decimals(&self) -> usize {
        match self {
            Shown::List(list) => list.first().and_then(|first| first.split_once('.')).map_or(0, |(_, part)| part.len()),
            Shown::Formula(..) => 0,
        }
    }
}

/// A number as claims write it.
pub(super) fn number(number: f64) -> String {
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// `5, 6 and 7`, `7 to 12`, `11 of 2000`, `Eight`.
fn list(text: &str) -> Option<Vec<String>> {
    let mut values: Vec<String> = Vec::new();
    let mut is_range = false;
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        let word = word.trim_end_matches('.');
        match word {
            "and" | "of" | "in" => continue,
            "to" => is_range = true,
            _ => {
                let is_number = word.parse::<f64>().is_ok() && word.starts_with(|c: char| c.is_ascii_digit());
                let value = if is_number { word.to_string() } else { number(number_word(word)?) };
                if std::mem::take(&mut is_range) {
                    let first: u64 = values.pop()?.parse().ok()?;
                    let last: u64 = value.parse().ok()?;
                    // A range that a lesson writes out is short.
                    let is_short = first <= last && last - first < 1000;
                    values.extend(is_short.then_some(first..=last)?.map(|one| one.to_string()));
                } else {
                    values.push(value);
                }
            }
        }
    }
    (!values.is_empty() && !is_range).then_some(values)
}

/// The value of a formula: `n`, numbers, `+ - * /`, parentheses, `²`; a factor may follow another without a sign.
fn formula(text: &str, n: f64) -> Option<f64> {
    let letters: Vec<char> = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let mut reader = Formula { letters: &letters, n };
    let value = reader.sum()?;
    reader.letters.is_empty().then_some(value)
}

struct Formula<'a> {
    letters: &'a [char],
    n: f64,
}

impl Formula<'_> {
    fn takes(&mut self, letter: char) -> bool {
        let is_next = self.letters.first() == Some(&letter);
        self.letters = &self.letters[usize::from(is_next)..];
        is_next
    }

    fn sum(&mut self) -> Option<f64> {
        let mut sum = self.product()?;
        loop {
            if self.takes('+') {
                sum += self.product()?;
            } else if self.takes('-') {
                sum -= self.product()?;
            } else {
                return Some(sum);
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut product = self.factor()?;
        loop {
            if self.takes('/') {
                product /= self.factor()?;
            } else if self.takes('*') || matches!(self.letters.first(), Some('n' | '(')) {
                product *= self.factor()?;
            } else {
                return Some(product);
            }
        }
    }

    fn factor(&mut self) -> Option<f64> {
        let value = if self.takes('(') {
            let inner = self.sum()?;
            self.takes(')').then_some(inner)?
        } else if self.takes('n') {
            self.n
        } else {
            let digits = self.letters.iter().take_while(|letter| letter.is_ascii_digit()).count();
            let (number, rest) = self.letters.split_at(digits);
            self.letters = rest;
            number.iter().collect::<String>().parse().ok()?
        };
        Some(if self.takes('²') { value * value } else { value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        for (text, values) in [
            ("16", &["16"][..]),
            ("Eight", &["8"]),
            ("5, 6 and 7", &["5", "6", "7"]),
            ("7 to 10", &["7", "8", "9", "10"]),
            ("14.7", &["14.7"]),
            ("11 of 2000", &["11", "2000"]),
        ] {
            assert_eq!(Shown::read(text).expect(text).of(8), [values], "{text}");
        }
        for (text, value) in [("n(n-1)/2", "28"), ("n²-1", "63"), ("2n-1", "15"), ("3(n-1)", "21"), ("7 + 8", "15")] {
            assert_eq!(Shown::read(text).expect(text).of(8), [[value]], "{text}");
        }
        assert_eq!(Shown::read("2n = 16").expect("a chain").of(8), [["16"], ["16"]]);
    }

    #[test]
    fn what_is_no_value_is_an_error() {
        for text in ["", "nobody", "5 to", "n(", "8 to 5", "1 + 2 + … + 8", "n n)"] {
            assert!(Shown::read(text).expect_err(text).contains("is no value"), "{text}");
        }
    }
}
