//! Findings for people: a page, tables for LaTeX, and files of data.
//!
//! | file | what it is |
//! |---|---|
//! | `index.html` | everything on one page, which needs nothing else and no network |
//! | `findings.csv`, `.parquet` | a row for each finding |
//! | `tables/TEXT.tex` | the same for LaTeX (booktabs) |
//! | `figures/EXPERIMENT-PLOT.svg` | each figure |
//! | `runs/EXPERIMENT….svg`, `.txt` | each worked example: a diagram, and every event |
//! | `data/EXPERIMENT.csv`, `.parquet` | every run of each experiment, with its inputs and its seed |
//! | `data/EXPERIMENT.toml` | the experiment itself, for `hustings sweep` |

mod columns;
mod data;
mod html;
mod latex;
mod notes;

use std::io;
use std::path::Path;

use crate::files::write_whole;
use crate::findings::{Laboratory, Study};
use crate::table::csv;
use crate::table::parquet;
use crate::texts;

pub use data::findings as findings_table;
pub use html::page;
pub use latex::tables;

/// Why a report was not written.
#[derive(Debug, thiserror::Error)]
#[error("`{path}`: {error}")]
pub struct ReportError {
    /// Which file or folder.
    pub path: String,
    /// Why not.
    pub error: io::Error,
}

/// Makes the folders of a report, so that it shows at once whether it can be written.
pub fn prepare(folder: &Path) -> Result<(), ReportError> {
    for name in ["tables", "figures", "runs", "data"] {
        let path = folder.join(name);
        std::fs::create_dir_all(&path).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Writes everything into a folder, which is made if it is not there. Files of the same names are replaced.
pub fn write(studies: &[Study], laboratory: &Laboratory<'_>, folder: &Path) -> Result<(), ReportError> {
    prepare(folder)?;
    let put = |name: String, bytes: &[u8]| {
        let path = folder.join(name);
        write_whole(&path, |out| out.write_all(bytes)).map_err(|error| failed(&path, error))
    };
    for study in studies {
        put(format!("tables/{}.tex", study.text.name), latex::tables(study).as_bytes())?;
        for answer in &study.answers {
            for figure in &answer.figures {
                put(format!("figures/{}.svg", figure.name), figure.svg.as_bytes())?;
            }
            if let Some(drawing) = &answer.drawing {
                let name = format!("runs/{}-{}", study.text.name, answer.item.id);
                put(format!("{name}.svg"), drawing.svg.as_bytes())?;
                put(format!("{name}.txt"), drawing.text.as_bytes())?;
            }
        }
    }
    let table = data::findings(studies).map_err(|error| failed(folder, io::Error::other(error)))?;
    let mut tables = vec![("findings".to_string(), table)];
    for results in laboratory.all() {
        tables.push((format!("data/{}", results.name), results.table.clone()));
        if let Some((text, _)) = texts::experiment(&results.name) {
            put(format!("data/{}.toml", results.name), text.as_bytes())?;
        }
    }
    for (name, table) in &tables {
        let path = folder.join(format!("{name}.csv"));
        write_whole(&path, |out| csv::write(table, out)).map_err(|error| failed(&path, error))?;
        let path = folder.join(format!("{name}.parquet"));
        write_whole(&path, |out| parquet::write(table, out).map_err(io::Error::other))
            .map_err(|error| failed(&path, error))?;
    }
    // The page comes last: where there is one, all that it speaks of is there.
    put("index.html".to_string(), html::page(studies).as_bytes())
}

fn failed(path: &Path, error: io::Error) -> ReportError {
    ReportError { path: path.display().to_string(), error }
}

#[cfg(test)]
mod tests;
