//! Results as comma-separated values (RFC 4180): a line of column names, then a line for each row.
//!
//! CSV itself has no types, so [`super::metadata`] keeps them in a second file. Columns that the metadata does not
//! describe get the narrowest type that holds all of their values. An empty field is a missing value; an empty text
//! is therefore read as missing. A column of floats always has a decimal point or an exponent.

use std::io::{self, Read, Write};
use std::sync::Arc;

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord, WriterBuilder};

use super::metadata::{ColumnType, Metadata};
use super::{Heading, MAX_BYTES, MAX_COLUMNS, MAX_ROWS, Table, TableError, Values};

/// Why a CSV file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file exceeds a limit.
    #[error("it has more than {max} {what}, the maximum")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// The file is empty.
    #[error("the file is empty; its first line must name the columns")]
    Empty,
    /// A field is not UTF-8.
    #[error("line {line}, column {column}: this is not UTF-8 text")]
    NotUtf8 {
        /// The line where the row starts, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A quoted field does not end.
    #[error("line {line}: a quoted field is never closed")]
    Unclosed {
        /// The line where the row starts, from 1.
        line: usize,
    },
    /// A row is longer or shorter than the first line.
    #[error("line {line}: the row has {fields} fields, the first line names {columns} columns")]
    RowLength {
        /// The line where the row starts, from 1.
        line: usize,
        /// Fields of the row.
        fields: u64,
        /// Columns of the table.
        columns: u64,
    },
    /// A value does not have the type that the metadata states.
    #[error("line {line}, column {column} (`{name}`): `{value}` is not {expected}")]
    Type {
        /// The line where the row starts, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The column's name.
        name: Arc<str>,
        /// The field.
        value: String,
        /// What the metadata states.
        expected: &'static str,
    },
    /// Two columns have the same name.
    #[error("line 1: {0}")]
    Names(TableError),
}

/// Writes a table. The same table gives the same bytes.
pub(crate) fn write(table: &Table, out: impl Write) -> io::Result<()> {
    let mut out = WriterBuilder::new().from_writer(out);
    if table.columns().len() == 0 {
        return out.flush();
    }
    out.write_record(table.columns().map(|(heading, _)| heading.name.as_bytes()))?;
    for row in 0..table.rows() {
        for (_, values) in table.columns() {
            out.write_field(field(values, row))?;
        }
        out.write_record(None::<&[u8]>)?;
    }
    out.flush()
}

fn field(values: &Values, row: usize) -> String {
    match values {
        // Unlike `Display`, this form always has a decimal point or an exponent.
        Values::Floats(numbers) => numbers[row].map_or_else(String::new, |number| format!("{number:?}")),
        values => values.cell(row).to_string(),
    }
}

/// Reads a table; columns that `metadata` does not describe get the type that fits their values.
pub(super) fn read(source: impl Read, metadata: &Metadata) -> Result<Table, CsvError> {
    read_at_most(source, metadata, MAX_BYTES)
}

fn read_at_most(source: impl Read, metadata: &Metadata, max: u64) -> Result<Table, CsvError> {
    let mut bytes = Vec::new();
    source.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(CsvError::TooLarge { what: "bytes", max });
    }
    let mut columns = header(&bytes)?
        .into_iter()
        .map(|name| Column { declared: metadata.column_type(&name), widest: None, name })
        .collect::<Vec<_>>();
    let rows = infer(&bytes, &mut columns)?;
    let mut values: Vec<Values> = columns.iter().map(|column| column.empty(rows)).collect();
    for_each_row(&bytes, |record| {
        for (at, (value, values)) in record.iter().zip(&mut values).enumerate() {
            push(values, value).ok_or_else(|| {
                let (name, value) = (columns[at].name.clone(), value.to_string());
                let expected = columns[at].column_type().with_article();
                CsvError::Type { line: line(&bytes, record.position()), column: at + 1, name, value, expected }
            })?;
        }
        Ok(())
    })?;
    let mut table = Table::default();
    for (column, values) in columns.into_iter().zip(values) {
        let about = metadata.about(&column.name);
        table.push(Heading { name: column.name, about }, values).map_err(CsvError::Names)?;
    }
    Ok(table)
}

fn header(bytes: &[u8]) -> Result<Vec<Arc<str>>, CsvError> {
    let mut reader = ReaderBuilder::new().from_reader(bytes);
    let names = reader.headers().map_err(|error| located(bytes, error))?;
    if names.is_empty() {
        return Err(CsvError::Empty);
    }
    if names.len() > MAX_COLUMNS {
        return Err(CsvError::TooLarge { what: "columns", max: MAX_COLUMNS as u64 });
    }
    Ok(names.iter().map(Arc::from).collect())
}

/// Finds the type of each column, and counts the rows.
fn infer(bytes: &[u8], columns: &mut [Column]) -> Result<usize, CsvError> {
    let (mut rows, mut last_line) = (0, 1);
    for_each_row(bytes, |record| {
        rows += 1;
        if rows > MAX_ROWS {
            return Err(CsvError::TooLarge { what: "rows", max: MAX_ROWS as u64 });
        }
        last_line = record.position().map_or(last_line, Position::byte);
        for (field, column) in record.iter().zip(columns.iter_mut()).filter(|(field, _)| !field.is_empty()) {
            column.widest = Some(ColumnType::widened(column.widest, ColumnType::inferred(field)));
        }
        Ok(())
    })?;
    // The parser ends an open quoted field with the file. In a whole file, quotes come in pairs.
    if bytes.iter().filter(|byte| **byte == b'"').count() % 2 == 1 {
        return Err(CsvError::Unclosed { line: line_at(bytes, last_line as usize) });
    }
    Ok(rows)
}

fn for_each_row(bytes: &[u8], mut handle: impl FnMut(&StringRecord) -> Result<(), CsvError>) -> Result<(), CsvError> {
    let mut reader = ReaderBuilder::new().from_reader(bytes);
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| located(bytes, error))? {
        handle(&record)?;
    }
    Ok(())
}

/// A column while it is read.
struct Column {
    name: Arc<str>,
    /// The type that the metadata states.
    declared: Option<ColumnType>,
    /// The type that fits all values so far; `None` while all are missing.
    widest: Option<ColumnType>,
}

impl Column {
    fn column_type(&self) -> ColumnType {
        self.declared.or(self.widest).unwrap_or(ColumnType::String)
    }

    fn empty(&self, rows: usize) -> Values {
        match self.column_type() {
            ColumnType::Boolean => Values::Bools(Vec::with_capacity(rows)),
            ColumnType::Integer => Values::Integers(Vec::with_capacity(rows)),
            ColumnType::Number => Values::Floats(Vec::with_capacity(rows)),
            ColumnType::String => Values::Texts(Vec::with_capacity(rows)),
        }
    }
}

/// Appends a field; `None` if it is not of the column's type.
fn push(values: &mut Values, field: &str) -> Option<()> {
    fn parse<T: std::str::FromStr>(field: &str) -> Option<Option<T>> {
        if field.is_empty() { Some(None) } else { field.parse().ok().map(Some) }
    }
    match values {
        Values::Bools(all) => all.push(parse(field)?),
        Values::Integers(all) => all.push(parse(field)?),
        Values::Floats(all) => all.push(parse(field)?),
        Values::Texts(all) => all.push((!field.is_empty()).then(|| field.into())),
    }
    Some(())
}

/// Adds the line to an error of the parser.
fn located(bytes: &[u8], error: csv::Error) -> CsvError {
    match error.kind() {
        // The parser does not know the position of such an error.
        ErrorKind::Utf8 { err, .. } => {
            let place = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
            CsvError::NotUtf8 { line: line_at(bytes, place), column: err.field() + 1 }
        }
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            CsvError::RowLength { line: line(bytes, pos.as_ref()), fields: *len, columns: *expected_len }
        }
        _ => CsvError::Io(error.into()),
    }
}

fn line(bytes: &[u8], position: Option<&Position>) -> usize {
    line_at(bytes, position.map_or(0, Position::byte) as usize)
}

/// The line of a row. The parser's own count is off by the blank lines before the row.
fn line_at(bytes: &[u8], position: usize) -> usize {
    let blank = bytes[position..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    bytes[..position + blank].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::table::Cell;
    use crate::table::samples::{any_table, sample};

    fn written(table: &Table) -> String {
        let mut bytes = Vec::new();
        write(table, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn read_alone(bytes: &[u8]) -> Result<Table, CsvError> {
        read(bytes, &Metadata::default())
    }

    #[test]
    fn fields_are_quoted_where_the_format_needs_it() {
        let text = written(&sample());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "algorithm,nodes,p.k,agreement,load_mean,point");
        assert_eq!(lines[1], "chang-roberts,8,,true,2.0,17");
        assert_eq!(lines[2], "\"a \"\"b\"\", c\",16,1,false,1e300,1e7");
        assert_eq!(lines[3], ",,,,,1a7");
    }

    #[test]
    fn types_and_descriptions_come_from_the_metadata() {
        let metadata = Metadata::of("sample.csv", &sample());
        assert_eq!(read(written(&sample()).as_bytes(), &metadata).unwrap(), sample());
        let text = "point,new\n17,1\n";
        let table = read(text.as_bytes(), &metadata).unwrap();
        assert_eq!(table.column("point"), Some(&Values::Texts(vec![Some("17".into())])));
        assert_eq!(table.column("new"), Some(&Values::Integers(vec![Some(1)])));
    }

    #[test]
    fn reads_files_of_other_programs() {
        let text = "\u{feff}n,x,ok,when\r\n1,.5,true,007\r\n\r\n+2,3,false,2020-01-01\r\n";
        let table = read_alone(text.as_bytes()).unwrap();
        assert_eq!(table.column("n"), Some(&Values::Integers(vec![Some(1), Some(2)])));
        assert_eq!(table.column("x"), Some(&Values::Floats(vec![Some(0.5), Some(3.0)])));
        assert_eq!(table.column("ok"), Some(&Values::Bools(vec![Some(true), Some(false)])));
        assert_eq!(table.cell(0, "when").to_string(), "007");
        let single = read_alone(b"n\n\"\"\n4").unwrap();
        assert_eq!(single.column("n"), Some(&Values::Integers(vec![None, Some(4)])));
    }

    #[test]
    fn errors_name_the_line_and_the_column() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "the file is empty; its first line must name the columns"),
            (b"a,b\n1,\xff\n", "line 2, column 2: this is not UTF-8 text"),
            ("a,b\n1,2\nä,\"x\ny\n".as_bytes(), "line 3: a quoted field is never closed"),
            (b"a,b\n1,2\n1,2,3\n", "line 3: the row has 3 fields, the first line names 2 columns"),
            (b"a,b\r\n1,2\r\n\r\n1\r\n", "line 4: the row has 1 fields, the first line names 2 columns"),
            (b"a,b\n\"1\n\",2\n3\n", "line 4: the row has 1 fields, the first line names 2 columns"),
            (b"a,a\n1,2\n", "line 1: there are two columns `a`"),
            (b"a,nodes\n1,2\n1,x\n", "line 3, column 2 (`nodes`): `x` is not an integer"),
        ];
        let metadata = Metadata::of("sample.csv", &sample());
        for (bytes, expected) in cases {
            let error = read(*bytes, &metadata).unwrap_err().to_string();
            assert_eq!(error, *expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn files_beyond_the_limits_are_refused() {
        let wide = ",".repeat(MAX_COLUMNS);
        let error = read_alone(wide.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 10000 columns, the maximum");
        let none = Metadata::default();
        let error = read_at_most(&b"a\n1\n2\n"[..], &none, 5).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 5 bytes, the maximum");
        assert_eq!(read_at_most(&b"a\n1\n"[..], &none, 4).unwrap().rows(), 1);
    }

    proptest! {
        #[test]
        fn a_written_table_is_read_back(table in any_table()) {
            let text = written(&table);
            let metadata = Metadata::of("any.csv", &table);
            let again = read(text.as_bytes(), &metadata).unwrap();
            // NaN is not equal to itself, so the debug form is compared. An empty text is read as missing.
            let expected = format!("{:?}", without_empty_texts(&table));
            prop_assert_eq!(format!("{again:?}"), expected);
            prop_assert_eq!(written(&again), text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a-c0-9,\"\n\r.-]{0,40}") {
            if let Ok(table) = read_alone(text.as_bytes()) {
                let again = read_alone(written(&table).as_bytes()).unwrap();
                prop_assert_eq!(format!("{again:?}"), format!("{table:?}"));
            }
        }
    }

    fn without_empty_texts(table: &Table) -> Table {
        let mut result = Table::default();
        for (heading, values) in table.columns() {
            let values = match values {
                Values::Texts(texts) => {
                    Values::Texts(texts.iter().map(|text| text.clone().filter(|text| !text.is_empty())).collect())
                }
                other => other.clone(),
            };
            result.push(heading.clone(), values).unwrap();
        }
        assert_eq!(result.cell(table.rows(), "none"), Cell::Missing);
        result
    }
}
