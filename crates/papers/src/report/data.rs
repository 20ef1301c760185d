//! Findings as a table, for files and programs.

use std::sync::Arc;

use crate::findings::{Finding, Shown, Study};
use crate::table::{Heading, Table, TableError, Values};

/// A finding with where it belongs: its study, and the name and place of its item.
type Row<'a> = (&'a Study, &'a str, &'a str, &'a Finding);

/// A row for each finding.
pub fn findings(studies: &[Study]) -> Result<Table, TableError> {
    let all: Vec<Row<'_>> = studies
        .iter()
        .flat_map(|study| study.answers.iter().map(move |answer| (study, answer)))
        .flat_map(|(study, answer)| {
            let row = move |finding| (study, answer.item.id.as_str(), answer.item.place.as_str(), finding);
            answer.findings.iter().map(row)
        })
        .collect();
    let mut table = Table::default();
    let mut texts = |name: &str, about: &str, of: &dyn Fn(&Row<'_>) -> Option<String>| {
        let values = all.iter().map(|row| of(row).map(Arc::from)).collect();
        table.push(Heading { name: name.into(), about: about.into() }, Values::Texts(values))
    };
    texts("text", "which text", &|row| Some(row.0.text.name.clone()))?;
    texts("item", "which item of it", &|row| Some(row.1.to_string()))?;
    texts("place", "where it stands", &|row| Some(row.2.to_string()))?;
    texts("what", "which number, claim or step", &|row| Some(row.3.label.clone()))?;
    texts("verdict", "equal, explained, yes, no, shown or open", &|row| Some(row.3.verdict.to_string()))?;
    let shown = |of: &Option<Shown>| of.as_ref().map(|shown| shown.text.clone());
    texts("published_text", "what is printed, as it is shown", &|row| shown(&row.3.published))?;
    texts("formula_text", "what a formula gives, as it is shown", &|row| shown(&row.3.formula))?;
    texts("measured_text", "what was measured, as it is shown", &|row| shown(&row.3.measured))?;
    texts("reasons", "why they differ", &|row| {
        let says: Vec<&str> = row.3.reasons.iter().map(|because| because.says.as_str()).collect();
        (!says.is_empty()).then(|| says.join(" / "))
    })?;
    let mut numbers = |name: &str, about: &str, of: &dyn Fn(&Finding) -> Option<f64>| {
        let values = all.iter().map(|row| of(row.3)).collect();
        table.push(Heading { name: name.into(), about: about.into() }, Values::Reals(values))
    };
    let value = |of: &Option<Shown>| of.as_ref().and_then(|shown| shown.value);
    numbers("published", "what is printed", &|finding| value(&finding.published))?;
    numbers("formula", "what a formula gives", &|finding| value(&finding.formula))?;
    numbers("measured", "what was measured, or its mean", &|finding| value(&finding.measured))?;
    let end = |finding: &Finding, of: fn((f64, f64)) -> f64| finding.measured.as_ref()?.interval.map(of);
    numbers("low", "lower end of the 95 % interval of the mean", &|finding| end(finding, |ends| ends.0))?;
    numbers("high", "upper end of the 95 % interval of the mean", &|finding| end(finding, |ends| ends.1))?;
    Ok(table)
}
