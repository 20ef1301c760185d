//! What was measured, beside what is printed, and why the two differ.
//!
//! [`Study::of`] goes through a text's items: it runs their experiments in a [`Laboratory`], and makes a [`Finding`] of
//! every printed number, claim and step of an example.

mod claims;
mod example;
mod facts;
mod figures;
mod grid;
mod laboratory;
mod number;
mod rows;
mod search;
mod winners;

use std::fmt;

pub use example::Drawing;
pub use figures::Figure;
pub use laboratory::{Laboratory, Results};
pub use number::number;
pub use search::MADE;
pub use winners::WinnersTable;

use crate::texts::{Item, ReasonKind, Text};

/// What came of one printed number, claim or step.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Which: the row and column of a table, the words of a claim, the place of a step.
    pub label: String,
    /// What is printed.
    pub published: Option<Shown>,
    /// What a formula gives.
    pub formula: Option<Shown>,
    /// What was measured.
    pub measured: Option<Shown>,
    /// Whether they agree.
    pub verdict: Verdict,
    /// Why they differ.
    pub reasons: Vec<Because>,
}

/// A number, as it is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Shown {
    /// For people: with its formula, its interval, or in words.
    pub text: String,
    /// The number alone.
    pub value: Option<f64>,
    /// The interval that holds the mean with a confidence of 95 %.
    pub interval: Option<(f64, f64)>,
}

/// A reason that was found to hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Because {
    /// What sort of reason; none where a claim's answer is no.
    pub kind: Option<ReasonKind>,
    /// In a sentence.
    pub says: String,
    /// How much of the difference it makes out.
    pub amount: Option<f64>,
}

/// Whether print and measurement agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The same number, or within what chance allows.
    Equal,
    /// Different, and the reasons add up to the difference.
    Explained,
    /// The claim holds.
    Yes,
    /// The claim does not hold, and the reason is given.
    No,
    /// Nothing is printed to hold it against.
    Shown,
    /// Different, and nobody knows why.
    Open,
}

impl Verdict {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Equal => "equal",
            Verdict::Explained => "explained",
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Shown => "shown",
            Verdict::Open => "open",
        }
    }

    /// Whether nothing is left to explain.
    pub const fn is_settled(self) -> bool {
        !matches!(self, Verdict::Open)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Everything that came of one item.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The item.
    pub item: &'static Item,
    /// What came of its numbers, claims and steps.
    pub findings: Vec<Finding>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Its run, drawn.
    pub drawing: Option<Drawing>,
    /// Who does best where.
    pub winners: Vec<WinnersTable>,
    /// The experiments it was measured by.
    pub experiments: Vec<String>,
}

/// Everything that came of one text.
#[derive(Clone, PartialEq, Debug)]
pub struct Study {
    /// The text.
    pub text: &'static Text,
    /// What came of its items.
    pub answers: Vec<Answer>,
}

/// Why a text could not be gone through: something is wrong with its file or its experiments.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct StudyError {
    /// The text and item, or the experiment.
    pub place: String,
    /// What is wrong.
    pub problem: String,
}

impl StudyError {
    fn new(place: impl Into<String>, problem: impl fmt::Display) -> Self {
        StudyError { place: place.into(), problem: problem.to_string() }
    }
}

impl Study {
    /// Goes through a text; items that take long only if `large`.
    pub fn of(text: &'static Text, laboratory: &Laboratory, large: bool) -> Result<Study, StudyError> {
        let items = text.items.iter().filter(|item| large || !item.large);
        let answer = |item| {
            Answer::of(item, laboratory).map_err(|error| StudyError {
                place: format!("{}, {}: {}", text.name, item.id, error.place),
                problem: error.problem,
            })
        };
        Ok(Study { text, answers: items.map(answer).collect::<Result<_, _>>()? })
    }

    /// All findings.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.answers.iter().flat_map(|answer| &answer.findings)
    }

    /// How many findings have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings().filter(|finding| finding.verdict == verdict).count()
    }

    /// Whether nothing is left to explain.
    pub fn is_settled(&self) -> bool {
        self.findings().all(|finding| finding.verdict.is_settled())
    }
}

impl Answer {
    fn of(item: &'static Item, laboratory: &Laboratory) -> Result<Answer, StudyError> {
        let mut findings = grid::findings(item, laboratory)?;
        findings.extend(claims::findings(item, laboratory)?);
        let (told, drawing) = example::findings(item, laboratory)?;
        findings.extend(told);
        Ok(Answer {
            item,
            findings,
            figures: figures::drawn(item, laboratory)?,
            drawing,
            winners: winners::tables(item, laboratory)?,
            experiments: experiments(item),
        })
    }
}

/// The experiments that an item names, each once, in the order in which they come.
pub fn experiments(item: &Item) -> Vec<String> {
    let grid = item.grid.iter().flat_map(|grid| grid.rows.iter().chain(&grid.columns)).map(|line| &line.experiment);
    let sides = item.claims.iter().flat_map(claims::experiments);
    let example = item.example.iter().map(|example| &example.experiment);
    let winners = item.winners.iter().flat_map(|table| &table.candidates).map(|line| &line.experiment);
    let named = std::iter::once(&item.experiment).chain(grid).chain(sides).chain(example).chain(winners);
    let figures = item.figures.iter().filter_map(|name| name.split_once('/')).map(|(experiment, _)| experiment);
    let mut names: Vec<String> = Vec::new();
    for name in named.flatten().map(String::as_str).chain(figures) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    }
    names
}

#[cfg(test)]
mod tests;
