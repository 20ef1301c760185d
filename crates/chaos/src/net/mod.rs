//! The network between the nodes, and how it is broken.
//!
//! - [`Proxy`]: on loopback, every connection goes through a proxy of ours; works for everybody.
//! - [`namespaces`]: every node has a network namespace of its own; needs to be root.

mod namespaces;

use std::io;
use std::net::SocketAddr;

use rustix::process::Pid;

pub(crate) use hustings_harness::net::{Link, Links, Proxy};
pub(crate) use namespaces::Namespaces;

/// The network between the nodes. Whatever was made for it is removed when it is dropped.
pub(crate) enum Net {
    /// Loopback.
    Proxy(Proxy),
    /// A namespace a node.
    Namespaces(Namespaces),
}

impl Net {
    /// Where the others find a node.
    pub(crate) fn address(&self, node: usize) -> SocketAddr {
        match self {
            Net::Proxy(proxy) => proxy.public_address(node),
            Net::Namespaces(namespaces) => namespaces.address(node),
        }
    }

    /// Where a node listens.
    pub(crate) fn listen(&self, node: usize) -> SocketAddr {
        match self {
            Net::Proxy(proxy) => proxy.listen_address(node),
            Net::Namespaces(namespaces) => namespaces.address(node),
        }
    }

    /// The network namespace a node lives in, if it has one of its own.
    pub(crate) fn namespace(&self, node: usize) -> Option<String> {
        match self {
            Net::Proxy(_) => None,
            Net::Namespaces(namespaces) => Some(namespaces.name(node)),
        }
    }

    /// A node runs as this process from now on.
    pub(crate) fn set_process(&self, node: usize, pid: Pid) {
        if let Net::Proxy(proxy) = self {
            proxy.set_process(node, pid);
        }
    }

    /// From now on links are like this.
    pub(crate) fn set(&mut self, links: &Links) -> io::Result<()> {
        match self {
            Net::Proxy(proxy) => proxy.set_links(links),
            Net::Namespaces(namespaces) => namespaces.set(links),
        }
    }
}
