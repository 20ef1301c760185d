//! The runs that a number is measured on, in words: sizes, bandwidths and how many.

use std::collections::BTreeSet;

use super::display::grouped;
use crate::table::Table;

/// More different values than this are given as a range.
const MAX_LISTED: usize = 4;

/// The sizes and the bandwidths of these runs, and their number. Each part is a table and some of its rows: the two
/// sides of a comparison are two parts.
pub(super) fn sample(parts: &[(&Table, &[usize])]) -> String {
    let mut words = Vec::new();
    let sizes = distinct(parts, "nodes");
    if let Some(sizes) = listed(&sizes) {
        words.push(format!("n = {sizes}"));
    }
    if parts.iter().any(|(table, _)| table.column("bandwidth").is_some()) {
        let bandwidths = distinct(parts, "bandwidth");
        words
            .push(listed(&bandwidths).map_or_else(|| "no limit on bandwidth".into(), |all| format!("bandwidth {all}")));
    }
    let counts: Vec<usize> = parts.iter().map(|(_, rows)| rows.len()).collect();
    let runs = |count: usize| format!("{} run{}", grouped(&count.to_string()), if count == 1 { "" } else { "s" });
    match counts[..] {
        [one, other] if one == other => words.push(format!("2 × {}", runs(one))),
        _ => words.push(runs(counts.iter().sum())),
    }
    words.join(", ")
}

/// The different numbers in a column.
fn distinct(parts: &[(&Table, &[usize])], column: &str) -> BTreeSet<u64> {
    let numbers = |(table, rows): &(&Table, &[usize])| -> Vec<u64> {
        rows.iter().filter_map(|row| table.cell(*row, column).number()).map(|number| number as u64).collect()
    };
    parts.iter().flat_map(numbers).collect()
}

fn listed(numbers: &BTreeSet<u64>) -> Option<String> {
    let text = |number: &u64| grouped(&number.to_string());
    let (first, last) = (numbers.first()?, numbers.last()?);
    if numbers.len() > MAX_LISTED {
        return Some(format!("{} to {}", text(first), text(last)));
    }
    Some(numbers.iter().map(text).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::sample;
    use crate::table::{Heading, Table, Values};

    fn table(columns: &[(&str, &[Option<i64>])]) -> Table {
        let mut table = Table::default();
        for (name, values) in columns {
            let values = Values::Integers(values.to_vec());
            table.push(Heading { name: (*name).into(), about: "".into() }, values).unwrap();
        }
        table
    }

    #[test]
    fn names_sizes_bandwidths_and_runs() {
        let nodes: Vec<Option<i64>> = [10, 10, 50, 100, 500, 1000, 12_000].map(Some).to_vec();
        let limits = [Some(10), None, Some(100), Some(10), None, None, None];
        let both = table(&[("nodes", &nodes), ("bandwidth", &limits)]);
        assert_eq!(sample(&[(&both, &[0])]), "n = 10, bandwidth 10, 1 run");
        assert_eq!(sample(&[(&both, &[1, 4])]), "n = 10, 500, no limit on bandwidth, 2 runs");
        assert_eq!(sample(&[(&both, &[0, 1, 2, 3, 4, 5, 6])]), "n = 10 to 12,000, bandwidth 10, 100, 7 runs");
        let sizes = table(&[("nodes", &nodes)]);
        assert_eq!(sample(&[(&sizes, &[0, 1]), (&both, &[0, 3])]), "n = 10, 100, bandwidth 10, 2 × 2 runs");
        assert_eq!(sample(&[(&table(&[("x", &[Some(1)])]), &[0])]), "1 run");
    }
}
