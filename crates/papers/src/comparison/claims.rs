//! Tests the claims of a paper against measured results.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::answer::{Answer, is_inside};
use super::numbers::is_condition;
use super::plant::{FAR, Plant};
use super::result::{TestResult, bounded, estimated, in_every_run, in_some_run, ranging};
use super::rows::{Scope, parse, select};
use super::sample::sample;
use super::sensitivity::{could_be, some};
use super::words::in_words;
use super::{AppliedReason, CompareError, DisplayValue, Finding, ResultCache, Results, Verdict, units};
use crate::formula::Formula;
use crate::published::{Claim, Filter, Item, Side, Test};
use crate::stats::{Estimate, Summary, difference, factor_fit, linear_fit, paired_ratio, probability_interval};

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

fn finding(claim: &Claim, name: Option<&str>, cache: &ResultCache) -> Result<Finding, CompareError> {
    let tester = Tester { cache, name, used: RefCell::default() };
    let tested = tester.run(&claim.test)?;
    // A failed claim needs a reason, and a reason for a claim that holds is out of date.
    let (verdict, reasons) = match (tested.answer.holds(), &claim.because) {
        (true, None) => (Verdict::Yes, Vec::new()),
        (false, Some(says)) => (Verdict::No, vec![because(says)]),
        (false, None) => (Verdict::Open, vec![because("the claim does not hold, and no reason is given")]),
        (true, Some(_)) => (Verdict::Open, vec![because("the claim holds, but a reason against it is given")]),
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
        chance: tested.answer.chance(),
        reasons,
        choice: claim.choice.clone(),
        quote: claim.quote.clone(),
        is_printed: true,
        sample: sample(&parts),
        command: match &used[..] {
            [(results, rows)] => results.command(rows),
            _ => None,
        },
    })
}

/// The bounds of a test.
pub(super) fn bounds(test: &Test) -> Option<[f64; 2]> {
    match test {
        Test::Mean { within, .. }
        | Test::Max { within, .. }
        | Test::Min { within, .. }
        | Test::Every { within, .. }
        | Test::Ratio { within, .. }
        | Test::Power { within, .. }
        | Test::Fit { within, .. } => Some(*within),
        Test::Falls { .. } => None,
    }
}

fn because(says: &str) -> AppliedReason {
    AppliedReason { kind: None, says: says.to_string(), amount: None }
}

/// The results of an experiment, and some of its rows.
type Selection = (Rc<Results>, Vec<usize>);

/// Measured values, and the runs that they are from.
struct Sample {
    results: Rc<Results>,
    rows: Vec<usize>,
    values: Vec<f64>,
}

/// Values with their rows, by the values of columns.
type Groups<T> = BTreeMap<Vec<String>, Vec<(usize, T)>>;

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

    /// Refuses a quantity for which no measurement in these rows would change this answer.
    fn can_change(
        &self,
        results: &Results,
        rows: &[usize],
        y: &Formula,
        [from, to]: [f64; 2],
    ) -> Result<(), CompareError> {
        let open = |bound: f64| if bound.abs() >= FAR { bound * f64::INFINITY } else { bound };
        let (from, to) = (open(from), open(to));
        let answer = |value: f64| is_inside(value, [from, to]);
        // What is not finite is not tried.
        let targets = [from, to, from / 2.0 + to / 2.0];
        let is_traced = y.names().iter().any(|name| name.starts_with("trace."));
        for row in some(rows) {
            let facts = if is_traced { Some(self.cache.facts(results, row)?) } else { None };
            let scope = Scope { table: &results.table, row, facts: facts.as_ref(), extra: &[] };
            let now = answer(scope.eval(y)?);
            if could_be(y, &scope, &targets, &|other| answer(other) != now) {
                return Ok(());
            }
        }
        Err(CompareError::new(format!("`{}`", y.text()), "no measurement could change the answer"))
    }

    /// The measured values, or planted ones.
    fn within(&self, y: &str, filter: &Filter, within: [f64; 2]) -> Result<Sample, CompareError> {
        let Sample { results, rows, values } = self.measured(y, filter)?;
        self.can_change(&results, &rows, &parse(y)?, within)?;
        Ok(Sample { values: self.cache.plant().values(values, within), results, rows })
    }

    fn measured(&self, y: &str, filter: &Filter) -> Result<Sample, CompareError> {
        let (results, rows) = self.select(None, filter)?;
        let values = self.cache.values(&results, &rows, &parse(y)?)?;
        Ok(Sample { results, rows, values })
    }

    fn run(&self, test: &Test) -> Result<TestResult, CompareError> {
        match test {
            Test::Mean { y, filter, within } => mean(y, &self.within(y, filter, *within)?, *within),
            Test::Max { y, filter, within } => {
                let max = self.within(y, filter, *within)?.values.into_iter().fold(f64::NEG_INFINITY, f64::max);
                let result = bounded(&format!("at most, {}", in_words(y)), DisplayValue::value(max), max, *within);
                Ok(in_some_run(result, y, *within))
            }
            Test::Min { y, filter, within } => {
                let min = self.within(y, filter, *within)?.values.into_iter().fold(f64::INFINITY, f64::min);
                let result = bounded(&format!("at least, {}", in_words(y)), DisplayValue::value(min), min, *within);
                Ok(in_every_run(result, y, *within))
            }
            Test::Every { y, filter, within } => {
                let all = self.within(y, filter, *within)?.values;
                let ends = all
                    .iter()
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| (min.min(*value), max.max(*value)));
                let answers = [ends.0, ends.1].map(|end| Answer::Sure(is_inside(end, *within)));
                let what = format!("in every run, {}", in_words(y));
                Ok(in_every_run(ranging(&what, ends, Answer::all(&answers), *within), y, *within))
            }
            Test::Ratio { y, by, of, to, within } => self.ratio(y, by.as_deref(), of, to, *within),
            Test::Power { y, x, filter, within } => {
                let power = |x: f64, power: f64| x.powf(power);
                let points = self.points(x, y, filter, *within, &power, &f64::ln)?;
                let what = format!("power of {} with which {} grows", in_words(x), in_words(y));
                estimated(&what, linear_fit(&points).map(|line| line.slope), *within)
            }
            Test::Falls { y, x, by, filter } => self.falls(y, x, by.as_deref(), filter),
            Test::Fit { y, f, filter, within } => {
                let points = self.points(f, y, filter, *within, &|f, c| f * c, &|value| value)?;
                let what = format!("c in {} = c·{}", in_words(y), in_words(f));
                estimated(&what, factor_fit(&points).map(|fit| fit.factor), *within)
            }
        }
    }

    /// A point (x, y), on a scale, for each unit; or the image of a planted number.
    fn points(
        &self,
        x: &str,
        y: &str,
        filter: &Filter,
        within: [f64; 2],
        image: &dyn Fn(f64, f64) -> f64,
        scale: &dyn Fn(f64) -> f64,
    ) -> Result<Vec<(f64, f64)>, CompareError> {
        let (xs, Sample { results, rows, values: ys }) = (self.measured(x, filter)?.values, self.measured(y, filter)?);
        let ys = self.cache.plant().image(&xs, ys, within, image);
        let scaled = |values: Vec<f64>| {
            let values: Vec<f64> = values.into_iter().map(scale).collect();
            units::means(&results.table, &rows, &values)
        };
        Ok(scaled(xs).into_iter().zip(scaled(ys)).collect())
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
        if above.name == below.name && above_rows == below_rows {
            let own = |side: &Side| side.y.clone().unwrap_or_else(|| y.to_string());
            let whole = parse(&format!("({}) / ({})", own(of), own(to)))?;
            self.can_change(&above, &above_rows, &whole, within)?;
        }
        let ofs = self.cache.plant().image(&tos, ofs, within, |to, ratio| to * ratio);
        let columns = columns(by, &above, &above_rows, &below, &below_rows);
        let ofs = grouped(&above, &above_rows, ofs, &columns);
        let tos = grouped(&below, &below_rows, tos, &columns);
        ratios(&format!("ratio of {}", in_words(y)), (&above, ofs), tos, within)
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
        let columns: Vec<&str> = by.into_iter().collect();
        let groups = grouped(&results, &rows, steps.into_iter().zip(measured).collect(), &columns);
        let (mut falling, mut answers) = (0, Vec::new());
        for mut runs in groups.into_values() {
            runs.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
            let samples: Vec<Vec<f64>> = runs
                .chunk_by(|a, b| a.1.0 == b.1.0)
                .map(|same| {
                    let (rows, values): (Vec<usize>, Vec<f64>) = same.iter().map(|(row, (_, y))| (*row, *y)).unzip();
                    units::means(&results.table, &rows, &values)
                })
                .collect();
            for pair in samples.windows(2) {
                let Some(fall) = difference(&pair[0], &pair[1]) else { continue };
                falling += usize::from(fall.value > 0.0);
                answers.push(Answer::is_greater(&fall, pair.iter().all(|sample| sample.len() > 1)));
            }
        }
        Ok(TestResult {
            answer: Answer::all(&answers),
            measured: DisplayValue::text(format!("falls at {falling} of {} steps", answers.len())),
            condition: format!("{} falls at every step of {}", in_words(y), in_words(x)),
        })
    }
}

/// The columns by whose values a ratio is grouped: by that of the claim, and always by the size, since the mean over
/// small and large networks is that of the large ones.
fn columns<'a>(
    by: Option<&'a str>,
    above: &Results,
    above_rows: &[usize],
    below: &Results,
    below_rows: &[usize],
) -> Vec<&'a str> {
    let sizes = |results: &Results, rows: &[usize]| {
        let size = |row: &usize| results.table.cell(*row, "nodes").to_string();
        rows.iter().map(size).collect::<BTreeSet<String>>().len()
    };
    let has_sizes = sizes(above, above_rows) > 1 && sizes(below, below_rows) > 1;
    by.into_iter().chain(has_sizes.then_some("nodes")).collect()
}

/// Groups measured values, with their rows, by the values of columns in these rows; without columns there is one group.
fn grouped<T>(results: &Results, rows: &[usize], measured: Vec<T>, columns: &[&str]) -> Groups<T> {
    let mut groups = Groups::new();
    for (row, value) in rows.iter().zip(measured) {
        let group = columns.iter().map(|column| results.table.cell(*row, column).to_string()).collect();
        groups.entry(group).or_default().push((*row, value));
    }
    groups
}

/// The mean of a quantity over what was drawn at random.
fn mean(y: &str, sample: &Sample, within: [f64; 2]) -> Result<TestResult, CompareError> {
    let what = format!("the mean of {}", in_words(y));
    let Sample { results, rows, values } = sample;
    let means = units::means(&results.table, rows, values);
    let summary = Summary::of(means.iter().copied()).ok_or_else(|| CompareError::new(&what, "there are no values"))?;
    // The error of a proportion does not follow from its sample: none in twenty is not none.
    let is_proportion =
        is_condition(&results.table, &parse(y)?) && values.iter().all(|value| matches!(value, 0.0 | 1.0));
    if means.len() == values.len() && means.len() > 1 && is_proportion {
        let successes = values.iter().filter(|value| **value == 1.0).count();
        let interval = probability_interval(successes, values.len());
        let result = bounded(&what, DisplayValue::mean(summary.mean, Some(interval)), summary.mean, within);
        return Ok(TestResult { answer: Answer::of_proportion(successes, values.len(), within), ..result });
    }
    let freedom = summary.count.saturating_sub(1);
    estimated(&what, Some(Estimate { value: summary.mean, margin: summary.margin, freedom }), within)
}

/// A ratio for each group. All ratios must be within the bounds.
fn ratios(
    what: &str,
    (results, of): (&Results, Groups<f64>),
    to: Groups<f64>,
    within: [f64; 2],
) -> Result<TestResult, CompareError> {
    let mut found = Vec::new();
    for (group, above) in &of {
        let below = to.get(group).map_or(&[][..], Vec::as_slice);
        if above.len() != below.len() || of.len() != to.len() {
            let problem = format!("{} runs against {} in group `{}`", above.len(), below.len(), group.join(", "));
            return Err(CompareError::new(what, problem));
        }
        let (rows, ofs): (Vec<usize>, Vec<f64>) = above.iter().copied().unzip();
        let tos: Vec<f64> = below.iter().map(|(_, value)| *value).collect();
        let of_units = |values: &[f64]| units::means(&results.table, &rows, values);
        let pairs: Vec<(f64, f64)> = of_units(&ofs).into_iter().zip(of_units(&tos)).collect();
        found.push(paired_ratio(&pairs).ok_or_else(|| CompareError::new(what, "there are no values"))?);
    }
    if let [one] = found[..] {
        return estimated(what, Some(one), within);
    }
    let answers: Vec<Answer> = found.iter().map(|ratio| Answer::of(ratio, within)).collect();
    let ends = found
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), ratio| (min.min(ratio.value), max.max(ratio.value)));
    Ok(ranging(&format!("every {what}"), ends, Answer::all(&answers), within))
}
