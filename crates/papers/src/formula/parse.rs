//! Parses a formula into steps.

use hustings_text::{nearest, quote};

use super::{Binary, FUNCTIONS, FormulaError, Function, MAX_CHARACTERS, MAX_DEPTH, Step};

/// The evaluation steps of a formula.
pub(super) fn steps(text: &str) -> Result<Vec<Step>, FormulaError> {
    let mut parser = Parser { text, characters: text.chars().collect(), at: 0, steps: Vec::new() };
    if parser.characters.len() > MAX_CHARACTERS {
        parser.at = MAX_CHARACTERS;
        return Err(parser.wrong("the formula is too long", format!("at most {MAX_CHARACTERS} characters"), None));
    }
    parser.expression(0, 0)?;
    match parser.peek() {
        None => Ok(parser.steps),
        Some(_) => Err(parser.unexpected(OPERATOR)),
    }
}

const OPERAND: &str = "a number, a name, a function, `(` or `-`";
const OPERATOR: &str = "an operator (+ - * / % ^ < <= > >= == != and or) or the end";

/// The binary operators with their precedence. `<=` comes before `<`, so that the longer one matches first.
const OPERATORS: [(&str, Binary, u8); 14] = [
    ("or", Binary::Or, 1),
    ("and", Binary::And, 2),
    ("<=", Binary::AtMost, 3),
    (">=", Binary::AtLeast, 3),
    ("==", Binary::Equal, 3),
    ("!=", Binary::Unequal, 3),
    ("<", Binary::Less, 3),
    (">", Binary::More, 3),
    ("+", Binary::Add, 4),
    ("-", Binary::Subtract, 4),
    ("*", Binary::Multiply, 5),
    ("/", Binary::Divide, 5),
    ("%", Binary::Remainder, 5),
    ("^", Binary::Power, 7),
];

/// The precedence of negation: higher than products, lower than powers, so that -2^2 is -4.
const SIGN: u8 = 6;

struct Parser<'a> {
    text: &'a str,
    characters: Vec<char>,
    at: usize,
    steps: Vec<Step>,
}

impl Parser<'_> {
    /// Parses an operand and all following operators of at least this precedence.
    fn expression(&mut self, least: u8, depth: usize) -> Result<(), FormulaError> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("the formula nests too deeply", format!("at most {MAX_DEPTH} levels"), None));
        }
        self.operand(depth)?;
        while let Some((sign, operator, strength)) = self.operator() {
            if strength < least {
                break;
            }
            self.at += sign.len();
            // Powers are right-associative, all others left-associative.
            let right = if operator == Binary::Power { strength } else { strength + 1 };
            self.expression(right, depth + 1)?;
            self.steps.push(Step::Binary(operator));
        }
        Ok(())
    }

    fn operand(&mut self, depth: usize) -> Result<(), FormulaError> {
        match self.peek() {
            Some('-') => {
                self.at += 1;
                self.expression(SIGN, depth + 1)?;
                self.steps.push(Step::Negate);
                Ok(())
            }
            Some('(') => {
                self.at += 1;
                self.expression(0, depth + 1)?;
                self.expect(')')
            }
            Some('`') => self.quoted(),
            Some(first) if first.is_ascii_digit() || first == '.' => self.number(),
            Some(first) if is_letter(first) => self.word(depth),
            _ => Err(self.unexpected(OPERAND)),
        }
    }

    fn number(&mut self) -> Result<(), FormulaError> {
        let start = self.at;
        self.take_while(|c| c.is_ascii_digit() || c == '.');
        // An exponent needs digits: `2e9` is a number, `2e` is an error.
        if matches!(self.characters.get(self.at), Some('e' | 'E')) {
            let sign = usize::from(matches!(self.characters.get(self.at + 1), Some('+' | '-')));
            if self.characters.get(self.at + 1 + sign).is_some_and(char::is_ascii_digit) {
                self.at += 1 + sign;
                self.take_while(|c| c.is_ascii_digit());
            }
        }
        let piece: String = self.characters[start..self.at].iter().collect();
        match piece.parse::<f64>().ok().filter(|number| number.is_finite()) {
            Some(number) => {
                self.steps.push(Step::Number(number));
                Ok(())
            }
            None => {
                self.at = start;
                let problem = format!("`{}` is not a finite number", quote(&piece));
                Err(self.wrong(&problem, "a number such as 12, 0.5 or 1e6".into(), None))
            }
        }
    }

    /// A name, or a function with its operands.
    fn word(&mut self, depth: usize) -> Result<(), FormulaError> {
        let start = self.at;
        self.take_while(|c| is_letter(c) || c.is_ascii_digit() || c == '.');
        let word: String = self.characters[start..self.at].iter().collect();
        if self.peek() != Some('(') {
            if matches!(word.as_str(), "and" | "or") {
                self.at = start;
                return Err(self.unexpected(OPERAND));
            }
            self.steps.push(Step::Name(word.as_str().into()));
            return Ok(());
        }
        let Some(&(_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == word) else {
            self.at = start;
            let names = || FUNCTIONS.iter().map(|(name, _)| *name);
            let near = nearest(&word, names()).map(str::to_string);
            let allowed = names().collect::<Vec<_>>().join(", ");
            return Err(self.wrong(&format!("there is no function `{}`", quote(&word)), allowed, near));
        };
        self.at += 1;
        self.call(function, depth)
    }

    fn call(&mut self, function: Function, depth: usize) -> Result<(), FormulaError> {
        self.expression(0, depth + 1)?;
        let mut operands = 1;
        while self.peek() == Some(',') {
            if function.arity() == 1 {
                return Err(self.wrong("this function takes one number", "`)`".into(), None));
            }
            self.at += 1;
            self.expression(0, depth + 1)?;
            self.steps.push(Step::Call(function));
            operands += 1;
        }
        if operands < function.arity() {
            return Err(self.wrong("this function takes two numbers or more", "`,`".into(), None));
        }
        self.expect(')')?;
        if function.arity() == 1 {
            self.steps.push(Step::Call(function));
        }
        Ok(())
    }

    /// A name in backquotes.
    fn quoted(&mut self) -> Result<(), FormulaError> {
        self.at += 1;
        let start = self.at;
        self.take_while(|c| c != '`');
        let name: String = self.characters[start..self.at].iter().collect();
        self.expect('`')?;
        if name.is_empty() {
            self.at = start;
            return Err(self.wrong("there is nothing between the backquotes", "a name".into(), None));
        }
        self.steps.push(Step::Name(name.as_str().into()));
        Ok(())
    }

    /// The operator at the current position.
    fn operator(&mut self) -> Option<(&'static str, Binary, u8)> {
        self.skip_spaces();
        let rest = &self.characters[self.at..];
        let stands = |sign: &str| {
            let length = sign.len();
            let ends = !sign.starts_with(is_letter)
                || rest.get(length).is_none_or(|c| !is_letter(*c) && !c.is_ascii_digit() && *c != '.');
            rest.len() >= length && sign.chars().zip(rest).all(|(sign, c)| sign == *c) && ends
        };
        OPERATORS.iter().find(|(sign, ..)| stands(sign)).copied()
    }

    fn skip_spaces(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) {
        while self.characters.get(self.at).is_some_and(|c| keep(*c)) {
            self.at += 1;
        }
    }

    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        self.skip_spaces();
        self.characters.get(self.at).copied()
    }

    fn expect(&mut self, wanted: char) -> Result<(), FormulaError> {
        if self.peek() == Some(wanted) {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(&format!("`{wanted}`, or an operator and more before it")))
    }

    fn unexpected(&self, allowed: &str) -> FormulaError {
        let problem = match self.characters.get(self.at) {
            Some(c) => format!("`{}` cannot stand here", quote(&c.to_string())),
            None => "the formula ends too early".to_string(),
        };
        self.wrong(&problem, allowed.to_string(), None)
    }

    fn wrong(&self, problem: &str, allowed: String, nearest: Option<String>) -> FormulaError {
        let text = self.text.to_string();
        FormulaError { text, column: self.at + 1, problem: problem.to_string(), allowed, nearest }
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}
