//! The non-empty columns of a table of findings.

use crate::comparison::{DisplayValue, Finding, ItemComparison};

/// Selects the value of a column.
type Part = fn(&Finding) -> &Option<DisplayValue>;

/// A column of a table of findings.
pub(super) struct Column {
    pub(super) name: &'static str,
    part: Part,
    /// Whether all cells are text.
    pub(super) is_text: bool,
    /// The length of the longest cell.
    pub(super) longest: usize,
}

impl Column {
    /// The value of this column for a finding.
    pub(super) fn of<'a>(&self, finding: &'a Finding) -> Option<&'a DisplayValue> {
        (self.part)(finding).as_ref()
    }

    /// The class of its cells on the web page: a phone shows what is measured first.
    pub(super) fn class(&self) -> String {
        self.name.replace(' ', "-")
    }
}

/// The columns of an item's findings.
pub(super) fn columns(compared: &ItemComparison) -> Vec<Column> {
    let parts: [(&str, Part); 4] = [
        ("published", |finding| &finding.published),
        ("our test", |finding| &finding.test),
        ("formula", |finding| &finding.formula),
        ("measured", |finding| &finding.measured),
    ];
    let column = |(name, part): (&'static str, Part)| {
        let shown: Vec<&DisplayValue> = compared.findings.iter().filter_map(|finding| part(finding).as_ref()).collect();
        let column_is_text = shown.len() == compared.findings.len() && shown.iter().all(|shown| is_text(shown));
        let longest = shown.iter().map(|shown| shown.text.chars().count()).max()?;
        Some(Column { name, part, is_text: column_is_text, longest })
    };
    parts.into_iter().filter_map(column).collect()
}

/// Whether a value is text rather than a number.
pub(super) fn is_text(shown: &DisplayValue) -> bool {
    shown.value.is_none()
}
