//! Result files: the extension tells the format, and several files can be joined into one table.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::csv::{self, CsvError};
use super::metadata::{Metadata, metadata_path};
use super::parquet::{self, ParquetFileError};
use super::{Cell, Heading, Table, TableError, Values};
use crate::files::write_whole;

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// The extension is unknown.
    #[error("unknown format; allowed: names that end in .csv or .parquet")]
    Format,
    /// The CSV file is invalid.
    #[error(transparent)]
    Csv(CsvError),
    /// The metadata of a CSV file cannot be read.
    #[error("its metadata `{path}` cannot be read: {error}; without that file, types are inferred from the values")]
    Metadata {
        /// The metadata file.
        path: String,
        /// Why not.
        error: io::Error,
    },
    /// The Parquet file is invalid.
    #[error(transparent)]
    Parquet(ParquetFileError),
    /// Two files have different columns.
    #[error("{has} has a column `{name}`, {lacks} has not; results are joined only if they have the same columns")]
    Columns {
        /// The column.
        name: Arc<str>,
        /// The file that has it.
        has: String,
        /// The file that lacks it.
        lacks: String,
    },
    /// A column has different types in two files.
    #[error("column `{name}` holds {first_kind} in {first} and {other_kind} in {other}")]
    Types {
        /// The column.
        name: Arc<str>,
        /// What it holds in one file.
        first_kind: &'static str,
        /// That file.
        first: String,
        /// What it holds in the other.
        other_kind: &'static str,
        /// The other file.
        other: String,
    },
    /// Two rows are the same run.
    #[error("{first} and {other} hold the same run ({run}): it would count twice")]
    Repeated {
        /// Its point and repetition.
        run: String,
        /// A file that holds it.
        first: String,
        /// Another, or the same.
        other: String,
    },
    /// The joined columns do not form a table.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Reads one file of results.
pub fn open(path: &Path) -> Result<Table, ResultsError> {
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let is = |name: &str| ending.as_ref().is_some_and(|ending| ending == name);
    if !is("csv") && !is("parquet") {
        return Err(ResultsError::Format);
    }
    let file = File::open(path).map_err(ResultsError::Io)?;
    if is("csv") {
        let metadata = Metadata::open(path).map_err(|error| {
            let path = metadata_path(path).display().to_string();
            ResultsError::Metadata { path, error }
        })?;
        csv::read(file, &metadata).map_err(|error| match error {
            CsvError::Io(error) => ResultsError::Io(error),
            other => ResultsError::Csv(other),
        })
    } else {
        parquet::read(file).map_err(|error| match error {
            ParquetFileError::Io(error) => ResultsError::Io(error),
            other => ResultsError::Parquet(other),
        })
    }
}

/// Writes a CSV file and its metadata, each of them whole or not at all.
pub(crate) fn write_csv(path: &Path, table: &Table) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let metadata = Metadata::of(&name, table);
    write_whole(&metadata_path(path), |out| {
        serde_json::to_writer_pretty(&mut *out, &metadata)?;
        out.write_all(b"\n")
    })?;
    write_whole(path, |out| csv::write(table, out))
}

/// Whether a file may lack a column: a kind of message is a column only if such messages were sent.
fn is_optional(name: &str) -> bool {
    name.starts_with("messages.")
}

/// Appends the rows of all tables. Each table comes with a name for errors. All tables must have the same columns, in
/// any order; only `messages.KIND` is optional. A run must not occur twice, because that would make the confidence
/// intervals too narrow.
pub fn join(tables: Vec<(String, Table)>) -> Result<Table, ResultsError> {
    let mut names: Vec<(Heading, usize)> = Vec::new();
    for (at, (_, table)) in tables.iter().enumerate() {
        for (heading, _) in table.columns() {
            if !names.iter().any(|(known, _)| known.name == heading.name) {
                names.push((heading.clone(), at));
            }
        }
    }
    let mut joined = Table::default();
    for (heading, has) in names {
        let mut parts: Vec<(usize, Option<&Values>)> = Vec::new();
        for (lacks, table) in &tables {
            let values = table.column(&heading.name);
            if values.is_none() && !is_optional(&heading.name) {
                let has = tables[has].0.clone();
                return Err(ResultsError::Columns { name: heading.name, has, lacks: lacks.clone() });
            }
            parts.push((table.rows(), values));
        }
        let kind = common_kind(&parts).map_err(|(first, other)| ResultsError::Types {
            name: heading.name.clone(),
            first_kind: parts[first].1.map_or("nothing", kind_of),
            first: tables[first].0.clone(),
            other_kind: parts[other].1.map_or("nothing", kind_of),
            other: tables[other].0.clone(),
        })?;
        joined.push(heading, concatenated(&parts, kind))?;
    }
    check_duplicate_runs(&tables, &joined)?;
    Ok(joined)
}

/// The columns that identify a run.
const RUN_KEY: [&str; 4] = ["point", "repetition", "seed", "version"];

fn check_duplicate_runs(tables: &[(String, Table)], joined: &Table) -> Result<(), ResultsError> {
    let mut seen: BTreeMap<[String; 4], &str> = BTreeMap::new();
    let files = tables.iter().flat_map(|(name, table)| std::iter::repeat_n(name.as_str(), table.rows()));
    for (row, other) in files.enumerate() {
        let cells = RUN_KEY.map(|column| joined.cell(row, column));
        // Files of other programs may lack these columns.
        if cells.contains(&Cell::Missing) {
            continue;
        }
        if let Some(first) = seen.insert(cells.each_ref().map(ToString::to_string), other) {
            let run = format!("point {}, repetition {}", cells[0], cells[1]);
            return Err(ResultsError::Repeated { run, first: first.to_string(), other: other.to_string() });
        }
    }
    Ok(())
}

fn kind_of(values: &Values) -> &'static str {
    match values {
        Values::Bools(_) => "booleans",
        Values::Integers(_) | Values::Floats(_) => "numbers",
        Values::Texts(_) => "text",
    }
}

/// A column of the type that fits all parts, where a part without values fits any type. Otherwise the indices of two
/// parts that differ.
fn common_kind<'a>(parts: &[(usize, Option<&'a Values>)]) -> Result<Option<&'a Values>, (usize, usize)> {
    let mut found: Option<(usize, &Values)> = None;
    for (at, (_, values)) in parts.iter().enumerate() {
        let Some(values) = values.filter(|values| values.has_values()) else { continue };
        match found {
            None => found = Some((at, values)),
            Some((_, Values::Floats(_))) if matches!(values, Values::Integers(_)) => {}
            Some((_, Values::Integers(_))) if matches!(values, Values::Floats(_)) => found = Some((at, values)),
            Some((_, known)) if std::mem::discriminant(known) == std::mem::discriminant(values) => {}
            Some((first, _)) => return Err((first, at)),
        }
    }
    Ok(found.map(|(_, values)| values))
}

fn concatenated(parts: &[(usize, Option<&Values>)], kind: Option<&Values>) -> Values {
    fn all<T>(parts: &[(usize, Option<&Values>)], one: impl Fn(Cell) -> Option<T>) -> Vec<Option<T>> {
        let of_part = |(rows, values): &(usize, Option<&Values>)| {
            (0..*rows).map(|row| values.and_then(|values| one(values.cell(row)))).collect::<Vec<_>>()
        };
        parts.iter().flat_map(of_part).collect()
    }
    match kind.or(parts.iter().find_map(|(_, values)| *values)) {
        Some(Values::Bools(_)) => Values::Bools(all(parts, |cell| match cell {
            Cell::Bool(value) => Some(value),
            _ => None,
        })),
        Some(Values::Integers(_)) => Values::Integers(all(parts, |cell| match cell {
            Cell::Integer(number) => Some(number),
            _ => None,
        })),
        Some(Values::Floats(_)) => Values::Floats(all(parts, |cell| cell.number())),
        Some(Values::Texts(_)) | None => Values::Texts(all(parts, |cell| match cell {
            Cell::Text(text) => Some(text),
            _ => None,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::samples::sample;

    fn table(columns: &[(&str, Values)]) -> Table {
        let mut table = Table::default();
        for (name, values) in columns {
            table.push(Heading { name: (*name).into(), about: "".into() }, values.clone()).unwrap();
        }
        table
    }

    fn integers(numbers: &[i64]) -> Values {
        Values::Integers(numbers.iter().map(|number| Some(*number)).collect())
    }

    #[test]
    fn joins_the_rows_of_all_files() {
        let first = table(&[
            ("n", integers(&[1, 2])),
            ("messages.a", integers(&[3, 4])),
            ("p.k", Values::Texts(vec![None; 2])),
        ]);
        let other = table(&[("p.k", integers(&[7])), ("n", Values::Floats(vec![Some(2.5)]))]);
        let joined = join(vec![("a.csv".into(), first), ("b.csv".into(), other)]).unwrap();
        assert_eq!(joined.column("n"), Some(&Values::Floats(vec![Some(1.0), Some(2.0), Some(2.5)])));
        assert_eq!(joined.column("messages.a"), Some(&Values::Integers(vec![Some(3), Some(4), None])));
        assert_eq!(joined.column("p.k"), Some(&Values::Integers(vec![None, None, Some(7)])));
    }

    #[test]
    fn errors_name_the_files_that_differ() {
        let join = |first: Table, other: Table| join(vec![("a.csv".into(), first), ("b.csv".into(), other)]);
        let error = join(table(&[("n", integers(&[1]))]), table(&[("m", integers(&[1]))])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.csv has a column `n`, b.csv has not; results are joined only if they have the same columns"
        );
        let texts = Values::Texts(vec![Some("x".into())]);
        let error = join(table(&[("n", integers(&[1]))]), table(&[("n", texts)])).unwrap_err();
        assert_eq!(error.to_string(), "column `n` holds numbers in a.csv and text in b.csv");
    }

    #[test]
    fn rejects_a_duplicate_run() {
        let run = |version: &str| {
            let text = |text: &str| Values::Texts(vec![Some(text.into())]);
            table(&[
                ("point", text("1a7")),
                ("repetition", integers(&[3])),
                ("seed", integers(&[42])),
                ("version", text(version)),
                ("messages", integers(&[8])),
            ])
        };
        let error = join(vec![("a.csv".into(), run("1.0")), ("a.parquet".into(), run("1.0"))]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.csv and a.parquet hold the same run (point 1a7, repetition 3): it would count twice"
        );
        assert!(join(vec![("a.csv".into(), run("1.0")), ("b.csv".into(), run("1.1"))]).is_ok());
    }

    #[test]
    fn the_extension_tells_the_format() {
        assert!(matches!(open(Path::new("results.txt")), Err(ResultsError::Format)));
        assert!(matches!(open(Path::new("/nonexistent/results.CSV")), Err(ResultsError::Io(_))));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "n\n1\n").unwrap();
        assert_eq!(open(&path).unwrap().rows(), 1);
        std::fs::write(metadata_path(&path), "{").unwrap();
        assert!(matches!(open(&path), Err(ResultsError::Metadata { .. })));
        write_csv(&path, &sample()).unwrap();
        assert_eq!(open(&path).unwrap(), sample());
        std::fs::rename(&path, folder.path().join("a.parquet")).unwrap();
        assert!(matches!(open(&folder.path().join("a.parquet")), Err(ResultsError::Parquet(_))));
    }
}
