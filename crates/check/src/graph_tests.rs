//! Graphs that are made by hand.

use super::*;

/// What is the case in a world, and what follows it, with the messages that are sent.
type Drawn<'a> = (Marks, &'a [(u64, u32)]);

/// A graph from its worlds; the first comes first.
fn graph(worlds: &[Drawn<'_>]) -> Graph {
    let expanded =
        |(at, (marks, next)): (u64, &Drawn<'_>)| Expanded { fingerprint: at, marks: *marks, next: (*next).into() };
    Graph::new(0, (0..).zip(worlds).map(expanded).collect())
}

const PLAIN: Marks = Marks::END;

/// A way of three that branches, a loop of two behind one branch, and an end behind the other.
fn forked() -> Graph {
    graph(&[
        (PLAIN, &[(1, 1), (4, 5)]),
        (PLAIN, &[(2, 0)]),
        (PLAIN, &[(3, 0)]),
        (PLAIN, &[(2, 0)]),
        (Marks::GOOD_END, &[]),
    ])
}

#[test]
fn what_goes_round_is_one_knot_and_what_follows_has_a_smaller_number() {
    let graph = forked();
    let knots = graph.knots();
    assert_eq!(knots[2], knots[3]);
    assert_eq!(knots.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    for at in graph.all() {
        assert!(graph.next(at).iter().all(|&(next, _)| knots[next as usize] <= knots[at as usize]));
    }
    assert_eq!(graph.loops(&knots), [vec![2, 3]]);
    assert!(!graph.can_leave(&[2, 3], &knots));
    assert!(graph.can_leave(&[0], &knots));
}

#[test]
fn one_world_is_a_loop_only_if_it_follows_itself() {
    let graph = graph(&[(PLAIN, &[(1, 0)]), (PLAIN, &[(1, 0), (2, 0)]), (PLAIN, &[])]);
    let knots = graph.knots();
    assert_eq!(graph.loops(&knots), [vec![1]]);
    assert!(graph.can_leave(&[1], &knots));
}

#[test]
fn the_longest_way_is_counted_in_messages_not_in_steps() {
    let graph = forked();
    let (most, way) = graph.most_messages(&graph.knots());
    assert_eq!((most, way), (Most::Messages(5), vec![0, 4]));
    // Round the loop nothing is sent, so it does not matter how often.
    assert_eq!(graph.depth(), 3);
}

#[test]
fn a_loop_in_which_something_is_sent_has_no_bound() {
    let graph = graph(&[(PLAIN, &[(1, 0)]), (PLAIN, &[(2, 0)]), (PLAIN, &[(1, 1)])]);
    let (most, way) = graph.most_messages(&graph.knots());
    assert_eq!(most, Most::Unbounded);
    assert_eq!(way.first(), Some(&0));
}

#[test]
fn an_end_can_be_reached_from_before_it_and_not_from_a_loop_beside_it() {
    let graph = forked();
    assert_eq!(graph.can_reach(Marks::GOOD_END, &[]), [true, false, false, false, true]);
    assert_eq!(graph.can_reach(Marks::GOOD_END, &[3]), [true; 5]);
    assert_eq!(graph.can_reach(Marks::BUSY, &[]), [false; 5]);
}

#[test]
fn the_nearest_world_is_found_with_the_shortest_way_to_it() {
    let far_and_near: &[(Marks, &[(u64, u32)])] = &[
        (PLAIN, &[(1, 0), (2, 0)]),
        (PLAIN, &[(3, 0)]),
        (PLAIN, &[(4, 0)]),
        (PLAIN, &[(4, 0)]),
        (Marks::FICKLE, &[(5, 0)]),
        (Marks::FICKLE, &[]),
    ];
    let graph = graph(far_and_near);
    let nearest = graph.nearest(|at| graph.marks(at).has(Marks::FICKLE));
    assert_eq!(nearest.map(|at| graph.way_to(at)), Some(vec![0, 2, 4]));
    assert_eq!(graph.nearest(|at| graph.marks(at).has(Marks::BUSY)), None);
    assert_eq!((graph.worlds(), graph.steps(), graph.count(Marks::FICKLE)), (6, 6, 2));
}

#[test]
fn a_step_to_a_world_that_was_not_explored_cuts_the_graph_off() {
    assert!(graph(&[(PLAIN, &[(1, 0)])]).is_cut_off);
    assert!(!graph(&[(PLAIN, &[])]).is_cut_off);
    assert_eq!(Graph::new(0, Vec::new()).worlds(), 0);
}

/// The order in which threads note things down does not matter.
#[test]
fn the_graph_is_the_same_whatever_was_noted_first() {
    let noted = |order: &[u64]| {
        let recorder = Recorder::default();
        for &at in order {
            let next: Box<[(u64, u32)]> = if at == 7 { Box::new([(1 << 60, 1), (9, 2)]) } else { Box::new([]) };
            recorder.note(Expanded { fingerprint: at, marks: PLAIN, next });
        }
        let graph = recorder.graph(7);
        (graph.fingerprints.clone(), graph.edges.clone(), graph.is_cut_off)
    };
    assert_eq!(noted(&[7, 9, 1 << 60]), noted(&[1 << 60, 9, 7]));
    assert_eq!(noted(&[7, 9, 1 << 60]).0, [7, 9, 1 << 60]);
}
