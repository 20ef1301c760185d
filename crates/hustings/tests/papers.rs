//! `hustings papers`, and the command lines of docs/research.md.

use crate::common;

use std::fs;
use std::path::Path;

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
    let cases: [(&[&str], &str); 8] = [
        (&["papers", "datley", "--date", "2026-13-01"], "not a date; allowed: YYYY-MM-DD, such as 2026-01-31"),
        (&["papers", "datley", "--date", "today"], "invalid value 'today' for '--date <DATE>'"),
        (&["papers", "datley", "--item", "table-4"], "there is no item `table-4`"),
        (&["papers", "--all", "--item", "table-4"], "cannot be used with"),
        (&["papers", "datly"], "there is no paper `datly`"),
        (&["papers", "datly"], "the nearest is `datley`; `hustings papers` shows all"),
        (&["papers", "--out", "somewhere"], "--out, --bundle, --plant-errors and --large need a paper, or --all"),
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
    let own = fs::read_to_string(repository().join("docs/own-paper/paper.toml")).expect("the file is there");
    assert!(page.contains(&own), "docs/research.md does not show docs/own-paper/paper.toml as it is");
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

/// Every finding of a paper: the id of its item, and the finding.
fn findings(printed: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let items = printed["papers"][0]["items"].as_array().expect("there are items");
    items.iter().flat_map(|item| {
        let id = item["id"].as_str().expect("it has an id");
        item["findings"].as_array().expect("it has findings").iter().map(move |finding| (id, finding))
    })
}

/// The command of a row measures again what the row says.
#[test]
fn the_commands_of_rows_work() {
    let mut counted = 0;
    for paper in ["datley", "crete"] {
        let printed: Value = serde_json::from_str(&inside(&["papers", paper, "--format", "json"]).out).expect("JSON");
        for (item, finding) in findings(&printed) {
            let Some(command) = finding["command"].as_str() else { continue };
            let words: Vec<&str> = command.split_whitespace().skip(1).collect();
            if words.contains(&"--trace") {
                let ran = inside(&words);
                assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{command}");
                continue;
            }
            let ran = inside(&[&words[..], &["--format", "json"]].concat());
            assert!(ran.code <= 1 && ran.err.is_empty(), "{command}: {}", ran.err);
            let run: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{command}: {error}"));
            // These tables count messages.
            if paper == "datley" && item.starts_with("table-") {
                assert_eq!(run["messages"]["total"].as_f64(), finding["measured"]["value"].as_f64(), "{command}");
                counted += 1;
            }
        }
    }
    assert!(counted >= 18, "{counted} rows are measured again");
}

/// The command of an item shows the same rows with the same verdicts, and nothing else.
#[test]
fn one_item_of_a_paper_is_shown_alone() {
    let all: Value = serde_json::from_str(&inside(&["papers", "datley", "--format", "json"]).out).expect("JSON");
    let one = inside(&["papers", "datley", "--item", "table-2", "--format", "json"]);
    let one: Value = serde_json::from_str(&one.out).expect("JSON");
    let wanted: Vec<(&str, &Value)> = findings(&all).filter(|(item, _)| *item == "table-2").collect();
    assert_eq!(findings(&one).collect::<Vec<_>>(), wanted);
    assert!(wanted.len() >= 9);
}

fn own_paper() -> String {
    repository().join("docs/own-paper/paper.toml").display().to_string()
}

#[test]
fn a_paper_of_the_users_own_is_compared_with_experiments_beside_it() {
    let ran = inside(&["papers", &own_paper(), "--format", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let printed: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    let found = counts(&printed, &["table-1", "claims", "figure-1"]);
    let wanted = [("equal", 2), ("explained", 1), ("no", 1), ("yes", 1)];
    assert_eq!(found, wanted.map(|(verdict, count)| (verdict.to_string(), count)));
    assert_eq!(printed["papers"][0]["items"][0]["findings"][0]["runs"], "n = 8, 1 run");
    let planted = inside(&["papers", &own_paper(), "--plant-errors"]);
    assert_eq!((planted.code, planted.out.as_str()), (0, "an error behind any row changes its verdict\n"));
}

/// In the folder of its report, the command of an item of a user's own paper works, too.
#[test]
fn the_report_of_an_own_paper_can_be_reproduced_from_its_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let out = folder.path().display().to_string();
    assert_eq!(inside(&["papers", &own_paper(), "--out", &out]).code, 0);
    let page = fs::read_to_string(folder.path().join("index.html")).expect("the page is there");
    let commands: Vec<&str> =
        page.split("<code>hustings ").skip(1).filter_map(|rest| rest.split("</code>").next()).collect();
    for start in [
        "papers data/paper-own-paper.toml --item table-1",
        "sweep data/two-ways.toml --out runs",
        "sim chang-roberts --nodes 8 ",
    ] {
        assert!(commands.iter().any(|command| command.starts_with(start)), "{start}: {commands:?}");
    }
    for command in commands {
        let here = |word: &str| match word {
            "runs" | "DIR" => folder.path().join(word).display().to_string(),
            _ if word.starts_with("data/") => folder.path().join(word).display().to_string(),
            _ => word.to_string(),
        };
        let args: Vec<String> = command.split_whitespace().map(here).collect();
        // The same runs twice: a sweep does not replace results.
        if args[0] == "sweep" && folder.path().join("runs").exists() {
            continue;
        }
        let ran = inside(&args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{command}");
    }
    let again = fs::read_to_string(folder.path().join("DIR/index.html")).expect("the page was made again");
    assert!(again == page, "its own command makes another page");
}

/// Copies what the paper of the documentation names into this folder.
fn copy_beside(folder: &Path) {
    for name in ["two-ways.toml", "article.txt"] {
        fs::copy(repository().join("docs/own-paper").join(name), folder.join(name)).expect("a copy");
    }
}

/// A row that cannot fail is refused, with its file, line, item and wording.
#[test]
fn a_row_that_cannot_fail_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let text = fs::read_to_string(own_paper()).expect("the file is there");
    let line = |part: &str| 1 + text.lines().position(|line| line.contains(part)).expect("the line is there");
    let (amount, all, quote) =
        (line("amount ="), line("says = \"and on all rings"), line("the same holds on every other ring"));
    let cases = [
        (
            text.replace("by = \"ids\", ", "").replace("within = [0, 0.99]", "within = [-1e9, 1e9]"),
            line("says = \"on rings with falling ids"),
            "its bounds exclude nothing",
        ),
        (
            text.replace("amount = \"n\"", "amount = \"messages - 136\""),
            amount,
            "table-1, row `16 nodes`, column `messages`: the reason's amount `messages - 136` contains `messages`",
        ),
        (
            text.replace("value = \"messages\"", "value = \"messages - messages + n\""),
            line("label = \"8 nodes\""),
            "no measurement could change it",
        ),
        (
            text.replace("the same holds on every other ring", "the same holds on all rings"),
            quote,
            "claims, claim `and on all rings`: the quotation \"the same holds on all rings\" is not in the text, which has no \
             \"the same holds on all\"",
        ),
        (
            text.replace("quote = \"the same holds on every other ring\"\n", ""),
            all,
            "claim `and on all rings`: whose claim is it?",
        ),
        (
            text.replace("authors = ", "organization = \"The University of Elsewhere\"\nauthors = "),
            2,
            "the quotation \"The University of Elsewhere\" is not in the text",
        ),
        (text.replace("text = \"article.txt\"", ""), quote - 5, "cannot be checked: `text` names no file"),
        (text.replace("\"article.txt\"", "\"two-ways.toml\""), 0, "allowed: the name of a file beside this one"),
    ];
    copy_beside(folder.path());
    let file = folder.path().join("paper.toml");
    for (text, line, part) in cases {
        fs::write(&file, text).expect("it can be written");
        let ran = inside(&["papers", &file.display().to_string()]);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{part}\n{}", ran.err);
        let place = if line == 0 { "paper.toml: ".to_string() } else { format!("paper.toml:{line}: ") };
        assert!(ran.err.contains(&place) && ran.err.contains(part), "{place}{part}\n{}", ran.err);
    }
}

/// Wrong files of a user's own are refused with what is wrong and where.
#[test]
fn a_wrong_paper_is_refused_with_its_place() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let text = fs::read_to_string(own_paper()).expect("the file is there");
    let cases = [
        (text.replace("kind = \"counting\"", "kind = \"counted\""), "unknown variant `counted`"),
        (text.replace("id = \"claims\"", "id = \"../claims\""), "names of papers and items consist of letters"),
        (text.replace("experiment = \"two-ways\"", "experiment = \"three-ways\""), "three-ways: unknown experiment"),
        (text.replace("shape = \"ring\"", "shape = \"cube\""), "unknown variant `cube`"),
        ("#".repeat((4 << 20) + 1), "the file is too long"),
    ];
    copy_beside(folder.path());
    for (text, part) in cases {
        let file = folder.path().join("paper.toml");
        fs::write(&file, text).expect("it can be written");
        let ran = inside(&["papers", &file.display().to_string()]);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{part}");
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

/// The command that an archive names writes it again, bit for bit, from the files in it.
#[test]
fn a_bundle_is_reproduced_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = |name: &str| folder.path().join(name);
    let first = path("first.tar").display().to_string();
    let ran = inside(&["papers", &own_paper(), "--bundle", &first, "--threads", "1", "--date", "2026-01-31"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let bytes = fs::read(&first).expect("the archive is written");
    tar::Archive::new(bytes.as_slice()).unpack(folder.path()).expect("it is an archive");
    let readme = fs::read_to_string(path("bundle/README.txt")).expect("it has a README");
    assert!(readme.contains(&format!("hustings {}", env!("CARGO_PKG_VERSION"))), "{readme}");
    let command = readme.lines().find_map(|line| line.strip_prefix("  hustings ")).expect("it names a command");
    let here = |word: &str| match word.split_once('/').map_or(word, |(first, _)| first) {
        "papers" if word.contains('/') => path("bundle").join(word).display().to_string(),
        "again.tar" => path("again.tar").display().to_string(),
        _ => word.to_string(),
    };
    let args: Vec<String> = command.split_whitespace().map(here).collect();
    let ran = inside(&args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{command}");
    assert!(fs::read(path("again.tar")).expect("it is written") == bytes, "{command} writes other bytes");
    let page = fs::read_to_string(path("bundle/report/index.html")).expect("it has a page");
    assert!(page.contains(", 2026-01-31</p>"), "the page has the date that was asked for");
    let manifest = fs::read_to_string(path("bundle/MANIFEST.csv")).expect("it has a manifest");
    for name in [
        "papers/own-paper.toml",
        "papers/article.txt",
        "papers/two-ways.toml",
        "report/index.html",
        "report/data/two-ways.csv",
    ] {
        let length = fs::metadata(path("bundle").join(name)).unwrap_or_else(|error| panic!("{name}: {error}")).len();
        assert!(manifest.contains(&format!("{name},{length},")), "{name} is not in:\n{manifest}");
    }
    let results = fs::read_to_string(path("bundle/report/data/two-ways.csv")).expect("it has results");
    assert!(results.lines().next().is_some_and(|head| head.contains("seed") && head.contains("version")), "{results}");
}
