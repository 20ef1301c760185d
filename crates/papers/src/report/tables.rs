//! Tables of the web page. On a phone each row becomes a block, in which every cell says what it is (`data-label`):
//! nothing is beside the screen.

use std::fmt::Write;

use hustings_text::svg::escape;

use super::columns::{Column, columns, is_text};
use super::html::{badge, prose};
use super::notes::{marks, notes};
use super::summary;
use crate::comparison::{AppliedReason, Finding, ItemComparison, WinnersTable};

/// The findings of an item, and the reasons below them.
pub(super) fn findings(out: &mut String, id: &str, compared: &ItemComparison) {
    let notes = notes(compared);
    let columns = columns(compared);
    let is_claims_only = compared.findings.iter().all(|finding| finding.test.is_some());
    let first = if is_claims_only { "claim" } else { "" };
    let _ = write!(out, "<div class=\"scroll\"><table class=\"findings\">\n<thead><tr><th scope=\"col\">{first}</th>");
    for column in &columns {
        let class = if column.is_text { " class=\"words\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", column.name);
    }
    out.push_str("<th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n");
    for finding in &compared.findings {
        row(out, id, &columns, &notes, finding);
    }
    out.push_str("</tbody>\n</table></div>\n");
    if notes.is_empty() {
        return;
    }
    out.push_str("<ol class=\"notes\">\n");
    for (reason, number) in notes.iter().zip(1..) {
        let kind = reason.kind.map_or_else(String::new, |kind| format!("<b>{}</b> ", kind.name()));
        let _ = writeln!(out, "<li id=\"{id}-{number}\">{kind}{}</li>", prose(&reason.says));
    }
    out.push_str("</ol>\n");
}

fn row(out: &mut String, id: &str, columns: &[Column], notes: &[&AppliedReason], finding: &Finding) {
    let sample = if finding.sample.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"sample\">{}</span>", escape(&finding.sample))
    };
    let _ = write!(out, "<tr><th scope=\"row\">{}{}{sample}</th>", prose(&finding.label), summary::source(finding));
    for column in columns {
        let shown = column.of(finding);
        let mut text = shown.map_or_else(String::new, |shown| prose(&shown.text));
        if let (Some(test), Some(choice), true) = (&finding.test, &finding.choice, shown == finding.test.as_ref()) {
            text = format!("{} <span class=\"choice\">our threshold: {}</span>", prose(&test.text), prose(choice));
        }
        let words = if shown.is_some_and(is_text) { " words" } else { "" };
        let _ = write!(out, "<td class=\"{}{words}\" data-label=\"{}\">{text}</td>", column.class(), column.name);
    }
    let mut verdict = badge(finding.verdict);
    for (number, amount) in marks(finding, notes) {
        let _ = write!(verdict, " <a class=\"mark\" href=\"#{id}-{number}\">{amount}<sup>{number}</sup></a>");
    }
    let _ = writeln!(out, "<td class=\"verdict\" data-label=\"verdict\">{verdict}</td></tr>");
}

pub(super) fn winners(out: &mut String, table: &WinnersTable) {
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
        let _ =
            write!(out, "<tr><th scope=\"row\"><span class=\"axis\">{} = </span>{head}</th>", escape(&table.axes.0));
        // A winner of neighbouring columns is named once.
        let mut at = 0;
        for same in cells.chunk_by(|a, b| a == b) {
            let span = if same.len() > 1 { format!(" colspan=\"{}\"", same.len()) } else { String::new() };
            let label = format!("{} = {}", table.axes.1, table.columns[at..at + same.len()].join(", "));
            let _ = write!(out, "<td{span} data-label=\"{}\">{}</td>", escape(&label), escape(&same[0]));
            at += same.len();
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}
