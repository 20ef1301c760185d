//! Compares layouts with their definitions, written naively.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use super::*;

static EVEN: Parts = Parts::EVEN;

fn depth(times: u32) -> Depth {
    NonZeroU32::new(times).map_or(Depth::Max, Depth::Times)
}

fn branching(pieces: u32) -> Branching {
    Branching::new(pieces).expect("two or more")
}

/// Every u-th of a level from position 0 on, level by level.
fn naive_levels(size: u32, u: usize, k: u32) -> Vec<Vec<u32>> {
    let mut levels: Vec<Vec<u32>> = [(0..size).collect()].into();
    for _ in 0..k {
        let next = levels.last().into_iter().flatten().copied().step_by(u).collect();
        levels.push(next);
    }
    levels
}

#[test]
fn each_level_is_every_uth_node_of_the_level_below() {
    for (size, u, k) in (1..70).flat_map(|n| [2, 3, 4].into_iter().flat_map(move |u| (1..5).map(move |k| (n, u, k)))) {
        let levels = Levels::new(size, branching(u), depth(k), &EVEN);
        for (level, nodes) in (1..).zip(naive_levels(size, u as usize, k)) {
            assert_eq!(levels.length(level), nodes.len() as u64, "{size} {u} {k}");
            for (nth, &at) in nodes.iter().enumerate() {
                assert!(levels.height(at) >= level, "{size} {u} {k}: {at} is on {level}");
                assert_eq!(levels.next(at, level), nodes[(nth + 1) % nodes.len()], "{size} {u} {k}");
            }
            let below: Vec<u32> = (0..size).filter(|at| levels.height(*at) >= level).collect();
            assert_eq!(below, nodes, "{size} {u} {k}: nobody else is on {level}");
        }
    }
}

#[test]
fn listed_parts_adapt_to_shorter_and_longer_rings() {
    let parts = Parts::listed(&[3, 4, 5]).expect("lengths");
    let starts = |size| {
        let levels = Levels::new(size, Branching::FOUR, Depth::ONCE, &parts);
        (0..size).filter(|at| levels.height(*at) == 2).collect::<Vec<u32>>()
    };
    assert_eq!((starts(12), starts(20)), (Vec::from([0, 3, 7]), Vec::from([0, 3, 7])));
    assert_eq!((starts(8), starts(7), starts(1)), (Vec::from([0, 3, 7]), Vec::from([0, 3]), Vec::from([0])));
    let levels = Levels::new(12, Branching::FOUR, Depth::ONCE, &parts);
    assert_eq!([0, 3, 7].map(|at| levels.next(at, 2)), [3, 7, 0]);
}

#[test]
fn counts_the_steps_of_a_climb() {
    let levels = Levels::new(64, Branching::FOUR, depth(2), &EVEN);
    // 33 … 36 (three steps), 40, 44, 48 (three more).
    assert_eq!([0, 16, 33, 36, 63].map(|at| levels.climb(at)), [0, 0, 6, 3, 1]);
}

#[test]
fn depth_max_divides_as_often_as_possible() {
    let top = |size| Levels::new(size, Branching::FOUR, Depth::Max, &EVEN).top;
    assert_eq!([1, 4, 8, 16, 17, 64, 65].map(top), [1, 1, 2, 2, 3, 3, 4]);
    let divisions = |size| Points::new(size, Branching::FOUR, Depth::Max, None, &EVEN).depth;
    assert_eq!([1, 4, 8, 16, 17, 64, 65].map(divisions), [0, 0, 1, 1, 2, 2, 3]);
    // Even a depth that no ring has stays within the bit mask.
    assert_eq!(Levels::new(64, branching(2), depth(u32::MAX), &EVEN).top, MAX_LEVELS);
}

#[test]
fn the_tree_of_points_reaches_each_point_once() {
    for (size, u, m) in (1..90).flat_map(|n| [2, 3, 4].into_iter().flat_map(move |u| (1..5).map(move |m| (n, u, m)))) {
        let points = Points::new(size, branching(u), depth(m), None, &EVEN);
        let mut reached: Vec<u32> = points.tops().map(|point| points.position(point)).collect();
        let mut nth = 0;
        while nth < reached.len() {
            let point = points.at(reached[nth]).expect("sub-points are points");
            for below in points.below(point) {
                assert_eq!(points.above(below), Some(point), "{size} {u} {m}");
                reached.push(points.position(below));
            }
            nth += 1;
        }
        reached.sort_unstable();
        let all: Vec<u32> = (0..size).filter(|at| points.at(*at).is_some()).collect();
        assert_eq!(reached, all, "{size} {u} {m}");
        assert_eq!(points.count() as usize, all.len(), "{size} {u} {m}");
        if u64::from(size).is_multiple_of(branching(u).power(m)) {
            assert_eq!(points.tops().count(), u as usize, "{size} {u} {m}: the informer knows u points");
            assert_eq!(all.len() as u64, branching(u).power(m), "{size} {u} {m}");
        }
    }
}

#[test]
fn counts_hops_and_finds_points_on_the_way() {
    let points = Points::new(16, Branching::FOUR, Depth::ONCE, None, &EVEN);
    assert_eq!([(3, 5), (5, 3), (7, 7)].map(|(from, to)| points.hops(from, to)), [2, 14, 16]);
    let meets = [(5, 7), (4, 7), (3, 7), (5, 8), (4, 8), (1, 0), (12, 0), (7, 7)];
    let met = [false, true, true, false, true, true, true, true];
    assert_eq!(meets.map(|(from, to)| points.has_met_a_point(from, to)), met);
    assert_eq!([0, 1, 4, 13].map(|at| points.ahead(at)), [(0, 0), (3, 3), (0, 0), (3, 3)].map(Some));
    let nested = Points::new(16, Branching::FOUR, depth(2), None, &EVEN);
    assert_eq!([0, 1, 4, 13].map(|at| nested.ahead(at)), [(0, 0), (0, 3), (0, 0), (0, 3)].map(Some));
}

#[test]
fn levels_inside_parts_end_at_the_next_point() {
    let parts = Parts::listed(&[5, 7]).expect("lengths");
    let points = Points::new(12, branching(2), Depth::ONCE, Some(depth(2)), &parts);
    assert_eq!(points.levels, 3);
    let heights = [4, 1, 2, 1, 3, 4, 1, 2, 1, 3, 1, 2];
    assert_eq!(core::array::from_fn(|at| points.height(at as u32)), heights);
    assert_eq!(
        [(0, 3), (4, 3), (4, 2), (5, 3), (9, 3), (9, 2), (11, 2)].map(|(at, level)| points.next(at, level)),
        [4, 5, 5, 9, 0, 11, 0]
    );
    assert_eq!([1, 2, 3].map(|level| points.length(level)), [12, 3 + 4, 2 + 2]);
}
