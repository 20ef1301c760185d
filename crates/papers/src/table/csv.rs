//! Results as comma-separated values (RFC 4180), one line for each row below a line of names.
//!
//! The type of a column is found again on reading, because what is words is told apart from what is not: words that
//! look
//! like a number or a flag, and empty words, are written in quotes, and whatever is in quotes is words. An empty field
//! without quotes is a missing value. Numbers of a column of reals have a point or an exponent. A column without any
//! value is read as words. What the columns mean (`about`) is not written.
//!
//! Lines end in a line feed alone, as the usual tools for such files expect; both kinds of ends are read. The crates
//! for this format do not tell whether a field was quoted, so the reader is our own.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::sync::Arc;

use super::{Heading, Table, TableError, Values};

/// The largest file that is read, in bytes.
pub const MAX_BYTES: u64 = 1 << 31;

/// The most columns that are read.
pub const MAX_COLUMNS: usize = 10_000;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The bytes did not come.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There are too many of them.
    #[error("it has more than {most} bytes, the most that is read")]
    TooLarge {
        /// How many are read.
        most: u64,
    },
    /// There is something wrong at a place.
    #[error("line {line}, column {column}: {problem}")]
    At {
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
        /// What is wrong.
        problem: CsvProblem,
    },
}

/// What is wrong at a place of a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CsvProblem {
    /// Nothing is there.
    #[error("the file is empty; its first line names the columns")]
    Empty,
    /// Bytes that are no text.
    #[error("this is no UTF-8 text")]
    NotText,
    /// A quoted field without an end.
    #[error("these quotes are never closed")]
    Unclosed,
    /// More of a field after its closing quotes.
    #[error("`{0}` follows closing quotes; allowed: a comma or the end of the line")]
    AfterQuotes(char),
    /// Quotes in a field that is not quoted.
    #[error("quotes inside a field; a field with quotes is quoted as a whole, and its quotes are doubled")]
    BareQuotes,
    /// A row that is longer or shorter than the first line.
    #[error("the row has {fields} fields, the first line names {columns} columns")]
    Ragged {
        /// Fields of the row.
        fields: usize,
        /// Columns.
        columns: usize,
    },
    /// More columns than are read.
    #[error("more than {MAX_COLUMNS} columns")]
    TooManyColumns,
    /// Names that cannot be.
    #[error(transparent)]
    Names(TableError),
}

/// Writes the table. The same table gives the same bytes.
pub fn write(table: &Table, mut out: impl Write) -> io::Result<()> {
    let single = table.columns().len() == 1;
    for (at, (heading, _)) in table.columns().enumerate() {
        separate(at, &mut out)?;
        // The name of a single column stands in a line of its own, which must not be blank.
        let quoted = needs_quotes(&heading.name) || (single && heading.name.is_empty());
        write_text(&heading.name, quoted, &mut out)?;
    }
    if table.columns().len() > 0 {
        out.write_all(b"\n")?;
    }
    for row in 0..table.rows() {
        for (at, (_, values)) in table.columns().enumerate() {
            separate(at, &mut out)?;
            write_cell(values, row, &mut out)?;
        }
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn separate(at: usize, out: &mut impl Write) -> io::Result<()> {
    if at > 0 { out.write_all(b",") } else { Ok(()) }
}

fn write_cell(values: &Values, row: usize, out: &mut impl Write) -> io::Result<()> {
    match values {
        Values::Flags(flags) => flags[row].map_or(Ok(()), |flag| write!(out, "{flag}")),
        Values::Integers(numbers) => numbers[row].map_or(Ok(()), |number| write!(out, "{number}")),
        // This form has always a point or an exponent.
        Values::Reals(numbers) => numbers[row].map_or(Ok(()), |number| write!(out, "{number:?}")),
        Values::Texts(texts) => texts[row].as_deref().map_or(Ok(()), |text| {
            let quoted = text.is_empty() || needs_quotes(text) || kind(text) != Kind::Word;
            write_text(text, quoted, out)
        }),
    }
}

fn needs_quotes(text: &str) -> bool {
    text.contains(['"', ',', '\n', '\r']) || text.starts_with('\u{feff}')
}

fn write_text(text: &str, quoted: bool, out: &mut impl Write) -> io::Result<()> {
    if quoted { write!(out, "\"{}\"", text.replace('"', "\"\"")) } else { out.write_all(text.as_bytes()) }
}

/// What a field without quotes looks like. The order is that of widening: whole numbers are reals too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Flag,
    Integer,
    Real,
    Word,
}

fn kind(text: &str) -> Kind {
    match text {
        "true" | "false" => return Kind::Flag,
        "NaN" | "inf" | "-inf" => return Kind::Real,
        _ => {}
    }
    // Other spellings of infinity are words.
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        || !text.contains(|c: char| c.is_ascii_digit())
    {
        Kind::Word
    } else if text.parse::<i64>().is_ok() {
        Kind::Integer
    } else if text.parse::<f64>().is_ok() {
        Kind::Real
    } else {
        Kind::Word
    }
}

/// Reads a table.
pub fn read(source: impl Read) -> Result<Table, CsvError> {
    read_at_most(source, MAX_BYTES)
}

fn read_at_most(source: impl Read, most: u64) -> Result<Table, CsvError> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(CsvError::TooLarge { most });
    }
    let text = str::from_utf8(&bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        at(&before, before.len(), CsvProblem::NotText)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    parse(text)
}

fn parse(text: &str) -> Result<Table, CsvError> {
    if text.is_empty() {
        return Err(at(text, 0, CsvProblem::Empty));
    }
    let mut fields = Fields { text, at: 0 };
    let mut names: Vec<Arc<str>> = Vec::new();
    loop {
        let (field, last) = fields.next()?;
        if names.len() == MAX_COLUMNS {
            return Err(at(text, field.start as usize, CsvProblem::TooManyColumns));
        }
        names.push(field.words(text).into());
        if last {
            break;
        }
    }
    let mut columns: Vec<Vec<Field>> = vec![Vec::new(); names.len()];
    while fields.at < text.len() {
        let start = fields.at;
        let mut count = 0;
        loop {
            let (field, last) = fields.next()?;
            // A blank line is a missing value only where a row is one value.
            if last && count == 0 && columns.len() > 1 && field.is_missing() {
                break;
            }
            if let Some(column) = columns.get_mut(count) {
                column.push(field);
            }
            count += 1;
            if last {
                if count != columns.len() {
                    let problem = CsvProblem::Ragged { fields: count, columns: columns.len() };
                    return Err(at(text, start, problem));
                }
                break;
            }
        }
    }
    let mut table = Table::default();
    for (name, fields) in names.into_iter().zip(columns) {
        let heading = Heading { name, about: "".into() };
        let pushed = table.push(heading, values(text, &fields));
        pushed.map_err(|error| at(text, 0, CsvProblem::Names(error)))?;
    }
    Ok(table)
}

/// The error for a place in the text.
fn at(text: &str, place: usize, problem: CsvProblem) -> CsvError {
    let before = &text[..place];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    CsvError::At { line, column: before[line_start..].chars().count() + 1, problem }
}

/// Where a field stands in the text, its quotes left out. Places fit in 32 bits because the text does.
#[derive(Clone, Copy, Debug)]
struct Field {
    start: u32,
    end: u32,
    quoted: bool,
}

impl Field {
    fn raw(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }

    fn words(self, text: &str) -> Cow<'_, str> {
        let raw = self.raw(text);
        if self.quoted && raw.contains('"') { raw.replace("\"\"", "\"").into() } else { raw.into() }
    }

    fn is_missing(self) -> bool {
        self.start == self.end && !self.quoted
    }
}

struct Fields<'a> {
    text: &'a str,
    at: usize,
}

impl Fields<'_> {
    /// The next field, and whether it is the last of its row.
    fn next(&mut self) -> Result<(Field, bool), CsvError> {
        let bytes = self.text.as_bytes();
        let quoted = bytes.get(self.at) == Some(&b'"');
        let (start, end) = if quoted { self.quoted()? } else { self.plain()? };
        let field = Field { start: start as u32, end: end as u32, quoted };
        let rest = &self.text[self.at..];
        let (length, last) = if rest.starts_with(',') {
            (1, false)
        } else if rest.starts_with("\r\n") {
            (2, true)
        } else if rest.is_empty() || rest.starts_with('\n') {
            (rest.len().min(1), true)
        } else {
            let next = rest.chars().next().unwrap_or_default();
            return Err(at(self.text, self.at, CsvProblem::AfterQuotes(next)));
        };
        self.at += length;
        Ok((field, last))
    }

    /// A field up to the next comma or end of line; a carriage return alone is part of it.
    fn plain(&mut self) -> Result<(usize, usize), CsvError> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let rest = &bytes[start..];
        let length = rest.iter().position(|byte| matches!(byte, b',' | b'\n' | b'"')).unwrap_or(rest.len());
        let mut end = start + length;
        match bytes.get(end) {
            Some(b'"') => return Err(at(self.text, end, CsvProblem::BareQuotes)),
            Some(b'\n') if end > start && bytes[end - 1] == b'\r' => end -= 1,
            _ => {}
        }
        self.at = end;
        Ok((start, end))
    }

    /// A field up to its closing quotes.
    fn quoted(&mut self) -> Result<(usize, usize), CsvError> {
        let (bytes, open) = (self.text.as_bytes(), self.at);
        let mut at_quote = open + 1;
        loop {
            let Some(length) = bytes[at_quote..].iter().position(|byte| *byte == b'"') else {
                return Err(at(self.text, open, CsvProblem::Unclosed));
            };
            at_quote += length;
            if bytes.get(at_quote + 1) != Some(&b'"') {
                break;
            }
            at_quote += 2;
        }
        self.at = at_quote + 1;
        Ok((open + 1, at_quote))
    }
}

/// The values of a column in the narrowest type that holds them all.
fn values(text: &str, fields: &[Field]) -> Values {
    let of = |field: &Field| if field.quoted { Kind::Word } else { kind(field.raw(text)) };
    let mut kinds = fields.iter().filter(|field| !field.is_missing()).map(of);
    let first = kinds.next().unwrap_or(Kind::Word);
    let widest = kinds.fold(first, |widest, next| match (widest.min(next), widest.max(next)) {
        // A flag is no number.
        (Kind::Flag, Kind::Integer | Kind::Real) => Kind::Word,
        (_, greater) => greater,
    });
    // The kind was found by parsing, so nothing is lost by `ok`.
    fn each<T>(text: &str, fields: &[Field], read: impl Fn(Cow<'_, str>) -> Option<T>) -> Vec<Option<T>> {
        let one = |field: &Field| if field.is_missing() { None } else { read(field.words(text)) };
        fields.iter().map(one).collect()
    }
    match widest {
        Kind::Flag => Values::Flags(each(text, fields, |word| word.parse().ok())),
        Kind::Integer => Values::Integers(each(text, fields, |word| word.parse().ok())),
        Kind::Real => Values::Reals(each(text, fields, |word| word.parse().ok())),
        Kind::Word => Values::Texts(each(text, fields, |word| Some(word.into()))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::table::samples::{any_table, sample};

    fn written(table: &Table) -> String {
        let mut bytes = Vec::new();
        write(table, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn words_that_look_like_something_else_are_quoted() {
        let text = written(&sample());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "algorithm,nodes,p.k,agreement,load_mean,point");
        assert_eq!(lines[1], "chang-roberts,8,,true,2.0,\"17\"");
        assert_eq!(lines[2], "\"a \"\"b\"\", c\",16,1,false,1e300,\"\"");
        assert_eq!(lines[3], ",,,,,1a7");
    }

    #[test]
    fn other_programs_files_are_read() {
        let table = read("\u{feff}n,x,ok,when\r\n1,.5,true,007\r\n\r\n+2,3,false,2020-01-01\r\n".as_bytes()).unwrap();
        assert_eq!(table.column("n"), Some(&Values::Integers(vec![Some(1), Some(2)])));
        assert_eq!(table.column("x"), Some(&Values::Reals(vec![Some(0.5), Some(3.0)])));
        assert_eq!(table.column("ok"), Some(&Values::Flags(vec![Some(true), Some(false)])));
        assert_eq!(table.cell(0, "when").to_string(), "007");
        let single = read("n\n\n4".as_bytes()).unwrap();
        assert_eq!(single.column("n"), Some(&Values::Integers(vec![None, Some(4)])));
    }

    #[test]
    fn errors_name_the_place() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "line 1, column 1: the file is empty; its first line names the columns"),
            (b"a,b\n1,\xff\n", "line 2, column 3: this is no UTF-8 text"),
            ("a,b\nä,\"x\ny\n".as_bytes(), "line 2, column 3: these quotes are never closed"),
            (
                b"a,b\n\"x\"y,2\n",
                "line 2, column 4: `y` follows closing quotes; allowed: a comma or the end of the line",
            ),
            (
                b"a,b\nx\"y,2\n",
                "line 2, column 2: quotes inside a field; a field with quotes is quoted as a whole, and its quotes are \
                 doubled",
            ),
            (b"a,b\n1,2\n1,2,3\n", "line 3, column 1: the row has 3 fields, the first line names 2 columns"),
            (b"a,b\n\"1\n\",2\n3\n", "line 4, column 1: the row has 1 fields, the first line names 2 columns"),
            (b"a,a\n1,2\n", "line 1, column 1: there are two columns `a`"),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(read(*bytes).unwrap_err().to_string(), *wanted, "{:?}", String::from_utf8_lossy(bytes));
        }
        let wide = ",".repeat(MAX_COLUMNS);
        assert_eq!(read(wide.as_bytes()).unwrap_err().to_string(), "line 1, column 10001: more than 10000 columns");
        let large = read_at_most(&b"a\n1\n2\n"[..], 5).unwrap_err();
        assert_eq!(large.to_string(), "it has more than 5 bytes, the most that is read");
        assert_eq!(read_at_most(&b"a\n1\n"[..], 4).unwrap().rows(), 1);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(table in any_table()) {
            let text = written(&table);
            let again = read(text.as_bytes()).unwrap();
            // Not a number is equal to nothing, and a column without a value has lost its type.
            for ((heading, values), (other_heading, others)) in table.columns().zip(again.columns()) {
                prop_assert_eq!(&heading.name, &other_heading.name);
                if (0..table.rows()).any(|row| values.cell(row) != crate::table::Cell::Missing) {
                    prop_assert_eq!(format!("{values:?}"), format!("{others:?}"));
                }
            }
            prop_assert_eq!((table.rows(), table.columns().len()), (again.rows(), again.columns().len()));
            prop_assert_eq!(written(&again), text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a-c0-9,\"\n\r.-]{0,40}") {
            if let Ok(table) = read(text.as_bytes()) {
                let again = read(written(&table).as_bytes()).unwrap();
                prop_assert_eq!(format!("{again:?}"), format!("{table:?}"));
            }
        }
    }
}
