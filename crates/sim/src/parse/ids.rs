//! Ids, values and votes: lists, files and named orders.

use std::path::PathBuf;
use std::str::FromStr;

use hustings_protocol::Value;

use super::{MAX_NODES, ParseError, Problem, Reader};

/// The ids of the nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ids {
    /// A list, by position.
    List(Vec<u64>),
    /// The contents of a file.
    File(PathBuf),
    /// Ascending with the positions.
    Ascending,
    /// Descending with the positions.
    Descending,
    /// Shuffled by the seed.
    Random,
}

const IDS: &str = "a list such as `5,3,9`, `@FILE`, `ascending`, `descending` or `random`";
const ORDERS: [&str; 3] = ["ascending", "descending", "random"];

impl FromStr for Ids {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, IDS);
        match text {
            "ascending" => Ok(Ids::Ascending),
            "descending" => Ok(Ids::Descending),
            "random" => Ok(Ids::Random),
            _ => match file(reader, text)? {
                Some(path) => Ok(Ids::File(path)),
                None if text.starts_with(|first: char| first.is_alphabetic()) => Err(reader.unknown(text, &ORDERS)),
                None => text
                    .split(',')
                    .map(|piece| reader.whole(piece, 0, u64::MAX))
                    .collect::<Result<_, _>>()
                    .map(Ids::List),
            },
        }
    }
}

/// Values that rank nodes before their ids do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    /// A list, by position.
    List(Vec<Value>),
    /// The contents of a file.
    File(PathBuf),
}

const VALUES: &str = "a list of finite numbers such as `3.5,1,2`, or `@FILE`";

impl FromStr for Values {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, VALUES);
        match file(reader, text)? {
            Some(path) => Ok(Values::File(path)),
            None => text.split(',').map(|piece| value(reader, piece)).collect::<Result<_, _>>().map(Values::List),
        }
    }
}

const VOTES: &str = "pairs of positions such as `0:3,1:3`, each voter once";

/// Pairs of a voter and the position it votes for.
pub(crate) fn votes(text: &str) -> Result<Vec<(u32, u32)>, ParseError> {
    let reader = Reader::new(text, VOTES);
    let mut votes = Vec::new();
    for piece in text.split(',') {
        let (voter, choice) = reader.halves(piece, ':', "`:` and the position it votes for")?;
        votes.push((reader.position(voter)?, reader.position(choice)?));
    }
    let mut voters: Vec<u32> = votes.iter().map(|(voter, _)| *voter).collect();
    voters.sort_unstable();
    match voters.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(reader.wrong(Problem::Twice(pair[0].to_string()), None)),
        None => Ok(votes),
    }
}

/// The ids in a file's text: whole numbers between commas, spaces or line ends; `#` begins a comment.
pub(crate) fn numbers_in_file(text: &str) -> Result<Vec<u64>, ParseError> {
    listed(text, "whole numbers between commas, spaces or line ends", |reader, piece| reader.whole(piece, 0, u64::MAX))
}

/// The values in a file's text: finite numbers, as in [`numbers_in_file`].
pub(crate) fn values_in_file(text: &str) -> Result<Vec<Value>, ParseError> {
    listed(text, "finite numbers between commas, spaces or line ends", value)
}

fn listed<T>(
    text: &str,
    allowed: &'static str,
    read: impl Fn(Reader<'_>, &str) -> Result<T, ParseError>,
) -> Result<Vec<T>, ParseError> {
    let mut items = Vec::new();
    let without_comments = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    for piece in without_comments.flat_map(|line| line.split([',', ' ', '\t', ';'])).filter(|piece| !piece.is_empty()) {
        // The error carries one entry, not the whole file.
        let reader = Reader::new(piece, allowed);
        if items.len() as u64 == MAX_NODES {
            return Err(reader
                .wrong(Problem::TooGreat { piece: "the number of entries".into(), max: MAX_NODES.to_string() }, None));
        }
        items.push(read(reader, piece)?);
    }
    if items.is_empty() { Err(Reader::new("", allowed).wrong(Problem::Empty, None)) } else { Ok(items) }
}

fn value(reader: Reader<'_>, piece: &str) -> Result<Value, ParseError> {
    let number = reader.finite(piece)?;
    Value::new(number).map_err(|_| reader.wrong(Problem::NotFinite(piece.to_string()), None))
}

fn file(reader: Reader<'_>, text: &str) -> Result<Option<PathBuf>, ParseError> {
    match text.strip_prefix('@') {
        Some("") => Err(reader.wrong(Problem::Lacks { piece: text.to_string(), what: "the name of a file" }, None)),
        path => Ok(path.map(PathBuf::from)),
    }
}
