//! Formulas over measured values.
//!
//! A formula that reads only the horizontal column is a smooth curve. A formula that reads other columns is evaluated
//! row by row. It becomes one curve if all series agree on its values, otherwise a curve for each series.

use super::build::PlottedRow;
use super::chart::{Curve, MAX_MAGNITUDE, Panel, Scale};
use super::error::PlotError;
use super::measure::Measure;
use super::spec::{Overlay, PlotSpec};
use crate::stats::Summary;
use crate::table::{Table, Values};

/// The number of points of a smooth curve.
const STEPS: usize = 120;

/// Adds the formulas to the panels. The rows are sorted by panel, series and x.
pub(super) fn add(
    panels: &mut [Panel],
    table: &Table,
    spec: &PlotSpec,
    (x_scale, x_values): (&Scale, &Values),
    y_scale: &Scale,
    drawn: &[PlottedRow],
) -> Result<(), PlotError> {
    for (at, overlay) in spec.formulas.iter().enumerate() {
        let part = format!("formula \"{}\"", overlay.label);
        let measure = Measure::new(table, &part, &overlay.y)?;
        let smooth = !matches!(x_scale, Scale::Categories(_)) && measure.reads().all(|name| name == spec.x);
        if smooth {
            let whole = matches!(x_values, Values::Integers(_));
            let xs = along(x_scale, drawn, whole);
            let points: Vec<(f64, f64)> = xs.into_iter().filter_map(|x| Some((x, measure.at(x)?))).collect();
            let points: Vec<_> = points.into_iter().filter(|(_, y)| y_scale.can_show(*y)).collect();
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

fn no_value(part: String, overlay: &Overlay, measure: &Measure<'_>, drawn: &[PlottedRow]) -> PlotError {
    let error = drawn.first().and_then(|drawn| measure.of_row(drawn.row).err());
    PlotError::NoValue { part, text: overlay.y.clone(), error }
}

/// The x values of a smooth curve, evenly spaced on the scale between the first and the last row; integers if the rows
/// have integers.
fn along(scale: &Scale, drawn: &[PlottedRow], whole: bool) -> Vec<f64> {
    let min = drawn.iter().map(|drawn| drawn.x).fold(MAX_MAGNITUDE, f64::min);
    let max = drawn.iter().map(|drawn| drawn.x).fold(-MAX_MAGNITUDE, f64::max);
    let step = |at: usize| {
        let part = at as f64 / STEPS as f64;
        if scale.is_log() { min * (max / min).powf(part) } else { min + (max - min) * part }
    };
    let mut places: Vec<f64> = (1..STEPS).map(step).map(|x| if whole { x.round() } else { x }).collect();
    // The formula is exact at measured points.
    places.extend(drawn.iter().map(|drawn| drawn.x));
    places.retain(|x| (min..=max).contains(x));
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

fn by_row(panels: &mut [Panel], overlay: usize, measure: &Measure<'_>, y_scale: &Scale, drawn: &[PlottedRow]) {
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

fn means(rows: &[PlottedRow], measure: &Measure<'_>, y_scale: &Scale) -> Vec<(f64, f64)> {
    let of_place = |same: &[PlottedRow]| {
        let values = same.iter().filter_map(|drawn| measure.of_row(drawn.row).ok()).filter(|y| y_scale.can_show(*y));
        Some((same[0].x, Summary::of(values)?.mean))
    };
    rows.chunk_by(|a, b| a.x == b.x).filter_map(of_place).collect()
}

/// The points of all curves, if no two of them disagree.
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
