//! Printed numbers against measured ones.

use super::rows::{Scope, parse, select, values};
use super::{Because, Finding, Laboratory, Results, Shown, StudyError, Verdict, number};
use crate::formula::Formula;
use crate::stats::{Summary, probability_interval};
use crate::table::{Table, Values};
use crate::texts::model::Formulas;
use crate::texts::{Grid, Item, Line, Print, Take};

/// What is closer than this is equal: sums of whole numbers leave no more.
const EPSILON: f64 = 1e-9;

/// How many standard errors a printed mean may lie from the measured one: chance alone goes farther once in 370 times.
const STANDARD_ERRORS: f64 = 3.0;

pub(super) fn findings(item: &Item, laboratory: &Laboratory) -> Result<Vec<Finding>, StudyError> {
    let Some(grid) = &item.grid else { return Ok(Vec::new()) };
    check_shape(grid)?;
    let mut findings = Vec::new();
    for (down, row) in grid.rows.iter().enumerate() {
        for (along, column) in grid.columns.iter().enumerate() {
            let place = Place { item, grid, row, column, down, along };
            let finding = place.finding(laboratory);
            findings.push(finding.map_err(|error| StudyError {
                place: format!("row `{}`, column `{}`: {}", row.label, column.label, error.place),
                problem: error.problem,
            })?);
        }
    }
    Ok(findings)
}

/// A grid whose lists have as many entries as it has places.
fn check_shape(grid: &Grid) -> Result<(), StudyError> {
    let (down, along) = (grid.rows.len(), grid.columns.len());
    let printed = grid.published.is_empty()
        || grid.published.len() == down && grid.published.iter().all(|row| row.len() == along);
    let formulas = match &grid.formula {
        Some(Formulas::Each(rows)) => rows.len() == down && rows.iter().all(|row| row.len() == along),
        _ => true,
    };
    let labels = |lines: &[Line], label: &String| lines.iter().any(|line| line.label == *label);
    if let Some(label) = grid.reasons.iter().flat_map(|reason| &reason.rows).find(|label| !labels(&grid.rows, label)) {
        return Err(StudyError::new("reason", format!("there is no row `{label}`")));
    }
    let columns = grid.reasons.iter().flat_map(|reason| &reason.columns);
    if let Some(label) = columns.into_iter().find(|label| !labels(&grid.columns, label)) {
        return Err(StudyError::new("reason", format!("there is no column `{label}`")));
    }
    if printed && formulas {
        return Ok(());
    }
    Err(StudyError::new("grid", format!("lists do not have {down} rows of {along}")))
}

/// One place of a grid.
struct Place<'a> {
    item: &'a Item,
    grid: &'a Grid,
    row: &'a Line,
    column: &'a Line,
    down: usize,
    along: usize,
}

/// A place with everything that is known of it.
struct Known<'a> {
    scope: Scope<'a>,
    measured: f64,
    published: Option<f64>,
    /// How far chance may take them from each other.
    near: f64,
    /// Whether the two are the same, or may be.
    equal: bool,
}

impl Place<'_> {
    fn finding(&self, laboratory: &Laboratory) -> Result<Finding, StudyError> {
        let named = [&self.row.experiment, &self.column.experiment, &self.item.experiment];
        let Some(name) = named.into_iter().flatten().next() else {
            return Err(StudyError::new("experiment", "none is named"));
        };
        let results = laboratory.results(name)?;
        let rows = select(&results, &[&self.row.narrowed, &self.column.narrowed])?;
        let (value, formula, published) = (self.value()?, self.formula()?, self.published()?);
        let amounts = self.amounts()?;
        let formulas = [Some(&value), formula.as_ref(), published.as_ref()];
        let all = formulas.into_iter().flatten().chain(amounts.iter().map(|(_, amount)| amount));
        let traced = all.flat_map(Formula::names).any(|name| name.starts_with("trace."));
        let facts = if traced { Some(laboratory.facts(&results, rows[0])?) } else { None };
        let scope = |beside| Scope { table: &results.table, row: rows[0], facts: facts.as_ref(), beside };
        let measure = self.measure(&results, &rows, &value, &scope(&[]), traced)?;
        let measured = measure.value.unwrap_or(f64::NAN);
        let plain = scope(&[]);
        let number = |formula: &Option<Formula>| formula.as_ref().map(|formula| plain.eval(formula)).transpose();
        let (printed, worked_out) = (number(&published)?, number(&formula)?);
        // Where nothing is printed the formula is what it is held against.
        let held_against = printed.or(worked_out);
        let near = measure.interval.map_or(0.0, |(low, high)| (high - low) / 2.0 / 1.96 * STANDARD_ERRORS);
        let equal = held_against.is_some_and(|against| (measured - against).abs() <= near.max(EPSILON));
        // What was measured is not among them: a reason must come from elsewhere.
        let beside = [("published", held_against.unwrap_or(f64::NAN))];
        let known = Known { scope: scope(&beside), measured, published: held_against, near, equal };
        let (verdict, reasons) = known.judge(&amounts)?;
        Ok(Finding {
            label: self.label(),
            published: published.zip(printed).map(|(formula, value)| Shown::formula(formula.text(), value)),
            formula: formula.zip(worked_out).map(|(formula, value)| Shown::formula(formula.text(), value)),
            measured: Some(measure),
            verdict,
            reasons,
        })
    }

    fn measure(
        &self,
        results: &Results,
        rows: &[usize],
        value: &Formula,
        scope: &Scope<'_>,
        traced: bool,
    ) -> Result<Shown, StudyError> {
        // What a trace tells is told of one run.
        if traced && value.names().iter().any(|name| name.starts_with("trace.")) {
            return Ok(Shown::value(scope.eval(value)?));
        }
        let all = values(&results.table, rows, value)?;
        Ok(match self.grid.take {
            Take::Max => Shown::value(all.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            Take::Min => Shown::value(all.iter().copied().fold(f64::INFINITY, f64::min)),
            Take::Mean if all.len() > 1 && is_yes_or_no(&results.table, value) => {
                let came_true = all.iter().filter(|value| **value == 1.0).count();
                let (low, high) = probability_interval(came_true, all.len());
                Shown::mean(came_true as f64 / all.len() as f64, Some((low, high)))
            }
            Take::Mean => {
                let summary = Summary::of(all).ok_or_else(|| StudyError::new(value.text(), "no run has a value"))?;
                Shown::mean(summary.mean, summary.margin.map(|_| summary.interval()))
            }
        })
    }

    fn label(&self) -> String {
        match (self.row.label.as_str(), self.column.label.as_str()) {
            (row, "") => row.to_string(),
            ("", column) => column.to_string(),
            (row, column) => format!("{row} · {column}"),
        }
    }

    fn value(&self) -> Result<Formula, StudyError> {
        let named = [&self.row.value, &self.column.value, &self.grid.value];
        let value = named.into_iter().flatten().next();
        value.map_or_else(|| Err(StudyError::new("value", "none is given")), |text| parse(text))
    }

    fn formula(&self) -> Result<Option<Formula>, StudyError> {
        let text = match &self.grid.formula {
            None => "",
            Some(Formulas::One(text)) => text,
            Some(Formulas::Each(rows)) => &rows[self.down][self.along],
        };
        if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
    }

    fn published(&self) -> Result<Option<Formula>, StudyError> {
        match self.grid.published.get(self.down).and_then(|row| row.get(self.along)) {
            None => Ok(None),
            Some(Print::Formula(text)) if text.is_empty() => Ok(None),
            Some(Print::Formula(text)) => parse(text).map(Some),
            Some(Print::Number(number)) => parse(&number.to_string()).map(Some),
        }
    }

    /// The reasons that are about this place, with their amounts.
    fn amounts(&self) -> Result<Vec<(Because, Formula)>, StudyError> {
        let about = |labels: &[String], label: &String| labels.is_empty() || labels.contains(label);
        let here = self.grid.reasons.iter();
        let here = here.filter(|one| about(&one.rows, &self.row.label) && about(&one.columns, &self.column.label));
        here.map(|reason| {
            let because = Because { kind: Some(reason.kind), says: reason.says.clone(), amount: None };
            Ok((because, parse(&reason.amount)?))
        })
        .collect()
    }
}

impl Known<'_> {
    /// Equal, or explained by those reasons whose amounts add up to the difference.
    fn judge(&self, amounts: &[(Because, Formula)]) -> Result<(Verdict, Vec<Because>), StudyError> {
        let Some(published) = self.published else { return Ok((Verdict::Shown, Vec::new())) };
        let mut reasons = Vec::new();
        let mut sum = 0.0;
        for (because, formula) in amounts {
            let amount = self.scope.eval(formula)?;
            sum += amount;
            if amount.abs() > EPSILON {
                reasons.push(Because { amount: Some(amount), ..because.clone() });
            }
        }
        // A reason for a difference that is not there is as open as a difference without one.
        if self.equal && sum.abs() > self.near.max(EPSILON) {
            let stale = format!("there is no difference, yet reasons for {} are given", number(sum));
            return Ok((Verdict::Open, vec![Because { kind: None, says: stale, amount: None }]));
        }
        if self.equal {
            return Ok((Verdict::Equal, Vec::new()));
        }
        let difference = self.measured - published;
        if !reasons.is_empty() && (difference - sum).abs() <= EPSILON * difference.abs().max(1.0) {
            return Ok((Verdict::Explained, reasons));
        }
        let rest = format!("{} is the difference, {} of it is explained", number(difference), number(sum));
        Ok((Verdict::Open, vec![Because { kind: None, says: rest, amount: None }]))
    }
}

/// Whether a formula gives an answer in every row, not a number.
fn is_yes_or_no(table: &Table, formula: &Formula) -> bool {
    formula.is_yes_or_no(&|name| matches!(table.column(name), Some(Values::Flags(_))))
}
