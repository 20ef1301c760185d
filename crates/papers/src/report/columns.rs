//! The columns of a table of findings: those in which something stands.

use crate::findings::{Answer, Finding, Shown};

/// What stands in one column.
type Part = fn(&Finding) -> &Option<Shown>;

/// A column of a table of findings.
pub(super) struct Column {
    pub(super) name: &'static str,
    part: Part,
    /// Whether all of it is words.
    pub(super) words: bool,
    /// The most characters that stand in one of its places.
    pub(super) longest: usize,
}

impl Column {
    /// What stands there, for one finding.
    pub(super) fn of<'a>(&self, finding: &'a Finding) -> Option<&'a Shown> {
        (self.part)(finding).as_ref()
    }
}

/// The columns of an item's findings.
pub(super) fn columns(answer: &Answer) -> Vec<Column> {
    let parts: [(&str, Part); 3] = [
        ("published", |finding| &finding.published),
        ("formula", |finding| &finding.formula),
        ("measured", |finding| &finding.measured),
    ];
    let column = |(name, part): (&'static str, Part)| {
        let shown: Vec<&Shown> = answer.findings.iter().filter_map(|finding| part(finding).as_ref()).collect();
        let words = shown.len() == answer.findings.len() && shown.iter().all(|shown| is_words(shown));
        let longest = shown.iter().map(|shown| shown.text.chars().count()).max()?;
        Some(Column { name, part, words, longest })
    };
    parts.into_iter().filter_map(column).collect()
}

/// Whether it is words, and no number.
pub(super) fn is_words(shown: &Shown) -> bool {
    shown.value.is_none()
}
