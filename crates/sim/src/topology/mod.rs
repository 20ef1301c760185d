//! Who is linked to whom.

mod network;

pub use network::{Complete, Graph, GraphError, MOST_LINKS, Network, Ring};
