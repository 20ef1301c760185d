//! The network between the nodes, and faults in it.
//!
//! - [`Proxy`]: nodes talk over loopback through a proxy; needs no privileges.
//! - [`namespaces`]: every node has a network namespace; needs root.

mod namespaces;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use hustings_harness::free_ports;
use rustix::process::Pid;

pub(crate) use hustings_harness::net::{Link, Links, Proxy};
pub(crate) use namespaces::Namespaces;

/// The port of the HTTP API where every node has a namespace.
const API_PORT: u16 = 7480;

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

    /// The addresses of the nodes' HTTP APIs, which only clients on the same host reach.
    pub(crate) fn api_addresses(&self, nodes: usize) -> io::Result<Vec<SocketAddr>> {
        let ports = match self {
            Net::Proxy(_) => free_ports(nodes)?,
            // Every node has a loopback of its own.
            Net::Namespaces(_) => vec![API_PORT; nodes],
        };
        Ok(ports.into_iter().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).collect())
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
