//! Entries for BibTeX: the program and the papers of a report.

use std::fmt::Write;

use crate::comparison::PaperComparison;
use crate::published::Paper;

/// The entries of the program and of these papers.
pub(super) fn entries(comparisons: &[PaperComparison]) -> String {
    let mut out = String::new();
    let program = [
        ("author", "{The Hustings authors}".to_string()),
        ("title", "{Hustings}: a laboratory for leader election".to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_string()),
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
    let (authors, note) = paper.authors.split_once(", after ").unwrap_or((&paper.authors, ""));
    let note = if note.is_empty() { String::new() } else { format!("after {note}") };
    vec![
        ("author", authors.replace(", ", " and ")),
        ("title", format!("{{{}}}", paper.title)),
        ("year", paper.year.map_or_else(String::new, |year| year.to_string())),
        ("note", note),
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
