//! The graph of all worlds, as far as it was explored: what can be said of whole executions.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::{Mutex, PoisonError};

use ahash::AHasher;

use crate::property::Marks;

type ByFingerprint<T> = HashMap<u64, T, BuildHasherDefault<AHasher>>;

/// Inputs down worlds and what follows them while they are explored, by any number of threads.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    shards: [Mutex<Vec<Expanded>>; 16],
}

/// A world that was explored.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) fingerprint: u64,
    pub(crate) marks: Marks,
    /// What follows: the world, and how many messages are sent on the way.
    pub(crate) next: Box<[(u64, u32)]>,
}

impl Recorder {
    pub(crate) fn note(&self, expanded: Expanded) {
        let shard = &self.shards[(expanded.fingerprint >> 60) as usize];
        shard.lock().unwrap_or_else(PoisonError::into_inner).push(expanded);
    }

    /// The graph of everything that was noted.
    pub(crate) fn graph(&self, first: u64) -> Graph {
        let all = self
            .shards
            .iter()
            .flat_map(|shard| std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner)));
        Graph::new(first, all.collect())
    }
}

/// The worlds that were explored, as numbers, and what follows them.
#[derive(Debug)]
pub(crate) struct Graph {
    fingerprints: Vec<u64>,
    marks: Vec<Marks>,
    /// Where the successors of each world begin, and the end of the last.
    first_edge: Vec<usize>,
    edges: Vec<(u32, u32)>,
    /// Distance from the first world.
    depth: Vec<u32>,
    /// The world before each one on a shortest way.
    before: Vec<u32>,
    /// All of them, the nearest first; of those that are equally near, in the order of steps, not of fingerprints.
    visited: Vec<u32>,
    /// Whether some world that follows another was not explored.
    pub(crate) is_cut_off: bool,
}

/// No world.
const NONE: u32 = u32::MAX;

/// How many messages the executions of a graph send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Most {
    /// At most so many, and one execution does.
    Messages(u64),
    /// There is no bound.
    Unbounded,
}

impl Graph {
    fn new(first: u64, mut all: Vec<Expanded>) -> Self {
        // The order must not depend on which thread noted what; the first world comes first.
        all.sort_unstable_by_key(|expanded| (expanded.fingerprint != first, expanded.fingerprint));
        let mut numbers: ByFingerprint<u32> =
            HashMap::with_capacity_and_hasher(all.len(), BuildHasherDefault::default());
        numbers.extend(all.iter().map(|expanded| expanded.fingerprint).zip(0..));
        let mut graph = Graph {
            fingerprints: all.iter().map(|expanded| expanded.fingerprint).collect(),
            marks: all.iter().map(|expanded| expanded.marks).collect(),
            first_edge: Vec::with_capacity(all.len() + 1),
            edges: Vec::with_capacity(all.iter().map(|expanded| expanded.next.len()).sum()),
            depth: vec![NONE; all.len()],
            before: vec![NONE; all.len()],
            visited: Vec::with_capacity(all.len()),
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
        graph.measure();
        graph
    }

    /// Finds the shortest way to each world.
    fn measure(&mut self) {
        if self.fingerprints.is_empty() {
            return;
        }
        self.depth[0] = 0;
        let mut queue = VecDeque::from([0]);
        while let Some(at) = queue.pop_front() {
            self.visited.push(at);
            for edge in self.first_edge[at as usize]..self.first_edge[at as usize + 1] {
                let next = self.edges[edge].0;
                if self.depth[next as usize] == NONE {
                    self.depth[next as usize] = self.depth[at as usize] + 1;
                    self.before[next as usize] = at;
                    queue.push_back(next);
                }
            }
        }
    }

    /// How many worlds there are.
    pub(crate) fn worlds(&self) -> u64 {
        self.fingerprints.len() as u64
    }

    /// How many steps there are between them.
    pub(crate) fn steps(&self) -> u64 {
        self.edges.len() as u64
    }

    /// How far from the first world the farthest is.
    pub(crate) fn depth(&self) -> u32 {
        self.depth.iter().copied().filter(|&depth| depth != NONE).max().unwrap_or(0)
    }

    fn next(&self, at: u32) -> &[(u32, u32)] {
        &self.edges[self.first_edge[at as usize]..self.first_edge[at as usize + 1]]
    }

    pub(crate) fn marks(&self, at: u32) -> Marks {
        self.marks[at as usize]
    }

    fn all(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.fingerprints.len() as u32
    }

    /// Whether any world has the mark.
    pub(crate) fn is_any(&self, mark: Marks) -> bool {
        self.marks.iter().any(|marks| marks.has(mark))
    }

    /// The nearest world that is as wished.
    pub(crate) fn nearest(&self, is_wished: impl Fn(u32) -> bool) -> Option<u32> {
        self.visited.iter().copied().find(|&at| is_wished(at))
    }

    /// The shortest way to a world: the fingerprints of the worlds on it, the first and itself included.
    pub(crate) fn way_to(&self, at: u32) -> Vec<u64> {
        let mut way = Vec::new();
        let mut at = at;
        while at != NONE {
            way.push(self.fingerprints[at as usize]);
            at = self.before[at as usize];
        }
        way.reverse();
        way
    }

    /// How many worlds have the mark.
    pub(crate) fn count(&self, mark: Marks) -> u64 {
        self.marks.iter().filter(|marks| marks.has(mark)).count() as u64
    }

    pub(crate) fn depth_of(&self, at: u32) -> u32 {
        self.depth[at as usize]
    }

    /// The worlds from which one with the mark, or one of these, can be reached.
    pub(crate) fn can_reach(&self, mark: Marks, others: &[u32]) -> Vec<bool> {
        let (first, before) = self.backwards();
        let mut can: Vec<bool> = self.marks.iter().map(|marks| marks.has(mark)).collect();
        others.iter().for_each(|&at| can[at as usize] = true);
        let mut rest: Vec<u32> = self.all().filter(|&at| can[at as usize]).collect();
        while let Some(at) = rest.pop() {
            for &earlier in &before[first[at as usize]..first[at as usize + 1]] {
                if !std::mem::replace(&mut can[earlier as usize], true) {
                    rest.push(earlier);
                }
            }
        }
        can
    }

    /// The worlds before each world: where they begin in the list, and the list.
    fn backwards(&self) -> (Vec<usize>, Vec<u32>) {
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

    /// The knots: for each world the number of the strongly connected part that it belongs to. Every step leads to the
    /// same part or to one with a smaller number.
    pub(crate) fn knots(&self) -> Vec<u32> {
        let size = self.fingerprints.len();
        let (mut index, mut low, mut knot) = (vec![NONE; size], vec![0u32; size], vec![NONE; size]);
        let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
        let (mut counter, mut knots) = (0, 0);
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
                    } else if knot[there] == NONE {
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
                        knot[member as usize] = knots;
                        if member == at {
                            break;
                        }
                    }
                    knots += 1;
                }
            }
        }
        knot
    }

    /// The worlds of knots in which an execution can go round for ever, by knot; the nearest knot and world first.
    pub(crate) fn loops(&self, knots: &[u32]) -> Vec<Vec<u32>> {
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut loops: Vec<Vec<u32>> = Vec::new();
        for &at in &self.visited {
            let here = knots[at as usize];
            if self.next(at).iter().any(|&(next, _)| knots[next as usize] == here) {
                let place = *places.entry(here).or_insert(loops.len());
                if place == loops.len() {
                    loops.push(Vec::new());
                }
                loops[place].push(at);
            }
        }
        loops
    }

    pub(crate) fn fingerprint(&self, at: u32) -> u64 {
        self.fingerprints[at as usize]
    }

    /// Whether a knot can be left.
    pub(crate) fn can_leave(&self, knot: &[u32], knots: &[u32]) -> bool {
        knot.iter().any(|&at| self.next(at).iter().any(|&(next, _)| knots[next as usize] != knots[at as usize]))
    }

    /// The most messages that any execution sends, and the way of one that does.
    pub(crate) fn most_messages(&self, knots: &[u32]) -> (Most, Vec<u64>) {
        let mut order: Vec<u32> = self.all().collect();
        order.sort_unstable_by_key(|&at| knots[at as usize]);
        // From each world on; successors come first. Within a knot nothing may be sent, so all its worlds are alike.
        let mut most = vec![0u64; self.fingerprints.len()];
        let mut then = vec![NONE; self.fingerprints.len()];
        let mut place = 0;
        while place < order.len() {
            let knot = knots[order[place] as usize];
            let end = place + order[place..].iter().take_while(|&&at| knots[at as usize] == knot).count();
            let members = &order[place..end];
            let mut best = (0, NONE, NONE);
            for &at in members {
                for &(next, sent) in self.next(at) {
                    if knots[next as usize] == knot {
                        if sent > 0 {
                            return (Most::Unbounded, self.way_to(at));
                        }
                        continue;
                    }
                    let total = most[next as usize] + u64::from(sent);
                    if best.1 == NONE || total > best.0 {
                        best = (total, at, next);
                    }
                }
            }
            for &at in members {
                most[at as usize] = best.0;
            }
            if best.1 != NONE {
                then[best.1 as usize] = best.2;
            }
            place = end;
        }
        let mut way = Vec::new();
        let mut at = if self.fingerprints.is_empty() { NONE } else { 0 };
        while at != NONE {
            way.push(self.fingerprints[at as usize]);
            at = then[at as usize];
        }
        (Most::Messages(most.first().copied().unwrap_or(0)), way)
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
