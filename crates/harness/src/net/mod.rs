//! A network on loopback that can be broken on purpose: every connection between nodes goes through a proxy of ours.
//! Whoever may listen on loopback may use it.

mod caller;
mod pipe;
mod proxy;

use hustings_cluster::node::NICENESS;

pub use proxy::Proxy;

/// Prefers the calling thread as nodes prefer themselves, where that is allowed.
pub fn prefer_this_thread() {
    // Without the right to, it is as good as the rest of the program.
    let _ = rustix::process::setpriority_process(None, NICENESS);
}

/// How one node's words reach another. Worse ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Link {
    /// At once.
    #[default]
    Open,
    /// After so many milliseconds.
    Slow(u64),
    /// Not at all; what was said arrives when the link is open again, as TCP does it.
    Silent,
    /// Not at all, and connections end.
    Closed,
}

impl Link {
    /// Whether anything gets through.
    pub fn carries(self) -> bool {
        matches!(self, Link::Open | Link::Slow(_))
    }
}

/// How everybody's words reach everybody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Links {
    nodes: usize,
    links: Vec<Link>,
}

impl Links {
    /// Nothing is broken.
    pub fn open(nodes: usize) -> Self {
        Links { nodes, links: vec![Link::Open; nodes * nodes] }
    }

    /// How `from` reaches `to`.
    pub fn get(&self, from: usize, to: usize) -> Link {
        self.links.get(from * self.nodes + to).copied().unwrap_or_default()
    }

    /// Makes it as bad as this, or leaves it worse.
    pub fn worsen(&mut self, from: usize, to: usize, link: Link) {
        if let Some(old) = self.links.get_mut(from * self.nodes + to) {
            *old = link.max(*old);
        }
    }

    /// Nothing reaches a node or leaves it any more, and no connection ends: its cable is pulled.
    pub fn unplug(&mut self, node: usize) {
        for other in self.others(node) {
            self.worsen(node, other, Link::Silent);
            self.worsen(other, node, Link::Silent);
        }
    }

    /// Whether nothing reaches a node or leaves it, and no connection was closed.
    pub fn unplugged(&self, node: usize) -> bool {
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
    fn a_pulled_cable_parts_one_node_only_and_mends_nothing() {
        let mut links = Links::open(4);
        links.worsen(1, 3, Link::Closed);
        links.unplug(2);
        assert!(links.unplugged(2) && [0, 1, 3].iter().all(|&node| !links.unplugged(node)));
        assert_eq!((links.get(0, 1), links.get(1, 3), links.get(3, 1)), (Link::Open, Link::Closed, Link::Open));
        links.worsen(2, 0, Link::Closed);
        links.unplug(2);
        assert_eq!(links.get(2, 0), Link::Closed, "what is worse stays");
        assert!(!links.unplugged(2));
    }
}
