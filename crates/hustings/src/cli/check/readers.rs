//! From the texts of options to what they mean, for `hustings check`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hustings_check::{Channels, Timing};
use hustings_sim::parse::{Ids, ParseError, Problem, Starts, nearest};

/// A value together with the text that it was read from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Typed<T> {
    pub(crate) text: String,
    pub(crate) value: T,
}

impl<T: FromStr> Typed<T> {
    pub(crate) fn read(text: &str) -> Result<Self, T::Err> {
        text.parse().map(|value| Typed { text: text.to_string(), value })
    }
}

fn wrong(text: &str, problem: Problem, allowed: &'static str, nearest: Option<String>) -> ParseError {
    ParseError { text: text.to_string(), problem, allowed, nearest }
}

fn unknown(text: &str, word: &str, allowed: &'static str, known: &[&str]) -> ParseError {
    match word {
        "" => wrong(text, Problem::Empty, allowed, None),
        word => {
            let near = nearest(word, known.iter().copied()).map(str::to_string);
            wrong(text, Problem::Unknown(word.to_string()), allowed, near)
        }
    }
}

/// A whole number within bounds; `text` is the whole option, `piece` the number.
fn whole(text: &str, piece: &str, least: u64, most: u64, allowed: &'static str) -> Result<u64, ParseError> {
    let is_whole = !piece.is_empty() && piece.bytes().all(|byte| byte.is_ascii_digit());
    let near = |number: u64| (piece == text).then(|| number.to_string());
    let too_great = || {
        let problem = Problem::TooGreat { piece: piece.to_string(), most: most.to_string() };
        wrong(text, problem, allowed, near(most))
    };
    match piece.parse::<u64>() {
        Ok(number) if number > most => Err(too_great()),
        Ok(number) if number < least => {
            let problem = Problem::TooSmall { piece: piece.to_string(), least: least.to_string() };
            Err(wrong(text, problem, allowed, near(least)))
        }
        Ok(number) => Ok(number),
        // All digits and yet no number: it does not fit.
        Err(_) if is_whole => Err(too_great()),
        Err(_) if piece.is_empty() => Err(wrong(text, Problem::Empty, allowed, None)),
        Err(_) => Err(wrong(text, Problem::NotWhole(piece.to_string()), allowed, None)),
    }
}

/// `--ids`: in which orders ids stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    All,
    Rotations,
    Given(Ids),
}

const ORDERS: &str = "`all`, `rotations`, a list such as `3,1,2`, `@FILE`, `ascending` or `descending`";

impl FromStr for Order {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = ["all", "rotations", "ascending", "descending"];
        match text {
            "all" => Ok(Order::All),
            "rotations" => Ok(Order::Rotations),
            _ if text.starts_with(|first: char| first.is_alphabetic()) && !known.contains(&text) => {
                Err(unknown(text, text, ORDERS, &known))
            }
            _ => text.parse().map(Order::Given).map_err(|error: ParseError| ParseError { allowed: ORDERS, ..error }),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::All => f.write_str("all"),
            Order::Rotations => f.write_str("rotations"),
            Order::Given(Ids::List(ids)) => f.write_str(&super::args::listed(ids)),
            Order::Given(Ids::File(path)) => write!(f, "@{}", path.display()),
            Order::Given(Ids::Ascending) => f.write_str("ascending"),
            Order::Given(Ids::Descending) => f.write_str("descending"),
            Order::Given(Ids::Random) => f.write_str("random"),
        }
    }
}

/// `--initiators`: who starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Initiators {
    EverySubset,
    Given(Starts),
}

const INITIATORS: &str =
    "`all`, `none`, `every-subset`, or positions such as `0,2` (each starts at any time, so there are no ticks)";

impl FromStr for Initiators {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "every-subset" => return Ok(Initiators::EverySubset),
            "all" => return Ok(Initiators::Given(Starts::All)),
            "none" => return Ok(Initiators::Given(Starts::None)),
            _ if text.starts_with(|first: char| first.is_alphabetic()) || text.contains('@') => {
                return Err(unknown(text, text, INITIATORS, &["all", "none", "every-subset"]));
            }
            _ => {}
        }
        let read = text.parse::<Starts>().map(Initiators::Given);
        read.map_err(|error| ParseError { allowed: INITIATORS, ..error })
    }
}

/// `--channels`: what links do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Links {
    pub(crate) order: Option<Channels>,
    pub(crate) losses: u8,
    pub(crate) copies: u8,
}

const LINKS: &str = "`fifo` or `unordered`, `lossy:K`, `duplicating:K` with K from 1 to 9, with commas between";

impl FromStr for Links {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut links = Links::default();
        for piece in text.split(',') {
            let (word, count) = piece.split_once(':').map_or((piece, None), |(word, count)| (word, Some(count)));
            let again = || wrong(text, Problem::Twice(piece.to_string()), LINKS, None);
            let many = |before: u8| match count {
                _ if before > 0 => Err(again()),
                Some(count) => whole(text, count, 1, MAX_FAULTS, LINKS).map(|count| count as u8),
                None => {
                    let problem = Problem::Lacks { piece: piece.to_string(), what: "`:` and how many messages" };
                    Err(wrong(text, problem, LINKS, Some(format!("{piece}:1"))))
                }
            };
            match (word, count) {
                ("fifo" | "unordered", None) if links.order.is_some() => return Err(again()),
                ("fifo", None) => links.order = Some(Channels::Fifo),
                ("unordered", None) => links.order = Some(Channels::Unordered),
                ("lossy", _) => links.losses = many(links.losses)?,
                ("duplicating", _) => links.copies = many(links.copies)?,
                _ => return Err(unknown(text, piece, LINKS, &["fifo", "unordered", "lossy:1", "duplicating:1"])),
            }
        }
        // What is said of losses and copies only is about links that are otherwise in order.
        links.order = links.order.or(Some(Channels::Fifo));
        Ok(links)
    }
}

impl fmt::Display for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = self.order.map(|order| match order {
            Channels::Fifo => "fifo".to_string(),
            Channels::Unordered => "unordered".to_string(),
        });
        let lossy = (self.losses > 0).then(|| format!("lossy:{}", self.losses));
        let duplicating = (self.copies > 0).then(|| format!("duplicating:{}", self.copies));
        let words: Vec<String> = [order, lossy, duplicating].into_iter().flatten().collect();
        f.write_str(&words.join(","))
    }
}

/// The most things of one kind that may go wrong.
const MAX_FAULTS: u64 = 9;

/// `--crashes`, `--recoveries`.
pub(crate) fn count(text: &str) -> Result<u8, ParseError> {
    whole(text, text, 0, MAX_FAULTS, "a whole number from 0 to 9").map(|count| count as u8)
}

/// `--max-states`.
pub(crate) fn states(text: &str) -> Result<u64, ParseError> {
    // Worlds are numbered with 32 bits.
    whole(text, text, 1, 4_000_000_000, "a whole number from 1 to 4000000000")
}

const TIMING: &str = "`free`, `patient` or `bounded:T` with T ticks, from 1 to 1000";

/// `--timing`.
pub(crate) fn timing(text: &str) -> Result<Timing, ParseError> {
    match text.split_once(':') {
        Some(("bounded", ticks)) => {
            whole(text, ticks, 1, 1000, TIMING).map(|ticks| Timing::Bounded(u32::try_from(ticks).unwrap_or(1000)))
        }
        None if text == "free" => Ok(Timing::Free),
        None if text == "patient" => Ok(Timing::Patient),
        None if text == "bounded" => {
            let problem = Problem::Lacks { piece: text.to_string(), what: "`:` and a number of ticks" };
            Err(wrong(text, problem, TIMING, Some("bounded:1".to_string())))
        }
        _ => Err(unknown(text, text, TIMING, &["free", "patient", "bounded:1"])),
    }
}

/// The same, as it is typed.
pub(crate) fn timing_words(timing: Timing) -> String {
    match timing {
        Timing::Free => "free".to_string(),
        Timing::Patient => "patient".to_string(),
        Timing::Bounded(ticks) => format!("bounded:{ticks}"),
    }
}

/// `--max-time`.
pub(crate) fn duration(text: &str) -> Result<Duration, ParseError> {
    const ALLOWED: &str = "seconds, or a number with `s`, `m` or `h` such as `5m`, up to 1000h";
    let (number, seconds) = match text.char_indices().last() {
        Some((end, 's')) => (&text[..end], 1),
        Some((end, 'm')) => (&text[..end], 60),
        Some((end, 'h')) => (&text[..end], 3600),
        _ => (text, 1),
    };
    let most = 1000 * 3600 / seconds;
    whole(text, number, 1, most, ALLOWED).map(|number| Duration::from_secs(number * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_shown_as_it_is_typed() {
        for text in ["fifo", "unordered", "fifo,lossy:1", "unordered,lossy:2,duplicating:9"] {
            assert_eq!(text.parse::<Links>().unwrap().to_string(), text);
        }
        assert_eq!("duplicating:1,lossy:2".parse::<Links>().unwrap().to_string(), "fifo,lossy:2,duplicating:1");
        for text in ["free", "patient", "bounded:3"] {
            assert_eq!(timing_words(timing(text).unwrap()), text);
        }
        for text in ["all", "rotations", "3,1,2", "@ids", "ascending", "descending"] {
            assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
        }
        assert_eq!(
            [duration("90"), duration("90s"), duration("2m")].map(|read| read.unwrap().as_secs()),
            [90, 90, 120]
        );
    }
}
