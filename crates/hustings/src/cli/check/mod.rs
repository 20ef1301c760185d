//! `hustings check`.

mod all;
mod args;
mod json;
mod proof;
mod readers;
mod rows;
mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hustings_algorithms::Identity;
use hustings_check::{Budget, Channels, Timing, Verdict};
use hustings_elections::{Catalogue, Election};
use hustings_sim::scenario::Scenario;
use hustings_sim::trace;
use indicatif::HumanCount;

pub(crate) use args::CheckArgs;
use args::Form;
use readers::Links;
use rows::Row;

use super::console::{Console, Exit, Spinner};
use super::failure::Failure;
use super::files::write_whole;
use super::list;
use super::signals::stop_flag;
use crate::check::cases::{self, Wish};
use crate::check::explore::{Effort, Explored, Watched, explore};

pub(crate) fn run(args: &CheckArgs, catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    refuse_conflicts(args)?;
    let work = Work::new(args)?;
    if args.all {
        return all::run(args, catalogue, &work, console);
    }
    let name = args.algorithm.as_deref().unwrap_or_default();
    let checked = check(args, catalogue, &work, &console.spinner(format!("checking {name}")))?;
    let is_alone = show(args, &checked, console)?;
    if !is_alone {
        match args.format {
            Form::Json => writeln!(console.out, "{}", json::render(&checked))?,
            Form::Text | Form::Markdown => write!(console.out, "{}", text::render(&checked, args, console.colour))?,
        }
    }
    Ok(work.exit(&checked.explored))
}

fn refuse_conflicts(args: &CheckArgs) -> Result<(), Failure> {
    let conflict = |problem: String, help: &str| Err(Failure::Conflict { problem, help: help.to_string() });
    if let (Some(trace), None, Form::Json) = (args.trace, &args.trace_to, args.format) {
        let problem = format!("--trace {trace}: with --format json, standard output holds the result alone");
        return conflict(problem, "say where the trace goes: --trace-to FILE");
    }
    if args.format == Form::Markdown && !args.all {
        let problem = "--format markdown: only a table is printed like that; allowed: with --all".to_string();
        return conflict(problem, "say --all, or --format text");
    }
    if args.all && !args.names_no_election() {
        let allowed = "--quick, --threads, --max-states, --max-time, --format";
        let problem = format!("--all: it says itself what is checked; allowed beside it: {allowed}");
        return conflict(problem, "leave the algorithm and the other options out, or leave --all out");
    }
    let Budget { crashes, recoveries, .. } = args.wish().budget;
    if recoveries > crashes {
        let problem = format!("--recoveries {recoveries}: only {crashes} nodes stop, and nobody else can come back");
        return conflict(problem, &format!("say --crashes {recoveries} too"));
    }
    Ok(())
}

/// How the work is done.
struct Work {
    effort: Effort,
    stop: Arc<AtomicBool>,
}

impl Work {
    fn new(args: &CheckArgs) -> Result<Self, Failure> {
        let effort = Effort {
            threads: args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
            states: args.max_states,
            until: args.max_time.map(|time| Instant::now() + time),
            keep_going: args.keep_going,
        };
        Ok(Work { effort, stop: stop_flag().map_err(Failure::Signals)? })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn exit(&self, explored: &Explored) -> Exit {
        match (explored.verdict(), explored.is_vacuous()) {
            (Verdict::Violated, _) => Exit::No,
            (Verdict::Unknown, _) if self.is_stopped() => Exit::Stopped,
            (Verdict::Unknown, _) => Exit::CouldNot,
            (Verdict::Holds, true) => Exit::No,
            (Verdict::Holds, false) => Exit::Done,
        }
    }
}

/// An algorithm that was checked.
struct Checked {
    election: Box<dyn Election>,
    /// One of the elections: all are alike but for ids and starters.
    scenario: Scenario,
    channels: Channels,
    timing: Timing,
    budget: Budget,
    /// The most messages that there may be in any case, where that is checked.
    bound: Option<u64>,
    explored: Explored,
}

fn check(args: &CheckArgs, catalogue: &Catalogue, work: &Work, working: &Spinner) -> Result<Checked, Failure> {
    let known = list::find(catalogue, args.algorithm.as_deref().unwrap_or_default())?;
    let name = known.about().name;
    let mut args = args.clone();
    args.sized_as(&Row::first(known.about()).args()?);
    let election = known.election(&args.params)?;
    let wish = args.wish();
    let scenario = election.plan(&args.request())?.scenario;
    let cases = cases::cases(&*election, &args.request(), &wish)?;
    let bound = cases.iter().filter_map(|case| case.most_messages).max();
    let (channels, timing) = cases::defaults(&*election, &wish);
    let channels = if scenario.runs { Channels::Fifo } else { channels };
    let mut watch = |watched: Watched| working.set_message(progress(name, &watched));
    let explored = explore(cases, &work.effort, &work.stop, &mut watch);
    let Wish { budget, .. } = wish;
    Ok(Checked { election, scenario, channels, timing, budget, bound, explored })
}

fn progress(name: &str, watched: &Watched) -> String {
    let Watched { states, done, cases, elapsed } = *watched;
    let rate = (states as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let case = if cases > 1 { format!(", {done} of {cases} cases done") } else { String::new() };
    format!("{name}: {} states, {} a second{case}", HumanCount(states), HumanCount(rate))
}

impl Checked {
    /// What links do, as it is typed.
    fn links(&self) -> Links {
        Links { order: Some(self.channels), losses: self.budget.losses, copies: self.budget.copies }
    }

    /// Who stops and comes back.
    fn faults(&self) -> String {
        let many = |count: u8, one: &str, several: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {several}")),
        };
        let Budget { crashes, recoveries, .. } = self.budget;
        let words = [many(crashes, "crash", "crashes"), many(recoveries, "recovery", "recoveries")];
        let words: Vec<String> = words.into_iter().flatten().collect();
        if words.is_empty() { "none".to_string() } else { words.join(", ") }
    }

    /// In a word, what became of everything.
    fn verdict(&self) -> &'static str {
        match (self.explored.verdict(), self.explored.is_vacuous()) {
            (Verdict::Holds, true) => "vacuous",
            (verdict, _) => word(verdict),
        }
    }

    /// The ids that may be shown.
    fn ids<'a>(&self, ids: &'a [u64]) -> Option<&'a [u64]> {
        (self.election.about().assumptions.identity == Identity::Unique).then_some(ids)
    }

    /// The options that check this case alone.
    fn case_options(&self, args: &CheckArgs, ids: &[u64], starters: &[u32]) -> String {
        let name = self.election.about().name;
        format!("{name}{}", args.of_case(self.scenario.network.members(), self.ids(ids), starters))
    }
}

/// What a verdict is called.
const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated => "violated",
        Verdict::Unknown => "not fully explored",
    }
}

/// Shows the counterexample as it was asked for, if there is one. Says whether standard output now holds it alone.
fn show(args: &CheckArgs, checked: &Checked, console: &mut Console<'_>) -> Result<bool, Failure> {
    let (Some(format), Some(found)) = (args.trace, &checked.explored.proof) else { return Ok(false) };
    match &args.trace_to {
        Some(path) => {
            let written = write_whole(path, |out| proof::write(checked, found, format, out));
            written.map(|()| false).map_err(|error| Failure::Unwritable {
                option: "--trace-to",
                path: path.display().to_string(),
                error,
            })
        }
        None if format == trace::Format::Text => Ok(false),
        None => proof::write(checked, found, format, console.out).map(|()| true).map_err(Failure::Output),
    }
}
