//! Traces: every event with its cause, in several output formats.
//!
//! A run passes every [`Record`] to an [`Observer`] as it happens. [`write()`] writes a list of records in one of the
//! [`Format`]s; the line-based formats are written during the run, so that no record has to be kept. A [`TraceFile`]
//! reads JSON lines again.
//!
//! This module knows no algorithm. Messages are shown from their serialised form.

mod describe;
mod file;
pub(crate) mod header;
mod jsonl;
mod mermaid;
#[cfg(test)]
mod sample;
mod shiviz;
mod stream;
mod svg;
mod text;
mod transmission;

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use hustings_protocol::{Message, Record};

use crate::parse::{ParseError, Reader};
use crate::topology::Network;

pub use file::{FileError, Limits, TraceFile, TraceWriter};
pub(crate) use stream::Stream;

/// Receives every record of a run as it happens.
pub trait Observer<M> {
    /// Receives a record.
    fn record(&mut self, record: &Record<M>);

    /// Whether it has seen enough. The run then ends before its next turn of a node, and counts as hung.
    fn is_satisfied(&self) -> bool {
        false
    }
}

/// Keeps every record.
impl<M: Clone> Observer<M> for Vec<Record<M>> {
    fn record(&mut self, record: &Record<M>) {
        self.push(record.clone());
    }
}

/// An output format of traces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// A readable line per record.
    Text,
    /// A JSON object per line, with the complete record.
    Jsonl,
    /// A Mermaid sequence diagram.
    Mermaid,
    /// A space-time diagram.
    Svg,
    /// A log with vector clocks for ShiViz.
    Shiviz,
}

impl Format {
    pub(crate) const ALL: [Format; 5] = [Format::Text, Format::Jsonl, Format::Mermaid, Format::Svg, Format::Shiviz];

    /// The name on the command line.
    const fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Jsonl => "jsonl",
            Format::Mermaid => "mermaid",
            Format::Svg => "svg",
            Format::Shiviz => "shiviz",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let unknown = || {
            let known = Format::ALL.map(Format::name);
            Reader::new(text, "text, jsonl, mermaid, svg, shiviz").unknown(text, &known)
        };
        Format::ALL.into_iter().find(|format| format.name() == text).ok_or_else(unknown)
    }
}

/// The names of the positions, which a trace itself does not contain.
#[derive(Clone, PartialEq, Debug)]
pub struct Names {
    /// The headline of diagrams, for example the algorithm and its size.
    pub title: String,
    /// The id of each position. Positions beyond the end have no id, such as an outside informer or the nodes of an
    /// anonymous network.
    pub ids: Vec<u64>,
    /// The links between positions.
    pub network: Network,
}

impl Names {
    /// Creates the names of positions with these ids on this network.
    pub(crate) fn new(title: impl Into<String>, ids: Vec<u64>, network: Network) -> Self {
        Names { title: title.into(), ids, network }
    }

    /// The id of a position, if it has one.
    pub(crate) fn id(&self, at: u32) -> Option<u64> {
        self.ids.get(at as usize).copied()
    }

    /// The name of a position: `node 4 (id 9)`.
    pub(crate) fn node(&self, at: u32) -> String {
        match self.id(at) {
            Some(id) => format!("node {at} (id {id})"),
            None => format!("node {at}"),
        }
    }

    /// The number of positions, including those that only a record mentions, such as an informer outside the ring.
    fn positions<M>(&self, records: &[Record<M>]) -> u32 {
        let mentioned = records.iter().map(|record| record.node.saturating_add(1)).max().unwrap_or(0);
        self.network.size().max(mentioned)
    }
}

/// Writes a whole trace. Diagrams are limited in size; a note in the diagram states what is left out.
pub fn write<M: Message>(format: Format, names: &Names, records: &[Record<M>], out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => text::write(names, records, out),
        Format::Jsonl => jsonl::write(records, out),
        Format::Mermaid => mermaid::write(names, records, out),
        Format::Svg => svg::write(names, records, out),
        Format::Shiviz => shiviz::write(names, records, out),
    }
}

/// The contents of a message without its kind, as traces show them.
pub fn payload_text<M: Message>(message: &M) -> String {
    describe::payload(message)
}

/// A number with thousands separators.
fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_names_parse() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion_and_the_allowed_names() {
        let error = "mermiad".parse::<Format>().unwrap_err();
        assert_eq!(error.to_string(), "`mermiad` is not known here; allowed: text, jsonl, mermaid, svg, shiviz");
        assert_eq!(error.nearest.as_deref(), Some("mermaid"));
        let error = "postscript".parse::<Format>().unwrap_err();
        assert_eq!(error.nearest, None);
        for format in Format::ALL {
            assert!(error.allowed.contains(format.name()), "{error}");
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0u64, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn every_format_accepts_empty_and_invalid_traces() {
        let names = Names::new("nothing", vec![], Network::Ring(0));
        for format in Format::ALL {
            let empty: &[Record<sample::Word>] = &[];
            write(format, &names, empty, &mut Vec::new()).unwrap();
            write(format, &names, &sample::invalid(), &mut Vec::new()).unwrap();
        }
    }
}
