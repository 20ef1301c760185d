//! State counts of small elections. A change of an algorithm or of the model changes them, and must be intended.

use crate::support;

use hustings_algorithms::anonymous::ItaiRodeh;
use hustings_algorithms::complete::{Bully, Campaigner, ImprovedBully};
use hustings_algorithms::graph::{Aefa, EchoExtinction, Tree};
use hustings_algorithms::ring::{
    ChangRoberts, DolevKlaweRodeh, Franklin, HirschbergSinclair, LeLann, Peterson, TokenRing,
};
use hustings_algorithms::runs::Runs;
use hustings_algorithms::{Algorithm, Initiators};
use hustings_check::{Channels, Check, FaultBudget, Findings, MaxMessages, Model, Property, Spec, Timing};
use hustings_protocol::Id;
use hustings_sim::erased::DynProtocol;

use support::{check, complete, erased_check, ids, protocol, ring, spec};

/// States, generated states, depth, and the maximum number of messages (0: unbounded).
type Counts = (u64, u64, u32, u64);

fn counts<A: Algorithm>(given: &[(&str, &str)], model: Model<Id>) -> Counts {
    let checked = check::<A>(given, model);
    let findings = checked.holds();
    let most = match findings.max_messages {
        MaxMessages::Bounded(most) => most,
        MaxMessages::Unknown | MaxMessages::Unbounded => 0,
    };
    (findings.states, findings.generated, findings.depth, most)
}

/// A ring with descending ids, started by the algorithm's default initiators.
fn descending<A: Algorithm>(size: u64, channels: Channels) -> Counts {
    let ranks: Vec<u64> = (1..=size).rev().collect();
    let initiators = match A::ABOUT.initiators {
        Initiators::All => (0..size as u32).collect(),
        Initiators::LowestLive => vec![0],
    };
    counts::<A>(&[], Model { channels, initiators, ..ring(&ranks) })
}

#[test]
fn fifo_rings() {
    assert_eq!(descending::<ChangRoberts>(3, Channels::Fifo), (149, 263, 12, 9));
    assert_eq!(descending::<ChangRoberts>(4, Channels::Fifo), (804, 1822, 18, 14));
    assert_eq!(descending::<LeLann>(3, Channels::Fifo), (188, 344, 15, 12));
    assert_eq!(descending::<LeLann>(4, Channels::Fifo), (1273, 3052, 24, 20));
    assert_eq!(descending::<Franklin>(3, Channels::Fifo), (663, 1682, 18, 15));
    assert_eq!(descending::<Franklin>(4, Channels::Fifo), (5435, 18158, 24, 20));
    assert_eq!(descending::<DolevKlaweRodeh>(3, Channels::Fifo), (258, 463, 18, 15));
    assert_eq!(descending::<DolevKlaweRodeh>(4, Channels::Fifo), (1463, 3382, 24, 20));
    assert_eq!(descending::<Peterson>(3, Channels::Fifo), (201, 361, 15, 12));
    assert_eq!(descending::<Peterson>(4, Channels::Fifo), (1203, 2818, 20, 16));
    assert_eq!(descending::<HirschbergSinclair>(3, Channels::Fifo), (1707, 4322, 29, 26));
    assert_eq!(descending::<HirschbergSinclair>(4, Channels::Fifo), (17447, 59519, 36, 34));
    assert_eq!(descending::<TokenRing>(3, Channels::Fifo), (8, 8, 7, 6));
    assert_eq!(descending::<TokenRing>(4, Channels::Fifo), (10, 10, 9, 8));
}

#[test]
fn unordered_rings() {
    assert_eq!(descending::<ChangRoberts>(3, Channels::Unordered), (218, 432, 12, 9));
    assert_eq!(descending::<ChangRoberts>(4, Channels::Unordered), (1745, 4643, 18, 14));
    assert_eq!(descending::<HirschbergSinclair>(3, Channels::Unordered), (5982, 20927, 30, 29));
    assert_eq!(descending::<TokenRing>(3, Channels::Unordered), (8, 8, 7, 6));
    assert_eq!(descending::<TokenRing>(4, Channels::Unordered), (10, 10, 9, 8));
}

#[test]
fn trees_and_graphs() {
    let line = || Model::graph(ids(&[1, 3, 2]), &[(0, 1), (1, 2)]);
    let star = || Model::graph(ids(&[1, 2, 3, 4]), &[(0, 1), (0, 2), (0, 3)]);
    let triangle = || Model::complete(ids(&[1, 2, 3]));
    assert_eq!(counts::<Tree>(&[], line()), (186, 526, 11, 8));
    assert_eq!(counts::<Tree>(&[], star()), (1565, 6471, 16, 12));
    assert_eq!(counts::<EchoExtinction>(&[], line()), (201, 414, 11, 8));
    assert_eq!(counts::<EchoExtinction>(&[], star()), (4222, 13688, 18, 19));
    assert_eq!(counts::<EchoExtinction>(&[], triangle()), (1800, 4415, 18, 15));
    assert_eq!(counts::<Aefa>(&[], Model { initiators: vec![0], ..triangle() }), (77, 109, 18, 17));
    assert_eq!(counts::<Aefa>(&[], Model { initiators: vec![0], ..star() }), (39, 71, 14, 13));
    assert_eq!(counts::<Aefa>(&[], line()), (318, 698, 14, 11));
}

#[test]
fn complete_networks() {
    let model = || Model { timing: Timing::Bounded(1), ..complete(&[1, 2, 3]) };
    assert_eq!(counts::<Bully>(&[], model()), (555, 1077, 17, 8));
    assert_eq!(counts::<ImprovedBully>(&[], model()), (83, 131, 12, 6));
    assert_eq!(counts::<Campaigner>(&[], model()), (83, 131, 12, 6));
}

#[test]
fn anonymous_nodes() {
    let model = |ranks, channels| Model { channels, ..ring(ranks) };
    assert_eq!(counts::<ItaiRodeh>(&[], model(&[0, 1], Channels::Fifo)), (71, 125, 9, 0));
    assert_eq!(counts::<ItaiRodeh>(&[], model(&[0, 1], Channels::Unordered)), (165, 319, 10, 0));
    assert_eq!(counts::<ItaiRodeh>(&[("ids", "2")], model(&[0, 1, 2], Channels::Fifo)), (928, 2170, 21, 0));
    assert_eq!(counts::<ItaiRodeh>(&[("ids", "2")], model(&[0, 1, 2], Channels::Unordered)), (9727, 27853, 30, 0));
}

/// Chang–Roberts in runs, on two nodes, one of which may crash.
fn in_runs() -> Check<DynProtocol> {
    let model = Model { budget: FaultBudget { crashes: 1, ..FaultBudget::default() }, ..ring(&[1, 2]) };
    let runs =
        Runs::new(protocol::<ChangRoberts>(&[], &model), &ChangRoberts::ABOUT, &model.ranks).with_incarnations(0);
    let spec = Spec::of(&ChangRoberts::ABOUT, &model, &[], true);
    erased_check(runs, &model, spec)
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let mut one = in_runs();
    one.threads = 1;
    let mut two = in_runs();
    two.threads = 2;
    let (one, two) = (one.run(), two.run());
    let counts = |findings: &Findings| {
        (
            findings.states,
            findings.generated,
            findings.depth,
            findings.terminal_states,
            findings.max_messages,
            findings.is_vacuous,
        )
    };
    assert_eq!(counts(&one), (224, 485, 10, 4, MaxMessages::Bounded(7), false));
    assert_eq!((counts(&two), &two.verdicts), (counts(&one), &one.verdicts));
}

/// The result of a check with this number of threads, including the counterexample, as text.
fn result<A: Algorithm>(given: &[(&str, &str)], mut model: Model<Id>, checked: Property, threads: usize) -> String {
    let mut spec = spec::<A>(&mut model);
    spec.properties = vec![checked];
    spec.max_messages = Some(1);
    let mut check = erased_check(protocol::<A>(given, &model), &model, spec);
    check.threads = threads;
    let Findings { states, generated, depth, verdicts, counterexample, .. } = check.run();
    let counterexample = counterexample.expect("something violates it");
    let records = check.records(&counterexample);
    format!("{states} {generated} {depth} {verdicts:?} {:?} {records:?}", counterexample.repeats_from)
}

/// The counterexample does not depend on the number of threads either.
#[test]
fn the_counterexample_does_not_depend_on_the_number_of_threads() {
    let late = || Model { timing: Timing::Bounded(2), ..complete(&[1, 2, 3]) };
    let unordered = || Model { channels: Channels::Unordered, ..ring(&[0, 1, 2]) };
    let crash = || Model { budget: FaultBudget { crashes: 1, ..FaultBudget::default() }, ..ring(&[1, 3, 2, 4]) };
    for _ in 0..5 {
        let bully = |threads| result::<Bully>(&[], late(), Property::OneLeader, threads);
        assert_eq!(bully(1), bully(2));
        let itai_rodeh = |threads| result::<ItaiRodeh>(&[("rounds", "off")], unordered(), Property::Agreement, threads);
        assert_eq!(itai_rodeh(1), itai_rodeh(2));
        let token_ring = |threads| result::<TokenRing>(&[], crash(), Property::Termination, threads);
        assert_eq!(token_ring(1), token_ring(2));
        let franklin = |threads| result::<Franklin>(&[], ring(&[4, 3, 2, 1]), Property::MessageBound, threads);
        assert_eq!(franklin(1), franklin(2));
    }
}
