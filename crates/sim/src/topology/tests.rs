//! What all shapes have in common.

use proptest::prelude::*;

use super::*;
use crate::rng::hash;

/// One of each shape, with a size that it exists in.
fn examples() -> Vec<(Topology, u32)> {
    let parse = |(text, size): (&str, u32)| (text.parse().expect("a shape"), size);
    [
        ("ring", 50),
        ("complete", 20),
        ("line", 30),
        ("star", 30),
        ("tree:3", 40),
        ("grid:5x7", 35),
        ("torus:3x6", 18),
        ("hypercube:5", 32),
        ("random:5-10", 50),
        ("random:5-10", 999),
        ("random:3-3", 500),
        ("random:1-5", 301),
        ("random:2-2", 77),
        ("small-world:6,0.3", 60),
        ("small-world:8,1", 41),
        ("scale-free:3", 150),
        ("geometric:0.2", 120),
        ("geometric:0.01", 90),
    ]
    .map(parse)
    .into()
}

fn links_of(generator: &dyn Generator, own: std::ops::Range<u32>) -> Vec<(u32, u32)> {
    let mut links = Vec::new();
    generator.links(own, &mut |from, to| links.push((from, to)));
    links
}

/// One number for a whole graph.
fn fingerprint(graph: &Graph) -> u64 {
    (0..graph.size())
        .flat_map(|at| graph.neighbours(at).iter().map(move |&to| (at, to)))
        .fold(0, |so_far, (at, to)| hash(so_far, at.into(), to.into()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ranges_together_are_the_whole(seed: u64, cuts in prop::collection::vec(0f64..1.0, 0..6)) {
        for (shape, size) in examples() {
            let generator = shape.generator(Some(size), seed).unwrap();
            let mut ends: Vec<u32> = cuts.iter().map(|cut| (cut * f64::from(size)) as u32).chain([0, size]).collect();
            ends.sort_unstable();
            let mut apart = Vec::new();
            for pair in ends.windows(2) {
                let links = links_of(&*generator, pair[0]..pair[1]);
                prop_assert!(links.iter().all(|link| (pair[0]..pair[1]).contains(&link.0)), "{shape}");
                apart.extend(links);
            }
            prop_assert!(apart.is_sorted_by_key(|link| link.0), "{shape}");
            prop_assert_eq!(apart, links_of(&*generator, 0..size), "{}", shape);
        }
    }

    #[test]
    fn graphs_are_simple_connected_and_always_the_same(seed: u64) {
        for (shape, size) in examples() {
            let generator = shape.generator(Some(size), seed).unwrap();
            let graph = Graph::generate(&*generator).unwrap();
            graph.check_connected().unwrap();
            prop_assert_eq!(graph.size(), size);
            prop_assert_eq!(&graph, &Graph::generate(&*shape.generator(Some(size), seed).unwrap()).unwrap());
        }
    }

    #[test]
    fn the_random_ones_exist_in_every_size(
        size in 3u32..70, half in 1u32..10, rewire in 0f64..=1.0, links in 1u32..12, radius in 0.001f64..1.4, seed: u64,
    ) {
        let shapes = [
            Topology::SmallWorld { neighbours: (2 * half).min((size - 1) & !1), rewire },
            Topology::ScaleFree(links.min(size - 1)),
            Topology::Geometric(radius),
        ];
        for shape in shapes {
            let Network::Graph(graph) = shape.build(size, seed).unwrap() else { panic!("{shape} is a graph") };
            graph.check_connected().unwrap();
        }
    }
}

#[test]
fn other_seeds_make_other_graphs() {
    for (shape, size) in examples() {
        let [first, second] = [1, 2].map(|seed| shape.generator(Some(size), seed).unwrap());
        let chance = matches!(
            shape,
            Topology::Random { .. } | Topology::SmallWorld { .. } | Topology::ScaleFree(_) | Topology::Geometric(_)
        ) && shape != Topology::Geometric(0.01);
        assert_eq!(links_of(&*first, 0..size) != links_of(&*second, 0..size), chance, "{shape}");
    }
}

#[test]
fn a_file_is_a_shape() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("triangle");
    std::fs::write(&path, "0 1\n1 2 # and back\n2 0\n").expect("a temporary file");
    let shape: Topology = format!("file:{}", path.display()).parse().unwrap();
    let network = shape.build(3, 0).unwrap();
    assert_eq!((network.size(), network.links()), (3, 3));
    assert_eq!(shape.build_in_own_size(0), Ok(network));
    assert!(matches!(shape.build(2, 0), Err(BuildError::Line { line: 2, .. })));
    assert!(matches!(shape.build(4, 0), Err(BuildError::FileDisconnected { unreached: 3, .. })));
}

#[test]
fn the_graphs_never_change() {
    let found: Vec<String> = examples()
        .iter()
        .map(|(shape, size)| {
            let graph = Graph::generate(&*shape.generator(Some(*size), 7).unwrap()).unwrap();
            format!("{shape} {size}: {:016x}", fingerprint(&graph))
        })
        .collect();
    assert_eq!(found, FINGERPRINTS);
}

const FINGERPRINTS: [&str; 18] = [
    "ring 50: 16d2683a72ce9808",
    "complete 20: 2ec1f9e7c0aaa493",
    "line 30: 174f1bc63d1746cf",
    "star 30: 43b09dc2f7b208fb",
    "tree:3 40: b772abf8213012f0",
    "grid:5x7 35: 8d41bebb06567029",
    "torus:3x6 18: 175fb1b70088edc5",
    "hypercube:5 32: 0a2daddff248fc55",
    "random:5-10 50: 82f201ef2bd1b186",
    "random:5-10 999: ca300cee90e4426c",
    "random:3-3 500: ecbfd155a98da638",
    "random:1-5 301: ae2d975cfad2264d",
    "random:2-2 77: 51ca4c342712b72d",
    "small-world:6,0.3 60: 9baa096e6d778865",
    "small-world:8,1 41: e496ec5208ffc1f3",
    "scale-free:3 150: 5e826ee3f7c7aa50",
    "geometric:0.2 120: d243313f89fbde04",
    "geometric:0.01 90: 53ad75da9043cdb8",
];
