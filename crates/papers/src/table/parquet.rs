//! Results as Apache Parquet: columns of type BOOLEAN, INT64, DOUBLE and UTF8, all of them optional.
//!
//! The descriptions of columns (`about`) are in the file's metadata under `hustings.about.NAME`. Nothing is compressed
//! and no time or version is written, so the same table gives the same bytes. Files of other programs can be read if
//! their columns are flat and of these types, or of INT32 or FLOAT.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once, mpsc};
use std::thread;

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnDescriptor, Type};

use super::{Heading, MAX_BYTES, MAX_COLUMNS, MAX_ROWS, Table, TableError, Values};

/// The number of rows of a row group.
const ROWS_PER_GROUP: usize = 1 << 20;

/// The prefix of the keys of descriptions in the metadata.
const ABOUT: &str = "hustings.about.";

/// Why a Parquet file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ParquetFileError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not Parquet, or it is damaged.
    #[error("it is not a Parquet file, or it is damaged: {0}")]
    Format(ParquetError),
    /// The file exceeds a limit.
    #[error("it has more than {max} {what}, the maximum")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// The type of a column is not supported.
    #[error("column `{name}` is {what}; allowed: flat columns of BOOLEAN, INT32, INT64, FLOAT, DOUBLE and UTF8")]
    Column {
        /// The name.
        name: String,
        /// Its type.
        what: String,
    },
    /// The values of a column are invalid.
    #[error("column `{name}`: {problem}")]
    Values {
        /// The name.
        name: String,
        /// The problem.
        problem: String,
    },
    /// The columns do not form a table.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl From<ParquetError> for ParquetFileError {
    fn from(error: ParquetError) -> Self {
        match error {
            // The writer wraps errors of the file below it.
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(inner) => ParquetFileError::Io(*inner),
                Err(inner) => ParquetFileError::Format(ParquetError::External(inner)),
            },
            other => ParquetFileError::Format(other),
        }
    }
}

/// Writes the table. The same table gives the same bytes.
pub fn write(table: &Table, mut out: impl Write + Send) -> Result<(), ParquetFileError> {
    let fields = table.columns().map(|(heading, values)| field(heading, values).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("results").with_fields(fields).build()?);
    let abouts = table.columns().filter(|(heading, _)| !heading.about.is_empty());
    let abouts =
        abouts.map(|(heading, _)| KeyValue::new(format!("{ABOUT}{}", heading.name), heading.about.to_string()));
    let properties = WriterProperties::builder()
        .set_created_by("hustings".to_string())
        .set_key_value_metadata(Some(abouts.collect()).filter(|abouts: &Vec<_>| !abouts.is_empty()))
        .build();
    let mut file = SerializedFileWriter::new(&mut out, schema, Arc::new(properties))?;
    for start in (0..table.rows()).step_by(ROWS_PER_GROUP) {
        let rows = start..table.rows().min(start + ROWS_PER_GROUP);
        let mut group = file.next_row_group()?;
        for (_, values) in table.columns() {
            let Some(mut column) = group.next_column()? else { break };
            write_values(values, rows.clone(), &mut column)?;
            column.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(out.flush()?)
}

fn field(heading: &Heading, values: &Values) -> Result<Type, ParquetError> {
    let (physical, logical) = match values {
        Values::Bools(_) => (Physical::BOOLEAN, None),
        Values::Integers(_) => (Physical::INT64, None),
        Values::Floats(_) => (Physical::DOUBLE, None),
        Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&heading.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn write_values(
    values: &Values,
    rows: std::ops::Range<usize>,
    column: &mut SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    fn put<D: DataType, T>(
        values: &[Option<T>],
        one: impl Fn(&T) -> D::T,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let present: Vec<D::T> = values.iter().flatten().map(one).collect();
        let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
        column.typed::<D>().write_batch(&present, Some(&levels), None).map(drop)
    }
    match values {
        Values::Bools(flags) => put::<BoolType, _>(&flags[rows], |flag| *flag, column),
        Values::Integers(numbers) => put::<Int64Type, _>(&numbers[rows], |number| *number, column),
        Values::Floats(numbers) => put::<DoubleType, _>(&numbers[rows], |number| *number, column),
        Values::Texts(texts) => put::<ByteArrayType, _>(&texts[rows], |text| ByteArray::from(&**text), column),
    }
}

/// Reads a table.
pub fn read(source: impl Read) -> Result<Table, ParquetFileError> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ParquetFileError::TooLarge { what: "bytes", max: MAX_BYTES });
    }
    catch_panic(|| decode(Bytes::from(bytes))).unwrap_or_else(|| {
        let problem = "a page cannot be decoded".to_string();
        Err(ParquetFileError::Format(ParquetError::General(problem)))
    })
}

thread_local! {
    /// What to do if this thread panics, instead of printing the panic.
    static ON_PANIC: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// Turns a panic into `None` without printing it. The library panics on some damaged pages.
///
/// If panics unwind, they are caught. The release profile aborts instead, right after the panic hook. There the work is
/// done by a thread of its own, and the hook of a thread that has panicked never returns.
fn catch_panic<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| match ON_PANIC.take() {
            None => usual(panic),
            Some(report) => {
                report();
                while cfg!(panic = "abort") {
                    thread::park();
                }
            }
        }));
    });
    if cfg!(panic = "unwind") {
        ON_PANIC.set(Some(Box::new(|| {})));
        let done = panic::catch_unwind(AssertUnwindSafe(work)).ok();
        ON_PANIC.take();
        return done;
    }
    let (sender, receiver) = mpsc::channel();
    let halted = sender.clone();
    thread::spawn(move || {
        // Nobody listens any more only if the process ends.
        ON_PANIC.set(Some(Box::new(move || _ = halted.send(None))));
        let done = work();
        ON_PANIC.take();
        _ = sender.send(Some(done));
    });
    receiver.recv().ok().flatten()
}

fn decode(bytes: Bytes) -> Result<Table, ParquetFileError> {
    let length = bytes.len() as u64;
    let file = SerializedFileReader::new(bytes)?;
    let metadata = file.metadata().file_metadata();
    let schema = metadata.schema_descr();
    if schema.num_columns() > MAX_COLUMNS {
        return Err(ParquetFileError::TooLarge { what: "columns", max: MAX_COLUMNS as u64 });
    }
    let mut columns = schema.columns().iter().map(|column| Column::new(column)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = 0;
    for at in 0..file.num_row_groups() {
        let group = file.get_row_group(at)?;
        // A negative number is treated like one that is too large.
        let group_rows = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        rows = group_rows.saturating_add(rows);
        if rows > MAX_ROWS {
            return Err(ParquetFileError::TooLarge { what: "rows", max: MAX_ROWS as u64 });
        }
        if group.num_columns() != columns.len() {
            let problem = format!("{} columns where the schema has {}", group.num_columns(), columns.len());
            return Err(ParquetFileError::Format(ParquetError::General(problem)));
        }
        for (at, column) in columns.iter_mut().enumerate() {
            check_position(group.metadata().column(at), length)?;
            column.read(&*group, at, group_rows)?;
        }
    }
    let none = Vec::new();
    let notes = metadata.key_value_metadata().unwrap_or(&none);
    let mut table = Table::default();
    for column in columns {
        let is_about = |note: &&KeyValue| note.key.strip_prefix(ABOUT) == Some(&column.name);
        let about = notes.iter().find(is_about).and_then(|note| note.value.as_deref()).unwrap_or_default();
        table.push(Heading { name: column.name.as_str().into(), about: about.into() }, column.values)?;
    }
    Ok(table)
}

/// Checks the position of a column chunk, because the library panics if it is outside of the file.
fn check_position(chunk: &ColumnChunkMetaData, length: u64) -> Result<(), ParquetFileError> {
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    let end = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
    let end = end.and_then(|(start, size)| start.checked_add(size));
    if end.is_some_and(|end| end <= length) && chunk.num_values() >= 0 {
        return Ok(());
    }
    let problem = "it is outside of the file".to_string();
    Err(ParquetFileError::Values { name: chunk.column_path().parts().join("."), problem })
}

/// A column while it is read, group by group.
struct Column {
    name: String,
    optional: bool,
    values: Values,
}

impl Column {
    fn new(described: &ColumnDescriptor) -> Result<Self, ParquetFileError> {
        let name = described.path().parts().join(".");
        if described.path().parts().len() != 1 || described.max_rep_level() > 0 || described.max_def_level() > 1 {
            return Err(ParquetFileError::Column { name, what: "nested".to_string() });
        }
        let values = match described.physical_type() {
            Physical::BOOLEAN => Values::Bools(Vec::new()),
            Physical::INT32 | Physical::INT64 => Values::Integers(Vec::new()),
            Physical::FLOAT | Physical::DOUBLE => Values::Floats(Vec::new()),
            Physical::BYTE_ARRAY => Values::Texts(Vec::new()),
            other => return Err(ParquetFileError::Column { name, what: format!("of type {other}") }),
        };
        Ok(Column { name, optional: described.max_def_level() == 1, values })
    }

    fn read(&mut self, group: &dyn RowGroupReader, at: usize, rows: usize) -> Result<(), ParquetFileError> {
        let optional = self.optional;
        let wrong = |error: &dyn std::fmt::Display| ParquetFileError::Values {
            name: self.name.clone(),
            problem: error.to_string(),
        };
        let reader = group.get_column_reader(at).map_err(|error| wrong(&error))?;
        let done = match (&mut self.values, reader) {
            (Values::Bools(all), ColumnReader::BoolColumnReader(reader)) => get(reader, rows, optional, all, Ok),
            (Values::Integers(all), ColumnReader::Int64ColumnReader(reader)) => get(reader, rows, optional, all, Ok),
            (Values::Integers(all), ColumnReader::Int32ColumnReader(reader)) => {
                get(reader, rows, optional, all, |number| Ok(i64::from(number)))
            }
            (Values::Floats(all), ColumnReader::DoubleColumnReader(reader)) => get(reader, rows, optional, all, Ok),
            (Values::Floats(all), ColumnReader::FloatColumnReader(reader)) => {
                get(reader, rows, optional, all, |number| Ok(f64::from(number)))
            }
            (Values::Texts(all), ColumnReader::ByteArrayColumnReader(reader)) => {
                get(reader, rows, optional, all, |bytes| bytes.as_utf8().map(Arc::from))
            }
            _ => Err(ParquetError::General("its type differs from the one in the schema".to_string())),
        };
        done.map_err(|error| ParquetFileError::Values { name: self.name.clone(), problem: error.to_string() })
    }
}

/// Appends the values of a column of one group.
fn get<D: DataType, T>(
    mut reader: ColumnReaderImpl<D>,
    rows: usize,
    optional: bool,
    all: &mut Vec<Option<T>>,
    one: impl Fn(D::T) -> Result<T, ParquetError>,
) -> Result<(), ParquetError> {
    let (mut levels, mut present) = (Vec::new(), Vec::new());
    let (read, _, _) = reader.read_records(rows, Some(&mut levels), None, &mut present)?;
    if read != rows {
        return Err(ParquetError::General(format!("{read} values where there are {rows} rows")));
    }
    let mut present = present.into_iter().map(one);
    if !optional {
        for value in present {
            all.push(Some(value?));
        }
        return Ok(());
    }
    for level in levels {
        all.push(if level == 0 { None } else { present.next().transpose()? });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
