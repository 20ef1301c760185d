//! The record of values for which a paper prints none.
//!
//! Runs are deterministic, so such a value can only change with the program. The record of a built-in paper makes that
//! visible: a value that differs from it is open.

use std::fmt::Write;

use serde_json::json;

use super::winners::{self, WinnersTable};
use super::{AppliedReason, Finding, ItemComparison, Verdict};
use crate::published::Record;

/// Compares the values of an item that the paper does not print with the record.
pub(super) fn compare(item: &mut ItemComparison, record: &Record) {
    let recorded = record.get(&item.item.id);
    for finding in item.findings.iter_mut().filter(|finding| finding.verdict == Verdict::Shown) {
        let before = recorded.and_then(|values| values.get(&finding.label));
        if before.is_some_and(|before| *before == value(&item.winners, finding)) {
            continue;
        }
        let says = match before {
            Some(_) if winners::table_of(&item.winners, finding).is_some() => {
                "the recorded table is another".to_string()
            }
            Some(before) => format!("the recorded value is {before}"),
            None => "the paper prints no value, and none is recorded".to_string(),
        };
        finding.verdict = Verdict::Open;
        finding.reasons = vec![AppliedReason { kind: None, says, amount: None }];
    }
}

/// What the record has of a finding: what is measured, or the cells of its table.
fn value(tables: &[WinnersTable], finding: &Finding) -> String {
    let measured = || finding.measured.as_ref().map_or_else(String::new, |measured| measured.text.clone());
    winners::table_of(tables, finding).map_or_else(measured, WinnersTable::fingerprint)
}

/// The record of these comparisons, as TOML.
pub(super) fn text(items: &[ItemComparison]) -> String {
    let has_no_value =
        |finding: &&Finding| finding.published.is_none() && finding.formula.is_none() && finding.test.is_none();
    let mut text = String::new();
    for item in items {
        let found: Vec<&Finding> = item.findings.iter().filter(has_no_value).collect();
        if found.is_empty() {
            continue;
        }
        let _ = writeln!(text, "[{}]", item.item.id);
        for finding in found {
            let measured = value(&item.winners, finding);
            // Strings of JSON are strings of TOML, too.
            let _ = writeln!(text, "{} = {}", json!(finding.label), json!(measured));
        }
        text.push('\n');
    }
    text
}
