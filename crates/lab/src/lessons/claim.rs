//! Claims about runs, as lessons write them, and whether they are true.
//!
//! ```text
//! [RUN:] [REDUCER] MEASURE [at TICK | after TICK] [over SET] [= VALUE]
//! ```
//!
//! The run is the lesson's own, or one of its table `[runs]`. Without a value, what is shown is the value; if there is
//! an `n` in it, it must be true for several numbers of nodes.

use std::collections::BTreeMap;

use hustings_elections::Catalogue;

use super::marked::Mark;
use super::measure::{self, Window};
use super::value::{Shown, number};
use crate::request::Bounds;

/// A claim about one run or several.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Claim {
    run: Option<String>,
    reducer: Option<Reducer>,
    measure: Vec<String>,
    window: Window,
    set: Set,
    wanted: Shown,
}

/// How the values of several runs become one.
#[derive(Clone, PartialEq, Debug)]
enum Reducer {
    Mean,
    Most,
    /// The length of a list.
    Count,
    /// In how many runs the value is this one: `3 of 2000`.
    Runs(String),
}

/// The runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Set {
    One,
    /// Every order of as many ids as there are nodes.
    Orders,
    /// The seeds 1 to this one.
    Seeds(u32),
    /// Several numbers of nodes.
    Sizes,
}

/// All orders of more ids take too long.
const MAX_ORDERED: u32 = 7;
/// More seeds take too long.
const MAX_SEEDS: u32 = 10_000;
/// The numbers of nodes for which formulas in n must be true.
const SIZES: [u32; 5] = [3, 4, 5, 8, 13];

const SYNTAX: &str = "allowed: [RUN:] [mean|most|count|runs VALUE] MEASURE [at TICK|after TICK] \
                      [over orders|sizes|seeds N] [= VALUE]";

impl Claim {
    /// Reads the claim of a mark.
    pub(super) fn read(mark: &Mark) -> Result<Self, String> {
        let wrong = |problem: String| format!("`{}`: {problem}; {SYNTAX}", hustings_text::quote(&mark.claim));
        let (left, value) = match mark.claim.split_once(" = ") {
            Some((left, value)) => (left, Some(value)),
            None => (mark.claim.as_str(), None),
        };
        let (run, left) = match left.split_once(": ") {
            Some((run, left)) => (Some(run.to_string()), left),
            None => (None, left),
        };
        let mut words: Vec<&str> = left.split_whitespace().collect();
        let set = take_after(&mut words, "over").map_or(Ok(Set::One), |set| read_set(&set)).map_err(wrong)?;
        let tick = |words: Vec<&str>| match words[..] {
            [tick] => tick.parse::<u64>().map_err(|_| format!("`{tick}` is no tick")),
            _ => Err("one tick belongs there".to_string()),
        };
        let window = match (take_after(&mut words, "at"), take_after(&mut words, "after")) {
            (Some(at), _) => Window::At(tick(at).map_err(wrong)?),
            (None, Some(after)) => Window::After(tick(after).map_err(wrong)?),
            (None, None) => Window::Whole,
        };
        let (reducer, used) = match words[..] {
            ["mean", ..] => (Some(Reducer::Mean), 1),
            ["most", ..] => (Some(Reducer::Most), 1),
            ["count", ..] => (Some(Reducer::Count), 1),
            ["runs", value, ..] => (Some(Reducer::Runs(value.to_string())), 2),
            _ => (None, 0),
        };
        let measure: Vec<String> = words.drain(..).skip(used).map(str::to_string).collect();
        let wanted = match value {
            // Of what is shown, a value that is written out need not be a number.
            Some(value) => Shown::read(value).unwrap_or_else(|_| Shown::List(vec![value.trim().to_string()])),
            None => Shown::read(&mark.shown).map_err(wrong)?,
        };
        let set = if matches!(wanted, Shown::Formula(_, true)) { Set::Sizes } else { set };
        Ok(Claim { run, reducer, measure, window, set, wanted })
    }

    /// What differs, if it is not true.
    pub(super) fn difference(
        &self,
        own: &str,
        runs: &BTreeMap<String, String>,
        catalogue: &Catalogue,
    ) -> Result<Option<String>, String> {
        let text = match &self.run {
            None => own,
            Some(name) => runs.get(name).ok_or_else(|| {
                let known = runs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                format!("there is no run `{}`; allowed: {known}", hustings_text::quote(name))
            })?,
        };
        let mut found = Vec::new();
        for text in self.set.texts(text, catalogue)? {
            let (nodes, values) = measure::run(&text, &self.measure, self.window, catalogue)?;
            found.push((nodes, values));
        }
        let found = match &self.reducer {
            None => found,
            Some(reducer) => reducer.reduce(found, self.wanted.decimals())?,
        };
        let differs = |(nodes, values): &&(u32, Vec<String>)| self.wanted.of(*nodes).iter().any(|one| !is(one, values));
        Ok(found.iter().find(differs).map(|(nodes, values)| {
            let size = if self.set == Set::Sizes { format!(" among {nodes} nodes") } else { String::new() };
            let wanted = self.wanted.of(*nodes).iter().map(|one| written(one)).collect::<Vec<_>>().join(" = ");
            format!("the lesson says {wanted}, the run {}{size}", written(values))
        }))
    }
}

/// Whether the values are the wanted ones.
fn is(wanted: &[String], values: &[String]) -> bool {
    wanted == values || (wanted == ["none"] && values.is_empty())
}

fn written(values: &[String]) -> String {
    if values.is_empty() { "none".to_string() } else { values.join(", ") }
}

/// Removes a word and the words after it, and returns these.
fn take_after<'a>(words: &mut Vec<&'a str>, word: &str) -> Option<Vec<&'a str>> {
    let place = words.iter().position(|other| *other == word)?;
    Some(words.drain(place..).skip(1).collect())
}

fn read_set(words: &[&str]) -> Result<Set, String> {
    match words {
        ["orders"] => Ok(Set::Orders),
        ["sizes"] => Ok(Set::Sizes),
        ["seeds", count] => match count.parse() {
            Ok(count) if (1..=MAX_SEEDS).contains(&count) => Ok(Set::Seeds(count)),
            _ => Err(format!("`{}` seeds; allowed: 1 to {MAX_SEEDS}", hustings_text::quote(count))),
        },
        _ => Err(format!("there is no set `{}`", hustings_text::quote(&words.join(" ")))),
    }
}

impl Set {
    /// The texts of its runs, made from one of them.
    fn texts(self, text: &str, catalogue: &Catalogue) -> Result<Vec<String>, String> {
        match self {
            Set::One => Ok(vec![text.to_string()]),
            Set::Seeds(count) => Ok((1..=count).map(|seed| with(text, "seed", &seed.to_string())).collect()),
            Set::Sizes => Ok(SIZES.iter().map(|nodes| with(text, "n", &nodes.to_string())).collect()),
            Set::Orders => {
                let request = crate::request::parse(text, catalogue, &Bounds::OWN).map_err(|error| error.message)?;
                let nodes = request.built.scenario.network.members();
                if nodes > MAX_ORDERED {
                    return Err(format!("all orders of {nodes} ids; allowed: up to {MAX_ORDERED}"));
                }
                let ids = |order: Vec<u32>| order.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
                Ok(orders(nodes).into_iter().map(|order| with(text, "ids", &ids(order))).collect())
            }
        }
    }
}

/// The text of a run with another value of a key.
fn with(text: &str, key: &str, value: &str) -> String {
    let is_other = |pair: &&str| pair.split('=').next() != Some(key);
    let others: Vec<&str> = text.split('&').filter(is_other).collect();
    format!("{}&{key}={value}", others.join("&"))
}

/// All orders of the numbers below `count`.
fn orders(count: u32) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let insert = |order: &Vec<u32>, at: usize| [&order[..at], &[next], &order[at..]].concat();
        all = all.iter().flat_map(|order| (0..=order.len()).map(move |at| insert(order, at))).collect();
    }
    all
}

impl Reducer {
    /// One value for all runs; a count has one for each.
    fn reduce(&self, found: Vec<(u32, Vec<String>)>, decimals: usize) -> Result<Vec<(u32, Vec<String>)>, String> {
        let numbers = || -> Result<Vec<f64>, String> {
            let one = |(_, values): &(u32, Vec<String>)| match &values[..] {
                [value] => value.parse().map_err(|_| format!("`{value}` is no number")),
                _ => Err(format!("{} values, where one number is needed", values.len())),
            };
            found.iter().map(one).collect()
        };
        let nodes = found.first().map_or(0, |(nodes, _)| *nodes);
        let one = |value: String| vec![(nodes, vec![value])];
        Ok(match self {
            Reducer::Count => {
                found.into_iter().map(|(nodes, values)| (nodes, vec![values.len().to_string()])).collect()
            }
            Reducer::Mean => one(format!("{:.decimals$}", numbers()?.iter().sum::<f64>() / found.len() as f64)),
            Reducer::Most => one(number(numbers()?.into_iter().fold(0.0, f64::max))),
            Reducer::Runs(value) => {
                let wanted = vec![value.clone()];
                let runs = found.iter().filter(|(_, values)| is(&wanted, values)).count();
                vec![(nodes, vec![runs.to_string(), found.len().to_string()])]
            }
        })
    }
}
