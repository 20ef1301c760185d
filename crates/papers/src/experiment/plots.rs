//! Parses `[[plot]]` blocks.

use hustings_text::{nearest, quote};

use super::document::{Node, Source, Value};
use super::error::{Diagnostic, ExperimentError};
use super::grid::Grid;
use super::read::{file_name, known_only};
use crate::formula::Formula;
use crate::plot::{Filter, Overlay, PlotSpec};
use crate::table::METRICS;

const KEYS: [&str; 11] = ["name", "title", "x", "y", "by", "facet", "log", "formula", "where", "x_label", "y_label"];

pub(super) fn read(source: Source<'_>, node: &Node, grid: &Grid<'_>) -> Result<Vec<PlotSpec>, ExperimentError> {
    let mut plots: Vec<PlotSpec> = Vec::new();
    for table in node.tables(source)? {
        known_only(source, table, &KEYS)?;
        let plot = one(source, table, grid, node.line)?;
        if plots.iter().any(|other| other.name == plot.name) {
            let line = table.first().map_or(node.line, |first| first.line);
            let diagnostic = Diagnostic::new("two plots have this name", "a name for each");
            return Err(source.error(line, "plot.name", &plot.name, diagnostic));
        }
        plots.push(plot);
    }
    Ok(plots)
}

fn one(source: Source<'_>, table: &[Node], grid: &Grid<'_>, line: usize) -> Result<PlotSpec, ExperimentError> {
    let line = table.first().map_or(line, |first| first.line);
    let find = |name: &str| table.iter().find(|node| node.name() == name);
    let needed = |name: &str, allowed: &str| {
        let missing =
            || source.error(line, &format!("plot.{name}"), "", Diagnostic::new("this key is missing", allowed));
        find(name).ok_or_else(missing)
    };
    let text = |name: &str| find(name).map(|node| node.text(source, 200).map(str::to_string)).transpose();
    let column = |node: &Node| {
        let name = node.text(source, 100)?;
        check_column(grid, name).map_err(|diagnostic| source.at(node, diagnostic))?;
        Ok(name.to_string())
    };
    let x = column(needed("x", "a column, such as x = \"nodes\"")?)?;
    let y = formula(source, grid, needed("y", "a column or a formula, such as y = \"messages\"")?)?;
    let mut by = Vec::new();
    if let Some(node) = find("by") {
        for name in node.texts(source, 100)? {
            check_column(grid, name).map_err(|diagnostic| source.error(node.line, &node.key, name, diagnostic))?;
            by.push(name.to_string());
        }
    }
    let log = match find("log") {
        None => Default::default(),
        Some(node) => node
            .text(source, 10)?
            .parse()
            .map_err(|_| source.at(node, Diagnostic::new("this does not name axes", "\"\", \"x\", \"y\", \"xy\"")))?,
    };
    let formulas = find("formula").map(|node| overlays(source, grid, node)).transpose()?.unwrap_or_default();
    let filters = find("where").map(|node| filters(source, grid, node)).transpose()?.unwrap_or_default();
    Ok(PlotSpec {
        name: file_name(source, needed("name", "a name for the file, such as name = \"messages\"")?)?,
        title: text("title")?.unwrap_or_default(),
        x,
        y,
        by,
        facet: find("facet").map(column).transpose()?,
        log,
        formulas,
        filters,
        x_label: text("x_label")?,
        y_label: text("y_label")?,
    })
}

/// A formula over columns.
fn formula(source: Source<'_>, grid: &Grid<'_>, node: &Node) -> Result<String, ExperimentError> {
    let text = node.text(source, 1000)?;
    let wrong = |diagnostic| source.at(node, diagnostic);
    let parsed = Formula::parse(text).map_err(|error| wrong(error.into()))?;
    for name in parsed.names() {
        if name != "n" {
            check_column(grid, name).map_err(wrong)?;
        }
    }
    Ok(text.to_string())
}

fn overlays(source: Source<'_>, grid: &Grid<'_>, node: &Node) -> Result<Vec<Overlay>, ExperimentError> {
    let mut overlays = Vec::new();
    for table in node.tables(source)? {
        known_only(source, table, &["label", "y"])?;
        let find = |name: &str| {
            let missing = || {
                let diagnostic =
                    Diagnostic::new(format!("`{name}` is missing"), "{ label = \"…\", y = \"a formula\" }");
                source.error(node.line, &node.key, "", diagnostic)
            };
            table.iter().find(|node| node.name() == name).ok_or_else(missing)
        };
        let label = find("label")?.text(source, 100)?.to_string();
        overlays.push(Overlay { label, y: formula(source, grid, find("y")?)? });
    }
    Ok(overlays)
}

fn filters(source: Source<'_>, grid: &Grid<'_>, node: &Node) -> Result<Vec<Filter>, ExperimentError> {
    let mut filters = Vec::new();
    for (column, values) in grid_entries(source, node)? {
        check_column(grid, &column).map_err(|diagnostic| source.error(values.line, &values.key, "", diagnostic))?;
        let items = match &values.value {
            Value::List(items) => items.iter().collect(),
            _ => vec![values],
        };
        // An absent option is an empty cell in the results.
        let shown = |item: &Node| match &item.value {
            Value::Text(text) if text == "none" && column != "initiators" => String::new(),
            Value::Text(text) => text.clone(),
            other => other.shown(),
        };
        let values = items.into_iter().map(shown).collect();
        filters.push(Filter { column, values });
    }
    Ok(filters)
}

/// The entries of a table of columns, including columns with a dot in their name.
fn grid_entries<'a>(source: Source<'_>, node: &'a Node) -> Result<Vec<(String, &'a Node)>, ExperimentError> {
    let mut found = Vec::new();
    for entry in node.entries(source)? {
        match &entry.value {
            Value::Table(inner) => {
                found.extend(inner.iter().map(|deep| (format!("{}.{}", entry.name(), deep.name()), deep)));
            }
            _ => found.push((entry.name().to_string(), entry)),
        }
    }
    Ok(found)
}

fn check_column(grid: &Grid<'_>, name: &str) -> Result<(), Diagnostic> {
    let is_kind = name.strip_prefix("messages.").is_some_and(|kind| !kind.is_empty());
    let known: Vec<&str> = ["algorithm", "nodes"]
        .into_iter()
        .chain(grid.keys().map(|key| &**key.name()).filter(|name| !matches!(*name, "algorithm" | "nodes")))
        .chain(METRICS.iter().map(|(name, ..)| *name))
        .collect();
    if is_kind || known.contains(&name) {
        return Ok(());
    }
    let near = nearest(name, known.iter().copied()).map(str::to_string);
    let allowed = format!("{}, messages.KIND", known.join(", "));
    Err(Diagnostic { problem: format!("the results have no column `{}`", quote(name)), allowed, nearest: near })
}
