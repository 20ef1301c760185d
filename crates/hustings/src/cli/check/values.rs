//! Parses the values of options that only `hustings check` has.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hustings_check::{Channels, Timing};
use hustings_sim::simulate::{Ids, ParseError, Problem, Reader, Starts};

/// The value of `--ids`: the orders of the ids to explore.
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
                Err(Reader::new(text, ORDERS).unknown(text, &known))
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

/// The value of `--initiators`.
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
                return Err(Reader::new(text, INITIATORS).unknown(text, &["all", "none", "every-subset"]));
            }
            _ => {}
        }
        let read = text.parse::<Starts>().map(Initiators::Given);
        read.map_err(|error| ParseError { allowed: INITIATORS, ..error })
    }
}

/// The value of `--channels`: what links do with messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Links {
    pub(crate) order: Option<Channels>,
    pub(crate) losses: u8,
    pub(crate) duplicates: u8,
}

const LINKS: &str = "`fifo` or `unordered`, `lossy:K`, `duplicating:K` with K from 1 to 9, with commas between";

impl FromStr for Links {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, LINKS);
        let mut links = Links::default();
        for piece in text.split(',') {
            let (word, count) = piece.split_once(':').map_or((piece, None), |(word, count)| (word, Some(count)));
            let again = || reader.wrong(Problem::Twice(piece.to_string()), None);
            let many = |before: u8| match count {
                _ if before > 0 => Err(again()),
                Some(count) => reader.whole(count, 1, MAX_FAULTS).map(|count| count as u8),
                None => {
                    let problem = Problem::Lacks { piece: piece.to_string(), what: "`:` and how many messages" };
                    Err(reader.wrong(problem, Some(format!("{piece}:1"))))
                }
            };
            match (word, count) {
                ("fifo" | "unordered", None) if links.order.is_some() => return Err(again()),
                ("fifo", None) => links.order = Some(Channels::Fifo),
                ("unordered", None) => links.order = Some(Channels::Unordered),
                ("lossy", _) => links.losses = many(links.losses)?,
                ("duplicating", _) => links.duplicates = many(links.duplicates)?,
                _ => return Err(reader.unknown(piece, &["fifo", "unordered", "lossy:1", "duplicating:1"])),
            }
        }
        // Links that only lose or duplicate messages keep their order.
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
        let duplicating = (self.duplicates > 0).then(|| format!("duplicating:{}", self.duplicates));
        let words: Vec<String> = [order, lossy, duplicating].into_iter().flatten().collect();
        f.write_str(&words.join(","))
    }
}

/// The maximum number of faults of one kind.
const MAX_FAULTS: u64 = 9;

/// The value of `--crashes` and `--recoveries`.
pub(crate) fn count(text: &str) -> Result<u8, ParseError> {
    Reader::new(text, "a whole number from 0 to 9").whole(text, 0, MAX_FAULTS).map(|count| count as u8)
}

/// The value of `--max-states`.
pub(crate) fn states(text: &str) -> Result<u64, ParseError> {
    // States are numbered with 32 bits.
    Reader::new(text, "a whole number from 1 to 4000000000").whole(text, 1, 4_000_000_000)
}

const TIMING: &str = "`free`, `patient` or `bounded:T` with T ticks, from 1 to 1000";

/// The value of `--timing`.
pub(crate) fn timing(text: &str) -> Result<Timing, ParseError> {
    let reader = Reader::new(text, TIMING);
    match text.split_once(':') {
        Some(("bounded", ticks)) => {
            reader.whole(ticks, 1, 1000).map(|ticks| Timing::Bounded(u32::try_from(ticks).unwrap_or(1000)))
        }
        None if text == "free" => Ok(Timing::Free),
        None if text == "patient" => Ok(Timing::Patient),
        None if text == "bounded" => {
            let problem = Problem::Lacks { piece: text.to_string(), what: "`:` and a number of ticks" };
            Err(reader.wrong(problem, Some("bounded:1".to_string())))
        }
        _ => Err(reader.unknown(text, &["free", "patient", "bounded:1"])),
    }
}

/// A timing as it is typed.
pub(crate) fn timing_text(timing: Timing) -> String {
    match timing {
        Timing::Free => "free".to_string(),
        Timing::Patient => "patient".to_string(),
        Timing::Bounded(ticks) => format!("bounded:{ticks}"),
    }
}

/// The value of `--max-time`: seconds, or a duration such as `5m` or `1h 30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, ParseError> {
    const MAX: Duration = Duration::from_secs(1000 * 3600);
    let reader = Reader::new(text, "seconds, or a duration such as `90s`, `5m` or `1h 30m`, up to 1000h");
    if text.is_empty() || text.parse::<f64>().is_ok() {
        return reader.whole(text, 1, MAX.as_secs()).map(Duration::from_secs);
    }
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err(reader.wrong(Problem::TooSmall { piece: text.into(), min: "1s".into() }, None)),
        Ok(duration) if duration > MAX => {
            Err(reader.wrong(Problem::TooGreat { piece: text.into(), max: "1000h".into() }, Some("1000h".into())))
        }
        Ok(duration) => Ok(duration),
        Err(_) => Err(reader.wrong(Problem::Unknown(text.into()), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_displayed_as_they_are_typed() {
        for text in ["fifo", "unordered", "fifo,lossy:1", "unordered,lossy:2,duplicating:9"] {
            assert_eq!(text.parse::<Links>().unwrap().to_string(), text);
        }
        assert_eq!("duplicating:1,lossy:2".parse::<Links>().unwrap().to_string(), "fifo,lossy:2,duplicating:1");
        for text in ["free", "patient", "bounded:3"] {
            assert_eq!(timing_text(timing(text).unwrap()), text);
        }
        for text in ["all", "rotations", "3,1,2", "@ids", "ascending", "descending"] {
            assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
        }
        assert_eq!(
            [duration("90"), duration("90s"), duration("2m"), duration("1h 30m")].map(|read| read.unwrap().as_secs()),
            [90, 90, 120, 5400]
        );
    }
}
