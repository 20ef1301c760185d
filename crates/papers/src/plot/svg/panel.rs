//! One panel: grid, axes, bars or lines with their bands, formulas.

use super::canvas::{Anchor, Canvas};
use super::layout::{Layout, TICK};
use super::style::{self, AXIS, GRID, INK};
use crate::plot::chart::{Chart, Curve, Line, Panel, Point};
use crate::plot::text::escaped;

/// Above so many points a line has no markers.
const MAX_MARKERS: usize = 60;

/// Above so many markers in a picture they say nothing when pointed at.
const MAX_SAID: usize = 600;

/// Which part of a word's place its bars take.
const BARS: f64 = 0.76;

/// A panel and its place.
pub(super) struct Frame<'a> {
    pub(super) chart: &'a Chart,
    pub(super) layout: &'a Layout,
    pub(super) key: &'a str,
    /// The upper left corner.
    pub(super) corner: (f64, f64),
    /// Whether numbers stand at its left and below it.
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

    pub(super) fn draw(&self, canvas: &mut Canvas, panel: &Panel) {
        self.grid(canvas);
        if !panel.title.is_empty() {
            let middle = (self.corner.0 + self.layout.panel.0 / 2.0, self.corner.1 - 6.0);
            canvas.words(middle, Anchor::Middle, 11.5, &panel.title, "");
        }
        if self.chart.has_bars() {
            panel.lines.iter().for_each(|line| self.bars(canvas, line));
        } else {
            panel.lines.iter().for_each(|line| self.band(canvas, line));
        }
        if !self.chart.has_bars() {
            panel.lines.iter().for_each(|line| self.line(canvas, line));
        }
        // Formulas lie over lines, so that both are seen where they agree, but not over markers.
        panel.curves.iter().for_each(|curve| self.curve(canvas, curve));
        if !self.chart.has_bars() {
            panel.lines.iter().for_each(|line| self.markers(canvas, line));
        }
        self.axes(canvas);
    }

    fn grid(&self, canvas: &mut Canvas) {
        let stroke = format!(r#"stroke="{GRID}" stroke-width="1""#);
        for (at, _) in &self.layout.y_ticks.major {
            canvas.line((self.corner.0, self.y(*at)), (self.right(), self.y(*at)), &stroke);
        }
        if !self.chart.has_bars() {
            for (at, _) in &self.layout.x_ticks.major {
                canvas.line((self.x(*at), self.corner.1), (self.x(*at), self.bottom()), &stroke);
            }
        }
    }

    fn axes(&self, canvas: &mut Canvas) {
        let (left, bottom) = (self.corner.0, self.bottom());
        let stroke = format!(r#"fill="none" stroke="{AXIS}" stroke-width="1""#);
        canvas.polyline(&[(left, self.corner.1), (left, bottom), (self.right(), bottom)], &stroke);
        for (at, label) in &self.layout.y_ticks.major {
            let y = self.y(*at);
            canvas.line((left - 4.0, y), (left, y), &stroke);
            if self.labelled.0 {
                canvas.label((left - 7.0, y + TICK * 0.36), Anchor::End, TICK, label);
            }
        }
        for at in &self.layout.y_ticks.minor {
            canvas.line((left - 2.5, self.y(*at)), (left, self.y(*at)), &stroke);
        }
        if self.chart.has_bars() {
            return self.words(canvas);
        }
        for (at, label) in &self.layout.x_ticks.major {
            canvas.line((self.x(*at), bottom), (self.x(*at), bottom + 4.0), &stroke);
            if self.labelled.1 {
                canvas.label((self.x(*at), bottom + 7.0 + TICK), Anchor::Middle, TICK, label);
            }
        }
        for at in &self.layout.x_ticks.minor {
            canvas.line((self.x(*at), bottom), (self.x(*at), bottom + 2.5), &stroke);
        }
    }

    fn words(&self, canvas: &mut Canvas) {
        if !self.labelled.1 {
            return;
        }
        for (at, word) in self.layout.words.words.iter().enumerate() {
            let (x, y) = (self.x(at as f64), self.bottom() + 6.0 + TICK);
            if self.layout.words.slanted {
                let (x, y) = (x + 3.0, self.bottom() + 12.0);
                let turn =
                    format!(r#"transform="rotate(-35 {} {})""#, super::canvas::short(x), super::canvas::short(y));
                canvas.words((x, y), Anchor::End, TICK, word, &turn);
            } else {
                canvas.words((x, y), Anchor::Middle, TICK, word, "");
            }
        }
    }

    /// Where the bar of a series stands at a word, and how wide it is.
    fn bar_place(&self, series: usize, word: f64) -> (f64, f64) {
        let place = self.layout.panel.0 / self.layout.words.words.len().max(1) as f64;
        let wide = (place * BARS / self.chart.series.len() as f64).min(60.0);
        let all = wide * self.chart.series.len() as f64;
        (self.x(word) - all / 2.0 + wide * series as f64, wide)
    }

    fn bars(&self, canvas: &mut Canvas, line: &Line) {
        let zero = self.y(if self.chart.y.scale.is_log() { self.layout.y_span.low() } else { 0.0 });
        let whisker = format!(r#"stroke="{INK}" stroke-width="1.2""#);
        for point in &line.points {
            let (left, wide) = self.bar_place(line.series, point.x);
            let (gap, y) = (if wide > 6.0 { 1.0 } else { 0.0 }, self.y(point.y));
            let size = (wide - 2.0 * gap, (zero - y).abs());
            canvas.raw("<g>");
            canvas.raw(&format!("<title>{}</title>", escaped(&self.said(line.series, point))));
            canvas.rectangle((left + gap, y.min(zero)), size, &style::bar(line.series, self.key));
            if point.high > point.low {
                let (middle, low, high) = (left + wide / 2.0, self.y(point.low), self.y(point.high));
                let half = (wide * 0.25).min(5.0);
                canvas.line((middle, low), (middle, high), &whisker);
                canvas.line((middle - half, low), (middle + half, low), &whisker);
                canvas.line((middle - half, high), (middle + half, high), &whisker);
            }
            canvas.raw("</g>");
        }
    }

    fn band(&self, canvas: &mut Canvas, line: &Line) {
        if line.points.iter().all(|point| point.high <= point.low) {
            return;
        }
        let colour = style::colour(line.series);
        if let [point] = &line.points[..] {
            let whisker = format!(r#"stroke="{colour}" stroke-width="1.4" stroke-opacity="0.6""#);
            return canvas.line((self.x(point.x), self.y(point.low)), (self.x(point.x), self.y(point.high)), &whisker);
        }
        let above = line.points.iter().map(|point| (self.x(point.x), self.y(point.high)));
        let below = line.points.iter().rev().map(|point| (self.x(point.x), self.y(point.low)));
        let around: Vec<(f64, f64)> = above.chain(below).collect();
        canvas.polygon(&around, &format!(r#"fill="{colour}" fill-opacity="0.18" stroke="none""#));
    }

    fn line(&self, canvas: &mut Canvas, line: &Line) {
        let places: Vec<(f64, f64)> = line.points.iter().map(|point| (self.x(point.x), self.y(point.y))).collect();
        if places.len() > 1 {
            canvas.polyline(&places, &style::line(line.series));
        }
    }

    fn markers(&self, canvas: &mut Canvas, line: &Line) {
        if line.points.len() > MAX_MARKERS {
            return;
        }
        for point in &line.points {
            let place = (self.x(point.x), self.y(point.y));
            let said = if self.layout.markers <= MAX_SAID { self.said(line.series, point) } else { String::new() };
            style::marker(canvas, line.series, place, &escaped(&said));
        }
    }

    /// What a browser says when a point is pointed at.
    fn said(&self, series: usize, point: &Point) -> String {
        let name = match self.chart.series.get(series).map(String::as_str) {
            None | Some("") => String::new(),
            Some(name) => format!("{name}, "),
        };
        let x = self.layout.words.words.get(point.x as usize).filter(|_| self.chart.has_bars());
        let x = x.cloned().unwrap_or_else(|| figures(point.x));
        let mut said = format!("{name}{x}: {}", figures(point.y));
        if point.high > point.low {
            said += &format!(" ({} to {})", figures(point.low), figures(point.high));
        }
        if point.count > 1 {
            said += &format!(", {} runs", point.count);
        }
        said
    }

    fn curve(&self, canvas: &mut Canvas, curve: &Curve) {
        if self.chart.has_bars() {
            return self.levels(canvas, curve);
        }
        let attributes = style::curve(curve.overlay, curve.series);
        let places: Vec<(f64, f64)> = curve.points.iter().map(|(x, y)| (self.x(*x), self.y(*y))).collect();
        match &places[..] {
            [(x, y)] => canvas.line((x - 12.0, *y), (x + 12.0, *y), &attributes),
            places => canvas.polyline(places, &attributes),
        }
    }
}

impl Frame<'_> {
    /// A formula over bars: a level at each of them, with a light edge so that it is seen on any filling.
    fn levels(&self, canvas: &mut Canvas, curve: &Curve) {
        for (word, y) in &curve.points {
            let (first, wide) = self.bar_place(curve.series.unwrap_or(0), *word);
            let count = if curve.series.is_some() { 1 } else { self.chart.series.len() };
            let (from, to) = ((first, self.y(*y)), (first + wide * count as f64, self.y(*y)));
            canvas.line(from, to, r##"stroke="#ffffff" stroke-width="4" stroke-opacity="0.85""##);
            canvas.line(from, to, &style::curve(curve.overlay, None));
        }
    }
}

/// A number with five figures, as it is said.
fn figures(number: f64) -> String {
    if number == number.trunc() && number.abs() < 1e15 {
        return format!("{number}");
    }
    if !(1e-4..1e15).contains(&number.abs()) {
        return format!("{number:.4e}");
    }
    let decimals = (4.0 - number.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{number:.decimals$}")
}
