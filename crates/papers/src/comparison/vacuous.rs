//! Rows that could not fail are refused before anything runs: a number or a claim without a measurement, a printed
//! value or a reason that is taken from the measurement, a comparison with itself.

use super::names::{is_structural, measured};
use super::numbers::is_about;
use super::plant::FAR;
use super::rows::parse;
use super::{CompareError, claims};
use crate::formula::Formula;
use crate::published::{self, Claim, Formulas, Grid, Item, Paper, PrintedValue, Reason, Side, Test};

/// Refuses a paper with such a row; the error names its file, line, item and row.
pub(super) fn check(paper: &Paper) -> Result<(), CompareError> {
    for item in &paper.items {
        if let Some(grid) = &item.grid {
            check_grid(paper, item, grid)?;
        }
        for claim in &item.claims {
            check_claim(item, claim).map_err(|problem| CompareError {
                place: published::place(paper, &item.id, &format!("claim `{}`", claim.says), &claim.says),
                problem,
            })?;
        }
        for table in &item.winners {
            formula(&table.y).and_then(|y| needs_measurement(&[&y])).map_err(|problem| CompareError {
                place: published::place(paper, &item.id, &format!("table `{}`", table.title), &table.title),
                problem,
            })?;
        }
    }
    Ok(())
}

fn formula(text: &str) -> Result<Formula, String> {
    parse(text).map_err(|error| error.to_string())
}

fn check_grid(paper: &Paper, item: &Item, grid: &Grid) -> Result<(), CompareError> {
    for (down, row) in grid.rows.iter().enumerate() {
        for (along, column) in grid.columns.iter().enumerate() {
            let Some(text) = [&row.value, &column.value, &grid.value].into_iter().flatten().next() else { continue };
            let wrong = |key: &str, problem: String| CompareError {
                place: published::place(
                    paper,
                    &item.id,
                    &format!("row `{}`, column `{}`", row.label, column.label),
                    key,
                ),
                problem,
            };
            let value = formula(text).map_err(|problem| wrong(text, problem))?;
            needs_measurement(&[&value]).map_err(|problem| wrong(text, problem))?;
            let printed = grid.published.get(down).and_then(|row| row.get(along));
            let derived = match &grid.formula {
                Some(Formulas::One(text)) => Some(text),
                Some(Formulas::Each(rows)) => rows.get(down).and_then(|row| row.get(along)),
                None => None,
            };
            let printed = match printed {
                Some(PrintedValue::Formula(text)) => Some(text),
                _ => None,
            };
            for (what, text) in [("the published value", printed), ("the formula", derived)] {
                let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
                is_not_measured(what, text).map_err(|problem| wrong(text, problem))?;
            }
            for reason in grid.reasons.iter().filter(|reason| is_about(reason, row, column)) {
                check_reason(reason, &value).map_err(|problem| wrong(&reason.amount, problem))?;
            }
        }
    }
    Ok(())
}

fn needs_measurement(formulas: &[&Formula]) -> Result<(), String> {
    if formulas.iter().any(|formula| !measured(formula).is_empty()) {
        return Ok(());
    }
    let texts: Vec<String> = formulas.iter().map(|formula| format!("`{}`", formula.text())).collect();
    Err(format!("{} contains nothing that is measured: it is the same in every run", texts.join(", ")))
}

fn is_not_measured(what: &str, text: &str) -> Result<(), String> {
    match measured(&formula(text)?).first() {
        None => Ok(()),
        Some(name) => {
            Err(format!("{what} `{text}` contains `{name}`, which is measured; allowed: settings of the run"))
        }
    }
}

/// A reason is known without the measurement that it explains, or it would explain any.
fn check_reason(reason: &Reason, value: &Formula) -> Result<(), String> {
    let amount = formula(&reason.amount)?;
    let measured = measured(value);
    for name in amount.names() {
        if name == "published" {
            return Err(format!(
                "the reason's amount `{amount}` contains `published`, and would explain whatever is printed; allowed: \
                 settings of the run, `lost` and `live`"
            ));
        }
        if !is_structural(name) || measured.contains(&name) {
            return Err(format!(
                "the reason's amount `{amount}` contains `{name}`, and would explain whatever is measured; allowed: \
                 settings of the run, and `lost` and `live` where they are not the measured value"
            ));
        }
    }
    Ok(())
}

fn check_claim(item: &Item, claim: &Claim) -> Result<(), String> {
    let bounds = claims::bounds(&claim.test);
    if bounds.is_some_and(|[from, to]| from <= -FAR && to >= FAR) {
        return Err("its bounds exclude nothing".to_string());
    }
    match &claim.test {
        Test::Mean { y, .. } | Test::Max { y, .. } | Test::Min { y, .. } | Test::Every { y, .. } => {
            needs_measurement(&[&formula(y)?])
        }
        Test::Power { y, x, .. } | Test::Falls { y, x, .. } => {
            is_not_measured("`x`,", x)?;
            needs_measurement(&[&formula(y)?])
        }
        Test::Fit { y, f, .. } => {
            is_not_measured("`f`,", f)?;
            needs_measurement(&[&formula(y)?])
        }
        Test::Ratio { y, of, to, .. } => {
            let own = |side: &Side| formula(side.y.as_deref().unwrap_or(y));
            needs_measurement(&[&own(of)?, &own(to)?])?;
            let name = |side: &Side| {
                let named = [&side.experiment, &claim.experiment, &item.experiment];
                named.into_iter().flatten().next().cloned()
            };
            let is_same = name(of) == name(to) && of.filter == to.filter && own(of)? == own(to)?;
            if is_same { Err("it is the ratio of a measurement to itself".to_string()) } else { Ok(()) }
        }
    }
}
