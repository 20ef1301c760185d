//! `--runs` (docs/model.md#runs) in the simulator: what it costs where nothing happens, its traces and their replay.

use crate::common::elections::{simulate, with};
use crate::common::erased::from_a_file;
use crate::common::sweep;

use hustings_algorithms::graph::EchoExtinction;
use hustings_algorithms::hierarchy::Divided;
use hustings_algorithms::ring::{ChangRoberts, TokenRing};
use hustings_algorithms::{Algorithm, NetworkKind};
use hustings_protocol::{Best, Record};
use hustings_sim::erased::DynMessage;
use hustings_sim::outcome::Outcome;
use hustings_sim::replay;
use hustings_sim::simulate::{
    ElectionSpec, Field, ReplayFileError, SpecError, SpecProblem, Warning, replayed, simulate_traced,
};
use hustings_sim::topology::Network;
use hustings_sim::trace::{FileError, Format, Limits, TraceFile};

use sweep::{Case, subjects};

fn in_runs(request: &ElectionSpec) -> ElectionSpec {
    ElectionSpec { runs: true, ..request.clone() }
}

/// The overlay of a view is the network that the algorithm gets when nothing is said.
#[test]
fn where_nothing_happens_runs_cost_nothing_and_change_nothing() {
    for subject in subjects() {
        let name = subject.about.name;
        let case = |size: u32| Case::of(&subject).with("-n", size).with("--ids", "random").with("--seed", 3);
        let sizes: Vec<u32> = (1..=10).filter(|&size| subject.fits(&Case::of(&subject), size)).collect();
        assert!(!sizes.is_empty() || subject.fits(&Case::of(&subject), 16), "{name}: no size was tried");
        for size in sizes {
            let plain = subject.watched(&case(size), None);
            let wrapped = subject.watched(&case(size).with("--runs", ""), None);
            let (views, inner) = wrapped.by_kind.split_last().expect("there is a kind for views");
            assert_eq!(*views, 0, "{name} of {size}");
            assert_eq!((wrapped.leader, wrapped.agreement), (plain.leader, plain.agreement), "{name} of {size}");
            // Inside a view there is no informer.
            if subject.about.network != NetworkKind::InformedRing {
                assert_eq!(inner, plain.by_kind, "{name} of {size}");
                // Not even a timer that is stale, and does nothing, makes it look busy for longer.
                assert_eq!(wrapped.time, plain.time, "{name} of {size}");
            }
        }
    }
}

/// Inside a view nobody is outside the ring: so there is no position for an informer, and nothing can happen to it.
#[test]
fn there_is_no_informer_in_runs() {
    let sixteen = ElectionSpec { nodes: Some(16), ..ElectionSpec::default() };
    let crash = |at: u32| with(sixteen.clone(), &[(Field::Crashes, &format!("{at}@5"))]);
    assert!(crash(16).build::<Divided>(&Default::default()).is_ok(), "without runs it can go down");
    match in_runs(&crash(16)).build::<Divided>(&Default::default()) {
        Err(SpecError { problem: SpecProblem::NoSuchPosition { at: 16, last: 15 }, .. }) => {}
        other => panic!("it is refused: {other:?}"),
    }
    let built = in_runs(&crash(15)).build::<Divided>(&Default::default()).expect("the request is sound");
    assert!(matches!(built.scenario.network, Network::Ring(16)));
    replays::<Divided>(&in_runs(&crash(15)));
}

/// Crashes, recoveries, a partition and its healing.
fn eventful(case: Case) -> Case {
    let case = case.with("--crash", "2@3").with("--recover", "2@9").with("--crash", "3@12");
    case.with("--partition", "0-1/2-3@15").with("--heal", "all@30")
}

#[test]
fn every_algorithm_replays_in_runs() {
    for subject in subjects() {
        let case = eventful(subject.small(Case::of(&subject).with("--runs", "")).0);
        let mut records: Vec<Record<DynMessage>> = Vec::new();
        let outcome = subject.watched(&case, Some(&mut records));
        assert!(outcome.agreement && outcome.by_kind.last() > Some(&0), "{case}: {outcome:?}");
        let (scenario, protocol, ranks) = subject.prepared(&case);
        let records = from_a_file(&protocol, &scenario, &records);
        let replayed = replay::replay(&protocol, &ranks, &scenario, records);
        let replayed = replayed.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(replayed, outcome, "{case}");
    }
}

fn faulty() -> ElectionSpec {
    let plain = ElectionSpec { nodes: Some(6), seed: 5, ..in_runs(&ElectionSpec::default()) };
    let fields = [
        (Field::Crashes, "2@3"),
        (Field::Crashes, "5@12"),
        (Field::Recoveries, "2@9"),
        (Field::Joins, "4@6"),
        (Field::Retirements, "0@40"),
        (Field::Partitions, "0-2/3-5@15"),
        (Field::Heals, "all@30"),
        (Field::Delay, "uniform:1-3"),
    ];
    with(plain, &fields)
}

fn trace<A: Algorithm>(request: &ElectionSpec) -> (Outcome, Vec<u8>) {
    let params = A::Params::default();
    let scenario = request.build::<A>(&params).expect("the request is sound").scenario;
    let mut file = Vec::new();
    let outcome = simulate_traced::<A>(&params, &scenario, Format::Jsonl, &mut file).expect("memory takes it");
    assert_eq!(outcome, simulate::<A>(&params, &scenario), "watching changes nothing");
    (outcome, file)
}

fn replayed_from<A: Algorithm>(file: &[u8]) -> Result<Outcome, ReplayFileError> {
    let file = TraceFile::open(file, Limits::default())?;
    replayed::<A>(file).map(|replayed| replayed.outcome)
}

fn replays<A: Algorithm>(request: &ElectionSpec) {
    let (outcome, file) = trace::<A>(request);
    assert!(outcome.agreement && outcome.by_kind.last() > Some(&0), "{}: {outcome:?}", A::ABOUT.name);
    assert_eq!(replayed_from::<A>(&file).expect("what was recorded replays"), outcome, "{}", A::ABOUT.name);
}

#[test]
fn a_recorded_run_replays_whatever_happened_in_it() {
    replays::<ChangRoberts>(&faulty());
    replays::<TokenRing>(&faulty());
    replays::<TokenRing>(&ElectionSpec { best: Best::Min, ..faulty() });
    replays::<ChangRoberts>(&ElectionSpec { values: "3,1,2,3,1,2".parse().ok(), ..faulty() });
}

#[test]
fn the_header_says_that_it_was_in_runs() {
    let (_, file) = trace::<TokenRing>(&faulty());
    let text = String::from_utf8(file).expect("it is text");
    let header = text.lines().next().unwrap_or_default();
    assert!(header.contains(r#""runs":true"#), "{header}");
    let plainly = text.replacen(r#""runs":true,"#, "", 1);
    let refusal =
        replayed_from::<TokenRing>(plainly.as_bytes()).expect_err("plain token-ring says nothing of the kind");
    assert!(matches!(refusal, ReplayFileError::File(FileError::Message { .. })), "{refusal}");
    let (_, plain) = trace::<TokenRing>(&ElectionSpec { nodes: Some(4), ..ElectionSpec::default() });
    assert!(!String::from_utf8(plain).expect("it is text").contains("runs"), "where it is not so, nothing is said");
}

#[test]
fn a_message_that_is_none_is_refused_also_inside_an_envelope() {
    let (_, file) = trace::<TokenRing>(&faulty());
    let text = String::from_utf8(file).expect("it is text").replace("coordinator", "co-ordinator");
    let refusal = replayed_from::<TokenRing>(text.as_bytes()).expect_err("there is no such message");
    assert!(matches!(refusal, ReplayFileError::File(FileError::Message { .. })), "{refusal}");
}

/// Every change makes all nodes send a view to all others. These do not count as a sign of a run that never ends.
#[test]
fn hundreds_of_nodes_in_runs_end_with_one_leader() {
    let crashes = |nodes: u32, all: &[&str]| {
        let plain = ElectionSpec { nodes: Some(nodes), runs: true, ..ElectionSpec::default() };
        with(plain, &all.iter().map(|one| (Field::Crashes, *one)).collect::<Vec<_>>())
    };
    let request = crashes(600, &["599@20", "17@21", "598@30"]);
    let outcome = trace_free::<ChangRoberts>(&request);
    assert_eq!((outcome.leader, outcome.hung, outcome.agreement, outcome.live), (Some(597), false, true, 597));
    let request = crashes(350, &["349@5", "3@9"]);
    let outcome = trace_free::<EchoExtinction>(&request);
    assert_eq!((outcome.leader, outcome.hung, outcome.agreement, outcome.live), (Some(348), false, true, 348));
}

fn trace_free<A: Algorithm>(request: &ElectionSpec) -> Outcome {
    let scenario = request.build::<A>(&Default::default()).expect("the request is sound").scenario;
    simulate::<A>(&Default::default(), &scenario)
}

#[test]
fn loss_in_runs_is_warned_of_beforehand() {
    let lossy = ElectionSpec { nodes: Some(4), loss: 0.1, ..in_runs(&ElectionSpec::default()) };
    let built = lossy.build::<ChangRoberts>(&Default::default()).expect("the request is sound");
    assert_eq!(built.warnings, [Warning::LossInRuns]);
    let plain = ElectionSpec { runs: false, ..lossy };
    assert_eq!(plain.build::<ChangRoberts>(&Default::default()).expect("the request is sound").warnings, []);
}

#[test]
fn a_trace_reads_well() {
    let three = ElectionSpec { nodes: Some(3), ..in_runs(&ElectionSpec::default()) };
    let request = with(three, &[(Field::Crashes, "2@0")]);
    let scenario = request.build::<TokenRing>(&Default::default()).expect("the request is sound").scenario;
    let mut out = Vec::new();
    simulate_traced::<TokenRing>(&Default::default(), &scenario, Format::Text, &mut out).expect("memory takes it");
    let text = String::from_utf8(out).expect("it is text");
    let expected = [
        "   0  node 0 (id 0)  starts → sends election detector 0 numbers (greatest 0) view [0, 0, 0] port 1 directly to 1",
        "   2  node 1 (id 1)  can reach 0 1 → names nobody; sends view number [1, 1, 0] members [0, 1] directly to 0",
        "   3  node 0 (id 0)  view number [1, 1, 0] members [0, 1] directly from 1 → names nobody; sends election detector 0 numbers (greatest 0) view [1, 1, 0] port 1 directly to 1",
    ];
    for line in expected {
        assert!(text.lines().any(|told| told == line), "missing: {line}\n{text}");
    }
}
