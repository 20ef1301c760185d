//! Compares every paper: each printed number must be equal or explained, each claim must have the expected answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hustings_papers::comparison::{
    DisplayValue, Finding, ItemComparison, PaperComparison, ResultCache, Verdict, rows_that_cannot_fail,
};
use hustings_papers::published::ReasonKind;
use hustings_papers::{published, report};

use crate::{phone, visible};

/// Compares a paper and writes its report.
fn compare(name: &str) -> PaperComparison {
    let cache = ResultCache::new(2, &|_| {});
    let comparison =
        PaperComparison::of(published::find(name).unwrap(), &cache, false).unwrap_or_else(|error| panic!("{error}"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    report::write(std::slice::from_ref(&comparison), &cache, None, &folder).unwrap_or_else(|error| panic!("{error}"));
    check_links(&folder);
    visible::no_internal_names(&fs::read_to_string(folder.join("index.html")).unwrap());
    phone::nothing_is_beside_the_screen(&folder.join("index.html"));
    if std::env::var_os("HUSTINGS_REGENERATE").is_some_and(|value| value == "1") {
        let record = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("published/recorded/{name}.toml"));
        fs::write(record, comparison.record()).unwrap();
        // The record that is compiled in is the old one.
        return comparison;
    }
    // An error behind any row of the report changes its verdict.
    let rows = rows_that_cannot_fail(&comparison, &cache, false).unwrap_or_else(|error| panic!("{error}"));
    assert!(rows.is_empty(), "these rows cannot fail:\n{}", rows.join("\n"));
    let open: Vec<String> = comparison.items.iter().flat_map(open).collect();
    assert!(open.is_empty(), "{} open:\n{}", open.len(), open.join("\n"));
    assert!(comparison.findings().count() > 20);
    comparison
}

/// The findings that are neither equal nor explained.
fn open(compared: &ItemComparison) -> Vec<String> {
    let text = |shown: &Option<DisplayValue>| shown.as_ref().map_or(String::new(), |shown| shown.text.clone());
    let describe = |finding: &Finding| {
        let (published, formula) = (text(&finding.published), text(&finding.formula));
        let why: Vec<&str> = finding.reasons.iter().map(|reason| reason.says.as_str()).collect();
        let measured = text(&finding.measured);
        format!(
            "{}, {}: published `{published}`, formula `{formula}`, measured `{measured}`: {why:?}",
            compared.item.id, finding.label
        )
    };
    compared.findings.iter().filter(|finding| !finding.verdict.is_settled()).map(describe).collect()
}

/// Checks that every link of the page leads to a file or an anchor.
fn check_links(folder: &Path) {
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    let mut seen = 0;
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        match link.strip_prefix('#') {
            Some(place) => assert!(page.contains(&format!("id=\"{place}\"")), "there is no anchor {place}"),
            None => assert!(folder.join(link).is_file(), "there is no {link}"),
        }
        seen += 1;
    }
    assert!(seen > 50, "{seen} links");
    assert!(page.matches("<svg").count() > 0 && !page.contains("https://"));
}

/// The number of findings of some items by verdict.
fn counts(comparison: &PaperComparison, items: &[&str]) -> Vec<(Verdict, usize)> {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for compared in comparison.items.iter().filter(|compared| items.contains(&compared.item.id.as_str())) {
        for finding in &compared.findings {
            *counts.entry(finding.verdict).or_default() += 1;
        }
    }
    counts.into_iter().collect()
}

fn finding<'a>(comparison: &'a PaperComparison, item: &str, label: &str) -> &'a Finding {
    let compared = comparison.items.iter().find(|compared| compared.item.id == item).unwrap();
    compared.findings.iter().find(|finding| finding.label == label).unwrap()
}

/// Eighteen cells are equal; the nine of the best case differ by one message to the dead coordinator.
#[test]
fn datley() {
    let comparison = compare("datley");
    let tables = ["table-1", "table-2", "table-3"];
    assert_eq!(counts(&comparison, &tables), [(Verdict::Equal, 18), (Verdict::Explained, 9)]);
    for compared in comparison.items.iter().filter(|compared| tables.contains(&compared.item.id.as_str())) {
        for finding in compared.findings.iter().filter(|finding| finding.verdict == Verdict::Explained) {
            assert!(finding.label.starts_with("Best"), "{}", finding.label);
            assert_eq!(finding.reasons.iter().map(|reason| reason.amount).collect::<Vec<_>>(), [Some(1.0)]);
        }
    }
    // The checker has a counterexample, and without a revival there is none.
    for (claim, verdict) in [
        ("the algorithm guarantees correctness and robustness", Verdict::No),
        ("all live processes agree on the coordinator, in a synchronous", Verdict::Yes),
    ] {
        let compared = comparison.items.iter().find(|compared| compared.item.id == "correctness").unwrap();
        let found = compared.findings.iter().find(|finding| finding.label.starts_with(claim)).unwrap();
        assert_eq!(found.verdict, verdict, "{claim}");
    }
}

/// The known misprints and contradictions are found.
#[test]
fn shirali() {
    let comparison = compare("shirali");
    let wrong = [
        ("table-2", "S(1) · latency", ReasonKind::Inconsistent),
        ("table-2", "D(1) · latency", ReasonKind::Misprint),
        ("division-points", "4 division points (u = 16) · messages", ReasonKind::Inconsistent),
        ("eight-steps", "Sun(2), n = 64 · steps", ReasonKind::Inconsistent),
        ("lengths", "L2 · L1 = 128", ReasonKind::Misprint),
    ];
    for (item, label, kind) in wrong {
        let finding = finding(&comparison, item, label);
        let named = finding.reasons.iter().any(|reason| reason.kind == Some(kind));
        assert!(named && finding.verdict == Verdict::Explained, "{item}, {label}");
    }
    assert_eq!(finding(&comparison, "table-1", "bully takes O(n) messages (table 1)").verdict, Verdict::No);
    let equal = ["Ring · messages", "Ring · latency", "S(1) · messages", "S(2) · messages", "Bully · latency"];
    for label in equal {
        assert_eq!(finding(&comparison, "table-2", label).verdict, Verdict::Equal, "{label}");
    }
}

#[test]
fn mcmaster() {
    let comparison = compare("mcmaster");
    let rounds = finding(&comparison, "franklin-rounds", "N = 16 · Franklin");
    assert_eq!((rounds.verdict, rounds.reasons[0].kind), (Verdict::Explained, Some(ReasonKind::Inconsistent)));
    let ids = finding(&comparison, "anonymous-ids", "N = 6 · ids");
    assert_eq!((ids.verdict, ids.reasons[0].kind), (Verdict::Explained, Some(ReasonKind::Misprint)));
    let own_id = finding(&comparison, "dkr-id", "r \"assumes the id of r\" and still the highest wins");
    assert_eq!(own_id.verdict, Verdict::No);
}

/// The eight processes of figure 6-20 send exactly the messages of the figure.
#[test]
fn crete() {
    let comparison = compare("crete");
    assert_eq!(counts(&comparison, &["figure-6-20"]), [(Verdict::Equal, 6)]);
    assert_eq!(counts(&comparison, &["seven"]), [(Verdict::Equal, 6)]);
}

/// The failover ratio for 1000 nodes and its confidence interval.
#[test]
fn adams() {
    let comparison = compare("adams");
    let ratio = finding(&comparison, "figure-6", "half the messages (n = 1000): the failover ratio");
    let measured = ratio.measured.as_ref().unwrap();
    let (low, high) = measured.interval.unwrap();
    assert!(0.499 < low && low < high && high < 0.502, "{}", measured.text);
    assert_eq!(ratio.verdict, Verdict::Yes);
}
