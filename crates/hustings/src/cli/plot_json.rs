//! The numbers of a chart as JSON.

use std::path::Path;

use hustings_papers::plot::{Axis, Chart, Panel, Point, Scale};
use serde_json::{Value, json};

/// A chart and its file, if it was drawn.
pub(crate) fn chart(chart: &Chart, file: Option<&Path>) -> Value {
    json!({
        "name": chart.name,
        "title": chart.title,
        "file": file.map(|file| file.display().to_string()),
        "rows": chart.rows,
        "left_out": chart.left_out,
        "x": axis(&chart.x),
        "y": axis(&chart.y),
        "panels": chart.panels.iter().map(|part| panel(chart, part)).collect::<Vec<_>>(),
    })
}

fn axis(axis: &Axis) -> Value {
    let scale = match axis.scale {
        Scale::Linear => "linear",
        Scale::Log10 => "log10",
        Scale::Log2 => "log2",
        Scale::Categories(_) => "categories",
    };
    json!({ "label": axis.label, "scale": scale })
}

fn panel(chart: &Chart, panel: &Panel) -> Value {
    let place = |x: f64| match &chart.x.scale {
        Scale::Categories(names) => names.get(x as usize).map_or(Value::Null, |name| json!(name)),
        _ => json!(x),
    };
    let point = |point: &Point| json!({ "x": place(point.x), "mean": point.y, "low": point.low, "high": point.high, "runs": point.count });
    let lines = panel.lines.iter().map(|line| {
        json!({ "series": chart.series[line.series], "points": line.points.iter().map(point).collect::<Vec<_>>() })
    });
    let formulas = panel.curves.iter().map(|curve| {
        let points: Vec<Value> = curve.points.iter().map(|(x, y)| json!({ "x": place(*x), "y": y })).collect();
        let series = curve.series.map(|series| chart.series[series].as_str());
        json!({ "label": chart.overlays[curve.overlay], "series": series, "points": points })
    });
    json!({
        "title": panel.title,
        "lines": lines.collect::<Vec<_>>(),
        "formulas": formulas.collect::<Vec<_>>(),
    })
}
