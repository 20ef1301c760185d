//! Why a chart cannot be made of a table.

use hustings_sim::parse::nearest;

use crate::formula::{FormulaError, ValueError};
use crate::table::Table;

/// Why a chart cannot be made of a table.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PlotError {
    /// A name that is no column.
    #[error("{part}: there is no column `{name}`{}", hint(nearest.as_deref(), known))]
    NoColumn {
        /// Which part of what was asked for.
        part: String,
        /// The name.
        name: String,
        /// The column that comes nearest.
        nearest: Option<String>,
        /// Those there are.
        known: Vec<String>,
    },
    /// A column of words where numbers are needed.
    #[error("{part}: column `{name}` holds words; allowed: columns of numbers, and formulas over them")]
    Words {
        /// Which part of what was asked for.
        part: String,
        /// The column.
        name: String,
    },
    /// A logarithm of words.
    #[error("log: column `{name}` holds words, so x cannot be logarithmic; allowed here: y, or nothing")]
    LogOfWords {
        /// The column.
        name: String,
    },
    /// A text that is no formula.
    #[error("{part}: `{}`: {error}", .error.text)]
    Formula {
        /// Which part of what was asked for.
        part: String,
        /// What is wrong with it.
        error: Box<FormulaError>,
    },
    /// A formula without a value in any row.
    #[error("{part}: `{text}` has no value that can be drawn in any row{}", because(.error.as_ref()))]
    NoValue {
        /// Which part of what was asked for.
        part: String,
        /// The formula.
        text: String,
        /// What was wrong in the first row, if it is not just outside of what can be drawn.
        error: Option<ValueError>,
    },
    /// A filter that nothing passes.
    #[error("where: no row has {column} = {wanted}; there are: {present}")]
    NoRow {
        /// The column.
        column: String,
        /// The values that were asked for.
        wanted: String,
        /// Those that are there.
        present: String,
    },
    /// Filters that nothing passes together.
    #[error("where: no row passes all the conditions together")]
    NoRows,
    /// A table without rows.
    #[error("there are no rows")]
    Empty,
    /// Rows that all lack something.
    #[error(
        "nothing can be drawn: of {rows} rows, {no_x} have no number for x (`{x}`) and {no_y} none for y (`{y}`); \
         logarithmic axes take numbers above 0 only"
    )]
    Nothing {
        /// Rows that were asked for.
        rows: usize,
        /// The horizontal column.
        x: String,
        /// Rows that lack it.
        no_x: usize,
        /// The vertical column or formula.
        y: String,
        /// Rows that lack that.
        no_y: usize,
    },
    /// More than can be shown.
    #[error("{part}: {found} {what} are too many, at most {most}; choose some with `where`")]
    TooMany {
        /// Which part of what was asked for.
        part: &'static str,
        /// How many there are.
        found: usize,
        /// Of what.
        what: &'static str,
        /// How many can be shown.
        most: usize,
    },
}

impl PlotError {
    pub(super) fn no_column(part: &str, name: &str, table: &Table) -> Self {
        let names = || table.columns().map(|(heading, _)| &*heading.name);
        PlotError::NoColumn {
            part: part.to_string(),
            name: name.to_string(),
            nearest: nearest(name, names()).map(str::to_string),
            known: names().map(str::to_string).collect(),
        }
    }
}

fn hint(nearest: Option<&str>, known: &[String]) -> String {
    let nearest = nearest.map(|nearest| format!("; the nearest is `{nearest}`")).unwrap_or_default();
    format!("{nearest}; there are: {}", listed(known, known.len()))
}

/// The first of many words.
pub(super) fn listed(words: &[String], count: usize) -> String {
    const MOST: usize = 30;
    let mut text = words.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    if count > words.len().min(MOST) {
        text += &format!(", … ({count} in all)");
    }
    text
}

fn because(error: Option<&ValueError>) -> String {
    error.map(|error| format!(": {error}")).unwrap_or_default()
}
