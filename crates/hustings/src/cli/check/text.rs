//! The result as text.

use std::fmt::Write;

use hustings_check::{Limit, MaxMessages, Property, Verdict, Violation};
use indicatif::{HumanBytes, HumanCount};

use super::args::listed;
use super::{Checked, counterexample, values, verdict_text};
use crate::cli::console::Paint;
use crate::cli::memory::memory_limit;
use crate::cli::report;

/// The whole report, a line end after its last line.
pub(super) fn render(checked: &Checked, colour: bool) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail, so the results are ignored.
    let _ = writeln!(text, "{}\n", headline(checked, colour));
    let mut line = |name: &str, value: &str| _ = writeln!(text, "{name:<11} {value}");
    line("links", &checked.links().to_string());
    line("clocks", &values::timing_text(checked.timing));
    line("faults", &checked.faults_text());
    line("explored", &explored(checked));
    line("messages", &messages(checked));
    line("verdict", &verdict(checked, colour));
    let _ = writeln!(text, "\n{:<14} {:<18} from", "property", "verdict");
    for (property, verdict) in checked.report.verdicts() {
        let shown = paint(verdict).on(&format!("{:<18}", verdict_text(verdict)), colour);
        let _ = writeln!(text, "{:<14} {shown} {}", property.name(), property.source());
    }
    if let Some(found) = &checked.report.violation {
        text += &counterexample_text(checked, found, colour);
    }
    text
}

fn paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Holds => Paint::Good,
        Verdict::Violated => Paint::Bad,
        Verdict::Unknown => Paint::Strong,
    }
}

fn headline(checked: &Checked, colour: bool) -> String {
    let about = checked.election.about();
    report::text::election(about, &checked.election.params(), &checked.scenario, colour)
}

fn explored(checked: &Checked) -> String {
    let found = &checked.report;
    let seconds = found.elapsed.as_secs_f64();
    let (states, generated) = (found.states(), found.generated());
    let rate = (states as f64 / seconds.max(0.001)) as u64;
    let cases = match (found.cases.len() + found.cases_left, found.cases_left) {
        (1, _) => String::new(),
        (cases, 0) => format!("{} cases: ", HumanCount(cases as u64)),
        (cases, left) => format!("{} of {cases} cases: ", cases - left),
    };
    format!(
        "{cases}{} states ({} generated), depth {}, in {seconds:.2} s ({} states/s)",
        HumanCount(states),
        HumanCount(generated),
        found.depth(),
        HumanCount(rate)
    )
}

fn messages(checked: &Checked) -> String {
    let max = match checked.report.max_messages() {
        MaxMessages::Bounded(max) => format!("at most {max}"),
        MaxMessages::Unknown => "not computed".to_string(),
        MaxMessages::Unbounded => "no bound: some execution sends forever".to_string(),
    };
    let bound = match checked.message_bound {
        Some((bound, true)) => format!("; the rules allow {bound}"),
        Some((bound, false)) => format!("; the catalogue's worst case is {bound}"),
        None => checked
            .unmet_cost_delays
            .map_or_else(String::new, |delays| format!("; the catalogue's worst case holds {delays}")),
    };
    let so_far = if checked.report.is_complete() { "" } else { " as far as explored" };
    format!("{max}{so_far}{bound}")
}

fn verdict(checked: &Checked, colour: bool) -> String {
    let verdict = checked.report.verdict();
    let told = paint(verdict).on(checked.conclusion(), colour);
    match checked.report.is_vacuous() {
        _ if verdict == Verdict::Unknown => {
            checked.report.limit().map_or(told.clone(), |limit| format!("{told}: {}", limit_text(checked, limit)))
        }
        true => {
            format!(
                "{told}: in some case no node ever leads, or no execution ends in agreement, so the verdicts say little"
            )
        }
        false => told,
    }
}

/// The limit that ended the check, in words.
fn limit_text(checked: &Checked, limit: Limit) -> String {
    let args = &checked.args;
    match limit {
        Limit::States => format!("a case has more than {} states (--max-states)", HumanCount(args.max_states)),
        Limit::Memory => {
            let bytes =
                memory_limit(args.max_memory).map_or_else(String::new, |bytes| format!(" of {}", HumanBytes(bytes)));
            format!("the memory limit{bytes} was reached (--max-memory)")
        }
        Limit::Time => "the time was up (--max-time)".to_string(),
    }
}

fn counterexample_text(checked: &Checked, found: &Violation, colour: bool) -> String {
    let Violation { property, scenario, steps, repeats_from, .. } = found;
    let mut text = String::new();
    let title = format!("{} is violated", property.name());
    let _ = writeln!(text, "\n{}: it says \"{}\"", Paint::Bad.on(&title, colour), property.statement());
    let initiators: Vec<u32> = scenario.starts.iter().map(|start| start.at).collect();
    let ids = checked.ids(&scenario.ids).map_or_else(String::new, |ids| format!("ids {}, ", listed(ids)));
    let length = match repeats_from {
        Some(first) => format!("infinite: from record {first} on it repeats"),
        None if *property == Property::MessageBound => format!("{steps} steps, with as many messages as any"),
        None => format!("{steps} step{}, and there is no shorter one", if *steps == 1 { "" } else { "s" }),
    };
    let _ = writeln!(text, "{ids}initiators {}; {length}\n", listed(&initiators));
    // Writing to memory cannot fail.
    for line in counterexample::lines(checked, found).unwrap_or_default() {
        let _ = writeln!(text, "{line}");
    }
    let (name, args) = (checked.election.about().name, &checked.args);
    let file = args.trace_to.as_ref().map(|path| path.display().to_string());
    let _ = match (file, args.trace) {
        (Some(file), Some(hustings_sim::trace::Format::Jsonl)) => {
            writeln!(text, "\nreplay it with: hustings sim {name} --replay {file}")
        }
        _ => {
            let options = checked.case_options(&scenario.ids, &initiators);
            writeln!(
                text,
                "\nreplay it with: hustings check {options} --trace jsonl --trace-to FILE\n           then: hustings sim \
                 {name} --replay FILE"
            )
        }
    };
    text
}
