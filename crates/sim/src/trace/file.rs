//! Traces as files: [`TraceWriter`] writes one during the run, [`TraceFile`] reads one.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};

use hustings_protocol::{Message, Record};

use super::Observer;
use super::header::{Header, VERSION};
use crate::erased::{DynMessage, DynProtocol};
use crate::scenario::Scenario;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Reading failed.
    #[error("line {line} cannot be read: {source}")]
    Io {
        /// The line, from 1.
        line: u64,
        /// The cause.
        source: io::Error,
    },
    /// The file is empty.
    #[error("the trace is empty; its first line must be the header")]
    Empty,
    /// A line is too long.
    #[error("line {line} is longer than {max} bytes")]
    TooLong {
        /// The line, from 1.
        line: u64,
        /// The maximum length.
        max: u64,
    },
    /// The trace has too many records.
    #[error("line {line}: more than {max} records")]
    TooMany {
        /// The line, from 1.
        line: u64,
        /// The maximum number.
        max: u64,
    },
    /// A line is not a header or not a record.
    #[error("line {line} is not a {what}: {source}")]
    Json {
        /// The line, from 1.
        line: u64,
        /// What was expected.
        what: &'static str,
        /// The cause.
        source: serde_json::Error,
    },
    /// A record has a message that the algorithm does not know.
    #[error("record {number} holds a message that the algorithm does not know: {error}")]
    Message {
        /// Which record.
        number: u64,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// The version of the format is not supported.
    #[error("line 1: the trace has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// A list does not have an entry for each position.
    #[error("line 1: {given} {what} for a network of {size} positions; each needs one")]
    Length {
        /// The list.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The number of positions.
        size: u32,
    },
    /// `absent` names a position that does not exist.
    #[error("line 1: `absent` names position {at}, but there are only {size}")]
    Absent {
        /// The position.
        at: u32,
        /// The number of positions.
        size: u32,
    },
    /// `votes` or `cheats` names a position that does not exist.
    #[error("line 1: `votes` or `cheats` names position {at}, but there are only {size}")]
    Beyond {
        /// The position.
        at: u32,
        /// The number of positions.
        size: u32,
    },
    /// Two positions have the same id.
    #[error("line 1: id {0} is given twice; ids must be different")]
    DuplicateId(u64),
}

/// Limits for reading a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes per line; the header of a large network is long.
    pub line: u64,
    /// Records.
    pub records: u64,
}

impl Default for Limits {
    /// 64 MiB per line, ten million records.
    fn default() -> Self {
        Limits { line: 64 << 20, records: 10_000_000 }
    }
}

/// Reads a trace from a file: a header line, then a line for each record, all JSON. The length of a line and the number
/// of records are limited.
///
/// The record of an arrival names the record that sent the message (`cause`) and the index of the message among those
/// that record sent (`nth`, left out if it is 0; `copy` marks a second delivery), so that a replay is unambiguous. The
/// messages of failure detection have records of their own at the end of their tick. Fields with a default value may be
/// left out.
#[derive(Debug)]
pub struct TraceFile<R> {
    reader: R,
    limits: Limits,
    header: Header,
    /// The number of lines read.
    line: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> TraceFile<R> {
    /// Reads the header.
    pub fn open(mut reader: R, limits: Limits) -> Result<Self, FileError> {
        let mut buffer = Vec::new();
        if !read_line(&mut reader, &mut buffer, 1, limits)? {
            return Err(FileError::Empty);
        }
        let header: Header =
            serde_json::from_slice(&buffer).map_err(|source| FileError::Json { line: 1, what: "header", source })?;
        header.check()?;
        Ok(TraceFile { reader, limits, header, line: 1, buffer })
    }

    /// The same with a hidden type of reader.
    pub(crate) fn boxed<'a>(self) -> TraceFile<Box<dyn BufRead + 'a>>
    where
        R: 'a,
    {
        let TraceFile { reader, limits, header, line, buffer } = self;
        TraceFile { reader: Box::new(reader), limits, header, line, buffer }
    }

    /// The name of the algorithm whose run this is.
    pub fn algorithm(&self) -> &str {
        &self.header.algorithm
    }

    /// Whether messages may arrive twice.
    pub fn has_duplicates(&self) -> bool {
        self.header.duplicates
    }

    /// The header.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The next record, `None` after the last. Its messages are not those of a protocol yet.
    fn record(&mut self) -> Result<Option<Record<DynMessage>>, FileError> {
        let line = self.line + 1;
        if !read_line(&mut self.reader, &mut self.buffer, line, self.limits)? {
            return Ok(None);
        }
        if self.line > self.limits.records {
            return Err(FileError::TooMany { line, max: self.limits.records });
        }
        self.line = line;
        let record = serde_json::from_slice(&self.buffer);
        record.map(Some).map_err(|source| FileError::Json { line, what: "record", source })
    }

    /// The remaining records, with messages of a protocol: that of the [algorithm](Self::algorithm).
    pub fn records(&mut self, protocol: &DynProtocol) -> impl Iterator<Item = Result<Record<DynMessage>, FileError>> {
        let adopt = move |record: Record<DynMessage>| {
            let number = record.number;
            protocol.adopt(record).map_err(|error| FileError::Message { number, error })
        };
        std::iter::from_fn(move || self.record().and_then(|record| record.map(adopt).transpose()).transpose())
    }
}

/// Reads a line without its terminator; false at the end of the file.
fn read_line(reader: &mut impl BufRead, buffer: &mut Vec<u8>, line: u64, limits: Limits) -> Result<bool, FileError> {
    buffer.clear();
    let max = limits.line.saturating_add(1);
    let read = reader.by_ref().take(max).read_until(b'\n', buffer);
    let read = read.map_err(|source| FileError::Io { line, source })?;
    if buffer.last() == Some(&b'\n') {
        buffer.pop();
    }
    if buffer.len() as u64 > limits.line {
        return Err(FileError::TooLong { line, max: limits.line });
    }
    Ok(read > 0)
}

/// Writes a trace during the run, as [`TraceFile`] reads it.
#[derive(Debug)]
pub struct TraceWriter<W> {
    writer: W,
    /// The first error. Observers cannot fail, so it is kept until the end.
    error: Option<io::Error>,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header: the name of the algorithm, all its parameters, and what a replay must know of the scenario.
    pub fn new(
        mut writer: W,
        algorithm: &str,
        params: BTreeMap<String, String>,
        scenario: &Scenario,
    ) -> io::Result<Self> {
        serde_json::to_writer(&mut writer, &Header::new(algorithm, params, scenario))?;
        writer.write_all(b"\n")?;
        Ok(TraceWriter { writer, error: None })
    }

    /// Flushes and returns the writer, or the first error.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.writer.flush()?;
        Ok(self.writer)
    }
}

impl<W: Write, M: Message> Observer<M> for TraceWriter<W> {
    fn record(&mut self, record: &Record<M>) {
        if self.error.is_none() {
            let written = serde_json::to_writer(&mut self.writer, record).map_err(io::Error::from);
            self.error = written.and_then(|()| self.writer.write_all(b"\n")).err();
        }
    }
}
