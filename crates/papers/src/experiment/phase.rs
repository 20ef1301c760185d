//! Faults that depend on how the election went without them: `leader@quiet+1`.
//!
//! A point with such faults is run twice. The first run, without them, says who leads (`leader`), which is the lowest
//! position that does not (`other`), and when all was quiet (`quiet`); the second run has them.

use super::mistake::Trouble;

/// What the first run showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) leader: u32,
    pub(crate) quiet: u64,
}

const LEADER: &str = "leader";
const OTHER: &str = "other";
const QUIET: &str = "quiet";

impl Known {
    /// Anything: to check the form of a text before the first run.
    pub(crate) const SOME: Known = Known { leader: 0, quiet: 0 };

    /// A fault with numbers in the place of words.
    pub(crate) fn put_into(self, text: &str) -> Result<String, Trouble> {
        let Some((who, when)) = text.rsplit_once('@') else { return Ok(self.put_into_positions(text)) };
        let tick = match when.strip_prefix(QUIET) {
            None => when.to_string(),
            Some("") => self.quiet.to_string(),
            Some(more) => {
                let ticks = more.strip_prefix('+').and_then(|ticks| ticks.parse::<u64>().ok());
                let Some(tick) = ticks.and_then(|ticks| self.quiet.checked_add(ticks)) else {
                    let problem = format!("`{}` is no tick", hustings_sim::parse::short(when));
                    return Err(Trouble::new(problem, "a tick, `quiet`, or `quiet+` and a number of ticks"));
                };
                tick.to_string()
            }
        };
        Ok(format!("{}@{tick}", self.put_into_positions(who)))
    }

    fn put_into_positions(self, text: &str) -> String {
        let other = u32::from(self.leader == 0);
        let mut out = String::new();
        let mut word = String::new();
        // A sign after the last character ends the last word.
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

/// Whether a fault waits for the first run.
pub(crate) fn is_later(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().any(|word| matches!(word, LEADER | OTHER | QUIET))
}

/// Whether a fault waits for the end of the first run.
pub(crate) fn is_after_quiet(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == QUIET)
}

/// Several faults in one text: each ends with its tick, and may have commas before that.
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
        // What is left has no tick: the reader says so.
        open.pop();
        faults.push(open);
    }
    faults
}

/// The starters that are known now, as one text, and those that wait for the first run.
pub(crate) fn split_starts(text: &str) -> (String, Vec<String>) {
    let (later, now): (Vec<&str>, Vec<&str>) = text.split(',').partition(|piece| is_later(piece));
    (now.join(","), later.into_iter().map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_numbers() {
        let known = Known { leader: 7, quiet: 40 };
        for (text, wanted) in [
            ("leader@quiet+1", "7@41"),
            ("leader@quiet", "7@40"),
            ("3@quiet+10", "3@50"),
            ("other@5", "0@5"),
            ("leader-other@quiet+2", "7-0@42"),
            ("leaders@1", "leaders@1"),
            ("other", "0"),
        ] {
            assert_eq!(known.put_into(text).unwrap(), wanted);
        }
        assert_eq!(Known { leader: 0, quiet: 0 }.put_into("other@0").unwrap(), "1@0");
        for text in ["leader@quiet-1", "leader@quiet+", "leader@quiet+x", "leader@quieter"] {
            assert!(known.put_into(text).is_err(), "{text}");
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
    fn starters_are_split_by_when_they_are_known() {
        assert_eq!(split_starts("0,3@5,other@quiet+2"), ("0,3@5".to_string(), vec!["other@quiet+2".to_string()]));
        assert_eq!(split_starts("all"), ("all".to_string(), vec![]));
        assert_eq!(split_starts("leader@9"), (String::new(), vec!["leader@9".to_string()]));
    }
}
