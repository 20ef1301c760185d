//! What was found, at the top of the report: what holds, what does not, what differs and why.

use std::fmt::Write;

use hustings_text::svg::escape;

use super::html::{badge, display_name, prose};
use super::sentences;
use crate::comparison::{AppliedReason, Finding, ItemComparison, Origin, PaperComparison, Verdict};

/// A finding with its paper and item.
pub(super) type Found<'a> = (&'a PaperComparison, &'a ItemComparison, &'a Finding);

pub(super) fn write(out: &mut String, comparisons: &[PaperComparison]) {
    out.push_str("<section class=\"found\" aria-label=\"Findings\">\n");
    let mut all: Vec<Found<'_>> = comparisons
        .iter()
        .flat_map(|comparison| comparison.items.iter().map(move |item| (comparison, item)))
        .flat_map(|(comparison, item)| item.findings.iter().map(move |finding| (comparison, item, finding)))
        .collect();
    all.sort_by_key(rank);
    sentences::write(out, comparisons, &all);
    table(out, comparisons);
    claims(out, &all, Verdict::Open, "What is not explained");
    claims(out, &all, Verdict::No, "Claims that do not hold, and why");
    claims(out, &all, Verdict::Undecided, "Claims that the runs do not decide");
    differences(out, &all);
    claims(out, &all, Verdict::Yes, "Claims that hold");
    out.push_str("</section>\n");
}

/// How late a finding comes in the lists: what a paper is written for comes first, then its other claims in its own
/// order, and claims of ours last.
fn rank((_, item, finding): &Found<'_>) -> u8 {
    match finding.origin() {
        Origin::OwnClaim => 2,
        _ if item.item.main => 0,
        _ => 1,
    }
}

/// Whose claim it is: the words of the paper, or a mark that it is ours.
pub(super) fn source(finding: &Finding) -> String {
    match &finding.quote {
        Some(quote) => format!(" <q>{}</q>", escape(quote)),
        None if finding.origin() == Origin::OwnClaim => " <span class=\"ours\">ours</span>".to_string(),
        None => String::new(),
    }
}

fn table(out: &mut String, comparisons: &[PaperComparison]) {
    out.push_str("<div class=\"scroll\"><table class=\"summary\">\n<thead><tr><th scope=\"col\">paper</th>");
    for verdict in Verdict::ALL {
        let _ = write!(out, "<th scope=\"col\">{}</th>", badge(verdict));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for comparison in comparisons {
        let name = &comparison.paper.name;
        let _ = write!(out, "<tr><th scope=\"row\"><a href=\"#{name}\">{}</a></th>", display_name(name));
        for verdict in Verdict::ALL {
            let _ = write!(out, "<td data-label=\"{verdict}\">{}</td>", comparison.count(verdict));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

/// The findings with a verdict, each with its reason.
fn claims(out: &mut String, all: &[Found<'_>], verdict: Verdict, title: &str) {
    let matching: Vec<&Found<'_>> = all.iter().filter(|(.., finding)| finding.verdict == verdict).collect();
    if matching.is_empty() {
        return;
    }
    let _ = writeln!(out, "<details><summary>{title} <b>({})</b></summary>\n<ul>", matching.len());
    for (comparison, item, finding) in matching {
        let reason = finding.reasons.first().map_or_else(String::new, |reason| format!(": {}", prose(&reason.says)));
        let _ =
            writeln!(out, "<li>{} {}{}{reason}</li>", link(comparison, item), prose(&finding.label), source(finding));
    }
    out.push_str("</ul></details>\n");
}

/// The reasons for differences, each once.
fn differences(out: &mut String, all: &[Found<'_>]) {
    let mut reasons: Vec<(&Found<'_>, &AppliedReason, usize)> = Vec::new();
    for found in all.iter().filter(|(.., finding)| finding.verdict == Verdict::Explained) {
        for reason in &found.2.reasons {
            match reasons.iter_mut().find(|(_, known, _)| known.says == reason.says) {
                Some((.., count)) => *count += 1,
                None => reasons.push((found, reason, 1)),
            }
        }
    }
    if reasons.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<details><summary>Printed numbers that differ, and why <b>({})</b></summary>\n<ul>",
        reasons.len()
    );
    for ((comparison, item, _), reason, count) in reasons {
        let kind = reason.kind.map_or_else(String::new, |kind| format!(" <b>{}</b>", kind.name()));
        let times = if count == 1 { String::new() } else { format!(" ({count} numbers)") };
        let _ = writeln!(out, "<li>{}{kind}{times}: {}</li>", link(comparison, item), prose(&reason.says));
    }
    out.push_str("</ul></details>\n");
}

pub(super) fn link(comparison: &PaperComparison, item: &ItemComparison) -> String {
    let name = &comparison.paper.name;
    format!("<a href=\"#{name}-{}\">{}, {}</a>", item.item.id, display_name(name), escape(&item.item.place))
}
