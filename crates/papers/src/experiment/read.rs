//! Parses an experiment file.

use hustings_elections::Catalogue;
use hustings_text::{nearest, quote};

use super::document::{Node, Source};
use super::error::{Diagnostic, ExperimentError};
use super::grid::Grid;
use super::plots;
use super::{Experiment, MAX_RUNS};

const KEYS: [&str; 10] = ["version", "name", "title", "about", "seed", "repetitions", "pair", "vary", "skip", "plot"];

/// The maximum number of repetitions of a point.
const MAX_REPETITIONS: u64 = 1_000_000;

pub(super) fn experiment(file: &str, text: &str, catalogue: &Catalogue) -> Result<Experiment, ExperimentError> {
    let source = Source::new(file, text);
    let root = source.parse()?;
    let top = root.entries(source)?;
    known_only(source, top, &KEYS)?;
    let find = |name: &str| top.iter().find(|node| node.name() == name);
    let needed = |name: &str, allowed: &str| {
        find(name).ok_or_else(|| source.error(1, name, "", Diagnostic::new("this key is missing", allowed)))
    };
    // The version comes first, because it determines the meaning of everything else.
    needed("version", "version = 1")?.whole(source, 1, 1)?;
    let name = needed("name", "a name for the files, such as name = \"candidates\"")?;
    let title = find("title").map(|node| node.text(source, 200)).transpose()?.unwrap_or_default();
    let about = find("about").map(|node| node.text(source, 10_000)).transpose()?.unwrap_or_default();
    let seed = find("seed").map(|node| node.whole(source, 0, i64::MAX as u64)).transpose()?.unwrap_or_default();
    let repetitions = find("repetitions").map(|node| node.whole(source, 1, MAX_REPETITIONS)).transpose()?.unwrap_or(1);
    let vary = needed("vary", "[vary] with the settings below it")?;
    let mut grid = Grid::read(source, vary, catalogue)?;
    if let Some(pair) = find("pair") {
        grid.pair(source, pair)?;
    }
    let skips = match find("skip") {
        Some(skip) => grid.skips(source, skip)?,
        None => Vec::new(),
    };
    let points = grid.points(source, seed, &skips)?;
    let runs = points.len() as u64 * repetitions;
    if runs > MAX_RUNS {
        let problem = format!("{} points, {repetitions} times each, are {runs} runs", points.len());
        let line = find("repetitions").map_or(vary.line, |node| node.line);
        let diagnostic = Diagnostic::new(problem, format!("at most {MAX_RUNS} runs"));
        return Err(source.error(line, "repetitions", &repetitions.to_string(), diagnostic));
    }
    let plots = find("plot").map(|plot| plots::read(source, plot, &grid)).transpose()?.unwrap_or_default();
    Ok(Experiment {
        file: file.to_string(),
        name: file_name(source, name)?,
        title: title.to_string(),
        about: about.to_string(),
        seed,
        repetitions: repetitions as u32,
        plots,
        settings: grid.into_settings(),
        points,
        catalogue: catalogue.clone(),
    })
}

/// A text that is valid in file names on every system.
pub(super) fn file_name(source: Source<'_>, node: &Node) -> Result<String, ExperimentError> {
    let name = node.text(source, 64)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(plain) || name.starts_with('-') {
        let allowed = "letters a to z, digits, - and _, not starting with -";
        return Err(source.at(node, Diagnostic::new("this is not valid in a file name", allowed)));
    }
    Ok(name.to_string())
}

/// Rejects unknown keys.
pub(super) fn known_only(source: Source<'_>, entries: &[Node], known: &[&str]) -> Result<(), ExperimentError> {
    match entries.iter().find(|node| !known.contains(&node.name())) {
        None => Ok(()),
        Some(node) => {
            let near = nearest(node.name(), known.iter().copied()).map(str::to_string);
            let problem = format!("unknown key `{}`", quote(node.name()));
            Err(source.error(
                node.line,
                &node.key,
                "",
                Diagnostic { problem, allowed: known.join(", "), nearest: near },
            ))
        }
    }
}
