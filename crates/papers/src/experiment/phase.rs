//! Faults that depend on an election without them: `leader@quiet+1`.
//!
//! A point with such faults is run twice. The first run, without faults, gives the leader (`leader`), the lowest
//! position that does not lead (`other`), and the tick when no messages are left (`quiet`). The second run has the
//! faults.

use super::error::Diagnostic;

/// The outcome of the first run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FirstPhase {
    pub(crate) leader: u32,
    pub(crate) quiet: u64,
}

const LEADER: &str = "leader";
const OTHER: &str = "other";
const QUIET: &str = "quiet";

impl FirstPhase {
    /// An arbitrary outcome, to check the syntax of a fault before the first run.
    pub(crate) const EXAMPLE: FirstPhase = FirstPhase { leader: 0, quiet: 0 };

    /// Replaces the names in a fault with numbers.
    pub(crate) fn substitute(self, text: &str) -> Result<String, Diagnostic> {
        let Some((who, when)) = text.rsplit_once('@') else { return Ok(self.substitute_positions(text)) };
        let tick = match when.strip_prefix(QUIET) {
            None => when.to_string(),
            Some("") => self.quiet.to_string(),
            Some(more) => {
                let ticks = more.strip_prefix('+').and_then(|ticks| ticks.parse::<u64>().ok());
                let Some(tick) = ticks.and_then(|ticks| self.quiet.checked_add(ticks)) else {
                    let problem = format!("`{}` is not a tick", hustings_text::quote(when));
                    return Err(Diagnostic::new(problem, "a tick, `quiet`, or `quiet+` and a number of ticks"));
                };
                tick.to_string()
            }
        };
        Ok(format!("{}@{tick}", self.substitute_positions(who)))
    }

    fn substitute_positions(self, text: &str) -> String {
        let other = u32::from(self.leader == 0);
        let mut out = String::new();
        let mut word = String::new();
        // The null character ends the last word.
        for c in text.chars().chain(['\0']) {
            if c.is_ascii_alphanumeric() {
                word.push(c);
                continue;
            }
            match word.as_str() {
                LEADER => out += &self.leader.to_string(),
                OTHER => out += &other.to_string(),
                _ => out += &word,
            }
            word.clear();
            if c != '\0' {
                out.push(c);
            }
        }
        out
    }
}

/// Whether a fault depends on the first run.
pub(crate) fn is_later(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().any(|word| matches!(word, LEADER | OTHER | QUIET))
}

/// Whether a fault depends on the end of the first run.
pub(crate) fn is_after_quiet(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == QUIET)
}

/// Splits a list of faults. Each ends with its tick, and may contain commas before it.
pub(crate) fn split_faults(text: &str) -> Vec<String> {
    let mut faults: Vec<String> = Vec::new();
    let mut open = String::new();
    for piece in text.split(',') {
        open += piece;
        if piece.contains('@') {
            faults.push(std::mem::take(&mut open));
        } else {
            open.push(',');
        }
    }
    if !open.is_empty() {
        // The rest has no tick, which the parser reports.
        open.pop();
        faults.push(open);
    }
    faults
}

/// The initiators that are known now, and those that depend on the first run.
pub(crate) fn split_starts(text: &str) -> (String, Vec<String>) {
    let (later, now): (Vec<&str>, Vec<&str>) = text.split(',').partition(|piece| is_later(piece));
    (now.join(","), later.into_iter().map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_with_numbers() {
        let first = FirstPhase { leader: 7, quiet: 40 };
        for (text, expected) in [
            ("leader@quiet+1", "7@41"),
            ("leader@quiet", "7@40"),
            ("3@quiet+10", "3@50"),
            ("other@5", "0@5"),
            ("leader-other@quiet+2", "7-0@42"),
            ("leaders@1", "leaders@1"),
            ("other", "0"),
        ] {
            assert_eq!(first.substitute(text).unwrap(), expected);
        }
        assert_eq!(FirstPhase { leader: 0, quiet: 0 }.substitute("other@0").unwrap(), "1@0");
        for text in ["leader@quiet-1", "leader@quiet+", "leader@quiet+x", "leader@quieter"] {
            assert!(first.substitute(text).is_err(), "{text}");
        }
    }

    #[test]
    fn faults_are_split_after_their_ticks() {
        assert_eq!(split_faults("3@5,4@9"), ["3@5", "4@9"]);
        assert_eq!(split_faults("0-3,8/4-7@10,0/1@12"), ["0-3,8/4-7@10", "0/1@12"]);
        assert_eq!(split_faults("3,4"), ["3,4"]);
        assert_eq!(split_faults("3@5,4"), ["3@5", "4"]);
    }

    #[test]
    fn initiators_are_split_by_phase() {
        assert_eq!(split_starts("0,3@5,other@quiet+2"), ("0,3@5".to_string(), vec!["other@quiet+2".to_string()]));
        assert_eq!(split_starts("all"), ("all".to_string(), vec![]));
        assert_eq!(split_starts("leader@9"), (String::new(), vec!["leader@9".to_string()]));
    }
}
