//! Strongly connected components and end components of the graph of all states.
//!
//! With fair coins the graph is a Markov decision process: a scheduler chooses the actions, coins choose among the
//! outcomes of an action. An *end component* is a set of states, with some actions of each, that the scheduler can
//! stay in forever whatever the coins show: every outcome of these actions is in the set, and they connect all its
//! states. Every infinite execution ends up in one with probability 1, and visits all its states and takes all its
//! actions again and again.

use crate::meter::{LimitReached, Meter};
use crate::state_graph::{Edge, NONE, StateGraph};

/// For each state the number of its strongly connected component (Tarjan's algorithm). `next(at, i)` is the `i`th
/// successor of a state. Every step leads to the same component or to one with a smaller number.
pub(crate) fn strongly_connected(
    size: usize,
    next: impl Fn(u32, usize) -> Option<u32>,
    meter: &Meter,
) -> Result<Vec<u32>, LimitReached> {
    let (mut index, mut low, mut component) = (vec![NONE; size], vec![0u32; size], vec![NONE; size]);
    let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
    let (mut counter, mut components) = (0, 0);
    for root in 0..size as u32 {
        if index[root as usize] != NONE {
            continue;
        }
        path.push((root, 0));
        while let Some(&mut (at, ref mut taken)) = path.last_mut() {
            meter.work()?;
            let here = at as usize;
            if *taken == 0 {
                (index[here], low[here]) = (counter, counter);
                counter += 1;
                open.push(at);
            }
            if let Some(next) = next(at, *taken) {
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
    Ok(component)
}

/// The maximal end components, as lists of states; the nearest component and state come first. Without coins they are
/// the strongly connected components that contain a cycle.
pub(crate) fn end_components(graph: &StateGraph, components: &[u32]) -> Result<Vec<Vec<u32>>, LimitReached> {
    let mut number_of = vec![NONE; graph.states() as usize];
    let mut found = 0;
    let mut local = vec![NONE; graph.states() as usize];
    let mut candidates = graph.cyclic_components(components)?;
    while let Some(candidate) = candidates.pop() {
        let has_draws = |at: &u32| graph.next(*at).iter().any(|&(_, edge)| edge.belongs_to_a_draw());
        let parts = match candidate.iter().any(has_draws) {
            true => Closed::part_of(graph, candidate, &mut local)?.connected_parts(graph.meter())?,
            false => Parts::One(candidate),
        };
        match parts {
            Parts::One(component) => {
                component.iter().for_each(|&at| number_of[at as usize] = found);
                found += 1;
            }
            Parts::Several(parts) => candidates.extend(parts),
        }
    }
    graph.grouped(|at| number_of[at as usize])
}

/// The connected parts of a set of states.
enum Parts {
    /// The set is connected: an end component.
    One(Vec<u32>),
    /// It is not; these are those of its parts that contain a cycle.
    Several(Vec<Vec<u32>>),
}

/// The greatest part of a set of states in which every state has an action that stays inside, whatever its outcome.
struct Closed {
    states: Vec<u32>,
    /// For each state the outcomes of these actions, as indices into `states`.
    next: Vec<Vec<u32>>,
}

impl Closed {
    /// `local` maps states to indices; it contains only `NONE`, before and after.
    fn part_of(graph: &StateGraph, mut states: Vec<u32>, local: &mut [u32]) -> Result<Closed, LimitReached> {
        let is_inside = |local: &[u32], &(next, edge): &(u32, Edge)| !edge.is_open() && local[next as usize] != NONE;
        states.iter().for_each(|&at| local[at as usize] = 0);
        loop {
            let before = states.len();
            // The farthest state first: removing it may remove those before it in the same sweep.
            for &at in states.iter().rev() {
                graph.meter().work()?;
                let stays = graph.actions(at).any(|outcomes| outcomes.iter().all(|edge| is_inside(local, edge)));
                if !stays {
                    local[at as usize] = NONE;
                }
            }
            states.retain(|&at| local[at as usize] != NONE);
            if states.len() == before {
                break;
            }
        }
        (0..).zip(&states).for_each(|(index, &at)| local[at as usize] = index);
        let inside = |&at: &u32| {
            let closed = graph.actions(at).filter(|outcomes| outcomes.iter().all(|edge| is_inside(local, edge)));
            closed.flatten().map(|&(next, _)| local[next as usize]).collect()
        };
        let next = states.iter().map(inside).collect();
        states.iter().for_each(|&at| local[at as usize] = NONE);
        Ok(Closed { states, next })
    }

    fn connected_parts(self, meter: &Meter) -> Result<Parts, LimitReached> {
        let next = |at: u32, place: usize| self.next[at as usize].get(place).copied();
        let part_of = strongly_connected(self.states.len(), next, meter)?;
        if !self.states.is_empty() && part_of.iter().all(|&part| part == 0) {
            return Ok(Parts::One(self.states));
        }
        let mut parts = vec![Vec::new(); part_of.iter().max().map_or(0, |&max| max as usize + 1)];
        for ((&at, &part), next) in self.states.iter().zip(&part_of).zip(&self.next) {
            if next.iter().any(|&next| part_of[next as usize] == part) {
                parts[part as usize].push(at);
            }
        }
        parts.retain(|part| !part.is_empty());
        Ok(Parts::Several(parts))
    }
}

#[cfg(test)]
#[path = "components_tests.rs"]
mod tests;
