//! Text with formulas in braces: `{n-1}@0`.

use crate::formula::{Formula, ValueError};

use super::error::Diagnostic;

/// A text with formulas.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, PartialEq, Debug)]
enum Piece {
    Text(String),
    Formula(Formula),
}

fn diagnostic(error: ValueError) -> Diagnostic {
    let allowed = match error {
        ValueError::Unknown { .. } => "settings that are numbers at every point",
        ValueError::NotFinite { .. } => "formulas with a finite value at every point",
    };
    Diagnostic::new(error.to_string(), allowed)
}

/// The largest value of a formula: beyond it, floating-point numbers skip integers.
const MAX_VALUE: f64 = 9_007_199_254_740_992.0;

impl Template {
    /// Parses a template; `None` if the text has no formulas.
    pub(super) fn parse(text: &str) -> Result<Option<Template>, Diagnostic> {
        if !text.contains(['{', '}']) {
            return Ok(None);
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((inside, behind)) = after.split_once('}') else {
                return Err(Diagnostic::new("a `{` has no `}`", "a formula in braces, such as `{n-1}`"));
            };
            if before.contains('}') {
                break;
            }
            pieces.push(Piece::Text(before.to_string()));
            pieces.push(Piece::Formula(Formula::parse(inside)?));
            rest = behind;
        }
        if rest.contains('}') {
            return Err(Diagnostic::new("a `}` has no `{`", "a formula in braces, such as `{n-1}`"));
        }
        pieces.push(Piece::Text(rest.to_string()));
        Ok(Some(Template(pieces)))
    }

    /// All names in its formulas.
    pub(super) fn names(&self) -> Vec<&str> {
        self.formulas().flat_map(Formula::names).collect()
    }

    fn formulas(&self) -> impl Iterator<Item = &Formula> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Formula(formula) => Some(formula),
            Piece::Text(_) => None,
        })
    }

    /// The text with each formula's value, rounded down.
    pub(super) fn fill(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<String, Diagnostic> {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out += text,
                Piece::Formula(formula) => {
                    let value = formula.eval(value_of).map_err(diagnostic)?.floor();
                    if value.abs() > MAX_VALUE {
                        let problem = format!("`{formula}` is {value} here");
                        return Err(Diagnostic::new(problem, format!("numbers up to {MAX_VALUE}")));
                    }
                    out += &(value as i64).to_string();
                }
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let value_of = |name: &str| if name == "n" { Some(10.0) } else { None };
        match Template::parse(text) {
            Ok(Some(template)) => template.fill(&value_of).unwrap_or_else(|diagnostic| diagnostic.to_string()),
            Ok(None) => "no template".to_string(),
            Err(diagnostic) => diagnostic.problem,
        }
    }

    #[test]
    fn formulas_are_evaluated() {
        for (text, expected) in [
            ("{n-1}@0", "9@0"),
            ("{n-1}@0, {n/3}@{2*n}", "9@0, 3@20"),
            ("{-n/3}", "-4"),
            ("plain", "no template"),
            ("{n", "a `{` has no `}`"),
            ("n}", "a `}` has no `{`"),
            ("{n}}", "a `}` has no `{`"),
            ("a}{n}", "a `}` has no `{`"),
            ("{n +}", "column 4 of `n +`: the formula ends too early"),
            ("{m}", "`m` has no value here; allowed: settings that are numbers at every point"),
            ("{10^300}", &format!("`10^300` is {} here; allowed: numbers up to {MAX_VALUE}", 1e300)),
        ] {
            assert_eq!(filled(text), expected, "{text}");
        }
    }
}
