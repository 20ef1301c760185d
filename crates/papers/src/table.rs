//! Results: columns with a name, a meaning and a type; a row for each election.
//!
//! A table is what an experiment writes, what a file of results is read into, and what plots and reports draw from.

pub mod csv;
pub mod file;
mod metrics;
pub mod parquet;
#[cfg(test)]
pub(crate) mod samples;

use std::sync::Arc;

pub(crate) use metrics::METRICS;

/// What one column means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heading {
    /// Its name: lower case, words joined by `_`; the parameter `k` of an algorithm is `p.k`.
    pub name: Arc<str>,
    /// What it says, in a few words, with its unit: "messages sent", "ticks until the leader was elected".
    pub about: Arc<str>,
}

/// The values of one column, all of one type; `None` where a row has none.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Yes or no.
    Flags(Vec<Option<bool>>),
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Numbers.
    Reals(Vec<Option<f64>>),
    /// Words.
    Texts(Vec<Option<Arc<str>>>),
}

/// One value of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// There is none.
    Missing,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Words.
    Text(Arc<str>),
}

/// Columns of the same length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    columns: Vec<(Heading, Values)>,
    rows: usize,
}

/// Why a column was not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// There is one of that name.
    #[error("there are two columns `{0}`")]
    Twice(Arc<str>),
    /// It is longer or shorter than the others.
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
    /// How many rows it has.
    pub fn len(&self) -> usize {
        match self {
            Values::Flags(values) => values.len(),
            Values::Integers(values) => values.len(),
            Values::Reals(values) => values.len(),
            Values::Texts(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether some row has a value.
    pub fn has_a_value(&self) -> bool {
        (0..self.len()).any(|row| self.cell(row) != Cell::Missing)
    }

    /// The value of a row.
    pub fn cell(&self, row: usize) -> Cell {
        fn get<T: Clone>(values: &[Option<T>], row: usize) -> Option<T> {
            values.get(row).cloned().flatten()
        }
        match self {
            Values::Flags(values) => get(values, row).map_or(Cell::Missing, Cell::Flag),
            Values::Integers(values) => get(values, row).map_or(Cell::Missing, Cell::Integer),
            Values::Reals(values) => get(values, row).map_or(Cell::Missing, Cell::Real),
            Values::Texts(values) => get(values, row).map_or(Cell::Missing, Cell::Text),
        }
    }
}

impl Cell {
    /// The value as a number: flags are 0 and 1, words none.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Cell::Flag(flag) => Some(f64::from(u8::from(flag))),
            Cell::Integer(number) => Some(number as f64),
            Cell::Real(number) => Some(number),
            Cell::Missing | Cell::Text(_) => None,
        }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Missing => Ok(()),
            Cell::Flag(flag) => write!(out, "{flag}"),
            Cell::Integer(number) => write!(out, "{number}"),
            Cell::Real(number) => write!(out, "{number}"),
            Cell::Text(text) => out.write_str(text),
        }
    }
}

impl Table {
    /// Adds a column on the right.
    pub fn push(&mut self, heading: Heading, values: Values) -> Result<(), TableError> {
        if self.column(&heading.name).is_some() {
            return Err(TableError::Twice(heading.name));
        }
        if !self.columns.is_empty() && values.len() != self.rows {
            return Err(TableError::Length { name: heading.name, length: values.len(), rows: self.rows });
        }
        self.rows = values.len();
        self.columns.push((heading, values));
        Ok(())
    }

    /// How many rows there are.
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
    fn columns_have_different_names_and_the_same_length() {
        let mut table = Table::default();
        table.push(heading("n"), Values::Integers(vec![Some(3), None])).unwrap();
        assert_eq!(table.push(heading("n"), Values::Flags(vec![None; 2])), Err(TableError::Twice("n".into())));
        let short = table.push(heading("m"), Values::Reals(vec![Some(0.5)])).unwrap_err();
        assert_eq!(short.to_string(), "column `m` has 1 rows, the others have 2");
        assert_eq!((table.cell(0, "n"), table.cell(1, "n")), (Cell::Integer(3), Cell::Missing));
        assert_eq!(table.cell(0, "m"), Cell::Missing);
    }
}
