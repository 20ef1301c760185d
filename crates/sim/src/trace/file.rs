//! Traces as files: a header line, then a line for each record, all JSON.
//!
//! Every record of a message names the record that sent it (`cause`) and which of the messages that that record sent it
//! is (`nth`, left out if it is 0; `copy` if it is the second delivery), so that a replay takes no guess. Messages of a
//! notice have records of their own, at the end of their tick. All fields of [`Header`] that have a default, and those
//! of [`Record`], may be left out by whoever writes a trace by hand.
//!
//! [`TraceWriter`] writes one while a run happens; [`TraceFile`] reads one. Whatever is read is bounded: the length of
//! a line, the number of records.

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

/// The version of the form that is written here.
pub const VERSION: u32 = 1;

/// What a trace says of its run before the first record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the form.
    pub version: u32,
    /// The algorithm's name.
    pub algorithm: String,
    /// All its parameters.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// The id of each position.
    pub ids: Vec<u64>,
    /// What is compared before the ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Which end of the order wins.
    #[serde(default)]
    pub best: Best,
    /// Who is linked to whom.
    pub network: NetworkForm,
    /// Whether a send to all neighbours is one message.
    #[serde(default)]
    pub broadcast: bool,
    /// Whether a message may be delivered twice.
    #[serde(default)]
    pub duplicates: bool,
    /// How a dead leader was noticed.
    #[serde(default)]
    pub notice: Notice,
    /// Whether the algorithm ran in views of those who reach each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs: bool,
    /// Positions that are down until they join.
    #[serde(default)]
    pub absent: Vec<u32>,
    /// Who votes for whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<(u32, u32)>,
    /// Who cheats, and how.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cheats: Vec<(u32, Cheat)>,
    /// The most messages that were delivered per tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
    /// The last tick that was simulated.
    pub until: u64,
    /// What decided everything random.
    pub seed: u64,
}

/// A network, as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NetworkForm {
    /// A ring.
    Ring {
        /// How many positions.
        size: u32,
    },
    /// A ring with an informer outside.
    InformedRing {
        /// How many positions are on the ring.
        size: u32,
    },
    /// A complete network.
    Complete {
        /// How many positions.
        size: u32,
    },
    /// A graph.
    Graph {
        /// How many positions.
        size: u32,
        /// Its links, lower position first.
        links: Vec<(u32, u32)>,
    },
}

impl NetworkForm {
    /// As a network is written.
    pub fn of(network: &Network) -> Self {
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

    /// How many members it has.
    pub fn members(&self) -> u32 {
        match self {
            NetworkForm::Ring { size }
            | NetworkForm::InformedRing { size }
            | NetworkForm::Complete { size }
            | NetworkForm::Graph { size, .. } => *size,
        }
    }

    /// The network itself.
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
            duplicates: scenario.duplicate > 0.0,
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

    /// The setting of its replay, on the network that [`NetworkForm::build`] made.
    pub fn setting<'a>(&self, network: &'a Network) -> Setting<'a> {
        Setting {
            network,
            medium: if self.broadcast { Medium::Broadcast } else { Medium::Links },
            notice: self.notice,
            absent: self.absent.clone(),
            duplicates: self.duplicates,
        }
    }

    /// Checks what the form alone does not: lengths, the version, ids that are given twice.
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
            Some(pair) => Err(HeaderError::Twice(pair[0])),
            None => Ok(()),
        }
    }
}

/// A header whose parts do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HeaderError {
    /// Another version of the form.
    #[error("the trace has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// A list that does not fit the network.
    #[error("{given} {what} for a network of {size} positions; each needs one")]
    Length {
        /// Which list.
        what: &'static str,
        /// How many it has.
        given: usize,
        /// How many there should be.
        size: u32,
    },
    /// A position that joins later and is none.
    #[error("`absent` names position {at}, but there are only {size}")]
    Absent {
        /// Which position.
        at: u32,
        /// How many there are.
        size: u32,
    },
    /// A vote or a cheat of a position that is none.
    #[error("`votes` or `cheats` names position {at}, but there are only {size}")]
    Beyond {
        /// Which position.
        at: u32,
        /// How many there are.
        size: u32,
    },
    /// An id that two positions have.
    #[error("id {0} is given twice; ids must be different")]
    Twice(u64),
}

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read.
    #[error("line {line} cannot be read: {source}")]
    Io {
        /// Which line, from 1.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("the trace is empty; its first line must be the header")]
    Empty,
    /// A line that is too long.
    #[error("line {line} is longer than {most} bytes")]
    TooLong {
        /// Which line, from 1.
        line: u64,
        /// How long it may be.
        most: u64,
    },
    /// More records than allowed.
    #[error("line {line}: more than {most} records")]
    TooMany {
        /// Which line, from 1.
        line: u64,
        /// How many there may be.
        most: u64,
    },
    /// A line that is no header or no record.
    #[error("line {line} is no {what}: {source}")]
    Json {
        /// Which line, from 1.
        line: u64,
        /// What it should be.
        what: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A header whose parts do not fit together.
    #[error("line 1: {0}")]
    Header(#[from] HeaderError),
}

/// How much is read at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a line; the header of a large network is long.
    pub line: u64,
    /// Records.
    pub records: u64,
}

impl Default for Limits {
    /// Lines of 64 MiB, ten million records.
    fn default() -> Self {
        Limits { line: 64 << 20, records: 10_000_000 }
    }
}

/// A trace that is read.
#[derive(Debug)]
pub struct TraceFile<R> {
    reader: R,
    limits: Limits,
    header: Header,
    /// How many lines were read.
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

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next record, `None` after the last. The header tells which algorithm's messages these are.
    pub fn record<M: Message>(&mut self) -> Result<Option<Record<M>>, FileError> {
        let line = self.line + 1;
        if !read_line(&mut self.reader, &mut self.buffer, line, self.limits)? {
            return Ok(None);
        }
        if self.line > self.limits.records {
            return Err(FileError::TooMany { line, most: self.limits.records });
        }
        self.line = line;
        let record = serde_json::from_slice(&self.buffer);
        record.map(Some).map_err(|source| FileError::Json { line, what: "record", source })
    }

    /// All records from here on.
    pub fn records<M: Message>(&mut self) -> impl Iterator<Item = Result<Record<M>, FileError>> {
        std::iter::from_fn(|| self.record().transpose())
    }
}

/// Reads a line without its end; false if there is none left.
fn read_line(reader: &mut impl BufRead, buffer: &mut Vec<u8>, line: u64, limits: Limits) -> Result<bool, FileError> {
    buffer.clear();
    let most = limits.line.saturating_add(1);
    let read = reader.by_ref().take(most).read_until(b'\n', buffer);
    let read = read.map_err(|source| FileError::Io { line, source })?;
    if buffer.last() == Some(&b'\n') {
        buffer.pop();
    }
    if buffer.len() as u64 > limits.line {
        return Err(FileError::TooLong { line, most: limits.line });
    }
    Ok(read > 0)
}

/// Writes a trace while the run happens.
#[derive(Debug)]
pub struct TraceWriter<W> {
    writer: W,
    /// The first thing that went wrong: an observer cannot fail, so it is kept until the end.
    error: Option<io::Error>,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header.
    pub fn new(mut writer: W, header: &Header) -> io::Result<Self> {
        serde_json::to_writer(&mut writer, header)?;
        writer.write_all(b"\n")?;
        Ok(TraceWriter { writer, error: None })
    }

    /// Gives the writer back, or the first error that writing met.
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
