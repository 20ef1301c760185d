//! Nodes that break the rules of the algorithm: `3:rank`.

use hustings_algorithms::Cheat;
use hustings_text::nearest;

use super::{ParseError, Problem, Reader};

/// The names of the kinds of cheating.
const KINDS: [(&str, Cheat); 2] = [("rank", Cheat::Rank), ("ack", Cheat::Ack)];

const ALLOWED: &str = "a position and what it does, `rank` or `ack`, such as `3:rank`";

/// The position of a node that cheats, and how.
pub(crate) fn cheat(text: &str) -> Result<(u32, Cheat), ParseError> {
    let reader = Reader::new(text, ALLOWED);
    let (at, word) = reader.halves(text, ':', "`:` and what it does")?;
    let at = reader.position(at)?;
    let cheat = KINDS.iter().find(|(name, _)| *name == word).map(|&(_, cheat)| cheat);
    cheat.map(|cheat| (at, cheat)).ok_or_else(|| {
        let near = nearest(word, KINDS.iter().map(|(name, _)| *name)).map(|word| format!("{at}:{word}"));
        reader.wrong(Problem::Unknown(word.to_string()), near)
    })
}

/// The same as text.
pub(crate) fn cheat_text(at: u32, cheat: Cheat) -> String {
    let word = KINDS.iter().find(|(_, known)| *known == cheat).map_or("", |(name, _)| name);
    format!("{at}:{word}")
}
