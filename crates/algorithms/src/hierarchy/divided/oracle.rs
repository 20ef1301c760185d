//! Message counts of divided and sun-divided that follow from the positions of the points and of one detector.

use alloc::vec;
use alloc::vec::Vec;

use super::informer::MIN_POINTS;
use crate::Instance;
use crate::hierarchy::layout::Points;
use crate::hierarchy::params::Aggregate;

/// The ticks from a `crash` to the `divide` at the top points: `crash`, `probe`, `reply`, `divide`.
const ROUND: u32 = 4;

/// The hops of the detector's token until a divided point stops it; `None` if it comes home.
fn stopped(points: &Points<'_>, detector: u32, size: u32) -> Option<u32> {
    let (_, to_top) = points.ahead(detector)?;
    (1..=size).find(|hops| {
        let at = ((u64::from(detector) + u64::from(*hops)) % u64::from(size)) as u32;
        points.at(at).is_some_and(|point| {
            let divided = to_top + ROUND + points.handed_on(point);
            // Within a tick, messages of lower positions are handled first; the informer is above all of them.
            let before_token = points.above(point).is_some_and(|above| points.position(above) + 1 < at);
            divided < *hops || divided == *hops && before_token
        })
    })
}

/// The counts of the messages that are not sent along the ring, and whether the ring is divided. With fewer than
/// [`MIN_POINTS`] replies the informer does nothing more.
fn around(points: &Points<'_>) -> ([u64; 6], bool) {
    let (all, tops) = (u64::from(points.count()), points.tops().count());
    let (is_divided, asked) = (tops >= MIN_POINTS, tops as u64);
    let all = if is_divided { all } else { 0 };
    ([1, asked, asked, all, all, all], is_divided)
}

/// The counts with one detector, without levels inside the parts.
pub(super) fn divided(points: &Points<'_>, instance: &Instance<'_>) -> Option<Vec<u64>> {
    let size = instance.order.len() as u32;
    let [detector] = *instance.initiators else { return without_detector(8, instance) };
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

/// The counts with one detector, with levels inside the parts.
pub(super) fn sun_divided(points: &Points<'_>, aggregate: Aggregate, instance: &Instance<'_>) -> Option<Vec<u64>> {
    let size = instance.order.len() as u32;
    let [detector] = *instance.initiators else { return without_detector(9, instance) };
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

/// No messages if nobody starts; with several detectors there is no formula.
fn without_detector(kinds: usize, instance: &Instance<'_>) -> Option<Vec<u64>> {
    instance.initiators.is_empty().then(|| vec![0; kinds])
}
