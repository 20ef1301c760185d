//! Compares printed numbers with measured ones.

use super::plant::Plant;
use super::rows::{Scope, parse, select};
use super::sample::sample;
use super::sensitivity::could_be;
use super::{AppliedReason, CompareError, DisplayValue, Finding, ResultCache, Results, Verdict, number, units};
use crate::formula::Formula;
use crate::published::{Aggregate, Formulas, Grid, Item, Line, PrintedValue, Reason};
use crate::stats::{Summary, probability_interval};
use crate::table::{Table, Values};

/// Values closer than this are equal: sums of integers have no larger rounding errors.
const EPSILON: f64 = 1e-9;

/// How many standard errors a printed mean may differ from the measured one. By chance alone, one in 370 differs more.
const STANDARD_ERRORS: f64 = 3.0;

pub(super) fn findings(item: &Item, cache: &ResultCache) -> Result<Vec<Finding>, CompareError> {
    let Some(grid) = &item.grid else { return Ok(Vec::new()) };
    check_dimensions(grid)?;
    let mut findings = Vec::new();
    for (down, row) in grid.rows.iter().enumerate() {
        for (along, column) in grid.columns.iter().enumerate() {
            let cell = GridCell { item, grid, row, column, down, along };
            let finding = cell.finding(cache);
            findings.push(finding.map_err(|error| CompareError {
                place: format!("row `{}`, column `{}`: {}", row.label, column.label, error.place),
                problem: error.problem,
            })?);
        }
    }
    Ok(findings)
}

/// Checks that the lists of a grid have an entry for each cell.
fn check_dimensions(grid: &Grid) -> Result<(), CompareError> {
    let (down, along) = (grid.rows.len(), grid.columns.len());
    let printed = grid.published.is_empty()
        || grid.published.len() == down && grid.published.iter().all(|row| row.len() == along);
    let formulas = match &grid.formula {
        Some(Formulas::Each(rows)) => rows.len() == down && rows.iter().all(|row| row.len() == along),
        _ => true,
    };
    let labels = |lines: &[Line], label: &String| lines.iter().any(|line| line.label == *label);
    if let Some(label) = grid.reasons.iter().flat_map(|reason| &reason.rows).find(|label| !labels(&grid.rows, label)) {
        return Err(CompareError::new("reason", format!("there is no row `{label}`")));
    }
    let columns = grid.reasons.iter().flat_map(|reason| &reason.columns);
    if let Some(label) = columns.into_iter().find(|label| !labels(&grid.columns, label)) {
        return Err(CompareError::new("reason", format!("there is no column `{label}`")));
    }
    if printed && formulas {
        return Ok(());
    }
    Err(CompareError::new("grid", format!("its lists do not have {down} rows of {along} entries")))
}

/// Whether a reason applies to a cell.
pub(super) fn is_about(reason: &Reason, row: &Line, column: &Line) -> bool {
    let about = |labels: &[String], label: &String| labels.is_empty() || labels.contains(label);
    about(&reason.rows, &row.label) && about(&reason.columns, &column.label)
}

/// One cell of a grid.
struct GridCell<'a> {
    item: &'a Item,
    grid: &'a Grid,
    row: &'a Line,
    column: &'a Line,
    down: usize,
    along: usize,
}

/// The values of a cell.
struct CellValues<'a> {
    scope: Scope<'a>,
    measured: f64,
    published: Option<f64>,
    /// The value of a formula, beside a printed value.
    computed: Option<f64>,
    /// The difference that chance allows.
    tolerance: f64,
    /// Whether the values agree.
    equal: bool,
}

impl GridCell<'_> {
    fn finding(&self, cache: &ResultCache) -> Result<Finding, CompareError> {
        let named = [&self.row.experiment, &self.column.experiment, &self.item.experiment];
        let Some(name) = named.into_iter().flatten().next() else {
            return Err(CompareError::new("experiment", "no experiment is named"));
        };
        let results = cache.results(name)?;
        let rows = select(&results, &[&self.row.filter, &self.column.filter])?;
        let (value, formula, published) = (self.value()?, self.formula()?, self.published()?);
        let amounts = self.amounts()?;
        let formulas = [Some(&value), formula.as_ref(), published.as_ref()];
        let all = formulas.into_iter().flatten().chain(amounts.iter().map(|(_, amount)| amount));
        let traced = all.flat_map(Formula::names).any(|name| name.starts_with("trace."));
        let facts = if traced { Some(cache.facts(&results, rows[0])?) } else { None };
        let scope = |extra| Scope { table: &results.table, row: rows[0], facts: facts.as_ref(), extra };
        if cache.plant() == Plant::Nothing {
            let now = scope(&[]).eval(&value)?;
            if !could_be(&value, &scope(&[]), &[], &|other| (other - now).abs() > EPSILON) {
                let problem = "no measurement could change it: it is the same in every run";
                return Err(CompareError::new(format!("`{}`", value.text()), problem));
            }
        }
        let measure = planted(cache.plant(), self.measure(cache, &results, &rows, &value, &scope(&[]))?);
        let measured = measure.value.unwrap_or(f64::NAN);
        let plain = scope(&[]);
        let number = |formula: &Option<Formula>| formula.as_ref().map(|formula| plain.eval(formula)).transpose();
        let (printed, computed) = (number(&published)?, number(&formula)?);
        // Without a printed number, the formula is compared.
        let reference = printed.or(computed);
        let computed_beside = computed.filter(|_| printed.is_some());
        let tolerance = measure.interval.map_or(0.0, |(low, high)| (high - low) / 2.0 / 1.96 * STANDARD_ERRORS);
        let equal = reference.is_some_and(|against| (measured - against).abs() <= tolerance.max(EPSILON));
        // Neither the measured nor the published value is available: a reason could explain any difference with them.
        let values =
            CellValues { scope: plain, measured, published: reference, computed: computed_beside, tolerance, equal };
        let (verdict, reasons) = values.judge(&amounts)?;
        Ok(Finding {
            label: self.label(),
            test: None,
            choice: None,
            chance: None,
            quote: None,
            is_printed: published.is_some() && !self.item.ours,
            published: published.zip(printed).map(|(formula, value)| DisplayValue::formula(formula.text(), value)),
            formula: formula.zip(computed).map(|(formula, value)| DisplayValue::formula(formula.text(), value)),
            measured: Some(measure),
            verdict,
            reasons,
            sample: sample(&[(&results.table, &rows)]),
            command: results.command(&rows),
        })
    }

    fn measure(
        &self,
        cache: &ResultCache,
        results: &Results,
        rows: &[usize],
        value: &Formula,
        scope: &Scope<'_>,
    ) -> Result<DisplayValue, CompareError> {
        // Values from a trace belong to a single run.
        if value.names().iter().any(|name| name.starts_with("trace.")) {
            return Ok(DisplayValue::value(scope.eval(value)?));
        }
        let all = cache.values(results, rows, value)?;
        Ok(match self.grid.aggregate {
            Aggregate::Max => DisplayValue::value(all.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            Aggregate::Min => DisplayValue::value(all.iter().copied().fold(f64::INFINITY, f64::min)),
            Aggregate::Mean if all.len() > 1 && is_condition(&results.table, value) => {
                let successes = all.iter().filter(|value| **value == 1.0).count();
                let (low, high) = probability_interval(successes, all.len());
                DisplayValue::mean(successes as f64 / all.len() as f64, Some((low, high)))
            }
            Aggregate::Mean => {
                let means = units::means(&results.table, rows, &all);
                let summary =
                    Summary::of(means).ok_or_else(|| CompareError::new(value.text(), "no run has a value"))?;
                DisplayValue::mean(summary.mean, summary.margin.map(|_| summary.interval()))
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

    fn value(&self) -> Result<Formula, CompareError> {
        let named = [&self.row.value, &self.column.value, &self.grid.value];
        let value = named.into_iter().flatten().next();
        value.map_or_else(|| Err(CompareError::new("value", "no formula is given")), |text| parse(text))
    }

    fn formula(&self) -> Result<Option<Formula>, CompareError> {
        let text = match &self.grid.formula {
            None => "",
            Some(Formulas::One(text)) => text,
            Some(Formulas::Each(rows)) => &rows[self.down][self.along],
        };
        if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
    }

    fn published(&self) -> Result<Option<Formula>, CompareError> {
        match self.grid.published.get(self.down).and_then(|row| row.get(self.along)) {
            None => Ok(None),
            Some(PrintedValue::Formula(text)) if text.is_empty() => Ok(None),
            Some(PrintedValue::Formula(text)) => parse(text).map(Some),
            Some(PrintedValue::Number(number)) => parse(&number.to_string()).map(Some),
        }
    }

    /// The reasons that apply to this cell, with their amounts.
    fn amounts(&self) -> Result<Vec<(AppliedReason, Formula)>, CompareError> {
        let here = self.grid.reasons.iter().filter(|reason| is_about(reason, self.row, self.column));
        here.map(|reason| {
            let because = AppliedReason { kind: Some(reason.kind), says: reason.says.clone(), amount: None };
            Ok((because, parse(&reason.amount)?))
        })
        .collect()
    }
}

impl CellValues<'_> {
    fn is_near(&self, value: f64) -> bool {
        (self.measured - value).abs() <= self.tolerance.max(EPSILON)
    }

    /// Equal, or explained by reasons whose amounts add up to the difference.
    fn judge(&self, amounts: &[(AppliedReason, Formula)]) -> Result<(Verdict, Vec<AppliedReason>), CompareError> {
        let Some(published) = self.published else { return Ok((Verdict::Shown, Vec::new())) };
        // A formula that is wrong would make a printed value look wrong, or right.
        if let Some(computed) = self.computed.filter(|value| !self.is_near(*value)) {
            let says = format!("the formula gives {}, and {} is measured", number(computed), number(self.measured));
            return Ok((Verdict::Open, vec![AppliedReason { kind: None, says, amount: None }]));
        }
        let mut reasons = Vec::new();
        let mut sum = 0.0;
        for (because, formula) in amounts {
            let amount = self.scope.eval(formula)?;
            sum += amount;
            if amount.abs() > EPSILON {
                reasons.push(AppliedReason { amount: Some(amount), ..because.clone() });
            }
        }
        // Reasons without a difference are out of date.
        if self.equal && sum.abs() > self.tolerance.max(EPSILON) {
            let stale = format!("there is no difference, but reasons for {} are given", number(sum));
            return Ok((Verdict::Open, vec![AppliedReason { kind: None, says: stale, amount: None }]));
        }
        if self.equal {
            return Ok((Verdict::Equal, Vec::new()));
        }
        let difference = self.measured - published;
        if !reasons.is_empty() && (difference - sum).abs() <= EPSILON * difference.abs().max(1.0) {
            return Ok((Verdict::Explained, reasons));
        }
        let rest = format!("the difference is {}, of which {} is explained", number(difference), number(sum));
        Ok((Verdict::Open, vec![AppliedReason { kind: None, says: rest, amount: None }]))
    }
}

/// The value, or a wrong one in its place.
fn planted(plant: Plant, shown: DisplayValue) -> DisplayValue {
    match shown.value {
        Some(value) if plant == Plant::Wrong => {
            let by = plant.cell(value) - value;
            DisplayValue::mean(value + by, shown.interval.map(|(low, high)| (low + by, high + by)))
        }
        _ => shown,
    }
}

/// Whether a formula is a condition rather than a number.
pub(super) fn is_condition(table: &Table, formula: &Formula) -> bool {
    formula.is_condition(&|name| matches!(table.column(name), Some(Values::Bools(_))))
}
