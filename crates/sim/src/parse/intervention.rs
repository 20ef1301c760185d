//! Interventions: `AFTER:ACTION:WHAT`, such as `12:crash:3` or `12:drop:7.2`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::faults::{group_text, groups};
use super::{MAX_DELAY, ParseError, Problem, Reader};
use crate::scenario::{MessageChange, MessageRef};

/// Something that is done by hand when the trace has `after` records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Intervention {
    /// The number of records before it.
    pub(crate) after: u64,
    /// What is done.
    pub(crate) action: InterventionAction,
}

/// What is done by hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum InterventionAction {
    /// `crash:P`: a node stops.
    Crash(u32),
    /// `revive:P`: a node comes back with fresh state.
    Revive(u32),
    /// `start:P`: a node gets a start signal.
    Start(u32),
    /// `cut:P-P`: a link is cut.
    Cut(u32, u32),
    /// `heal:P-P`: a link is repaired.
    Heal(u32, u32),
    /// `heal:all`: all links and partitions are repaired.
    HealAll,
    /// `split:0-3/4-7`: only messages inside a group get through.
    Split(Vec<Vec<RangeInclusive<u32>>>),
    /// `drop:R.N`, `delay:R.N+T`, `duplicate:R.N`, `deliver:R.N`: message N of record R is changed; `R.Nc` is its copy.
    Message(MessageRef, MessageChange),
}

const ALLOWED: &str = "a number of records, an action and what it concerns: AFTER:crash:P, AFTER:revive:P, AFTER:start:P, \
                       AFTER:cut:P-P, AFTER:heal:P-P, AFTER:heal:all, AFTER:split:0-3/4-7, AFTER:drop:R.N, \
                       AFTER:delay:R.N+T, AFTER:duplicate:R.N, AFTER:deliver:R.N";
const ACTIONS: [&str; 10] =
    ["crash", "revive", "start", "cut", "heal", "split", "drop", "delay", "duplicate", "deliver"];

/// No trace has more records.
const MAX_RECORDS: u64 = 1_000_000_000;

impl FromStr for Intervention {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let reader = Reader::new(text, ALLOWED);
        let (after, rest) = reader.halves(text, ':', "`:` and an action")?;
        let after = reader.whole(after, 0, MAX_RECORDS)?;
        let (action, what) = reader.halves(rest, ':', "`:` and what it concerns")?;
        let link = || {
            let (from, to) = reader.halves(what, '-', "`-` and the other end")?;
            let (from, to) = (reader.position(from)?, reader.position(to)?);
            if from == to {
                return Err(reader.wrong(Problem::OwnLink(what.to_string()), None));
            }
            Ok((from, to))
        };
        let message = |change| Ok(InterventionAction::Message(message(reader, what)?, change));
        let action = match action {
            "crash" => InterventionAction::Crash(reader.position(what)?),
            "revive" => InterventionAction::Revive(reader.position(what)?),
            "start" => InterventionAction::Start(reader.position(what)?),
            "cut" => link().map(|(from, to)| InterventionAction::Cut(from, to))?,
            "heal" if what == "all" => InterventionAction::HealAll,
            "heal" => link().map(|(from, to)| InterventionAction::Heal(from, to))?,
            "split" => InterventionAction::Split(groups(reader, what)?),
            "drop" => message(MessageChange::Drop)?,
            "duplicate" => message(MessageChange::Duplicate)?,
            "deliver" => message(MessageChange::DeliverNow)?,
            "delay" => {
                let (which, ticks) = reader.halves(what, '+', "`+` and a number of ticks")?;
                let ticks = reader.whole(ticks, 1, MAX_DELAY)?;
                InterventionAction::Message(self::message(reader, which)?, MessageChange::Delay(ticks))
            }
            other => return Err(reader.unknown(other, &ACTIONS)),
        };
        Ok(Intervention { after, action })
    }
}

/// `R.N`, or `R.Nc` for the copy.
fn message(reader: Reader<'_>, text: &str) -> Result<MessageRef, ParseError> {
    let (text, copy) = text.strip_suffix('c').map_or((text, false), |text| (text, true));
    let (record, nth) = reader.halves(text, '.', "`.` and the number of the message among those of its record")?;
    let nth = reader.whole(nth, 0, u64::from(u32::MAX))? as u32;
    Ok(MessageRef { record: reader.whole(record, 0, MAX_RECORDS)?, nth, copy })
}

impl fmt::Display for Intervention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.after)?;
        match &self.action {
            InterventionAction::Crash(at) => write!(f, "crash:{at}"),
            InterventionAction::Revive(at) => write!(f, "revive:{at}"),
            InterventionAction::Start(at) => write!(f, "start:{at}"),
            InterventionAction::Cut(from, to) => write!(f, "cut:{from}-{to}"),
            InterventionAction::Heal(from, to) => write!(f, "heal:{from}-{to}"),
            InterventionAction::HealAll => f.write_str("heal:all"),
            InterventionAction::Split(groups) => write!(f, "split:{}", group_text(groups)),
            InterventionAction::Message(MessageRef { record, nth, copy }, change) => {
                let copy = if *copy { "c" } else { "" };
                match change {
                    MessageChange::Drop => write!(f, "drop:{record}.{nth}{copy}"),
                    MessageChange::Delay(ticks) => write!(f, "delay:{record}.{nth}{copy}+{ticks}"),
                    MessageChange::Duplicate => write!(f, "duplicate:{record}.{nth}{copy}"),
                    MessageChange::DeliverNow => write!(f, "deliver:{record}.{nth}{copy}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written() {
        for text in [
            "0:crash:3",
            "12:revive:3",
            "12:start:0",
            "7:cut:1-2",
            "7:heal:1-2",
            "7:heal:all",
            "9:split:0-3,8/4-7",
            "9:drop:7.2",
            "9:drop:7.2c",
            "9:delay:7.2+5",
            "9:duplicate:7.0",
            "9:deliver:7.0",
        ] {
            assert_eq!(text.parse::<Intervention>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| text.parse::<Intervention>().unwrap_err();
        assert_eq!(wrong("12:crush:3").nearest.as_deref(), Some("crash"));
        for (text, part) in [
            ("crash", "lacks `:` and an action"),
            ("x:crash:3", "`x` is not a whole number"),
            ("1:crash", "lacks `:` and what it concerns"),
            ("1:cut:3-3", "leads from a node to itself"),
            ("1:drop:7", "lacks `.`"),
            ("1:delay:7.0", "lacks `+`"),
            ("1:delay:7.0+0", "less than 1"),
            ("1:split:0-3,2/4", "`2` is given twice"),
        ] {
            let shown = wrong(text).to_string();
            assert!(shown.contains(part), "{text}: {shown}");
        }
    }
}
