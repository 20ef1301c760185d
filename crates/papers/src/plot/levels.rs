//! The different values of a column, in the order in which they are shown, and what they are called.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::table::{Cell, Values};

/// The different values of a column among some rows.
#[derive(Debug)]
pub(super) struct Levels {
    /// The value of each of the rows, as a number into `cells`.
    pub(super) of_row: Vec<usize>,
    /// Numbers by size, words as they come, a missing value last.
    pub(super) cells: Vec<Cell>,
}

impl Levels {
    pub(super) fn new(values: &Values, rows: &[usize]) -> Self {
        let mut first_come: BTreeMap<Key, usize> = BTreeMap::new();
        let mut cells: Vec<Cell> = Vec::new();
        let mut of_row: Vec<usize> = Vec::with_capacity(rows.len());
        for row in rows {
            let cell = values.cell(*row);
            let at = *first_come.entry(Key::of(&cell)).or_insert(cells.len());
            if at == cells.len() {
                cells.push(cell);
            }
            of_row.push(at);
        }
        let mut order: Vec<usize> = (0..cells.len()).collect();
        // Stable: words, which are all alike here, stay as they come.
        order.sort_by(|a, b| {
            let (a, b) = (&cells[*a], &cells[*b]);
            let missing = |cell: &Cell| *cell == Cell::Missing;
            let numbers = a.number().unwrap_or(0.0).total_cmp(&b.number().unwrap_or(0.0));
            missing(a).cmp(&missing(b)).then(numbers)
        });
        let mut place = vec![0; cells.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
        of_row.iter_mut().for_each(|at| *at = place[*at]);
        Levels { of_row, cells: order.into_iter().map(|old| cells[old].clone()).collect() }
    }
}

/// Something that values can be told apart by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Missing,
    Flag(bool),
    Integer(i64),
    Real(u64),
    Text(Arc<str>),
}

impl Key {
    fn of(cell: &Cell) -> Key {
        match cell {
            Cell::Missing => Key::Missing,
            Cell::Flag(flag) => Key::Flag(*flag),
            Cell::Integer(number) => Key::Integer(*number),
            // The two zeros are one value.
            Cell::Real(number) => Key::Real((number + 0.0).to_bits()),
            Cell::Text(text) => Key::Text(text.clone()),
        }
    }
}

/// What a value of a column is called in a legend: words speak for themselves, numbers do not.
pub(super) fn label(column: &str, cell: &Cell) -> String {
    let name = column.strip_prefix("p.").or_else(|| column.strip_prefix("let.")).unwrap_or(column);
    match cell {
        Cell::Missing => format!("no {name}"),
        Cell::Text(text) => text.to_string(),
        Cell::Flag(true) => name.to_string(),
        Cell::Flag(false) => format!("not {name}"),
        Cell::Integer(_) | Cell::Real(_) => format!("{name} = {cell}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_by_size_and_words_as_they_come() {
        let numbers = Values::Integers(vec![Some(10), None, Some(9), Some(100), Some(9)]);
        let levels = Levels::new(&numbers, &[0, 1, 2, 4]);
        assert_eq!(levels.cells, [Cell::Integer(9), Cell::Integer(10), Cell::Missing]);
        assert_eq!(levels.of_row, [1, 2, 0, 0]);
        let words = Values::Texts(vec![Some("b".into()), None, Some("a".into()), Some("b".into())]);
        let levels = Levels::new(&words, &[0, 1, 2, 3]);
        assert_eq!(levels.of_row, [0, 2, 1, 0]);
        let zeros = Levels::new(&Values::Reals(vec![Some(0.0), Some(-0.0)]), &[0, 1]);
        assert_eq!(zeros.cells.len(), 1);
    }

    #[test]
    fn words_speak_for_themselves() {
        assert_eq!(label("algorithm", &Cell::Text("aefa".into())), "aefa");
        assert_eq!(label("p.k", &Cell::Integer(2)), "k = 2");
        assert_eq!(label("unordered", &Cell::Flag(false)), "not unordered");
        assert_eq!(label("crash", &Cell::Missing), "no crash");
    }
}
