//! What the docs show is what the program does: the table of algorithms, every picture, every command line.

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hustings_algorithms::catalogue;
use hustings_check::Property;
use hustings_sim::topology::Topology;

#[test]
fn the_table_of_algorithms_is_made_from_the_catalogue() {
    common::compare_with_file(&common::repository().join("docs/algorithms.md"), &hustings::cli::docs::markdown());
}

/// The README and all pages below `docs/`.
fn pages() -> Vec<PathBuf> {
    let mut folders = vec![common::repository().join("docs")];
    let mut pages = vec![common::repository().join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The pictures of a page: the command line in the comment above each, and its file.
fn pictures(page: &Path) -> Vec<(String, PathBuf)> {
    let text = fs::read_to_string(page).expect("the page can be read");
    let lines: Vec<&str> = text.lines().collect();
    let each = lines.windows(2).filter_map(|pair| {
        let (_, file) = pair[1].strip_prefix("![")?.split_once("](")?;
        // Pictures of the page come from a browser.
        if file.ends_with(".png)") {
            return None;
        }
        let command = pair[0].strip_prefix("<!-- $ hustings ").and_then(|rest| rest.strip_suffix(" -->"));
        let command = command.unwrap_or_else(|| panic!("{}: {file} has no command line above it", page.display()));
        let file = file.strip_suffix(')').expect("a picture is the whole line");
        Some((command.to_string(), page.parent().expect("a page is in a folder").join(file)))
    });
    each.collect()
}

#[test]
fn every_picture_is_a_real_trace() {
    let mut drawn = Vec::new();
    for (command, file) in pages().iter().flat_map(|page| pictures(page)) {
        let args: Vec<&str> = command.split_whitespace().collect();
        let ran = common::inside(&args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{command}");
        common::compare_with_file(&file, &ran.out);
        drawn.push(file);
    }
    assert!(!drawn.is_empty(), "there are pictures");
}

/// Elections that take long are left out: what they print is nobody's promise here.
const MAX_NODES: &str = "1000000";

#[test]
fn every_command_line_of_a_page_is_understood() {
    let mut tried = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page can be read");
        for line in text.lines().filter_map(|line| line.strip_prefix("$ hustings sim ")) {
            let command = line.split('#').next().unwrap_or_default();
            let args: Vec<&str> = std::iter::once("sim").chain(command.split_whitespace()).collect();
            if args.iter().any(|arg| arg.len() >= MAX_NODES.len() && arg.parse::<u64>().is_ok()) {
                continue;
            }
            let ran = common::inside(&args);
            assert!(ran.code <= 1, "{}: {line}\n{}", page.display(), ran.err);
            tried += 1;
        }
    }
    assert!(tried > 0, "there are command lines");
}

#[test]
fn every_check_of_a_page_comes_to_an_end() {
    let mut tried = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page can be read");
        for line in text.lines().filter_map(|line| line.strip_prefix("$ hustings check ")) {
            let command = line.split('#').next().unwrap_or_default();
            if command.contains("--all") {
                continue;
            }
            let args: Vec<&str> = std::iter::once("check").chain(command.split_whitespace()).collect();
            let ran = common::inside(&args);
            assert!(ran.code <= 1, "{}: {line}\n{}", page.display(), ran.err);
            tried += 1;
        }
    }
    assert!(tried > 0, "there are command lines");
}

/// The specification.
const MODEL: &str = "docs/model.md";

/// The anchors of the headings of a page, as GitHub makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim());
    let kept =
        |title: &str| title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-')).collect::<String>();
    titles.map(|title| kept(title).to_lowercase().replace(' ', "-")).collect()
}

/// All sources and pages below a folder of the repository.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                sources(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            files.push(path);
        }
    }
}

#[test]
fn every_algorithm_has_a_section_in_the_model() {
    let page = fs::read_to_string(common::repository().join(MODEL)).expect("the page can be read");
    let anchors = anchors(&page);
    for entry in catalogue::ENTRIES {
        let name = entry.about.name;
        assert!(anchors.contains(name), "{MODEL} has no section {name}");
        assert!(page.contains(&format!("$ hustings sim {name} ")), "{MODEL} has no example for {name}");
    }
}

/// What is quoted in the first column of the table below a heading. An option is the column's own heading.
fn first_column(page: &str, heading: &str) -> Vec<String> {
    let section = page.split(&format!("\n{heading}\n")).nth(1).unwrap_or_else(|| panic!("there is no {heading:?}"));
    let section = section.split("\n#").next().unwrap_or(section);
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    cells.filter(|cell| !cell.starts_with("--")).map(str::to_string).collect()
}

#[test]
fn every_topology_is_in_the_model() {
    let page = fs::read_to_string(common::repository().join(MODEL)).expect("the page can be read");
    let error = "nonsense".parse::<Topology>().expect_err("there is no such topology").to_string();
    let (_, allowed) = error.split_once("allowed: ").expect("the error lists what is allowed");
    assert_eq!(first_column(&page, "### Topologies"), allowed.split(", ").collect::<Vec<_>>());
}

#[test]
fn every_property_of_the_checker_is_explained() {
    let page = fs::read_to_string(common::repository().join("docs/checking.md")).expect("the page can be read");
    assert_eq!(first_column(&page, "## The properties"), Property::ALL.map(Property::name));
}

#[test]
fn every_cited_section_of_the_model_exists() {
    let page = fs::read_to_string(common::repository().join(MODEL)).expect("the page can be read");
    let anchors = anchors(&page);
    let mut files: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md"].map(|name| common::repository().join(name)).into();
    for folder in ["crates", "docs", "examples", "proofs", "xtask"] {
        sources(&common::repository().join(folder), &mut files);
    }
    let mut cited = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("the file can be read");
        let is_model = file.ends_with(MODEL);
        for marker in [concat!("model.md", "#"), "](#"].into_iter().filter(|marker| is_model || *marker != "](#") {
            for rest in text.split(marker).skip(1) {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(rest.len());
                assert!(
                    anchors.contains(&rest[..end]),
                    "{}: {MODEL} has no section {:?}",
                    file.display(),
                    &rest[..end]
                );
                cited += 1;
            }
        }
    }
    assert!(cited > 100, "only {cited} citations");
}

/// A line like `$ hustings sim sun -n 64   # 176 messages, quiescent at 51`.
#[test]
fn the_examples_of_the_model_are_measured() {
    let page = fs::read_to_string(common::repository().join(MODEL)).expect("the page can be read");
    for line in page.lines().filter_map(|line| line.strip_prefix("$ hustings ")) {
        let (command, claim) = line.split_once('#').expect("an example says what comes of it");
        let args: Vec<&str> = command.split_whitespace().chain(["--format", "json"]).collect();
        let ran = common::inside(&args);
        let report: serde_json::Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{line}: {}", ran.err));
        let measured =
            format!("{} messages, quiescent at {}", report["messages"]["total"], report["time"]["quiescent"]);
        assert_eq!((ran.code, measured.as_str()), (0, claim.trim()), "{line}");
    }
}

/// What `docs/troubleshooting.md` quotes, without the parts that differ from case to case.
const QUOTED: &[&str] = &[
    "this node cannot reach a majority",
    "the last known holder is",
    "a new cluster begins when all its first voters have been heard; waiting for",
    "elections are paused",
    "has failed, and the next one",
    "the connection to the holder closed",
    "the holder was silent for too long",
    "the holder's lease expired",
    "an operator transferred it",
    "connections rejected since start",
    "certificate-rejected",
    "not-authenticated",
    "its data folder is not the one that its votes were stored in",
    "its data folder is an older copy of the one that it ran with before",
    "another process that was started later runs as this member",
    "is older than the one that the cluster has seen it run with",
    "has another configuration than this node",
    "cannot listen for peers on",
    "is in use by another process",
    "this node's certificate is not valid yet",
    "the certificate begins later than the clock of this host says, so check that clock",
    "cannot be resolved",
    "other users can write the data folder",
    "health score is",
    "make it readable for its owner only",
    "it must leave more than the confirmed heartbeat and two missed ones",
    "is the node running?",
    "the lease was not renewed in time",
    "released; no process of the command is left",
    "the office was not acquired in time",
    "does not fit: the office",
];

/// All sources of the crates but their tests, in one text, with strings that continue on the next line joined.
fn joined_sources() -> String {
    let mut files = Vec::new();
    sources(&common::repository().join("crates"), &mut files);
    let is_shipped = |file: &PathBuf| !file.components().any(|part| part.as_os_str() == "tests");
    let texts = files.iter().filter(|file| is_shipped(file)).map(|file| fs::read_to_string(file).expect("a source"));
    texts
        .flat_map(|text| text.lines().map(|line| line.trim().trim_end_matches('\\').to_string()).collect::<Vec<_>>())
        .collect()
}

/// The rows of the page's tables name the tests that try what they say, in the last column.
#[test]
fn every_line_of_the_security_page_names_tests_that_exist() {
    let page = fs::read_to_string(common::repository().join("docs/security.md")).expect("read the page");
    let mut files = Vec::new();
    sources(&common::repository().join("crates"), &mut files);
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).expect("a source")).collect();
    let is_test = |name: &str| {
        let defined = [format!("#[test]\nfn {name}() {{"), format!("#[test]\n    fn {name}() {{")];
        texts.iter().any(|text| defined.iter().any(|test| text.contains(test)))
    };
    let mut named = 0;
    let is_row = |line: &&str| line.starts_with('|') && !line.starts_with("|---") && !line.ends_with("| tests |");
    for row in page.lines().filter(is_row) {
        let tests: Vec<&str> = row.rsplit('|').nth(1).expect("it has columns").split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "this row names no test: {row}");
        for name in tests {
            assert!(is_test(name), "there is no test `{name}`");
            named += 1;
        }
    }
    assert!(named > 30, "{named}");
}

#[test]
fn the_messages_that_troubleshooting_quotes_exist() {
    let page = fs::read_to_string(common::repository().join("docs/troubleshooting.md")).expect("read the page");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let sources = joined_sources();
    for quoted in QUOTED {
        assert!(page.contains(quoted), "the page no longer quotes `{quoted}`: remove it here");
        assert!(sources.contains(quoted), "the program no longer says `{quoted}`: change the page");
    }
}
