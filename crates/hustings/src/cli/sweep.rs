//! `hustings sweep`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use hustings_elections::Catalogue;
use hustings_papers::experiment::{Experiment, MAX_BYTES};
use hustings_papers::sweep::{self, OpenSweep, Progress, StartMode, Store, SweepError};
use indicatif::{HumanDuration, ProgressBar};
use serde_json::json;

use super::args::Format;
use super::console::{Console, Exit, threads};
use super::failure::{Failure, warn};
use super::read::{read, thread_count};
use super::signals::stop_flag;

const EXAMPLES: &str = "Examples:
  hustings sweep rings.toml --dry-run              prints the number of runs and the estimated time
  hustings sweep rings.toml --out results          writes results/NAME.csv and results/NAME.parquet
  hustings sweep rings.toml --out results --resume continues an interrupted sweep

A small experiment file (docs/research.md describes the format):

  version = 1
  name = \"rings\"
  seed = 1979
  repetitions = 100
  [vary]
  algorithm = [\"chang-roberts\", \"franklin\"]
  nodes = \"2^3..2^10\"
  ids = \"random\"

Exit codes: 0 done; 2 wrong use; 3 a file cannot be read or written; 130 stopped by Ctrl-C, continue with --resume.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// The experiment file.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// The folder of the results.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// The number of threads; it does not affect the results [default: one per core].
    #[arg(long, value_name = "N", value_parser = read(thread_count), allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Continues an interrupted sweep.
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Replaces existing results.
    #[arg(long)]
    force: bool,
    /// Runs only a few elections, and estimates the time of all.
    #[arg(long)]
    dry_run: bool,
    /// Keeps the log after completion.
    #[arg(long)]
    keep_log: bool,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &SweepArgs, catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let experiment = load(&args.file, catalogue)?;
    let threads = threads(args.threads);
    let warnings = sweep::check(&experiment).map_err(SweepError::from)?;
    warnings.iter().for_each(|warning| warn(console, warning));
    if args.dry_run {
        return dry_run(&experiment, threads, args.format, console);
    }
    let store = Store::new(&args.out, &experiment);
    let mode = match (args.resume, args.force) {
        (true, _) => StartMode::Resume,
        (_, true) => StartMode::Replace,
        _ => StartMode::Fresh,
    };
    let Some(mut opened) = store.open(&experiment, mode)? else {
        return complete(&experiment, &store, None, args.format, console);
    };
    if opened.cut > 0 {
        let cut = format!("the log is damaged at its end; the runs of its last {} bytes are repeated", opened.cut);
        warn(console, &cut);
    }
    let resumed = opened.results().done();
    let stop = stop_flag().map_err(Failure::Signals)?;
    let bar = bar(console, experiment.runs(), resumed);
    let ran = opened.run(&experiment, threads, &stop, &mut |progress| show(&bar, progress, &stop));
    bar.finish_and_clear();
    ran?;
    if !opened.results().is_complete() {
        return Ok(stopped(args, &experiment, &opened, console));
    }
    store.write(&opened.results().table(&experiment)?)?;
    if !args.keep_log {
        store.remove_log()?;
    }
    complete(&experiment, &store, Some((&opened, resumed)), args.format, console)
}

/// Reads an experiment file.
pub(crate) fn load(path: &Path, catalogue: &Catalogue) -> Result<Experiment, Failure> {
    let shown = path.display().to_string();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text));
    read.map_err(|error| Failure::Experiment { path: shown.clone(), error })?;
    Ok(Experiment::parse_with(&shown, &text, catalogue).map_err(SweepError::from)?)
}

fn dry_run(
    experiment: &Experiment,
    threads: usize,
    format: Format,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let working = console.spinner("running a few elections".to_string());
    let estimate = sweep::estimate(experiment, threads).map_err(SweepError::from)?;
    drop(working);
    let (points, repetitions, runs) = (experiment.points().len(), experiment.repetitions, experiment.runs());
    match format {
        Format::Json => {
            let object = json!({
                "experiment": experiment.name,
                "points": points,
                "repetitions": repetitions,
                "runs": runs,
                "threads": threads,
                "seconds": estimate.time.as_secs_f64(),
                "at_least": estimate.at_least,
            });
            writeln!(console.out, "{object}")?;
        }
        Format::Text => {
            heading(experiment, console)?;
            let (time, on) = (approximate(estimate.time), counted(threads as u64, "thread"));
            if estimate.at_least {
                writeln!(console.out, "more than {time} on {on}: no run ended during the trial")?;
            } else {
                writeln!(console.out, "about {time} on {on}, estimated from a few runs")?;
            }
        }
    }
    Ok(Exit::Done)
}

/// A duration, rounded to the precision of an estimate.
fn approximate(duration: Duration) -> String {
    if duration < Duration::from_secs(1) { "a second".to_string() } else { HumanDuration(duration).to_string() }
}

/// A number with its noun: `1 run`, `2 runs`.
fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn heading(experiment: &Experiment, console: &mut Console<'_>) -> io::Result<()> {
    let title = if experiment.title.is_empty() { String::new() } else { format!(": {}", experiment.title) };
    writeln!(console.out, "{}{title}", experiment.name)?;
    let points = counted(experiment.points().len() as u64, "point");
    let times =
        if experiment.repetitions == 1 { "once".to_string() } else { format!("{} times", experiment.repetitions) };
    writeln!(console.out, "{points}, {times} each: {}", counted(experiment.runs(), "run"))
}

fn bar(console: &Console<'_>, runs: u64, done: u64) -> ProgressBar {
    let bar = console.progress_bar(runs, "{bar:40} {human_pos} of {human_len} runs, {elapsed} elapsed, {msg}");
    bar.set_position(done);
    bar.set_message("…");
    bar
}

fn show(bar: &ProgressBar, progress: Progress, stop: &AtomicBool) {
    bar.set_position(progress.done);
    if stop.load(Ordering::Relaxed) {
        bar.set_message("finishing the current runs; press Ctrl-C again to stop immediately");
    } else if let Some(left) = progress.left {
        bar.set_message(format!("{} left", approximate(left)));
    }
}

fn stopped(args: &SweepArgs, experiment: &Experiment, opened: &OpenSweep, console: &mut Console<'_>) -> Exit {
    let (done, runs) = (opened.results().done(), experiment.runs());
    let (file, out) = (args.file.display(), args.out.display());
    // If this cannot be written, the exit code still reports it.
    let _ = writeln!(
        console.err,
        "stopped: {done} of {runs} runs are done and kept\ncontinue with: hustings sweep {file} --out {out} --resume"
    );
    Exit::Stopped
}

/// Prints the result of a complete sweep. `ran` is `None` if it was complete before.
fn complete(
    experiment: &Experiment,
    store: &Store,
    ran: Option<(&OpenSweep, u64)>,
    format: Format,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let (csv, parquet) = (store.csv.display(), store.parquet.display());
    let summary = ran.map(|(opened, _)| opened.results().summary());
    let resumed = ran.map_or(experiment.runs(), |(_, resumed)| resumed);
    match format {
        Format::Json => {
            let object = json!({
                "experiment": experiment.name,
                "points": experiment.points().len(),
                "repetitions": experiment.repetitions,
                "runs": experiment.runs(),
                "resumed": resumed,
                "csv": csv.to_string(),
                "parquet": parquet.to_string(),
                "disagreed": summary.map(|summary| summary.disagreed),
                "hung": summary.map(|summary| summary.hung),
                "without_second": summary.map(|summary| summary.without_second),
            });
            writeln!(console.out, "{object}")?;
        }
        Format::Text => {
            heading(experiment, console)?;
            if resumed > 0 {
                writeln!(console.out, "{resumed} of them were done before")?;
            }
            if let Some(summary) = summary {
                for (count, what) in [
                    (summary.disagreed, "did not end in agreement"),
                    (summary.hung, "had messages in flight at the last tick"),
                    (
                        summary.without_second,
                        "had no second phase, because the first had no leader or never became quiet",
                    ),
                ] {
                    if count > 0 {
                        writeln!(console.out, "{count} of them {what}")?;
                    }
                }
            }
            writeln!(console.out, "{csv}\n{parquet}")?;
        }
    }
    Ok(Exit::Done)
}
