//! Finds overlaps in what the recorders wrote.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// The time during which processes with one token were alive on one host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tenure {
    /// The host.
    pub(crate) host: String,
    /// The token.
    pub(crate) token: u64,
    /// The time of the first line.
    pub(crate) first: u64,
    /// The time of the last line.
    pub(crate) last: u64,
}

/// What the judge found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Violation {
    /// A tenure began before an earlier one had ended.
    Overlap {
        /// The earlier one.
        earlier: Tenure,
        /// The later one.
        later: Tenure,
    },
    /// A tenure has a token that is not greater than that of an earlier one.
    Token {
        /// The earlier one.
        earlier: Tenure,
        /// The later one.
        later: Tenure,
    },
}

/// How long before an overlap a stall may be its cause: the lease that nobody could end in time.
const LEASE_NS: u64 = 300_000_000;
/// How much longer than the stalls that caused it an overlap may be: the killers must get round to it.
const KILL_NS: u64 = 50_000_000;

impl Violation {
    /// Whether these stalls (beginning and end) explain it: they began before the later tenure did, while the earlier
    /// one should have been ended, and it ended as soon as it could.
    pub(crate) fn is_explained_by(&self, stalls: &[(u64, u64)]) -> bool {
        let Violation::Overlap { earlier, later } = self else { return false };
        let is_cause = |(begin, end): &&(u64, u64)| *begin < later.first && *end > later.first.saturating_sub(LEASE_NS);
        let stalled: u64 = stalls.iter().filter(is_cause).map(|(begin, end)| end - begin).sum();
        stalled > 0 && earlier.last - later.first <= stalled + KILL_NS
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        match self {
            Violation::Overlap { earlier, later } => write!(
                f,
                "overlap at {}: {} started with token {} while {} was alive with token {}, for {:.3} ms",
                later.first,
                later.host,
                later.token,
                earlier.host,
                earlier.token,
                milliseconds(earlier.last.min(later.last) - later.first)
            ),
            Violation::Token { earlier, later } => write!(
                f,
                "token at {}: {} started with token {} after {} had started with token {}",
                later.first, later.host, later.token, earlier.host, earlier.token
            ),
        }
    }
}

/// The result of judging.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Verdict {
    /// How many tenures there were.
    pub(crate) tenures: usize,
    /// How often a tenure followed that of another host.
    pub(crate) moves: usize,
    /// The times between tenures, in ascending order.
    pub(crate) gaps: Vec<u64>,
    /// What must not be.
    pub(crate) violations: Vec<Violation>,
}

impl Verdict {
    /// How often leadership changed: each time there is a new token.
    pub(crate) fn changes(&self) -> usize {
        self.tenures.saturating_sub(1)
    }

    /// The gap that this percentage of gaps does not exceed.
    pub(crate) fn gap(&self, percent: usize) -> Option<u64> {
        let rank = (self.gaps.len() * percent).div_ceil(100);
        self.gaps.get(rank.saturating_sub(1)).copied()
    }
}

/// Reads the recordings of all hosts: one file for each, named after it.
pub(crate) fn read(folder: &Path) -> io::Result<Vec<Tenure>> {
    let mut tenures = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let host = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (number, line) in BufReader::new(File::open(&path)?).lines().enumerate() {
            let line = line?;
            let (token, time) = parse(&line).ok_or_else(|| {
                let what = format!("{}, line {}: `{line}` is not a token and a time", path.display(), number + 1);
                io::Error::new(io::ErrorKind::InvalidData, what)
            })?;
            let new = || Tenure { host: host.clone(), token, first: time, last: time };
            let tenure = tenures.entry((host.clone(), token)).or_insert_with(new);
            // Lines of several recorders may be in another order than their times.
            tenure.first = tenure.first.min(time);
            tenure.last = tenure.last.max(time);
        }
    }
    Ok(tenures.into_values().collect())
}

fn parse(line: &str) -> Option<(u64, u64)> {
    let (token, time) = line.split_once(' ')?;
    Some((token.parse().ok()?, time.parse().ok()?))
}

/// Judges tenures.
pub(crate) fn judge(tenures: &[Tenure]) -> Verdict {
    let mut sorted: Vec<&Tenure> = tenures.iter().collect();
    sorted.sort_by_key(|tenure| (tenure.first, tenure.token));
    let mut verdict = Verdict { tenures: sorted.len(), ..Verdict::default() };
    // The tenure that ended last so far, and the one with the greatest token.
    let mut ended_last: Option<&Tenure> = None;
    let mut greatest: Option<&Tenure> = None;
    for (index, later) in sorted.iter().copied().enumerate() {
        if let Some(earlier) = ended_last {
            match later.first.checked_sub(earlier.last) {
                None | Some(0) => {
                    let (earlier, later) = (earlier.clone(), later.clone());
                    verdict.violations.push(Violation::Overlap { earlier, later });
                }
                Some(gap) => verdict.gaps.push(gap),
            }
        }
        if let Some(earlier) = greatest.filter(|earlier| later.token <= earlier.token) {
            verdict.violations.push(Violation::Token { earlier: earlier.clone(), later: later.clone() });
        }
        if index > 0 && sorted[index - 1].host != later.host {
            verdict.moves += 1;
        }
        ended_last = ended_last.filter(|earlier| earlier.last >= later.last).or(Some(later));
        greatest = greatest.filter(|earlier| earlier.token >= later.token).or(Some(later));
    }
    verdict.gaps.sort_unstable();
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: u64 = 1_000;

    fn tenure(host: &str, token: u64, first: u64, last: u64) -> Tenure {
        Tenure { host: host.to_string(), token, first: first * MICROSECOND, last: last * MICROSECOND }
    }

    #[test]
    fn passes_tenures_that_follow_each_other() {
        let verdict = judge(&[tenure("b", 5, 251, 300), tenure("a", 2, 100, 200), tenure("a", 7, 310, 310)]);
        assert_eq!((verdict.tenures, verdict.changes(), verdict.moves), (3, 2, 2));
        assert_eq!(verdict.gaps, [10 * MICROSECOND, 51 * MICROSECOND]);
        assert_eq!(verdict.violations, []);
        assert_eq!(judge(&[]), Verdict::default());
    }

    #[test]
    fn finds_an_overlap_of_one_microsecond() {
        let (earlier, later) = (tenure("a", 1, 100, 200), tenure("b", 2, 199, 300));
        let verdict = judge(&[earlier.clone(), later.clone()]);
        assert_eq!(verdict.violations, [Violation::Overlap { earlier, later }]);
        assert_eq!(
            verdict.violations[0].to_string(),
            "overlap at 199000: b started with token 2 while a was alive with token 1, for 0.001 ms"
        );
        assert_eq!(judge(&[tenure("a", 1, 100, 200), tenure("b", 2, 200, 300)]).violations.len(), 1, "the same moment");
    }

    #[test]
    fn finds_overlaps_with_a_tenure_that_outlives_its_successors() {
        let verdict = judge(&[tenure("a", 1, 100, 500), tenure("b", 2, 300, 310), tenure("c", 3, 400, 410)]);
        assert_eq!(verdict.violations.len(), 2);
        let same_host = judge(&[tenure("a", 1, 100, 200), tenure("a", 2, 150, 300)]);
        assert_eq!(same_host.violations.len(), 1, "a host must not start a command beside its own");
    }

    #[test]
    fn a_stall_explains_an_overlap_that_is_not_much_longer() {
        const MS: u64 = 1_000_000;
        // It lasts for `length` milliseconds, from 1,000 on.
        let is_explained = |length: u64, stalls: &[(u64, u64)]| {
            let (earlier, later) =
                (tenure("a", 1, 0, 1_000_000 + length * 1_000), tenure("b", 2, 1_000_000, 3_000_000));
            let stalls: Vec<(u64, u64)> = stalls.iter().map(|(from, to)| (from * MS, to * MS)).collect();
            Violation::Overlap { earlier, later }.is_explained_by(&stalls)
        };
        assert!(is_explained(70, &[(990, 1_010)]));
        assert!(is_explained(90, &[(900, 920), (990, 1_010)]), "both delayed it");
        assert!(!is_explained(900, &[(1_400, 1_420)]), "it began in the middle");
        assert!(!is_explained(10, &[(1_001, 1_021)]), "the work should have been dead before");
        assert!(!is_explained(900, &[(990, 1_010)]), "it is far too short");
        assert!(!is_explained(10, &[(600, 690)]), "it was over for longer than a lease");
        assert!(!is_explained(10, &[]));
    }

    #[test]
    fn finds_a_token_that_does_not_grow() {
        for token in [4, 3] {
            let (earlier, later) = (tenure("a", 4, 100, 200), tenure("b", token, 300, 400));
            let verdict = judge(&[later.clone(), earlier.clone()]);
            assert_eq!(verdict.violations, [Violation::Token { earlier, later }]);
        }
        // Greater than the one before, but not than all before.
        let verdict = judge(&[tenure("a", 9, 1, 2), tenure("b", 3, 3, 4), tenure("c", 5, 5, 6)]);
        assert_eq!(verdict.violations.len(), 2);
    }

    #[test]
    fn percentiles_are_gaps_that_occurred() {
        let verdict = Verdict { gaps: (1..=200).collect(), ..Verdict::default() };
        assert_eq!([50, 99, 100].map(|percent| verdict.gap(percent)), [Some(100), Some(198), Some(200)]);
        assert_eq!(Verdict::default().gap(50), None);
    }

    #[test]
    fn reads_the_first_and_the_last_line_of_each_token() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("n1.recording");
        fs::write(&file, "1 100\n1 102\n1 101\n4 200\n").expect("written");
        fs::write(folder.path().join("n2.recording"), "2 110\n").expect("written");
        let tenure = |host: &str, token, first, last| Tenure { host: host.to_string(), token, first, last };
        let expected = [tenure("n1", 1, 100, 102), tenure("n1", 4, 200, 200), tenure("n2", 2, 110, 110)];
        assert_eq!(read(folder.path()).expect("readable"), expected);
        fs::write(&file, "1 100\n1\n").expect("written");
        let error = read(folder.path()).expect_err("a torn line").to_string();
        assert!(error.contains("n1.recording, line 2: `1`"), "{error}");
    }
}
