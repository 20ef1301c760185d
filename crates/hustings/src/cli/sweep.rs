//! `hustings sweep`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use hustings_elections::Catalogue;
use hustings_papers::experiment::{Experiment, MAX_BYTES};
use hustings_papers::sweep::{self, Begin, Opened, Progress, Store, SweepError};
use hustings_sim::parse;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use serde_json::json;

use super::args::Format;
use super::console::{Console, Exit};
use super::failure::{Failure, warn};
use super::read::read;
use super::signals::stop_flag;

const EXAMPLES: &str = "Examples:
  hustings sweep rings.toml --dry-run              how many runs, and about how long
  hustings sweep rings.toml --out results          writes results/NAME.csv and results/NAME.parquet
  hustings sweep rings.toml --out results --resume goes on where it was stopped

A small file (docs/research.md has the whole form):

  version = 1
  name = \"rings\"
  seed = 1979
  repetitions = 100
  [vary]
  algorithm = [\"chang-roberts\", \"franklin\"]
  nodes = \"2^3..2^10\"
  ids = \"random\"

Exit codes: 0 done; 2 wrong use; 3 a file could not be read or written; 130 stopped by Ctrl-C, --resume goes on.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// The experiment.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Where the results go.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// How many runs are held at once; the results are the same for any number [default: one per core].
    #[arg(long, value_name = "N", value_parser = read(parse::thread_count), allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Goes on where an earlier sweep stopped.
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Replaces results that are there.
    #[arg(long)]
    force: bool,
    /// Runs a few elections only, and says how long all would take.
    #[arg(long)]
    dry_run: bool,
    /// Keeps the log, also when all is done.
    #[arg(long)]
    keep_log: bool,
    /// How to print what was done.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &SweepArgs, catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let experiment = load(&args.file, catalogue)?;
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let warnings = sweep::check(&experiment).map_err(SweepError::from)?;
    warnings.iter().for_each(|warning| warn(console, warning));
    if args.dry_run {
        return dry_run(&experiment, threads, args.format, console);
    }
    let store = Store::new(&args.out, &experiment);
    let begin = match (args.resume, args.force) {
        (true, _) => Begin::Resume,
        (_, true) => Begin::Anew,
        _ => Begin::Fresh,
    };
    let Some(mut opened) = store.open(&experiment, begin)? else {
        return complete(&experiment, &store, None, args.format, console);
    };
    if opened.cut > 0 {
        let cut = format!("the log ended in the middle of a record; its last {} bytes are run again", opened.cut);
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
    let working = console.working("trying a few runs".to_string());
    let guess = sweep::estimate(experiment, threads).map_err(SweepError::from)?;
    drop(working);
    let (points, repetitions, runs) = (experiment.points().len(), experiment.repetitions, experiment.runs());
    match format {
        Format::Json => {
            let told = json!({
                "experiment": experiment.name,
                "points": points,
                "repetitions": repetitions,
                "runs": runs,
                "threads": threads,
                "seconds": guess.time.as_secs_f64(),
                "at_least": guess.at_least,
            });
            writeln!(console.out, "{told}")?;
        }
        Format::Text => {
            heading(experiment, console)?;
            let (time, on) = (rough(guess.time), counted(threads as u64, "thread"));
            if guess.at_least {
                writeln!(console.out, "more than {time} on {on}: not one run came to its end while it was tried")?;
            } else {
                writeln!(console.out, "about {time} on {on}, guessed from a few runs")?;
            }
        }
    }
    Ok(Exit::Done)
}

/// A duration, as exact as a guess is.
fn rough(duration: Duration) -> String {
    if duration < Duration::from_secs(1) { "a second".to_string() } else { HumanDuration(duration).to_string() }
}

/// A number of things: `1 run`, `2 runs`.
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
    if !console.progress {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(runs).with_position(done);
    let style = ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} runs, {elapsed} gone, {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message("…");
    bar
}

fn show(bar: &ProgressBar, progress: Progress, stop: &AtomicBool) {
    bar.set_position(progress.done);
    if stop.load(Ordering::Relaxed) {
        bar.set_message("ending with the runs under way; Ctrl-C again: at once");
    } else if let Some(left) = progress.left {
        bar.set_message(format!("{} left", rough(left)));
    }
}

fn stopped(args: &SweepArgs, experiment: &Experiment, opened: &Opened, console: &mut Console<'_>) -> Exit {
    let (done, runs) = (opened.results().done(), experiment.runs());
    let (file, out) = (args.file.display(), args.out.display());
    // When even that cannot be written, the exit code still tells.
    let _ = writeln!(
        console.err,
        "stopped: {done} of {runs} runs are done and kept\ngo on with: hustings sweep {file} --out {out} --resume"
    );
    Exit::Stopped
}

/// Says what there is. Without anything opened, all was there before.
fn complete(
    experiment: &Experiment,
    store: &Store,
    ran: Option<(&Opened, u64)>,
    format: Format,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let (csv, parquet) = (store.csv.display(), store.parquet.display());
    let summary = ran.map(|(opened, _)| opened.results().summary());
    let resumed = ran.map_or(experiment.runs(), |(_, resumed)| resumed);
    match format {
        Format::Json => {
            let told = json!({
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
            writeln!(console.out, "{told}")?;
        }
        Format::Text => {
            heading(experiment, console)?;
            if resumed > 0 {
                writeln!(console.out, "{resumed} of them were done before")?;
            }
            if let Some(summary) = summary {
                for (count, what) in [
                    (summary.disagreed, "did not end in agreement"),
                    (summary.hung, "were not over when the time was up"),
                    (summary.without_second, "had no leader, or never got quiet, for the second phase"),
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
