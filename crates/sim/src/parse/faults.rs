//! What happens to nodes and links: `P@T`, `P-P@T`, `all@T`, `0-3,8/4-7@T`.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{ParseError, Problem, Reader};

/// `--crash`, `--recover`, `--join`, `--retire`: a node and a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeAt {
    /// Which position.
    pub at: u32,
    /// When.
    pub tick: u64,
}

/// `--cut`: a link and a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkAt {
    /// Its ends.
    pub ends: (u32, u32),
    /// When.
    pub tick: u64,
}

/// `--heal`: one link, or everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Healing {
    /// This link.
    Link(LinkAt),
    /// Every cut link and every partition.
    All {
        /// When.
        tick: u64,
    },
}

/// `--partition`: groups of positions between which nothing gets through. Positions that are in no group form one more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    /// The groups, each a list of ranges.
    pub groups: Vec<Vec<RangeInclusive<u32>>>,
    /// When.
    pub tick: u64,
}

const NODE: &str = "a position and a tick, such as `3@10`";
const LINK: &str = "two neighbours and a tick, such as `0-1@10`";
const HEAL: &str = "two neighbours and a tick, such as `0-1@10`, or `all@10`";
const SPLIT: &str = "groups of positions and a tick, such as `0-3,8/4-7@10`";
const TICK: &str = "`@` and a tick";

impl FromStr for NodeAt {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, NODE);
        let (at, tick) = reader.halves(text, '@', TICK)?;
        Ok(NodeAt { at: reader.position(at)?, tick: reader.tick(tick)? })
    }
}

impl FromStr for LinkAt {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        link(Reader::new(text, LINK), text)
    }
}

impl FromStr for Healing {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, HEAL);
        match text.split_once('@') {
            Some(("all", tick)) => reader.tick(tick).map(|tick| Healing::All { tick }),
            _ if text == "all" => Err(reader.wrong(Problem::Lacks { piece: text.to_string(), what: TICK }, None)),
            _ => link(reader, text).map(Healing::Link),
        }
    }
}

impl FromStr for Split {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, SPLIT);
        let (groups, tick) = reader.halves(text, '@', TICK)?;
        let groups: Vec<Vec<_>> = groups
            .split('/')
            .map(|group| group.split(',').map(|piece| range(reader, piece)).collect())
            .collect::<Result<_, _>>()?;
        let mut all: Vec<&RangeInclusive<u32>> = groups.iter().flatten().collect();
        all.sort_unstable_by_key(|range| *range.start());
        // Sorted by their beginnings, two ranges overlap only if some neighbouring two do.
        match all.windows(2).find(|pair| pair[1].start() <= pair[0].end()) {
            Some(pair) => Err(reader.wrong(Problem::Twice(pair[1].start().to_string()), None)),
            None => Ok(Split { groups, tick: reader.tick(tick)? }),
        }
    }
}

fn link<'a>(reader: Reader<'a>, text: &'a str) -> Result<LinkAt, ParseError> {
    let (ends, tick) = reader.halves(text, '@', TICK)?;
    let (from, to) = reader.halves(ends, '-', "`-` and the other end")?;
    let ends = (reader.position(from)?, reader.position(to)?);
    if ends.0 == ends.1 {
        return Err(reader.wrong(Problem::OwnLink(format!("{from}-{to}")), None));
    }
    Ok(LinkAt { ends, tick: reader.tick(tick)? })
}

fn range(reader: Reader<'_>, piece: &str) -> Result<RangeInclusive<u32>, ParseError> {
    let (from, to) = piece.split_once('-').unwrap_or((piece, piece));
    let range = reader.position(from)?..=reader.position(to)?;
    if range.is_empty() {
        return Err(reader.wrong(Problem::Backwards(piece.to_string()), Some(format!("{to}-{from}"))));
    }
    Ok(range)
}
