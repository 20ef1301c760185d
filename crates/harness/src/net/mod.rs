//! A network on loopback that can be broken on purpose: every connection between nodes goes through a [`Proxy`]. It
//! needs no privileges.

mod caller;
mod pipe;
mod proxy;

use hustings_cluster::node::NICE_VALUE;

pub use proxy::Proxy;

/// Gives the calling thread the priority that nodes give themselves, if this process is allowed to.
pub fn raise_thread_priority() {
    // Without permission the thread keeps its priority, which still works on a machine that is not overloaded.
    let _ = rustix::process::setpriority_process(None, NICE_VALUE);
}

/// The state of the link from one node to another. A worse state is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Link {
    /// Bytes are passed on at once.
    #[default]
    Open,
    /// Bytes are passed on after this many milliseconds.
    Slow(u64),
    /// Bytes are held back until the link is open again, as TCP does when packets are lost.
    Silent,
    /// Connections are closed and new ones are refused.
    Closed,
}

impl Link {
    /// Whether bytes are passed on.
    pub fn carries(self) -> bool {
        matches!(self, Link::Open | Link::Slow(_))
    }
}

/// The state of the links between all nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Links {
    nodes: usize,
    links: Vec<Link>,
}

impl Links {
    /// All links are open.
    pub fn open(nodes: usize) -> Self {
        Links { nodes, links: vec![Link::Open; nodes * nodes] }
    }

    /// The link from `from` to `to`.
    pub fn get(&self, from: usize, to: usize) -> Link {
        self.links.get(from * self.nodes + to).copied().unwrap_or_default()
    }

    /// Sets a link to this state unless it is in a worse one.
    pub fn worsen(&mut self, from: usize, to: usize, link: Link) {
        if let Some(old) = self.links.get_mut(from * self.nodes + to) {
            *old = link.max(*old);
        }
    }

    /// Silences all links of a node, as if its cable were pulled.
    pub fn isolate(&mut self, node: usize) {
        for other in self.others(node) {
            self.worsen(node, other, Link::Silent);
            self.worsen(other, node, Link::Silent);
        }
    }

    /// Whether all links of a node are silent.
    pub fn is_isolated(&self, node: usize) -> bool {
        let silent = |from, to| self.get(from, to) == Link::Silent;
        self.nodes > 1 && self.others(node).all(|other| silent(node, other) && silent(other, node))
    }

    /// All nodes but one.
    pub fn others(&self, node: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.nodes).filter(move |&other| other != node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolating_a_node_leaves_other_links_alone_and_improves_none() {
        let mut links = Links::open(4);
        links.worsen(1, 3, Link::Closed);
        links.isolate(2);
        assert!(links.is_isolated(2) && [0, 1, 3].iter().all(|&node| !links.is_isolated(node)));
        assert_eq!((links.get(0, 1), links.get(1, 3), links.get(3, 1)), (Link::Open, Link::Closed, Link::Open));
        links.worsen(2, 0, Link::Closed);
        links.isolate(2);
        assert_eq!(links.get(2, 0), Link::Closed, "a worse state stays");
        assert!(!links.is_isolated(2));
    }
}
