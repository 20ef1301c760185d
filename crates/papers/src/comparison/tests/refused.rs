//! Quotations that are not in the text are refused.

use super::*;
use crate::comparison::Origin;
use crate::published::{Paper, PaperFile};

const COLUMNS: &[(&str, &[i64])] =
    &[("nodes", &[4, 8]), ("messages", &[3, 7]), ("messages.ok", &[1, 2]), ("quiescent", &[5, 6]), ("lost", &[1, 1])];

/// Compares a paper with one item, of which this is the rest, and the text `Some words of a text.`
fn compare(item: &str) -> Result<PaperComparison, CompareError> {
    let source = format!(
        "name = \"made\"\nauthors = \"\"\ntitle = \"\"\nabout = \"\"\ncounting = \"\"\n\n[[item]]\nid = \"one\"\n\
         place = \"\"\ntitle = \"\"\nexperiment = \"made\"\n{item}"
    );
    let paper: Paper = toml::from_str(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let words = Some("Some words of a text, more than five.".to_string());
    let file = PaperFile { path: "made.toml".into(), source, words };
    let cache = ResultCache::new(1, &|_| {});
    cache.insert("made", results(COLUMNS));
    PaperComparison::of(Box::leak(Box::new(Paper { file, ..paper })), &cache, false)
}

#[test]
fn a_quotation_that_is_not_there_is_refused() {
    let test = "test = { kind = \"min\", y = \"messages\", within = [1, 1e9] }\n";
    let claim = |lines: &str| format!("[[item.claim]]\nsays = \"a claim\"\n{lines}\n{test}");
    let cases = [
        (
            claim("quote = \"Some words of another text\""),
            "made.toml:14: one, claim `a claim`: the quotation \"Some words of another text\" is not in the text, which has \
             no \"some words of another text\"",
        ),
        (claim(""), "made.toml:13: one, claim `a claim`: whose claim is it?"),
        (claim("quote = \"words of a text\"\nours = true"), "a claim that is ours has no `quote`"),
        (
            claim("ours = true\nchoice = \"it says \\\"other words\\\"\""),
            "the quotation \"other words\" is not in the text",
        ),
        (claim("ours = true\nchoice = \"it says \\\"words\""), "a quotation mark is not closed"),
    ];
    for (item, part) in cases {
        let error = compare(&item).map(|_| ()).expect_err(&item).to_string();
        assert!(error.contains(part), "{item}\n{error}");
    }
    let found = compare(&claim("quote = \"some words … MORE than five\"\nchoice = \"it has \\\"words\\\"\"")).unwrap();
    let finding = found.findings().next().unwrap();
    assert_eq!((finding.origin(), finding.quote.is_some()), (Origin::Claim, true));
}
