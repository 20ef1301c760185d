//! Reasons as footnotes without duplicates.

use crate::comparison::{AppliedReason, Finding, ItemComparison, number};

/// The reasons of an item without duplicates, in order of appearance.
pub(super) fn notes(compared: &ItemComparison) -> Vec<&AppliedReason> {
    let mut notes: Vec<&AppliedReason> = Vec::new();
    for reason in compared.findings.iter().flat_map(|finding| &finding.reasons) {
        if !notes.iter().any(|known| known.says == reason.says) {
            notes.push(reason);
        }
    }
    notes
}

/// The numbers, from 1, of a finding's reasons, each with the amount that it accounts for.
pub(super) fn marks(finding: &Finding, notes: &[&AppliedReason]) -> Vec<(usize, String)> {
    let mark = |reason: &AppliedReason| {
        let place = notes.iter().position(|known| known.says == reason.says)?;
        let amount = reason.amount.map_or_else(String::new, |amount| {
            if amount > 0.0 { format!("+{}", number(amount)) } else { number(amount) }
        });
        Some((place + 1, amount))
    };
    finding.reasons.iter().filter_map(mark).collect()
}
