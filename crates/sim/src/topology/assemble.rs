//! From a generator's links to a flat graph.
//!
//! A graph of ten million nodes does not fit in any cache, and a write to a random place costs more than making the
//! link that is written. So the ends at which links arrive are first dealt out to blocks of positions small enough for
//! the cache, then each block is filled on its own. All steps but the first work in the memory that the graph itself
//! will take; what is needed beyond it is 4 bytes a node.

use std::ops::Range;

use super::{BuildError, Generator, MAX_LINKS};

/// A block has 2 to the power of this many positions.
const BLOCK_BITS: u32 = 16;

/// The three lists of a graph.
pub(super) struct Lists {
    pub(super) first: Vec<u32>,
    pub(super) neighbours: Vec<u32>,
    pub(super) reverse: Vec<u32>,
}

/// The links of a range of positions.
struct Part {
    /// Where each link leads, by the position it starts from.
    targets: Vec<u32>,
    /// How many links lead into each block.
    into_block: Vec<u32>,
    links: u64,
    error: Option<BuildError>,
}

impl Part {
    fn checked(self) -> Result<Self, BuildError> {
        match self.error {
            _ if self.links > MAX_LINKS => Err(BuildError::TooMany { links: self.links, max: MAX_LINKS }),
            Some(error) => Err(error),
            None => Ok(self),
        }
    }
}

fn blocks(size: u32) -> usize {
    (size >> BLOCK_BITS) as usize + 1
}

/// The lists of the graph that a generator makes, with up to `threads` threads.
pub(super) fn assemble(generator: &dyn Generator, threads: usize) -> Result<Lists, BuildError> {
    // How many links start from each position.
    let mut starting = vec![0u32; generator.size() as usize];
    let mut whole = collect(generator, threads, &mut starting)?;
    let mut arrivals = deal_out(&starting, &whole);
    let links = whole.targets.len();
    whole.targets.resize(2 * links, 0);
    let mut neighbours = whole.targets;
    neighbours.copy_within(..links, links);
    let first = fill(&starting, &whole.into_block, &arrivals, &mut neighbours)?;
    // Senders ascend, so each receiver's slots fill in order: one pass finds every link's other direction.
    let mut next = starting;
    next.clone_from_slice(&first[..first.len() - 1]);
    for (reverse, &other) in arrivals.iter_mut().zip(&neighbours) {
        *reverse = next[other as usize];
        next[other as usize] += 1;
    }
    Ok(Lists { first, neighbours, reverse: arrivals })
}

/// All links, each thread making those of a range of its own.
fn collect(generator: &dyn Generator, threads: usize, starting: &mut [u32]) -> Result<Part, BuildError> {
    let size = generator.size();
    let share = size.div_ceil(threads.max(1) as u32).max(1 << BLOCK_BITS);
    if share >= size {
        return collect_part(generator, 0..size, starting).checked();
    }
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let shares = starting.chunks_mut(share as usize).zip((0..size).step_by(share as usize));
        let workers: Vec<_> = shares
            .map(|(starting, start)| {
                let own = start..start + starting.len() as u32;
                scope.spawn(move || collect_part(generator, own, starting))
            })
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let mut whole = Part { targets: Vec::new(), into_block: vec![0; blocks(size)], links: 0, error: None };
    for part in parts {
        whole.links += part.links;
        whole.error = whole.error.or(part.error);
        if whole.links <= MAX_LINKS {
            whole.targets.extend_from_slice(&part.targets);
        }
        whole.into_block.iter_mut().zip(part.into_block).for_each(|(sum, more)| *sum += more);
    }
    whole.checked()
}

fn collect_part(generator: &dyn Generator, own: Range<u32>, starting: &mut [u32]) -> Part {
    let size = generator.size();
    let mut part = Part { targets: Vec::new(), into_block: vec![0; blocks(size)], links: 0, error: None };
    let mut last = own.start;
    generator.links(own.clone(), &mut |from, to| {
        assert!(last <= from && from < own.end, "link {from}–{to} comes after {last} in {own:?}: a broken generator");
        last = from;
        part.links += 1;
        if from == to {
            part.error.get_or_insert(BuildError::Loop { at: from.into() });
        } else if to >= size {
            part.error.get_or_insert(BuildError::Beyond { from: from.into(), to: to.into(), last: (size - 1).into() });
        } else if part.links <= MAX_LINKS {
            starting[(from - own.start) as usize] += 1;
            part.into_block[(to >> BLOCK_BITS) as usize] += 1;
            part.targets.push(to);
        }
    });
    part
}

/// All links as pairs (to, from), those into one block together and otherwise in order.
fn deal_out(starting: &[u32], whole: &Part) -> Vec<u32> {
    let mut pairs = vec![0u32; 2 * whole.targets.len()];
    let mut next: Vec<usize> = Vec::with_capacity(whole.into_block.len());
    let mut total = 0;
    for &links in &whole.into_block {
        next.push(total);
        total += 2 * links as usize;
    }
    let mut targets = whole.targets.iter();
    for (from, &links) in (0u32..).zip(starting) {
        for &to in targets.by_ref().take(links as usize) {
            let place = &mut next[(to >> BLOCK_BITS) as usize];
            pairs[*place] = to;
            pairs[*place + 1] = from;
            *place += 2;
        }
    }
    pairs
}

/// Fills in the neighbours, block by block, and says where each position's begin. The second half of `neighbours` holds
/// all targets: what is written never overtakes what is still to be read, as long as a block's own targets are set
/// aside.
fn fill(
    starting: &[u32],
    into_block: &[u32],
    arrivals: &[u32],
    neighbours: &mut [u32],
) -> Result<Vec<u32>, BuildError> {
    let mut first = Vec::with_capacity(starting.len() + 1);
    first.push(0);
    let (mut target, mut arrival) = (neighbours.len() / 2, 0);
    let (mut targets, mut next) = (Vec::new(), Vec::new());
    for (block, starting) in starting.chunks(1 << BLOCK_BITS).enumerate() {
        let start = (block << BLOCK_BITS) as u32;
        let pairs = &arrivals[arrival..arrival + 2 * into_block[block] as usize];
        arrival += pairs.len();
        let count: usize = starting.iter().map(|&links| links as usize).sum();
        targets.clear();
        targets.extend_from_slice(&neighbours[target..target + count]);
        target += count;
        next.clear();
        next.resize(starting.len(), 0u32);
        pairs.chunks_exact(2).for_each(|pair| next[(pair[0] - start) as usize] += 1);
        let mut own_targets = &targets[..];
        for (next, &links) in next.iter_mut().zip(starting) {
            let begin = *first.last().unwrap_or(&0);
            first.push(begin + *next + links);
            let (own, rest) = own_targets.split_at(links as usize);
            own_targets = rest;
            *next = begin + links;
            neighbours[begin as usize..*next as usize].copy_from_slice(own);
        }
        for pair in pairs.chunks_exact(2) {
            let place = &mut next[(pair[0] - start) as usize];
            neighbours[*place as usize] = pair[1];
            *place += 1;
        }
        sort(start, &first[start as usize..], neighbours)?;
    }
    Ok(first)
}

/// Sorts the neighbours of each position of a block; fails if one comes twice.
fn sort(start: u32, first: &[u32], neighbours: &mut [u32]) -> Result<(), BuildError> {
    for (at, bounds) in (start..).zip(first.windows(2)) {
        let own = &mut neighbours[bounds[0] as usize..bounds[1] as usize];
        own.sort_unstable();
        if let Some(twice) = own.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(BuildError::Twice { from: at.into(), to: twice[0].into() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Graph, Topology};

    #[test]
    fn any_number_of_threads_makes_the_same_graph_of_many_blocks() {
        let size = 4 << BLOCK_BITS | 77;
        let generator = Topology::Random { min: 2, max: 5 }.generator(Some(size), 3).unwrap();
        let graphs = [1, 2, 7].map(|threads| Graph::generate_with(&*generator, threads).unwrap());
        assert_eq!(graphs[0], graphs[1]);
        assert_eq!(graphs[0], graphs[2]);
        let mut links = Vec::new();
        generator.links(0..size, &mut |from, to| links.extend([(from, to), (to, from)]));
        links.sort_unstable();
        let found = (0..size).flat_map(|at| graphs[0].neighbours(at).iter().map(move |&to| (at, to)));
        assert!(found.eq(links));
        for (slot, &back) in graphs[0].reverse().iter().enumerate() {
            assert_eq!(graphs[0].reverse()[back as usize] as usize, slot);
            let owner = graphs[0].slots()[back as usize] as usize;
            assert!((graphs[0].first()[owner] as usize..graphs[0].first()[owner + 1] as usize).contains(&slot));
        }
    }
}
