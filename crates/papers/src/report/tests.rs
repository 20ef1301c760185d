use super::*;
use crate::findings::{Answer, Because, Finding, Shown, Verdict};
use crate::texts::ReasonKind;

/// A study with one finding of each sort, and signs that markup could take for its own.
fn study() -> Study {
    let text = texts::find("datley").expect("it is one of the five");
    let finding = |label: &str, verdict, reasons| Finding {
        label: label.to_string(),
        published: Some(Shown::value(4.0)),
        formula: Some(Shown::formula("n^2", 5.0)),
        measured: Some(Shown::mean(5.5, Some((5.0, 6.0)))),
        verdict,
        reasons,
    };
    let why = Because { kind: Some(ReasonKind::Counting), says: "1 < 2 & so on".to_string(), amount: Some(1.5) };
    let answer = Answer {
        item: &text.items[0],
        findings: vec![
            finding("a < b", Verdict::Explained, vec![why.clone()]),
            finding("c", Verdict::Explained, vec![why]),
            finding("d", Verdict::Equal, Vec::new()),
        ],
        figures: Vec::new(),
        drawing: None,
        winners: Vec::new(),
        experiments: vec!["datley-best".to_string()],
    };
    Study { text, answers: vec![answer] }
}

#[test]
fn the_page_has_anchors_escapes_text_and_tells_each_reason_once() {
    let page = html::page(&[study()]);
    for part in
        ["id=\"datley-table-1\"", "href=\"#datley-table-1\"", "a &lt; b", "n² = 5", "5.5 (5 to 6)", "+1.5<sup>1</sup>"]
    {
        assert!(page.contains(part), "`{part}` is not on the page");
    }
    assert_eq!(page.matches("1 &lt; 2 &amp; so on").count(), 1);
    assert!(!page.contains("a < b"));
    for tag in ["table", "tr", "article", "section", "ol", "nav", "main"] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "<{tag}>");
    }
}

/// Words in a column for numbers push all others off the page.
#[test]
fn latex_breaks_long_lines_and_leaves_empty_columns_out() {
    let mut study = study();
    let spec = |study: &Study| {
        let tex = latex::tables(study);
        let line = tex.lines().find(|line| line.contains("{tabularx}")).expect("there is a table").to_string();
        line.replace(">{\\raggedright\\arraybackslash}X", "X")
    };
    assert_eq!(spec(&study), "  \\begin{tabularx}{\\linewidth}{Xrrrl}");
    for finding in &mut study.answers[0].findings {
        finding.formula = None;
        finding.published = Some(Shown::words("messages grow with n to the power: 0.9 to 1.1"));
        finding.measured = Some(Shown::words("tick 3: 2 of 2"));
    }
    assert_eq!(spec(&study), "  \\begin{tabularx}{\\linewidth}{XXll}");
    assert!(latex::tables(&study).contains("\n     & published & measured & \\\\\n"));
}

#[test]
fn latex_has_a_table_for_each_item() {
    let tex = latex::tables(&study());
    for part in [
        "\\toprule",
        "\\label{tab:datley-table-1}",
        "a $<$ b & 4 &",
        "explained +1.5$^{1}$",
        "$^{1}$ 1 $<$ 2 \\& so on",
    ] {
        assert!(tex.contains(part), "`{part}` is not in:\n{tex}");
    }
}

#[test]
fn findings_make_a_table() {
    let table = data::findings(&[study()]).unwrap();
    assert_eq!(table.rows(), 3);
    assert_eq!(table.cell(0, "text").to_string(), "datley");
    assert_eq!(table.cell(0, "verdict").to_string(), "explained");
    assert_eq!(table.cell(1, "measured").number(), Some(5.5));
    assert_eq!((table.cell(1, "low").number(), table.cell(1, "high").number()), (Some(5.0), Some(6.0)));
    assert_eq!(table.cell(2, "reasons"), crate::table::Cell::Missing);
}
