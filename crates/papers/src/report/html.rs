//! The report as a self-contained web page.

use std::fmt::Write;

use hustings_text::svg::escape;

use super::columns::{columns, is_text};
use super::notes::{marks, notes};
use super::summary;
use crate::comparison::{Drawing, Figure, ItemComparison, PaperComparison, Verdict, WinnersTable};

const STYLE: &str = include_str!("style.css");
/// Opens the details that a link leads to, and all of them before printing.
const SCRIPT: &str = include_str!("open.js");

/// The whole report on one page, without external files.
pub(super) fn page(comparisons: &[PaperComparison]) -> String {
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
    opening(&mut out, comparisons);
    comparisons.iter().for_each(|comparison| section(&mut out, comparison));
    let _ = write!(
        out,
        "<footer>Made by Hustings {}. All measured numbers come from simulated runs with fixed seeds: \
         <code>hustings papers --all --out DIR</code> reproduces this page byte for byte. The data of every figure is \
         in <code>data/</code>, and <a href=\"references.bib\">references.bib</a> has entries for your bibliography.</footer>\n</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
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

fn opening(out: &mut String, comparisons: &[PaperComparison]) {
    out.push_str(
        "<header id=\"top\">\n<h1>Published and measured results</h1>\n\
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
    let _ = write!(
        out,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"cite\">{}: <cite>{}</cite></p>\n<p>{}</p>\n\
         <p class=\"counting\"><b>Counting.</b> {}</p>\n",
        paper.name,
        display_name(&paper.name),
        escape(&paper.authors),
        escape(&paper.title),
        escape(&paper.about),
        escape(&paper.counting),
    );
    for compared in &comparison.items {
        article(out, &paper.name, compared);
    }
    out.push_str("</section>\n");
}

fn article(out: &mut String, text: &str, compared: &ItemComparison) {
    let item = compared.item;
    let id = format!("{text}-{}", item.id);
    let ours = if item.ours { " <span class=\"ours\">ours</span>" } else { "" };
    let _ = write!(
        out,
        "<article>\n<details id=\"{id}\">\n<summary><h3>{}</h3>{ours} {}<span class=\"place\">{}</span></summary>\n",
        escape(&item.title),
        badges(compared),
        escape(&item.place),
    );
    if !item.about.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", escape(&item.about));
    }
    if !compared.findings.is_empty() {
        findings(out, &id, compared);
    }
    compared.winners.iter().for_each(|table| winners(out, table));
    compared.figures.iter().for_each(|one| figure(out, one));
    if let Some(one) = &compared.drawing {
        drawing(out, &id, one);
    }
    let data: Vec<String> = compared
        .experiments
        .iter()
        .map(|name| {
            format!("{name} (<a href=\"data/{name}.csv\">csv</a>, <a href=\"data/{name}.parquet\">parquet</a>)")
        })
        .collect();
    if !data.is_empty() {
        let _ = writeln!(out, "<p class=\"data\">measured by {}</p>", data.join(", "));
    }
    out.push_str("</details>\n</article>\n");
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

fn findings(out: &mut String, id: &str, compared: &ItemComparison) {
    let notes = notes(compared);
    let columns = columns(compared);
    let is_claims_only = compared.findings.iter().all(|finding| finding.test.is_some());
    let first = if is_claims_only { "claim" } else { "" };
    let _ = write!(out, "<div class=\"scroll\"><table class=\"findings\">\n<thead><tr><th scope=\"col\">{first}</th>");
    let class = |is_text: bool| if is_text { " class=\"words\"" } else { "" };
    for column in &columns {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column.is_text), column.name);
    }
    out.push_str("<th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n");
    for finding in &compared.findings {
        let sample = if finding.sample.is_empty() {
            String::new()
        } else {
            format!(" <span class=\"sample\">{}</span>", escape(&finding.sample))
        };
        let _ =
            write!(out, "<tr><th scope=\"row\">{}{}{sample}</th>", escape(&finding.label), summary::source(finding));
        for shown in columns.iter().map(|column| column.of(finding)) {
            let mut text = shown.map_or_else(String::new, |shown| escape(&shown.text));
            if let (Some(test), Some(choice), true) = (&finding.test, &finding.choice, shown == finding.test.as_ref()) {
                text =
                    format!("{} <span class=\"choice\">our threshold: {}</span>", escape(&test.text), escape(choice));
            }
            let _ = write!(out, "<td{}>{text}</td>", class(shown.is_some_and(is_text)));
        }
        let mut verdict = badge(finding.verdict);
        for (number, amount) in marks(finding, &notes) {
            let _ = write!(verdict, " <a class=\"mark\" href=\"#{id}-{number}\">{amount}<sup>{number}</sup></a>");
        }
        let _ = writeln!(out, "<td class=\"verdict\">{verdict}</td></tr>");
    }
    out.push_str("</tbody>\n</table></div>\n");
    if notes.is_empty() {
        return;
    }
    out.push_str("<ol class=\"notes\">\n");
    for (reason, number) in notes.iter().zip(1..) {
        let kind = reason.kind.map_or_else(String::new, |kind| format!("<b>{}</b> ", kind.name()));
        let _ = writeln!(out, "<li id=\"{id}-{number}\">{kind}{}</li>", escape(&reason.says));
    }
    out.push_str("</ol>\n");
}

fn figure(out: &mut String, figure: &Figure) {
    let _ = write!(
        out,
        "<figure>\n{}\n<figcaption>{} <a href=\"figures/{}.svg\">SVG</a>, data: <a href=\"data/{1}.csv\">{1}.csv</a>\
         </figcaption>\n</figure>\n",
        figure.svg.trim(),
        figure.experiment,
        figure.name,
    );
}

fn winners(out: &mut String, table: &WinnersTable) {
    let _ = write!(
        out,
        "<div class=\"scroll\"><table class=\"winners\">\n<caption>{}</caption>\n<thead><tr><th scope=\"col\">{}</th>",
        escape(&table.title),
        escape(&table.axes.0)
    );
    for column in &table.columns {
        let _ = write!(out, "<th scope=\"col\">{} = {column}</th>", escape(&table.axes.1));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (head, cells) in &table.rows {
        let _ = write!(out, "<tr><th scope=\"row\">{head}</th>");
        // A winner of neighbouring columns is named once.
        for same in cells.chunk_by(|a, b| a == b) {
            let span = if same.len() > 1 { format!(" colspan=\"{}\"", same.len()) } else { String::new() };
            let _ = write!(out, "<td{span}>{}</td>", escape(&same[0]));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
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
