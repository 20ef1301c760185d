//! Claims in words, each turned into a measured yes or no.

use std::collections::BTreeMap;

use super::number::pretty;
use super::rows::{parse, select, values};
use super::{Because, Finding, Laboratory, Results, Shown, StudyError, Verdict, number};
use crate::stats::{Estimate, Summary, factor_fit, linear_fit, paired_ratio};
use crate::texts::model::Where;
use crate::texts::{Claim, Item, Side, Test};

pub(super) fn findings(item: &Item, laboratory: &Laboratory) -> Result<Vec<Finding>, StudyError> {
    let finding = |claim: &Claim| {
        let name = claim.experiment.as_deref().or(item.experiment.as_deref());
        finding(claim, name, laboratory).map_err(|error| StudyError {
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

/// An answer, with what it rests on.
struct Answered {
    holds: bool,
    measured: Shown,
    /// What it had to be.
    wanted: String,
}

fn finding(claim: &Claim, name: Option<&str>, laboratory: &Laboratory) -> Result<Finding, StudyError> {
    let answered = answer(&claim.test, name, laboratory)?;
    // A reason for a no that is a yes explains nothing: it is as open as a no without one.
    let (verdict, reasons) = match (answered.holds, &claim.because) {
        (true, None) => (Verdict::Yes, Vec::new()),
        (false, Some(says)) => (Verdict::No, vec![because(says)]),
        (false, None) => (Verdict::Open, vec![because("the claim does not hold, and no reason is given")]),
        (true, Some(_)) => (Verdict::Open, vec![because("the claim holds, and yet a reason against it is given")]),
    };
    Ok(Finding {
        label: claim.says.clone(),
        published: Some(Shown::words(answered.wanted)),
        formula: None,
        measured: Some(answered.measured),
        verdict,
        reasons,
    })
}

fn because(says: &str) -> Because {
    Because { kind: None, says: says.to_string(), amount: None }
}

fn answer(test: &Test, name: Option<&str>, laboratory: &Laboratory) -> Result<Answered, StudyError> {
    let results = |own: Option<&str>| match own.or(name) {
        Some(name) => laboratory.results(name),
        None => Err(StudyError::new("test", "no experiment is named")),
    };
    let measured = |y: &str, narrowed: &Where| {
        let results = results(None)?;
        let rows = select(&results, &[narrowed])?;
        values(&results.table, &rows, &parse(y)?)
    };
    match test {
        Test::Mean { y, narrowed, within } => {
            let summary = Summary::of(measured(y, narrowed)?);
            estimated(
                "the mean",
                summary.map(|summary| Estimate { value: summary.mean, margin: summary.margin }),
                *within,
            )
        }
        Test::Max { y, narrowed, within } => {
            let most = measured(y, narrowed)?.into_iter().fold(f64::NEG_INFINITY, f64::max);
            Ok(bounded(&format!("greatest {}", pretty(y)), Shown::value(most), most, *within))
        }
        Test::Min { y, narrowed, within } => {
            let least = measured(y, narrowed)?.into_iter().fold(f64::INFINITY, f64::min);
            Ok(bounded(&format!("least {}", pretty(y)), Shown::value(least), least, *within))
        }
        Test::Every { y, narrowed, within } => {
            let all = measured(y, narrowed)?;
            let ends = all
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(*value), most.max(*value)));
            Ok(ranging(&format!("every {}", pretty(y)), ends, *within))
        }
        Test::Ratio { y, by, of, to, within } => {
            let side = |side: &Side| {
                let results = results(side.experiment.as_deref())?;
                let rows = select(&results, &[&side.narrowed])?;
                let measured = values(&results.table, &rows, &parse(side.y.as_ref().unwrap_or(y))?)?;
                Ok::<_, StudyError>(grouped(&results, &rows, measured, by.as_deref()))
            };
            ratios(&format!("ratio of {}", pretty(y)), &side(of)?, &side(to)?, *within)
        }
        Test::Power { y, x, narrowed, within } => {
            let pairs = measured(x, narrowed)?.into_iter().zip(measured(y, narrowed)?);
            let logs: Vec<(f64, f64)> = pairs.map(|(x, y)| (x.ln(), y.ln())).collect();
            estimated(
                &format!("{} grows with {} to the power", pretty(y), pretty(x)),
                linear_fit(&logs).map(|line| line.slope),
                *within,
            )
        }
        Test::Falls { y, x, by, narrowed } => falls(&*results(None)?, y, x, by.as_deref(), narrowed),
        Test::Fit { y, f, narrowed, within } => {
            let pairs: Vec<(f64, f64)> = measured(f, narrowed)?.into_iter().zip(measured(y, narrowed)?).collect();
            estimated(
                &format!("c in {} = c·{}", pretty(y), pretty(f)),
                factor_fit(&pairs).map(|fit| fit.factor),
                *within,
            )
        }
    }
}

/// What was measured, by the value that a column has in their rows; all together without a column.
fn grouped<T>(results: &Results, rows: &[usize], measured: Vec<T>, by: Option<&str>) -> BTreeMap<String, Vec<T>> {
    let mut groups: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for (row, value) in rows.iter().zip(measured) {
        let group = by.map_or_else(String::new, |column| results.table.cell(*row, column).to_string());
        groups.entry(group).or_default().push(value);
    }
    groups
}

/// A ratio for each group; of several the least and the greatest must be right.
fn ratios(
    what: &str,
    of: &BTreeMap<String, Vec<f64>>,
    to: &BTreeMap<String, Vec<f64>>,
    within: [f64; 2],
) -> Result<Answered, StudyError> {
    let mut found = Vec::new();
    for (group, above) in of {
        let below = to.get(group).map_or(&[][..], Vec::as_slice);
        if above.len() != below.len() || of.len() != to.len() {
            let problem = format!("{} runs against {} where it is `{group}`", above.len(), below.len());
            return Err(StudyError::new(what, problem));
        }
        let pairs: Vec<(f64, f64)> = above.iter().copied().zip(below.iter().copied()).collect();
        found.push(paired_ratio(&pairs));
    }
    if let [one] = found[..] {
        return estimated(what, one, within);
    }
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for ratio in found {
        let ratio = ratio.ok_or_else(|| StudyError::new(what, "there is nothing to work it out from"))?;
        ends = (ends.0.min(ratio.value), ends.1.max(ratio.value));
    }
    Ok(ranging(&format!("every {what}"), ends, within))
}

/// The least and the greatest of many, both of which must be right.
fn ranging(what: &str, (least, most): (f64, f64), within: [f64; 2]) -> Answered {
    let (low, high) =
        (bounded(what, Shown::value(least), least, within), bounded(what, Shown::value(most), most, within));
    let measured = if least == most {
        low.measured
    } else {
        Shown::words(format!("{} to {}", low.measured.text, high.measured.text))
    };
    Answered { holds: low.holds && high.holds, measured, wanted: low.wanted }
}

fn estimated(what: &str, estimate: Option<Estimate>, within: [f64; 2]) -> Result<Answered, StudyError> {
    let estimate = estimate.ok_or_else(|| StudyError::new(what, "there is nothing to work it out from"))?;
    Ok(bounded(what, Shown::mean(estimate.value, estimate.margin.map(|_| estimate.interval())), estimate.value, within))
}

fn bounded(what: &str, measured: Shown, value: f64, [from, to]: [f64; 2]) -> Answered {
    // Such a bound is none.
    const FAR: f64 = 1e8;
    let wanted = match (from, to) {
        _ if from == to => format!("{what} = {}", number(from)),
        _ if from <= -FAR => format!("{what} ≤ {}", number(to)),
        _ if to >= FAR => format!("{what} ≥ {}", number(from)),
        _ => format!("{what}: {} to {}", number(from), number(to)),
    };
    Answered { holds: from - 1e-9 <= value && value <= to + 1e-9, measured, wanted }
}

fn falls(results: &Results, y: &str, x: &str, by: Option<&str>, narrowed: &Where) -> Result<Answered, StudyError> {
    let rows = select(results, &[narrowed])?;
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
    Ok(Answered {
        holds: falling == pairs && pairs > 0,
        measured: Shown::words(format!("falls at {falling} of {pairs} steps")),
        wanted: format!("{} falls at every step of {}", pretty(y), pretty(x)),
    })
}
