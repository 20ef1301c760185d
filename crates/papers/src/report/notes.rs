//! Reasons as footnotes: each is told once, however many findings it explains.

use crate::findings::{Answer, Because, Finding, number};

/// The reasons of an item, each once, in the order in which they come.
pub(super) fn notes(answer: &Answer) -> Vec<&Because> {
    let mut notes: Vec<&Because> = Vec::new();
    for because in answer.findings.iter().flat_map(|finding| &finding.reasons) {
        if !notes.iter().any(|known| known.says == because.says) {
            notes.push(because);
        }
    }
    notes
}

/// The numbers, from 1, of a finding's reasons, each with the amount that it makes out.
pub(super) fn marks(finding: &Finding, notes: &[&Because]) -> Vec<(usize, String)> {
    let mark = |because: &Because| {
        let place = notes.iter().position(|known| known.says == because.says)?;
        let amount = because.amount.map_or_else(String::new, |amount| {
            if amount > 0.0 { format!("+{}", number(amount)) } else { number(amount) }
        });
        Some((place + 1, amount))
    };
    finding.reasons.iter().filter_map(mark).collect()
}
