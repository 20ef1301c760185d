//! Checks whether parameters fit a ring of a given size.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::layout::{Levels, Points};
use super::params::{Branching, Depth, Parts};
use crate::{ParamConflict, ParamValue};

/// Fails unless the listed lengths add up to the size of the ring and their number is a multiple of `groups_of`.
fn listed(parts: &Parts, ends: &[u32], groups_of: u64, size: u32) -> Result<(), ParamConflict> {
    let refused =
        |problem: String, instead| Err(ParamConflict { name: "parts", value: parts.show(), size, problem, instead });
    let (count, sum) = (ends.len(), ends.last().copied().unwrap_or(0));
    if sum != size {
        let problem = format!("the lengths add up to {sum}, and must add up to {size}");
        return refused(problem, Some(format!("--nodes {sum}")));
    }
    if !(count as u64).is_multiple_of(groups_of) {
        let problem = format!("there are {count} lengths, and must be a multiple of {groups_of} (by u and depth)");
        return refused(problem, None);
    }
    Ok(())
}

/// Fails unless the ring can be divided this often into equal pieces.
fn even(branching: Branching, divisions: u32, size: u32) -> Result<(), ParamConflict> {
    let pieces = branching.power(divisions);
    if u64::from(size).is_multiple_of(pieces) {
        return Ok(());
    }
    let takes = match u32::try_from(pieces) {
        Ok(_) => format!("so it takes a multiple of {pieces} nodes, or lengths in `parts`"),
        Err(_) => "and no ring is so long".to_string(),
    };
    let times = if divisions == 1 { "once".to_string() } else { format!("{divisions} times") };
    let problem = format!("the ring is divided {times} by {}, {takes}", branching.get());
    Err(ParamConflict { name: "u", value: branching.show(), size, problem, instead: multiples_near(size, pieces) })
}

/// The nearest multiples below and above, as command-line options.
fn multiples_near(size: u32, pieces: u64) -> Option<String> {
    let below = u64::from(size) / pieces * pieces;
    let near = [below, below.saturating_add(pieces)];
    let fitting = near.into_iter().filter(|&nodes| nodes > 0 && nodes <= u32::MAX.into());
    let typed: Vec<String> = fitting.map(|nodes| format!("--nodes {nodes}")).collect();
    (!typed.is_empty()).then(|| typed.join(" or "))
}

/// Fails unless the levels of sun fit.
pub(super) fn sun(branching: Branching, depth: Depth, parts: &Parts, size: u32) -> Result<(), ParamConflict> {
    let above = Levels::new(size, branching, depth, parts).top - 1;
    match parts.ends() {
        Some(ends) => listed(parts, ends, branching.power(above.saturating_sub(1)), size),
        None => even(branching, depth.times(|| above), size),
    }
}

/// Fails unless the points of divided fit, and the levels inside its parts.
pub(super) fn divided(
    branching: Branching,
    depth: Depth,
    inner: Option<Depth>,
    parts: &Parts,
    size: u32,
) -> Result<(), ParamConflict> {
    let points = Points::new(size, branching, depth, inner, parts);
    match parts.ends() {
        Some(ends) => listed(parts, ends, branching.power(points.depth - 1), size),
        None => even(branching, points.depth + inner.map_or(0, |inner| inner.times(|| points.levels - 1)), size),
    }
}
