//! Builds a chart from a table.

use std::collections::BTreeMap;

use super::chart::{
    Axis, Chart, Line, MAX_CATEGORIES, MAX_OVERLAYS, MAX_PANELS, MAX_POINTS, MAX_SERIES, Panel, Point, Scale,
};
use super::error::{PlotError, listed};
use super::levels::{Levels, label};
use super::measure::Measure;
use super::overlay;
use super::spec::{Filter, PlotSpec};
use crate::stats::{Summary, probability_interval};
use crate::table::{Cell, METRICS, Table, Values};

/// A row with its position in the chart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct PlottedRow {
    pub(super) row: usize,
    pub(super) panel: usize,
    pub(super) series: usize,
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Chart {
    /// Builds the chart of a table.
    pub fn from_table(table: &Table, spec: &PlotSpec) -> Result<Chart, PlotError> {
        if table.rows() == 0 {
            return Err(PlotError::Empty);
        }
        let x_values = column(table, "x", &spec.x)?;
        let y = Measure::new(table, "y", &spec.y)?;
        let rows = filtered(table, &spec.filters)?;
        let x_scale = x_scale(spec, x_values, &rows)?;
        let y_scale = if spec.log.y { Scale::Log10 } else { Scale::Linear };

        let facets = Groups::new(table, "facet", spec.facet.as_slice(), &rows)?;
        let series = Groups::new(table, "by", &spec.by, &rows)?;
        let positions = Positions::new(x_values, &x_scale, &rows);
        let mut drawn = Vec::new();
        let (mut no_x, mut no_y) = (0, 0);
        for (at, row) in rows.iter().enumerate() {
            let x = positions.of(at, x_values.cell(*row)).filter(|x| x_scale.can_show(*x));
            let y = y.of_row(*row).ok().filter(|y| y_scale.can_show(*y));
            no_x += usize::from(x.is_none());
            no_y += usize::from(y.is_none());
            if let (Some(x), Some(y)) = (x, y) {
                drawn.push(PlottedRow { row: *row, panel: facets.of_row[at], series: series.of_row[at], x, y });
            }
        }
        if drawn.is_empty() {
            let (x, y) = (spec.x.clone(), spec.y.clone());
            return Err(PlotError::Nothing { rows: rows.len(), x, no_x, y, no_y });
        }
        let facets = facets.kept(&mut drawn, |drawn| &mut drawn.panel);
        let series = series.kept(&mut drawn, |drawn| &mut drawn.series);
        too_many("facet", "panels", facets.len(), MAX_PANELS)?;
        too_many("by", "lines", series.len(), MAX_SERIES)?;
        too_many("formula", "formulas", spec.formulas.len(), MAX_OVERLAYS)?;

        drawn.sort_by(|a, b| (a.panel, a.series).cmp(&(b.panel, b.series)).then(a.x.total_cmp(&b.x)));
        let mut panels: Vec<Panel> = facets.into_iter().map(|title| Panel { title, ..Panel::default() }).collect();
        for points in drawn.chunk_by(|a, b| (a.panel, a.series) == (b.panel, b.series)) {
            let line = Line { series: points[0].series, points: means(points, y.is_condition())? };
            panels[points[0].panel].lines.push(line);
        }
        overlay::add(&mut panels, table, spec, (&x_scale, x_values), &y_scale, &drawn)?;
        let note = note(&panels, matches!(x_scale, Scale::Categories(_)));
        Ok(Chart {
            name: spec.name.clone(),
            title: title(spec),
            x: axis(table, &spec.x, spec.x_label.as_deref(), x_scale),
            y: axis(table, &spec.y, spec.y_label.as_deref(), y_scale),
            series,
            overlays: spec.formulas.iter().map(|formula| formula.label.clone()).collect(),
            panels,
            note,
            rows: drawn.len(),
            left_out: rows.len() - drawn.len(),
        })
    }
}

fn column<'a>(table: &'a Table, part: &str, name: &str) -> Result<&'a Values, PlotError> {
    table.column(name).ok_or_else(|| PlotError::no_column(part, name, table))
}

fn too_many(part: &'static str, what: &'static str, found: usize, max: usize) -> Result<(), PlotError> {
    if found > max { Err(PlotError::TooMany { part, found, what, max }) } else { Ok(()) }
}

/// The rows that pass all filters.
fn filtered(table: &Table, filters: &[Filter]) -> Result<Vec<usize>, PlotError> {
    let mut rows: Vec<usize> = (0..table.rows()).collect();
    for filter in filters {
        let values = column(table, "where", &filter.column)?;
        let passes = |row: &usize| filter.values.iter().any(|expected| is(&values.cell(*row), expected));
        if !(0..table.rows()).any(|row| passes(&row)) {
            let all: Vec<usize> = (0..table.rows()).collect();
            let levels = Levels::new(values, &all);
            let named = |cell: &Cell| if *cell == Cell::Missing { "(nothing)".to_string() } else { cell.to_string() };
            let present: Vec<String> = levels.cells.iter().take(31).map(named).collect();
            return Err(PlotError::NoRow {
                column: filter.column.clone(),
                expected: filter.values.join(" or "),
                present: listed(&present, levels.cells.len()),
            });
        }
        rows.retain(passes);
    }
    if rows.is_empty() { Err(PlotError::NoRows) } else { Ok(rows) }
}

/// Whether a cell has this value, as text or as a number.
fn is(cell: &Cell, expected: &str) -> bool {
    let as_number = |cell: &Cell| match cell {
        Cell::Integer(_) | Cell::Float(_) => cell.number(),
        _ => None,
    };
    cell.to_string() == expected || as_number(cell).is_some_and(|number| expected.parse() == Ok(number))
}

fn x_scale(spec: &PlotSpec, values: &Values, rows: &[usize]) -> Result<Scale, PlotError> {
    if matches!(values, Values::Texts(_) | Values::Bools(_)) {
        if spec.log.x {
            return Err(PlotError::LogOfText { name: spec.x.clone() });
        }
        let cells = Levels::new(values, rows).cells;
        too_many("x", "categories", cells.len(), MAX_CATEGORIES)?;
        let named = |cell: &Cell| if *cell == Cell::Missing { "none".to_string() } else { cell.to_string() };
        return Ok(Scale::Categories(cells.iter().map(named).collect()));
    }
    if !spec.log.x {
        return Ok(Scale::Linear);
    }
    let mut numbers = rows.iter().filter_map(|row| values.cell(*row).number()).filter(|number| *number > 0.0);
    let is_power_of_two = |number: f64| number.is_normal() && number.to_bits() & ((1 << 52) - 1) == 0;
    Ok(if numbers.all(is_power_of_two) { Scale::Log2 } else { Scale::Log10 })
}

/// The positions of rows on the horizontal axis.
struct Positions {
    /// The index of each row's category; `None` if the axis shows numbers.
    categories: Option<Vec<usize>>,
}

impl Positions {
    fn new(values: &Values, scale: &Scale, rows: &[usize]) -> Self {
        Positions { categories: matches!(scale, Scale::Categories(_)).then(|| Levels::new(values, rows).of_row) }
    }

    fn of(&self, at: usize, cell: Cell) -> Option<f64> {
        // Adding 0 turns -0 into 0.
        self.categories
            .as_ref()
            .map_or_else(|| cell.number().map(|number| number + 0.0), |categories| Some(categories[at] as f64))
    }
}

/// Groups rows by the values of some columns.
struct Groups {
    of_row: Vec<usize>,
    labels: Vec<String>,
}

impl Groups {
    fn new(table: &Table, part: &str, names: &[String], rows: &[usize]) -> Result<Self, PlotError> {
        let mut levels = Vec::new();
        for name in names {
            levels.push((name, Levels::new(column(table, part, name)?, rows)));
        }
        let key = |at: usize| levels.iter().map(|(_, levels)| levels.of_row[at]).collect::<Vec<usize>>();
        let mut numbers: BTreeMap<Vec<usize>, usize> = (0..rows.len()).map(|at| (key(at), 0)).collect();
        let mut labels = Vec::new();
        for (at, (key, number)) in numbers.iter_mut().enumerate() {
            *number = at;
            let words = key.iter().zip(&levels).map(|(at, (name, levels))| label(name, &levels.cells[*at]));
            labels.push(words.collect::<Vec<_>>().join(", "));
        }
        Ok(Groups { of_row: (0..rows.len()).map(|at| numbers[&key(at)]).collect(), labels })
    }

    /// The labels of the groups that have plotted rows. Removes the others and renumbers the rest.
    fn kept(self, drawn: &mut [PlottedRow], group: impl Fn(&mut PlottedRow) -> &mut usize) -> Vec<String> {
        let mut used = vec![false; self.labels.len()];
        drawn.iter_mut().for_each(|drawn| used[*group(drawn)] = true);
        let number = |next: &mut usize, used: &bool| Some(std::mem::replace(next, *next + usize::from(*used)));
        let new: Vec<usize> = used.iter().scan(0, number).collect();
        drawn.iter_mut().for_each(|drawn| *group(drawn) = new[*group(drawn)]);
        self.labels.into_iter().zip(used).filter(|(_, used)| *used).map(|(label, _)| label).collect()
    }
}

/// A point for each x. The rows are sorted by x.
fn means(rows: &[PlottedRow], is_condition: bool) -> Result<Vec<Point>, PlotError> {
    let mut points = Vec::new();
    for same in rows.chunk_by(|a, b| a.x == b.x) {
        // Plotted rows have finite values, so there is a summary.
        let Some(summary) = Summary::of(same.iter().map(|drawn| drawn.y)) else { continue };
        let (low, high) = match same.iter().filter(|drawn| drawn.y == 1.0).count() {
            successes if is_condition && same.len() > 1 => probability_interval(successes, same.len()),
            _ => summary.interval(),
        };
        points.push(Point { x: same[0].x, y: summary.mean, low, high, count: summary.count });
    }
    too_many("x", "points on a line", points.len(), MAX_POINTS)?;
    Ok(points)
}

fn title(spec: &PlotSpec) -> String {
    if !spec.title.is_empty() {
        return spec.title.clone();
    }
    let (x, y) = (spec.x_label.as_ref().unwrap_or(&spec.x), spec.y_label.as_ref().unwrap_or(&spec.y));
    format!("{y} over {x}")
}

fn axis(table: &Table, name: &str, label: Option<&str>, scale: Scale) -> Axis {
    let about =
        table.columns().find(|(heading, _)| &*heading.name == name).map(|(heading, _)| heading.about.to_string());
    // Files of other programs have no descriptions.
    let default = || METRICS.iter().find(|(known, ..)| *known == name).map(|(.., about)| (*about).to_string());
    let about = about.filter(|about| !about.is_empty()).or_else(default);
    let label = label.map(str::to_string).or(about).unwrap_or_else(|| name.to_string());
    Axis { label, scale }
}

/// States the number of runs per point and the meaning of bands and whiskers.
fn note(panels: &[Panel], bars: bool) -> String {
    let points = || panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    let min = points().map(|point| point.count).min().unwrap_or(0);
    let max = points().map(|point| point.count).max().unwrap_or(0);
    if max < 2 {
        return String::new();
    }
    let what = if bars { "bar" } else { "point" };
    let runs = if min == max { format!("{max} runs") } else { format!("{min} to {max} runs") };
    let mut note = format!("Each {what} is the mean of {runs}");
    if points().any(|point| point.high > point.low) {
        let around = if bars { "whiskers" } else { "bands" };
        note += &format!("; {around} are 95 % confidence intervals");
    }
    note + "."
}
