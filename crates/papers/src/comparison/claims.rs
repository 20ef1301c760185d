//! Tests the claims of a paper against measured results.

use std::collections::BTreeMap;

use super::rows::{parse, select, values};
use super::words::{conditions, in_words};
use super::{AppliedReason, CompareError, DisplayValue, Finding, ResultCache, Results, Verdict, number};
use crate::published::{Claim, Filter, Item, Side, Test};
use crate::stats::{Estimate, Summary, factor_fit, linear_fit, paired_ratio};

pub(super) fn findings(item: &Item, cache: &ResultCache) -> Result<Vec<Finding>, CompareError> {
    let finding = |claim: &Claim| {
        let name = claim.experiment.as_deref().or(item.experiment.as_deref());
        finding(claim, name, cache).map_err(|error| CompareError {
            place: format!("claim `{}`: {}", claim.says, error.place),
            problem: error.problem,
        })
    };
    item.claims.iter().map(finding).collect()
}

/// The experiments that a claim names.
pub(super) fn experiments(claim: &Claim) -> Vec<&Option<String>> {
    let sides = match &claim.test {
        Test::Ratio { of, to, .. } => vec![&of.experiment, &to.experiment],
        _ => Vec::new(),
    };
    std::iter::once(&claim.experiment).chain(sides).collect()
}

/// The result of a test.
struct TestResult {
    /// `None` if the confidence interval contains the threshold.
    holds: Option<bool>,
    measured: DisplayValue,
    /// The condition.
    condition: String,
}

fn finding(claim: &Claim, name: Option<&str>, cache: &ResultCache) -> Result<Finding, CompareError> {
    let tested = run_test(&claim.test, name, cache)?;
    // A failed claim needs a reason, and a reason for a claim that holds is out of date.
    let (verdict, reasons) = match (tested.holds, &claim.because) {
        (Some(true), None) => (Verdict::Yes, Vec::new()),
        (Some(false), Some(says)) => (Verdict::No, vec![because(says)]),
        (Some(false), None) => (Verdict::Open, vec![because("the claim does not hold, and no reason is given")]),
        (Some(true), Some(_)) => (Verdict::Open, vec![because("the claim holds, but a reason against it is given")]),
        (None, says) => (Verdict::Undecided, says.iter().map(|says| because(says)).collect()),
    };
    Ok(Finding {
        label: claim.says.clone(),
        published: None,
        test: Some(DisplayValue::text(tested.condition)),
        formula: None,
        measured: Some(tested.measured),
        verdict,
        reasons,
        choice: claim.choice.clone(),
    })
}

fn because(says: &str) -> AppliedReason {
    AppliedReason { kind: None, says: says.to_string(), amount: None }
}

fn run_test(test: &Test, name: Option<&str>, cache: &ResultCache) -> Result<TestResult, CompareError> {
    let results = |own: Option<&str>| match own.or(name) {
        Some(name) => cache.results(name),
        None => Err(CompareError::new("test", "no experiment is named")),
    };
    let measured = |y: &str, filter: &Filter| {
        let results = results(None)?;
        let rows = select(&results, &[filter])?;
        values(&results.table, &rows, &parse(y)?)
    };
    match test {
        Test::Mean { y, filter, within } => {
            let summary = Summary::of(measured(y, filter)?);
            estimated(
                "the mean",
                summary.map(|summary| Estimate { value: summary.mean, margin: summary.margin }),
                *within,
            )
        }
        Test::Max { y, filter, within } => {
            let max = measured(y, filter)?.into_iter().fold(f64::NEG_INFINITY, f64::max);
            Ok(bounded(&format!("at most, {}", in_words(y)), DisplayValue::value(max), max, *within))
        }
        Test::Min { y, filter, within } => {
            let min = measured(y, filter)?.into_iter().fold(f64::INFINITY, f64::min);
            let result = bounded(&format!("at least, {}", in_words(y)), DisplayValue::value(min), min, *within);
            Ok(in_every_run(result, y, *within))
        }
        Test::Every { y, filter, within } => {
            let all = measured(y, filter)?;
            let ends = all
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| (min.min(*value), max.max(*value)));
            let result = ranging(&format!("in every run, {}", in_words(y)), ends, *within);
            Ok(in_every_run(result, y, *within))
        }
        Test::Ratio { y, by, of, to, within } => {
            let side = |side: &Side| {
                let results = results(side.experiment.as_deref())?;
                let rows = select(&results, &[&side.filter])?;
                let measured = values(&results.table, &rows, &parse(side.y.as_ref().unwrap_or(y))?)?;
                Ok::<_, CompareError>(grouped(&results, &rows, measured, by.as_deref()))
            };
            ratios(&format!("ratio of {}", in_words(y)), &side(of)?, &side(to)?, *within)
        }
        Test::Power { y, x, filter, within } => {
            let pairs = measured(x, filter)?.into_iter().zip(measured(y, filter)?);
            let logs: Vec<(f64, f64)> = pairs.map(|(x, y)| (x.ln(), y.ln())).collect();
            estimated(
                &format!("power of {} with which {} grows", in_words(x), in_words(y)),
                linear_fit(&logs).map(|line| line.slope),
                *within,
            )
        }
        Test::Falls { y, x, by, filter } => falls(&*results(None)?, y, x, by.as_deref(), filter),
        Test::Fit { y, f, filter, within } => {
            let pairs: Vec<(f64, f64)> = measured(f, filter)?.into_iter().zip(measured(y, filter)?).collect();
            estimated(
                &format!("c in {} = c·{}", in_words(y), in_words(f)),
                factor_fit(&pairs).map(|fit| fit.factor),
                *within,
            )
        }
    }
}

/// Groups measured values by the value of a column in their rows; without a column there is one group.
fn grouped<T>(results: &Results, rows: &[usize], measured: Vec<T>, by: Option<&str>) -> BTreeMap<String, Vec<T>> {
    let mut groups: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for (row, value) in rows.iter().zip(measured) {
        let group = by.map_or_else(String::new, |column| results.table.cell(*row, column).to_string());
        groups.entry(group).or_default().push(value);
    }
    groups
}

/// A ratio for each group. All ratios must be within the bounds.
fn ratios(
    what: &str,
    of: &BTreeMap<String, Vec<f64>>,
    to: &BTreeMap<String, Vec<f64>>,
    within: [f64; 2],
) -> Result<TestResult, CompareError> {
    let mut found = Vec::new();
    for (group, above) in of {
        let below = to.get(group).map_or(&[][..], Vec::as_slice);
        if above.len() != below.len() || of.len() != to.len() {
            let problem = format!("{} runs against {} in group `{group}`", above.len(), below.len());
            return Err(CompareError::new(what, problem));
        }
        let pairs: Vec<(f64, f64)> = above.iter().copied().zip(below.iter().copied()).collect();
        found.push(paired_ratio(&pairs));
    }
    if let [one] = found[..] {
        return estimated(what, one, within);
    }
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for ratio in found {
        let ratio = ratio.ok_or_else(|| CompareError::new(what, "there are no values"))?;
        ends = (ends.0.min(ratio.value), ends.1.max(ratio.value));
    }
    Ok(ranging(&format!("every {what}"), ends, within))
}

/// A test that some conditions hold, in words.
fn in_every_run(result: TestResult, y: &str, within: [f64; 2]) -> TestResult {
    match conditions(y).filter(|_| within == [1.0, 1.0]) {
        None => result,
        Some(conditions) => {
            let measured = match result.holds {
                Some(true) => DisplayValue::text("so in every run"),
                _ => DisplayValue::text("not in every run"),
            };
            TestResult { condition: format!("in every run: {conditions}"), measured, ..result }
        }
    }
}

/// The smallest and the largest of several values, which must both be within the bounds.
fn ranging(what: &str, (min, max): (f64, f64), within: [f64; 2]) -> TestResult {
    let (low, high) =
        (bounded(what, DisplayValue::value(min), min, within), bounded(what, DisplayValue::value(max), max, within));
    let measured = if min == max {
        low.measured
    } else {
        DisplayValue::text(format!("{} to {}", low.measured.text, high.measured.text))
    };
    TestResult { holds: low.holds.zip(high.holds).map(|(low, high)| low && high), measured, condition: low.condition }
}

fn estimated(what: &str, estimate: Option<Estimate>, within: [f64; 2]) -> Result<TestResult, CompareError> {
    let estimate = estimate.ok_or_else(|| CompareError::new(what, "there are no values"))?;
    let interval = estimate.margin.map(|_| estimate.interval());
    let result = bounded(what, DisplayValue::mean(estimate.value, interval), estimate.value, within);
    let is_decided = interval.is_none_or(|interval| is_decided(interval, within));
    Ok(TestResult { holds: result.holds.filter(|_| is_decided), ..result })
}

/// Whether an interval lies inside or outside the bounds as a whole.
fn is_decided((low, high): (f64, f64), [from, to]: [f64; 2]) -> bool {
    let is_inside = from - TOLERANCE <= low && high <= to + TOLERANCE;
    is_inside || high < from - TOLERANCE || low > to + TOLERANCE
}

/// For rounding.
const TOLERANCE: f64 = 1e-9;

fn bounded(what: &str, measured: DisplayValue, value: f64, [from, to]: [f64; 2]) -> TestResult {
    // A bound beyond this stands for "no bound".
    const FAR: f64 = 1e8;
    let condition = match (from, to) {
        _ if from == to => format!("{what} = {}", number(from)),
        _ if from <= -FAR => format!("{what} ≤ {}", number(to)),
        _ if to >= FAR => format!("{what} ≥ {}", number(from)),
        _ => format!("{what}: {} to {}", number(from), number(to)),
    };
    TestResult { holds: Some(from - TOLERANCE <= value && value <= to + TOLERANCE), measured, condition }
}

fn falls(results: &Results, y: &str, x: &str, by: Option<&str>, filter: &Filter) -> Result<TestResult, CompareError> {
    let rows = select(results, &[filter])?;
    let measured = values(&results.table, &rows, &parse(y)?)?;
    let steps = values(&results.table, &rows, &parse(x)?)?;
    let mut groups = grouped(results, &rows, steps.into_iter().zip(measured).collect(), by);
    let (mut falling, mut pairs) = (0, 0);
    for points in groups.values_mut() {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let means: Vec<f64> = points
            .chunk_by(|a, b| a.0 == b.0)
            .map(|chunk| chunk.iter().map(|point| point.1).sum::<f64>() / chunk.len() as f64)
            .collect();
        pairs += means.len().saturating_sub(1);
        falling += means.windows(2).filter(|pair| pair[1] < pair[0]).count();
    }
    Ok(TestResult {
        holds: Some(falling == pairs && pairs > 0),
        measured: DisplayValue::text(format!("falls at {falling} of {pairs} steps")),
        condition: format!("{} falls at every step of {}", in_words(y), in_words(x)),
    })
}
