//! Comparison of measured with published values, and the reasons why they differ.
//!
//! [`PaperComparison::of`] runs the experiments of a paper through a [`ResultCache`] and turns every printed number,
//! every claim and every step of an example into a [`Finding`].

mod answer;
mod checked;
mod claims;
mod computed;
mod display;
mod example;
mod figures;
mod names;
mod numbers;
mod plant;
mod record;
mod result;
mod result_cache;
mod rows;
mod sample;
mod sensitivity;
mod tally;
mod trace_facts;
mod units;
mod vacuous;
mod winners;
mod words;

use std::fmt;

#[cfg(test)]
pub(crate) use computed::COMPUTED_TABLES;
pub(crate) use computed::is_computed;
pub use display::number;
pub use example::Drawing;
pub use figures::Figure;
use plant::Plant;
pub use plant::rows_that_cannot_fail;
pub use result_cache::{ResultCache, Results};
pub use tally::{Origin, tally};
pub use winners::WinnersTable;

use crate::published::{self, Item, Paper, ReasonKind};

/// The comparison of one printed number, claim or step.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The row and column of a table, the wording of a claim, or the position of a step.
    pub label: String,
    /// The printed value.
    pub published: Option<DisplayValue>,
    /// For a claim, which is its own label: how it is tested, in words.
    pub test: Option<DisplayValue>,
    /// The value of a formula.
    pub formula: Option<DisplayValue>,
    /// The measured value.
    pub measured: Option<DisplayValue>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reasons for a difference.
    pub reasons: Vec<AppliedReason>,
    /// Why a claim is tested against this threshold, if the paper gives none.
    pub choice: Option<String>,
    /// For a claim about random runs: the probability that chance alone gives such an answer.
    pub chance: Option<f64>,
    /// The words of the paper that make a claim.
    pub quote: Option<String>,
    /// Whether the paper has it: prints the number or the step, or makes the claim.
    pub is_printed: bool,
    /// The runs it is measured on: sizes, bandwidths and how many.
    pub sample: String,
    /// The command that repeats its run, if it is measured on a single one without an earlier phase.
    pub command: Option<String>,
}

/// A value and its text.
#[derive(Clone, PartialEq, Debug)]
pub struct DisplayValue {
    /// The text, with the formula or the confidence interval.
    pub text: String,
    /// The number.
    pub value: Option<f64>,
    /// The 95 % confidence interval of the mean.
    pub interval: Option<(f64, f64)>,
}

/// A reason that accounts for a part of a difference.
#[derive(Clone, PartialEq, Debug)]
pub struct AppliedReason {
    /// The kind of reason; `None` for claims.
    pub kind: Option<ReasonKind>,
    /// The reason in a sentence.
    pub says: String,
    /// How much of the difference it accounts for.
    pub amount: Option<f64>,
}

/// Whether the published and the measured value agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The values are equal, or differ by no more than three standard errors.
    Equal,
    /// The values differ, and the reasons add up to the difference.
    Explained,
    /// The claim holds.
    Yes,
    /// The claim does not hold, and a reason is given.
    No,
    /// Chance alone may give such an answer: there are too few runs to tell.
    Undecided,
    /// The paper prints no value to compare with. The value is the recorded one, if there is a record.
    Shown,
    /// The values differ, and the difference is not explained.
    Open,
}

impl Verdict {
    /// All verdicts, in the order of reports.
    pub const ALL: [Verdict; 7] = [
        Verdict::Equal,
        Verdict::Explained,
        Verdict::Yes,
        Verdict::No,
        Verdict::Undecided,
        Verdict::Shown,
        Verdict::Open,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Equal => "equal",
            Verdict::Explained => "explained",
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Undecided => "undecided",
            Verdict::Shown => "shown",
            Verdict::Open => "open",
        }
    }

    /// Whether everything is explained.
    pub const fn is_settled(self) -> bool {
        !matches!(self, Verdict::Open)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The comparison of one item.
#[derive(Clone, PartialEq, Debug)]
pub struct ItemComparison {
    /// The item.
    pub item: &'static Item,
    /// The comparisons of its numbers, claims and steps.
    pub findings: Vec<Finding>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// The diagram of its run.
    pub drawing: Option<Drawing>,
    /// Tables of the best algorithms.
    pub winners: Vec<WinnersTable>,
    /// The experiments that measured it.
    pub experiments: Vec<String>,
}

/// The comparison of one paper.
#[derive(Clone, PartialEq, Debug)]
pub struct PaperComparison {
    /// The paper.
    pub paper: &'static Paper,
    /// The comparisons of its items.
    pub items: Vec<ItemComparison>,
}

/// Why a comparison failed: the file of the paper or an experiment is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct CompareError {
    /// The paper and item, or the experiment.
    pub place: String,
    /// The problem.
    pub problem: String,
}

impl CompareError {
    fn new(place: impl Into<String>, problem: impl fmt::Display) -> Self {
        CompareError { place: place.into(), problem: problem.to_string() }
    }
}

impl PaperComparison {
    /// Compares a paper. Items that take minutes are skipped unless `large` is set.
    pub fn of(paper: &'static Paper, cache: &ResultCache, large: bool) -> Result<PaperComparison, CompareError> {
        published::check_quotations(paper)?;
        vacuous::check(paper)?;
        let items = paper.items.iter().filter(|item| large || !item.large);
        let compare = |item| {
            ItemComparison::of(item, cache).map_err(|error| CompareError {
                // The place begins with the name of the row, in backquotes.
                place: published::place(paper, &item.id, &error.place, error.place.split('`').nth(1).unwrap_or("")),
                problem: error.problem,
            })
        };
        let mut items: Vec<ItemComparison> = items.map(compare).collect::<Result<_, _>>()?;
        answer::decide(&mut items);
        if let Some(record) = published::record(paper) {
            items.iter_mut().for_each(|item| record::compare(item, record));
        }
        Ok(PaperComparison { paper, items })
    }

    /// The values for which the paper prints none, as the file that records them.
    pub fn record(&self) -> String {
        record::text(&self.items)
    }

    /// All findings.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.items.iter().flat_map(|item| &item.findings)
    }

    /// The number of findings with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings().filter(|finding| finding.verdict == verdict).count()
    }

    /// Whether everything is explained.
    pub fn is_settled(&self) -> bool {
        self.findings().all(|finding| finding.verdict.is_settled())
    }
}

impl ItemComparison {
    fn of(item: &'static Item, cache: &ResultCache) -> Result<ItemComparison, CompareError> {
        let mut findings = numbers::findings(item, cache)?;
        findings.extend(claims::findings(item, cache)?);
        let (steps, drawing) = example::findings(item, cache)?;
        findings.extend(steps);
        let winners = winners::tables(item, cache)?;
        findings.extend(winners::findings(&winners));
        Ok(ItemComparison {
            item,
            findings,
            // Plots need no second look at planted errors.
            figures: if cache.plant() == Plant::Nothing { figures::drawn(item, cache)? } else { Vec::new() },
            drawing,
            winners,
            experiments: experiments(item),
        })
    }
}

/// The experiments that an item names, without duplicates, in order of appearance.
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
