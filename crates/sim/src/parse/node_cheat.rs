//! Nodes that break the rules of the algorithm.

use std::fmt;
use std::str::FromStr;

use hustings_algorithms::Cheat;
use hustings_text::nearest;

use super::{ParseError, Problem, Reader};

/// A node that cheats, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeCheat {
    /// The position of the node.
    pub at: u32,
    /// What it does.
    pub cheat: Cheat,
}

/// The names of the kinds of cheating.
const KINDS: [(&str, Cheat); 2] = [("rank", Cheat::Rank), ("ack", Cheat::Ack)];

const ALLOWED: &str = "a position and what it does, `rank` or `ack`, such as `3:rank`";

impl FromStr for NodeCheat {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, ALLOWED);
        let (at, word) = reader.halves(text, ':', "`:` and what it does")?;
        let at = reader.position(at)?;
        let cheat = KINDS.iter().find(|(name, _)| *name == word).map(|&(_, cheat)| cheat);
        cheat.map(|cheat| NodeCheat { at, cheat }).ok_or_else(|| {
            let near = nearest(word, KINDS.iter().map(|(name, _)| *name)).map(|word| format!("{at}:{word}"));
            reader.wrong(Problem::Unknown(word.to_string()), near)
        })
    }
}

impl fmt::Display for NodeCheat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = KINDS.iter().find(|(_, cheat)| *cheat == self.cheat).map_or("", |(name, _)| name);
        write!(f, "{}:{word}", self.at)
    }
}
