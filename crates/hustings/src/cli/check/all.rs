//! `hustings check --all`: the table of the whole catalogue.

use std::io;

use hustings_check::{Conclusion, MaxMessages};
use hustings_elections::{Catalogue, Known};
use indicatif::HumanCount;
use serde_json::{Value, json};

use super::args::{CheckArgs, Form, listed};
use super::json::max_messages;
use super::rows::Row;
use super::{Checked, Work, check, values};
use crate::cli::console::{Console, Exit, Paint};
use crate::cli::failure::Failure;

pub(super) fn run(
    args: &CheckArgs,
    catalogue: &Catalogue,
    work: &Work,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let rows = catalogue.all().map(Known::about).flat_map(Row::all);
    let rows: Vec<Row> = rows.filter(|row| row.is_quick || !args.quick).collect();
    let mut objects = Vec::new();
    let mut exit = Exit::Done;
    print_header(args.format, console)?;
    for (number, row) in rows.iter().enumerate() {
        let row_args = row.args()?;
        let working = console.spinner(format!("row {} of {}", number + 1, rows.len()));
        let checked = check(&row_args, catalogue, work, &working)?;
        drop(working);
        exit = worse(exit, work.exit(&checked.report));
        match args.format {
            Form::Json => objects.push(object(row, &checked)),
            Form::Text => print_line(&cells(&row_args, &checked), &checked, console)?,
            Form::Markdown => writeln!(console.out, "| {} |", cells(&row_args, &checked)[..SECONDS].join(" | "))?,
        }
        console.out.flush()?;
        if work.is_stopped() && number + 1 < rows.len() {
            exit = worse(exit, Exit::Stopped);
            break;
        }
    }
    if args.format == Form::Json {
        writeln!(console.out, "{}", json!({ "rows": objects }))?;
    }
    Ok(exit)
}

/// The more important of two exit codes: a violation, then an interruption, then a limit that was reached.
fn worse(one: Exit, other: Exit) -> Exit {
    let order = [Exit::No, Exit::Stopped, Exit::CouldNot, Exit::Done];
    order.into_iter().find(|exit| [one, other].contains(exit)).unwrap_or(other)
}

/// The columns, and how wide they are.
const COLUMNS: [(&str, usize); 12] = [
    ("algorithm", 34),
    ("n", 2),
    ("ids", 11),
    ("starters", 12),
    ("links", 10),
    ("clocks", 10),
    ("faults", 20),
    ("cases", 5),
    ("states", 11),
    ("depth", 5),
    ("messages", 8),
    ("verdict", 18),
];

/// The index of the seconds, which the Markdown table leaves out.
const SECONDS: usize = COLUMNS.len();

/// The columns that are aligned to the right.
const NUMBERS: [&str; 5] = ["n", "cases", "states", "depth", "messages"];

fn print_header(format: Form, console: &mut Console<'_>) -> io::Result<()> {
    let names: Vec<String> = COLUMNS.iter().map(|(name, _)| (*name).to_string()).collect();
    match format {
        Form::Json => Ok(()),
        Form::Markdown => {
            let rule = |(name, _): &(&str, usize)| if NUMBERS.contains(name) { "---:" } else { "---" };
            let rules: Vec<&str> = COLUMNS.iter().map(rule).collect();
            writeln!(console.out, "| {} |\n|{}|", names.join(" | "), rules.join("|"))
        }
        Form::Text => {
            let line = format!("{}  seconds", aligned(&names));
            writeln!(console.out, "{}", Paint::Strong.on(&line, console.colour))
        }
    }
}

fn aligned(cells: &[String]) -> String {
    let cell = |(cell, (name, width)): (&String, &(&str, usize))| match NUMBERS.contains(name) {
        true => format!("{cell:>width$}"),
        false => format!("{cell:<width$}"),
    };
    cells.iter().zip(&COLUMNS).map(cell).collect::<Vec<_>>().join("  ")
}

fn print_line(cells: &[String], checked: &Checked, console: &mut Console<'_>) -> io::Result<()> {
    let line = aligned(cells);
    let line =
        if checked.report.conclusion() == Conclusion::Holds { line } else { Paint::Bad.on(&line, console.colour) };
    writeln!(console.out, "{line}  {:>7}", cells[SECONDS])
}

fn cells(args: &CheckArgs, checked: &Checked) -> Vec<String> {
    let found = &checked.report;
    let runs = checked.scenario.runs.then(|| "in runs".to_string());
    let name = Some(checked.election.about().name.to_string());
    let words = [name, runs, args.topology_text()].into_iter().flatten().chain(args.election.params.iter().cloned());
    let messages = match found.max_messages() {
        MaxMessages::Bounded(max) => HumanCount(max).to_string(),
        MaxMessages::Unknown => "not computed".to_string(),
        MaxMessages::Unbounded => "no bound".to_string(),
    };
    vec![
        words.collect::<Vec<_>>().join(" "),
        checked.scenario.network.members().to_string(),
        args.id_orders_text(),
        initiators_text(args, checked),
        checked.links().to_string(),
        values::timing_text(checked.timing),
        checked.faults_text(),
        found.cases.len().to_string(),
        HumanCount(found.states()).to_string(),
        found.depth().to_string(),
        messages,
        checked.conclusion().to_string(),
        format!("{:.1}", found.elapsed.as_secs_f64()),
    ]
}

fn initiators_text(args: &CheckArgs, checked: &Checked) -> String {
    let positions: Vec<u32> = checked.scenario.starts.iter().map(|start| start.at).collect();
    match positions.len() as u32 == checked.scenario.network.members() {
        _ if args.has_every_subset() => "every subset".to_string(),
        true => "all".to_string(),
        false if positions.is_empty() => "none".to_string(),
        false => listed(&positions),
    }
}

fn object(row: &Row, checked: &Checked) -> Value {
    let found = &checked.report;
    json!({
        "command": format!("hustings check {}", row.line),
        "algorithm": checked.election.about().name,
        "nodes": checked.scenario.network.members(),
        "channels": checked.links().to_string(),
        "timing": values::timing_text(checked.timing),
        "faults": checked.faults_text(),
        "cases": found.cases.len(),
        "states": found.states(),
        "generated": found.generated(),
        "depth": found.depth(),
        "max_messages": max_messages(found.max_messages()),
        "verdict": checked.conclusion(),
        "seconds": found.elapsed.as_secs_f64(),
    })
}
