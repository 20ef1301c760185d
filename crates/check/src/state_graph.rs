//! The graph of all explored states, from which properties of whole executions follow.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, PoisonError};

use ahash::AHasher;

use crate::components::strongly_connected;
use crate::meter::{LimitReached, Meter};
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
    /// The fingerprints of the successors, and the steps to them.
    pub(crate) next: Box<[(u64, Edge)]>,
}

/// A step to another state: the number of messages that it sends, and in the upper bits what coins decide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Edge(u32);

impl Edge {
    /// Set in all edges of an action with several outcomes, if coins choose among them.
    const DRAWN: u32 = 1 << 31;
    /// Set in addition in all of them but the first.
    const FURTHER: u32 = 1 << 30;
    /// Set in all of them if some outcome was not explored.
    const OPEN: u32 = 1 << 29;

    pub(crate) fn new(sent: u32) -> Self {
        // No handler sends half a billion messages.
        Edge(sent & (Edge::OPEN - 1))
    }

    /// An outcome of a draw, the first one or a further one.
    pub(crate) fn drawn(sent: u32, is_first: bool) -> Self {
        Edge(Edge::new(sent).0 | Edge::DRAWN | if is_first { 0 } else { Edge::FURTHER })
    }

    /// The number of messages sent.
    pub(crate) fn sent(self) -> u32 {
        self.0 & (Edge::OPEN - 1)
    }

    /// Whether coins choose between this edge and others.
    pub(crate) fn belongs_to_a_draw(self) -> bool {
        self.0 & Edge::DRAWN != 0
    }

    fn is_further_outcome(self) -> bool {
        self.0 & Edge::FURTHER != 0
    }

    /// Whether its action has outcomes that were not explored.
    pub(crate) fn is_open(self) -> bool {
        self.0 & Edge::OPEN != 0
    }
}

impl StateRecorder {
    pub(crate) fn record(&self, expanded: Expanded) {
        let shard = &self.shards[(expanded.fingerprint >> 60) as usize];
        shard.lock().unwrap_or_else(PoisonError::into_inner).push(expanded);
    }

    /// The number of recorded states.
    pub(crate) fn states(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).len() as u64).sum()
    }

    /// The graph of everything that was recorded. The meter ends what is done with it.
    pub(crate) fn graph(&self, first: u64, meter: Meter) -> Result<StateGraph, LimitReached> {
        let taken = |shard: &Mutex<_>| std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
        StateGraph::new(first, self.shards.iter().map(taken).collect(), meter)
    }
}

/// The explored states, as numbers, and the steps between them.
#[derive(Debug)]
pub(crate) struct StateGraph {
    fingerprints: Vec<u64>,
    labels: Vec<Labels>,
    /// The index of each state's first edge, and the end of the last state's edges.
    first_edge: Vec<usize>,
    /// Successors, and the steps to them.
    edges: Vec<(u32, Edge)>,
    /// The distance from the initial state.
    depth: Vec<u32>,
    /// Each state's predecessor on a shortest path.
    predecessor: Vec<u32>,
    /// All states in breadth-first order. States at the same distance are in the order of steps, not of fingerprints.
    bfs_order: Vec<u32>,
    /// Whether some successor was not explored.
    pub(crate) is_cut_off: bool,
    meter: Meter,
}

/// The number that stands for no state.
pub(crate) const NONE: u32 = u32::MAX;

/// The maximum number of messages that an execution sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MaxMessages {
    /// This number; some execution sends it.
    Bounded(u64),
    /// A limit was reached before it was computed.
    Unknown,
    /// There is no bound.
    Unbounded,
}

impl StateGraph {
    /// The graph of states in shards by fingerprint, in ascending order.
    pub(crate) fn new(first: u64, mut shards: Vec<Vec<Expanded>>, meter: Meter) -> Result<Self, LimitReached> {
        for shard in &mut shards {
            meter.look()?;
            // The order must not depend on which thread recorded a state.
            shard.sort_unstable_by_key(|expanded| expanded.fingerprint);
        }
        // The initial state comes first.
        let initial = shards.iter_mut().find_map(|shard| {
            let place = shard.binary_search_by_key(&first, |expanded| expanded.fingerprint).ok()?;
            Some(vec![shard.remove(place)])
        });
        shards.splice(0..0, initial);
        let all = || shards.iter().flatten();
        let size = all().count();
        let mut numbers: ByFingerprint<u32> = HashMap::with_capacity_and_hasher(size, BuildHasherDefault::default());
        for (expanded, number) in all().zip(0..) {
            meter.work()?;
            numbers.insert(expanded.fingerprint, number);
        }
        let mut graph = StateGraph {
            fingerprints: all().map(|expanded| expanded.fingerprint).collect(),
            labels: all().map(|expanded| expanded.labels).collect(),
            first_edge: Vec::with_capacity(size + 1),
            edges: Vec::with_capacity(all().map(|expanded| expanded.next.len()).sum()),
            depth: vec![NONE; size],
            predecessor: vec![NONE; size],
            bfs_order: Vec::with_capacity(size),
            // Stopped before the first state, nothing was explored.
            is_cut_off: size == 0,
            meter,
        };
        for expanded in shards.into_iter().flatten() {
            graph.meter.work()?;
            graph.first_edge.push(graph.edges.len());
            for outcomes in expanded.next.chunk_by(|_, (_, later)| later.is_further_outcome()) {
                graph.push_action(outcomes.iter().map(|&(next, edge)| (numbers.get(&next).copied(), edge)));
            }
        }
        graph.first_edge.push(graph.edges.len());
        graph.search_breadth_first()?;
        Ok(graph)
    }

    /// Adds the outcomes of an action, as far as their states were explored.
    fn push_action(&mut self, outcomes: impl Iterator<Item = (Option<u32>, Edge)>) {
        let first = self.edges.len();
        let mut is_open = false;
        for (next, edge) in outcomes {
            match next {
                Some(next) => self.edges.push((next, edge)),
                None => is_open = true,
            }
        }
        if is_open {
            self.is_cut_off = true;
            // The first outcome may be among those that are missing.
            for (place, (_, edge)) in self.edges[first..].iter_mut().enumerate() {
                let kept = if place == 0 { !Edge::FURTHER } else { u32::MAX };
                *edge = Edge(edge.0 & kept | Edge::OPEN);
            }
        }
    }

    /// Finds a shortest path to each state.
    fn search_breadth_first(&mut self) -> Result<(), LimitReached> {
        if self.fingerprints.is_empty() {
            return Ok(());
        }
        self.depth[0] = 0;
        let mut queue = VecDeque::from([0]);
        while let Some(at) = queue.pop_front() {
            self.meter.work()?;
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
        Ok(())
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

    pub(crate) fn next(&self, at: u32) -> &[(u32, Edge)] {
        &self.edges[self.first_edge[at as usize]..self.first_edge[at as usize + 1]]
    }

    /// The actions that are possible in a state, each with its outcomes.
    pub(crate) fn actions(&self, at: u32) -> impl Iterator<Item = &[(u32, Edge)]> {
        self.next(at).chunk_by(|_, (_, later)| later.is_further_outcome())
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

    /// For each state the number of its strongly connected component. Every step leads to the same component or to one
    /// with a smaller number.
    pub(crate) fn strongly_connected_components(&self) -> Result<Vec<u32>, LimitReached> {
        let next = |at: u32, place: usize| self.next(at).get(place).map(|&(next, _)| next);
        strongly_connected(self.fingerprints.len(), next, &self.meter)
    }

    /// The components that contain a cycle, as lists of states; the nearest component and state come first.
    pub(crate) fn cyclic_components(&self, components: &[u32]) -> Result<Vec<Vec<u32>>, LimitReached> {
        self.grouped(|at| {
            let here = components[at as usize];
            let is_cyclic = self.next(at).iter().any(|&(next, _)| components[next as usize] == here);
            if is_cyclic { here } else { NONE }
        })
    }

    /// The states with each number but `NONE`; the nearest group and state come first.
    pub(crate) fn grouped(&self, number_of: impl Fn(u32) -> u32) -> Result<Vec<Vec<u32>>, LimitReached> {
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for &at in &self.bfs_order {
            self.meter.work()?;
            let number = number_of(at);
            if number != NONE {
                let place = *places.entry(number).or_insert(groups.len());
                if place == groups.len() {
                    groups.push(Vec::new());
                }
                groups[place].push(at);
            }
        }
        Ok(groups)
    }

    /// Counts the work that is done with the graph.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn fingerprint(&self, at: u32) -> u64 {
        self.fingerprints[at as usize]
    }

    /// The maximum number of messages that any execution sends, and the path of an execution that sends them.
    pub(crate) fn max_messages(&self, components: &[u32]) -> Result<(MaxMessages, Vec<u64>), LimitReached> {
        self.meter.look()?;
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
                self.meter.work()?;
                for &(next, edge) in self.next(at) {
                    let sent = edge.sent();
                    if components[next as usize] == component {
                        if sent > 0 {
                            return Ok((MaxMessages::Unbounded, self.path_to(at)));
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
        Ok((MaxMessages::Bounded(max.first().copied().unwrap_or(0)), path))
    }
}

#[cfg(test)]
#[path = "state_graph_tests.rs"]
mod tests;
