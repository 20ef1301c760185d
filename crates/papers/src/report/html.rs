//! The page: one file with everything in it.

use std::fmt::Write;

use super::columns::{columns, is_words};
use super::notes::{marks, notes};
use crate::findings::{Answer, Figure, Study, Verdict, WinnersTable};

const STYLE: &str = include_str!("style.css");

/// Everything on one page, which needs no other file and no network.
pub fn page(studies: &[Study]) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Published figures against measured ones</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    contents(&mut out, studies);
    out.push_str("<main>\n");
    opening(&mut out, studies);
    studies.iter().for_each(|study| section(&mut out, study));
    let _ = write!(
        out,
        "<footer>Made by Hustings {}. Every number here comes from a simulated run with a fixed seed: \
         <code>hustings papers --all --out DIR</code> writes the same bytes again. The data of every figure lies beside \
         this page, in <code>data/</code>.</footer>\n</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    out
}

fn contents(out: &mut String, studies: &[Study]) {
    out.push_str(
        "<nav aria-label=\"Contents\">\n<p class=\"brand\"><a href=\"#top\">Hustings · papers</a></p>\n<ol>\n",
    );
    for study in studies {
        let name = &study.text.name;
        let _ = write!(out, "<li><a href=\"#{name}\">{}</a>\n<ol>\n", capital(name));
        for answer in &study.answers {
            let mark = if answer.findings.iter().all(|finding| finding.verdict.is_settled()) { "" } else { " open" };
            let title = escaped(&answer.item.title);
            let _ = writeln!(out, "<li class=\"entry{mark}\"><a href=\"#{name}-{}\">{title}</a></li>", answer.item.id);
        }
        out.push_str("</ol></li>\n");
    }
    out.push_str("</ol>\n</nav>\n");
}

const VERDICTS: [Verdict; 6] =
    [Verdict::Equal, Verdict::Explained, Verdict::Yes, Verdict::No, Verdict::Shown, Verdict::Open];

fn opening(out: &mut String, studies: &[Study]) {
    out.push_str(
        "<header id=\"top\">\n<h1>Published figures against measured ones</h1>\n\
         <p>Texts on leader election: every table, figure, worked example, formula and claim is held against simulated \
         runs. Where print and measurement differ the reasons stand below the table, each with the part of the \
         difference that it makes out: only when these parts add up is a number called <em>explained</em>.</p>\n",
    );
    out.push_str("<table class=\"summary\">\n<thead><tr><th scope=\"col\">text</th>");
    for verdict in VERDICTS {
        let _ = write!(out, "<th scope=\"col\">{}</th>", badge(verdict));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for study in studies {
        let name = &study.text.name;
        let _ = write!(out, "<tr><th scope=\"row\"><a href=\"#{name}\">{}</a></th>", capital(name));
        for verdict in VERDICTS {
            let _ = write!(out, "<td>{}</td>", study.count(verdict));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
    out.push_str(
        "<p class=\"legend\"><b>equal</b>: the same number, or within what chance allows (three standard errors). \
         <b>explained</b>: different, and the reasons add up. <b>yes</b>, <b>no</b>: a claim in words that the runs \
         bear out, or do not. <b>shown</b>: nothing is printed to hold it against. <b>open</b>: nobody knows why. \
         Intervals in parentheses hold the mean with a confidence of 95 %. <span class=\"ours\">ours</span> marks what is \
         not in the text: studies it wished for, and drawings that are missing in it.</p>\n</header>\n",
    );
}

fn section(out: &mut String, study: &Study) {
    let text = study.text;
    let _ = write!(
        out,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"cite\">{}: <cite>{}</cite></p>\n<p>{}</p>\n\
         <p class=\"counting\"><b>How it is counted.</b> {}</p>\n",
        text.name,
        capital(&text.name),
        escaped(&text.authors),
        escaped(&text.title),
        escaped(&text.about),
        escaped(&text.counting),
    );
    for answer in &study.answers {
        article(out, &text.name, answer);
    }
    out.push_str("</section>\n");
}

fn article(out: &mut String, text: &str, answer: &Answer) {
    let item = answer.item;
    let id = format!("{text}-{}", item.id);
    let ours = if item.ours { " <span class=\"ours\">ours</span>" } else { "" };
    let _ = write!(
        out,
        "<article id=\"{id}\">\n<h3><a href=\"#{id}\">{}</a>{ours}</h3>\n<p class=\"place\">{}</p>\n",
        escaped(&item.title),
        escaped(&item.place),
    );
    if !item.about.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", escaped(&item.about));
    }
    if !answer.findings.is_empty() {
        findings(out, &id, answer);
    }
    answer.winners.iter().for_each(|table| winners(out, table));
    answer.figures.iter().for_each(|one| figure(out, one));
    if let Some(drawing) = &answer.drawing {
        let _ = write!(
            out,
            "<figure class=\"run\">\n{}\n<figcaption>The run, node by node: time goes to the right. \
             <a href=\"runs/{id}.svg\">SVG</a>, <a href=\"runs/{id}.txt\">every event</a></figcaption>\n</figure>\n",
            drawing.svg.trim()
        );
    }
    let data: Vec<String> = answer
        .experiments
        .iter()
        .map(|name| {
            format!("{name} (<a href=\"data/{name}.csv\">csv</a>, <a href=\"data/{name}.parquet\">parquet</a>)")
        })
        .collect();
    if !data.is_empty() {
        let _ = writeln!(out, "<p class=\"data\">measured by {}</p>", data.join(", "));
    }
    out.push_str("</article>\n");
}

fn findings(out: &mut String, id: &str, answer: &Answer) {
    let notes = notes(answer);
    let columns = columns(answer);
    out.push_str("<div class=\"scroll\"><table class=\"findings\">\n<thead><tr><th scope=\"col\"></th>");
    let class = |words: bool| if words { " class=\"words\"" } else { "" };
    for column in &columns {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column.words), column.name);
    }
    out.push_str("<th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n");
    for finding in &answer.findings {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escaped(&finding.label));
        for shown in columns.iter().map(|column| column.of(finding)) {
            let text = shown.map_or_else(String::new, |shown| escaped(&shown.text));
            let _ = write!(out, "<td{}>{text}</td>", class(shown.is_some_and(is_words)));
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
    for (because, number) in notes.iter().zip(1..) {
        let kind = because.kind.map_or_else(String::new, |kind| format!("<b>{}</b> ", kind.name()));
        let _ = writeln!(out, "<li id=\"{id}-{number}\">{kind}{}</li>", escaped(&because.says));
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
        escaped(&table.title),
        escaped(&table.axes.0)
    );
    for column in &table.columns {
        let _ = write!(out, "<th scope=\"col\">{} = {column}</th>", escaped(&table.axes.1));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (head, cells) in &table.rows {
        let _ = write!(out, "<tr><th scope=\"row\">{head}</th>");
        for cell in cells {
            let _ = write!(out, "<td>{}</td>", escaped(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn badge(verdict: Verdict) -> String {
    format!("<span class=\"badge {verdict}\">{verdict}</span>")
}

fn capital(name: &str) -> String {
    let mut signs = name.chars();
    let first = signs.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    match name {
        "mcmaster" => "McMaster".to_string(),
        _ => first + signs.as_str(),
    }
}

/// Text in which nothing is taken for markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
