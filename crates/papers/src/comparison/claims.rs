//! Tests the claims of a paper against measured results.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::plant::Plant;
use super::rows::{parse, select};
use super::sample::sample;
use super::words::{conditions, in_words};
use super::{AppliedReason, CompareError, DisplayValue, Finding, ResultCache, Results, Verdict, number};
use crate::published::{Claim, Filter, Item, Side, Test};
use crate::stats::{Estimate, Summary, factor_fit, linear_fit, paired_ratio};

pub(super) fn findings(item: &Item, cache: &ResultCache) -> Result<Vec<Finding>, CompareError> {
    let finding = |claim: &Claim| {
        let name = claim.experiment.as_deref().or(item.experiment.as_deref());
        let found = finding(claim, name, cache);
        // A claim of the paper in an item of ours is a quotation.
        let is_ours = claim.ours || item.ours && claim.quote.is_none();
        found.map(|found| Finding { is_printed: !is_ours, ..found }).map_err(|error| CompareError {
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
    let tester = Tester { cache, name, used: RefCell::default() };
    let tested = tester.run(&claim.test)?;
    // A failed claim needs a reason, and a reason for a claim that holds is out of date.
    let (verdict, reasons) = match (tested.holds, &claim.because) {
        (Some(true), None) => (Verdict::Yes, Vec::new()),
        (Some(false), Some(says)) => (Verdict::No, vec![because(says)]),
        (Some(false), None) => (Verdict::Open, vec![because("the claim does not hold, and no reason is given")]),
        (Some(true), Some(_)) => (Verdict::Open, vec![because("the claim holds, but a reason against it is given")]),
        (None, says) => (Verdict::Undecided, says.iter().map(|says| because(says)).collect()),
    };
    let used = tester.used.into_inner();
    let parts: Vec<_> = used.iter().map(|(results, rows)| (&results.table, rows.as_slice())).collect();
    Ok(Finding {
        label: claim.says.clone(),
        published: None,
        test: Some(DisplayValue::text(tested.condition)),
        formula: None,
        measured: Some(tested.measured),
        verdict,
        reasons,
        choice: claim.choice.clone(),
        quote: claim.quote.clone(),
        is_printed: true,
        sample: sample(&parts),
    })
}

fn because(says: &str) -> AppliedReason {
    AppliedReason { kind: None, says: says.to_string(), amount: None }
}

/// The results of an experiment, and some of its rows.
type Selection = (Rc<Results>, Vec<usize>);

/// Runs the test of one claim.
struct Tester<'a, 'b> {
    cache: &'a ResultCache<'b>,
    /// The experiment of the claim.
    name: Option<&'a str>,
    /// The runs that the test has read, without repetitions.
    used: RefCell<Vec<Selection>>,
}

impl Tester<'_, '_> {
    /// Selects runs of an experiment, by default that of the claim.
    fn select(&self, own: Option<&str>, filter: &Filter) -> Result<Selection, CompareError> {
        let name = own.or(self.name).ok_or_else(|| CompareError::new("test", "no experiment is named"))?;
        let results = self.cache.results(name)?;
        let rows = select(&results, &[filter])?;
        let selection = (results, rows);
        let is_same = |known: &Selection| known.0.name == selection.0.name && known.1 == selection.1;
        if !self.used.borrow().iter().any(is_same) {
            self.used.borrow_mut().push(selection.clone());
        }
        Ok(selection)
    }

    fn measured(&self, y: &str, filter: &Filter) -> Result<Vec<f64>, CompareError> {
        let (results, rows) = self.select(None, filter)?;
        self.cache.values(&results, &rows, &parse(y)?)
    }

    /// The measured values, or planted ones.
    fn within(&self, y: &str, filter: &Filter, within: [f64; 2]) -> Result<Vec<f64>, CompareError> {
        Ok(self.cache.plant().values(self.measured(y, filter)?, within))
    }

    fn run(&self, test: &Test) -> Result<TestResult, CompareError> {
        match test {
            Test::Mean { y, filter, within } => {
                let summary = Summary::of(self.within(y, filter, *within)?);
                let mean = summary.map(|summary| Estimate { value: summary.mean, margin: summary.margin });
                estimated(&format!("the mean of {}", in_words(y)), mean, *within)
            }
            Test::Max { y, filter, within } => {
                let max = self.within(y, filter, *within)?.into_iter().fold(f64::NEG_INFINITY, f64::max);
                let result = bounded(&format!("at most, {}", in_words(y)), DisplayValue::value(max), max, *within);
                Ok(in_some_run(result, y, *within))
            }
            Test::Min { y, filter, within } => {
                let min = self.within(y, filter, *within)?.into_iter().fold(f64::INFINITY, f64::min);
                let result = bounded(&format!("at least, {}", in_words(y)), DisplayValue::value(min), min, *within);
                Ok(in_every_run(result, y, *within))
            }
            Test::Every { y, filter, within } => {
                let all = self.within(y, filter, *within)?;
                let ends = all
                    .iter()
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| (min.min(*value), max.max(*value)));
                let result = ranging(&format!("in every run, {}", in_words(y)), ends, *within);
                Ok(in_every_run(result, y, *within))
            }
            Test::Ratio { y, by, of, to, within } => self.ratio(y, by.as_deref(), of, to, *within),
            Test::Power { y, x, filter, within } => {
                let (xs, ys) = (self.measured(x, filter)?, self.measured(y, filter)?);
                let ys = self.cache.plant().image(&xs, ys, *within, f64::powf);
                let logs: Vec<(f64, f64)> = xs.into_iter().zip(ys).map(|(x, y)| (x.ln(), y.ln())).collect();
                estimated(
                    &format!("power of {} with which {} grows", in_words(x), in_words(y)),
                    linear_fit(&logs).map(|line| line.slope),
                    *within,
                )
            }
            Test::Falls { y, x, by, filter } => self.falls(y, x, by.as_deref(), filter),
            Test::Fit { y, f, filter, within } => {
                let (fs, ys) = (self.measured(f, filter)?, self.measured(y, filter)?);
                let ys = self.cache.plant().image(&fs, ys, *within, |f, c| f * c);
                let pairs: Vec<(f64, f64)> = fs.into_iter().zip(ys).collect();
                estimated(
                    &format!("c in {} = c·{}", in_words(y), in_words(f)),
                    factor_fit(&pairs).map(|fit| fit.factor),
                    *within,
                )
            }
        }
    }

    fn ratio(
        &self,
        y: &str,
        by: Option<&str>,
        of: &Side,
        to: &Side,
        within: [f64; 2],
    ) -> Result<TestResult, CompareError> {
        let side = |side: &Side| {
            let (results, rows) = self.select(side.experiment.as_deref(), &side.filter)?;
            let measured = self.cache.values(&results, &rows, &parse(side.y.as_deref().unwrap_or(y))?)?;
            Ok::<_, CompareError>((results, rows, measured))
        };
        let ((above, above_rows, ofs), (below, below_rows, tos)) = (side(of)?, side(to)?);
        let ofs = self.cache.plant().image(&tos, ofs, within, |to, ratio| to * ratio);
        let ofs = grouped(&above, &above_rows, ofs, by);
        let tos = grouped(&below, &below_rows, tos, by);
        ratios(&format!("ratio of {}", in_words(y)), &ofs, &tos, within)
    }

    fn falls(&self, y: &str, x: &str, by: Option<&str>, filter: &Filter) -> Result<TestResult, CompareError> {
        let (results, rows) = self.select(None, filter)?;
        let measured = self.cache.values(&results, &rows, &parse(y)?)?;
        let steps = self.cache.values(&results, &rows, &parse(x)?)?;
        let measured = match self.cache.plant() {
            Plant::Nothing => measured,
            Plant::Wrong => steps.clone(),
            Plant::Right => steps.iter().map(|step| -step).collect(),
        };
        let mut groups = grouped(&results, &rows, steps.into_iter().zip(measured).collect(), by);
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

/// A test that some conditions hold in a run, or in none, in words.
fn in_some_run(result: TestResult, y: &str, within: [f64; 2]) -> TestResult {
    let words = match within {
        [1.0, 1.0] => ["in some run", "so in some run", "so in no run"],
        [0.0, 0.0] => ["in no run", "so in no run", "so in some run"],
        _ => return result,
    };
    match conditions(y) {
        None => result,
        Some(conditions) => {
            let measured = DisplayValue::text(if result.holds == Some(true) { words[1] } else { words[2] });
            TestResult { condition: format!("{}: {conditions}", words[0]), measured, ..result }
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
    use super::plant::FAR;
    let condition = match (from, to) {
        _ if from == to => format!("{what} = {}", number(from)),
        _ if from <= -FAR => format!("{what} ≤ {}", number(to)),
        _ if to >= FAR => format!("{what} ≥ {}", number(from)),
        _ => format!("{what}: {} to {}", number(from), number(to)),
    };
    TestResult { holds: Some(from - TOLERANCE <= value && value <= to + TOLERANCE), measured, condition }
}
