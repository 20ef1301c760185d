//! Checks what `hustings run` promises: the command of one host is dead before it starts on another.
//!
//! Every host runs a node and `hustings run job --restart always -- recorder`, while their processes are killed and
//! frozen and hosts are cut off.
//!
//! - [`recorder`]: the command; it writes down when it was alive.
//! - [`schedule`]: which fault happens when, decided by a seed; [`active`]: which faults may be active together.
//! - [`site`], [`processes`]: the hosts, and the processes of `hustings run` on them.
//! - [`experiment`]: one whole run; [`judge`]: finds overlaps in the recordings; [`report`]: the result.

mod active;
mod experiment;
mod judge;
mod options;
mod processes;
mod recorder;
mod report;
mod schedule;
mod site;

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub(crate) use options::ExclusionOptions;
pub(crate) use recorder::{RecorderOptions, record};

use crate::conclusion::Conclusion;
use crate::options::Format;
use experiment::Experiment;
use report::Report;
use site::Site;

/// Carries out one run in a folder and prints its result.
pub(crate) fn run(options: &ExclusionOptions, folder: &Path, interrupt: &AtomicBool) -> io::Result<Conclusion> {
    let site = Site::new(options, folder)?;
    let recordings = site.recordings.clone();
    let outcome = Experiment::new(options, site, &folder.join("faults.jsonl"), interrupt)?.run()?;
    let verdict = judge::judge(&judge::read(&recordings)?);
    let report = Report { options, outcome: &outcome, verdict: &verdict };
    match options.format {
        Format::Text => io::stdout().write_all(report.text().as_bytes())?,
        Format::Json => writeln!(io::stdout(), "{:#}", report.json())?,
    }
    Ok(report.conclusion())
}

/// Judges the recordings of an earlier run.
pub(crate) fn judge_folder(folder: &Path) -> io::Result<Conclusion> {
    let verdict = judge::judge(&judge::read(folder)?);
    let mut out = io::stdout();
    for violation in &verdict.violations {
        writeln!(out, "{violation}")?;
    }
    writeln!(out, "{} tenures, {} violations", verdict.tenures, verdict.violations.len())?;
    Ok(Conclusion::new(verdict.violations.len(), false, false))
}
