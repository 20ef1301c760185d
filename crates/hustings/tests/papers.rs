//! `hustings papers`, and the command lines of docs/research.md.

use crate::common;

use std::fs;

use common::{binary, inside, repository};
use serde_json::Value;

#[test]
fn lists_the_papers() {
    let ran = inside(&["papers"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for name in ["shirali", "adams", "datley", "mcmaster", "crete"] {
        assert!(ran.out.lines().any(|line| line.starts_with(name)), "{name} is not in:\n{}", ran.out);
    }
    let listed: Value = serde_json::from_str(&inside(&["papers", "--format", "json"]).out).expect("it is JSON");
    assert_eq!(listed["papers"].as_array().map(Vec::len), Some(5));
}

#[test]
fn errors_name_what_is_allowed() {
    let cases: [(&[&str], &str); 4] = [
        (&["papers", "datly"], "there is no paper `datly`"),
        (&["papers", "datly"], "the nearest is `datley`; `hustings papers` shows all"),
        (&["papers", "--out", "somewhere"], "--out and --large need a paper, or --all"),
        (&["papers", "datley", "--all"], "cannot be used with"),
    ];
    for (args, part) in cases {
        let ran = inside(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}

/// The number of findings of some items by verdict.
fn counts(printed: &Value, items: &[&str]) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for item in printed["papers"][0]["items"].as_array().expect("there are items") {
        if !items.contains(&item["id"].as_str().expect("it has an id")) {
            continue;
        }
        for finding in item["findings"].as_array().expect("there are findings") {
            let verdict = finding["verdict"].as_str().expect("it has a verdict").to_string();
            match counts.iter_mut().find(|(known, _)| *known == verdict) {
                Some((_, count)) => *count += 1,
                None => counts.push((verdict, 1)),
            }
        }
    }
    counts.sort();
    counts
}

#[test]
fn the_binary_compares_a_paper_and_writes_a_report() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let out = folder.path().join("report");
    let out_text = out.to_str().expect("it is UTF-8");
    let ran = binary(&["papers", "datley", "--out", out_text, "--format", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let printed: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    let tables = counts(&printed, &["table-1", "table-2", "table-3"]);
    assert_eq!(tables, [("equal".to_string(), 18), ("explained".to_string(), 9)]);
    for name in [
        "index.html",
        "findings.csv",
        "findings.csv-metadata.json",
        "findings.parquet",
        "tables/datley.tex",
        "data/datley-worst.csv",
    ] {
        let length = fs::metadata(out.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")).len();
        assert!(length > 100, "{name} has {length} bytes");
    }
    let page = fs::read_to_string(out.join("index.html")).expect("the page is there");
    assert!(page.contains("id=\"datley-table-1\"") && page.contains("<svg"), "the page has anchors and figures");
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org/").count());
    assert!(!page.contains("https://"), "the page needs no network");
}

#[test]
fn text_output_contains_every_reason() {
    let ran = inside(&["papers", "datley"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for part in ["published", "measured", "explained", "the paper omits that message", "datley"] {
        assert!(ran.out.contains(part), "`{part}` is missing in:\n{}", ran.out);
    }
}

/// The page shows `docs/rings.toml`, and its command lines work in their order.
#[test]
fn the_commands_of_the_research_page_work() {
    let page = fs::read_to_string(repository().join("docs/research.md")).expect("the page is there");
    let file = fs::read_to_string(repository().join("docs/rings.toml")).expect("the file is there");
    assert!(page.contains(&file), "docs/research.md does not show docs/rings.toml as it is");
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let here = |word: &str| match word.strip_prefix("docs/") {
        Some(_) => repository().join(word).display().to_string(),
        None if word.starts_with("results") || word.starts_with("report") => {
            folder.path().join(word).display().to_string()
        }
        None => word.to_string(),
    };
    let mut tried = 0;
    for line in page.lines().filter_map(|line| line.strip_prefix("$ hustings ")) {
        let command = line.split('#').next().unwrap_or_default();
        // The whole report takes minutes; other tests cover each paper.
        if command.contains("--all") {
            continue;
        }
        let args: Vec<String> = command.split_whitespace().map(here).collect();
        let ran = inside(&args);
        assert_eq!(ran.code, 0, "{line}\n{}", ran.err);
        tried += 1;
    }
    assert!(tried >= 6, "there are command lines");
}
