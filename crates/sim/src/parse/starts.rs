//! The initiators: the nodes that start, and when.

use std::str::FromStr;

use super::{MAX_NODES, ParseError, Problem, Reader};
use crate::scenario::Start;

/// The nodes that get a start signal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Starts {
    /// Every node that is up at tick 0.
    All,
    /// None.
    None,
    /// This number of the nodes that are up at tick 0, chosen by the seed.
    Random(u32),
    /// A list, ascending by tick, then position.
    List(Vec<Start>),
}

const ALLOWED: &str = "`all`, `none`, `random:K`, or positions such as `0,3@5` (position 3 at tick 5)";

impl FromStr for Starts {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, ALLOWED);
        match text {
            "all" => return Ok(Starts::All),
            "none" => return Ok(Starts::None),
            _ => {}
        }
        if let Some(count) = text.strip_prefix("random:") {
            return reader.whole(count, 1, MAX_NODES).map(|count| Starts::Random(count as u32));
        }
        if text.starts_with(|first: char| first.is_alphabetic()) {
            return Err(reader.unknown(text, &["all", "none", "random:1"]));
        }
        let mut starts = Vec::new();
        for piece in text.split(',') {
            let (at, tick) = piece.split_once('@').unwrap_or((piece, "0"));
            starts.push(Start { at: reader.position(at)?, tick: reader.tick(tick)? });
        }
        starts.sort_unstable_by_key(|start| (start.tick, start.at));
        match starts.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(reader.wrong(Problem::Twice(format!("{}@{}", pair[0].at, pair[0].tick)), None)),
            None => Ok(Starts::List(starts)),
        }
    }
}
