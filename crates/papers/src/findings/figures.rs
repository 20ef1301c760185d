//! The figures of an item: plots of its experiments.

use super::{Laboratory, StudyError};
use crate::plot::{Chart, svg};
use crate::texts::Item;

/// A figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Names its file.
    pub name: String,
    /// Whose results it shows.
    pub experiment: String,
    /// What it looks like.
    pub svg: String,
}

pub(super) fn drawn(item: &Item, laboratory: &Laboratory<'_>) -> Result<Vec<Figure>, StudyError> {
    item.figures.iter().map(|name| one(name, item, laboratory)).collect()
}

fn one(name: &str, item: &Item, laboratory: &Laboratory<'_>) -> Result<Figure, StudyError> {
    let (experiment, plot) = match (name.split_once('/'), &item.experiment) {
        (Some((experiment, plot)), _) => (experiment, plot),
        (None, Some(experiment)) => (experiment.as_str(), name),
        (None, None) => return Err(StudyError::new(name, "no experiment is named")),
    };
    let results = laboratory.results(experiment)?;
    let plots = results.experiment.iter().flat_map(|experiment| &experiment.plots);
    let Some(spec) = plots.into_iter().find(|spec| spec.name == plot) else {
        return Err(StudyError::new(experiment, format!("it has no plot `{plot}`")));
    };
    let chart = Chart::from_table(&results.table, spec).map_err(|error| StudyError::new(name, error))?;
    Ok(Figure { name: format!("{experiment}-{plot}"), experiment: experiment.to_string(), svg: svg(&chart) })
}
