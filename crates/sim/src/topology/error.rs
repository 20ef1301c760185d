//! Why a network cannot be built.

use std::path::PathBuf;

use crate::parse::ParseError;

/// A network that cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuildError {
    /// There are no nodes.
    #[error("a network needs nodes: at least 1, not 0")]
    NoNodes,
    /// The topology has another size.
    #[error("topology `{topology}` has {allowed} nodes, not {size}")]
    OtherSize {
        /// The topology.
        topology: String,
        /// The requested size.
        size: u64,
        /// The one size that it has.
        allowed: u64,
    },
    /// The topology does not exist in this size.
    #[error("topology `{topology}` does not exist with {size} nodes: {problem}; nearest: {nearest}")]
    Impossible {
        /// The topology.
        topology: String,
        /// The requested size.
        size: u32,
        /// The reason.
        problem: &'static str,
        /// What there is instead.
        nearest: String,
    },
    /// There would be more links than can be numbered.
    #[error(
        "topology `{topology}` with {size} nodes has about {links} links; at most {max} are possible, with {nearest} nodes"
    )]
    TooManyLinks {
        /// The topology.
        topology: String,
        /// The requested size.
        size: u32,
        /// The number of links.
        links: u64,
        /// The maximum.
        max: u64,
        /// The greatest size with so few.
        nearest: u32,
    },
    /// The topology comes in any size, and none was given.
    #[error("topology `{topology}` comes in any size: the number of nodes must be given")]
    NoSize {
        /// The topology.
        topology: String,
    },
    /// The topology's own numbers are wrong.
    #[error("topology `{text}`: {0}", text = .0.text)]
    Topology(#[from] ParseError),
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A file is too long.
    #[error("{} is longer than {max} bytes, the most that a topology may have", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The number of bytes.
        max: u64,
    },
    /// A line of a file is wrong.
    #[error("{}, line {line}: `{text}`: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: u32,
        /// What it says.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There are no links in a file.
    #[error("{} has no links; a topology has lines `u v` with two positions, numbered from 0", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// There are fewer links in a file than it takes to connect all nodes.
    #[error("{}: {links} links cannot connect {size} positions", path.display())]
    TooFew {
        /// The file.
        path: PathBuf,
        /// The number of links.
        links: u64,
        /// The number of positions.
        size: u64,
    },
    /// The links in a file do not connect all nodes.
    #[error("{}: the {size} positions are not connected: position {unreached} cannot be reached from 0", path.display())]
    FileDisconnected {
        /// The file.
        path: PathBuf,
        /// The number of positions.
        size: u64,
        /// One that position 0 cannot reach.
        unreached: u64,
    },
    /// A position beyond the last.
    #[error("link {from}–{to} names a position beyond the last one, {last}")]
    Beyond {
        /// One end.
        from: u64,
        /// The other end.
        to: u64,
        /// The last position.
        last: u64,
    },
    /// A link from a node to itself.
    #[error("link {at}–{at} leads from a node to itself")]
    Loop {
        /// The node.
        at: u64,
    },
    /// The same link twice.
    #[error("link {from}–{to} is given twice")]
    Twice {
        /// One end.
        from: u64,
        /// The other end.
        to: u64,
    },
    /// More links than slots can be numbered.
    #[error("{links} links are too many; at most {max}")]
    TooMany {
        /// The number given.
        links: u64,
        /// The maximum.
        max: u64,
    },
    /// Not all nodes can reach each other.
    #[error("the graph is not connected: position {from} cannot reach position {to}")]
    Disconnected {
        /// From here…
        from: u64,
        /// …there is no way to there.
        to: u64,
    },
}
