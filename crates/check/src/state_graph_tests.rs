//! Tests on small graphs.

use super::*;

const ENDLESS: &str = "there is no limit";

/// The labels of a state, and its successors with the messages sent.
type Drawn<'a> = (Labels, &'a [(u64, u32)]);

fn edges(next: &[(u64, u32)]) -> Box<[(u64, Edge)]> {
    next.iter().map(|&(next, sent)| (next, Edge::new(sent))).collect()
}

/// A graph from its states, the initial one first.
fn graph(states: &[Drawn<'_>]) -> StateGraph {
    let expanded =
        |(at, (labels, next)): (u64, &Drawn<'_>)| Expanded { fingerprint: at, labels: *labels, next: edges(next) };
    StateGraph::new(0, vec![(0..).zip(states).map(expanded).collect()], Meter::new(|| false)).expect(ENDLESS)
}

const PLAIN: Labels = Labels::TERMINAL;

/// A fork: one branch leads to a cycle of two states, the other one to a terminal state.
fn forked() -> StateGraph {
    graph(&[
        (PLAIN, &[(1, 1), (4, 5)]),
        (PLAIN, &[(2, 0)]),
        (PLAIN, &[(3, 0)]),
        (PLAIN, &[(2, 0)]),
        (Labels::TERMINAL_AGREEMENT, &[]),
    ])
}

#[test]
fn a_cycle_is_one_component_and_successors_have_smaller_numbers() {
    let graph = forked();
    let components = graph.strongly_connected_components().expect(ENDLESS);
    assert_eq!(components[2], components[3]);
    assert_eq!(components.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    for at in graph.all() {
        assert!(graph.next(at).iter().all(|&(next, _)| components[next as usize] <= components[at as usize]));
    }
    assert_eq!(graph.cyclic_components(&components).expect(ENDLESS), [vec![2, 3]]);
}

#[test]
fn a_single_state_is_cyclic_only_if_it_is_its_own_successor() {
    let graph = graph(&[(PLAIN, &[(1, 0)]), (PLAIN, &[(1, 0), (2, 0)]), (PLAIN, &[])]);
    let components = graph.strongly_connected_components().expect(ENDLESS);
    assert_eq!(graph.cyclic_components(&components).expect(ENDLESS), [vec![1]]);
}

#[test]
fn the_maximum_counts_messages_and_not_steps() {
    let graph = forked();
    let (most, path) = graph.max_messages(&graph.strongly_connected_components().expect(ENDLESS)).expect(ENDLESS);
    assert_eq!((most, path), (MaxMessages::Bounded(5), vec![0, 4]));
    // No message is sent on the cycle, so the number of laps does not matter.
    assert_eq!(graph.depth(), 3);
}

#[test]
fn a_cycle_that_sends_messages_is_unbounded() {
    let graph = graph(&[(PLAIN, &[(1, 0)]), (PLAIN, &[(2, 0)]), (PLAIN, &[(1, 1)])]);
    let (most, path) = graph.max_messages(&graph.strongly_connected_components().expect(ENDLESS)).expect(ENDLESS);
    assert_eq!(most, MaxMessages::Unbounded);
    assert_eq!(path.first(), Some(&0));
}

#[test]
fn finds_the_nearest_state_and_a_shortest_path_to_it() {
    let far_and_near: &[(Labels, &[(u64, u32)])] = &[
        (PLAIN, &[(1, 0), (2, 0)]),
        (PLAIN, &[(3, 0)]),
        (PLAIN, &[(4, 0)]),
        (PLAIN, &[(4, 0)]),
        (Labels::LEADER_CHANGED, &[(5, 0)]),
        (Labels::LEADER_CHANGED, &[]),
    ];
    let graph = graph(far_and_near);
    let nearest = graph.nearest(|at| graph.labels(at).has(Labels::LEADER_CHANGED));
    assert_eq!(nearest.map(|at| graph.path_to(at)), Some(vec![0, 2, 4]));
    assert_eq!(graph.nearest(|at| graph.labels(at).has(Labels::ELECTING)), None);
    assert_eq!((graph.states(), graph.transitions(), graph.count(Labels::LEADER_CHANGED)), (6, 6, 2));
}

#[test]
fn an_unexplored_successor_makes_the_graph_incomplete() {
    assert!(graph(&[(PLAIN, &[(1, 0)])]).is_cut_off);
    assert!(!graph(&[(PLAIN, &[])]).is_cut_off);
    assert_eq!(graph(&[]).states(), 0);
}

#[test]
fn the_graph_does_not_depend_on_the_order_of_recording() {
    let recorded = |order: &[u64]| {
        let recorder = StateRecorder::default();
        for &at in order {
            let next: &[(u64, u32)] = if at == 7 { &[(1 << 60, 1), (9, 2)] } else { &[] };
            recorder.record(Expanded { fingerprint: at, labels: PLAIN, next: edges(next) });
        }
        let graph = recorder.graph(7, Meter::new(|| false)).expect(ENDLESS);
        (graph.fingerprints.clone(), graph.edges.clone(), graph.is_cut_off)
    };
    assert_eq!(recorded(&[7, 9, 1 << 60]), recorded(&[1 << 60, 9, 7]));
    assert_eq!(recorded(&[7, 9, 1 << 60]).0, [7, 9, 1 << 60]);
}
