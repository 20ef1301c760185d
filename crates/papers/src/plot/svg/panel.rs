//! One panel: grid, axes, bars or lines with their confidence bands, formulas.

use hustings_text::svg::{Element, Svg};

use super::elements::{self, Anchor, label, polyline, rectangle, rotated, text};
use super::layout::{Layout, TICK};
use super::style::{self, AXIS, GRID, INK};
use crate::plot::chart::{Chart, Curve, Line, Panel, Point};

/// A line with more points has no markers.
const MAX_MARKERS: usize = 60;

/// Markers have no tooltips if a chart has more of them.
const MAX_TOOLTIPS: usize = 600;

/// The part of a category's width that its bars take.
const BARS: f64 = 0.76;

/// A panel and its position.
pub(super) struct Frame<'a> {
    pub(super) chart: &'a Chart,
    pub(super) layout: &'a Layout,
    pub(super) key: &'a str,
    /// The upper left corner.
    pub(super) corner: (f64, f64),
    /// Whether it has labels at the left and below.
    pub(super) labelled: (bool, bool),
}

impl Frame<'_> {
    fn x(&self, x: f64) -> f64 {
        self.corner.0 + self.layout.x_span.place(x) * self.layout.panel.0
    }

    fn y(&self, y: f64) -> f64 {
        self.corner.1 + (1.0 - self.layout.y_span.place(y)) * self.layout.panel.1
    }

    fn bottom(&self) -> f64 {
        self.corner.1 + self.layout.panel.1
    }

    fn right(&self) -> f64 {
        self.corner.0 + self.layout.panel.0
    }

    pub(super) fn draw(&self, picture: &mut Svg, panel: &Panel) {
        self.grid(picture);
        if !panel.title.is_empty() {
            let middle = (self.corner.0 + self.layout.panel.0 / 2.0, self.corner.1 - 6.0);
            picture.add(&text(middle, Anchor::Middle, 11.5).text(&panel.title));
        }
        if self.chart.has_bars() {
            panel.lines.iter().for_each(|line| self.bars(picture, line));
        } else {
            panel.lines.iter().for_each(|line| self.band(picture, line));
        }
        if !self.chart.has_bars() {
            panel.lines.iter().for_each(|line| self.line(picture, line));
        }
        // Formulas are drawn over lines, so that both are visible where they agree, but below markers.
        panel.curves.iter().for_each(|curve| self.curve(picture, curve));
        if !self.chart.has_bars() {
            panel.lines.iter().for_each(|line| self.markers(picture, line));
        }
        self.axes(picture);
    }

    fn grid(&self, picture: &mut Svg) {
        let grid = |from, to| elements::line(from, to).attribute("stroke", GRID).attribute("stroke-width", 1);
        for (at, _) in &self.layout.y_ticks.major {
            picture.add(&grid((self.corner.0, self.y(*at)), (self.right(), self.y(*at))));
        }
        if !self.chart.has_bars() {
            for (at, _) in &self.layout.x_ticks.major {
                picture.add(&grid((self.x(*at), self.corner.1), (self.x(*at), self.bottom())));
            }
        }
    }

    fn axes(&self, picture: &mut Svg) {
        let (left, bottom) = (self.corner.0, self.bottom());
        let stroked =
            |line: Element| line.attribute("fill", "none").attribute("stroke", AXIS).attribute("stroke-width", 1);
        let tick = |from, to| stroked(elements::line(from, to));
        picture.add(&stroked(polyline(&[(left, self.corner.1), (left, bottom), (self.right(), bottom)])));
        for (at, tick_label) in &self.layout.y_ticks.major {
            let y = self.y(*at);
            picture.add(&tick((left - 4.0, y), (left, y)));
            if self.labelled.0 {
                picture.add(&label((left - 7.0, y + TICK * 0.36), Anchor::End, TICK, tick_label));
            }
        }
        for at in &self.layout.y_ticks.minor {
            picture.add(&tick((left - 2.5, self.y(*at)), (left, self.y(*at))));
        }
        if self.chart.has_bars() {
            return self.categories(picture);
        }
        for (at, tick_label) in &self.layout.x_ticks.major {
            picture.add(&tick((self.x(*at), bottom), (self.x(*at), bottom + 4.0)));
            if self.labelled.1 {
                picture.add(&label((self.x(*at), bottom + 7.0 + TICK), Anchor::Middle, TICK, tick_label));
            }
        }
        for at in &self.layout.x_ticks.minor {
            picture.add(&tick((self.x(*at), bottom), (self.x(*at), bottom + 2.5)));
        }
    }

    fn categories(&self, picture: &mut Svg) {
        if !self.labelled.1 {
            return;
        }
        for (at, category) in self.layout.categories.names.iter().enumerate() {
            let x = self.x(at as f64);
            picture.add(&if self.layout.categories.slanted {
                let place = (x + 3.0, self.bottom() + 12.0);
                rotated(text(place, Anchor::End, TICK), -35, place).text(category)
            } else {
                text((x, self.bottom() + 6.0 + TICK), Anchor::Middle, TICK).text(category)
            });
        }
    }

    /// The left edge and the width of a series' bar in a category.
    fn bar_place(&self, series: usize, category: f64) -> (f64, f64) {
        let room = self.layout.panel.0 / self.layout.categories.names.len().max(1) as f64;
        let width = (room * BARS / self.chart.series.len() as f64).min(60.0);
        let all = width * self.chart.series.len() as f64;
        (self.x(category) - all / 2.0 + width * series as f64, width)
    }

    fn bars(&self, picture: &mut Svg, line: &Line) {
        let zero = self.y(if self.chart.y.scale.is_log() { self.layout.y_span.low() } else { 0.0 });
        let whisker = |from, to| elements::line(from, to).attribute("stroke", INK).attribute("stroke-width", 1.2);
        for point in &line.points {
            let (left, width) = self.bar_place(line.series, point.x);
            let (gap, y) = (if width > 6.0 { 1.0 } else { 0.0 }, self.y(point.y));
            let size = (width - 2.0 * gap, (zero - y).abs());
            picture.open(&Element::new("g"));
            picture.add(&Element::new("title").text(&self.tooltip(line.series, point)));
            picture.add(&style::bar(rectangle((left + gap, y.min(zero)), size), line.series, self.key));
            if point.high > point.low {
                let (middle, low, high) = (left + width / 2.0, self.y(point.low), self.y(point.high));
                let half = (width * 0.25).min(5.0);
                picture.add(&whisker((middle, low), (middle, high)));
                picture.add(&whisker((middle - half, low), (middle + half, low)));
                picture.add(&whisker((middle - half, high), (middle + half, high)));
            }
            picture.close("g");
        }
    }

    fn band(&self, picture: &mut Svg, line: &Line) {
        if line.points.iter().all(|point| point.high <= point.low) {
            return;
        }
        let colour = style::colour(line.series);
        if let [point] = &line.points[..] {
            let x = self.x(point.x);
            let whisker = elements::line((x, self.y(point.low)), (x, self.y(point.high))).attribute("stroke", colour);
            return picture.add(&whisker.attribute("stroke-width", 1.4).attribute("stroke-opacity", 0.6));
        }
        let above = line.points.iter().map(|point| (self.x(point.x), self.y(point.high)));
        let below = line.points.iter().rev().map(|point| (self.x(point.x), self.y(point.low)));
        let around: Vec<(f64, f64)> = above.chain(below).collect();
        let band = elements::polygon(&around).attribute("fill", colour).attribute("fill-opacity", 0.18);
        picture.add(&band.attribute("stroke", "none"));
    }

    fn line(&self, picture: &mut Svg, line: &Line) {
        let places: Vec<(f64, f64)> = line.points.iter().map(|point| (self.x(point.x), self.y(point.y))).collect();
        if places.len() > 1 {
            picture.add(&style::line(polyline(&places), line.series));
        }
    }

    fn markers(&self, picture: &mut Svg, line: &Line) {
        if line.points.len() > MAX_MARKERS {
            return;
        }
        for point in &line.points {
            let place = (self.x(point.x), self.y(point.y));
            let marker = style::marker(line.series, place);
            let has_tooltip = self.layout.markers <= MAX_TOOLTIPS;
            picture.add(&if has_tooltip { marker.title(&self.tooltip(line.series, point)) } else { marker });
        }
    }

    /// The tooltip of a point.
    fn tooltip(&self, series: usize, point: &Point) -> String {
        let name = match self.chart.series.get(series).map(String::as_str) {
            None | Some("") => String::new(),
            Some(name) => format!("{name}, "),
        };
        let x = self.layout.categories.names.get(point.x as usize).filter(|_| self.chart.has_bars());
        let x = x.cloned().unwrap_or_else(|| significant(point.x));
        let mut text = format!("{name}{x}: {}", significant(point.y));
        if point.high > point.low {
            text += &format!(" ({} to {})", significant(point.low), significant(point.high));
        }
        if point.count > 1 {
            text += &format!(", {} runs", point.count);
        }
        text
    }

    fn curve(&self, picture: &mut Svg, curve: &Curve) {
        if self.chart.has_bars() {
            return self.levels(picture, curve);
        }
        let styled = |line| style::curve(line, curve.overlay, curve.series);
        let places: Vec<(f64, f64)> = curve.points.iter().map(|(x, y)| (self.x(*x), self.y(*y))).collect();
        match &places[..] {
            [(x, y)] => picture.add(&styled(elements::line((x - 12.0, *y), (x + 12.0, *y)))),
            places => picture.add(&styled(polyline(places))),
        }
    }
}

impl Frame<'_> {
    /// A formula over bars: a level at each bar, with a light edge so that it is visible on any hatch.
    fn levels(&self, picture: &mut Svg, curve: &Curve) {
        for (category, y) in &curve.points {
            let (first, width) = self.bar_place(curve.series.unwrap_or(0), *category);
            let count = if curve.series.is_some() { 1 } else { self.chart.series.len() };
            let (from, to) = ((first, self.y(*y)), (first + width * count as f64, self.y(*y)));
            let edge = elements::line(from, to).attribute("stroke", "#ffffff").attribute("stroke-width", 4);
            picture.add(&edge.attribute("stroke-opacity", 0.85));
            picture.add(&style::curve(elements::line(from, to), curve.overlay, None));
        }
    }
}

/// A number with five significant digits.
fn significant(number: f64) -> String {
    if number == number.trunc() && number.abs() < 1e15 {
        return format!("{number}");
    }
    if !(1e-4..1e15).contains(&number.abs()) {
        return format!("{number:.4e}");
    }
    let decimals = (4.0 - number.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{number:.decimals$}")
}
