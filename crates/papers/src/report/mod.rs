//! Reports: a web page, LaTeX tables, and data files.
//!
//! | file | contents |
//! |---|---|
//! | `index.html` | the whole report on one self-contained page |
//! | `findings.csv`, `.csv-metadata.json`, `.parquet` | a row for each finding |
//! | `references.bib` | BibTeX entries of the program and the papers |
//! | `tables/PAPER.tex` | the same for LaTeX (booktabs) |
//! | `figures/EXPERIMENT-PLOT.svg` | each figure |
//! | `runs/PAPER-ITEM.svg`, `.txt`, `-picture.svg` | each worked example: a diagram, its trace, and the network |
//! | `data/EXPERIMENT.csv`, `.csv-metadata.json`, `.parquet` | every run of each experiment |
//! | `data/EXPERIMENT.toml` | the experiment itself, for `hustings sweep` |
//! | `data/paper-PAPER.toml` | a paper that is not part of the program, for `hustings papers` |

mod bibtex;
mod columns;
mod commands;
mod data;
mod html;
mod latex;
mod notes;
mod sentences;
mod summary;
mod tables;

use std::io;
use std::path::Path;

use crate::comparison::{PaperComparison, ResultCache};
use crate::files::write_whole;
use crate::published;
use crate::table::file::write_csv;
use crate::table::parquet;

/// Why a report cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("`{path}`: {error}")]
pub struct ReportError {
    /// The file or folder.
    pub path: String,
    /// The cause.
    pub error: io::Error,
}

/// Creates the folders of a report, so that a problem shows before anything runs.
pub fn prepare(folder: &Path) -> Result<(), ReportError> {
    for name in ["tables", "figures", "runs", "data"] {
        let path = folder.join(name);
        std::fs::create_dir_all(&path).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// The day on which this version was released; `None` if it is not yet.
pub fn release_date() -> Option<&'static str> {
    const CITATION: &str = include_str!("../../../../CITATION.cff");
    let day = CITATION.lines().find_map(|line| line.strip_prefix("date-released:"))?;
    Some(day.trim().trim_matches(['"', '\'']))
}

/// Writes a report into a folder, which is created if necessary. Existing files are replaced. `date` is the date of the
/// program, by default that of its release: not that of the day, since the same version writes the same bytes.
pub fn write(
    comparisons: &[PaperComparison],
    cache: &ResultCache<'_>,
    date: Option<&str>,
    folder: &Path,
) -> Result<(), ReportError> {
    let date = date.or(release_date());
    prepare(folder)?;
    let put = |name: String, bytes: &[u8]| {
        let path = folder.join(name);
        write_whole(&path, |out| out.write_all(bytes)).map_err(|error| failed(&path, error))
    };
    for comparison in comparisons {
        if let Some(name) = commands::file_of(comparison.paper) {
            put(name, published::source(comparison.paper).as_bytes())?;
            if let Some((name, words)) = published::words_file(comparison.paper) {
                put(format!("data/{name}"), words.as_bytes())?;
            }
        }
        put(format!("tables/{}.tex", comparison.paper.name), latex::tables(comparison).as_bytes())?;
        for item in &comparison.items {
            for figure in &item.figures {
                put(format!("figures/{}.svg", figure.name), figure.svg.as_bytes())?;
            }
            if let Some(drawing) = &item.drawing {
                let name = format!("runs/{}-{}", comparison.paper.name, item.item.id);
                put(format!("{name}.svg"), drawing.svg.as_bytes())?;
                put(format!("{name}.txt"), drawing.text.as_bytes())?;
                if let Some(picture) = &drawing.picture {
                    put(format!("{name}-picture.svg"), picture.as_bytes())?;
                }
            }
        }
    }
    put("references.bib".to_string(), bibtex::entries(comparisons, date).as_bytes())?;
    let table = data::findings(comparisons).map_err(|error| failed(folder, io::Error::other(error)))?;
    let mut tables = vec![("findings".to_string(), table)];
    for results in cache.all() {
        tables.push((format!("data/{}", results.name), results.table.clone()));
        if let Some(text) = &results.file {
            put(format!("data/{}.toml", results.name), text.as_bytes())?;
        }
    }
    for (name, table) in &tables {
        let path = folder.join(format!("{name}.csv"));
        write_csv(&path, table).map_err(|error| failed(&path, error))?;
        let path = folder.join(format!("{name}.parquet"));
        write_whole(&path, |out| parquet::write(table, out).map_err(io::Error::other))
            .map_err(|error| failed(&path, error))?;
    }
    // The page comes last, so that everything it links to exists.
    put("index.html".to_string(), html::page(comparisons, date).as_bytes())
}

fn failed(path: &Path, error: io::Error) -> ReportError {
    ReportError { path: path.display().to_string(), error }
}

#[cfg(test)]
mod tests;
