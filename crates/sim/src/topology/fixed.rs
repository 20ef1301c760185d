//! The shapes without chance: ring, complete, line, star, tree, grid, torus, hypercube. Each position's links follow
//! from its number, so that ranges need nothing from each other. All are connected and simple for every size that
//! [`super::Topology`] lets through.

use std::ops::Range;

use super::generator::Generator;

/// A shape without chance, of a size that fits it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fixed {
    /// i – i+1, the last with the first.
    Ring(u32),
    /// Every pair of nodes is linked.
    Complete(u32),
    /// i – i+1.
    Line(u32),
    /// all nodes are linked to 0.
    Star(u32),
    /// i > 0 hangs on (i-1)/K.
    Tree {
        /// The number of nodes.
        size: u32,
        /// How many hang on one.
        children: u32,
    },
    /// Row by row, each with its right and lower neighbour.
    Grid {
        /// The number of rows.
        rows: u32,
        /// The number of columns.
        columns: u32,
    },
    /// A grid whose last column and row meet the first.
    Torus {
        /// The number of rows, at least 3.
        rows: u32,
        /// The number of columns, at least 3.
        columns: u32,
    },
    /// Positions that differ in one bit.
    Hypercube {
        /// The number of bits.
        dimension: u32,
    },
}

impl Generator for Fixed {
    fn size(&self) -> u32 {
        match *self {
            Fixed::Ring(size) | Fixed::Complete(size) | Fixed::Line(size) | Fixed::Star(size) => size,
            Fixed::Tree { size, .. } => size,
            Fixed::Grid { rows, columns } | Fixed::Torus { rows, columns } => rows * columns,
            Fixed::Hypercube { dimension } => 1 << dimension,
        }
    }

    fn links(&self, own: Range<u32>, emit: &mut dyn FnMut(u32, u32)) {
        let size = self.size();
        for at in own {
            match *self {
                Fixed::Ring(_) if at + 1 == size => {
                    // Two nodes share one link, and one node has none.
                    if size > 2 {
                        emit(at, 0);
                    }
                }
                Fixed::Ring(_) => emit(at, at + 1),
                Fixed::Complete(_) => (at + 1..size).for_each(|to| emit(at, to)),
                Fixed::Line(_) => {
                    if at + 1 < size {
                        emit(at, at + 1);
                    }
                }
                Fixed::Star(_) => {
                    if at > 0 {
                        emit(at, 0);
                    }
                }
                Fixed::Tree { children, .. } => {
                    if at > 0 {
                        emit(at, (at - 1) / children);
                    }
                }
                Fixed::Grid { columns, .. } => {
                    if (at + 1) % columns != 0 {
                        emit(at, at + 1);
                    }
                    if size - at > columns {
                        emit(at, at + columns);
                    }
                }
                Fixed::Torus { columns, .. } => {
                    emit(at, if (at + 1) % columns != 0 { at + 1 } else { at + 1 - columns });
                    emit(at, if size - at > columns { at + columns } else { at % columns });
                }
                Fixed::Hypercube { dimension } => {
                    (0..dimension).map(|bit| at | 1 << bit).filter(|&to| to != at).for_each(|to| emit(at, to));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(shape: Fixed) -> Vec<(u32, u32)> {
        let mut links = Vec::new();
        shape.links(0..shape.size(), &mut |from, to| links.push((from.min(to), from.max(to))));
        links.sort_unstable();
        links
    }

    #[test]
    fn small_ones_are_as_drawn() {
        assert_eq!(links(Fixed::Ring(1)), []);
        assert_eq!(links(Fixed::Ring(2)), [(0, 1)]);
        assert_eq!(links(Fixed::Ring(3)), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!(links(Fixed::Complete(3)), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!(links(Fixed::Line(3)), [(0, 1), (1, 2)]);
        assert_eq!(links(Fixed::Star(4)), [(0, 1), (0, 2), (0, 3)]);
        assert_eq!(links(Fixed::Tree { size: 6, children: 2 }), [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]);
        assert_eq!(
            links(Fixed::Grid { rows: 2, columns: 3 }),
            [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)]
        );
        assert_eq!(links(Fixed::Grid { rows: 3, columns: 1 }), [(0, 1), (1, 2)]);
        assert_eq!(links(Fixed::Hypercube { dimension: 0 }), []);
        assert_eq!(links(Fixed::Hypercube { dimension: 2 }), [(0, 1), (0, 2), (1, 3), (2, 3)]);
    }

    #[test]
    fn every_node_of_a_torus_has_four_neighbours() {
        let mut degrees = [0; 12];
        for (from, to) in links(Fixed::Torus { rows: 3, columns: 4 }) {
            degrees[from as usize] += 1;
            degrees[to as usize] += 1;
            let (down, across) = (from / 4 != to / 4, from % 4 != to % 4);
            assert!(down != across, "{from}–{to} runs along neither a row nor a column");
        }
        assert_eq!(degrees, [4; 12]);
    }
}
