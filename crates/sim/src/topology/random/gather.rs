//! Random graphs of few nodes, made in one place.
//!
//! How: start with a circulant graph: everybody in a ring linked to the nearest, so that everybody has MIN links (one
//! node one more where n·MIN is odd). Mix it: again and again two links that are not of the ring swap ends, which keeps
//! all degrees. Then give each node a target from MIN to MAX and link random pairs that both have room. Last, shuffle
//! the positions. The ring stays whole, so the graph is connected; a matrix of bits keeps it simple.

use crate::rng::{Purpose, Stream};
use crate::topology::generator::Listed;

/// Swaps that are tried for each link.
const SWAPS: u64 = 4;
/// Partners that are tried for each missing link.
const PARTNERS: u32 = 32;

/// Who is linked with whom, as bits.
struct Matrix {
    size: usize,
    bits: Vec<u64>,
}

impl Matrix {
    fn new(size: u32) -> Self {
        let size = size as usize;
        Matrix { size, bits: vec![0; (size * size).div_ceil(64)] }
    }

    fn has(&self, (a, b): (u32, u32)) -> bool {
        let bit = a as usize * self.size + b as usize;
        self.bits[bit / 64] >> (bit % 64) & 1 == 1
    }

    fn flip(&mut self, (a, b): (u32, u32)) {
        for (a, b) in [(a, b), (b, a)] {
            let bit = a as usize * self.size + b as usize;
            self.bits[bit / 64] ^= 1 << (bit % 64);
        }
    }
}

/// A random connected graph with all degrees from `min` to `max`; 2 ≤ min ≤ max < size, min < size - 1, and size·min is
/// even if the two are the same.
pub(in crate::topology) fn gather(size: u32, min: u32, max: u32, seed: u64) -> Listed {
    let mut stream = Stream::new(seed, Purpose::Topology, u64::MAX);
    let mut links: Vec<(u32, u32)> = (0..size).map(|at| (at, (at + 1) % size)).collect();
    let mut others = beyond_the_ring(size, min);
    let mut matrix = Matrix::new(size);
    links.iter().chain(&others).for_each(|&link| matrix.flip(link));
    if others.len() >= 2 {
        mix(&mut others, &mut matrix, &mut stream);
    }
    links.append(&mut others);
    fill_up(&mut links, &mut matrix, min..=max, &mut stream);
    let mut names: Vec<u32> = (0..size).collect();
    stream.shuffle(&mut names);
    let named = links.into_iter().map(|(a, b)| (names[a as usize], names[b as usize])).collect();
    Listed::new(size, named)
}

/// The links of the circulant graph that are not of the ring.
fn beyond_the_ring(size: u32, degree: u32) -> Vec<(u32, u32)> {
    let mut links: Vec<_> =
        (2..=degree / 2).flat_map(|offset| (0..size).map(move |at| (at, (at + offset) % size))).collect();
    if degree % 2 == 1 {
        // Opposite nodes. If the number of nodes is odd, the one in the middle gets two.
        let half = size / 2;
        links.extend((0..size - half).map(|at| (at, at + half)));
    }
    links
}

/// Swaps the ends of random pairs of links wherever that keeps the graph simple.
fn mix(links: &mut [(u32, u32)], matrix: &mut Matrix, stream: &mut Stream) {
    let count = links.len() as u64;
    for _ in 0..SWAPS * count {
        let (first, second) = (stream.below(count) as usize, stream.below(count) as usize);
        let (a, b) = links[first];
        let (c, d) = if stream.next_u64() & 1 == 0 { links[second] } else { (links[second].1, links[second].0) };
        if a == c || b == d || matrix.has((a, c)) || matrix.has((b, d)) {
            continue;
        }
        [(a, b), (c, d), (a, c), (b, d)].into_iter().for_each(|link| matrix.flip(link));
        (links[first], links[second]) = ((a, c), (b, d));
    }
}

/// Adds links until most nodes have as many as a random target.
fn fill_up(
    links: &mut Vec<(u32, u32)>,
    matrix: &mut Matrix,
    bounds: std::ops::RangeInclusive<u32>,
    stream: &mut Stream,
) {
    let mut degrees = vec![0u32; matrix.size];
    links.iter().for_each(|&(a, b)| {
        degrees[a as usize] += 1;
        degrees[b as usize] += 1;
    });
    let spread = u64::from(bounds.end() - bounds.start()) + 1;
    let mut open = Vec::new();
    for (at, &degree) in (0u32..).zip(&degrees) {
        let target = bounds.start() + stream.below(spread) as u32;
        open.extend(std::iter::repeat_n(at, target.saturating_sub(degree) as usize));
    }
    stream.shuffle(&mut open);
    while let Some(at) = open.pop() {
        for _ in 0..PARTNERS.min(open.len() as u32) {
            let place = stream.below(open.len() as u64) as usize;
            let link = (at, open[place]);
            if link.0 != link.1 && !matrix.has(link) {
                matrix.flip(link);
                links.push(link);
                open.swap_remove(place);
                break;
            }
        }
    }
}
