//! The network between the nodes, and faults in it.
//!
//! - [`Proxy`]: nodes talk over loopback through a proxy; needs no privileges.
//! - [`namespaces`]: every node has a network namespace; needs root.

mod namespaces;

use std::io;
use std::net::SocketAddr;

use rustix::process::Pid;

pub(crate) use hustings_harness::net::{Link, Links, Proxy};
pub(crate) use namespaces::Namespaces;

/// The network between the nodes. It is removed when this is dropped.
pub(crate) enum Net {
    /// Loopback with a proxy.
    Proxy(Proxy),
    /// A network namespace for each node.
    Namespaces(Namespaces),
}

impl Net {
    /// The address at which other nodes reach a node.
    pub(crate) fn address(&self, node: usize) -> SocketAddr {
        match self {
            Net::Proxy(proxy) => proxy.public_address(node),
            Net::Namespaces(namespaces) => namespaces.address(node),
        }
    }

    /// The address on which a node listens.
    pub(crate) fn listen(&self, node: usize) -> SocketAddr {
        match self {
            Net::Proxy(proxy) => proxy.listen_address(node),
            Net::Namespaces(namespaces) => namespaces.address(node),
        }
    }

    /// The network namespace of a node, if it has one.
    pub(crate) fn namespace(&self, node: usize) -> Option<String> {
        match self {
            Net::Proxy(_) => None,
            Net::Namespaces(namespaces) => Some(namespaces.name(node)),
        }
    }

    /// Sets the process of a node.
    pub(crate) fn set_process(&self, node: usize, pid: Pid) {
        if let Net::Proxy(proxy) = self {
            proxy.set_process(node, pid);
        }
    }

    /// Sets all links.
    pub(crate) fn set_links(&mut self, links: &Links) -> io::Result<()> {
        match self {
            Net::Proxy(proxy) => proxy.set_links(links),
            Net::Namespaces(namespaces) => namespaces.set_links(links),
        }
    }
}
