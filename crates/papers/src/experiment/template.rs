//! Text with formulas in braces: `{n-1}@0`.

use crate::formula::{Formula, ValueError};

use super::mistake::Trouble;

/// Text with holes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, PartialEq, Debug)]
enum Piece {
    Text(String),
    Hole(Formula),
}

fn trouble(error: ValueError) -> Trouble {
    let allowed = match error {
        ValueError::Unknown { .. } => "settings that are numbers at every point",
        ValueError::NotFinite { .. } => "formulas with a finite value at every point",
    };
    Trouble::new(error.to_string(), allowed)
}

/// The greatest number that can stand in a hole: beyond that, reals have gaps.
const MOST: f64 = 9_007_199_254_740_992.0;

impl Template {
    /// The template that a text is; `None` if it has no holes.
    pub(super) fn parse(text: &str) -> Result<Option<Template>, Trouble> {
        if !text.contains(['{', '}']) {
            return Ok(None);
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((inside, behind)) = after.split_once('}') else {
                return Err(Trouble::new("a `{` has no `}`", "a formula in braces, such as `{n-1}`"));
            };
            if before.contains('}') {
                break;
            }
            pieces.push(Piece::Text(before.to_string()));
            pieces.push(Piece::Hole(Formula::parse(inside)?));
            rest = behind;
        }
        if rest.contains('}') {
            return Err(Trouble::new("a `}` has no `{`", "a formula in braces, such as `{n-1}`"));
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
            Piece::Hole(formula) => Some(formula),
            Piece::Text(_) => None,
        })
    }

    /// The text with each formula's value, rounded down.
    pub(super) fn fill(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<String, Trouble> {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out += text,
                Piece::Hole(formula) => {
                    let value = formula.eval(value_of).map_err(trouble)?.floor();
                    if value.abs() > MOST {
                        let problem = format!("`{formula}` is {value} here");
                        return Err(Trouble::new(problem, format!("numbers up to {MOST}")));
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
            Ok(Some(template)) => template.fill(&value_of).unwrap_or_else(|trouble| trouble.to_string()),
            Ok(None) => "no template".to_string(),
            Err(trouble) => trouble.problem,
        }
    }

    #[test]
    fn holes_are_filled() {
        for (text, wanted) in [
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
            ("{10^300}", &format!("`10^300` is {} here; allowed: numbers up to {MOST}", 1e300)),
        ] {
            assert_eq!(filled(text), wanted, "{text}");
        }
    }
}
