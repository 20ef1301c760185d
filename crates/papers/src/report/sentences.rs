//! The result in five sentences: what the papers have right, what wrong, and what cannot be decided. All of it is
//! counted from the verdicts.

use std::fmt::Write;

use super::html::prose;
use super::summary::{Found, link};
use crate::comparison::{Origin, PaperComparison, Verdict, tally};
use crate::published::ReasonKind;

const KINDS: [ReasonKind; 6] = [
    ReasonKind::Misprint,
    ReasonKind::Inconsistent,
    ReasonKind::LooseBound,
    ReasonKind::Counting,
    ReasonKind::Overlap,
    ReasonKind::Approximation,
];

/// `1 claim`, `2 claims`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Writes the sentences. `all` has the findings, important ones first.
pub(super) fn write(out: &mut String, comparisons: &[PaperComparison], all: &[Found<'_>]) {
    let of = |origin: Origin| Verdict::ALL.map(|verdict| tally(comparisons, origin, verdict));
    let [equal, explained, ..] = of(Origin::Printed);
    let [_, _, yes, no, undecided, ..] = of(Origin::Claim);
    let [_, _, own_yes, own_no, own_undecided, ..] = of(Origin::OwnClaim);
    let derived: usize = of(Origin::Derived).iter().sum();
    let shown: usize = of(Origin::Shown).iter().sum();
    let open: usize = comparisons.iter().map(|comparison| comparison.count(Verdict::Open)).sum();
    let printed: usize = of(Origin::Printed).iter().sum();
    let claims: usize = of(Origin::Claim).iter().sum();
    let sentences = [
        format!(
            "<b>Right:</b> {equal} of {} that the papers print are measured as printed.",
            count(printed, "number or step").replace("number or steps", "numbers and steps")
        ),
        format!(
            "<b>Right:</b> {yes} of {} that they make hold{}.",
            count(claims, "claim"),
            examples(all, Verdict::Yes)
        ),
        format!(
            "<b>Wrong:</b> {explained} printed numbers and steps differ from what is measured, each by what its reasons add up to{}.",
            kinds(all)
        ),
        format!("<b>Wrong:</b> {no} of the claims do not hold{}.", examples(all, Verdict::No)),
        format!(
            "<b>Not decided:</b> {} cannot be told from chance with these runs, {} printed nowhere and only shown here, and {} not explained.",
            count(undecided, "claim"),
            if shown == 1 { "1 value is".to_string() } else { format!("{shown} values are") },
            if open == 1 { "1 difference is".to_string() } else { format!("{open} differences are") },
        ),
    ];
    out.push_str("<ol class=\"lead\">\n");
    sentences.iter().for_each(|sentence| _ = writeln!(out, "<li>{sentence}</li>"));
    let _ = writeln!(
        out,
        "</ol>\n<p class=\"legend\">Counted apart: {} that we derived from the papers' rules, and {} of ours, of which {own_yes} hold.</p>",
        count(derived, "number"),
        count(own_yes + own_no + own_undecided, "claim"),
    );
}

/// How many numbers differ for a reason of each kind. A number may have several.
fn kinds(all: &[Found<'_>]) -> String {
    let explained = || {
        all.iter().filter(|(.., finding)| finding.origin() == Origin::Printed && finding.verdict == Verdict::Explained)
    };
    let named = KINDS.into_iter().filter_map(|kind| {
        let number = explained().filter(|(.., one)| one.reasons.iter().any(|reason| reason.kind == Some(kind))).count();
        (number > 0).then(|| format!("{number} {}", kind.name()))
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
}

/// The most important claim of each paper with this verdict.
fn examples(all: &[Found<'_>], verdict: Verdict) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let mut out = String::new();
    for (comparison, item, finding) in all {
        let is_next = finding.verdict == verdict && finding.origin() == Origin::Claim;
        if !is_next || seen.contains(&comparison.paper.name.as_str()) {
            continue;
        }
        out.push_str(if seen.is_empty() { ", among them: " } else { "; " });
        seen.push(&comparison.paper.name);
        let _ = write!(out, "{} ({})", prose(&finding.label), link(comparison, item));
    }
    out
}
