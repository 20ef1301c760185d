//! `hustings list`.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use hustings_algorithms::Case;
use hustings_algorithms::catalogue::{ENTRIES, Entry, find};
use serde_json::{Value, json};

use super::args::{Format, ListArgs};
use super::console::{Console, Exit, Paint};
use super::docs;
use super::failure::Failure;

pub(crate) fn run(args: &ListArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match (&args.name, args.format) {
        (None, Format::Text) => all(console)?,
        (None, Format::Json) => {
            let algorithms: Vec<Value> = ENTRIES.iter().map(describe).collect();
            writeln!(console.out, "{}", json!({ "algorithms": algorithms }))?;
        }
        (Some(name), format) => {
            let entry = entry(name)?;
            match format {
                Format::Text => one(entry, console)?,
                Format::Json => writeln!(console.out, "{}", describe(entry))?,
            }
        }
    }
    Ok(Exit::Done)
}

/// The line of the catalogue with this name or alias.
pub(crate) fn entry(name: &str) -> Result<&'static Entry, Failure> {
    find(name).ok_or_else(|| Failure::unknown("algorithm", name, names()))
}

fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().flat_map(|entry| std::iter::once(entry.about.name).chain(entry.about.aliases.iter().copied()))
}

fn all(console: &mut Console<'_>) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    // A fixed width when nobody looks: what a program reads should not depend on a window.
    let width = if console.colour { table.width().unwrap_or(120) } else { 120 };
    table.set_width(width.min(160));
    table.set_header(["name", "network", "needs", "best", "average", "worst", "from"]);
    for entry in ENTRIES {
        let about = &entry.about;
        table.add_row([
            about.name.to_string(),
            docs::network(about.network).to_string(),
            docs::needs(about.assumptions, about.certainty).join(", "),
            docs::cost(entry, Case::Best),
            docs::cost(entry, Case::Average),
            docs::cost(entry, Case::Worst),
            about.source.authors.to_string(),
        ]);
    }
    // A name that is broken in two cannot be copied.
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    for (number, line) in table.to_string().lines().enumerate() {
        let line = line.trim_end();
        let line = if number == 0 { Paint::Strong.on(line, console.colour) } else { line.to_string() };
        writeln!(console.out, "{line}")?;
    }
    writeln!(
        console.out,
        "\nMessages are those of the default starters and parameters, announcement included. `hustings list NAME` tells all about\n\
         one."
    )
}

fn one(entry: &Entry, console: &mut Console<'_>) -> std::io::Result<()> {
    let about = &entry.about;
    writeln!(console.out, "{}: {}\n", Paint::Strong.on(about.name, console.colour), about.summary)?;
    for (name, text) in docs::facts(entry) {
        writeln!(console.out, "  {name:<30}  {text}")?;
    }
    for parameter in entry.parameters {
        let option = format!("-p {}=…", parameter.name);
        writeln!(console.out, "  {option:<30}  {} ({})", parameter.help, parameter.allowed)?;
    }
    writeln!(console.out, "\n  hustings sim {}", about.name)
}

fn describe(entry: &Entry) -> Value {
    let about = &entry.about;
    let costs: Vec<Value> = about
        .costs
        .iter()
        .map(|cost| json!({"case": cost.case.to_string(), "formula": cost.formula, "exact": cost.exact}))
        .collect();
    let parameters: Vec<Value> = entry
        .parameters
        .iter()
        .map(|parameter| json!({"name": parameter.name, "help": parameter.help, "allowed": parameter.allowed}))
        .collect();
    json!({
        "name": about.name,
        "aliases": about.aliases,
        "summary": about.summary,
        "family": docs::family(about.family),
        "network": docs::network(about.network),
        "needs": docs::needs(about.assumptions, about.certainty),
        "answer": docs::certainty(about.certainty),
        "initiators": docs::initiators(about.initiators),
        "repeats": about.repeats,
        "survives": docs::survives(about.tolerates),
        "takes": {"votes": about.inputs.votes, "cheats": about.inputs.cheats},
        "kinds": entry.kinds,
        "costs": costs,
        "parameters": parameters,
        "source": {"authors": about.source.authors, "title": about.source.title, "text": about.source.text},
    })
}
