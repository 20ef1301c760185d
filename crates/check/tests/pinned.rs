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
use hustings_check::{Budget, Channels, Check, Findings, Most, Promise, Property, Scene, Timing};
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
    let runs =
        Runs::new(protocol::<ChangRoberts>(&[], &scene), &ChangRoberts::ABOUT, &scene.ranks).with_incarnations(0);
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
    let counts = |findings: &Findings| {
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

/// What was found of an algorithm by so many threads, with the execution that breaks a property.
fn found<A: Algorithm>(given: &[(&str, &str)], mut scene: Scene<Id>, checked: Property, threads: usize) -> String {
    let mut promise = promise::<A>(&mut scene);
    promise.properties = vec![checked];
    promise.most_messages = Some(1);
    let mut check = Check::new(protocol::<A>(given, &scene), scene, promise);
    check.threads = threads;
    let Findings { worlds, generated, depth, verdicts, witness, .. } = check.run();
    let witness = witness.expect("something breaks it");
    let records = check.records(&witness);
    format!("{worlds} {generated} {depth} {verdicts:?} {:?} {records:?}", witness.repeats_from)
}

/// Also where something is broken: the witness is the same one, whoever explored.
#[test]
fn several_threads_find_the_same_violation() {
    let late = || Scene { timing: Timing::Bounded(2), ..complete(&[1, 2, 3]) };
    let unordered = || Scene { channels: Channels::Unordered, ..ring(&[0, 1, 2]) };
    let crash = || Scene { budget: Budget { crashes: 1, ..Budget::default() }, ..ring(&[1, 3, 2, 4]) };
    for _ in 0..5 {
        let bully = |threads| found::<Bully>(&[], late(), Property::OneLeader, threads);
        assert_eq!(bully(1), bully(2));
        let itai_rodeh = |threads| found::<ItaiRodeh>(&[("rounds", "off")], unordered(), Property::Agreement, threads);
        assert_eq!(itai_rodeh(1), itai_rodeh(2));
        let token_ring = |threads| found::<TokenRing>(&[], crash(), Property::Termination, threads);
        assert_eq!(token_ring(1), token_ring(2));
        let franklin = |threads| found::<Franklin>(&[], ring(&[4, 3, 2, 1]), Property::MessageBound, threads);
        assert_eq!(franklin(1), franklin(2));
    }
}
