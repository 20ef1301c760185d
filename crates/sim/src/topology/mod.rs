//! Topologies by name, and the networks that are built from them.
//!
//! Every graph is simple and connected, and depends only on its topology, size and seed. Ranges of positions can be
//! built independently: see `Generator`.

mod assemble;
mod build;
mod error;
mod file;
mod fixed;
mod generator;
mod geometric;
mod network;
mod parse;
mod permutation;
mod random;
mod scale_free;
mod small_world;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use error::BuildError;
use generator::Generator;
use network::MAX_LINKS;
pub use network::{Graph, Network};

/// The topology of a network.
#[derive(Clone, PartialEq, Debug)]
pub enum Topology {
    /// `ring`: i – i+1, the last with the first.
    Ring,
    /// `complete`: every pair of nodes is linked.
    Complete,
    /// `line`: i – i+1.
    Line,
    /// `star`: all nodes are linked to 0.
    Star,
    /// `tree:K`: the parent of node i > 0 is (i-1)/K.
    Tree(u32),
    /// `grid:RxC`: R rows of C, row by row.
    Grid(u32, u32),
    /// `torus:RxC`: a grid whose last row and column meet the first.
    Torus(u32, u32),
    /// `hypercube:D`: 2^D nodes, linked where their numbers differ in one bit.
    Hypercube(u32),
    /// `random:MIN-MAX`: a random graph with all degrees from MIN to MAX.
    Random {
        /// The least degree.
        min: u32,
        /// The greatest degree.
        max: u32,
    },
    /// `small-world:K,P`: a ring with K neighbours each, whose links are rewired with probability P.
    SmallWorld {
        /// The number of neighbours on the ring, both sides together; even.
        neighbours: u32,
        /// The probability that a link is rewired; the links of the ring itself stay.
        rewire: f64,
    },
    /// `scale-free:M`: each new node links to M nodes, preferably to those with many links.
    ScaleFree(u32),
    /// `geometric:R`: points in the unit square, linked within a distance of R.
    Geometric(f64),
    /// `file:PATH`: lines `u v`.
    File(PathBuf),
    /// `links:U-V,…`: these links, lower end first and ascending.
    Links(Vec<(u32, u32)>),
}
