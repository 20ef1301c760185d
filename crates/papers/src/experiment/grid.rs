//! `[vary]` and `[[skip]]`: from settings to points.

use std::collections::BTreeSet;
use std::sync::Arc;

use hustings_elections::Catalogue;
use hustings_sim::parse::{nearest, short};

use super::document::{Node, Source};
use super::key::{Key, Kind};
use super::mistake::{Mistake, Trouble};
use super::raw::{Meaning, Raw, flat, flat_entries, raws};
use super::resolve::{Resolver, size_of};
use super::{MAX_POINTS, Point, Setting};
use crate::formula::Formula;

/// The most combinations that are looked at, those that are skipped included.
const MAX_COMBINATIONS: u64 = 1_000_000;

/// The settings with all their values.
pub(super) struct Grid<'a> {
    /// The algorithms that there are.
    pub(super) catalogue: &'a Catalogue,
    pub(super) settings: Vec<Setting>,
    /// For each setting, what it takes in turn.
    values: Vec<Vec<Raw>>,
}

/// Points to leave out.
pub(super) struct Skip {
    /// For each of these settings, values of which one must be there.
    matches: Vec<(usize, Vec<Option<Arc<str>>>)>,
    when: Option<Formula>,
    line: usize,
}

impl<'a> Grid<'a> {
    pub(super) fn read(source: Source<'_>, vary: &Node, catalogue: &'a Catalogue) -> Result<Self, Mistake> {
        let mut grid = Grid { catalogue, settings: Vec::new(), values: Vec::new() };
        for node in flat(source, vary)? {
            let name = node.key.strip_prefix("vary.").unwrap_or(&node.key);
            let key = Key::parse(name).map_err(|trouble| source.mistake(node.line, &node.key, "", trouble))?;
            grid.values.push(raws(source, &key, node, catalogue)?);
            grid.settings.push(Setting { key, paired: false, line: node.line });
        }
        if !grid.settings.iter().any(|setting| setting.key.kind() == Kind::Algorithm) {
            let trouble =
                Trouble::new("this key is missing", "an algorithm or a list of them; `hustings list` shows all");
            return Err(source.mistake(vary.line, "vary.algorithm", "", trouble));
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
    pub(super) fn pair(&mut self, source: Source<'_>, node: &Node) -> Result<(), Mistake> {
        for name in node.texts(source, 64)? {
            let index = self.index(name).map_err(|trouble| source.mistake(node.line, &node.key, name, trouble))?;
            self.settings[index].paired = true;
        }
        Ok(())
    }

    fn index(&self, name: &str) -> Result<usize, Trouble> {
        let names: Vec<&str> = self.keys().map(|key| &**key.name()).collect();
        let found = names.iter().position(|known| *known == name);
        found.ok_or_else(|| Trouble::unknown("setting", name, &names))
    }

    /// The setting that a formula calls so.
    pub(super) fn called(&self, name: &str) -> Option<usize> {
        self.settings.iter().position(|setting| setting.key.is_called(name))
    }

    /// Whether a formula over settings may use this name.
    fn check_name(&self, name: &str) -> Result<(), Trouble> {
        let is_number = |index: usize| self.settings[index].key.is_number();
        if self.called(name).map_or(name == "n", is_number) {
            return Ok(());
        }
        let mut known = vec!["n"];
        let numbers = self.keys().filter(|key| key.is_number());
        known.extend(numbers.map(|key| key.name().strip_prefix("let.").unwrap_or(key.name())));
        let near = nearest(name, known.iter().copied()).map(str::to_string);
        let problem = format!("`{}` is no number of this experiment", short(name));
        Err(Trouble { problem, allowed: known.join(", "), nearest: near })
    }

    fn check_names(&self, source: Source<'_>) -> Result<(), Mistake> {
        for (setting, raws) in self.settings.iter().zip(&self.values) {
            for raw in raws {
                let Meaning::Holes(template) = &raw.meaning else { continue };
                for name in template.names() {
                    let key = format!("vary.{}", setting.key.name());
                    self.check_name(name).map_err(|trouble| source.mistake(raw.line, &key, &raw.text, trouble))?;
                }
            }
        }
        Ok(())
    }

    /// Every parameter must belong to some algorithm of the experiment.
    fn check_params(&self, source: Source<'_>) -> Result<(), Mistake> {
        let algorithms = self.settings.iter().zip(&self.values).filter(|(one, _)| one.key.kind() == Kind::Algorithm);
        let names = algorithms.flat_map(|(_, raws)| raws).filter_map(|raw| match &raw.meaning {
            Meaning::Plain(Some(name)) => self.catalogue.find(name),
            _ => None,
        });
        let params: BTreeSet<&str> =
            names.flat_map(|known| known.entry().parameters.iter().map(|one| one.name)).collect();
        let known: Vec<&str> = params.into_iter().collect();
        for setting in &self.settings {
            let Some(param) = setting.key.param().filter(|param| !known.contains(param)) else { continue };
            let mut trouble = Trouble::unknown("parameter", param, &known);
            trouble.problem += " of these algorithms";
            if known.is_empty() {
                trouble.allowed = "none, they have no parameters".to_string();
            }
            trouble.nearest = trouble.nearest.map(|near| format!("p.{near}"));
            return Err(source.mistake(setting.line, &format!("vary.{}", setting.key.name()), "", trouble));
        }
        Ok(())
    }

    pub(super) fn skips(&self, source: Source<'_>, node: &Node) -> Result<Vec<Skip>, Mistake> {
        let mut skips = Vec::new();
        for table in node.tables(source)? {
            let line = table.first().map_or(node.line, |first| first.line);
            let mut skip = Skip { matches: Vec::new(), when: None, line };
            for entry in flat_entries(table) {
                let name = entry.key.strip_prefix("skip.").unwrap_or(&entry.key);
                if name == "when" {
                    let wrong = |trouble| source.at(entry, trouble);
                    let formula = Formula::parse(entry.text(source, 1000)?).map_err(|error| wrong(error.into()))?;
                    formula.names().iter().try_for_each(|name| self.check_name(name)).map_err(wrong)?;
                    skip.when = Some(formula);
                    continue;
                }
                let index = self.index(name).map_err(|trouble| source.mistake(entry.line, &entry.key, "", trouble))?;
                let mut values = Vec::new();
                for raw in raws(source, &self.settings[index].key, entry, self.catalogue)? {
                    match raw.meaning {
                        Meaning::Plain(value) => values.push(value),
                        Meaning::Holes(_) => {
                            let trouble =
                                Trouble::new("there are no braces here", "plain values; `when` takes a formula");
                            return Err(source.mistake(raw.line, &entry.key, &raw.text, trouble));
                        }
                    }
                }
                skip.matches.push((index, values));
            }
            if skip.matches.is_empty() && skip.when.is_none() {
                let trouble = Trouble::new("this would leave out everything", "settings that must match, or `when`");
                return Err(source.mistake(line, "skip", "", trouble));
            }
            skips.push(skip);
        }
        Ok(skips)
    }

    /// All combinations that are not left out, each once.
    pub(super) fn points(&self, source: Source<'_>, seed: u64, skips: &[Skip]) -> Result<Vec<Point>, Mistake> {
        let combinations = self.values.iter().fold(1u64, |product, values| product.saturating_mul(values.len() as u64));
        let too_many = |problem: String, most: u64| {
            let line = self.settings.first().map_or(1, |setting| setting.line);
            source.mistake(line, "vary", "", Trouble::new(problem, format!("at most {most}")))
        };
        if combinations > MAX_COMBINATIONS {
            return Err(too_many(format!("this comes to {combinations} combinations"), MAX_COMBINATIONS));
        }
        let mut points: Vec<Point> = Vec::new();
        let mut seen = BTreeSet::new();
        for combination in 0..combinations {
            let chosen = self.combination(combination);
            let resolved = Resolver::new(self, &chosen)
                .all()
                .map_err(|(index, trouble)| self.mistake_at(source, &chosen, index, trouble))?;
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
            let trouble = Trouble::new("every point is left out", "skips that leave something to run");
            return Err(source.mistake(line, "skip", "", trouble));
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

    /// Parameters that the point's algorithm does not have are no part of the point.
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

    fn is_skipped(&self, source: Source<'_>, skips: &[Skip], values: &[Option<Arc<str>>]) -> Result<bool, Mistake> {
        for skip in skips {
            if !skip.matches.iter().all(|(index, wanted)| wanted.contains(&values[*index])) {
                continue;
            }
            let Some(when) = &skip.when else { return Ok(true) };
            let value_of = |name: &str| self.number(values, name);
            // A setting that is absent here is no reason to leave the point out.
            if when.names().iter().any(|name| value_of(name).is_none()) {
                continue;
            }
            match when.eval(&value_of) {
                Ok(0.0) => {}
                Ok(_) => return Ok(true),
                Err(error) => {
                    let trouble = Trouble::new(error.to_string(), "");
                    return Err(source.mistake(skip.line, "skip.when", when.text(), trouble));
                }
            }
        }
        Ok(false)
    }

    /// The number that a formula calls so, where all settings are known.
    fn number(&self, values: &[Option<Arc<str>>], name: &str) -> Option<f64> {
        match self.called(name) {
            Some(index) => values[index].as_ref()?.parse().ok(),
            None => {
                let topology = self.settings.iter().position(|setting| &**setting.key.name() == "topology")?;
                size_of(values[topology].as_deref()?)
            }
        }
    }

    /// A mistake at a value, with the combination in which it is one.
    fn mistake_at(&self, source: Source<'_>, chosen: &[&Raw], index: usize, mut trouble: Trouble) -> Mistake {
        let others = (0..chosen.len()).filter(|other| *other != index && self.values[*other].len() > 1);
        let shown: Vec<String> = others
            .map(|other| format!("{} = {}", self.settings[other].key.name(), short(&chosen[other].text)))
            .collect();
        if !shown.is_empty() {
            trouble.problem = format!("where {}: {}", shown.join(", "), trouble.problem);
        }
        let key = format!("vary.{}", self.settings[index].key.name());
        source.mistake(chosen[index].line, &key, &chosen[index].text, trouble)
    }
}
