//! Formulas in braces, filled in.

use std::str::FromStr;
use std::sync::Arc;

use hustings_sim::parse::short;
use hustings_sim::topology::Topology;

use super::grid::Grid;
use super::mistake::Trouble;
use super::raw::{Meaning, Raw};

/// How many nodes a topology has by itself.
pub(super) fn size_of(topology: &str) -> Option<f64> {
    Topology::from_str(topology).ok()?.size().map(|size| size as f64)
}

/// Fills holes with numbers, in whatever order they need each other.
pub(super) struct Resolver<'a> {
    grid: &'a Grid<'a>,
    chosen: &'a [&'a Raw],
    done: Vec<Option<Option<Arc<str>>>>,
    busy: Vec<bool>,
}

/// What is wrong, and at which setting.
pub(super) type At<T> = Result<T, (usize, Trouble)>;

impl<'a> Resolver<'a> {
    pub(super) fn new(grid: &'a Grid<'a>, chosen: &'a [&'a Raw]) -> Self {
        Resolver { grid, chosen, done: vec![None; chosen.len()], busy: vec![false; chosen.len()] }
    }

    pub(super) fn all(mut self) -> At<Vec<Option<Arc<str>>>> {
        (0..self.chosen.len()).map(|index| self.value(index)).collect()
    }

    fn value(&mut self, index: usize) -> At<Option<Arc<str>>> {
        if let Some(value) = &self.done[index] {
            return Ok(value.clone());
        }
        let value = match &self.chosen[index].meaning {
            Meaning::Plain(value) => value.clone(),
            Meaning::Holes(template) => {
                if std::mem::replace(&mut self.busy[index], true) {
                    return Err((index, Trouble::new("this formula needs itself", "formulas over other settings")));
                }
                let mut numbers: Vec<(&str, Option<f64>)> = Vec::new();
                for name in template.names() {
                    numbers.push((name, self.number(name)?));
                }
                let value_of =
                    |name: &str| numbers.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value);
                let text = template.fill(&value_of).map_err(|trouble| (index, trouble))?;
                let key = &self.grid.settings[index].key;
                key.canonical(&text, self.grid.catalogue).map_err(|mut trouble| {
                    trouble.problem = format!("this comes to `{}`: {}", short(&text), trouble.problem);
                    (index, trouble)
                })?
            }
        };
        self.done[index] = Some(value.clone());
        Ok(value)
    }

    fn number(&mut self, name: &str) -> At<Option<f64>> {
        match self.grid.called(name) {
            Some(index) => Ok(self.value(index)?.and_then(|text| text.parse().ok())),
            None => match self.grid.called("topology") {
                Some(index) => Ok(self.value(index)?.and_then(|text| size_of(&text))),
                None => Ok(None),
            },
        }
    }
}
