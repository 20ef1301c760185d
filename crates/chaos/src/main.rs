//! Injects faults into a real cluster by a seed, and checks the history of what its clients saw.
//!
//! - [`schedule`]: which fault happens when, decided by a seed; [`active_faults`]: what that means for nodes and links.
//! - [`setup`], [`nodes`], [`net`], [`disk`], [`device`], [`members`]: real `hustings node` processes, their network
//!   and disks.
//! - [`client`], [`http_client`], [`reader`], [`keeper`], [`store`]: clients that campaign, write, and store and read
//!   states; [`operator`]: transfers, pauses, and membership changes.
//! - [`hogs`], [`loads`]: programs that burden the nodes and their host.
//! - [`history`]: the record of what happened; [`checker`]: finds violations in it.
//! - [`runner`]: one whole run; [`report`], [`conclusion`]: its result.
//! - [`exclusion`]: another experiment, about the commands that `hustings run` runs.

mod active_faults;
mod checker;
mod cleanup;
mod client;
mod clock;
mod conclusion;
mod device;
mod disk;
mod exclusion;
mod fault_kind;
mod history;
mod hogs;
mod holding;
mod http_client;
mod http_socket;
mod keeper;
mod launch;
mod loads;
mod members;
mod net;
mod nodes;
mod operator;
mod options;
mod reader;
mod report;
mod rng;
mod runner;
mod schedule;
mod setup;
mod shared;
mod socket;
mod store;
mod watchdog;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;

use crate::conclusion::Conclusion;
use crate::options::{Command, Format, Options, Run};
use crate::report::Report;
use crate::runner::{Outcome, Runner};
use crate::setup::Cluster;

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match &options.command {
        Some(Command::Launch(launch)) => Err(launch::launch(launch)),
        Some(Command::Judge { file }) if file.is_dir() => exclusion::judge_folder(file),
        Some(Command::Judge { file }) => check_history(file),
        Some(Command::Hogs(options)) => hogs::work(options).map(|()| Conclusion::Passed),
        Some(Command::Flood { targets }) => loads::flood(targets).map(|()| Conclusion::Passed),
        Some(Command::Recorder(options)) => Err(exclusion::record(options)),
        Some(Command::Run(options)) => {
            in_folder(options.keep.as_deref(), |folder, interrupt| exclusion::run(options, folder, interrupt))
        }
        None => run(&options.run),
    };
    let conclusion = result.unwrap_or_else(|error| {
        say(&format!("hustings-chaos: {error}"));
        Conclusion::CouldNotRun
    });
    conclusion.into()
}

/// Prints progress and errors, which are not part of the result.
fn say(text: &str) {
    // Without a standard error there is nobody to tell.
    let _ = writeln!(io::stderr(), "{text}");
}

fn run(run: &Run) -> io::Result<Conclusion> {
    in_folder(run.keep.as_deref(), |folder, interrupt| {
        let outcome = inject_faults(run, folder, interrupt)?;
        let verdict = checker::check(&history::read(&folder.join("history.jsonl"))?);
        let report = Report { run, outcome: &outcome, verdict: &verdict };
        match run.format {
            Format::Text => io::stdout().write_all(report.text().as_bytes())?,
            Format::Json => writeln!(io::stdout(), "{:#}", report.json())?,
        }
        Ok(report.conclusion())
    })
}

/// Carries out a run in a folder, which is removed if the run passes and the user did not ask to keep it.
fn in_folder(
    keep: Option<&Path>,
    carry_out: impl FnOnce(&Path, &AtomicBool) -> io::Result<Conclusion>,
) -> io::Result<Conclusion> {
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupt))?;
    }
    cleanup::remove_orphans();
    let folder = create_folder(keep)?;
    let conclusion = carry_out(&folder, &interrupt);
    if matches!(conclusion, Ok(Conclusion::Passed)) && keep.is_none() {
        fs::remove_dir_all(&folder)?;
    } else {
        say(&format!("history and logs are kept in {}", folder.display()));
    }
    conclusion
}

/// Creates the folder for the run's files.
fn create_folder(keep: Option<&Path>) -> io::Result<PathBuf> {
    let folder = match keep {
        Some(folder) => std::path::absolute(folder)?,
        None => std::env::temp_dir().join(format!("hustings-chaos-{}", std::process::id())),
    };
    let made = fs::create_dir(&folder);
    made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?;
    Ok(folder)
}

fn inject_faults(run: &Run, folder: &Path, interrupt: &AtomicBool) -> io::Result<Outcome> {
    let cluster = Cluster::new(run, folder)?;
    let seed = run.seed;
    let progress = move |text: &str| say(&format!("seed {seed}: {text}"));
    Runner::new(cluster, &folder.join("history.jsonl"), interrupt, &progress)?.run(run.clients, run.http_clients)
}

fn check_history(file: &Path) -> io::Result<Conclusion> {
    let verdict = checker::check(&history::read(file)?);
    let mut out = io::stdout();
    for violation in &verdict.violations {
        writeln!(out, "{} at {}: {}", violation.rule, violation.at, violation.what)?;
    }
    writeln!(out, "{} tenures, {} reads, {} violations", verdict.tenures, verdict.reads, verdict.violations.len())?;
    if let Some(why) = &verdict.inconclusive {
        writeln!(out, "inconclusive: {why}")?;
    }
    Ok(Conclusion::new(verdict.violations.len(), false, verdict.inconclusive.is_some()))
}
