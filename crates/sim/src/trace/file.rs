//! Traces as files: a header line, then a line for each record, all JSON.
//!
//! The record of an arrival names the record that sent the message (`cause`) and the index of the message among those
//! that record sent (`nth`, left out if it is 0; `copy` marks a second delivery), so that a replay is unambiguous. The
//! messages of failure detection have records of their own at the end of their tick. Fields with a default value may be
//! left out.
//!
//! [`TraceWriter`] writes a trace during the run; [`TraceFile`] reads one. The length of a line and the number of
//! records are limited.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};

use hustings_algorithms::Cheat;
use hustings_protocol::{Best, Message, Record, Value};
use serde::{Deserialize, Serialize};

use super::Observer;
use crate::engine::general;
use crate::replay::Setting;
use crate::scenario::{Medium, Notice, Scenario};
use crate::topology::{Complete, Graph, GraphError, Network, Ring};

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// The first line of a trace: the configuration of the run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the format.
    pub version: u32,
    /// The algorithm's name.
    pub algorithm: String,
    /// All parameters of the algorithm.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// The id of each position.
    pub ids: Vec<u64>,
    /// The values that are compared before the ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Which end of the order wins.
    #[serde(default)]
    pub best: Best,
    /// The links between positions.
    pub network: NetworkForm,
    /// Whether a send to all neighbours is one message.
    #[serde(default)]
    pub broadcast: bool,
    /// Whether a message may be delivered twice.
    #[serde(default)]
    pub duplicates: bool,
    /// How the failure of a leader is detected.
    #[serde(default)]
    pub notice: Notice,
    /// Whether the algorithm runs in views of nodes that reach each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs: bool,
    /// Positions that are down until they join.
    #[serde(default)]
    pub absent: Vec<u32>,
    /// Voters and their choices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<(u32, u32)>,
    /// Positions that cheat, and how.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cheats: Vec<(u32, Cheat)>,
    /// The maximum number of messages delivered per tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
    /// The last tick that was simulated.
    pub until: u64,
    /// The seed of all randomness.
    pub seed: u64,
}

/// The serialised form of a network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NetworkForm {
    /// A ring.
    Ring {
        /// The number of positions.
        size: u32,
    },
    /// A ring with an informer outside.
    InformedRing {
        /// The number of positions on the ring.
        size: u32,
    },
    /// A complete network.
    Complete {
        /// The number of positions.
        size: u32,
    },
    /// A graph.
    Graph {
        /// The number of positions.
        size: u32,
        /// Its links, lower position first.
        links: Vec<(u32, u32)>,
    },
}

impl NetworkForm {
    /// The serialised form of a network.
    pub(crate) fn of(network: &Network) -> Self {
        match network {
            Network::Ring(ring) => NetworkForm::Ring { size: ring.size },
            Network::InformedRing(ring) => NetworkForm::InformedRing { size: ring.size },
            Network::Complete(complete) => NetworkForm::Complete { size: complete.size },
            Network::Graph(graph) => {
                let ends = (0..graph.size()).flat_map(|at| graph.neighbours(at).iter().map(move |&other| (at, other)));
                NetworkForm::Graph { size: graph.size(), links: ends.filter(|(at, other)| at < other).collect() }
            }
        }
    }

    /// The number of members.
    pub(crate) fn members(&self) -> u32 {
        match self {
            NetworkForm::Ring { size }
            | NetworkForm::InformedRing { size }
            | NetworkForm::Complete { size }
            | NetworkForm::Graph { size, .. } => *size,
        }
    }

    /// Builds the network.
    pub fn build(&self) -> Result<Network, GraphError> {
        Ok(match self {
            NetworkForm::Ring { size } => Network::Ring(Ring { size: *size }),
            NetworkForm::InformedRing { size } => Network::InformedRing(Ring { size: *size }),
            NetworkForm::Complete { size } => Network::Complete(Complete { size: *size }),
            NetworkForm::Graph { size, links } => {
                Network::Graph(Graph::new(*size, |link| links.iter().for_each(|&(from, to)| link(from, to)))?)
            }
        })
    }
}

impl Header {
    /// The header of a run.
    pub fn new(algorithm: &str, params: BTreeMap<String, String>, scenario: &Scenario) -> Self {
        Header {
            version: VERSION,
            algorithm: algorithm.to_owned(),
            params,
            ids: scenario.ids.clone(),
            values: scenario.values.clone(),
            best: scenario.best,
            network: NetworkForm::of(&scenario.network),
            broadcast: scenario.medium == Medium::Broadcast,
            duplicates: scenario.may_duplicate(),
            notice: scenario.notice,
            runs: scenario.runs,
            absent: general::absent(scenario),
            votes: scenario.votes.clone(),
            cheats: scenario.cheats.clone(),
            bandwidth: scenario.bandwidth,
            until: scenario.until,
            seed: scenario.seed,
        }
    }

    /// The setting of a replay on the network that [`NetworkForm::build`] returned.
    pub fn setting<'a>(&self, network: &'a Network) -> Setting<'a> {
        Setting {
            network,
            medium: if self.broadcast { Medium::Broadcast } else { Medium::Links },
            notice: self.notice,
            absent: self.absent.clone(),
            duplicates: self.duplicates,
        }
    }

    /// Checks the version, the lengths of lists, positions and duplicate ids.
    fn check(&self) -> Result<(), HeaderError> {
        let size = self.network.members();
        if self.version != VERSION {
            return Err(HeaderError::Version(self.version));
        }
        if self.ids.len() != size as usize {
            return Err(HeaderError::Length { what: "ids", given: self.ids.len(), size });
        }
        if let Some(values) = self.values.as_ref().filter(|values| values.len() != size as usize) {
            return Err(HeaderError::Length { what: "values", given: values.len(), size });
        }
        if let Some(&at) = self.absent.iter().find(|&&at| at >= size) {
            return Err(HeaderError::Absent { at, size });
        }
        let named = self.votes.iter().flat_map(|&(voter, choice)| [voter, choice]);
        if let Some(at) = named.chain(self.cheats.iter().map(|&(at, _)| at)).find(|&at| at >= size) {
            return Err(HeaderError::Beyond { at, size });
        }
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(HeaderError::DuplicateId(pair[0])),
            None => Ok(()),
        }
    }
}

/// Why a header is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HeaderError {
    /// The version of the format is not supported.
    #[error("the trace has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// A list does not have an entry for each position.
    #[error("{given} {what} for a network of {size} positions; each needs one")]
    Length {
        /// The list.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The number of positions.
        size: u32,
    },
    /// `absent` names a position that does not exist.
    #[error("`absent` names position {at}, but there are only {size}")]
    Absent {
        /// The position.
        at: u32,
        /// The number of positions.
        size: u32,
    },
    /// `votes` or `cheats` names a position that does not exist.
    #[error("`votes` or `cheats` names position {at}, but there are only {size}")]
    Beyond {
        /// The position.
        at: u32,
        /// The number of positions.
        size: u32,
    },
    /// Two positions have the same id.
    #[error("id {0} is given twice; ids must be different")]
    DuplicateId(u64),
}

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
    /// The header is invalid.
    #[error("line 1: {0}")]
    Header(#[from] HeaderError),
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

/// Reads a trace.
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

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next record, `None` after the last. The header names the algorithm whose messages these are.
    pub(crate) fn record<M: Message>(&mut self) -> Result<Option<Record<M>>, FileError> {
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

    /// The remaining records.
    pub fn records<M: Message>(&mut self) -> impl Iterator<Item = Result<Record<M>, FileError>> {
        std::iter::from_fn(|| self.record().transpose())
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

/// Writes a trace during the run.
#[derive(Debug)]
pub struct TraceWriter<W> {
    writer: W,
    /// The first error. Observers cannot fail, so it is kept until the end.
    error: Option<io::Error>,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header.
    pub fn new(mut writer: W, header: &Header) -> io::Result<Self> {
        serde_json::to_writer(&mut writer, header)?;
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
