//! What is broken at the moment, in terms of nodes and links.

use std::collections::BTreeMap;

use crate::net::{Link, Links};
use crate::schedule::{Episode, Kind};

/// What an episode does, once it is known at whom it is aimed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Damage {
    /// Nodes that cannot do their work.
    pub(crate) ill: Vec<usize>,
    /// Links that are worse than open.
    pub(crate) links: Vec<(usize, usize, Link)>,
}

impl Damage {
    /// What an episode aimed at this node does.
    pub(crate) fn of(episode: &Episode, whom: usize) -> Self {
        let mut order = vec![whom];
        order.extend(episode.order.iter().copied().filter(|&node| node != whom));
        let (side, rest) = order.split_at(episode.side.min(order.len()));
        let mut damage = Damage::default();
        match episode.kind {
            Kind::Kill | Kind::Freeze | Kind::DiskFull | Kind::WallClock | Kind::Wipe => damage.ill.push(whom),
            Kind::KillAll | Kind::Blackout => damage.ill = order.clone(),
            Kind::HostAway => {
                damage.ill.push(whom);
                damage.part(&order[..1], &order[1..], Link::Silent);
            }
            Kind::CutClosed => damage.part(side, rest, Link::Closed),
            Kind::CutSilent => damage.part(side, rest, Link::Silent),
            Kind::OneWay => {
                let others = order.iter().skip(1).take(episode.side);
                let link = |&other: &usize| if episode.amount == 0 { (whom, other) } else { (other, whom) };
                damage.links.extend(others.map(link).map(|(from, to)| (from, to, Link::Silent)));
            }
            Kind::Overlap => {
                let behind = &order[1..];
                let (one, other) = behind.split_at(episode.side.min(behind.len()));
                damage.part(one, other, Link::Silent);
            }
            Kind::Slow => {
                let delay = Link::Slow(episode.amount.unsigned_abs());
                let end = order.len().min(1 + episode.side);
                damage.part(&order[..1], &order[1..end], delay);
            }
        }
        damage
    }

    /// Both ways between two parts.
    fn part(&mut self, one: &[usize], other: &[usize], link: Link) {
        for &a in one {
            for &b in other {
                self.links.push((a, b, link));
                self.links.push((b, a, link));
            }
        }
    }
}

/// What is broken at the moment.
#[derive(Clone, Debug)]
pub(crate) struct World {
    nodes: usize,
    /// By the number of the episode.
    damages: BTreeMap<usize, Damage>,
}

impl World {
    /// Nothing.
    pub(crate) fn new(nodes: usize) -> Self {
        World { nodes, damages: BTreeMap::new() }
    }

    /// The node an episode is aimed at, or if that one is ill already, the next one that is not. Nothing if all are.
    pub(crate) fn first_well(&self, wanted: usize) -> Option<usize> {
        (0..self.nodes).map(|step| (wanted + step) % self.nodes).find(|&node| !self.ill(node))
    }

    /// An episode begins.
    pub(crate) fn begin(&mut self, episode: usize, damage: Damage) {
        self.damages.insert(episode, damage);
    }

    /// An episode ends: what it had broken.
    pub(crate) fn end(&mut self, episode: usize) -> Option<Damage> {
        self.damages.remove(&episode)
    }

    /// Whether a node cannot do its work.
    pub(crate) fn ill(&self, node: usize) -> bool {
        self.damages.values().any(|damage| damage.ill.contains(&node))
    }

    /// All links.
    pub(crate) fn links(&self) -> Links {
        let mut links = Links::open(self.nodes);
        for &(from, to, link) in self.damages.values().flat_map(|damage| &damage.links) {
            links.worsen(from, to, link);
        }
        links
    }

    /// Whether there is a majority of which everybody is well and reaches everybody.
    pub(crate) fn majority_well(&self) -> bool {
        let links = self.links();
        let friends = |group: u32, node: usize| {
            !self.ill(node)
                && (0..self.nodes)
                    .filter(|&other| other != node && group & 1 << other != 0)
                    .all(|other| links.get(node, other).carries() && links.get(other, node).carries())
        };
        (0_u32..1 << self.nodes).any(|group| {
            group.count_ones() as usize > self.nodes / 2
                && (0..self.nodes).filter(|&node| group & 1 << node != 0).all(|node| friends(group, node))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Aim;

    fn episode(kind: Kind, side: usize, amount: i64) -> Episode {
        Episode { kind, aim: Aim::Node(0), order: vec![3, 1, 0, 4, 2], side, amount, begin: 0, end: 1 }
    }

    fn world(episodes: &[(Episode, usize)]) -> World {
        let mut world = World::new(5);
        for (number, (episode, whom)) in episodes.iter().enumerate() {
            world.begin(number, Damage::of(episode, *whom));
        }
        world
    }

    #[test]
    fn a_cut_parts_the_nodes_and_its_end_mends_it() {
        let mut world = world(&[(episode(Kind::CutClosed, 2, 0), 1)]);
        let links = world.links();
        // On its side is the first of the order that is not itself.
        assert_eq!((links.get(1, 3), links.get(3, 1)), (Link::Open, Link::Open));
        assert_eq!((links.get(1, 0), links.get(0, 1), links.get(3, 4)), (Link::Closed, Link::Closed, Link::Closed));
        assert!(world.majority_well(), "three are left on the other side");
        world.end(0);
        assert_eq!(world.links(), Links::open(5));
    }

    #[test]
    fn overlapping_majorities_share_the_middle() {
        let world = world(&[(episode(Kind::Overlap, 2, 0), 0)]);
        let links = world.links();
        assert!(links.others(0).all(|other| links.get(0, other).carries() && links.get(other, 0).carries()));
        assert!(links.get(3, 1).carries() && links.get(4, 2).carries());
        assert!(!links.get(3, 4).carries() && !links.get(2, 1).carries());
        assert!(world.majority_well(), "each part with the middle");
    }

    #[test]
    fn one_way_is_one_way() {
        let away = world(&[(episode(Kind::OneWay, 4, 0), 2)]).links();
        assert!(away.others(2).all(|other| away.get(2, other) == Link::Silent && away.get(other, 2) == Link::Open));
        let towards = world(&[(episode(Kind::OneWay, 1, 1), 2)]).links();
        assert_eq!((towards.get(3, 2), towards.get(2, 3), towards.get(1, 2)), (Link::Silent, Link::Open, Link::Open));
    }

    #[test]
    fn the_worst_of_several_holds() {
        let mut world = world(&[(episode(Kind::Slow, 1, 40), 2), (episode(Kind::HostAway, 1, 0), 2)]);
        assert_eq!(world.links().get(2, 3), Link::Silent);
        assert!(world.links().is_isolated(2) && !world.links().is_isolated(3));
        assert!(world.ill(2));
        world.end(1);
        assert_eq!((world.links().get(2, 3), world.links().get(3, 2)), (Link::Slow(40), Link::Slow(40)));
        assert!(!world.ill(2) && !world.links().is_isolated(2));
    }

    #[test]
    fn a_majority_needs_nodes_that_are_well() {
        let kill = |whom| (episode(Kind::Kill, 1, 0), whom);
        assert!(world(&[kill(0), kill(1)]).majority_well());
        assert!(!world(&[kill(0), kill(1), kill(2)]).majority_well());
        assert!(!world(&[(episode(Kind::KillAll, 1, 0), 0)]).majority_well());
        assert!(!world(&[kill(0), (episode(Kind::CutSilent, 2, 0), 1)]).majority_well());
        assert_eq!(world(&[kill(3), kill(4)]).first_well(3), Some(0));
        assert_eq!(world(&[(episode(Kind::KillAll, 1, 0), 0)]).first_well(3), None);
    }
}
