//! Faults and repairs of nodes and links: `P@T`, `P-P@T`, `all@T`, `0-3,8/4-7@T`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{ParseError, Problem, Reader};

/// A node that crashes, recovers, joins or retires at a tick: `P@T`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeFault {
    /// The position of the node.
    pub(crate) at: u32,
    /// The tick.
    pub(crate) tick: u64,
}

/// A link that is cut or repaired at a tick: `P-P@T`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkFault {
    /// Both ends of the link.
    pub(crate) ends: (u32, u32),
    /// The tick.
    pub(crate) tick: u64,
}

/// A repair of one link (`P-P@T`) or of everything (`all@T`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repair {
    /// One link.
    Link(LinkFault),
    /// Every cut link and every partition.
    All {
        /// The tick.
        tick: u64,
    },
}

/// A partition into groups that cannot reach each other: `0-3,8/4-7@T`. Positions in no group form one more group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Partition {
    /// The groups, each a list of ranges.
    pub(crate) groups: Vec<Vec<RangeInclusive<u32>>>,
    /// The tick.
    pub(crate) tick: u64,
}

const NODE: &str = "a position and a tick, such as `3@10`";
const LINK: &str = "two neighbours and a tick, such as `0-1@10`";
const HEAL: &str = "two neighbours and a tick, such as `0-1@10`, or `all@10`";
const PARTITION: &str = "groups of positions and a tick, such as `0-3,8/4-7@10`";
const TICK: &str = "`@` and a tick";

impl FromStr for NodeFault {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, NODE);
        let (at, tick) = reader.halves(text, '@', TICK)?;
        Ok(NodeFault { at: reader.position(at)?, tick: reader.tick(tick)? })
    }
}

impl FromStr for LinkFault {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        link(Reader::new(text, LINK), text)
    }
}

impl FromStr for Repair {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, HEAL);
        match text.split_once('@') {
            Some(("all", tick)) => reader.tick(tick).map(|tick| Repair::All { tick }),
            _ if text == "all" => Err(reader.wrong(Problem::Lacks { piece: text.to_string(), what: TICK }, None)),
            _ => link(reader, text).map(Repair::Link),
        }
    }
}

impl FromStr for Partition {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, PARTITION);
        let (groups, tick) = reader.halves(text, '@', TICK)?;
        Ok(Partition { groups: self::groups(reader, groups)?, tick: reader.tick(tick)? })
    }
}

/// Groups of positions: `0-3,8/4-7`.
pub(super) fn groups(reader: Reader<'_>, text: &str) -> Result<Vec<Vec<RangeInclusive<u32>>>, ParseError> {
    let groups: Vec<Vec<_>> = text
        .split('/')
        .map(|group| group.split(',').map(|piece| range(reader, piece)).collect())
        .collect::<Result<_, _>>()?;
    let mut all: Vec<&RangeInclusive<u32>> = groups.iter().flatten().collect();
    all.sort_unstable_by_key(|range| *range.start());
    // Once sorted by their starts, ranges overlap only if two adjacent ones do.
    match all.windows(2).find(|pair| pair[1].start() <= pair[0].end()) {
        Some(pair) => Err(reader.wrong(Problem::Twice(pair[1].start().to_string()), None)),
        None => Ok(groups),
    }
}

/// The same as text.
pub(super) fn group_text(groups: &[Vec<RangeInclusive<u32>>]) -> String {
    let range = |range: &RangeInclusive<u32>| match (range.start(), range.end()) {
        (start, end) if start == end => start.to_string(),
        (start, end) => format!("{start}-{end}"),
    };
    let group = |group: &Vec<_>| group.iter().map(range).collect::<Vec<_>>().join(",");
    groups.iter().map(group).collect::<Vec<_>>().join("/")
}

fn link<'a>(reader: Reader<'a>, text: &'a str) -> Result<LinkFault, ParseError> {
    let (ends, tick) = reader.halves(text, '@', TICK)?;
    let (from, to) = reader.halves(ends, '-', "`-` and the other end")?;
    let ends = (reader.position(from)?, reader.position(to)?);
    if ends.0 == ends.1 {
        return Err(reader.wrong(Problem::OwnLink(format!("{from}-{to}")), None));
    }
    Ok(LinkFault { ends, tick: reader.tick(tick)? })
}

fn range(reader: Reader<'_>, piece: &str) -> Result<RangeInclusive<u32>, ParseError> {
    let (from, to) = piece.split_once('-').unwrap_or((piece, piece));
    let range = reader.position(from)?..=reader.position(to)?;
    if range.is_empty() {
        return Err(reader.wrong(Problem::Backwards(piece.to_string()), Some(format!("{to}-{from}"))));
    }
    Ok(range)
}

impl fmt::Display for NodeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.at, self.tick)
    }
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}@{}", self.ends.0, self.ends.1, self.tick)
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repair::Link(link) => link.fmt(f),
            Repair::All { tick } => write!(f, "all@{tick}"),
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", group_text(&self.groups), self.tick)
    }
}
