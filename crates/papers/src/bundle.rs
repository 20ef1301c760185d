//! One archive with everything that a result rests on: experiments, seeds, results, version, and the command that
//! reproduces it.
//!
//! | file | contents |
//! |---|---|
//! | `README.txt` | the version of the program, and the command that writes the same archive again |
//! | `papers/PAPER.toml`, `papers/EXPERIMENT.toml` | the papers and their experiments, with their master seeds |
//! | `report/…` | the report: `data/EXPERIMENT.csv` has each run with its inputs, seed and results |
//! | `MANIFEST.csv` | the length and the CRC-32 of each file |
//!
//! The archive holds no time, user or path, and its files are sorted: the same version writes the same bytes.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::comparison::{PaperComparison, ResultCache};
use crate::files::write_whole;
use crate::published;
use crate::report::{self, ReportError};

/// A file of the archive.
type Entry = (String, Vec<u8>);

/// Writes the archive. `command` is what to type in the unpacked folder to write it again, `date` that of the program.
pub fn write(
    comparisons: &[PaperComparison],
    cache: &ResultCache<'_>,
    command: &str,
    date: Option<&str>,
    path: &Path,
) -> Result<(), ReportError> {
    let failed = |error: io::Error| ReportError { path: path.display().to_string(), error };
    let folder = tempfile::tempdir().map_err(failed)?;
    report::write(comparisons, cache, date, folder.path())?;
    let mut entries = Vec::new();
    collect(folder.path(), "report", &mut entries).map_err(failed)?;
    for comparison in comparisons {
        let name = format!("papers/{}.toml", comparison.paper.name);
        entries.push((name, published::source(comparison.paper).as_bytes().to_vec()));
        // The words of a text can be checked without the text, which may not be ours to publish.
        if let Some((name, words)) = published::words_file(comparison.paper) {
            entries.push((format!("papers/{name}"), words.into_bytes()));
        }
    }
    for results in cache.all() {
        if let Some(text) = &results.file {
            entries.push((format!("papers/{}.toml", results.name), text.as_bytes().to_vec()));
        }
    }
    entries.push(("README.txt".to_string(), readme(comparisons, command).into_bytes()));
    entries.sort();
    entries.push(("MANIFEST.csv".to_string(), manifest(&entries).into_bytes()));
    write_whole(path, |out| archive(&entries, out)).map_err(failed)
}

/// All files below a folder.
fn collect(folder: &Path, prefix: &str, entries: &mut Vec<Entry>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, entries)?;
        } else {
            entries.push((name, fs::read(entry.path())?));
        }
    }
    Ok(())
}

fn readme(comparisons: &[PaperComparison], command: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let papers: Vec<String> =
        comparisons.iter().map(|one| format!("  {}: {}", one.paper.authors, one.paper.title)).collect();
    format!(
        "Results of hustings {version}, compared with:\n{}\n\n\
         This command, typed in this folder, writes this archive again, bit for bit:\n\n  {command}\n\n\
         papers/       the papers and the experiments, with their master seeds\n\
         report/       the report: open report/index.html\n\
         report/data/  each run: its inputs, its seed and its results\n\
         MANIFEST.csv  the length and the CRC-32 of each file\n\n\
         A single experiment:  hustings sweep papers/NAME.toml --out results\n",
        papers.join("\n")
    )
}

fn manifest(entries: &[Entry]) -> String {
    let line = |(name, bytes): &Entry| format!("{name},{},{:08x}\n", bytes.len(), crc32fast::hash(bytes));
    std::iter::once("file,bytes,crc32\n".to_string()).chain(entries.iter().map(line)).collect()
}

fn archive(entries: &[Entry], out: &mut (dyn Write + Send)) -> io::Result<()> {
    let mut archive = tar::Builder::new(out);
    for (name, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        archive.append_data(&mut header, format!("bundle/{name}"), bytes.as_slice())?;
    }
    archive.finish()
}
