//! Settings that are a number or a word: delays, probabilities, ways of noticing a dead leader.

use std::fmt;
use std::str::FromStr;

use hustings_protocol::Best;

use super::{MAX_DELAY, MAX_NODES, ParseError, Problem, Reader};
use crate::scenario::{Delay, Medium, Notice};

const DELAY: &str = "`unit`, `uniform:A-B`, `exponential:MEAN` or `pareto:MIN,SHAPE`";
const DELAYS: [&str; 4] = ["unit", "uniform:1-10", "exponential:3", "pareto:1,2"];

impl FromStr for Delay {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, DELAY);
        let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
        let lacks = |what| reader.wrong(Problem::Lacks { piece: text.to_string(), what }, None);
        match (word, rest) {
            ("unit", None) => Ok(Delay::Unit),
            ("unit", Some(rest)) => Err(reader.unknown(&format!(":{rest}"), &[])),
            ("uniform", rest) => {
                let rest = rest.ok_or_else(|| lacks("`:`, the least and the greatest delay"))?;
                let (min, max) = reader.halves(rest, '-', "`-` and the greatest delay")?;
                let (min, max) = (reader.whole(min, 1, MAX_DELAY)?, reader.whole(max, 1, MAX_DELAY)?);
                if min > max {
                    return Err(
                        reader.wrong(Problem::Backwards(rest.to_string()), Some(format!("uniform:{max}-{min}")))
                    );
                }
                Ok(Delay::Uniform(min, max))
            }
            ("exponential", rest) => {
                let rest = rest.ok_or_else(|| lacks("`:` and the mean delay"))?;
                positive(reader, rest).map(Delay::Exponential)
            }
            ("pareto", rest) => {
                let rest = rest.ok_or_else(|| lacks("`:`, the least delay and the shape"))?;
                let (min, shape) = reader.halves(rest, ',', "`,` and the shape")?;
                Ok(Delay::Pareto { min: positive(reader, min)?, shape: positive(reader, shape)? })
            }
            _ => Err(reader.unknown_with::<Delay>(word, rest, &DELAYS)),
        }
    }
}

/// A number above 0 and not above the longest delay.
fn positive(reader: Reader<'_>, piece: &str) -> Result<f64, ParseError> {
    let number = reader.finite(piece)?;
    if number < SMALLEST {
        Err(reader.too_small(piece, &SMALLEST))
    } else if number > MAX_DELAY as f64 {
        Err(reader.too_great(piece, &MAX_DELAY))
    } else {
        Ok(number)
    }
}

/// The least mean and shape of a delay; smaller ones make no observable difference.
const SMALLEST: f64 = 0.001;

const NOTICE: &str = "`oracle`, `poll:K`, `heartbeat:K` or `term:K`, with K ticks";

const NOTICES: [&str; 4] = ["oracle", "poll:10", "heartbeat:10", "term:10"];

impl FromStr for Notice {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, NOTICE);
        let (word, ticks) = text.split_once(':').map_or((text, None), |(word, ticks)| (word, Some(ticks)));
        let make = match word {
            "oracle" if ticks.is_none() => return Ok(Notice::Oracle),
            "poll" => Notice::Poll,
            "heartbeat" => Notice::Heartbeat,
            "term" => Notice::Term,
            _ => return Err(reader.unknown_with::<Notice>(word, ticks, &NOTICES)),
        };
        match ticks {
            Some(ticks) => reader.whole(ticks, 1, MAX_DELAY).map(make),
            None => {
                let problem = Problem::Lacks { piece: text.to_string(), what: "`:` and a number of ticks" };
                Err(reader.wrong(problem, Some(format!("{text}:10"))))
            }
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Oracle => f.write_str("oracle"),
            Notice::Poll(ticks) => write!(f, "poll:{ticks}"),
            Notice::Heartbeat(ticks) => write!(f, "heartbeat:{ticks}"),
            Notice::Term(ticks) => write!(f, "term:{ticks}"),
        }
    }
}

impl FromStr for Medium {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "links" => Ok(Medium::Links),
            "broadcast" => Ok(Medium::Broadcast),
            _ => Err(Reader::new(text, "`links` or `broadcast`").unknown(text, &["links", "broadcast"])),
        }
    }
}

/// Whether the greatest or the least rank wins: `max` or `min`.
pub(crate) fn best(text: &str) -> Result<Best, ParseError> {
    match text {
        "max" => Ok(Best::Max),
        "min" => Ok(Best::Min),
        _ => Err(Reader::new(text, "`max` or `min`").unknown(text, &["max", "min"])),
    }
}

/// A switch: `true` or `false`.
pub(crate) fn flag(text: &str) -> Result<bool, ParseError> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Reader::new(text, "`true` or `false`").unknown(text, &["true", "false"])),
    }
}

/// A probability, from 0 to 1.
pub(crate) fn probability(text: &str) -> Result<f64, ParseError> {
    let reader = Reader::new(text, "a probability, from 0 to 1");
    match reader.finite(text)? {
        number if number < 0.0 => Err(reader.too_small(text, &0)),
        number if number > 1.0 => Err(reader.too_great(text, &1)),
        // Adding 0 turns -0 into 0.
        number => Ok(number + 0.0),
    }
}

/// A number of messages per tick.
pub(crate) fn bandwidth(text: &str) -> Result<u64, ParseError> {
    Reader::new(text, "messages per tick, at least 1").whole(text, 1, u64::MAX)
}

/// A number of nodes.
pub(crate) fn node_count(text: &str) -> Result<u32, ParseError> {
    Reader::new(text, "a whole number from 1 to 100000000").whole(text, 1, MAX_NODES).map(|count| count as u32)
}

/// A number of threads.
pub(crate) fn thread_count(text: &str) -> Result<usize, ParseError> {
    Reader::new(text, "a whole number from 1 to 256").whole(text, 1, 256).map(|count| count as usize)
}

/// A tick.
pub(crate) fn tick(text: &str) -> Result<u64, ParseError> {
    Reader::new(text, "a whole number from 0 to 1000000000000").tick(text)
}

/// A seed.
pub(crate) fn seed(text: &str) -> Result<u64, ParseError> {
    Reader::new(text, "a whole number from 0 to 18446744073709551615").whole(text, 0, u64::MAX)
}
