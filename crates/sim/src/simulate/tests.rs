use hustings_algorithms::NoParams;
use hustings_algorithms::complete::Bully;
use hustings_algorithms::ring::ChangRoberts;
use proptest::prelude::*;

use super::*;
use crate::scenario::{Action, FaultKind, Intervention, MessageChange, MessageRef, Start};
use crate::trace::{Limits, TraceFile};

fn ring(nodes: u32) -> ElectionSpec {
    ElectionSpec { nodes: Some(nodes), ..ElectionSpec::default() }
}

/// The same with these fields.
fn with(mut spec: ElectionSpec, fields: &[(Field, &str)]) -> ElectionSpec {
    fields.iter().for_each(|(field, text)| spec.set(*field, text).expect("the text is allowed"));
    spec
}

fn scenario(spec: &ElectionSpec) -> Scenario {
    spec.build::<ChangRoberts>(&NoParams).expect("the specification is valid").scenario
}

fn rejected(spec: &ElectionSpec) -> String {
    spec.build::<ChangRoberts>(&NoParams).expect_err("the specification is invalid").to_string()
}

fn read<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("the text is allowed")
}

#[test]
fn defaults_are_eight_nodes_whose_ids_are_their_positions() {
    let scenario = scenario(&ElectionSpec::default());
    assert_eq!(scenario.ids, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(scenario.starts.len(), 8);
    assert_eq!(scenario.until, 10_800);
}

#[test]
fn lists_say_how_many_nodes_there_are() {
    assert_eq!(scenario(&ElectionSpec { ids: Some(read("5,3,9")), ..ElectionSpec::default() }).network.size(), 3);
    assert_eq!(scenario(&ElectionSpec { values: Some(read("5,3")), ..ElectionSpec::default() }).network.size(), 2);
    let spec = ElectionSpec { ids: Some(read("5,3,9")), ..ring(4) };
    assert_eq!(rejected(&spec), "ids means 3 nodes, but nodes says 4");
    let spec = ElectionSpec { ids: Some(read("5,3,5")), ..ElectionSpec::default() };
    assert_eq!(rejected(&spec), "ids: positions 0 and 2 both have the id 5; all ids must be different");
}

#[test]
fn random_ids_are_a_permutation_that_the_seed_decides() {
    let spec = |seed| ElectionSpec { ids: Some(read("random")), seed, ..ring(50) };
    let mut ids = scenario(&spec(1)).ids;
    assert_eq!(ids, scenario(&spec(1)).ids);
    assert_ne!(ids, scenario(&spec(2)).ids);
    ids.sort_unstable();
    assert_eq!(ids, (0..50).collect::<Vec<_>>());
}

#[test]
fn those_who_are_down_at_the_start_do_not_start() {
    let spec = with(ring(4), &[(Field::Crashes, "0@0"), (Field::Joins, "2@9")]);
    let starts = |initiators: &str| -> Vec<u32> {
        let spec = ElectionSpec { initiators: Some(read(initiators)), ..spec.clone() };
        scenario(&spec).starts.iter().map(|start| start.at).collect()
    };
    assert_eq!(starts("all"), [1, 3]);
    assert_eq!(starts("random:2"), [1, 3]);
    assert!(starts("none").is_empty());
    let spec = ElectionSpec { initiators: Some(Starts::Random(3)), ..spec };
    assert_eq!(rejected(&spec), "initiators: only 2 nodes are up at tick 0; allowed: random:1 to random:2");
}

#[test]
fn a_start_signal_for_a_dead_node_is_allowed_and_pointed_out() {
    let spec = with(ElectionSpec { initiators: Some(read("1@2,1@5")), ..ring(4) }, &[(Field::Crashes, "1@3")]);
    let built = spec.build::<ChangRoberts>(&NoParams).expect("it is allowed");
    assert_eq!(built.scenario.starts, [Start { at: 1, tick: 2 }, Start { at: 1, tick: 5 }]);
    assert_eq!(built.warnings, [Warning::InitiatorDown { at: 1, tick: 5 }]);
}

#[test]
fn nodes_go_down_and_up_in_turn() {
    let sound = with(ring(4), &[(Field::Crashes, "1@3"), (Field::Crashes, "1@8"), (Field::Recoveries, "1@5")]);
    let kinds: Vec<FaultKind> = scenario(&sound).faults.into_iter().map(|fault| fault.what).collect();
    assert_eq!(kinds, [FaultKind::Crash(1), FaultKind::Recover(1), FaultKind::Crash(1)]);
    let twice = with(ring(4), &[(Field::Crashes, "1@3"), (Field::Crashes, "1@8")]);
    assert_eq!(rejected(&twice), "crashes[1]: position 1 is down then; allowed: a node that is up");
    let up = with(ring(4), &[(Field::Recoveries, "1@3")]);
    assert_eq!(rejected(&up), "recoveries[0]: position 1 is up then; allowed: a node that is down");
    let at_once = with(ring(4), &[(Field::Crashes, "1@3"), (Field::Recoveries, "1@3")]);
    assert!(rejected(&at_once).contains("another change at tick 3"));
    let late = with(ElectionSpec { until: Some(2), ..ring(4) }, &[(Field::Crashes, "1@3")]);
    assert_eq!(rejected(&late), "crashes[0]: the last tick is 2; allowed: ticks 0 to 2");
    let joined = with(ring(4), &[(Field::Crashes, "1@3"), (Field::Joins, "1@5")]);
    assert_eq!(rejected(&joined), "crashes[0]: position 1 is down then; allowed: a node that is up");
    let again = with(ring(4), &[(Field::Joins, "1@3"), (Field::Joins, "1@5")]);
    assert!(rejected(&again).contains("known already"));
}

#[test]
fn links_are_cut_and_mended_in_turn() {
    let sound = with(
        ring(4),
        &[(Field::Cuts, "0-3@2"), (Field::Cuts, "1-0@2"), (Field::Heals, "3-0@4"), (Field::Heals, "all@5")],
    );
    assert_eq!(scenario(&sound).faults.len(), 4);
    let none = with(ring(4), &[(Field::Cuts, "0-2@2")]);
    assert_eq!(rejected(&none), "cuts[0]: positions 0 and 2 are not linked; allowed: neighbours, such as 0-1");
    let twice = with(ring(4), &[(Field::Cuts, "0-1@2"), (Field::Cuts, "1-0@3")]);
    assert_eq!(rejected(&twice), "cuts[1]: the link is cut then; allowed: a link that is whole");
    let whole = with(ring(4), &[(Field::Heals, "0-1@2")]);
    assert_eq!(rejected(&whole), "heals[0]: the link is whole then; allowed: a link that is cut");
}

#[test]
fn a_partition_puts_the_rest_in_a_group_of_its_own() {
    let split = with(ring(6), &[(Field::Partitions, "0-1,5/2@7")]);
    assert_eq!(scenario(&split).faults[0].what, FaultKind::Partition(vec![1, 1, 2, 0, 0, 1]));
    let nothing = with(ring(6), &[(Field::Partitions, "0-5@7")]);
    assert!(rejected(&nothing).contains("all positions are in one group"));
    let beyond = with(ring(6), &[(Field::Partitions, "0-2/3-6@7")]);
    assert_eq!(rejected(&beyond), "partitions[0]: there is no position 6; allowed: 0 to 5");
}

#[test]
fn an_intervention_has_its_point_and_its_message() {
    let by_text = with(ring(4), &[(Field::Interventions, "2:drop:0.1")]);
    let action = Action::Message(MessageRef { record: 0, nth: 1, copy: false }, MessageChange::Drop);
    assert_eq!(scenario(&by_text).interventions, [Intervention { after: 2, action }]);
}

#[test]
fn ranks_follow_values_and_the_direction() {
    let leader = |spec: &ElectionSpec| simulate::<ChangRoberts>(&NoParams, &scenario(spec)).leader;
    assert_eq!(leader(&ring(4)), Some(3));
    assert_eq!(leader(&ElectionSpec { best: Best::Min, ..ring(4) }), Some(0));
    let valued = ElectionSpec { values: Some(read("1,7.5,7.5,-2")), ..ElectionSpec::default() };
    assert_eq!(leader(&valued), Some(2));
    assert_eq!(leader(&ElectionSpec { best: Best::Min, ..valued }), Some(3));
}

#[test]
fn a_trace_is_of_the_same_run() {
    let scenario = scenario(&ring(4));
    for format in Format::ALL {
        let mut text = Vec::new();
        let outcome =
            simulate_traced::<ChangRoberts>(&NoParams, &scenario, format, &mut text).expect("memory takes all");
        assert_eq!(outcome, simulate::<ChangRoberts>(&NoParams, &scenario));
        if format == Format::Jsonl {
            // A header; then every start signal and every message is handled.
            assert_eq!(text.iter().filter(|byte| **byte == b'\n').count() as u64, 1 + 4 + outcome.total());
        }
    }
}

#[test]
fn what_was_recorded_can_be_replayed_and_what_was_tampered_with_cannot() {
    let valued = ElectionSpec { values: Some(read("4,1,3,2")), ..ring(4) };
    let spec = with(valued, &[(Field::Crashes, "2@3"), (Field::Recoveries, "2@9")]);
    let scenario = scenario(&spec);
    let mut text = Vec::new();
    let outcome =
        simulate_traced::<ChangRoberts>(&NoParams, &scenario, Format::Jsonl, &mut text).expect("memory takes all");
    let replay =
        |text: &[u8]| replayed::<ChangRoberts>(TraceFile::open(text, Limits::default()).expect("it has a header"));
    let again = replay(&text).expect("nothing has changed");
    assert_eq!(again.outcome, outcome);
    assert_eq!(again.scenario.faults, scenario.faults);
    let text = String::from_utf8(text).expect("JSON is UTF-8");
    let without_a_line: Vec<&str> = text.lines().enumerate().filter(|(at, _)| *at != 5).map(|(_, line)| line).collect();
    assert!(matches!(replay(without_a_line.join("\n").as_bytes()), Err(ReplayFileError::Differs(_))));
    let another = text.replacen("chang-roberts", "franklin", 1);
    assert!(matches!(replay(another.as_bytes()), Err(ReplayFileError::Algorithm { .. })));
    let elsewhere = text.replacen(r#""kind":"ring""#, r#""kind":"complete""#, 1);
    assert!(matches!(replay(elsewhere.as_bytes()), Err(ReplayFileError::Network(_))));
}

proptest! {
    /// The formula and the engine never heard of each other.
    #[test]
    fn a_plain_election_takes_what_the_formula_says(seed: u64, nodes in 1u32..40, least: bool, starters in 1u32..40) {
        let spec = ElectionSpec {
            ids: Some(read("random")),
            seed,
            best: if least { Best::Min } else { Best::Max },
            initiators: Some(Starts::Random(starters.min(nodes))),
            ..ring(nodes)
        };
        let scenario = scenario(&spec);
        let outcome = simulate::<ChangRoberts>(&NoParams, &scenario);
        prop_assert_eq!(Some(outcome.by_kind), expected::<ChangRoberts>(&NoParams, &scenario));
    }
}

/// Otherwise it would fill the memory before the first message that a watch could count.
#[test]
fn matrices_of_messages_that_the_memory_cannot_hold_are_not_made() {
    let spec = ElectionSpec { nodes: Some(100), ..ElectionSpec::default() };
    let scenario = spec.build::<Bully>(&Default::default()).expect("the specification is valid").scenario;
    let run = |max_memory| simulate_alone::<Bully>(&Default::default(), &Scenario { max_memory, ..scenario.clone() });
    assert!(run(None).is_some_and(|outcome| outcome.agreement));
    assert_eq!(run(Some(1 << 60)), run(None));
    assert_eq!(run(Some(15_000)), None, "two matrices of 100 × 99 bytes");
}
