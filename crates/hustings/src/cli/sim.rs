//! `hustings sim`.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use hustings_algorithms::Algorithm;
use hustings_algorithms::catalogue::{Visitor, visit};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;
use hustings_sim::simulate::{ReplayRefusal, Replayed, expected, params, replayed, simulate, simulate_traced};
use hustings_sim::trace;
use hustings_sim::trace::file::{Limits, TraceFile};

use super::args::Format;
use super::console::{Console, Exit};
use super::failure::{Failure, warn};
use super::files::write_whole;
use super::list;
use super::report::{Report, json, text};
use super::sim_args::SimArgs;

pub(crate) fn run(args: &SimArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if let (Some(trace), None, Format::Json) = (args.trace, &args.trace_to, args.format) {
        return Err(Failure::Conflict {
            problem: format!("--trace {trace}: with --format json, standard output holds the result alone"),
            help: "say where the trace goes: --trace-to FILE".to_string(),
        });
    }
    if args.replay.is_some() && !args.says_nothing_more() {
        return Err(Failure::Conflict {
            problem: "--replay: the file says everything about the election; allowed beside it: --format".to_string(),
            help: "leave the other options out".to_string(),
        });
    }
    let entry = list::entry(&args.algorithm)?;
    let outcome = visit(entry.about.name, Simulate { args, console });
    outcome.unwrap_or_else(|| Err(Failure::unknown("algorithm", &args.algorithm, [entry.about.name])))
}

/// From so many nodes on a run may take seconds.
const LONG: u32 = 500_000;

/// Carries the options to the algorithm that they name.
struct Simulate<'a, 'b> {
    args: &'a SimArgs,
    console: &'a mut Console<'b>,
}

impl Visitor for Simulate<'_, '_> {
    type Output = Result<Exit, Failure>;

    fn visit<A: Algorithm>(self) -> Result<Exit, Failure> {
        let Simulate { args, console } = self;
        if let Some(path) = &args.replay {
            let Replayed { params, scenario, outcome } = replay::<A>(path)?;
            let report = Report::new::<A>(&params, &scenario, &outcome, None);
            return print(&report, args.format, console);
        }
        let params = params::<A>(&args.params)?;
        let planned = args.request().scenario_for::<A>(&params)?;
        planned.warnings.iter().for_each(|warning| warn(console, warning));
        let scenario = &planned.scenario;
        // What is over at once needs no sign of life.
        let long = scenario.network.members() >= LONG;
        let working =
            long.then(|| console.working(format!("{} among {} nodes", A::ABOUT.name, scenario.network.members())));
        let (outcome, reported) = elect::<A>(args, &params, scenario, console)?;
        if !reported {
            return Ok(verdict(&outcome));
        }
        let expected = expected::<A>(&params, scenario);
        drop(working);
        print(&Report::new::<A>(&params, scenario, &outcome, expected), args.format, console)
    }
}

fn print(report: &Report<'_>, format: Format, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match format {
        Format::Json => writeln!(console.out, "{}", json::render(report))?,
        Format::Text => console.out.write_all(text::render(report, console.colour).as_bytes())?,
    }
    Ok(verdict(report.outcome))
}

/// A hung run is no success, even if all agree: a message circles for ever, or the end came too soon.
fn verdict(outcome: &Outcome) -> Exit {
    if outcome.agreement && !outcome.hung { Exit::Done } else { Exit::No }
}

fn replay<A: Algorithm>(path: &Path) -> Result<Replayed<A::Params>, Failure> {
    let shown = || path.display().to_string();
    let file = File::open(path).map_err(|error| Failure::Unreadable { path: shown(), error })?;
    TraceFile::open(BufReader::new(file), Limits::default())
        .map_err(ReplayRefusal::from)
        .and_then(replayed::<A>)
        .map_err(|refusal| Failure::NotReplayed { path: shown(), refusal })
}

/// Runs the election with the trace that was asked for. Also says whether standard output still takes a report: a trace
/// for programs stands there alone.
fn elect<A: Algorithm>(
    args: &SimArgs,
    params: &A::Params,
    scenario: &Scenario,
    console: &mut Console<'_>,
) -> Result<(Outcome, bool), Failure> {
    match (args.trace, &args.trace_to) {
        (None, _) => Ok((simulate::<A>(params, scenario), true)),
        (Some(format), None) => {
            let outcome = simulate_traced::<A>(params, scenario, format, console.out)?;
            let for_people = format == trace::Format::Text;
            if for_people {
                writeln!(console.out)?;
            }
            Ok((outcome, for_people))
        }
        (Some(format), Some(path)) => {
            let mut outcome = None;
            let written = write_whole(path, |out| {
                outcome = Some(simulate_traced::<A>(params, scenario, format, out)?);
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
