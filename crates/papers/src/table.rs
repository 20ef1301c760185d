//! Results: typed columns with a name and a description, and a row for each election.
//!
//! Experiments produce tables, result files are read into tables, and plots and reports are drawn from tables.

pub(crate) mod csv;
pub mod file;
pub(crate) mod metadata;
mod metrics;
pub mod parquet;
#[cfg(test)]
pub(crate) mod samples;

use std::sync::Arc;

pub(crate) use metrics::METRICS;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 31;

/// The maximum number of columns that are read.
const MAX_COLUMNS: usize = 10_000;

/// The maximum number of rows that are read.
const MAX_ROWS: usize = 100_000_000;

/// The name and the description of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heading {
    /// The name: lower case, words joined by `_`; the parameter `k` of an algorithm is `p.k`.
    pub name: Arc<str>,
    /// A short description with the unit: "messages sent", "ticks until the leader was elected".
    pub about: Arc<str>,
}

/// The values of one column, all of one type; `None` where a value is missing.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Booleans.
    Bools(Vec<Option<bool>>),
    /// Integers.
    Integers(Vec<Option<i64>>),
    /// Floating-point numbers.
    Floats(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<Arc<str>>>),
}

/// One value of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// The row has no value in this column.
    Missing,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// A text.
    Text(Arc<str>),
}

/// Columns of the same length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    columns: Vec<(Heading, Values)>,
    rows: usize,
}

/// Why a column cannot be added.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// The table already has a column of this name.
    #[error("there are two columns `{0}`")]
    Duplicate(Arc<str>),
    /// It is longer or shorter than the other columns.
    #[error("column `{name}` has {length} rows, the others have {rows}")]
    Length {
        /// Its name.
        name: Arc<str>,
        /// Its length.
        length: usize,
        /// The length of the others.
        rows: usize,
    },
}

impl Values {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Bools(values) => values.len(),
            Values::Integers(values) => values.len(),
            Values::Floats(values) => values.len(),
            Values::Texts(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any row has a value.
    pub fn has_values(&self) -> bool {
        (0..self.len()).any(|row| self.cell(row) != Cell::Missing)
    }

    /// The value of a row.
    pub fn cell(&self, row: usize) -> Cell {
        fn get<T: Clone>(values: &[Option<T>], row: usize) -> Option<T> {
            values.get(row).cloned().flatten()
        }
        match self {
            Values::Bools(values) => get(values, row).map_or(Cell::Missing, Cell::Bool),
            Values::Integers(values) => get(values, row).map_or(Cell::Missing, Cell::Integer),
            Values::Floats(values) => get(values, row).map_or(Cell::Missing, Cell::Float),
            Values::Texts(values) => get(values, row).map_or(Cell::Missing, Cell::Text),
        }
    }
}

impl Cell {
    /// The value as a number: booleans are 0 and 1, texts are not numbers.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Cell::Bool(value) => Some(f64::from(u8::from(value))),
            Cell::Integer(number) => Some(number as f64),
            Cell::Float(number) => Some(number),
            Cell::Missing | Cell::Text(_) => None,
        }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Missing => Ok(()),
            Cell::Bool(value) => write!(out, "{value}"),
            Cell::Integer(number) => write!(out, "{number}"),
            Cell::Float(number) => write!(out, "{number}"),
            Cell::Text(text) => out.write_str(text),
        }
    }
}

impl Table {
    /// Adds a column on the right.
    pub fn push(&mut self, heading: Heading, values: Values) -> Result<(), TableError> {
        if self.column(&heading.name).is_some() {
            return Err(TableError::Duplicate(heading.name));
        }
        if !self.columns.is_empty() && values.len() != self.rows {
            return Err(TableError::Length { name: heading.name, length: values.len(), rows: self.rows });
        }
        self.rows = values.len();
        self.columns.push((heading, values));
        Ok(())
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All columns, from left to right.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&Heading, &Values)> {
        self.columns.iter().map(|(heading, values)| (heading, values))
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns().find(|(heading, _)| &*heading.name == name).map(|(_, values)| values)
    }

    /// The value of a column in a row; `Missing` where there is no such column.
    pub fn cell(&self, row: usize, name: &str) -> Cell {
        self.column(name).map_or(Cell::Missing, |values| values.cell(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(name: &str) -> Heading {
        Heading { name: name.into(), about: "".into() }
    }

    #[test]
    fn rejects_duplicate_names_and_unequal_lengths() {
        let mut table = Table::default();
        table.push(heading("n"), Values::Integers(vec![Some(3), None])).unwrap();
        assert_eq!(table.push(heading("n"), Values::Bools(vec![None; 2])), Err(TableError::Duplicate("n".into())));
        let short = table.push(heading("m"), Values::Floats(vec![Some(0.5)])).unwrap_err();
        assert_eq!(short.to_string(), "column `m` has 1 rows, the others have 2");
        assert_eq!((table.cell(0, "n"), table.cell(1, "n")), (Cell::Integer(3), Cell::Missing));
        assert_eq!(table.cell(0, "m"), Cell::Missing);
    }
}
