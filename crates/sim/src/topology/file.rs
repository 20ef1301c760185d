//! `file:PATH`: any graph, from a text of lines `u v`, one for each link; `#` starts a comment, empty lines do not
//! count.
//!
//! How: the file is read line by line, never more than [`MAX_BYTES`] of it, and its links are kept in a list. A graph
//! of n nodes that is connected has at least n-1 links, so that a file cannot ask for more memory than its own length
//! warrants.
//!
//! Guarantee: simple and connected, or an error that names the file and, wherever there is one, the line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::BuildError;
use super::generator::Listed;

/// The maximum size of a file: 1 GiB.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

/// The number of characters of a wrong line that an error shows.
const MAX_SHOWN: usize = 60;

/// What is wrong with a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
enum LineError {
    /// It is not of the form.
    #[error("this is not `u v`, two positions (whole numbers from 0 to {}) with a space between", u32::MAX - 1)]
    NotALink,
    /// A link from a node to itself.
    #[error("a node cannot be linked to itself")]
    Loop,
    /// The link was there before.
    #[error("this link is already on line {0}")]
    Twice(u32),
    /// The network was to be smaller.
    #[error("with {size} nodes the last position is {last}")]
    Beyond {
        /// The number of nodes.
        size: u32,
        /// The last position.
        last: u32,
    },
}

/// A link, its lower end first, and its line.
type NumberedLink = (u32, u32, u32);

/// Reads a topology of this size; without one, of the size that the greatest position says.
pub(super) fn read(path: &Path, size: Option<u32>) -> Result<Listed, BuildError> {
    read_bounded(path, size, MAX_BYTES)
}

fn read_bounded(path: &Path, size: Option<u32>, max: u64) -> Result<Listed, BuildError> {
    let mut links = read_links(path, size, max)?;
    links.sort_unstable();
    if let Some(pair) = links.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
        let (from, to, line) = pair[1];
        return Err(BuildError::Line {
            path: path.into(),
            line,
            text: format!("{from} {to}"),
            problem: LineError::Twice(pair[0].2).to_string(),
        });
    }
    let Some(last) = links.iter().map(|link| link.1).max() else {
        return Err(BuildError::Empty { path: path.into() });
    };
    let size = size.unwrap_or(last + 1);
    check_connected(path, size, &links)?;
    Ok(Listed::new(size, links.into_iter().map(|(from, to, _)| (from, to)).collect()))
}

fn read_links(path: &Path, size: Option<u32>, max: u64) -> Result<Vec<NumberedLink>, BuildError> {
    let unreadable = |error: std::io::Error| BuildError::Unreadable { path: path.into(), reason: error.to_string() };
    // One byte more than allowed tells a file that is too long from one that just fits.
    let mut reader = BufReader::new(File::open(path).map_err(unreadable)?.take(max + 1));
    let (mut links, mut buffer, mut bytes) = (Vec::new(), Vec::new(), 0);
    for line in 1u32.. {
        buffer.clear();
        bytes += reader.read_until(b'\n', &mut buffer).map_err(unreadable)? as u64;
        if bytes > max {
            return Err(BuildError::TooLong { path: path.into(), max });
        }
        if buffer.is_empty() {
            break;
        }
        match parse_line(&buffer, size) {
            Ok(Some((from, to))) => links.push((from.min(to), from.max(to), line)),
            Ok(None) => {}
            Err(problem) => {
                let (text, problem) = (shown(&buffer), problem.to_string());
                return Err(BuildError::Line { path: path.into(), line, text, problem });
            }
        }
    }
    Ok(links)
}

/// The link on a line, if there is one.
fn parse_line(line: &[u8], size: Option<u32>) -> Result<Option<(u32, u32)>, LineError> {
    let content = line.split(|&byte| byte == b'#').next().unwrap_or_default();
    let mut words = std::str::from_utf8(content).map_err(|_| LineError::NotALink)?.split_ascii_whitespace();
    let Some(first) = words.next() else { return Ok(None) };
    let position = |word: &str| match word.parse::<u32>() {
        Ok(number) if number < u32::MAX && word.bytes().all(|byte| byte.is_ascii_digit()) => Ok(number),
        _ => Err(LineError::NotALink),
    };
    let (from, to) = (position(first)?, position(words.next().ok_or(LineError::NotALink)?)?);
    if words.next().is_some() {
        return Err(LineError::NotALink);
    }
    if from == to {
        return Err(LineError::Loop);
    }
    match size {
        Some(size) if from.max(to) >= size => Err(LineError::Beyond { size, last: size.saturating_sub(1) }),
        _ => Ok(Some((from, to))),
    }
}

/// The beginning of a line, as it can be printed.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * MAX_SHOWN)]);
    let text: String = text.trim().chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Fails unless the links connect all positions.
fn check_connected(path: &Path, size: u32, links: &[NumberedLink]) -> Result<(), BuildError> {
    // First the count: a great position in a short file must not make us set up a list of all below it.
    if u64::from(size) > links.len() as u64 + 1 {
        return Err(BuildError::TooFew { path: path.into(), links: links.len() as u64, size: size.into() });
    }
    match unreached(size, links) {
        Some(at) => Err(BuildError::FileDisconnected { path: path.into(), size: size.into(), unreached: at.into() }),
        None => Ok(()),
    }
}

/// A position that cannot be reached from 0. Joins sets of positions, each named by its least.
fn unreached(size: u32, links: &[NumberedLink]) -> Option<u32> {
    fn min(sets: &mut [u32], mut at: u32) -> u32 {
        while sets[at as usize] != at {
            sets[at as usize] = sets[sets[at as usize] as usize];
            at = sets[at as usize];
        }
        at
    }
    let mut sets: Vec<u32> = (0..size).collect();
    for &(from, to, _) in links {
        let (from, to) = (min(&mut sets, from), min(&mut sets, to));
        sets[from.max(to) as usize] = from.min(to);
    }
    (0..size).find(|&at| min(&mut sets, at) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::generator::Generator;

    fn reading(content: &[u8], size: Option<u32>) -> Result<Vec<(u32, u32)>, String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("links");
        std::fs::write(&path, content).expect("a temporary file");
        let start = format!("{}", path.display());
        match read_bounded(&path, size, 100) {
            Ok(list) => {
                let mut links = Vec::new();
                list.links(0..list.size(), &mut |from, to| links.push((from, to)));
                Ok(links)
            }
            Err(error) => Err(error.to_string().strip_prefix(&start).expect("the file comes first").to_string()),
        }
    }

    #[test]
    fn links_and_comments() {
        let expected = Ok(vec![(0, 1), (0, 2), (1, 3)]);
        assert_eq!(reading(b"# four\n\n 1 0\n2\t0 # two\r\n3 1", None), expected);
        assert_eq!(reading(b"0 1\n0 2\n1 3\n", Some(4)), expected);
    }

    #[test]
    fn wrong_lines_are_named() {
        let wrong = |content: &[u8]| reading(content, None).unwrap_err();
        let form = "this is not `u v`, two positions (whole numbers from 0 to 4294967294) with a space between";
        assert_eq!(wrong(b"0 1\n1 2 3\n"), format!(", line 2: `1 2 3`: {form}"));
        for text in ["7", "-1 2", "+1 2", "0,1", "0 4294967295", "a b"] {
            assert_eq!(wrong(text.as_bytes()), format!(", line 1: `{text}`: {form}"));
        }
        assert_eq!(wrong(b"0 \xff\x07"), format!(", line 1: `0 \u{FFFD}\u{FFFD}`: {form}"));
        assert_eq!(wrong(&[b'x'; 90]), format!(", line 1: `{}…`: {form}", "x".repeat(60)));
        assert_eq!(wrong(b"0 1\n\n1 1\n"), ", line 3: `1 1`: a node cannot be linked to itself");
        assert_eq!(wrong(b"0 1\n1 2\n1 0"), ", line 3: `0 1`: this link is already on line 1");
        let beyond = reading(b"0 1\n1 3", Some(3)).unwrap_err();
        assert_eq!(beyond, ", line 2: `1 3`: with 3 nodes the last position is 2");
    }

    #[test]
    fn wrong_files_are_named() {
        let wrong = |content: &[u8], size| reading(content, size).unwrap_err();
        let empty = " has no links; a topology has lines `u v` with two positions, numbered from 0";
        assert_eq!(wrong(b"# nothing\n", None), empty);
        assert_eq!(wrong(b"0 4000000000", None), ": 1 links cannot connect 4000000001 positions");
        assert_eq!(wrong(b"0 1\n", Some(3)), ": 1 links cannot connect 3 positions");
        assert_eq!(
            wrong(b"0 1\n0 2\n1 2\n3 4", None),
            ": the 5 positions are not connected: position 3 cannot be reached from 0"
        );
        let long = " is longer than 100 bytes, the most that a topology may have";
        assert_eq!(wrong(&[b'#'; 101], None), long);
        assert_eq!(wrong(&[b'#'; 100], None), empty);
        let missing = read(Path::new("no/such/file"), None).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read no/such/file: "), "{missing}");
    }
}
