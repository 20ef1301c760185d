//! Breaks a real cluster on purpose, and judges what its clients saw.
//!
//! - [`schedule`]: what is broken when, decided by a seed; [`world`]: what that means for nodes and links.
//! - [`setup`], [`nodes`], [`net`], [`disk`], [`members`]: real `hustings node` processes and what is around them.
//! - [`client`], [`reader`], [`store`]: programs that campaign, write and read.
//! - [`history`]: the record; [`judge`]: what must not be in it.
//! - [`drive`]: all of it, once; [`report`]: what it came to.

mod client;
mod clock;
mod conclusion;
mod disk;
mod drive;
mod history;
mod judge;
mod launch;
mod leftovers;
mod members;
mod net;
mod nodes;
mod options;
mod reader;
mod report;
mod rng;
mod scene;
mod schedule;
mod setup;
mod socket;
mod store;
mod watchdog;
mod world;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;

use crate::conclusion::Conclusion;
use crate::drive::{Drive, Outcome};
use crate::options::{Command, Format, Options, Run};
use crate::report::Report;
use crate::setup::Cluster;

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match &options.command {
        Some(Command::Launch(launch)) => Err(launch::launch(launch)),
        Some(Command::Judge { file }) => judge_again(file),
        None => run(&options.run),
    };
    let conclusion = result.unwrap_or_else(|error| {
        say(&format!("hustings-chaos: {error}"));
        Conclusion::CouldNotRun
    });
    conclusion.into()
}

/// Progress and errors: not part of the result.
fn say(text: &str) {
    // Nobody listens: nothing to be done.
    let _ = writeln!(io::stderr(), "{text}");
}

fn run(run: &Run) -> io::Result<Conclusion> {
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupt))?;
    }
    leftovers::remove();
    let folder = folder(run)?;
    let outcome = break_things(run, &folder, &interrupt);
    let outcome = outcome.inspect_err(|_| say(&format!("everything is kept in {}", folder.display())))?;
    let verdict = judge::judge(&history::read(&folder.join("history.jsonl"))?);
    let report = Report { run, outcome: &outcome, verdict: &verdict };
    match run.format {
        Format::Text => io::stdout().write_all(report.text().as_bytes())?,
        Format::Json => writeln!(io::stdout(), "{:#}", report.json())?,
    }
    let conclusion = report.conclusion();
    if conclusion == Conclusion::Passed && run.keep.is_none() {
        fs::remove_dir_all(&folder)?;
    } else {
        say(&format!("history and logs are kept in {}", folder.display()));
    }
    Ok(conclusion)
}

/// A new folder for everything.
fn folder(run: &Run) -> io::Result<PathBuf> {
    let folder = match &run.keep {
        Some(folder) => std::path::absolute(folder)?,
        None => std::env::temp_dir().join(format!("hustings-chaos-{}", std::process::id())),
    };
    let made = fs::create_dir(&folder);
    made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?;
    Ok(folder)
}

fn break_things(run: &Run, folder: &Path, interrupt: &AtomicBool) -> io::Result<Outcome> {
    let cluster = Cluster::new(run, folder)?;
    let seed = run.seed;
    let progress = move |text: &str| say(&format!("seed {seed}: {text}"));
    Drive::new(cluster, &folder.join("history.jsonl"), interrupt, &progress)?.run(run.clients)
}

fn judge_again(file: &Path) -> io::Result<Conclusion> {
    let verdict = judge::judge(&history::read(file)?);
    let mut out = io::stdout();
    for violation in &verdict.violations {
        writeln!(out, "{} at {}: {}", violation.rule, violation.at, violation.what)?;
    }
    writeln!(out, "{} claims, {} reads, {} violations", verdict.claims, verdict.reads, verdict.violations.len())?;
    if let Some(why) = &verdict.inconclusive {
        writeln!(out, "inconclusive: {why}")?;
    }
    Ok(Conclusion::new(verdict.violations.len(), false, verdict.inconclusive.is_some()))
}
