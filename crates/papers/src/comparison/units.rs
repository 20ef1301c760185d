//! What was drawn at random: the unit of statistics.
//!
//! Runs on the same network are not independent of each other. Their values are averaged first, so that an interval
//! rests on the number of networks and not on that of runs.

use std::collections::BTreeMap;

use crate::table::Table;

/// A size and a seed: runs that share both share what was drawn. In a table without seeds every row is a unit.
type Unit = (String, String);

fn unit(table: &Table, row: usize) -> Unit {
    let text = |column: &str| table.cell(row, column).to_string();
    match table.column("seed") {
        Some(_) => (text("nodes"), text("seed")),
        None => (String::new(), row.to_string()),
    }
}

/// The means of these values, of which there is one for each row, over the runs of each unit.
pub(super) fn means(table: &Table, rows: &[usize], values: &[f64]) -> Vec<f64> {
    let mut places: BTreeMap<Unit, usize> = BTreeMap::new();
    let mut sums: Vec<(f64, usize)> = Vec::new();
    for (row, value) in rows.iter().zip(values) {
        let place = *places.entry(unit(table, *row)).or_insert(sums.len());
        if place == sums.len() {
            sums.push((0.0, 0));
        }
        sums[place].0 += value;
        sums[place].1 += 1;
    }
    sums.into_iter().map(|(sum, count)| sum / count as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Heading, Values};

    #[test]
    fn runs_on_one_network_are_one_value() {
        let mut table = Table::default();
        for (name, values) in [("nodes", [4, 4, 4, 8]), ("seed", [7, 9, 7, 7])] {
            let values = Values::Integers(values.iter().copied().map(Some).collect());
            table.push(Heading { name: name.into(), about: "".into() }, values).unwrap();
        }
        assert_eq!(means(&table, &[0, 1, 2, 3], &[1.0, 5.0, 2.0, 6.0]), [1.5, 5.0, 6.0]);
        assert_eq!(means(&table, &[2, 1], &[2.0, 5.0]), [2.0, 5.0]);
        assert_eq!(means(&Table::default(), &[0, 1], &[2.0, 5.0]), [2.0, 5.0]);
    }
}
