//! The faults that are active at the moment, in terms of nodes and links.

use std::collections::BTreeMap;

use crate::net::{Link, Links};
use crate::schedule::{Episode, FaultKind};

/// What an episode does to nodes and links, once its target is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Damage {
    /// Nodes that are down, frozen or cannot write.
    pub(crate) impaired: Vec<usize>,
    /// Links that are not open, and their state.
    pub(crate) links: Vec<(usize, usize, Link)>,
    /// Whether other programs take the host from all nodes, so that none of them can be expected to be in time.
    pub(crate) is_host_busy: bool,
}

impl Damage {
    /// The damage of an episode with this target.
    pub(crate) fn of(episode: &Episode, target: usize) -> Self {
        let mut order = vec![target];
        order.extend(episode.order.iter().copied().filter(|&node| node != target));
        let (side, rest) = order.split_at(episode.side.min(order.len()));
        let mut damage = Damage::default();
        match episode.kind {
            FaultKind::Kill
            | FaultKind::Freeze
            | FaultKind::DiskFull
            | FaultKind::DiskTight
            | FaultKind::DiskError
            | FaultKind::WallClock
            | FaultKind::Wipe
            | FaultKind::BitRot
            | FaultKind::Rollback
            | FaultKind::Terminate
            | FaultKind::Remove
            | FaultKind::Retime => damage.impaired.push(target),
            FaultKind::Transfer | FaultKind::Resign | FaultKind::Pause | FaultKind::AddRemove => {}
            // Strangers must delay nobody.
            FaultKind::Flood => {}
            FaultKind::Hogs => damage.is_host_busy = true,
            FaultKind::KillAll | FaultKind::Blackout | FaultKind::Shortage => damage.impaired = order.clone(),
            FaultKind::HostAway => {
                damage.impaired.push(target);
                damage.separate(&order[..1], &order[1..], Link::Silent);
            }
            FaultKind::CutClosed => damage.separate(side, rest, Link::Closed),
            FaultKind::CutSilent => damage.separate(side, rest, Link::Silent),
            FaultKind::OneWay => {
                let others = order.iter().skip(1).take(episode.side);
                let link = |&other: &usize| if episode.amount == 0 { (target, other) } else { (other, target) };
                damage.links.extend(others.map(link).map(|(from, to)| (from, to, Link::Silent)));
            }
            FaultKind::Overlap => {
                let behind = &order[1..];
                let (one, other) = behind.split_at(episode.side.min(behind.len()));
                damage.separate(one, other, Link::Silent);
            }
            FaultKind::Slow => {
                let delay = Link::Slow(episode.amount.unsigned_abs());
                let end = order.len().min(1 + episode.side);
                damage.separate(&order[..1], &order[1..end], delay);
            }
        }
        damage
    }

    /// Sets all links between two groups, in both directions.
    fn separate(&mut self, one: &[usize], other: &[usize], link: Link) {
        for &a in one {
            for &b in other {
                self.links.push((a, b, link));
                self.links.push((b, a, link));
            }
        }
    }
}

/// The faults that are active at the moment.
#[derive(Clone, Debug)]
pub(crate) struct ActiveFaults {
    nodes: usize,
    /// By the index of the episode.
    damages: BTreeMap<usize, Damage>,
}

impl ActiveFaults {
    /// No fault is active.
    pub(crate) fn new(nodes: usize) -> Self {
        ActiveFaults { nodes, damages: BTreeMap::new() }
    }

    /// The first node from `wanted` on that is not impaired; `None` if all are.
    pub(crate) fn first_healthy(&self, wanted: usize) -> Option<usize> {
        (0..self.nodes).map(|step| (wanted + step) % self.nodes).find(|&node| !self.is_impaired(node))
    }

    /// Adds the damage of an episode that begins.
    pub(crate) fn begin(&mut self, episode: usize, damage: Damage) {
        self.damages.insert(episode, damage);
    }

    /// Removes the damage of an episode that ends.
    pub(crate) fn end(&mut self, episode: usize) -> Option<Damage> {
        self.damages.remove(&episode)
    }

    /// Whether a node is down, frozen or cannot write.
    pub(crate) fn is_impaired(&self, node: usize) -> bool {
        self.damages.values().any(|damage| damage.impaired.contains(&node))
    }

    /// The state of all links.
    pub(crate) fn links(&self) -> Links {
        let mut links = Links::open(self.nodes);
        for &(from, to, link) in self.damages.values().flat_map(|damage| &damage.links) {
            links.worsen(from, to, link);
        }
        links
    }

    /// Whether some majority of nodes is not impaired and connected each with each, and has its host for itself.
    pub(crate) fn has_healthy_majority(&self) -> bool {
        if self.damages.values().any(|damage| damage.is_host_busy) {
            return false;
        }
        let links = self.links();
        let is_connected = |group: u32, node: usize| {
            !self.is_impaired(node)
                && (0..self.nodes)
                    .filter(|&other| other != node && group & 1 << other != 0)
                    .all(|other| links.get(node, other).carries() && links.get(other, node).carries())
        };
        (0_u32..1 << self.nodes).any(|group| {
            group.count_ones() as usize > self.nodes / 2
                && (0..self.nodes).filter(|&node| group & 1 << node != 0).all(|node| is_connected(group, node))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Target;

    fn episode(kind: FaultKind, side: usize, amount: i64) -> Episode {
        Episode { kind, aim: Target::Node(0), order: vec![3, 1, 0, 4, 2], side, amount, begin: 0, end: 1 }
    }

    fn active(episodes: &[(Episode, usize)]) -> ActiveFaults {
        let mut active = ActiveFaults::new(5);
        for (number, (episode, target)) in episodes.iter().enumerate() {
            active.begin(number, Damage::of(episode, *target));
        }
        active
    }

    #[test]
    fn a_cut_separates_nodes_until_it_ends() {
        let mut active = active(&[(episode(FaultKind::CutClosed, 2, 0), 1)]);
        let links = active.links();
        // The first node of the order that is not the target is on the target's side.
        assert_eq!((links.get(1, 3), links.get(3, 1)), (Link::Open, Link::Open));
        assert_eq!((links.get(1, 0), links.get(0, 1), links.get(3, 4)), (Link::Closed, Link::Closed, Link::Closed));
        assert!(active.has_healthy_majority(), "three are left on the other side");
        active.end(0);
        assert_eq!(active.links(), Links::open(5));
    }

    #[test]
    fn overlapping_majorities_share_one_node() {
        let active = active(&[(episode(FaultKind::Overlap, 2, 0), 0)]);
        let links = active.links();
        assert!(links.others(0).all(|other| links.get(0, other).carries() && links.get(other, 0).carries()));
        assert!(links.get(3, 1).carries() && links.get(4, 2).carries());
        assert!(!links.get(3, 4).carries() && !links.get(2, 1).carries());
        assert!(active.has_healthy_majority(), "each side together with the node in the middle");
    }

    #[test]
    fn a_one_way_fault_silences_one_direction() {
        let away = active(&[(episode(FaultKind::OneWay, 4, 0), 2)]).links();
        assert!(away.others(2).all(|other| away.get(2, other) == Link::Silent && away.get(other, 2) == Link::Open));
        let towards = active(&[(episode(FaultKind::OneWay, 1, 1), 2)]).links();
        assert_eq!((towards.get(3, 2), towards.get(2, 3), towards.get(1, 2)), (Link::Silent, Link::Open, Link::Open));
    }

    #[test]
    fn a_link_has_the_worst_state_of_all_active_faults() {
        let mut active = active(&[(episode(FaultKind::Slow, 1, 40), 2), (episode(FaultKind::HostAway, 1, 0), 2)]);
        assert_eq!(active.links().get(2, 3), Link::Silent);
        assert!(active.links().is_isolated(2) && !active.links().is_isolated(3));
        assert!(active.is_impaired(2));
        active.end(1);
        assert_eq!((active.links().get(2, 3), active.links().get(3, 2)), (Link::Slow(40), Link::Slow(40)));
        assert!(!active.is_impaired(2) && !active.links().is_isolated(2));
    }

    #[test]
    fn a_majority_counts_only_healthy_connected_nodes() {
        let kill = |target| (episode(FaultKind::Kill, 1, 0), target);
        assert!(active(&[kill(0), kill(1)]).has_healthy_majority());
        assert!(!active(&[kill(0), kill(1), kill(2)]).has_healthy_majority());
        assert!(!active(&[(episode(FaultKind::KillAll, 1, 0), 0)]).has_healthy_majority());
        assert!(!active(&[kill(0), (episode(FaultKind::CutSilent, 2, 0), 1)]).has_healthy_majority());
        assert!(!active(&[(episode(FaultKind::Hogs, 1, 0), 0)]).has_healthy_majority(), "nobody is in time");
        assert!(active(&[(episode(FaultKind::Flood, 1, 0), 0)]).has_healthy_majority(), "it must harm nobody");
        assert_eq!(active(&[kill(3), kill(4)]).first_healthy(3), Some(0));
        assert_eq!(active(&[(episode(FaultKind::KillAll, 1, 0), 0)]).first_healthy(3), None);
    }
}
