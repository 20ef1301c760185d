//! Entries for BibTeX: the program and the papers of a report.

use std::fmt::Write;

use crate::comparison::PaperComparison;
use crate::published::Paper;

/// The entries of the program and of these papers. `date` is that of the program.
pub(super) fn entries(comparisons: &[PaperComparison], date: Option<&str>) -> String {
    let mut out = String::new();
    let program = [
        ("author", "{The Hustings authors}".to_string()),
        ("title", "{Hustings}: a laboratory for leader election".to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_string()),
        ("year", date.and_then(|date| date.split('-').next()).unwrap_or_default().to_string()),
        ("date", date.unwrap_or_default().to_string()),
        ("url", env!("CARGO_PKG_REPOSITORY").to_string()),
    ];
    entry(&mut out, "software", "hustings", &program);
    for comparison in comparisons {
        entry(&mut out, "misc", &comparison.paper.name, &fields(comparison.paper));
    }
    out
}

fn fields(paper: &Paper) -> Vec<(&'static str, String)> {
    // "B, after A": A is not an author.
    let (authors, after) = paper.authors.split_once(", after ").unwrap_or((&paper.authors, ""));
    let after = (!after.is_empty()).then(|| format!("After {after}"));
    // What an entry lacks, it says, so that nobody takes it for an oversight.
    let note: Vec<String> = after.into_iter().chain(paper.unstated()).collect();
    vec![
        ("author", authors.replace(", ", " and ")),
        ("title", format!("{{{}}}", paper.title)),
        ("howpublished", paper.venue.clone().unwrap_or_default()),
        ("organization", paper.organization.clone().unwrap_or_default()),
        ("year", paper.year.map_or_else(String::new, |year| year.to_string())),
        ("note", note.join(". ")),
        ("url", paper.url.clone().unwrap_or_default()),
    ]
}

/// An entry with those fields that have a value.
fn entry(out: &mut String, kind: &str, key: &str, fields: &[(&'static str, String)]) {
    let _ = writeln!(out, "@{kind}{{{key},");
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        // An address is taken as it is; elsewhere these characters have a meaning.
        let text = if *name == "url" { value.clone() } else { value.replace('%', "\\%").replace('&', "\\&") };
        let _ = writeln!(out, "  {name:<7} = {{{text}}},");
    }
    out.push_str("}\n\n");
}
