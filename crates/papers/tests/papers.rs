//! Every text is gone through: every printed number is measured or explained, every claim answered as its file says.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hustings_papers::findings::{Answer, Finding, Laboratory, Shown, Study, Verdict};
use hustings_papers::texts::ReasonKind;
use hustings_papers::{report, texts};

/// Goes through a text and writes its report.
fn study(name: &str) -> Study {
    let laboratory = Laboratory::new(2, &|_| {});
    let study = Study::of(texts::find(name).unwrap(), &laboratory, false).unwrap_or_else(|error| panic!("{error}"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    report::write(std::slice::from_ref(&study), &laboratory, &folder).unwrap_or_else(|error| panic!("{error}"));
    every_link_leads_somewhere(&folder);
    let open: Vec<String> = study.answers.iter().flat_map(open).collect();
    assert!(open.is_empty(), "{} open:\n{}", open.len(), open.join("\n"));
    assert!(study.findings().count() > 20);
    study
}

/// What is neither equal nor explained, with all that is known of it.
fn open(answer: &Answer) -> Vec<String> {
    let text = |shown: &Option<Shown>| shown.as_ref().map_or(String::new(), |shown| shown.text.clone());
    let tell = |finding: &Finding| {
        let (published, formula) = (text(&finding.published), text(&finding.formula));
        let why: Vec<&str> = finding.reasons.iter().map(|because| because.says.as_str()).collect();
        let measured = text(&finding.measured);
        format!(
            "{}, {}: published `{published}`, formula `{formula}`, measured `{measured}`: {why:?}",
            answer.item.id, finding.label
        )
    };
    answer.findings.iter().filter(|finding| !finding.verdict.is_settled()).map(tell).collect()
}

/// The page speaks of files beside it and of places on it.
fn every_link_leads_somewhere(folder: &Path) {
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    let mut seen = 0;
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        match link.strip_prefix('#') {
            Some(place) => assert!(page.contains(&format!("id=\"{place}\"")), "nothing is called {place}"),
            None => assert!(folder.join(link).is_file(), "there is no {link}"),
        }
        seen += 1;
    }
    assert!(seen > 50, "{seen} links");
    assert!(page.matches("<svg").count() > 0 && !page.contains("https://"));
}

/// The findings of some items, by their verdict.
fn counts(study: &Study, items: &[&str]) -> Vec<(Verdict, usize)> {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for answer in study.answers.iter().filter(|answer| items.contains(&answer.item.id.as_str())) {
        for finding in &answer.findings {
            *counts.entry(finding.verdict).or_default() += 1;
        }
    }
    counts.into_iter().collect()
}

fn finding<'a>(study: &'a Study, item: &str, label: &str) -> &'a Finding {
    let answer = study.answers.iter().find(|answer| answer.item.id == item).unwrap();
    answer.findings.iter().find(|finding| finding.label == label).unwrap()
}

/// Eighteen cells equal the print; the nine of the best case differ by one message, to the dead coordinator.
#[test]
fn datley() {
    let study = study("datley");
    let tables = ["table-1", "table-2", "table-3"];
    assert_eq!(counts(&study, &tables), [(Verdict::Equal, 18), (Verdict::Explained, 9)]);
    for answer in study.answers.iter().filter(|answer| tables.contains(&answer.item.id.as_str())) {
        for finding in answer.findings.iter().filter(|finding| finding.verdict == Verdict::Explained) {
            assert!(finding.label.starts_with("Best"), "{}", finding.label);
            assert_eq!(finding.reasons.iter().map(|because| because.amount).collect::<Vec<_>>(), [Some(1.0)]);
        }
    }
}

/// The misprints that the text is known for are found and named.
#[test]
fn shirali() {
    let study = study("shirali");
    let misprints = [
        ("table-2", "S(1) · latency"),
        ("table-2", "D(1) · latency"),
        ("division-points", "4 division points (u = 16) · messages"),
        ("eight-steps", "Sun(2), n = 64 · steps"),
        ("lengths", "L2 · L1 = 128"),
    ];
    for (item, label) in misprints {
        let finding = finding(&study, item, label);
        let named = finding.reasons.iter().any(|because| because.kind == Some(ReasonKind::Misprint));
        assert!(named && finding.verdict == Verdict::Explained, "{item}, {label}");
    }
    assert_eq!(finding(&study, "table-1", "bully takes O(n) messages (table 1)").verdict, Verdict::No);
    let equal = ["Ring · messages", "Ring · latency", "S(1) · messages", "S(2) · messages", "Bully · latency"];
    for label in equal {
        assert_eq!(finding(&study, "table-2", label).verdict, Verdict::Equal, "{label}");
    }
}

#[test]
fn mcmaster() {
    let study = study("mcmaster");
    let rounds = finding(&study, "franklin-rounds", "N = 16 · Franklin");
    assert_eq!((rounds.verdict, rounds.reasons[0].kind), (Verdict::Explained, Some(ReasonKind::Misprint)));
    let ids = finding(&study, "anonymous-ids", "N = 6 · ids");
    assert_eq!((ids.verdict, ids.reasons[0].kind), (Verdict::Explained, Some(ReasonKind::Misprint)));
    let own_id = finding(&study, "dkr-id", "r \"assumes the id of r\" and still the highest wins");
    assert_eq!(own_id.verdict, Verdict::No);
}

/// The eight processes of figure 6-20 do what the figure shows, and nothing else.
#[test]
fn crete() {
    let study = study("crete");
    assert_eq!(counts(&study, &["figure-6-20"]), [(Verdict::Equal, 6)]);
    assert_eq!(counts(&study, &["seven"]), [(Verdict::Equal, 6)]);
}

/// The failover ratio for 1000 nodes, with its interval.
#[test]
fn adams() {
    let study = study("adams");
    let ratio = finding(&study, "figure-6", "half the messages (n = 1000): the failover ratio");
    let measured = ratio.measured.as_ref().unwrap();
    let (low, high) = measured.interval.unwrap();
    assert!(0.499 < low && low < high && high < 0.502, "{}", measured.text);
    assert_eq!(ratio.verdict, Verdict::Yes);
}
