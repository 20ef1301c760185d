//! The file format of a paper.
//!
//! A [`Paper`] is a list of [`Item`]s: tables, figures, worked examples, formulas and claims, each with its place in
//! the paper. An item holds any of these:
//!
//! - a [`Grid`]: printed numbers, row by row, with the formula that measures them;
//! - [`Claim`]s: sentences, each with a [`Test`];
//! - an [`Example`]: one run, message by message;
//! - figures: plots of an experiment;
//! - [`Winners`]: the best algorithm for each combination of two settings.
//!
//! Where a measured number differs from a printed one, [`Reason`]s say why, and *how much* of the difference each of
//! them accounts for, as a formula over the results. A difference is explained only if these amounts add up to it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::example::Example;

/// A published paper.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The short name on the command line.
    pub name: String,
    /// The authors.
    pub authors: String,
    /// The title.
    pub title: String,
    /// A summary of the paper and of the comparison.
    pub about: String,
    /// How messages and time are counted here and in the paper.
    pub counting: String,
    /// Where the paper can be read: an address.
    pub url: Option<String>,
    /// The year in which it appeared.
    pub year: Option<u16>,
    /// Where it appeared: a journal, a conference, a course.
    pub venue: Option<String>,
    /// Where its authors work, in the words of the paper.
    pub organization: Option<String>,
    /// The year of the newest work that it cites, if it does not give its own.
    pub newest_citation: Option<u16>,
    /// A file beside this one: the text of the paper, or the hashes of its words. Quotations are checked against it.
    pub text: Option<String>,
    /// The published tables, figures, examples and claims.
    #[serde(rename = "item")]
    pub items: Vec<Item>,
    /// Where it was read.
    #[serde(skip)]
    pub(crate) file: PaperFile,
}

impl Paper {
    /// What its text does not say about itself, and what follows from it about the year.
    pub fn unstated(&self) -> Option<String> {
        let stated =
            [("year", self.year.is_some()), ("venue", self.venue.is_some()), ("web address", self.url.is_some())];
        let missing: Vec<&str> = stated.iter().filter(|(_, is_stated)| !is_stated).map(|(name, _)| *name).collect();
        let missing = match missing[..] {
            [] => return None,
            [one] => format!("no {one}"),
            [one, other] => format!("neither {one} nor {other}"),
            _ => format!("neither {}", missing.join(" nor ")),
        };
        let newest = self.newest_citation.filter(|_| self.year.is_none());
        let newest = newest.map_or_else(String::new, |year| format!("; the newest work that it cites is of {year}"));
        Some(format!("The text states {missing}{newest}"))
    }
}

/// The file of a paper.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct PaperFile {
    /// Its path, for errors.
    pub(crate) path: String,
    /// Its contents.
    pub(crate) source: String,
    /// The text of the paper, or the hashes of its words.
    pub(crate) words: Option<String>,
}

/// A table, figure, example, formula or claim of a paper.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// An identifier within the paper: letters, digits and hyphens.
    pub id: String,
    /// The section, table, figure or slide.
    pub place: String,
    /// The title.
    pub title: String,
    /// What is measured, and how.
    #[serde(default)]
    pub about: String,
    /// Whether it is not in the paper: a study that the paper suggests, or a drawing that is missing.
    #[serde(default)]
    pub ours: bool,
    /// Whether the paper is written for it: its abstract, its conclusion or its theorem says so. Lists of claims begin
    /// with these.
    #[serde(default)]
    pub main: bool,
    /// Whether it takes minutes, and runs only on request.
    #[serde(default)]
    pub large: bool,
    /// The experiment of its parts, unless they name another.
    pub experiment: Option<String>,
    /// Printed numbers.
    pub grid: Option<Grid>,
    /// Claims.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// A worked example.
    pub example: Option<Example>,
    /// The names of plots, with the prefix `EXPERIMENT/` for those of another experiment.
    #[serde(default)]
    pub figures: Vec<String>,
    /// Tables of the best algorithms.
    #[serde(default, rename = "winners")]
    pub winners: Vec<Winners>,
}

/// Selects rows of an experiment: the value of each of these columns.
pub(crate) type Filter = BTreeMap<String, FilterValue>;

/// A value in a filter.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum FilterValue {
    /// An integer.
    Integer(i64),
    /// A boolean.
    Bool(bool),
    /// A text; empty for a missing value.
    Text(String),
}

/// How the values of several runs are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// The mean, with a confidence interval.
    #[default]
    Mean,
    /// The maximum.
    Max,
    /// The minimum.
    Min,
}

/// Printed numbers, in rows and columns.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The measured quantity, unless a row or column has its own: a formula over the columns of results.
    pub value: Option<String>,
    /// How the values of several runs are combined.
    #[serde(default)]
    pub aggregate: Aggregate,
    /// The rows.
    pub rows: Vec<Line>,
    /// The columns.
    pub columns: Vec<Line>,
    /// The printed values, row by row.
    #[serde(default)]
    pub published: Vec<Vec<PrintedValue>>,
    /// A formula for each cell, or one for all.
    pub formula: Option<Formulas>,
    /// Why measured values differ.
    #[serde(default, rename = "reason")]
    pub reasons: Vec<Reason>,
}

/// A row or a column of a grid, which selects what is measured.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The label.
    pub label: String,
    /// The experiment, unless it is that of the item.
    pub experiment: Option<String>,
    /// The rows of the experiment.
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// The measured quantity.
    pub value: Option<String>,
}

/// A printed value.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum PrintedValue {
    /// A number.
    Number(f64),
    /// A formula; empty if the paper prints nothing.
    Formula(String),
}

/// The formulas of a grid.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Formulas {
    /// The same formula for all cells.
    One(String),
    /// A formula for each cell; empty if there is none.
    Each(Vec<Vec<String>>),
}

/// Why a measured value differs from the printed one.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The kind of reason.
    pub kind: ReasonKind,
    /// The reason, in a sentence.
    pub says: String,
    /// How much of "measured minus published" it accounts for: a formula over the settings of the run, `lost` and
    /// `live`. What is measured or printed is not available: with it, a reason could explain any difference.
    pub amount: String,
    /// The rows it applies to; all if left out.
    #[serde(default)]
    pub rows: Vec<String>,
    /// The columns it applies to; all if left out.
    #[serde(default)]
    pub columns: Vec<String>,
}

/// The kinds of reasons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasonKind {
    /// The printed value is wrong, and the paper itself has the right one.
    Misprint,
    /// The paper contradicts itself, or its own rules yield another value.
    Inconsistent,
    /// The printed value is an upper bound that is not reached, or an order of growth.
    #[serde(rename = "loose-bound")]
    LooseBound,
    /// The paper omits or adds messages or steps.
    Counting,
    /// Steps that the paper adds up happen at the same time.
    Overlap,
    /// The paper rounds, or gives an order of growth.
    Approximation,
}

impl ReasonKind {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            ReasonKind::Misprint => "misprint",
            ReasonKind::Inconsistent => "inconsistent",
            ReasonKind::LooseBound => "loose bound",
            ReasonKind::Counting => "counting",
            ReasonKind::Overlap => "overlap",
            ReasonKind::Approximation => "approximation",
        }
    }
}

/// A claim of the paper and its test.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim in short, in our words.
    pub says: String,
    /// The words of the paper that say it, with `…` for those left out.
    pub quote: Option<String>,
    /// Whether it is not in the paper, but ours.
    #[serde(default)]
    pub ours: bool,
    /// The experiment, unless it is that of the item.
    pub experiment: Option<String>,
    /// The test.
    pub test: Test,
    /// Why the claim does not hold; present exactly if it does not.
    pub because: Option<String>,
    /// Why it is tested against this threshold, if the paper gives none: then the threshold is our choice.
    pub choice: Option<String>,
}

/// One side of a comparison.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The experiment, unless it is that of the claim.
    pub experiment: Option<String>,
    /// The rows.
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// The measured quantity, if it differs between the sides.
    pub y: Option<String>,
}

/// The test of a claim. Bounds are inclusive.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    /// The mean of `y` lies within the bounds.
    Mean {
        /// A formula over columns.
        y: String,
        /// The rows.
        #[serde(default, rename = "where")]
        filter: Filter,
        /// The lower and upper bound.
        within: [f64; 2],
    },
    /// The maximum of `y` lies within the bounds.
    Max {
        /// A formula over columns.
        y: String,
        /// The rows.
        #[serde(default, rename = "where")]
        filter: Filter,
        /// The lower and upper bound.
        within: [f64; 2],
    },
    /// The minimum of `y` lies within the bounds.
    Min {
        /// A formula over columns.
        y: String,
        /// The rows.
        #[serde(default, rename = "where")]
        filter: Filter,
        /// The lower and upper bound.
        within: [f64; 2],
    },
    /// Every `y` lies within the bounds.
    Every {
        /// A formula over columns.
        y: String,
        /// The rows.
        #[serde(default, rename = "where")]
        filter: Filter,
        /// The lower and upper bound.
        within: [f64; 2],
    },
    /// The ratio of the means of `y` on both sides, for paired runs, lies within the bounds for each value of `by`.
    Ratio {
        /// A formula over columns.
        y: String,
        /// A column.
        by: Option<String>,
        /// The numerator.
        of: Side,
        /// The denominator.
        to: Side,
        /// The lower and upper bound.
        within: [f64; 2],
    },
    /// `y` grows as `x` to a power within the bounds.
    Power {
        /// A formula over columns.
        y: String,
        /// A formula over columns.
        x: String,
        /// The rows.
        #[serde(default, rename = "where")]
        filter: Filter,
        /// The lower and upper bound.
        within: [f64; 2],
    },
    /// The mean of `y` falls whenever `x` rises, for each value of `by`.
    Falls {
        /// A formula over columns.
        y: String,
        /// A column.
        x: String,
        /// A column.
        by: Option<String>,
        /// The rows.
        #[serde(default, rename = "where")]
        filter: Filter,
    },
    /// The constant c of the best fit c·f lies within the bounds.
    Fit {
        /// A formula over columns.
        y: String,
        /// A formula over columns.
        f: String,
        /// The rows.
        #[serde(default, rename = "where")]
        filter: Filter,
        /// The lower and upper bound.
        within: [f64; 2],
    },
}

/// A table of the best candidates: a row for each value of one setting, a column for each value of another.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Winners {
    /// The compared quantity.
    pub title: String,
    /// A formula over columns; the smallest value wins.
    pub y: String,
    /// The setting of the rows.
    pub rows: String,
    /// The setting of the columns. Candidates without it take part in all columns.
    pub columns: String,
    /// The candidates.
    pub candidates: Vec<Line>,
}
