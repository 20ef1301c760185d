//! Rows that could not fail, reasons that absorb any difference, and quotations that are not in the text are refused.

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

fn grid(value: &str, published: &str, amount: &str) -> String {
    let reason = match amount {
        "" => String::new(),
        _ => format!("[[item.grid.reason]]\nkind = \"counting\"\nsays = \"why\"\namount = \"{amount}\"\n"),
    };
    format!(
        "[item.grid]\nvalue = \"{value}\"\nrows = [{{ label = \"four\", where = {{ nodes = 4 }} }}]\n\
         columns = [{{ label = \"\" }}]\npublished = [[{published}]]\n{reason}"
    )
}

fn claim(test: &str) -> String {
    format!("[[item.claim]]\nsays = \"a claim\"\nours = true\ntest = {{ {test} }}\n")
}

#[test]
fn a_row_that_cannot_fail_is_refused_with_its_place() {
    let four = "of = { where = { nodes = 4 } }, to = { where = { nodes = 4 } }, within = [1, 1]";
    let part =
        "of = { where = { nodes = 4 } }, to = { where = { nodes = 4 }, y = \"2*messages\" }, within = [0.5, 0.5]";
    let cases = [
        (grid("1", "1", ""), "made.toml:13: one, row `four`, column ``: `1` contains nothing that is measured"),
        (grid("n", "4", ""), "contains nothing that is measured"),
        (grid("messages - messages", "0", ""), "`messages - messages`: no measurement could change it"),
        (grid("messages / messages", "1", ""), "no measurement could change it"),
        (grid("messages", "\"messages\"", ""), "the published value `messages` contains `messages`, which is measured"),
        (grid("messages", "\"n - 1\"", "") + "formula = \"quiescent - 2\"\n", "the formula `quiescent - 2` contains"),
        (
            claim("kind = \"mean\", y = \"1\", within = [1, 1]"),
            "made.toml:13: one, claim `a claim`: `1` contains nothing",
        ),
        (claim("kind = \"mean\", y = \"messages\", within = [-1e9, 1e9]"), "its bounds exclude nothing"),
        (
            claim("kind = \"every\", y = \"messages - messages\", within = [0, 0]"),
            "no measurement could change the answer",
        ),
        (claim("kind = \"min\", y = \"messages\", within = [0, 1e9]"), "no measurement could change the answer"),
        (claim("kind = \"min\", y = \"messages - `messages.ok`\", within = [0, 1e9]"), "no measurement could change"),
        (claim(&format!("kind = \"ratio\", y = \"messages\", {four}")), "the ratio of a measurement to itself"),
        (claim(&format!("kind = \"ratio\", y = \"messages\", {part}")), "no measurement could change the answer"),
        (
            claim(
                "kind = \"ratio\", y = \"n\", of = { where = { nodes = 4 } }, to = { where = { nodes = 8 } }, within = [0, 1]",
            ),
            "nothing that is measured",
        ),
        (
            claim("kind = \"fit\", y = \"messages\", f = \"messages\", within = [1, 1]"),
            "`f`, `messages` contains `messages`",
        ),
        (claim("kind = \"power\", y = \"messages^2\", x = \"messages\", within = [2, 2]"), "`x`, `messages` contains"),
        (claim("kind = \"falls\", y = \"-n\", x = \"nodes\""), "contains nothing that is measured"),
    ];
    for (item, part) in cases {
        let error = compare(&item).map(|_| ()).expect_err(&item).to_string();
        assert!(error.starts_with("made.toml:") && error.contains(part), "{item}\n{error}");
    }
    for item in [grid("messages", "3", ""), claim("kind = \"every\", y = \"messages - n\", within = [-1, -1]")] {
        assert!(compare(&item).unwrap().is_settled(), "{item}");
    }
}

#[test]
fn a_reason_that_absorbs_any_difference_is_refused() {
    let cases = [
        ("messages - 2", "contains `messages`, and would explain whatever is measured"),
        ("`messages.ok`", "contains `messages.ok`"),
        ("quiescent - 4", "contains `quiescent`"),
        ("trace.steps", "contains `trace.steps`"),
        ("3 - published", "contains `published`, and would explain whatever is printed"),
    ];
    for (amount, part) in cases {
        let error = compare(&grid("messages", "2", amount)).map(|_| ()).expect_err(amount).to_string();
        assert!(error.starts_with("made.toml:20: one, row `four`") && error.contains(part), "{amount}: {error}");
    }
    let lost = compare(&grid("lost", "0", "lost")).map(|_| ()).unwrap_err().to_string();
    assert!(lost.contains("`lost` and `live` where they are not the measured value"), "{lost}");
    for amount in ["lost", "n - 3", "1"] {
        let found = compare(&grid("messages", "2", amount)).unwrap();
        assert_eq!(found.count(Verdict::Explained), 1, "{amount}");
    }
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
