//! `hustings papers`.

use std::cell::Cell;
use std::path::PathBuf;

use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use hustings_papers::findings::{Answer, Finding, Laboratory, Shown, Study, Verdict, experiments, number};
use hustings_papers::report;
use hustings_papers::texts::{self, Text};
use hustings_sim::parse;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::args::Format;
use super::console::{Console, Exit, Paint};
use super::failure::Failure;
use super::read::read;

const EXAMPLES: &str = "Examples:
  hustings papers                          the texts
  hustings papers datley                   one of them: every number, measured, and why it differs
  hustings papers datley --format json     for programs
  hustings papers --all --out report       all of them: report/index.html, LaTeX tables, figures, data

Exit codes: 0 every number is equal or explained, every claim answered; 1 something is not; 2 wrong use; 3 a file could
not be written.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PapersArgs {
    /// Which text; without one (and without --all) they are listed.
    #[arg(conflicts_with = "all")]
    name: Option<String>,
    /// All texts.
    #[arg(long)]
    all: bool,
    /// Writes a report into this folder: a page, LaTeX tables, figures, data.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also what takes minutes: networks of up to a million nodes.
    #[arg(long)]
    large: bool,
    /// How many runs are held at once; the results are the same for any number [default: one per core].
    #[arg(long, value_name = "N", value_parser = read(parse::thread_count), allow_negative_numbers = true)]
    threads: Option<usize>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &PapersArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let chosen: Vec<&'static Text> = match &args.name {
        Some(name) => {
            let known = texts::all().iter().map(|text| text.name.as_str());
            vec![texts::find(name).ok_or_else(|| Failure::unknown("text", name, known))?]
        }
        None if args.all => texts::all().iter().collect(),
        None if args.out.is_some() || args.large => {
            return Err(Failure::Conflict {
                problem: "--out and --large need a text, or --all".to_string(),
                help: "`hustings papers --all --out DIR` writes the whole report".to_string(),
            });
        }
        None => return list(args.format, console),
    };
    if let Some(folder) = &args.out {
        report::prepare(folder)?;
    }
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let bar = bar(console, &chosen, args.large);
    let begun = Cell::new(false);
    let watch = |experiment: &str| {
        // What is told is what begins; the one before it is done.
        if begun.replace(true) {
            bar.inc(1);
        }
        bar.set_message(experiment.to_string());
    };
    let laboratory = Laboratory::new(threads, &watch);
    let studied: Result<Vec<Study>, _> = chosen.iter().map(|text| Study::of(text, &laboratory, args.large)).collect();
    bar.finish_and_clear();
    let studies = studied?;
    if let Some(folder) = &args.out {
        report::write(&studies, &laboratory, folder)?;
    }
    match args.format {
        Format::Json => writeln!(console.out, "{}", told(&studies))?,
        Format::Text if args.name.is_some() => print(&studies, console)?,
        Format::Text => {}
    }
    if args.format == Format::Text {
        summary(&studies, console)?;
        if let Some(folder) = &args.out {
            writeln!(console.out, "\nwritten: {}", folder.join("index.html").display())?;
        }
    }
    let settled = studies.iter().all(Study::is_settled);
    Ok(if settled { Exit::Done } else { Exit::No })
}

/// Shows which experiment is run, if anybody watches.
fn bar(console: &Console<'_>, chosen: &[&Text], large: bool) -> ProgressBar {
    if !console.progress {
        return ProgressBar::hidden();
    }
    let items = chosen.iter().flat_map(|text| &text.items).filter(|item| large || !item.large);
    let mut names: Vec<String> = items.flat_map(experiments).collect();
    names.sort_unstable();
    names.dedup();
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} experiments, {elapsed}: {msg}");
    ProgressBar::new(names.len() as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn list(format: Format, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if format == Format::Json {
        let each: Vec<Value> = texts::all()
            .iter()
            .map(|text| json!({"name": text.name, "authors": text.authors, "title": text.title, "items": text.items.len()}))
            .collect();
        writeln!(console.out, "{}", json!({ "texts": each }))?;
        return Ok(Exit::Done);
    }
    for text in texts::all() {
        writeln!(console.out, "{}  {}", Paint::Strong.on(&format!("{:<9}", text.name), console.colour), text.title)?;
        writeln!(console.out, "{:<11}{}; {} tables, figures, examples and claims", "", text.authors, text.items.len())?;
    }
    writeln!(
        console.out,
        "\n`hustings papers NAME` measures one of them, `hustings papers --all --out DIR` writes a report."
    )?;
    Ok(Exit::Done)
}

fn print(studies: &[Study], console: &mut Console<'_>) -> Result<(), Failure> {
    for study in studies {
        let text = study.text;
        writeln!(console.out, "{}: {}\n", text.authors, Paint::Strong.on(&text.title, console.colour))?;
        for answer in &study.answers {
            item(answer, console)?;
        }
    }
    Ok(())
}

/// The width of tables when nobody looks: what a program reads should not depend on a window.
const WIDTH: u16 = 120;

fn table(console: &Console<'_>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let width = if console.colour { table.width().unwrap_or(WIDTH) } else { WIDTH };
    table.set_width(width.min(160));
    table
}

fn item(answer: &Answer, console: &mut Console<'_>) -> Result<(), Failure> {
    let item = answer.item;
    let ours = if item.ours { " (ours)" } else { "" };
    let title = Paint::Strong.on(&format!("{}: {}", item.place, item.title), console.colour);
    writeln!(console.out, "{title}{ours}")?;
    if !item.about.is_empty() {
        writeln!(console.out, "  {}", item.about)?;
    }
    if !answer.findings.is_empty() {
        let mut table = table(console);
        table.set_header(["", "published", "formula", "measured", "verdict"]);
        for finding in &answer.findings {
            let cell = |shown: &Option<Shown>| shown.as_ref().map_or_else(String::new, |shown| shown.text.clone());
            let (published, formula, measured) =
                (cell(&finding.published), cell(&finding.formula), cell(&finding.measured));
            table.add_row([finding.label.clone(), published, formula, measured, finding.verdict.to_string()]);
        }
        lines(&table, console)?;
    }
    let mut told: Vec<&str> = Vec::new();
    for (finding, because) in answer.findings.iter().flat_map(|one| one.reasons.iter().map(move |why| (one, why))) {
        if told.contains(&because.says.as_str()) {
            continue;
        }
        told.push(&because.says);
        let kind = because.kind.map_or("why", |kind| kind.name());
        let amount = because.amount.map_or_else(String::new, |amount| format!(" ({} of it)", number(amount)));
        writeln!(console.out, "  {kind}{amount}, {}: {}", finding.label, because.says)?;
    }
    for winners in &answer.winners {
        let mut table = table(console);
        let heads = winners.columns.iter().map(|column| format!("{} = {column}", winners.axes.1));
        table.set_header(std::iter::once(winners.axes.0.clone()).chain(heads));
        for (head, cells) in &winners.rows {
            table.add_row(std::iter::once(head.clone()).chain(cells.iter().cloned()));
        }
        writeln!(console.out, "  {}", winners.title)?;
        lines(&table, console)?;
    }
    if !answer.figures.is_empty() || answer.drawing.is_some() {
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

fn summary(studies: &[Study], console: &mut Console<'_>) -> Result<(), Failure> {
    let verdicts = [Verdict::Equal, Verdict::Explained, Verdict::Yes, Verdict::No, Verdict::Shown, Verdict::Open];
    for study in studies {
        let counts: Vec<String> = verdicts
            .into_iter()
            .map(|verdict| (study.count(verdict), verdict))
            .filter(|(count, _)| *count > 0)
            .map(|(count, verdict)| format!("{count} {verdict}"))
            .collect();
        let paint = if study.is_settled() { Paint::Good } else { Paint::Bad };
        let name = paint.on(&format!("{:<9}", study.text.name), console.colour);
        writeln!(console.out, "{name}  {}", counts.join(", "))?;
        for (answer, finding) in open(study) {
            writeln!(console.out, "  open: {}, {}", answer.item.id, finding.label)?;
        }
    }
    Ok(())
}

fn open(study: &Study) -> impl Iterator<Item = (&Answer, &Finding)> {
    let all = study.answers.iter().flat_map(|answer| answer.findings.iter().map(move |finding| (answer, finding)));
    all.filter(|(_, finding)| !finding.verdict.is_settled())
}

fn told(studies: &[Study]) -> Value {
    let shown = |shown: &Option<Shown>| {
        shown.as_ref().map(|shown| {
            let interval = shown.interval.map(|(low, high)| json!([low, high]));
            json!({"text": shown.text, "value": shown.value, "interval": interval})
        })
    };
    let finding = |finding: &Finding| {
        let reasons: Vec<Value> = finding
            .reasons
            .iter()
            .map(|because| {
                let kind = because.kind.map(|kind| kind.name());
                json!({"kind": kind, "says": because.says, "amount": because.amount})
            })
            .collect();
        json!({
            "what": finding.label,
            "published": shown(&finding.published),
            "formula": shown(&finding.formula),
            "measured": shown(&finding.measured),
            "verdict": finding.verdict.name(),
            "reasons": reasons,
        })
    };
    let answer = |answer: &Answer| {
        json!({
            "id": answer.item.id,
            "place": answer.item.place,
            "title": answer.item.title,
            "ours": answer.item.ours,
            "experiments": answer.experiments,
            "findings": answer.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    };
    let study = |study: &Study| {
        json!({
            "name": study.text.name,
            "settled": study.is_settled(),
            "items": study.answers.iter().map(answer).collect::<Vec<_>>(),
        })
    };
    json!({ "texts": studies.iter().map(study).collect::<Vec<_>>() })
}
