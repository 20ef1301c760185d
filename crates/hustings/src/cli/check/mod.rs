//! `hustings check`.

mod all;
mod args;
mod counterexample;
mod json;
mod rows;
mod text;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hustings_algorithms::{CostDelays, Identity};
use hustings_check::{
    Channels, Conclusion, ExploreOptions, ExploreProgress, FaultBudget, Limits, Report, Subject, Timing, Verdict,
    cases, explore,
};
use hustings_elections::{Catalogue, Election};
use hustings_sim::scenario::Scenario;
use hustings_sim::trace;
use indicatif::HumanCount;

pub(crate) use args::CheckArgs;
use args::Form;
use rows::Row;
use values::Links;

use super::console::{Console, Exit, Spinner};
use super::failure::Failure;
use super::files::write_whole;
use super::memory::memory_limit;
use super::signals::stop_flag;
use super::{lab, list};

pub(crate) fn run(args: &CheckArgs, catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    check_conflicts(args)?;
    let work = Work::new(args)?;
    if args.all {
        return all::run(args, catalogue, &work, console);
    }
    let name = args.algorithm.as_deref().unwrap_or_default();
    let checked = check(args, catalogue, &work, &console.spinner(format!("checking {name}")))?;
    let replaces_report = write_counterexample(args, &checked, console)?;
    if !replaces_report {
        match args.format {
            Form::Json => writeln!(console.out, "{}", json::render(&checked))?,
            Form::Text | Form::Markdown => write!(console.out, "{}", text::render(&checked, console.colour))?,
        }
    }
    if let Some(found) = checked.report.violation.as_ref().filter(|_| args.open) {
        let timeline = hustings_lab::open::counterexample(&*checked.election, found, checked.faults.duplicates > 0)
            .map_err(|error| Failure::Lab { what: "--open".to_string(), error })?;
        lab::show_timeline(timeline, catalogue, console)?;
    }
    Ok(work.exit(&checked.report))
}

fn check_conflicts(args: &CheckArgs) -> Result<(), Failure> {
    let conflict = |problem: String, help: &str| Err(Failure::Conflict { problem, help: help.to_string() });
    if let (Some(trace), None, Form::Json) = (args.trace, &args.trace_to, args.format) {
        let problem = format!("--trace {trace}: with --format json, standard output holds the result alone");
        return conflict(problem, "say where the trace goes: --trace-to FILE");
    }
    if args.format == Form::Markdown && !args.all {
        let problem = "--format markdown: this is the format of the table; allowed: with --all".to_string();
        return conflict(problem, "say --all, or --format text");
    }
    if args.all && !args.has_no_election() {
        let allowed = "--quick, --threads, --max-states, --max-memory, --max-time, --format";
        let problem = format!("--all: this checks the whole catalogue; allowed beside it: {allowed}");
        return conflict(problem, "leave the algorithm and the other options out, or leave --all out");
    }
    let FaultBudget { crashes, recoveries, .. } = args.request().faults;
    if recoveries > crashes {
        let problem = format!("--recoveries {recoveries}: only {crashes} nodes crash, and only those can recover");
        return conflict(problem, &format!("say --crashes {recoveries} too"));
    }
    Ok(())
}

/// The options of the exploration, and a flag that Ctrl-C sets.
struct Work {
    options: ExploreOptions,
    stop: Arc<AtomicBool>,
}

impl Work {
    fn new(args: &CheckArgs) -> Result<Self, Failure> {
        let deadline = args.max_time.map(|time| Instant::now() + time);
        let options = ExploreOptions {
            threads: args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
            limits: Limits { max_states: args.max_states, max_memory: memory_limit(args.max_memory), deadline },
            keep_going: args.keep_going,
        };
        Ok(Work { options, stop: stop_flag().map_err(Failure::Signals)? })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn exit(&self, report: &Report) -> Exit {
        match report.conclusion() {
            Conclusion::Violated | Conclusion::Vacuous => Exit::No,
            Conclusion::Incomplete if self.is_stopped() => Exit::Stopped,
            Conclusion::Incomplete => Exit::CouldNot,
            Conclusion::Holds => Exit::Done,
        }
    }
}

/// An algorithm that was checked.
struct Checked {
    /// The options, with the size and the parameters that were used where none were given.
    args: CheckArgs,
    election: Box<dyn Election>,
    /// The election; the cases differ from it in ids and initiators.
    scenario: Scenario,
    channels: Channels,
    timing: Timing,
    faults: FaultBudget,
    /// The bound on the number of messages that was checked, if one was, and whether it is exact for each case.
    message_bound: Option<(u64, bool)>,
    /// The delays that the costs of the algorithm assume, if that is why no bound was checked.
    unmet_cost_delays: Option<CostDelays>,
    report: Report,
}

fn check(args: &CheckArgs, catalogue: &Catalogue, work: &Work, working: &Spinner) -> Result<Checked, Failure> {
    let known = list::find(catalogue, args.algorithm.as_deref().unwrap_or_default())?;
    let name = known.about().name;
    let mut args = args.clone();
    args.default_size_from(&Row::first(known.about()).args()?);
    let election = known.election(&args.election.params)?;
    let request = args.request();
    let subject = Subject {
        about: election.about(),
        scenario: election.build(&request.election)?.scenario,
        delay_bound: election.delay_bound(),
        has_default_params: election.has_default_params(),
        expected: &|scenario| election.expected(scenario),
        protocol: &|scenario| election.protocol(scenario),
    };
    let cases = cases(&subject, &request)?;
    let (channels, timing, unmet_cost_delays) = (cases.channels, cases.timing, cases.unmet_cost_delays);
    let message_bound = cases.message_bound.map(|bound| (bound, cases.is_bound_exact));
    let mut on_progress = |progress: ExploreProgress| working.set_message(progress_text(name, &progress));
    let report = explore(cases.cases, &work.options, &work.stop, &mut on_progress);
    let scenario = subject.scenario;
    let faults = request.faults;
    Ok(Checked { args, election, scenario, channels, timing, faults, message_bound, unmet_cost_delays, report })
}

fn progress_text(name: &str, progress: &ExploreProgress) -> String {
    let ExploreProgress { states, cases_done, cases, elapsed } = *progress;
    let rate = (states as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let case = if cases > 1 { format!(", {cases_done} of {cases} cases done") } else { String::new() };
    format!("{name}: {} states, {} a second{case}", HumanCount(states), HumanCount(rate))
}

impl Checked {
    /// What links do, as `--channels` takes it.
    fn links(&self) -> Links {
        Links { order: Some(self.channels), losses: self.faults.losses, duplicates: self.faults.duplicates }
    }

    /// The crashes and recoveries, in words.
    fn faults_text(&self) -> String {
        let many = |count: u8, one: &str, several: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {several}")),
        };
        let FaultBudget { crashes, recoveries, .. } = self.faults;
        let words = [many(crashes, "crash", "crashes"), many(recoveries, "recovery", "recoveries")];
        let words: Vec<String> = words.into_iter().flatten().collect();
        if words.is_empty() { "none".to_string() } else { words.join(", ") }
    }

    /// The overall result, in a word.
    fn conclusion(&self) -> &'static str {
        match self.report.conclusion() {
            Conclusion::Holds => verdict_text(Verdict::Holds),
            Conclusion::Vacuous => "vacuous",
            Conclusion::Incomplete => verdict_text(Verdict::Unknown),
            Conclusion::Violated => verdict_text(Verdict::Violated),
        }
    }

    /// The ids, unless nodes are anonymous.
    fn ids<'a>(&self, ids: &'a [u64]) -> Option<&'a [u64]> {
        (self.election.about().assumptions.identity == Identity::Unique).then_some(ids)
    }

    /// The options that check this case alone.
    fn case_options(&self, ids: &[u64], initiators: &[u32]) -> String {
        let (name, size) = (self.election.about().name, self.scenario.network.members());
        format!("{name} {}", self.args.options_of_case(size, self.ids(ids), initiators))
    }
}

/// A verdict in words.
const fn verdict_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated => "violated",
        Verdict::Unknown => "not fully explored",
    }
}

/// Writes the counterexample where the options say. Returns whether it replaces the report on standard output.
fn write_counterexample(args: &CheckArgs, checked: &Checked, console: &mut Console<'_>) -> Result<bool, Failure> {
    let (Some(format), Some(found)) = (args.trace, &checked.report.violation) else { return Ok(false) };
    match &args.trace_to {
        Some(path) => {
            let written = write_whole(path, |out| counterexample::write(checked, found, format, out));
            written.map(|()| false).map_err(|error| Failure::Unwritable {
                option: "--trace-to",
                path: path.display().to_string(),
                error,
            })
        }
        None if format == trace::Format::Text => Ok(false),
        None => counterexample::write(checked, found, format, console.out).map(|()| true).map_err(Failure::Output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_case_name_parameters_that_were_not_given() {
        let args =
            Row { line: "two-tier --timing patient".to_string(), is_quick: true }.args().expect("they are valid");
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let console = Console { out: &mut out, err: &mut err, colour: false, colour_errors: false, progress: false };
        let work = Work::new(&args).expect("signals can be handled");
        let spinner = console.spinner(String::new());
        let checked = check(&args, &Catalogue::default(), &work, &spinner).expect("it can be checked");
        let options = checked.case_options(&[0, 1, 2], &[0]);
        assert!(options.starts_with("two-tier --ids 0,1,2 --initiators 0 "), "{options}");
        assert!(options.contains(" --topology complete -p subordinates=2 "), "{options}");
    }
}
