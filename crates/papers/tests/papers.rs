//! Every text is gone through: every printed number is measured or explained, every claim answered as its file says.

use hustings_papers::findings::{Laboratory, Study, Verdict};
use hustings_papers::texts;

fn study(name: &str) -> Study {
    let laboratory = Laboratory::new(2, &|_| {});
    let study = Study::of(texts::find(name).unwrap(), &laboratory, false).unwrap_or_else(|error| panic!("{error}"));
    let open: Vec<String> = study
        .answers
        .iter()
        .flat_map(|answer| answer.findings.iter().map(move |finding| (answer, finding)))
        .filter(|(_, finding)| !finding.verdict.is_settled())
        .map(|(answer, finding)| {
            let shown = |shown: &Option<hustings_papers::findings::Shown>| shown.as_ref().map(|shown| shown.text.clone());
            format!(
                "{}: {}: published {:?}, formula {:?}, measured {:?}: {:?}",
                answer.item.id,
                finding.label,
                shown(&finding.published),
                shown(&finding.formula),
                shown(&finding.measured),
                finding.reasons.iter().map(|because| &because.says).collect::<Vec<_>>()
            )
        })
        .collect();
    assert!(open.is_empty(), "{} open:\n{}", open.len(), open.join("\n"));
    assert!(study.count(Verdict::Open) == 0 && study.findings().count() > 20);
    study
}

#[test]
fn datley() {
    study("datley");
}

#[test]
fn shirali() {
    study("shirali");
}

#[test]
fn mcmaster() {
    study("mcmaster");
}

#[test]
fn crete() {
    study("crete");
}

#[test]
fn adams() {
    study("adams");
}
