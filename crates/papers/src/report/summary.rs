//! What was found, at the top of the report: what holds, what does not, what differs and why.

use std::fmt::Write;

use hustings_text::svg::escape;

use super::html::{badge, display_name, prose};
use crate::comparison::{AppliedReason, Finding, ItemComparison, Origin, PaperComparison, Verdict, tally};

/// A finding with its paper and item.
type Found<'a> = (&'a PaperComparison, &'a ItemComparison, &'a Finding);

pub(super) fn write(out: &mut String, comparisons: &[PaperComparison]) {
    out.push_str("<section class=\"found\" aria-label=\"Findings\">\n");
    sentences(out, comparisons);
    table(out, comparisons);
    let all: Vec<Found<'_>> = comparisons
        .iter()
        .flat_map(|comparison| comparison.items.iter().map(move |item| (comparison, item)))
        .flat_map(|(comparison, item)| item.findings.iter().map(move |finding| (comparison, item, finding)))
        .collect();
    claims(out, &all, Verdict::Open, "What is not explained");
    claims(out, &all, Verdict::No, "Claims that do not hold, and why");
    claims(out, &all, Verdict::Undecided, "Claims that the runs do not decide");
    differences(out, &all);
    claims(out, &all, Verdict::Yes, "Claims that hold");
    out.push_str("</section>\n");
}

/// The result in a few sentences.
fn sentences(out: &mut String, comparisons: &[PaperComparison]) {
    let count = |origin: Origin| Verdict::ALL.map(|verdict| tally(comparisons, origin, verdict));
    let [equal, explained, ..] = count(Origin::Printed);
    let derived: usize = count(Origin::Derived).iter().sum();
    let shown: usize = count(Origin::Shown).iter().sum();
    let [_, _, yes, no, undecided, ..] = count(Origin::Claim);
    let [_, _, own_yes, own_no, own_undecided, ..] = count(Origin::OwnClaim);
    let open: usize = comparisons.iter().map(|comparison| comparison.count(Verdict::Open)).sum();
    let _ = writeln!(
        out,
        "<p class=\"lead\">Of {} numbers and steps that the papers print, <b>{equal} are measured as printed</b> and \
         {explained} differ for reasons that add up to the difference. Of {} claims that they make, <b>{yes} hold</b>, \
         <b>{no} do not</b>, and {undecided} cannot be decided with these runs. Counted apart: {derived} numbers and steps \
         that we derived, {} claims of ours ({own_yes} hold), and {shown} values that are only shown, because nothing is \
         printed. {}</p>",
        equal + explained,
        yes + no + undecided,
        own_yes + own_no + own_undecided,
        match open {
            0 => "Nothing is left unexplained.".to_string(),
            1 => "<b>One difference is not explained.</b>".to_string(),
            _ => format!("<b>{open} differences are not explained.</b>"),
        }
    );
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

fn link(comparison: &PaperComparison, item: &ItemComparison) -> String {
    let name = &comparison.paper.name;
    format!("<a href=\"#{name}-{}\">{}, {}</a>", item.item.id, display_name(name), escape(&item.item.place))
}
