//! The figures of an item: plots of its experiments.

use super::{CompareError, ResultCache};
use crate::plot::{Chart, svg};
use crate::published::Item;

/// A plot of measured results.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// The name of its file.
    pub name: String,
    /// The experiment whose results it shows.
    pub experiment: String,
    /// The picture.
    pub svg: String,
}

pub(super) fn drawn(item: &Item, cache: &ResultCache<'_>) -> Result<Vec<Figure>, CompareError> {
    item.figures.iter().map(|name| one(name, item, cache)).collect()
}

fn one(name: &str, item: &Item, cache: &ResultCache<'_>) -> Result<Figure, CompareError> {
    let (experiment, plot) = match (name.split_once('/'), &item.experiment) {
        (Some((experiment, plot)), _) => (experiment, plot),
        (None, Some(experiment)) => (experiment.as_str(), name),
        (None, None) => return Err(CompareError::new(name, "no experiment is named")),
    };
    let results = cache.results(experiment)?;
    let plots = results.experiment.iter().flat_map(|experiment| &experiment.plots);
    let Some(spec) = plots.into_iter().find(|spec| spec.name == plot) else {
        return Err(CompareError::new(experiment, format!("it has no plot `{plot}`")));
    };
    let chart = Chart::from_table(&results.table, spec).map_err(|error| CompareError::new(name, error))?;
    Ok(Figure { name: format!("{experiment}-{plot}"), experiment: experiment.to_string(), svg: svg(&chart) })
}
