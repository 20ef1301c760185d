//! `hustings sim`.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use hustings_elections::{Catalogue, Election, Known, Replayed};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;
use hustings_sim::simulate::ReplayFileError;
use hustings_sim::trace::{self, Limits, TraceFile};

use super::args::Format;
use super::console::{Console, Exit};
use super::failure::{Failure, warn};
use super::files::write_whole;
use super::flags::option;
use super::memory::memory_limit;
use super::report::{Report, json, text};
use super::sim_args::SimArgs;
use super::{lab, list};

pub(crate) fn run(args: &SimArgs, catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if let (Some(trace), None, Format::Json) = (args.trace, &args.trace_to, args.format) {
        return Err(Failure::Conflict {
            problem: format!("--trace {trace}: with --format json, standard output holds the result alone"),
            help: "say where the trace goes: --trace-to FILE".to_string(),
        });
    }
    if args.replay.is_some() && !args.is_default() {
        return Err(Failure::Conflict {
            problem: "--replay: the file describes the whole election; allowed beside it: --format".to_string(),
            help: "leave the other options out".to_string(),
        });
    }
    let known = list::find(catalogue, &args.algorithm)?;
    if args.open {
        return match &args.replay {
            Some(path) => lab::show_trace(path, catalogue, console),
            None => lab::show_run(known.about().name, args.election.given(), catalogue, console),
        };
    }
    if let Some(path) = &args.replay {
        let Replayed { election, scenario, outcome } = replay(known, path)?;
        let report = Report::new(&*election, &scenario, &outcome, None);
        return print(&report, args.format, console);
    }
    simulate(&*known.election(&args.election.params)?, args, console)
}

fn simulate(election: &dyn Election, args: &SimArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut built = election.build(&args.election.spec)?;
    built.scenario.max_memory = memory_limit(args.max_memory);
    for warning in &built.warnings {
        warn(console, &format!("{}: {warning}", option(warning.field())));
    }
    let scenario = &built.scenario;
    let (name, size) = (election.about().name, scenario.network.members());
    let working = console.late_spinner(format!("{name} among {size} nodes"));
    let (outcome, has_report) = elect(election, args, scenario, console)?;
    if let Some(refusal) = outcome.refused.first() {
        return Err(Failure::Refused(refusal.clone()));
    }
    if let Some(tick) = outcome.out_of_memory {
        let bytes = scenario.max_memory.unwrap_or_default();
        return Err(Failure::OutOfMemory { bytes, tick, messages: outcome.total() });
    }
    if !has_report {
        return Ok(verdict(&outcome));
    }
    let expected = election.expected(scenario);
    drop(working);
    print(&Report::new(election, scenario, &outcome, expected), args.format, console)
}

fn print(report: &Report<'_>, format: Format, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match format {
        Format::Json => writeln!(console.out, "{}", json::render(report))?,
        Format::Text => console.out.write_all(text::render(report, console.colour).as_bytes())?,
    }
    Ok(verdict(report.outcome))
}

/// A hung run is not a success even if all nodes agree: a message circulates forever, or `--until` was too early.
fn verdict(outcome: &Outcome) -> Exit {
    if outcome.agreement && !outcome.hung { Exit::Done } else { Exit::No }
}

fn replay(known: &Known, path: &Path) -> Result<Replayed, Failure> {
    let shown = || path.display().to_string();
    let file = File::open(path).map_err(|error| Failure::Unreadable { path: shown(), error })?;
    TraceFile::open(Box::new(BufReader::new(file)) as Box<dyn BufRead>, Limits::default())
        .map_err(ReplayFileError::from)
        .and_then(|file| known.replayed(file))
        .map_err(|error| Failure::NotReplayed { path: shown(), error })
}

/// Runs the election and writes the trace, if there is one. Returns `false` if a machine-readable trace went to
/// standard output: then no report follows.
fn elect(
    election: &dyn Election,
    args: &SimArgs,
    scenario: &Scenario,
    console: &mut Console<'_>,
) -> Result<(Outcome, bool), Failure> {
    match (args.trace, &args.trace_to) {
        (None, _) => Ok((election.run(scenario), true)),
        (Some(format), None) => {
            let outcome = election.traced(scenario, format, console.out)?;
            let is_text = format == trace::Format::Text;
            if is_text {
                writeln!(console.out)?;
            }
            Ok((outcome, is_text))
        }
        (Some(format), Some(path)) => {
            let mut outcome = None;
            let written = write_whole(path, |out| {
                outcome = Some(election.traced(scenario, format, out)?);
                Ok(())
            });
            let done = written.and_then(|()| outcome.ok_or_else(|| io::Error::other("nothing was written")));
            done.map(|outcome| (outcome, true)).map_err(|error| Failure::Unwritable {
                option: "--trace-to",
                path: path.display().to_string(),
                error,
            })
        }
    }
}
