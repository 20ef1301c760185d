//! The form of a text's file.
//!
//! A [`Text`] is a list of [`Item`]s: a table, a figure, a worked example, a formula or a claim in words, each with the
//! place where it stands. An item holds any of these:
//!
//! - a [`Grid`]: numbers as they are printed, row by row, each with the value that is measured for it;
//! - [`Claim`]s: sentences, each with the [`Test`] that makes a yes or a no of it;
//! - an [`Example`]: one run, told message by message;
//! - figures: plots of an experiment;
//! - [`Winners`]: who does best where.
//!
//! Where a measured number differs from a printed one, [`Reason`]s say why, and *how much* each of them makes out, as a
//! formula over what was measured. Only when these amounts add up to the whole difference is it explained.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One published text.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// Its short name, as it is typed.
    pub name: String,
    /// Who wrote it.
    pub authors: String,
    /// What it is called.
    pub title: String,
    /// What it is about, and what is done with it here.
    pub about: String,
    /// How messages and time are counted here, beside how the text counts them.
    pub counting: String,
    /// What it prints and claims.
    #[serde(rename = "item")]
    pub items: Vec<Item>,
}

/// One thing that a text prints or claims.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Names it within its text: letters, digits and hyphens.
    pub id: String,
    /// Where it stands: section, table, figure, slide.
    pub place: String,
    /// What it is.
    pub title: String,
    /// What is measured for it, and how.
    #[serde(default)]
    pub about: String,
    /// Whether it is not in the text: a study that it wished for, or a drawing that is missing and was made up.
    #[serde(default)]
    pub ours: bool,
    /// Whether it takes too long for every day.
    #[serde(default)]
    pub large: bool,
    /// The experiment that its parts are measured by, unless they name another.
    pub experiment: Option<String>,
    /// Numbers.
    pub grid: Option<Grid>,
    /// Sentences.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// A run, message by message.
    pub example: Option<Example>,
    /// Plots to draw, by name; with `EXPERIMENT/` before it where it is another experiment's.
    #[serde(default)]
    pub figures: Vec<String>,
    /// Who does best where.
    #[serde(default, rename = "winners")]
    pub winners: Vec<Winners>,
}

/// Which rows of an experiment: for each of these columns, the value as text.
pub type Where = BTreeMap<String, Wanted>;

/// A value as it is written in a file of a text.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Wanted {
    /// A whole number.
    Integer(i64),
    /// Yes or no.
    Flag(bool),
    /// Words; empty for none.
    Text(String),
}

/// How several runs become one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Take {
    /// Their mean, with an interval.
    #[default]
    Mean,
    /// The greatest.
    Max,
    /// The least.
    Min,
}

/// Printed numbers, in rows and columns.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// What is measured, unless a row or column says so: a formula over the columns of results.
    pub value: Option<String>,
    /// How several runs become one number.
    #[serde(default)]
    pub take: Take,
    /// The rows.
    pub rows: Vec<Line>,
    /// The columns.
    pub columns: Vec<Line>,
    /// What is printed, row by row; may be left out where nothing is.
    #[serde(default)]
    pub published: Vec<Vec<Print>>,
    /// What formulas give, row by row, or one formula for all; may be left out.
    pub formula: Option<Formulas>,
    /// Why the measured numbers differ.
    #[serde(default, rename = "reason")]
    pub reasons: Vec<Reason>,
}

/// A row or a column of a grid: narrows down what is measured.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// What stands at its head.
    pub label: String,
    /// The experiment, if it is not the item's.
    pub experiment: Option<String>,
    /// Which of its rows.
    #[serde(default, rename = "where")]
    pub narrowed: Where,
    /// What is measured.
    pub value: Option<String>,
}

/// What is printed in one place.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Print {
    /// A number.
    Number(f64),
    /// A formula; empty where nothing is printed.
    Formula(String),
}

/// The formulas of a grid.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Formulas {
    /// The same everywhere.
    One(String),
    /// One for each place; empty where there is none.
    Each(Vec<Vec<String>>),
}

/// Why a measured number is not the printed one.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// What sort of reason.
    pub kind: ReasonKind,
    /// The reason, in a sentence.
    pub says: String,
    /// How much of "measured less published" it makes out: a formula over the columns of results and the numbers
    /// `published` and `measured`.
    pub amount: String,
    /// The rows it is about; all if left out.
    #[serde(default)]
    pub rows: Vec<String>,
    /// The columns it is about; all if left out.
    #[serde(default)]
    pub columns: Vec<String>,
}

/// Sorts of reasons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasonKind {
    /// The print is wrong: the text itself says otherwise elsewhere.
    Misprint,
    /// The text leaves out, or puts in, messages or steps.
    Counting,
    /// Steps that the text adds up happen at the same time.
    Overlap,
    /// The text rounds, or gives an order of growth.
    Rough,
}

impl ReasonKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            ReasonKind::Misprint => "misprint",
            ReasonKind::Counting => "counting",
            ReasonKind::Overlap => "overlap",
            ReasonKind::Rough => "rough",
        }
    }
}

/// A sentence of the text, as a question with a measured answer.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What the text says, in short.
    pub says: String,
    /// The experiment, if it is not the item's.
    pub experiment: Option<String>,
    /// How it is put to the test.
    pub test: Test,
    /// Why the answer is no. Must be there then, and only then.
    pub because: Option<String>,
}

/// One side of a comparison.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The experiment, if it is not the claim's.
    pub experiment: Option<String>,
    /// Which rows.
    #[serde(default, rename = "where")]
    pub narrowed: Where,
    /// What is measured there, if it is not the same on both sides.
    pub y: Option<String>,
}

/// How a claim is put to the test. Bounds are inclusive.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    /// The mean of `y` lies within the bounds.
    Mean {
        /// A formula over columns.
        y: String,
        /// Which rows.
        #[serde(default, rename = "where")]
        narrowed: Where,
        /// From, to.
        within: [f64; 2],
    },
    /// The greatest `y` lies within the bounds.
    Max {
        /// A formula over columns.
        y: String,
        /// Which rows.
        #[serde(default, rename = "where")]
        narrowed: Where,
        /// From, to.
        within: [f64; 2],
    },
    /// The least `y` lies within the bounds.
    Min {
        /// A formula over columns.
        y: String,
        /// Which rows.
        #[serde(default, rename = "where")]
        narrowed: Where,
        /// From, to.
        within: [f64; 2],
    },
    /// Every `y` lies within the bounds.
    Every {
        /// A formula over columns.
        y: String,
        /// Which rows.
        #[serde(default, rename = "where")]
        narrowed: Where,
        /// From, to.
        within: [f64; 2],
    },
    /// The mean of `y` here over its mean there, runs taken in pairs, lies within the bounds, for each value of `by`.
    Ratio {
        /// A formula over columns.
        y: String,
        /// A column.
        by: Option<String>,
        /// Over the line.
        of: Side,
        /// Under it.
        to: Side,
        /// From, to.
        within: [f64; 2],
    },
    /// `y` grows as `x` to a power within the bounds.
    Power {
        /// A formula over columns.
        y: String,
        /// A formula over columns.
        x: String,
        /// Which rows.
        #[serde(default, rename = "where")]
        narrowed: Where,
        /// From, to.
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
        /// Which rows.
        #[serde(default, rename = "where")]
        narrowed: Where,
    },
    /// The constant c of the nearest c·f lies within the bounds.
    Fit {
        /// A formula over columns.
        y: String,
        /// A formula over columns.
        f: String,
        /// Which rows.
        #[serde(default, rename = "where")]
        narrowed: Where,
        /// From, to.
        within: [f64; 2],
    },
}

/// A run, told message by message.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The experiment, if it is not the item's.
    pub experiment: Option<String>,
    /// Which run of it.
    #[serde(default, rename = "where")]
    pub narrowed: Where,
    /// What the text tells.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
    /// Whether the steps are all that is sent.
    #[serde(default)]
    pub whole: bool,
}

/// One step of an example.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Where the text tells it.
    pub place: String,
    /// What it says, in short.
    pub says: String,
    /// The tick at which it is sent here.
    pub tick: u64,
    /// What is sent: `FROM KIND TO…` or `FROM KIND(WORD) TO…`, by id (by position in anonymous networks).
    pub sends: Vec<String>,
}

/// A table of who does best: a row for each value of one column, a column for each value of another.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Winners {
    /// What is compared.
    pub title: String,
    /// A formula over columns; the least wins.
    pub y: String,
    /// Down the side.
    pub rows: String,
    /// Along the top. Candidates without this column take part everywhere.
    pub columns: String,
    /// Who takes part.
    pub candidates: Vec<Line>,
}
