use super::*;
use crate::comparison::{AppliedReason, DisplayValue, Finding, ItemComparison, Verdict};
use crate::published;
use crate::published::ReasonKind;

/// A comparison with findings of several verdicts, and text that needs escaping.
fn comparison() -> PaperComparison {
    let paper = published::find("datley").expect("the paper exists");
    let finding = |label: &str, verdict, reasons| Finding {
        label: label.to_string(),
        published: Some(DisplayValue::value(4.0)),
        test: None,
        choice: None,
        chance: None,
        quote: None,
        is_printed: true,
        sample: "n = 5, 1 run".to_string(),
        command: (label == "d").then(|| "hustings sim bully --nodes 5 --seed 7".to_string()),
        formula: Some(DisplayValue::formula("n^2", 5.0)),
        measured: Some(DisplayValue::mean(5.5, Some((5.0, 6.0)))),
        verdict,
        reasons,
    };
    let why = AppliedReason { kind: Some(ReasonKind::Counting), says: "1 < 2 & so on".to_string(), amount: Some(1.5) };
    let compared = ItemComparison {
        item: &paper.items[0],
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
    PaperComparison { paper, items: vec![compared] }
}

#[test]
fn the_page_has_anchors_escaped_text_and_each_reason_once() {
    let page = html::page(&[comparison()], None);
    for part in [
        "id=\"datley-table-1\"",
        "href=\"#datley-table-1\"",
        "a &lt; b",
        "n² = 5",
        "5.5 (5 to 6)",
        "+1.5<sup>1</sup>",
        "n = 5, 1 run",
    ] {
        assert!(page.contains(part), "`{part}` is not on the page");
    }
    // Once among the findings at the top, and once below its table.
    assert_eq!(page.matches("1 &lt; 2 &amp; so on").count(), 2);
    let (findings, details) = (page.find("class=\"found\""), page.find("<article>"));
    assert!(findings.is_some() && findings < details, "the findings come first");
    assert!(!page.contains("a < b"));
    for tag in ["table", "tr", "article", "section", "ol", "ul", "details", "summary", "nav", "main"] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "<{tag}>");
    }
}

#[test]
fn the_head_has_the_version_and_the_date_of_the_program() {
    let version = env!("CARGO_PKG_VERSION");
    let page = html::page(&[comparison()], Some("2026-01-31"));
    assert!(page.contains(&format!("Hustings {version}, 2026-01-31</p>")), "{}", &page[..6000]);
    assert!(html::page(&[comparison()], None).contains(&format!("Hustings {version}, not released yet</p>")));
    // A date is that of this version, and no other text of the file.
    assert!(release_date().is_none_or(|date| date.split('-').map(str::len).eq([4, 2, 2])));
}

#[test]
fn every_item_has_an_anchor_and_every_row_a_command() {
    let page = html::page(&[comparison()], None);
    assert!(page.contains("<a class=\"anchor\" href=\"#datley-table-1\""), "a link to the item");
    let of_item = "hustings papers datley --item table-1";
    for command in [of_item, "hustings sweep data/datley-best.toml --out runs", "hustings sim bully --nodes 5 --seed 7"]
    {
        assert!(page.contains(&format!("<code>{command}</code>")), "{command}");
    }
    assert!(latex::tables(&comparison()).contains(&format!("% {of_item}\n\\begin{{table}}")));
    let table = data::findings(&[comparison()]).unwrap();
    let commands = [0, 1, 2].map(|row| table.cell(row, "command").to_string());
    assert_eq!(commands, [of_item, of_item, "hustings sim bully --nodes 5 --seed 7"]);
}

/// Claims with these verdicts, the last of an item that is more important.
fn claims(verdicts: &[Verdict]) -> PaperComparison {
    let mut all = comparison();
    let model = all.items[0].findings[2].clone();
    let claim = |(at, verdict): (usize, &Verdict)| Finding {
        label: format!("claim {at}"),
        test: Some(DisplayValue::text("always")),
        quote: (at != 0).then(|| "words".to_string()),
        is_printed: at != 0,
        verdict: *verdict,
        ..model.clone()
    };
    let findings: Vec<Finding> = verdicts.iter().enumerate().map(claim).collect();
    let (last, rest) = findings.split_last().expect("there are some");
    let main = all.paper.items.iter().find(|item| item.main).expect("a paper has an item that it is written for");
    let important = ItemComparison { item: main, findings: vec![last.clone()], ..all.items[0].clone() };
    all.items[0].findings.extend_from_slice(rest);
    all.items.push(important);
    all
}

#[test]
fn five_sentences_say_what_is_right_wrong_and_undecided() {
    use Verdict::{No, Undecided, Yes};
    let page = html::page(&[claims(&[No, Yes, No, Undecided, Undecided, No])], None);
    let lead = page.split("<ol class=\"lead\">").nth(1).and_then(|rest| rest.split("</ol>").next()).expect("sentences");
    assert_eq!(lead.matches("<li>").count(), 5);
    for part in [
        "1 of 3 numbers and steps that the papers print",
        "1 of 5 claims that they make hold, among them: claim 1",
        "2 printed numbers and steps differ from what is measured, each by what its reasons add up to (2 counting)",
        "2 of the claims do not hold, among them: claim 5 (",
        "2 claims cannot be told from chance",
        "0 differences are not explained",
    ] {
        assert!(lead.contains(part), "`{part}` is not in:\n{lead}");
    }
    let changed = html::page(&[claims(&[No, Yes, Yes, Yes, Undecided, No])], None);
    assert!(changed.contains("3 of 5 claims that they make hold"), "the sentences follow the verdicts");
}

#[test]
fn claims_come_by_importance_and_ours_last() {
    use Verdict::{No, Yes};
    let page = html::page(&[claims(&[No, No, No, Yes, No])], None);
    let list =
        page.split("Claims that do not hold").nth(1).and_then(|rest| rest.split("</ul>").next()).expect("a list");
    let places: Vec<usize> = ["claim 4", "claim 1", "claim 2", "claim 0"]
        .iter()
        .map(|label| list.find(label).expect("it is listed"))
        .collect();
    assert!(places.is_sorted(), "{places:?} in {list}");
    for paper in published::all() {
        assert!(paper.items.iter().any(|item| item.main && !item.claims.is_empty()), "{}", paper.name);
    }
}

#[test]
fn latex_wraps_long_cells_and_omits_empty_columns() {
    let mut comparison = comparison();
    let spec = |comparison: &PaperComparison| {
        let tex = latex::tables(comparison);
        let line = tex.lines().find(|line| line.contains("{tabularx}")).expect("there is a table").to_string();
        line.replace(">{\\raggedright\\arraybackslash}X", "X")
    };
    assert_eq!(spec(&comparison), "  \\begin{tabularx}{\\linewidth}{Xrrrl}");
    for finding in &mut comparison.items[0].findings {
        finding.formula = None;
        finding.published = Some(DisplayValue::text("messages grow with n to the power: 0.9 to 1.1"));
        finding.measured = Some(DisplayValue::text("tick 3: 2 of 2"));
    }
    assert_eq!(spec(&comparison), "  \\begin{tabularx}{\\linewidth}{XXll}");
    assert!(latex::tables(&comparison).contains("\n     & published & measured & \\\\\n"));
}

#[test]
fn latex_has_a_table_for_each_item() {
    let tex = latex::tables(&comparison());
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
fn findings_form_a_table() {
    let table = data::findings(&[comparison()]).unwrap();
    assert_eq!(table.rows(), 3);
    assert_eq!(table.cell(0, "paper").to_string(), "datley");
    assert_eq!(table.cell(0, "verdict").to_string(), "explained");
    assert_eq!(table.cell(1, "measured").number(), Some(5.5));
    assert_eq!((table.cell(1, "low").number(), table.cell(1, "high").number()), (Some(5.0), Some(6.0)));
    assert_eq!(table.cell(2, "reasons"), crate::table::Cell::Missing);
}

#[test]
fn bibtex_has_the_program_and_every_paper_with_its_authors() {
    let all: Vec<PaperComparison> =
        published::all().iter().map(|paper| PaperComparison { paper, items: Vec::new() }).collect();
    let text = bibtex::entries(&all, Some("2026-01-31"));
    for part in [
        "@software{hustings,\n  author  = {{The Hustings authors}},",
        "@misc{shirali,\n  author  = {M. Shirali and A. HaghghatToroghi and M. Vojdani},",
        "  author  = {B. Bonakdarpour},\n",
        "  note    = {After W. Fokkink. The text states neither year nor web address},\n",
        "  howpublished = {Distributed Algorithms (CAS 769)},\n  organization = {Department of Computing and Software, McMaster",
        "The text states neither year nor venue nor web address; the newest work that it cites is of 2009},\n",
        "  organization = {Τμήμα Εφ. Πληροφορικής \\& Πολυμέσων, ΤΕΙ Κρήτης},\n",
        concat!("  version = {", env!("CARGO_PKG_VERSION"), "},\n  year    = {2026},\n  date    = {2026-01-31},\n"),
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    // Year, venue and address: each is there, or the entry says that the paper does not state it.
    for entry in text.split("@misc").skip(1) {
        for (field, name) in [("\n  year ", "year"), ("\n  howpublished ", "venue"), ("\n  url ", "web address")] {
            let note = entry.lines().find(|line| line.starts_with("  note")).unwrap_or_default();
            assert!(entry.contains(field) != note.contains(name), "{name} in {entry}");
        }
        assert!(entry.contains("\n  organization = "), "{entry}");
    }
    assert_eq!(text.matches("\n  author  = ").count(), published::all().len() + 1);
    let paper = published::Paper { url: Some("https://example.org/a_b&c".into()), ..published::all()[0].clone() };
    let one = PaperComparison { paper: Box::leak(Box::new(paper)), items: Vec::new() };
    assert!(bibtex::entries(&[one], None).contains("  url     = {https://example.org/a_b&c},"));
}
