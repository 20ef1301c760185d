//! Where nodes are drawn. Coordinates go from -1 to 1; the same network always gives the same picture.

use hustings_elections::Election;
use hustings_protocol::Port;
use hustings_sim::scenario::Scenario;
use hustings_sim::topology::Network;
use serde::Serialize;

use crate::run::MAX_DRAWN;

/// The picture of a network.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Layout {
    /// Its form.
    pub shape: &'static str,
    /// The place of each node.
    pub nodes: Vec<(f32, f32)>,
    /// The links that are drawn always. Those of a complete network appear when something moves on them.
    pub links: Vec<(u32, u32)>,
    /// The radii of circles to draw behind the nodes: the ring, and the levels of a hierarchy.
    pub rings: Vec<f32>,
}

impl Layout {
    /// The picture of an election's network; empty if it is too large to be drawn.
    pub(crate) fn of(election: &dyn Election, scenario: &Scenario) -> Self {
        let network = &scenario.network;
        if network.size() > MAX_DRAWN {
            return Layout { shape: "density", nodes: Vec::new(), links: Vec::new(), rings: Vec::new() };
        }
        match network {
            Network::Ring(size) => rings(*size, |at| election.level(*size, at), "ring"),
            Network::InformedRing(size) => {
                let mut layout = rings(*size, |at| election.level(*size, at), "divided");
                layout.nodes.push((0.0, 0.0));
                layout
            }
            Network::Complete(size) => {
                Layout { shape: "complete", nodes: circle(*size), links: Vec::new(), rings: Vec::new() }
            }
            Network::Graph(_) => {
                let size = network.size();
                let links: Vec<(u32, u32)> = (0..size)
                    .flat_map(|at| (0..network.degree(at)).map(move |port| (at, network.peer(at, Port(port)).0)))
                    .filter(|(at, other)| at < other)
                    .collect();
                let is_cycle = size > 2 && links.len() == size as usize && (0..size).all(|at| network.degree(at) == 2);
                let (shape, nodes) = if links.len() + 1 == size as usize {
                    ("tree", tree(network))
                } else if is_cycle {
                    ("ring", circle_along(network))
                } else {
                    ("graph", forces(size, &links))
                };
                Layout { shape, nodes, links, rings: Vec::new() }
            }
        }
    }
}

/// The place at an angle, clockwise from the top.
fn polar(part: f64, radius: f64) -> (f32, f32) {
    let angle = std::f64::consts::TAU * part;
    ((radius * angle.sin()) as f32, (-radius * angle.cos()) as f32)
}

fn circle(size: u32) -> Vec<(f32, f32)> {
    (0..size).map(|at| polar(f64::from(at) / f64::from(size), 1.0)).collect()
}

/// A ring, with higher levels further inside.
fn rings(size: u32, level: impl Fn(u32) -> u32, shape: &'static str) -> Layout {
    let levels: Vec<u32> = (0..size).map(level).collect();
    let top = levels.iter().copied().max().unwrap_or(1);
    let radius = |level: u32| 1.0 - 0.62 * f64::from(level - 1) / f64::from(top.max(2));
    let nodes = levels.iter().zip(0..).map(|(&level, at)| polar(f64::from(at) / f64::from(size), radius(level)));
    let links = match size {
        0 | 1 => Vec::new(),
        2 => vec![(0, 1)],
        _ => (0..size).map(|at| (at, (at + 1) % size)).collect(),
    };
    let shape = if top > 1 && shape == "ring" { "sun" } else { shape };
    let rings = if top > 1 { (1..=top).map(|level| radius(level) as f32).collect() } else { Vec::new() };
    Layout { shape, nodes: nodes.collect(), links, rings }
}

/// A graph that is one cycle, along it.
fn circle_along(network: &Network) -> Vec<(f32, f32)> {
    let size = network.size();
    let mut nodes = vec![(0.0, 0.0); size as usize];
    let (mut before, mut at) = (u32::MAX, 0);
    for place in 0..size {
        nodes[at as usize] = polar(f64::from(place) / f64::from(size), 1.0);
        let next = [Port(1), Port(0)].map(|port| network.peer(at, port).0).into_iter().find(|&next| next != before);
        before = at;
        at = next.unwrap_or(0);
    }
    nodes
}

/// A tree from its root, the first position: leaves side by side, parents above the middle of their children.
fn tree(network: &Network) -> Vec<(f32, f32)> {
    let size = network.size() as usize;
    let mut places = vec![(0.0f32, 0.0f32); size];
    let mut parent = vec![usize::MAX; size];
    let mut depth = vec![0u32; size];
    // Children come before their parent when this order is read backwards.
    let mut order = Vec::with_capacity(size);
    let mut stack = vec![0usize];
    while let Some(at) = stack.pop() {
        order.push(at);
        let neighbours = (0..network.degree(at as u32)).map(|port| network.peer(at as u32, Port(port)).0 as usize);
        let mut children: Vec<usize> = neighbours.filter(|&other| other != parent[at]).collect();
        children.reverse();
        for child in children {
            parent[child] = at;
            depth[child] = depth[at] + 1;
            stack.push(child);
        }
    }
    let mut sums = vec![(0.0f32, 0u32); size];
    let mut leaves = 0.0f32;
    // Leaves are numbered in the order of the walk; inner nodes follow from the leaves.
    let mut leaf_place = vec![0.0f32; size];
    let mut is_parent = vec![false; size];
    parent.iter().filter(|&&above| above != usize::MAX).for_each(|&above| is_parent[above] = true);
    for &at in &order {
        if !is_parent[at] {
            leaf_place[at] = leaves;
            leaves += 1.0;
        }
    }
    for &at in order.iter().rev() {
        let x = if is_parent[at] { sums[at].0 / sums[at].1.max(1) as f32 } else { leaf_place[at] };
        places[at].0 = x;
        if parent[at] != usize::MAX {
            sums[parent[at]].0 += x;
            sums[parent[at]].1 += 1;
        }
    }
    let deepest = depth.iter().copied().max().unwrap_or(0).max(1) as f32;
    let widest = (leaves - 1.0).max(1.0);
    for (place, depth) in places.iter_mut().zip(depth) {
        let x = if leaves > 1.0 { 2.0 * place.0 / widest - 1.0 } else { 0.0 };
        *place = (x, 2.0 * depth as f32 / deepest - 1.0);
    }
    places
}

/// A graph as springs and charges (Fruchterman and Reingold), from a circle, with a fixed number of steps.
fn forces(size: u32, links: &[(u32, u32)]) -> Vec<(f32, f32)> {
    let count = size as usize;
    let mut nodes: Vec<(f64, f64)> = (0..size)
        .map(|at| {
            // Not quite a circle: in a perfect one, forces may cancel each other.
            let (x, y) = polar(f64::from(at) / f64::from(size), 0.9 + 0.1 * f64::from(at % 7) / 7.0);
            (f64::from(x), f64::from(y))
        })
        .collect();
    let ideal = (4.0 / f64::from(size)).sqrt() * 0.9;
    let steps = (40_000_000 / (count * count).max(1)).clamp(20, 400);
    for step in 0..steps {
        let mut moves = vec![(0.0f64, 0.0f64); count];
        for one in 0..count {
            for other in one + 1..count {
                let (dx, dy) = (nodes[one].0 - nodes[other].0, nodes[one].1 - nodes[other].1);
                let push = ideal * ideal / (dx * dx + dy * dy).max(1e-6);
                moves[one].0 += dx * push;
                moves[one].1 += dy * push;
                moves[other].0 -= dx * push;
                moves[other].1 -= dy * push;
            }
        }
        for &(one, other) in links {
            let (one, other) = (one as usize, other as usize);
            let (dx, dy) = (nodes[one].0 - nodes[other].0, nodes[one].1 - nodes[other].1);
            let pull = (dx * dx + dy * dy).sqrt() / ideal;
            moves[one].0 -= dx * pull;
            moves[one].1 -= dy * pull;
            moves[other].0 += dx * pull;
            moves[other].1 += dy * pull;
        }
        let longest = 0.15 * (1.0 - step as f64 / steps as f64) + 0.002;
        for (node, (dx, dy)) in nodes.iter_mut().zip(moves) {
            let length = (dx * dx + dy * dy).sqrt().max(1e-9);
            let step = length.min(longest) / length;
            *node = (node.0 + dx * step, node.1 + dy * step);
        }
    }
    fitted(&nodes)
}

/// Scales places to fill the square.
fn fitted(nodes: &[(f64, f64)]) -> Vec<(f32, f32)> {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = nodes.iter().map(of);
        values.fold((f64::MAX, f64::MIN), |(min, max), value| (min.min(value), max.max(value)))
    };
    let ((left, right), (top, bottom)) = (range(|node| node.0), range(|node| node.1));
    let scale = 2.0 / (right - left).max(bottom - top).max(1e-9);
    let centre = ((left + right) / 2.0, (top + bottom) / 2.0);
    nodes.iter().map(|(x, y)| (((x - centre.0) * scale) as f32, ((y - centre.1) * scale) as f32)).collect()
}

#[cfg(test)]
mod tests {
    use hustings_elections::Catalogue;

    use super::*;
    use crate::request::{Bounds, parse};

    fn layout(text: &str) -> Layout {
        let request = parse(text, &Catalogue::default(), &Bounds::OWN).expect(text);
        Layout::of(&*request.election, &request.built.scenario)
    }

    #[test]
    fn networks_look_like_what_they_are() {
        for (text, shape, nodes) in [
            ("a=chang-roberts&n=6", "ring", 6),
            ("a=sun&n=16", "sun", 16),
            ("a=divided&n=16", "divided", 17),
            ("a=bully&n=5", "complete", 5),
            ("a=tree&n=7", "tree", 7),
            ("a=echo-extinction&topology=grid:3x4", "graph", 12),
            ("a=echo-extinction&n=6&topology=ring", "ring", 6),
            ("a=echo-extinction&topology=links:0-1,1-2", "tree", 3),
        ] {
            let layout = layout(text);
            assert_eq!((layout.shape, layout.nodes.len()), (shape, nodes), "{text}");
            assert!(layout.nodes.iter().all(|(x, y)| x.abs() <= 1.001 && y.abs() <= 1.001), "{text}: {layout:?}");
        }
        assert!(layout("a=sun&n=16").rings.len() > 1);
        assert_eq!(layout("a=chang-roberts&n=2000").shape, "density");
    }

    #[test]
    fn no_two_nodes_share_a_place() {
        for text in [
            "a=tree&n=31",
            "a=echo-extinction&n=60&topology=random:3-5",
            "a=sun&n=64",
            "a=echo-extinction&topology=star&n=9",
        ] {
            let nodes = layout(text).nodes;
            for (at, one) in nodes.iter().enumerate() {
                let near = |other: &(f32, f32)| (one.0 - other.0).abs() + (one.1 - other.1).abs() < 0.01;
                assert!(!nodes[..at].iter().any(near), "{text}: {at}");
            }
        }
    }
}
