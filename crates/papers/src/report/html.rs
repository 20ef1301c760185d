//! The report as a self-contained web page.

use std::fmt::Write;

use hustings_text::svg::escape;

use super::commands;
use super::summary;
use super::tables::{findings, winners};
use crate::comparison::{Drawing, Figure, ItemComparison, PaperComparison, Verdict};
use crate::published::Paper;

const STYLE: &str = include_str!("style.css");
/// Opens the details that a link leads to, and all of them before printing.
const SCRIPT: &str = include_str!("open.js");

/// The whole report on one page, without external files.
pub(super) fn page(comparisons: &[PaperComparison], date: Option<&str>) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Published and measured results</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    contents(&mut out, comparisons);
    out.push_str("<main>\n");
    opening(&mut out, comparisons, date);
    comparisons.iter().for_each(|comparison| section(&mut out, comparison));
    let _ = write!(
        out,
        "<footer>Made by Hustings {}. All measured numbers come from simulated runs with fixed seeds: \
         <code>{}</code> reproduces this page byte for byte. The data of every figure is \
         in <code>data/</code>, and <a href=\"references.bib\">references.bib</a> has entries for your bibliography.</footer>\n</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        commands::of_report(comparisons)
    );
    out
}

fn contents(out: &mut String, comparisons: &[PaperComparison]) {
    out.push_str(
        "<nav aria-label=\"Contents\">\n<p class=\"brand\"><a href=\"#top\">Hustings · papers</a></p>\n<ol>\n",
    );
    for comparison in comparisons {
        let name = &comparison.paper.name;
        let _ = write!(out, "<li><a href=\"#{name}\">{}</a>\n<ol>\n", display_name(name));
        for compared in &comparison.items {
            let mark = if compared.findings.iter().all(|finding| finding.verdict.is_settled()) { "" } else { " open" };
            let title = escape(&compared.item.title);
            let _ =
                writeln!(out, "<li class=\"entry{mark}\"><a href=\"#{name}-{}\">{title}</a></li>", compared.item.id);
        }
        out.push_str("</ol></li>\n");
    }
    out.push_str("</ol>\n</nav>\n");
}

fn opening(out: &mut String, comparisons: &[PaperComparison], date: Option<&str>) {
    let version = env!("CARGO_PKG_VERSION");
    let date = date.map_or_else(|| "not released yet".to_string(), escape);
    let _ = write!(
        out,
        "<header id=\"top\">\n<h1>Published and measured results</h1>\n\
         <p class=\"version\">Hustings {version}, {date}</p>\n\
         <p>Every table, figure, worked example, formula and claim of these papers on leader election, compared with \
         simulated runs. This page first says what was found; the details of each table and claim are below, closed \
         until you open them.</p>\n",
    );
    summary::write(out, comparisons);
    out.push_str(
        "<p class=\"legend\"><b>equal</b>: the values are equal, or differ by at most three standard errors. \
         <b>explained</b>: they differ, and the reasons add up to the difference. <b>yes</b>, <b>no</b>: the runs \
         confirm or refute a claim; <b>undecided</b>: the 95 % confidence interval contains the threshold. \
         <b>shown</b>: the paper prints no value; this is the one recorded with this version of the program. <b>open</b>: the difference is not explained. \
         Parentheses contain 95 % confidence intervals of the mean; below each row are the sizes, the bandwidths and the number \
         of its runs. Words in quotation marks are \
         those of the paper. <span class=\"ours\">ours</span> marks what the paper does not have: claims of ours, studies \
         that it suggests, and drawings that are missing in it.</p>\n</header>\n",
    );
}

fn section(out: &mut String, comparison: &PaperComparison) {
    let paper = comparison.paper;
    let known = [&paper.venue, &paper.organization, &paper.year.map(|year| year.to_string()), &paper.unstated()];
    let whereabouts: String = known.into_iter().flatten().map(|known| format!(". {known}")).collect();
    let _ = write!(
        out,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"cite\">{}: <cite>{}</cite>{}</p>\n<p>{}</p>\n\
         <p class=\"counting\"><b>Counting.</b> {}</p>\n",
        paper.name,
        display_name(&paper.name),
        escape(&paper.authors),
        escape(&paper.title),
        escape(&whereabouts),
        prose(&paper.about),
        prose(&paper.counting),
    );
    for compared in &comparison.items {
        article(out, paper, compared);
    }
    out.push_str("</section>\n");
}

fn article(out: &mut String, paper: &Paper, compared: &ItemComparison) {
    let item = compared.item;
    let id = format!("{}-{}", paper.name, item.id);
    let ours = if item.ours { " <span class=\"ours\">ours</span>" } else { "" };
    let _ = write!(
        out,
        "<article>\n<details id=\"{id}\">\n<summary><h3>{}</h3>{ours} {}\
         <a class=\"anchor\" href=\"#{id}\" title=\"a link to this item\">#</a><span class=\"place\">{}</span></summary>\n",
        escape(&item.title),
        badges(compared),
        escape(&item.place),
    );
    if !item.about.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", prose(&item.about));
    }
    if !compared.findings.is_empty() {
        findings(out, &id, compared);
    }
    compared.winners.iter().for_each(|table| winners(out, table));
    compared.figures.iter().for_each(|one| figure(out, one));
    if let Some(one) = &compared.drawing {
        drawing(out, &id, one);
    }
    reproduce(out, paper, compared);
    out.push_str("</details>\n</article>\n");
}

/// The commands that reproduce an item: all of it, the runs of its experiments, and single runs of its rows.
fn reproduce(out: &mut String, paper: &Paper, compared: &ItemComparison) {
    let _ = write!(
        out,
        "<details class=\"more\">\n<summary>Reproduce</summary>\n<p class=\"data\">In the folder of this report:</p>\n\
         <ul class=\"commands\">\n<li>the item: <code>{}</code></li>\n",
        escape(&commands::of_item(paper, compared.item))
    );
    for name in &compared.experiments {
        let data = format!("<a href=\"data/{name}.csv\">csv</a>, <a href=\"data/{name}.parquet\">parquet</a>");
        let _ = match commands::of_experiment(name) {
            Some(command) => writeln!(out, "<li>its runs ({data}): <code>{}</code></li>", escape(&command)),
            None => writeln!(out, "<li>a table that is computed ({data})</li>"),
        };
    }
    for command in commands::of_runs(compared) {
        let rows = compared.findings.iter().filter(|finding| finding.command.as_deref() == Some(command));
        let labels: Vec<String> = rows.map(|finding| prose(&finding.label)).collect();
        let _ = writeln!(out, "<li>{}: <code>{}</code></li>", labels.join("; "), escape(command));
    }
    out.push_str("</ul>\n</details>\n");
}

/// The run of an example. A picture comes first, and the diagram is then closed until it is opened.
fn drawing(out: &mut String, id: &str, drawing: &Drawing) {
    let run = format!(
        "<figure class=\"run\">\n{}\n<figcaption>The run: a line per node, time from left to right. \
         <a href=\"runs/{id}.svg\">SVG</a>, <a href=\"runs/{id}.txt\">trace</a></figcaption>\n</figure>\n",
        drawing.svg.trim()
    );
    let Some(picture) = &drawing.picture else {
        out.push_str(&run);
        return;
    };
    let _ = write!(
        out,
        "<figure class=\"picture\">\n{}\n<figcaption>The network with its messages; dashed: lost. \
         <a href=\"runs/{id}-picture.svg\">SVG</a></figcaption>\n</figure>\n\
         <details class=\"more\">\n<summary>The same run over time</summary>\n{run}</details>\n",
        picture.trim()
    );
}

/// How often each verdict was given.
fn badges(compared: &ItemComparison) -> String {
    let mut badges = String::new();
    for verdict in Verdict::ALL {
        match compared.findings.iter().filter(|finding| finding.verdict == verdict).count() {
            0 => {}
            count => _ = write!(badges, "<span class=\"badge {verdict}\">{count} {verdict}</span> "),
        }
    }
    badges
}

fn figure(out: &mut String, figure: &Figure) {
    let _ = write!(
        out,
        "<figure>\n{}\n<figcaption><a href=\"figures/{}.svg\">SVG</a>, data: <a href=\"data/{2}.csv\">{2}.csv</a>\
         </figcaption>\n</figure>\n",
        figure.svg.trim(),
        figure.name,
        figure.experiment,
    );
}

/// Text with `code` in backquotes, indices (`L_i`) and exponents (`u^i`, `u^(i-1)`).
pub(super) fn prose(text: &str) -> String {
    let mut out = String::new();
    for (part, is_code) in text.split('`').zip([false, true].into_iter().cycle()) {
        let part = escape(part);
        let _ = if is_code { write!(out, "<code>{part}</code>") } else { write!(out, "{}", raised_and_lowered(&part)) };
    }
    out
}

fn raised_and_lowered(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['_', '^']) {
        let (before, after) = rest.split_at(at);
        let (tag, after) = (if after.starts_with('_') { "sub" } else { "sup" }, &after[1..]);
        let inner =
            after.strip_prefix('(').and_then(|inner| inner.split_once(')')).filter(|(inner, _)| !inner.contains('('));
        let end = after.find(|c: char| !c.is_alphanumeric() && c != '.').unwrap_or(after.len());
        let (raised, more) = inner.unwrap_or_else(|| after.split_at(end));
        out.push_str(before);
        // An index belongs to a letter: other names are shown as they are.
        let base = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().chars().count();
        if raised.is_empty() || before.is_empty() || (tag == "sub" && base != 1) {
            out.push_str(&rest[at..=at]);
            rest = after;
            continue;
        }
        let _ = write!(out, "<{tag}>{raised}</{tag}>");
        rest = more;
    }
    out + rest
}

pub(super) fn badge(verdict: Verdict) -> String {
    format!("<span class=\"badge {verdict}\">{verdict}</span>")
}

pub(super) fn display_name(name: &str) -> String {
    let mut signs = name.chars();
    let first = signs.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    match name {
        "mcmaster" => "McMaster".to_string(),
        _ => first + signs.as_str(),
    }
}
