//! The graph of all explored states, from which properties of whole executions follow.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, PoisonError};

use ahash::AHasher;

use crate::property::Labels;

type ByFingerprint<T> = HashMap<u64, T, BuildHasherDefault<AHasher>>;

/// Records states and their successors while any number of threads explore them.
#[derive(Debug, Default)]
pub(crate) struct StateRecorder {
    shards: [Mutex<Vec<Expanded>>; 16],
}

/// A state with its successors.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) fingerprint: u64,
    pub(crate) labels: Labels,
    /// The successors, and the number of messages sent on the way to them.
    pub(crate) next: Box<[(u64, u32)]>,
}

impl StateRecorder {
    pub(crate) fn record(&self, expanded: Expanded) {
        let shard = &self.shards[(expanded.fingerprint >> 60) as usize];
        shard.lock().unwrap_or_else(PoisonError::into_inner).push(expanded);
    }

    /// The graph of everything that was recorded.
    pub(crate) fn graph(&self, first: u64) -> StateGraph {
        let all = self
            .shards
            .iter()
            .flat_map(|shard| std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner)));
        StateGraph::new(first, all.collect())
    }
}

/// The explored states, as numbers, and the steps between them.
#[derive(Debug)]
pub(crate) struct StateGraph {
    fingerprints: Vec<u64>,
    labels: Vec<Labels>,
    /// The index of each state's first edge, and the end of the last state's edges.
    first_edge: Vec<usize>,
    /// Successors, with the number of messages sent.
    edges: Vec<(u32, u32)>,
    /// The distance from the initial state.
    depth: Vec<u32>,
    /// Each state's predecessor on a shortest path.
    predecessor: Vec<u32>,
    /// All states in breadth-first order. States at the same distance are in the order of steps, not of fingerprints.
    bfs_order: Vec<u32>,
    /// Whether some successor was not explored.
    pub(crate) is_cut_off: bool,
}

/// The number that stands for no state.
const NONE: u32 = u32::MAX;

/// The maximum number of messages that an execution sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MaxMessages {
    /// This number; some execution sends it.
    Bounded(u64),
    /// There is no bound.
    Unbounded,
}

impl StateGraph {
    fn new(first: u64, mut all: Vec<Expanded>) -> Self {
        // The order must not depend on which thread recorded a state. The initial state comes first.
        all.sort_unstable_by_key(|expanded| (expanded.fingerprint != first, expanded.fingerprint));
        let mut numbers: ByFingerprint<u32> =
            HashMap::with_capacity_and_hasher(all.len(), BuildHasherDefault::default());
        numbers.extend(all.iter().map(|expanded| expanded.fingerprint).zip(0..));
        let mut graph = StateGraph {
            fingerprints: all.iter().map(|expanded| expanded.fingerprint).collect(),
            labels: all.iter().map(|expanded| expanded.labels).collect(),
            first_edge: Vec::with_capacity(all.len() + 1),
            edges: Vec::with_capacity(all.iter().map(|expanded| expanded.next.len()).sum()),
            depth: vec![NONE; all.len()],
            predecessor: vec![NONE; all.len()],
            bfs_order: Vec::with_capacity(all.len()),
            is_cut_off: false,
        };
        for expanded in all {
            graph.first_edge.push(graph.edges.len());
            for (next, sent) in expanded.next {
                match numbers.get(&next) {
                    Some(&next) => graph.edges.push((next, sent)),
                    None => graph.is_cut_off = true,
                }
            }
        }
        graph.first_edge.push(graph.edges.len());
        graph.search_breadth_first();
        graph
    }

    /// Finds a shortest path to each state.
    fn search_breadth_first(&mut self) {
        if self.fingerprints.is_empty() {
            return;
        }
        self.depth[0] = 0;
        let mut queue = VecDeque::from([0]);
        while let Some(at) = queue.pop_front() {
            self.bfs_order.push(at);
            for edge in self.first_edge[at as usize]..self.first_edge[at as usize + 1] {
                let next = self.edges[edge].0;
                if self.depth[next as usize] == NONE {
                    self.depth[next as usize] = self.depth[at as usize] + 1;
                    self.predecessor[next as usize] = at;
                    queue.push_back(next);
                }
            }
        }
    }

    /// The number of states.
    pub(crate) fn states(&self) -> u64 {
        self.fingerprints.len() as u64
    }

    /// The number of steps between them.
    pub(crate) fn transitions(&self) -> u64 {
        self.edges.len() as u64
    }

    /// The distance of the farthest state.
    pub(crate) fn depth(&self) -> u32 {
        self.depth.iter().copied().filter(|&depth| depth != NONE).max().unwrap_or(0)
    }

    fn next(&self, at: u32) -> &[(u32, u32)] {
        &self.edges[self.first_edge[at as usize]..self.first_edge[at as usize + 1]]
    }

    pub(crate) fn labels(&self, at: u32) -> Labels {
        self.labels[at as usize]
    }

    fn all(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.fingerprints.len() as u32
    }

    /// Whether any state has the label.
    pub(crate) fn any(&self, label: Labels) -> bool {
        self.labels.iter().any(|labels| labels.has(label))
    }

    /// The nearest matching state.
    pub(crate) fn nearest(&self, matches: impl Fn(u32) -> bool) -> Option<u32> {
        self.bfs_order.iter().copied().find(|&at| matches(at))
    }

    /// A shortest path to a state: the fingerprints of all states on it, including both ends.
    pub(crate) fn path_to(&self, at: u32) -> Vec<u64> {
        let mut path = Vec::new();
        let mut at = at;
        while at != NONE {
            path.push(self.fingerprints[at as usize]);
            at = self.predecessor[at as usize];
        }
        path.reverse();
        path
    }

    /// The number of states with the label.
    pub(crate) fn count(&self, label: Labels) -> u64 {
        self.labels.iter().filter(|labels| labels.has(label)).count() as u64
    }

    pub(crate) fn depth_of(&self, at: u32) -> u32 {
        self.depth[at as usize]
    }

    /// For each state, whether a state with the label or one of `others` is reachable from it.
    pub(crate) fn can_reach(&self, label: Labels, others: &[u32]) -> Vec<bool> {
        let (first, before) = self.reverse_edges();
        let mut can: Vec<bool> = self.labels.iter().map(|labels| labels.has(label)).collect();
        others.iter().for_each(|&at| can[at as usize] = true);
        let mut open: Vec<u32> = self.all().filter(|&at| can[at as usize]).collect();
        while let Some(at) = open.pop() {
            for &earlier in &before[first[at as usize]..first[at as usize + 1]] {
                if !std::mem::replace(&mut can[earlier as usize], true) {
                    open.push(earlier);
                }
            }
        }
        can
    }

    /// The predecessors of each state: the index of the first one, and the list of all.
    fn reverse_edges(&self) -> (Vec<usize>, Vec<u32>) {
        let mut first = vec![0; self.fingerprints.len() + 1];
        self.edges.iter().for_each(|&(next, _)| first[next as usize + 1] += 1);
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let (mut free, mut before) = (first.clone(), vec![0; self.edges.len()]);
        for at in self.all() {
            for &(next, _) in self.next(at) {
                before[free[next as usize]] = at;
                free[next as usize] += 1;
            }
        }
        (first, before)
    }

    /// For each state the number of its strongly connected component (Tarjan's algorithm). Every step leads to the same
    /// component or to one with a smaller number.
    pub(crate) fn strongly_connected_components(&self) -> Vec<u32> {
        let size = self.fingerprints.len();
        let (mut index, mut low, mut component) = (vec![NONE; size], vec![0u32; size], vec![NONE; size]);
        let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
        let (mut counter, mut components) = (0, 0);
        for root in self.all() {
            if index[root as usize] != NONE {
                continue;
            }
            path.push((root, 0));
            while let Some(&mut (at, ref mut taken)) = path.last_mut() {
                let here = at as usize;
                if *taken == 0 {
                    (index[here], low[here]) = (counter, counter);
                    counter += 1;
                    open.push(at);
                }
                if let Some(&(next, _)) = self.next(at).get(*taken) {
                    *taken += 1;
                    let there = next as usize;
                    if index[there] == NONE {
                        path.push((next, 0));
                    } else if component[there] == NONE {
                        low[here] = low[here].min(index[there]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(above, _)) = path.last() {
                    low[above as usize] = low[above as usize].min(low[here]);
                }
                if low[here] == index[here] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = components;
                        if member == at {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component
    }

    /// The components that contain a cycle, as lists of states; the nearest component and state come first.
    pub(crate) fn cyclic_components(&self, components: &[u32]) -> Vec<Vec<u32>> {
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut cyclic_components: Vec<Vec<u32>> = Vec::new();
        for &at in &self.bfs_order {
            let here = components[at as usize];
            if self.next(at).iter().any(|&(next, _)| components[next as usize] == here) {
                let place = *places.entry(here).or_insert(cyclic_components.len());
                if place == cyclic_components.len() {
                    cyclic_components.push(Vec::new());
                }
                cyclic_components[place].push(at);
            }
        }
        cyclic_components
    }

    pub(crate) fn fingerprint(&self, at: u32) -> u64 {
        self.fingerprints[at as usize]
    }

    /// The maximum number of messages that any execution sends, and the path of an execution that sends them.
    pub(crate) fn max_messages(&self, components: &[u32]) -> (MaxMessages, Vec<u64>) {
        let mut order: Vec<u32> = self.all().collect();
        order.sort_unstable_by_key(|&at| components[at as usize]);
        // The maximum from each state on, successors first. No step inside a component may send a message, so all its
        // states have the same maximum.
        let mut max = vec![0u64; self.fingerprints.len()];
        let mut successor = vec![NONE; self.fingerprints.len()];
        let mut place = 0;
        while place < order.len() {
            let component = components[order[place] as usize];
            let end = place + order[place..].iter().take_while(|&&at| components[at as usize] == component).count();
            let members = &order[place..end];
            let mut best = (0, NONE, NONE);
            for &at in members {
                for &(next, sent) in self.next(at) {
                    if components[next as usize] == component {
                        if sent > 0 {
                            return (MaxMessages::Unbounded, self.path_to(at));
                        }
                        continue;
                    }
                    let total = max[next as usize] + u64::from(sent);
                    if best.1 == NONE || total > best.0 {
                        best = (total, at, next);
                    }
                }
            }
            for &at in members {
                max[at as usize] = best.0;
            }
            if best.1 != NONE {
                successor[best.1 as usize] = best.2;
            }
            place = end;
        }
        let mut path = Vec::new();
        let mut at = if self.fingerprints.is_empty() { NONE } else { 0 };
        while at != NONE {
            path.push(self.fingerprints[at as usize]);
            at = successor[at as usize];
        }
        (MaxMessages::Bounded(max.first().copied().unwrap_or(0)), path)
    }
}

#[cfg(test)]
#[path = "state_graph_tests.rs"]
mod tests;
