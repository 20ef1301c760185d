//! Findings as a table.

use std::sync::Arc;

use super::commands;
use crate::comparison::{DisplayValue, Finding, ItemComparison, PaperComparison};
use crate::table::{Heading, Table, TableError, Values};

/// A finding with its paper and item.
type Row<'a> = (&'a PaperComparison, &'a ItemComparison, &'a Finding);

/// A row for each finding.
pub(super) fn findings(comparisons: &[PaperComparison]) -> Result<Table, TableError> {
    let all: Vec<Row<'_>> = comparisons
        .iter()
        .flat_map(|comparison| comparison.items.iter().map(move |compared| (comparison, compared)))
        .flat_map(|(comparison, compared)| compared.findings.iter().map(move |finding| (comparison, compared, finding)))
        .collect();
    let mut table = Table::default();
    let mut texts = |name: &str, about: &str, of: &dyn Fn(&Row<'_>) -> Option<String>| {
        let values = all.iter().map(|row| of(row).map(Arc::from)).collect();
        table.push(Heading { name: name.into(), about: about.into() }, Values::Texts(values))
    };
    texts("paper", "paper", &|row| Some(row.0.paper.name.clone()))?;
    texts("item", "item of the paper", &|row| Some(row.1.item.id.clone()))?;
    texts("place", "place in the paper", &|row| Some(row.1.item.place.clone()))?;
    texts("what", "number, claim or step", &|row| Some(row.2.label.clone()))?;
    texts("origin", "printed, derived by us, shown, claims, or claims of ours", &|row| {
        Some(row.2.origin().name().into())
    })?;
    texts("quote", "the words of the paper that make a claim", &|row| row.2.quote.clone())?;
    texts("verdict", "equal, explained, yes, no, undecided, shown or open", &|row| Some(row.2.verdict.to_string()))?;
    let shown = |of: &Option<DisplayValue>| of.as_ref().map(|shown| shown.text.clone());
    texts("published_text", "published value as text", &|row| shown(&row.2.published))?;
    texts("test", "how a claim is tested", &|row| shown(&row.2.test))?;
    texts("choice", "why a claim is tested against a threshold that the paper does not give", &|row| {
        row.2.choice.clone()
    })?;
    texts("formula_text", "value of the formula as text", &|row| shown(&row.2.formula))?;
    texts("measured_text", "measured value as text", &|row| shown(&row.2.measured))?;
    texts("runs", "sizes, bandwidths and number of the runs", &|row| {
        Some(row.2.sample.clone()).filter(|sample| !sample.is_empty())
    })?;
    texts("command", "what to type in the folder of the report to measure it again", &|row| {
        Some(commands::of_row(row.0.paper, row.1.item, row.2))
    })?;
    texts("reasons", "reasons for the difference", &|row| {
        let says: Vec<&str> = row.2.reasons.iter().map(|reason| reason.says.as_str()).collect();
        (!says.is_empty()).then(|| says.join(" / "))
    })?;
    let mut numbers = |name: &str, about: &str, of: &dyn Fn(&Finding) -> Option<f64>| {
        let values = all.iter().map(|row| of(row.2)).collect();
        table.push(Heading { name: name.into(), about: about.into() }, Values::Floats(values))
    };
    let value = |of: &Option<DisplayValue>| of.as_ref().and_then(|shown| shown.value);
    numbers("published", "published value", &|finding| value(&finding.published))?;
    numbers("formula", "value of the formula", &|finding| value(&finding.formula))?;
    numbers("measured", "measured value, or the mean", &|finding| value(&finding.measured))?;
    let end = |finding: &Finding, of: fn((f64, f64)) -> f64| finding.measured.as_ref()?.interval.map(of);
    numbers("low", "lower end of the 95 % confidence interval of the mean", &|finding| end(finding, |ends| ends.0))?;
    numbers("high", "upper end of the 95 % confidence interval of the mean", &|finding| end(finding, |ends| ends.1))?;
    Ok(table)
}
