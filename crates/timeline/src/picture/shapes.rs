//! Shapes and colours, so that colour is never the only difference.

use std::f64::consts::PI;

use hustings_text::svg::path;

use super::MarkKind;

/// Dark enough on white. A page has its own.
pub(super) const COLOURS: [&str; 8] =
    ["#2563eb", "#d9480f", "#0f8a5f", "#9333ea", "#0e7490", "#be185d", "#4d7c0f", "#57534e"];

/// An outline, or a cross.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Shape {
    Circle,
    /// Corners on a circle, the first one at this angle.
    Polygon {
        corners: u32,
        turn: f64,
    },
    /// Its corners are twice as many, in turn on a circle and on a smaller one.
    Star {
        corners: u32,
    },
    Cross,
}

impl Shape {
    const ALL: [Shape; 8] = [
        Shape::Circle,
        Shape::Polygon { corners: 4, turn: PI / 4.0 },
        Shape::Polygon { corners: 3, turn: -PI / 2.0 },
        Shape::Polygon { corners: 4, turn: 0.0 },
        Shape::Polygon { corners: 3, turn: PI / 2.0 },
        Shape::Star { corners: 4 },
        Shape::Polygon { corners: 6, turn: 0.0 },
        Shape::Star { corners: 3 },
    ];

    /// Colours repeat after eight kinds, and then the shapes are shifted: no two of the first 64 kinds look the same.
    pub(super) fn of_kind(kind: usize) -> Shape {
        Shape::ALL[(kind + kind / COLOURS.len()) % Shape::ALL.len()]
    }

    /// The shape of a mark, and its size.
    pub(super) fn of_mark(kind: MarkKind) -> (Shape, f64) {
        match kind {
            MarkKind::Held => (Shape::Star { corners: 5 }, 10.0),
            MarkKind::Gone => (Shape::Cross, 7.0),
            MarkKind::Lost => (Shape::Circle, 5.0),
            MarkKind::Closed => (Shape::Cross, 4.0),
            MarkKind::Other => (Shape::Polygon { corners: 4, turn: 0.0 }, 5.0),
        }
    }

    /// The data of a path with its centre at a place.
    pub(super) fn path(self, x: f64, y: f64, size: f64) -> String {
        let at = |angle: f64, size: f64| [x + size * angle.cos(), y + size * angle.sin()];
        let outline = |corners: u32, turn: f64, inner: Option<f64>| {
            let all = corners * if inner.is_some() { 2 } else { 1 };
            let corner = |number: u32| {
                let size = if number % 2 == 1 { inner.unwrap_or(size) } else { size };
                at(turn + 2.0 * PI * f64::from(number) / f64::from(all), size)
            };
            let corners: Vec<[f64; 2]> = (0..all).map(corner).collect();
            let mut commands: Vec<(char, &[f64])> = corners.iter().map(|corner| ('L', corner.as_slice())).collect();
            if let Some(first) = commands.first_mut() {
                first.0 = 'M';
            }
            commands.push(('Z', &[]));
            path(&commands)
        };
        match self {
            Shape::Circle => path(&[
                ('M', &[x - size, y]),
                ('a', &[size, size, 0.0, 1.0, 0.0, 2.0 * size, 0.0]),
                ('a', &[size, size, 0.0, 1.0, 0.0, -2.0 * size, 0.0]),
                ('Z', &[]),
            ]),
            Shape::Polygon { corners, turn } => outline(corners, turn, None),
            Shape::Star { corners } => outline(corners, -PI / 2.0, Some(size * 0.42)),
            Shape::Cross => path(&[
                ('M', &[x - size, y - size]),
                ('L', &[x + size, y + size]),
                ('M', &[x - size, y + size]),
                ('L', &[x + size, y - size]),
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_look_the_same() {
        let looks: Vec<(usize, String)> =
            (0..64).map(|kind| (kind % COLOURS.len(), format!("{:?}", Shape::of_kind(kind)))).collect();
        for (place, one) in looks.iter().enumerate() {
            assert!(!looks[..place].contains(one), "{place}: {one:?}");
        }
    }

    #[test]
    fn outlines_are_closed() {
        assert_eq!(Shape::ALL[3].path(10.0, 20.0, 2.0), "M12 20 L10 22 L8 20 L10 18 Z");
        assert_eq!(Shape::Star { corners: 5 }.path(0.0, 0.0, 1.0).matches('L').count(), 9);
    }
}
