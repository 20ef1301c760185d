//! Evaluates the formulas in settings.

use std::str::FromStr;
use std::sync::Arc;

use hustings_sim::topology::Topology;
use hustings_text::quote;

use super::error::Diagnostic;
use super::grid::Grid;
use super::raw::{Raw, RawValue};

/// The number of nodes that a topology prescribes.
pub(super) fn size_of(topology: &str) -> Option<f64> {
    Topology::from_str(topology).ok()?.size().map(|size| size as f64)
}

/// Evaluates the formulas of a combination, in the order of their dependencies.
pub(super) struct Resolver<'a> {
    grid: &'a Grid<'a>,
    chosen: &'a [&'a Raw],
    done: Vec<Option<Option<Arc<str>>>>,
    /// Settings whose evaluation has started, to detect cycles.
    started: Vec<bool>,
}

/// A result whose error names the setting.
pub(super) type At<T> = Result<T, (usize, Diagnostic)>;

impl<'a> Resolver<'a> {
    pub(super) fn new(grid: &'a Grid<'a>, chosen: &'a [&'a Raw]) -> Self {
        Resolver { grid, chosen, done: vec![None; chosen.len()], started: vec![false; chosen.len()] }
    }

    pub(super) fn all(mut self) -> At<Vec<Option<Arc<str>>>> {
        (0..self.chosen.len()).map(|index| self.value(index)).collect()
    }

    fn value(&mut self, index: usize) -> At<Option<Arc<str>>> {
        if let Some(value) = &self.done[index] {
            return Ok(value.clone());
        }
        let value = match &self.chosen[index].value {
            RawValue::Literal(value) => value.clone(),
            RawValue::Template(template) => {
                if std::mem::replace(&mut self.started[index], true) {
                    return Err((
                        index,
                        Diagnostic::new("this formula depends on itself", "formulas over other settings"),
                    ));
                }
                let mut numbers: Vec<(&str, Option<f64>)> = Vec::new();
                for name in template.names() {
                    numbers.push((name, self.number(name)?));
                }
                let value_of =
                    |name: &str| numbers.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value);
                let text = template.fill(&value_of).map_err(|diagnostic| (index, diagnostic))?;
                let key = &self.grid.settings[index].key;
                key.canonical(&text, self.grid.catalogue).map_err(|mut diagnostic| {
                    diagnostic.problem = format!("this evaluates to `{}`: {}", quote(&text), diagnostic.problem);
                    (index, diagnostic)
                })?
            }
        };
        self.done[index] = Some(value.clone());
        Ok(value)
    }

    fn number(&mut self, name: &str) -> At<Option<f64>> {
        match self.grid.named(name) {
            Some(index) => Ok(self.value(index)?.and_then(|text| text.parse().ok())),
            None => match self.grid.named("topology") {
                Some(index) => Ok(self.value(index)?.and_then(|text| size_of(&text))),
                None => Ok(None),
            },
        }
    }
}
