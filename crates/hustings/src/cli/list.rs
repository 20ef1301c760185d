//! `hustings list`.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use hustings_algorithms::Case;
use hustings_algorithms::catalogue::Entry;
use hustings_elections::{Catalogue, Known};
use serde_json::{Value, json};

use super::args::{Format, ListArgs};
use super::claims;
use super::console::{Console, Exit, Paint};
use super::docs;
use super::failure::Failure;

pub(crate) fn run(args: &ListArgs, catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match (&args.name, args.format) {
        (None, Format::Text) => all(catalogue, console)?,
        (None, Format::Json) => {
            let algorithms: Vec<Value> = catalogue.all().map(|known| describe(known.entry())).collect();
            writeln!(console.out, "{}", json!({ "algorithms": algorithms }))?;
        }
        (Some(name), format) => {
            let entry = find(catalogue, name)?.entry();
            match format {
                Format::Text => one(entry, console)?,
                Format::Json => writeln!(console.out, "{}", describe(entry))?,
            }
        }
    }
    Ok(Exit::Done)
}

/// The algorithm of this name or alias.
pub(crate) fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Known, Failure> {
    catalogue.find(name).ok_or_else(|| Failure::unknown("algorithm", name, catalogue.names()))
}

fn all(catalogue: &Catalogue, console: &mut Console<'_>) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    // A fixed width when nobody looks: what a program reads should not depend on a window.
    let width = if console.colour { table.width().unwrap_or(120) } else { 120 };
    table.set_width(width.min(160));
    table.set_header(["name", "network", "needs", "best", "average", "worst", "from"]);
    for entry in catalogue.all().map(Known::entry) {
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
        "answer": claims::answer(about),
        "initiators": docs::initiators(about.initiators),
        "repeats": about.repeats,
        "survives": claims::survives(about),
        "shown_by": claims::evidence(about),
        "takes": {"votes": about.inputs.votes, "cheats": about.inputs.cheats},
        "kinds": entry.kinds,
        "costs": costs,
        "costs_hold": about.cost_delays.to_string(),
        "parameters": parameters,
        "source": {"authors": about.source.authors, "title": about.source.title, "text": about.source.text},
    })
}
