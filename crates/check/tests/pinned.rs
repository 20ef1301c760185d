//! How many worlds small elections have. These numbers change when an algorithm or the model does: then somebody should
//! have meant it.

#[allow(dead_code, reason = "every test uses some of it")]
mod support;

use hustings_algorithms::anonymous::ItaiRodeh;
use hustings_algorithms::complete::{Bully, Campaigner, ImprovedBully};
use hustings_algorithms::graph::{Aefa, EchoExtinction, Tree};
use hustings_algorithms::ring::{
    ChangRoberts, DolevKlaweRodeh, Franklin, HirschbergSinclair, LeLann, Peterson, TokenRing,
};
use hustings_algorithms::runs::Runs;
use hustings_algorithms::{Algorithm, Initiators};
use hustings_check::{Budget, Channels, Check, Most, Promise, Scene, Timing};
use hustings_protocol::Id;

use support::{check, complete, ids, promise, protocol, ring};

/// Worlds, generated worlds, depth, and the most messages (0: no bound).
type Counts = (u64, u64, u32, u64);

fn counts<A: Algorithm>(given: &[(&str, &str)], scene: Scene<Id>) -> Counts {
    let found = check::<A>(given, scene);
    let findings = found.holds();
    let most = match findings.most_messages {
        Most::Messages(most) => most,
        Most::Unbounded => 0,
    };
    (findings.worlds, findings.generated, findings.depth, most)
}

/// A ring with ids falling clockwise, started by whom the algorithm says.
fn falling<A: Algorithm>(size: u64, channels: Channels) -> Counts {
    let ranks: Vec<u64> = (1..=size).rev().collect();
    let starters = match A::ABOUT.initiators {
        Initiators::All => (0..size as u32).collect(),
        Initiators::LowestLive => vec![0],
    };
    counts::<A>(&[], Scene { channels, starters, ..ring(&ranks) })
}

#[test]
fn rings_that_keep_order() {
    assert_eq!(falling::<ChangRoberts>(3, Channels::Fifo), (149, 263, 12, 9));
    assert_eq!(falling::<ChangRoberts>(4, Channels::Fifo), (804, 1822, 18, 14));
    assert_eq!(falling::<LeLann>(3, Channels::Fifo), (188, 344, 15, 12));
    assert_eq!(falling::<LeLann>(4, Channels::Fifo), (1273, 3052, 24, 20));
    assert_eq!(falling::<Franklin>(3, Channels::Fifo), (663, 1682, 18, 15));
    assert_eq!(falling::<Franklin>(4, Channels::Fifo), (5435, 18158, 24, 20));
    assert_eq!(falling::<DolevKlaweRodeh>(3, Channels::Fifo), (258, 463, 18, 15));
    assert_eq!(falling::<DolevKlaweRodeh>(4, Channels::Fifo), (1463, 3382, 24, 20));
    assert_eq!(falling::<Peterson>(3, Channels::Fifo), (201, 361, 15, 12));
    assert_eq!(falling::<Peterson>(4, Channels::Fifo), (1203, 2818, 20, 16));
    assert_eq!(falling::<HirschbergSinclair>(3, Channels::Fifo), (1707, 4322, 29, 26));
    assert_eq!(falling::<HirschbergSinclair>(4, Channels::Fifo), (17447, 59519, 36, 34));
    assert_eq!(falling::<TokenRing>(3, Channels::Fifo), (8, 8, 7, 6));
    assert_eq!(falling::<TokenRing>(4, Channels::Fifo), (10, 10, 9, 8));
}

#[test]
fn rings_whose_messages_overtake_each_other() {
    assert_eq!(falling::<ChangRoberts>(3, Channels::Unordered), (218, 432, 12, 9));
    assert_eq!(falling::<ChangRoberts>(4, Channels::Unordered), (1745, 4643, 18, 14));
    assert_eq!(falling::<HirschbergSinclair>(3, Channels::Unordered), (5982, 20927, 30, 29));
    assert_eq!(falling::<TokenRing>(3, Channels::Unordered), (8, 8, 7, 6));
    assert_eq!(falling::<TokenRing>(4, Channels::Unordered), (10, 10, 9, 8));
}

#[test]
fn trees_and_graphs() {
    let line = || Scene::graph(ids(&[1, 3, 2]), &[(0, 1), (1, 2)]);
    let star = || Scene::graph(ids(&[1, 2, 3, 4]), &[(0, 1), (0, 2), (0, 3)]);
    let triangle = || Scene::complete(ids(&[1, 2, 3]));
    assert_eq!(counts::<Tree>(&[], line()), (186, 526, 11, 8));
    assert_eq!(counts::<Tree>(&[], star()), (1565, 6471, 16, 12));
    assert_eq!(counts::<EchoExtinction>(&[], line()), (201, 414, 11, 8));
    assert_eq!(counts::<EchoExtinction>(&[], star()), (4222, 13688, 18, 19));
    assert_eq!(counts::<EchoExtinction>(&[], triangle()), (1800, 4415, 18, 15));
    assert_eq!(counts::<Aefa>(&[], Scene { starters: vec![0], ..triangle() }), (77, 109, 18, 17));
    assert_eq!(counts::<Aefa>(&[], Scene { starters: vec![0], ..star() }), (39, 71, 14, 13));
    assert_eq!(counts::<Aefa>(&[], line()), (318, 698, 14, 11));
}

#[test]
fn complete_networks() {
    let scene = || Scene { timing: Timing::Bounded(1), ..complete(&[1, 2, 3]) };
    assert_eq!(counts::<Bully>(&[], scene()), (555, 1077, 17, 8));
    assert_eq!(counts::<ImprovedBully>(&[], scene()), (83, 131, 12, 6));
    assert_eq!(counts::<Campaigner>(&[], scene()), (83, 131, 12, 6));
}

#[test]
fn nodes_that_are_alike() {
    let scene = |ranks, channels| Scene { channels, ..ring(ranks) };
    assert_eq!(counts::<ItaiRodeh>(&[], scene(&[0, 1], Channels::Fifo)), (71, 125, 9, 0));
    assert_eq!(counts::<ItaiRodeh>(&[], scene(&[0, 1], Channels::Unordered)), (165, 319, 10, 0));
    assert_eq!(counts::<ItaiRodeh>(&[("ids", "2")], scene(&[0, 1, 2], Channels::Fifo)), (928, 2170, 21, 0));
    assert_eq!(counts::<ItaiRodeh>(&[("ids", "2")], scene(&[0, 1, 2], Channels::Unordered)), (9727, 27853, 30, 0));
}

/// Runs around Chang–Roberts among two, one of whom may go down.
fn in_runs() -> Check<Runs<<ChangRoberts as Algorithm>::Protocol<Id>>> {
    let scene = Scene { budget: Budget { crashes: 1, ..Budget::default() }, ..ring(&[1, 2]) };
    let runs = Runs::new(protocol::<ChangRoberts>(&[], &scene), &ChangRoberts::ABOUT, &scene.ranks).with_lives(0);
    let promise = Promise::of(&ChangRoberts::ABOUT, &scene, &[], true);
    Check::new(runs, scene, promise)
}

#[test]
fn several_threads_find_what_one_does() {
    let mut one = in_runs();
    one.threads = 1;
    let mut two = in_runs();
    two.threads = 2;
    let (one, two) = (one.run(), two.run());
    let counts = |findings: &hustings_check::Findings| {
        (
            findings.worlds,
            findings.generated,
            findings.depth,
            findings.ends,
            findings.most_messages,
            findings.is_vacuous,
        )
    };
    assert_eq!(counts(&one), (224, 485, 10, 4, Most::Messages(7), false));
    assert_eq!((counts(&two), &two.verdicts), (counts(&one), &one.verdicts));
}

/// Also where something is broken: the witness is the shortest one, whoever explored.
#[test]
fn several_threads_find_the_same_violation() {
    let found = |threads| {
        let mut scene = Scene { timing: Timing::Bounded(2), ..complete(&[1, 2, 3]) };
        let promise = promise::<Bully>(&mut scene);
        let mut check = Check::new(protocol::<Bully>(&[], &scene), scene, promise);
        check.threads = threads;
        let findings = check.run();
        let records = findings.witness.as_ref().map(|witness| check.records(witness));
        (findings.worlds, findings.generated, findings.depth, findings.verdicts, records)
    };
    assert!(found(1).4.is_some());
    assert_eq!(found(1), found(2));
}
