//! Expands `[vary]` and `[[skip]]` into points.

use std::collections::BTreeSet;
use std::sync::Arc;

use hustings_elections::Catalogue;
use hustings_text::{nearest, quote};

use super::document::{Node, Source};
use super::error::{Diagnostic, ExperimentError};
use super::key::{Key, Kind};
use super::raw::{Raw, RawValue, flat, flat_entries, raws};
use super::resolve::{Resolver, size_of};
use super::{MAX_POINTS, Point, Setting};
use crate::formula::Formula;

/// The maximum number of combinations, including skipped ones.
const MAX_COMBINATIONS: u64 = 1_000_000;

/// The settings with all their values.
pub(super) struct Grid<'a> {
    /// The algorithms that there are.
    pub(super) catalogue: &'a Catalogue,
    pub(super) settings: Vec<Setting>,
    /// The values of each setting.
    values: Vec<Vec<Raw>>,
}

/// A rule that leaves points out.
pub(super) struct Skip {
    /// Settings and the values that match.
    matches: Vec<(usize, Vec<Option<Arc<str>>>)>,
    when: Option<Formula>,
    line: usize,
}

impl<'a> Grid<'a> {
    pub(super) fn read(source: Source<'_>, vary: &Node, catalogue: &'a Catalogue) -> Result<Self, ExperimentError> {
        let mut grid = Grid { catalogue, settings: Vec::new(), values: Vec::new() };
        for node in flat(source, vary)? {
            let name = node.key.strip_prefix("vary.").unwrap_or(&node.key);
            let key = Key::parse(name).map_err(|diagnostic| source.error(node.line, &node.key, "", diagnostic))?;
            grid.values.push(raws(source, &key, node, catalogue)?);
            grid.settings.push(Setting { key, paired: false, line: node.line });
        }
        if !grid.settings.iter().any(|setting| setting.key.kind() == Kind::Algorithm) {
            let diagnostic =
                Diagnostic::new("this key is missing", "an algorithm or a list of them; `hustings list` shows all");
            return Err(source.error(vary.line, "vary.algorithm", "", diagnostic));
        }
        grid.check_names(source)?;
        grid.check_params(source)?;
        Ok(grid)
    }

    pub(super) fn into_settings(self) -> Vec<Setting> {
        self.settings
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.settings.iter().map(|setting| &setting.key)
    }

    /// Marks the keys of `pair`.
    pub(super) fn pair(&mut self, source: Source<'_>, node: &Node) -> Result<(), ExperimentError> {
        for name in node.texts(source, 64)? {
            let index = self.index(name).map_err(|diagnostic| source.error(node.line, &node.key, name, diagnostic))?;
            self.settings[index].paired = true;
        }
        Ok(())
    }

    fn index(&self, name: &str) -> Result<usize, Diagnostic> {
        let names: Vec<&str> = self.keys().map(|key| &**key.name()).collect();
        let found = names.iter().position(|known| *known == name);
        found.ok_or_else(|| Diagnostic::unknown("setting", name, &names))
    }

    /// The setting that a name in a formula refers to.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.settings.iter().position(|setting| setting.key.has_name(name))
    }

    /// Whether a formula over settings may use this name.
    fn check_name(&self, name: &str) -> Result<(), Diagnostic> {
        let is_number = |index: usize| self.settings[index].key.is_number();
        if self.named(name).map_or(name == "n", is_number) {
            return Ok(());
        }
        let mut known = vec!["n"];
        let numbers = self.keys().filter(|key| key.is_number());
        known.extend(numbers.map(|key| key.name().strip_prefix("let.").unwrap_or(key.name())));
        let near = nearest(name, known.iter().copied()).map(str::to_string);
        let problem = format!("`{}` is not a number of this experiment", quote(name));
        Err(Diagnostic { problem, allowed: known.join(", "), nearest: near })
    }

    fn check_names(&self, source: Source<'_>) -> Result<(), ExperimentError> {
        for (setting, raws) in self.settings.iter().zip(&self.values) {
            for raw in raws {
                let RawValue::Template(template) = &raw.value else { continue };
                for name in template.names() {
                    let key = format!("vary.{}", setting.key.name());
                    self.check_name(name).map_err(|diagnostic| source.error(raw.line, &key, &raw.text, diagnostic))?;
                }
            }
        }
        Ok(())
    }

    /// Checks that every parameter belongs to an algorithm of the experiment.
    fn check_params(&self, source: Source<'_>) -> Result<(), ExperimentError> {
        let algorithms = self.settings.iter().zip(&self.values).filter(|(one, _)| one.key.kind() == Kind::Algorithm);
        let names = algorithms.flat_map(|(_, raws)| raws).filter_map(|raw| match &raw.value {
            RawValue::Literal(Some(name)) => self.catalogue.find(name),
            _ => None,
        });
        let params: BTreeSet<&str> =
            names.flat_map(|known| known.entry().parameters.iter().map(|one| one.name)).collect();
        let known: Vec<&str> = params.into_iter().collect();
        for setting in &self.settings {
            let Some(param) = setting.key.param().filter(|param| !known.contains(param)) else { continue };
            let mut diagnostic = Diagnostic::unknown("parameter", param, &known);
            diagnostic.problem += " of these algorithms";
            if known.is_empty() {
                diagnostic.allowed = "none, because they have no parameters".to_string();
            }
            diagnostic.nearest = diagnostic.nearest.map(|near| format!("p.{near}"));
            return Err(source.error(setting.line, &format!("vary.{}", setting.key.name()), "", diagnostic));
        }
        Ok(())
    }

    pub(super) fn skips(&self, source: Source<'_>, node: &Node) -> Result<Vec<Skip>, ExperimentError> {
        let mut skips = Vec::new();
        for table in node.tables(source)? {
            let line = table.first().map_or(node.line, |first| first.line);
            let mut skip = Skip { matches: Vec::new(), when: None, line };
            for entry in flat_entries(table) {
                let name = entry.key.strip_prefix("skip.").unwrap_or(&entry.key);
                if name == "when" {
                    let wrong = |diagnostic| source.at(entry, diagnostic);
                    let formula = Formula::parse(entry.text(source, 1000)?).map_err(|error| wrong(error.into()))?;
                    formula.names().iter().try_for_each(|name| self.check_name(name)).map_err(wrong)?;
                    skip.when = Some(formula);
                    continue;
                }
                let index =
                    self.index(name).map_err(|diagnostic| source.error(entry.line, &entry.key, "", diagnostic))?;
                let mut values = Vec::new();
                for raw in raws(source, &self.settings[index].key, entry, self.catalogue)? {
                    match raw.value {
                        RawValue::Literal(value) => values.push(value),
                        RawValue::Template(_) => {
                            let diagnostic = Diagnostic::new(
                                "formulas in braces are not allowed here",
                                "values; `when` takes a formula",
                            );
                            return Err(source.error(raw.line, &entry.key, &raw.text, diagnostic));
                        }
                    }
                }
                skip.matches.push((index, values));
            }
            if skip.matches.is_empty() && skip.when.is_none() {
                let diagnostic = Diagnostic::new("this leaves out everything", "settings that must match, or `when`");
                return Err(source.error(line, "skip", "", diagnostic));
            }
            skips.push(skip);
        }
        Ok(skips)
    }

    /// All combinations that are not left out, without duplicates.
    pub(super) fn points(&self, source: Source<'_>, seed: u64, skips: &[Skip]) -> Result<Vec<Point>, ExperimentError> {
        let combinations = self.values.iter().fold(1u64, |product, values| product.saturating_mul(values.len() as u64));
        let too_many = |problem: String, max: u64| {
            let line = self.settings.first().map_or(1, |setting| setting.line);
            source.error(line, "vary", "", Diagnostic::new(problem, format!("at most {max}")))
        };
        if combinations > MAX_COMBINATIONS {
            return Err(too_many(format!("there are {combinations} combinations"), MAX_COMBINATIONS));
        }
        let mut points: Vec<Point> = Vec::new();
        let mut seen = BTreeSet::new();
        for combination in 0..combinations {
            let chosen = self.combination(combination);
            let resolved = Resolver::new(self, &chosen)
                .all()
                .map_err(|(index, diagnostic)| self.error_at(source, &chosen, index, diagnostic))?;
            let values = self.applicable(resolved);
            if self.is_skipped(source, skips, &values)? {
                continue;
            }
            let point = Point::new(values, &self.settings, seed);
            if !seen.insert(point.values.clone()) {
                continue;
            }
            if points.len() == MAX_POINTS {
                return Err(too_many(format!("there are more than {MAX_POINTS} points"), MAX_POINTS as u64));
            }
            points.push(point);
        }
        if points.is_empty() {
            let line = skips.first().map_or(1, |skip| skip.line);
            let diagnostic = Diagnostic::new("every point is left out", "skips that leave some points");
            return Err(source.error(line, "skip", "", diagnostic));
        }
        Ok(points)
    }

    /// The values of the k-th combination: the last setting varies fastest.
    fn combination(&self, mut k: u64) -> Vec<&Raw> {
        let mut chosen: Vec<&Raw> = Vec::with_capacity(self.values.len());
        for values in self.values.iter().rev() {
            let count = values.len() as u64;
            chosen.push(&values[(k % count) as usize]);
            k /= count;
        }
        chosen.reverse();
        chosen
    }

    /// Removes parameters that the algorithm of the point does not have.
    fn applicable(&self, mut values: Vec<Option<Arc<str>>>) -> Vec<Option<Arc<str>>> {
        let algorithm = self.settings.iter().position(|setting| setting.key.kind() == Kind::Algorithm);
        let known = algorithm.and_then(|index| self.catalogue.find(values[index].as_deref()?));
        for (setting, value) in self.settings.iter().zip(&mut values) {
            if let (Some(param), Some(known)) = (setting.key.param(), known)
                && !known.entry().parameters.iter().any(|one| one.name == param)
            {
                *value = None;
            }
        }
        values
    }

    fn is_skipped(
        &self,
        source: Source<'_>,
        skips: &[Skip],
        values: &[Option<Arc<str>>],
    ) -> Result<bool, ExperimentError> {
        for skip in skips {
            if !skip.matches.iter().all(|(index, expected)| expected.contains(&values[*index])) {
                continue;
            }
            let Some(when) = &skip.when else { return Ok(true) };
            let value_of = |name: &str| self.number(values, name);
            // A condition on an absent setting does not apply.
            if when.names().iter().any(|name| value_of(name).is_none()) {
                continue;
            }
            match when.eval(&value_of) {
                Ok(0.0) => {}
                Ok(_) => return Ok(true),
                Err(error) => {
                    let diagnostic = Diagnostic::new(error.to_string(), "");
                    return Err(source.error(skip.line, "skip.when", when.text(), diagnostic));
                }
            }
        }
        Ok(false)
    }

    /// The value of a name in a formula at a point.
    fn number(&self, values: &[Option<Arc<str>>], name: &str) -> Option<f64> {
        match self.named(name) {
            Some(index) => values[index].as_ref()?.parse().ok(),
            None => {
                let topology = self.settings.iter().position(|setting| &**setting.key.name() == "topology")?;
                size_of(values[topology].as_deref()?)
            }
        }
    }

    /// An error at a value, with the combination in which it occurs.
    fn error_at(
        &self,
        source: Source<'_>,
        chosen: &[&Raw],
        index: usize,
        mut diagnostic: Diagnostic,
    ) -> ExperimentError {
        let others = (0..chosen.len()).filter(|other| *other != index && self.values[*other].len() > 1);
        let shown: Vec<String> = others
            .map(|other| format!("{} = {}", self.settings[other].key.name(), quote(&chosen[other].text)))
            .collect();
        if !shown.is_empty() {
            diagnostic.problem = format!("where {}: {}", shown.join(", "), diagnostic.problem);
        }
        let key = format!("vary.{}", self.settings[index].key.name());
        source.error(chosen[index].line, &key, &chosen[index].text, diagnostic)
    }
}
