//! `hustings papers`.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use hustings_papers::comparison::{
    DisplayValue, Finding, ItemComparison, Origin, PaperComparison, ResultCache, Verdict, experiments, number,
    rows_that_cannot_fail, tally,
};
use hustings_papers::published::{self, Paper};
use hustings_papers::{bundle, report};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::args::Format;
use super::console::{Console, Exit, Paint, threads};
use super::failure::Failure;
use super::read::{read, thread_count};

const EXAMPLES: &str = "Examples:
  hustings papers                          lists the papers
  hustings papers datley                   compares every number of one paper, and explains the differences
  hustings papers datley --format json     the same as JSON
  hustings papers datley --item table-1    one table of it
  hustings papers mine/paper.toml          a paper of your own, with its experiments mine/NAME.toml
  hustings papers --all --out report       all papers: report/index.html, LaTeX tables, figures, data
  hustings papers --all --bundle all.tar   the same and the experiments in one archive, which others can reproduce
  hustings papers datley --plant-errors    plants an error behind every row, and sees that its verdict changes

Exit codes: 0 every difference is explained; 1 a difference is open, or a row cannot fail; 2 wrong use; 3 a file cannot be
read or written.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PapersArgs {
    /// The paper, or a file FILE.toml that describes one, with its experiments beside it; without it (and without
    /// --all) the papers are listed.
    #[arg(conflicts_with = "all")]
    name: Option<String>,
    /// Compares all papers.
    #[arg(long)]
    all: bool,
    /// Writes a report into this folder: a page, LaTeX tables, figures, data.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Writes the report, the experiments and the command that reproduces them into one tar archive, whose bytes depend
    /// on nothing but the version.
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// The date of the program in the report, YYYY-MM-DD [default: the day of its release]. It is not that of the day:
    /// the same version writes the same bytes.
    #[arg(long, value_name = "DATE", value_parser = date)]
    date: Option<String>,
    /// Plants an error behind every row and lists the rows whose verdict does not change: they could not fail.
    #[arg(long, conflicts_with_all = ["out", "bundle"])]
    plant_errors: bool,
    /// Shows only this item of the paper. All of it is compared, since claims are decided together.
    #[arg(long, value_name = "ID", requires = "name", conflicts_with_all = ["all", "out", "bundle", "plant_errors"])]
    item: Option<String>,
    /// Includes items that take minutes: networks of up to a million nodes.
    #[arg(long)]
    large: bool,
    /// The number of threads; it does not affect the results [default: one per core].
    #[arg(long, value_name = "N", value_parser = read(thread_count), allow_negative_numbers = true)]
    threads: Option<usize>,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A day, as a report shows it.
fn date(text: &str) -> Result<String, String> {
    let allowed = || "not a date; allowed: YYYY-MM-DD, such as 2026-01-31".to_string();
    let parts: Vec<&str> = text.split('-').collect();
    let is_number = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    let [year, month, day] = parts[..] else { return Err(allowed()) };
    let within = |part: &str, max: u32| part.parse().is_ok_and(|number: u32| (1..=max).contains(&number));
    let is_date =
        is_number(year, 4) && is_number(month, 2) && is_number(day, 2) && within(month, 12) && within(day, 31);
    if is_date { Ok(text.to_string()) } else { Err(allowed()) }
}

pub(crate) fn run(args: &PapersArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let chosen: Vec<&'static Paper> = match &args.name {
        Some(file) if file.ends_with(".toml") => vec![published::read(Path::new(file))?],
        Some(name) => {
            let known = published::all().iter().map(|paper| paper.name.as_str());
            vec![published::find(name).ok_or_else(|| Failure::unknown("paper", name, known))?]
        }
        None if args.all => published::all().iter().collect(),
        None if args.out.is_some() || args.large || args.bundle.is_some() || args.plant_errors => {
            return Err(Failure::Conflict {
                problem: "--out, --bundle, --plant-errors and --large need a paper, or --all".to_string(),
                help: "`hustings papers --all --out DIR` writes the whole report".to_string(),
            });
        }
        None => return list(args.format, console),
    };
    if let Some(folder) = &args.out {
        report::prepare(folder)?;
    }
    let bar = bar(console, &chosen, args.large);
    let started = Cell::new(false);
    let on_start = |experiment: &str| {
        // The start of an experiment is the end of the one before.
        if started.replace(true) {
            bar.inc(1);
        }
        bar.set_message(experiment.to_string());
    };
    let own_folder = args.name.as_deref().map(Path::new).filter(|path| path.extension() == Some("toml".as_ref()));
    let mut cache = ResultCache::new(threads(args.threads), &on_start);
    if let Some(folder) = own_folder.and_then(Path::parent) {
        cache = cache.with_folder(folder);
    }
    let compared: Result<Vec<PaperComparison>, _> =
        chosen.iter().map(|paper| PaperComparison::of(paper, &cache, args.large)).collect();
    bar.finish_and_clear();
    let mut comparisons = compared?;
    if let Some(id) = &args.item {
        only(&mut comparisons, id)?;
    }
    if args.plant_errors {
        let rows = comparisons.iter().map(|one| rows_that_cannot_fail(one, &cache, args.large));
        let rows: Vec<Vec<String>> = rows.collect::<Result<_, _>>()?;
        return planted(&chosen, &rows, args.format, console);
    }
    if let Some(folder) = &args.out {
        report::write(&comparisons, &cache, args.date.as_deref(), folder)?;
    }
    if let Some(file) = &args.bundle {
        bundle::write(&comparisons, &cache, &command(args, &chosen), args.date.as_deref(), file)?;
    }
    match args.format {
        Format::Json => writeln!(console.out, "{}", to_json(&comparisons))?,
        Format::Text if args.name.is_some() => print(&comparisons, console)?,
        Format::Text => {}
    }
    if args.format == Format::Text {
        summary(&comparisons, console)?;
        if let Some(folder) = &args.out {
            writeln!(console.out, "\nwritten: {}", folder.join("index.html").display())?;
        }
        if let Some(file) = &args.bundle {
            writeln!(console.out, "\nwritten: {}", file.display())?;
        }
    }
    let settled = comparisons.iter().all(PaperComparison::is_settled);
    Ok(if settled { Exit::Done } else { Exit::No })
}

/// Leaves only the item with this id.
fn only(comparisons: &mut [PaperComparison], id: &str) -> Result<(), Failure> {
    for comparison in comparisons {
        let known: Vec<&str> = comparison.items.iter().map(|compared| compared.item.id.as_str()).collect();
        if !known.contains(&id) {
            return Err(Failure::unknown("item", id, known));
        }
        comparison.items.retain(|compared| compared.item.id == id);
    }
    Ok(())
}

/// The command that writes the same archive, typed in the folder that it unpacks to.
fn command(args: &PapersArgs, chosen: &[&Paper]) -> String {
    let what = match &args.name {
        None => "--all".to_string(),
        Some(file) if file.ends_with(".toml") => {
            chosen.iter().map(|paper| format!("papers/{}.toml", paper.name)).collect::<Vec<_>>().join(" ")
        }
        Some(name) => name.clone(),
    };
    let large = if args.large { " --large" } else { "" };
    let date = args.date.as_ref().map_or_else(String::new, |date| format!(" --date {date}"));
    format!("hustings papers {what}{large}{date} --bundle again.tar")
}

/// Lists the rows that cannot fail.
fn planted(
    chosen: &[&Paper],
    rows: &[Vec<String>],
    format: Format,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let count: usize = rows.iter().map(Vec::len).sum();
    if format == Format::Json {
        let paper = |(paper, rows): (&&Paper, &Vec<String>)| json!({"name": paper.name, "rows_that_cannot_fail": rows});
        let papers: Vec<Value> = chosen.iter().zip(rows).map(paper).collect();
        writeln!(console.out, "{}", json!({ "papers": papers }))?;
    } else {
        for (paper, rows) in chosen.iter().zip(rows) {
            for row in rows {
                writeln!(console.out, "{}, {row}: no error changes its verdict", paper.name)?;
            }
        }
        if count == 0 {
            writeln!(console.out, "an error behind any row changes its verdict")?;
        }
    }
    Ok(if count == 0 { Exit::Done } else { Exit::No })
}

/// The progress bar over experiments, if progress is shown.
fn bar(console: &Console<'_>, chosen: &[&Paper], large: bool) -> ProgressBar {
    let items = chosen.iter().flat_map(|paper| &paper.items).filter(|item| large || !item.large);
    let mut names: Vec<String> = items.flat_map(experiments).collect();
    names.sort_unstable();
    names.dedup();
    console.progress_bar(names.len() as u64, "{bar:30} {pos}/{len} experiments, {elapsed}: {msg}")
}

fn list(format: Format, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if format == Format::Json {
        let each: Vec<Value> = published::all()
            .iter()
            .map(|paper| {
                json!({"name": paper.name, "authors": paper.authors, "title": paper.title, "items": paper.items.len()})
            })
            .collect();
        writeln!(console.out, "{}", json!({ "papers": each }))?;
        return Ok(Exit::Done);
    }
    for paper in published::all() {
        writeln!(console.out, "{}  {}", Paint::Strong.on(&format!("{:<9}", paper.name), console.colour), paper.title)?;
        writeln!(
            console.out,
            "{:<11}{}; {} tables, figures, examples and claims",
            "",
            paper.authors,
            paper.items.len()
        )?;
    }
    writeln!(
        console.out,
        "\n`hustings papers NAME` measures one of them, `hustings papers --all --out DIR` writes a report."
    )?;
    Ok(Exit::Done)
}

fn print(comparisons: &[PaperComparison], console: &mut Console<'_>) -> Result<(), Failure> {
    for comparison in comparisons {
        let paper = comparison.paper;
        writeln!(console.out, "{}: {}\n", paper.authors, Paint::Strong.on(&paper.title, console.colour))?;
        for compared in &comparison.items {
            item(compared, console)?;
        }
    }
    Ok(())
}

/// The width of tables outside of a terminal.
const WIDTH: u16 = 120;

fn table(console: &Console<'_>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let width = if console.colour { table.width().unwrap_or(WIDTH) } else { WIDTH };
    table.set_width(width.min(160));
    table
}

fn item(compared: &ItemComparison, console: &mut Console<'_>) -> Result<(), Failure> {
    let item = compared.item;
    let ours = if item.ours { " (ours)" } else { "" };
    let title = Paint::Strong.on(&format!("{}: {}", item.place, item.title), console.colour);
    writeln!(console.out, "{title}{ours}")?;
    if !item.about.is_empty() {
        writeln!(console.out, "  {}", item.about)?;
    }
    if !compared.findings.is_empty() {
        let mut table = table(console);
        let has_claims = compared.findings.iter().any(|finding| finding.test.is_some());
        let published = if has_claims { "published, or our test" } else { "published" };
        table.set_header(["", published, "formula", "measured", "on", "verdict"]);
        for finding in &compared.findings {
            let is_claim = finding.test.is_some();
            let cell =
                |shown: &Option<DisplayValue>| shown.as_ref().map_or_else(String::new, |shown| shown.text.clone());
            let (published, formula, measured) = (
                cell(if is_claim { &finding.test } else { &finding.published }),
                cell(&finding.formula),
                cell(&finding.measured),
            );
            let ours = if finding.origin() == Origin::OwnClaim { " (ours)" } else { "" };
            table.add_row([
                format!("{}{ours}", finding.label),
                published,
                formula,
                measured,
                finding.sample.clone(),
                finding.verdict.to_string(),
            ]);
        }
        lines(&table, console)?;
    }
    let mut printed: Vec<&str> = Vec::new();
    for (finding, reason) in compared.findings.iter().flat_map(|one| one.reasons.iter().map(move |why| (one, why))) {
        if printed.contains(&reason.says.as_str()) {
            continue;
        }
        printed.push(&reason.says);
        let kind = reason.kind.map_or("reason", |kind| kind.name());
        let amount = reason.amount.map_or_else(String::new, |amount| format!(" ({} of it)", number(amount)));
        writeln!(console.out, "  {kind}{amount}, {}: {}", finding.label, reason.says)?;
    }
    for winners in &compared.winners {
        let mut table = table(console);
        let heads = winners.columns.iter().map(|column| format!("{} = {column}", winners.axes.1));
        table.set_header(std::iter::once(winners.axes.0.clone()).chain(heads));
        for (head, cells) in &winners.rows {
            table.add_row(std::iter::once(head.clone()).chain(cells.iter().cloned()));
        }
        writeln!(console.out, "  {}", winners.title)?;
        lines(&table, console)?;
    }
    if !compared.figures.is_empty() || compared.drawing.is_some() {
        writeln!(console.out, "  drawn in the report: `hustings papers NAME --out DIR`")?;
    }
    writeln!(console.out)?;
    Ok(())
}

fn lines(table: &Table, console: &mut Console<'_>) -> Result<(), Failure> {
    for line in table.to_string().lines() {
        writeln!(console.out, " {}", line.trim_end())?;
    }
    Ok(())
}

fn summary(comparisons: &[PaperComparison], console: &mut Console<'_>) -> Result<(), Failure> {
    for comparison in comparisons {
        let one = std::slice::from_ref(comparison);
        let counts: Vec<String> = Origin::ALL.into_iter().filter_map(|origin| counts(one, origin)).collect();
        let paint = if comparison.is_settled() { Paint::Good } else { Paint::Bad };
        let name = paint.on(&format!("{:<9}", comparison.paper.name), console.colour);
        writeln!(console.out, "{name}  {}", counts.join("; "))?;
        for (compared, finding) in open(comparison) {
            writeln!(console.out, "  open: {}, {}", compared.item.id, finding.label)?;
        }
    }
    Ok(())
}

/// `printed: 18 equal, 9 explained`, or nothing if there is none of this origin.
fn counts(comparisons: &[PaperComparison], origin: Origin) -> Option<String> {
    let counts = Verdict::ALL.map(|verdict| (tally(comparisons, origin, verdict), verdict));
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some.map(|(count, verdict)| format!("{count} {verdict}")).collect();
    (!words.is_empty()).then(|| format!("{}: {}", origin.name(), words.join(", ")))
}

fn open(comparison: &PaperComparison) -> impl Iterator<Item = (&ItemComparison, &Finding)> {
    let all =
        comparison.items.iter().flat_map(|compared| compared.findings.iter().map(move |finding| (compared, finding)));
    all.filter(|(_, finding)| !finding.verdict.is_settled())
}

fn to_json(comparisons: &[PaperComparison]) -> Value {
    let shown = |shown: &Option<DisplayValue>| {
        shown.as_ref().map(|shown| {
            let interval = shown.interval.map(|(low, high)| json!([low, high]));
            json!({"text": shown.text, "value": shown.value, "interval": interval})
        })
    };
    let finding = |finding: &Finding| {
        let reasons: Vec<Value> = finding
            .reasons
            .iter()
            .map(|reason| {
                let kind = reason.kind.map(|kind| kind.name());
                json!({"kind": kind, "says": reason.says, "amount": reason.amount})
            })
            .collect();
        json!({
            "what": finding.label,
            "published": shown(&finding.published),
            "test": finding.test.as_ref().map(|test| &test.text),
            "quote": finding.quote,
            "origin": finding.origin().name(),
            "choice": finding.choice,
            "formula": shown(&finding.formula),
            "measured": shown(&finding.measured),
            "runs": finding.sample,
            "command": finding.command,
            "verdict": finding.verdict.name(),
            "reasons": reasons,
        })
    };
    let compared = |compared: &ItemComparison| {
        json!({
            "id": compared.item.id,
            "place": compared.item.place,
            "title": compared.item.title,
            "ours": compared.item.ours,
            "experiments": compared.experiments,
            "findings": compared.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    };
    let paper = |comparison: &PaperComparison| {
        json!({
            "name": comparison.paper.name,
            "settled": comparison.is_settled(),
            "items": comparison.items.iter().map(compared).collect::<Vec<_>>(),
        })
    };
    json!({ "papers": comparisons.iter().map(paper).collect::<Vec<_>>() })
}
