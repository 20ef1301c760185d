//! Formulas drawn over measured lines.
//!
//! A formula of the horizontal column alone is a smooth curve. One that reads other columns is worked out row by row;
//! it becomes one line if all series agree on its values, and one line for each series if they do not.

use super::build::Drawn;
use super::chart::{Curve, GREATEST, Panel, Scale};
use super::error::PlotError;
use super::measure::Measure;
use super::spec::{Overlay, PlotSpec};
use crate::stats::Summary;
use crate::table::{Table, Values};

/// Points of a smooth curve.
const STEPS: usize = 120;

/// Adds the formulas to panels. The rows are in the order of panel, series and x.
pub(super) fn add(
    panels: &mut [Panel],
    table: &Table,
    spec: &PlotSpec,
    (x_scale, x_values): (&Scale, &Values),
    y_scale: &Scale,
    drawn: &[Drawn],
) -> Result<(), PlotError> {
    for (at, overlay) in spec.formulas.iter().enumerate() {
        let part = format!("formula \"{}\"", overlay.label);
        let measure = Measure::new(table, &part, &overlay.y)?;
        let smooth = !matches!(x_scale, Scale::Words(_)) && measure.reads().all(|name| name == spec.x);
        if smooth {
            let whole = matches!(x_values, Values::Integers(_));
            let xs = along(x_scale, drawn, whole);
            let points: Vec<(f64, f64)> = xs.into_iter().filter_map(|x| Some((x, measure.at(x)?))).collect();
            let points: Vec<_> = points.into_iter().filter(|(_, y)| y_scale.takes(*y)).collect();
            if !points.is_empty() {
                let curve = Curve { overlay: at, series: None, points };
                panels.iter_mut().for_each(|panel| panel.curves.push(curve.clone()));
            }
        } else {
            by_row(panels, at, &measure, y_scale, drawn);
        }
        if panels.iter().all(|panel| panel.curves.iter().all(|curve| curve.overlay != at)) {
            return Err(no_value(part, overlay, &measure, drawn));
        }
    }
    Ok(())
}

fn no_value(part: String, overlay: &Overlay, measure: &Measure<'_>, drawn: &[Drawn]) -> PlotError {
    let error = drawn.first().and_then(|drawn| measure.of_row(drawn.row).err());
    PlotError::NoValue { part, text: overlay.y.clone(), error }
}

/// Places for a smooth curve: evenly spaced on the scale, from the first to the last row; whole numbers if those are.
fn along(scale: &Scale, drawn: &[Drawn], whole: bool) -> Vec<f64> {
    let least = drawn.iter().map(|drawn| drawn.x).fold(GREATEST, f64::min);
    let most = drawn.iter().map(|drawn| drawn.x).fold(-GREATEST, f64::max);
    let step = |at: usize| {
        let part = at as f64 / STEPS as f64;
        if scale.is_log() { least * (most / least).powf(part) } else { least + (most - least) * part }
    };
    let mut places: Vec<f64> = (1..STEPS).map(step).map(|x| if whole { x.round() } else { x }).collect();
    // Where something is measured, the formula is told exactly.
    places.extend(drawn.iter().map(|drawn| drawn.x));
    places.retain(|x| (least..=most).contains(x));
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

fn by_row(panels: &mut [Panel], overlay: usize, measure: &Measure<'_>, y_scale: &Scale, drawn: &[Drawn]) {
    for rows in drawn.chunk_by(|a, b| a.panel == b.panel) {
        let lines: Vec<Curve> = rows
            .chunk_by(|a, b| a.series == b.series)
            .map(|rows| Curve { overlay, series: Some(rows[0].series), points: means(rows, measure, y_scale) })
            .filter(|curve| !curve.points.is_empty())
            .collect();
        let curves = &mut panels[rows[0].panel].curves;
        match common(&lines) {
            Some(points) => curves.push(Curve { overlay, series: None, points }),
            None => curves.extend(lines),
        }
    }
}

fn means(rows: &[Drawn], measure: &Measure<'_>, y_scale: &Scale) -> Vec<(f64, f64)> {
    let of_place = |same: &[Drawn]| {
        let values = same.iter().filter_map(|drawn| measure.of_row(drawn.row).ok()).filter(|y| y_scale.takes(*y));
        Some((same[0].x, Summary::of(values)?.mean))
    };
    rows.chunk_by(|a, b| a.x == b.x).filter_map(of_place).collect()
}

/// The points of all lines together, if no two of them disagree.
fn common(lines: &[Curve]) -> Option<Vec<(f64, f64)>> {
    let mut points: Vec<(f64, f64)> = lines.iter().flat_map(|line| line.points.iter().copied()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let agree = points.windows(2).all(|pair| {
        let ((x, y), (next_x, next_y)) = (pair[0], pair[1]);
        x != next_x || (y - next_y).abs() <= 1e-9 * y.abs().max(next_y.abs())
    });
    points.dedup_by_key(|(x, _)| *x);
    (agree && !points.is_empty()).then_some(points)
}
