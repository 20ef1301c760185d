//! A counterexample as a trace.

use std::io::{self, Write};

use hustings_check::Violation;
use hustings_sim::scenario::Scenario;
use hustings_sim::trace::{self, Format, Names, Observer, TraceWriter};

use super::Checked;

/// Writes a counterexample. As JSON lines it has a header, so that it can be replayed.
pub(super) fn write(checked: &Checked, violation: &Violation, format: Format, out: &mut dyn Write) -> io::Result<()> {
    let Violation { scenario, records, .. } = violation;
    let about = checked.election.about();
    match format {
        Format::Jsonl => {
            let params = checked.election.params().into_iter().map(|(name, value)| (name.to_string(), value)).collect();
            // The file says only whether messages may arrive twice. In a check there is no probability.
            let duplicate = if checked.faults.duplicates > 0 { 1.0 } else { 0.0 };
            let until = scenario.until.max(records.last().map_or(0, |record| record.tick));
            let recorded = Scenario { duplicate, until, ..scenario.clone() };
            let mut writer = TraceWriter::new(out, about.name, params, &recorded)?;
            records.iter().for_each(|record| writer.record(record));
            writer.finish().map(|_| ())
        }
        Format::Text => lines(checked, violation)?.iter().try_for_each(|line| writeln!(out, "{line}")),
        Format::Mermaid | Format::Svg | Format::Shiviz => {
            trace::write(format, &names(checked, violation), records, out)
        }
    }
}

/// The counterexample as lines of text: one for each record, and one where it begins to repeat.
pub(super) fn lines(checked: &Checked, violation: &Violation) -> io::Result<Vec<String>> {
    let mut text = Vec::new();
    trace::write(Format::Text, &names(checked, violation), &violation.records, &mut text)?;
    let mut lines: Vec<String> = String::from_utf8_lossy(&text).lines().map(str::to_string).collect();
    if let Some(first) = violation.repeats_from.filter(|first| *first <= lines.len()) {
        lines.insert(first, format!("      from here on it repeats forever (record {first}):"));
    }
    Ok(lines)
}

fn names(checked: &Checked, violation: &Violation) -> Names {
    let Violation { scenario, property, .. } = violation;
    let runs = if scenario.runs { " in runs" } else { "" };
    let (name, size) = (checked.election.about().name, scenario.network.members());
    let ids = checked.ids(&scenario.ids).unwrap_or_default().to_vec();
    let title = format!("{name}{runs}, {size} nodes: {property} is violated");
    Names { title, ids, network: scenario.network.clone() }
}
