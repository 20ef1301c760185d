//! Planted errors: shows that every row of a comparison can fail.
//!
//! A row that says the same whatever was measured proves nothing. [`rows_that_cannot_fail`] compares a paper twice
//! more, with measurements replaced by wrong ones and by ones that every claim would hold for, and lists the rows whose
//! verdict stays the same.

use super::{CompareError, ItemComparison, PaperComparison, ResultCache, Verdict};

/// A bound beyond this stands for "no bound".
pub(super) const FAR: f64 = 1e8;

/// What measurements are replaced by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Plant {
    /// Nothing: they are as measured.
    #[default]
    Nothing,
    /// Values that violate the bounds of a claim, and numbers that differ from those measured.
    Wrong,
    /// Values within the bounds of a claim.
    Right,
}

impl Plant {
    /// A number inside or outside of these bounds; `None` if nothing is planted, or there are no bounds.
    fn number(self, [from, to]: [f64; 2]) -> Option<f64> {
        match self {
            Plant::Nothing => None,
            Plant::Wrong if to < FAR => Some(to + to.abs() + 1.0),
            Plant::Wrong if from > -FAR => Some(from - from.abs() - 1.0),
            Plant::Wrong => None,
            Plant::Right if to >= FAR => Some(from),
            Plant::Right if from <= -FAR => Some(to),
            Plant::Right => Some((from + to) / 2.0),
        }
    }

    /// The values of a claim with these bounds.
    pub(super) fn values(self, measured: Vec<f64>, within: [f64; 2]) -> Vec<f64> {
        match self.number(within) {
            None => measured,
            Some(planted) => vec![planted; measured.len()],
        }
    }

    /// The values of a claim about how they depend on `xs`: `of` computes them from an `x` and a planted number.
    pub(super) fn image(self, xs: &[f64], ys: Vec<f64>, within: [f64; 2], of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        match self.number(within) {
            Some(planted) if xs.len() == ys.len() => xs.iter().map(|x| of(*x, planted)).collect(),
            _ => ys,
        }
    }

    /// A number of a table.
    pub(super) fn cell(self, measured: f64) -> f64 {
        if self == Plant::Wrong { 3.0 * measured + 7.0 } else { measured }
    }
}

/// The rows of a comparison, as `item: row`, whose verdict does not depend on what is measured.
pub fn rows_that_cannot_fail(
    measured: &PaperComparison,
    cache: &ResultCache,
    large: bool,
) -> Result<Vec<String>, CompareError> {
    let compared = |plant| {
        cache.set_plant(plant);
        let comparison = PaperComparison::of(measured.paper, cache, large);
        cache.set_plant(Plant::Nothing);
        comparison
    };
    let (wrong, right) = (compared(Plant::Wrong)?, compared(Plant::Right)?);
    let mut rows = Vec::new();
    for (index, item) in measured.items.iter().enumerate() {
        rows.extend(unmoved(item, &wrong.items[index], &right.items[index]));
    }
    Ok(rows)
}

fn unmoved(measured: &ItemComparison, wrong: &ItemComparison, right: &ItemComparison) -> Vec<String> {
    let verdict = |compared: &ItemComparison, index: usize| compared.findings.get(index).map(|found| found.verdict);
    let stays = |index: &usize| {
        let now = verdict(measured, *index);
        match now {
            // What does not hold must be noticed when it does.
            Some(Verdict::No) => verdict(right, *index) == now,
            Some(Verdict::Undecided) => verdict(wrong, *index) == now && verdict(right, *index) == now,
            _ => verdict(wrong, *index) == now,
        }
    };
    let name = |index: usize| format!("{}: {}", measured.item.id, measured.findings[index].label);
    (0..measured.findings.len()).filter(stays).map(name).collect()
}
