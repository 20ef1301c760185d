//! The distinct values of a column, in display order, and their labels.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::table::{Cell, Values};

/// The distinct values of a column in some rows.
#[derive(Debug)]
pub(super) struct Levels {
    /// The value of each row, as an index into `cells`.
    pub(super) of_row: Vec<usize>,
    /// Numbers in ascending order, text in order of appearance, a missing value last.
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
        // The sort is stable and texts compare equal, so they keep their order.
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

/// A key that distinguishes values.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Missing,
    Bool(bool),
    Integer(i64),
    Float(u64),
    Text(Arc<str>),
}

impl Key {
    fn of(cell: &Cell) -> Key {
        match cell {
            Cell::Missing => Key::Missing,
            Cell::Bool(flag) => Key::Bool(*flag),
            Cell::Integer(number) => Key::Integer(*number),
            // Adding 0 turns -0 into 0.
            Cell::Float(number) => Key::Float((number + 0.0).to_bits()),
            Cell::Text(text) => Key::Text(text.clone()),
        }
    }
}

/// The label of a value in a legend. Numbers are labelled with their column, text is not.
pub(super) fn label(column: &str, cell: &Cell) -> String {
    let name = column.strip_prefix("p.").or_else(|| column.strip_prefix("let.")).unwrap_or(column);
    match cell {
        Cell::Missing => format!("no {name}"),
        Cell::Text(text) => text.to_string(),
        Cell::Bool(true) => name.to_string(),
        Cell::Bool(false) => format!("not {name}"),
        Cell::Integer(_) | Cell::Float(_) => format!("{name} = {cell}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_and_text_keeps_its_order() {
        let numbers = Values::Integers(vec![Some(10), None, Some(9), Some(100), Some(9)]);
        let levels = Levels::new(&numbers, &[0, 1, 2, 4]);
        assert_eq!(levels.cells, [Cell::Integer(9), Cell::Integer(10), Cell::Missing]);
        assert_eq!(levels.of_row, [1, 2, 0, 0]);
        let words = Values::Texts(vec![Some("b".into()), None, Some("a".into()), Some("b".into())]);
        let levels = Levels::new(&words, &[0, 1, 2, 3]);
        assert_eq!(levels.of_row, [0, 2, 1, 0]);
        let zeros = Levels::new(&Values::Floats(vec![Some(0.0), Some(-0.0)]), &[0, 1]);
        assert_eq!(zeros.cells.len(), 1);
    }

    #[test]
    fn numbers_are_labelled_with_their_column() {
        assert_eq!(label("algorithm", &Cell::Text("aefa".into())), "aefa");
        assert_eq!(label("p.k", &Cell::Integer(2)), "k = 2");
        assert_eq!(label("unordered", &Cell::Bool(false)), "not unordered");
        assert_eq!(label("crash", &Cell::Missing), "no crash");
    }
}
