//! What counts of divided and sun-divided follow from the places of the points and of one detector.

use alloc::vec;
use alloc::vec::Vec;

use super::informer::ENOUGH;
use crate::Instance;
use crate::hierarchy::layout::Points;
use crate::hierarchy::params::Aggregate;

/// The ticks from a `crash` to the `divide` that reaches the top points: there, `probe`, `reply`, and back.
const ROUND: u32 = 4;

/// How many hops the detector's token makes until a point at which the ring is divided stops it; `None` if none does,
/// so that it comes home.
fn stopped(points: &Points<'_>, detector: u32, size: u32) -> Option<u32> {
    let (_, to_top) = points.ahead(detector)?;
    (1..=size).find(|hops| {
        let at = ((u64::from(detector) + u64::from(*hops)) % u64::from(size)) as u32;
        points.at(at).is_some_and(|point| {
            let divided = to_top + ROUND + points.handed_on(point);
            // Whoever is lower on the ring is heard first in a tick; the informer is above all.
            let before_token = points.above(point).is_some_and(|above| points.position(above) + 1 < at);
            divided < *hops || divided == *hops && before_token
        })
    })
}

/// How many messages go around the ring's own, and whether they divide it: one of each point, and what the informer
/// needs beside it. With fewer than [`ENOUGH`] answers it leaves it at that.
fn around(points: &Points<'_>) -> ([u64; 6], bool) {
    let (all, tops) = (u64::from(points.count()), points.tops().count());
    let (is_divided, asked) = (tops >= ENOUGH, tops as u64);
    let all = if is_divided { all } else { 0 };
    ([1, asked, asked, all, all, all], is_divided)
}

/// The counts with one detector, where the parts have no levels.
pub(super) fn divided(points: &Points<'_>, instance: &Instance<'_>) -> Option<Vec<u64>> {
    let size = instance.order.len() as u32;
    let [detector] = *instance.initiators else { return nobody(8, instance) };
    let Some((to_point, _)) = points.ahead(detector) else {
        return Some(vec![size.into(), size.into(), 0, 0, 0, 0, 0, 0]);
    };
    let (around, is_divided) = around(points);
    let mut counts = vec![size.into(), size.into()];
    if is_divided {
        stopped(points, detector, size)?;
        counts[0] += u64::from(to_point);
    }
    counts.extend(around);
    Some(counts)
}

/// The counts with one detector, where they have.
pub(super) fn sun_divided(points: &Points<'_>, aggregate: Aggregate, instance: &Instance<'_>) -> Option<Vec<u64>> {
    let size = instance.order.len() as u32;
    let [detector] = *instance.initiators else { return nobody(9, instance) };
    if points.count() == 0 {
        return Some(vec![size.into(), size.into(), 0, 0, 0, 0, 0, 0, 0]);
    }
    let (around, is_divided) = around(points);
    if !is_divided {
        let mut counts = vec![size.into(), size.into()];
        counts.extend(around);
        counts.push(0);
        return Some(counts);
    }
    let lengths = |from: u32| (from..=points.levels).map(|level| points.length(level)).sum::<u64>();
    let hops = stopped(points, detector, size)?;
    let mut counts = vec![lengths(1) + u64::from(hops), lengths(1)];
    counts.extend(around);
    counts.push(if aggregate == Aggregate::Eager { lengths(2) } else { 0 });
    Some(counts)
}

/// Nothing happens if nobody starts; with several detectors there is no formula.
fn nobody(kinds: usize, instance: &Instance<'_>) -> Option<Vec<u64>> {
    instance.initiators.is_empty().then(|| vec![0; kinds])
}
