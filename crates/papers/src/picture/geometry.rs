//! Where things are: circles, angles and points.

use std::f64::consts::{PI, TAU};

use super::Picture;
use crate::published::Shape;

/// A point of the picture.
pub(super) type Point = (f64, f64);

/// The layout of a picture.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Geometry {
    pub(super) centre: Point,
    /// The radius of each ring, outermost first.
    pub(super) radii: Vec<f64>,
    /// The radius of a node's mark.
    pub(super) mark: f64,
    size: u32,
}

/// The space around the ring, for labels.
const MARGIN: f64 = 96.0;
/// From this number of nodes on, names are beside their marks.
pub(super) const MANY: u32 = 25;

impl Geometry {
    pub(super) fn of(picture: &Picture) -> Self {
        let radius = match picture.shape {
            Shape::Complete => (f64::from(picture.size) * 22.0).max(210.0),
            _ => (f64::from(picture.size) * 6.4).max(150.0),
        };
        let levels = match picture.shape {
            Shape::Sun | Shape::SunInformer => picture.levels.1.max(1),
            _ => 1,
        };
        // The informer needs room in the middle.
        let inner = if picture.has_informer() { 190.0 } else { 90.0 };
        let gap = ((radius - inner) / f64::from(levels.max(2) - 1)).clamp(40.0, 130.0);
        Geometry {
            centre: (radius + MARGIN, radius + MARGIN),
            radii: (0..levels).map(|level| radius - f64::from(level) * gap).collect(),
            mark: if picture.size < MANY { 12.0 } else { 4.0 },
            size: picture.size,
        }
    }

    /// The width and the height, without the legend.
    pub(super) fn side(&self) -> f64 {
        self.centre.0 * 2.0
    }

    /// The angle of a position: the first is at the top, and they follow clockwise.
    pub(super) fn angle(&self, position: f64) -> f64 {
        TAU * position / f64::from(self.size.max(1)) - PI / 2.0
    }

    pub(super) fn at(&self, angle: f64, radius: f64) -> Point {
        (self.centre.0 + radius * angle.cos(), self.centre.1 + radius * angle.sin())
    }

    /// A node on one of the rings; what has no place on the ring is in the middle.
    pub(super) fn node(&self, position: u32, ring: usize) -> Point {
        if position >= self.size {
            return self.centre;
        }
        self.at(self.angle(f64::from(position)), self.radii[ring.min(self.radii.len() - 1)])
    }
}

/// A direction in degrees in which text can be read: not upside down. The flag says whether it was turned round.
pub(super) fn readable(angle: f64) -> (f64, bool) {
    let degrees = angle.to_degrees().rem_euclid(360.0);
    if (90.0..270.0).contains(&degrees) { (degrees - 180.0, true) } else { (degrees, false) }
}

/// The point between two points.
pub(super) fn between(from: Point, to: Point, share: f64) -> Point {
    (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
}

/// Moves a point towards another by this distance.
pub(super) fn towards(from: Point, to: Point, distance: f64) -> Point {
    let length = (to.0 - from.0).hypot(to.1 - from.1).max(1e-9);
    between(from, to, distance / length)
}
