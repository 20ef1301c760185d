//! Reachability updates (docs/model.md#faults: two ticks after a crash, recovery, cut or heal that concerns it, a live
//! node is told the set of nodes that it can reach), and what they mean for messages sent by id.

use hustings_protocol::{
    Change, Context, Effect, Event, Id, Loss, Port, Protocol, Record, StartReason, Timer, TraceEvent, kinds,
};
use hustings_sim::erased::DynProtocol;
use hustings_sim::replay::ReplayError;
use hustings_sim::scenario::FaultKind::{Crash, Cut, Heal, HealAll, Join, Partition, Recover, Retire};
use hustings_sim::scenario::{Delay, Fault, FaultKind, Scenario, Start};
use hustings_sim::simulate::simulate_fast;
use hustings_sim::topology::{Graph, Network};
use serde::{Deserialize, Serialize};

use crate::common::erased;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Note {
    Hello(u64),
}
kinds!(Note: Hello = "hello");

/// Listens, and forgets its leader when it is told something. A node that is started greets node 3 by its id in that
/// tick and the following ones.
struct Listener;

const GREETINGS: u32 = 12;

impl Protocol for Listener {
    type Rank = Id;
    type State = u32;
    type Message = Note;

    fn init(&self) -> u32 {
        0
    }
    fn observes_reachability(&self) -> bool {
        true
    }
    fn handle_start<C: Context<Self>>(&self, greeted: &mut u32, _: StartReason, cx: &mut C) {
        cx.send_direct(Id(3), Note::Hello(u64::from(*greeted)));
        *greeted += 1;
        if *greeted < GREETINGS {
            cx.set_timer(1, Timer { kind: 0, token: 0 });
        }
    }
    fn handle_message<C: Context<Self>>(&self, _: &mut u32, _: Port, _: Note, _: &mut C) {}
    fn handle_timer<C: Context<Self>>(&self, greeted: &mut u32, _: Timer, cx: &mut C) {
        self.handle_start(greeted, StartReason::Start, cx);
    }
    fn handle_change<C: Context<Self>>(&self, _: &mut u32, _: Change, cx: &mut C) {
        cx.forget();
    }
}

fn scenario(network: Network, faults: &[(u64, FaultKind)]) -> Scenario {
    let faults = faults.iter().map(|(tick, what)| Fault { tick: *tick, what: what.clone() }).collect();
    Scenario { faults, ..Scenario::new(network) }
}

fn ring(size: u32) -> Network {
    Network::Ring(size)
}

fn records(scenario: &Scenario) -> Vec<Record<Note>> {
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let (outcome, records) = erased::watch(Listener, &ranks, scenario);
    assert_eq!(outcome, erased::run(Listener, &ranks, scenario, None), "an observer changes nothing");
    let replayed = erased::replay(Listener, &ranks, scenario, &records);
    assert_eq!(replayed, Ok(outcome), "a run with words replays");
    records
}

/// When who was told what.
fn words(scenario: &Scenario) -> Vec<(u64, u32, Vec<u64>)> {
    let told = records(scenario).into_iter().filter_map(|record| match record.what {
        TraceEvent::Handled { event: Event::Change(Change::Reachable(ids)), peer, effects, .. } => {
            assert_eq!((record.cause, peer), (None, None), "a word has no cause");
            assert_eq!(effects, [Effect::Forget], "what a node does about it is carried out");
            Some((record.tick, record.node, ids.iter().map(|Id(id)| *id).collect()))
        }
        _ => None,
    });
    told.collect()
}

/// The same word to several.
fn told(tick: u64, nodes: &[u32], ids: &[u64]) -> Vec<(u64, u32, Vec<u64>)> {
    nodes.iter().map(|&node| (tick, node, ids.to_vec())).collect()
}

#[test]
fn a_crash_is_told_two_ticks_later_and_a_recovery_to_the_recovered_one_too() {
    let scenario = scenario(ring(4), &[(5, Crash(1)), (9, Recover(1))]);
    assert_eq!(words(&scenario), [told(7, &[0, 2, 3], &[0, 2, 3]), told(11, &[0, 1, 2, 3], &[0, 1, 2, 3])].concat());
}

#[test]
fn a_crash_that_is_over_at_once_is_two_words() {
    let scenario = scenario(ring(3), &[(5, Crash(1)), (6, Recover(1))]);
    assert_eq!(words(&scenario), [told(7, &[0, 2], &[0, 2]), told(8, &[0, 1, 2], &[0, 1, 2])].concat());
}

#[test]
fn who_restarts_within_a_tick_is_told_alone() {
    let scenario = scenario(ring(3), &[(5, Crash(1)), (5, Recover(1))]);
    assert_eq!(words(&scenario), told(7, &[1], &[0, 1, 2]));
}

#[test]
fn who_is_down_when_the_word_comes_does_not_hear_it_in_the_next_life() {
    let scenario = scenario(ring(3), &[(5, Crash(1)), (6, Crash(2)), (7, Recover(2))]);
    // Word for 2 is due at tick 7, and it is up then, but in another life.
    let expected = [told(7, &[0], &[0, 2]), told(8, &[0], &[0]), told(9, &[0, 2], &[0, 2])].concat();
    assert_eq!(words(&scenario), expected);
}

#[test]
fn who_is_to_join_is_missed_from_the_start_and_who_retires_after_its_tick() {
    let scenario = scenario(ring(3), &[(10, Join(2)), (20, Retire(0))]);
    let expected = [told(2, &[0, 1], &[0, 1]), told(12, &[0, 1, 2], &[0, 1, 2]), told(22, &[1, 2], &[1, 2])].concat();
    assert_eq!(words(&scenario), expected);
}

#[test]
fn one_cut_of_a_ring_is_no_news_and_the_second_one_parts_it() {
    let faults = [(5, Cut(0, 1)), (8, Cut(2, 3)), (12, Heal(0, 1)), (15, HealAll)];
    let parted = [told(10, &[0], &[0, 3]), told(10, &[1, 2], &[1, 2]), told(10, &[3], &[0, 3])].concat();
    let expected = [parted, told(14, &[0, 1, 2, 3], &[0, 1, 2, 3])].concat();
    assert_eq!(words(&scenario(ring(4), &faults)), expected);
}

#[test]
fn dead_nodes_relay_messages_and_are_not_reached() {
    let line = Graph::new(4, |link| (0..3).for_each(|at| link(at, at + 1))).expect("a line is a graph");
    let scenario = scenario(Network::Graph(line), &[(5, Crash(1))]);
    assert_eq!(words(&scenario), told(7, &[0, 2, 3], &[0, 2, 3]));
}

#[test]
fn a_partition_of_a_complete_network_is_told_to_all_and_ids_are_ascending() {
    let complete = Network::Complete(3);
    let faults = [(5, Partition(vec![0, 1, 0])), (6, Partition(vec![1, 1, 0]))];
    let scenario = Scenario { ids: vec![30, 20, 10], ..scenario(complete, &faults) };
    let first = [told(7, &[0], &[10, 30]), told(7, &[1], &[20]), told(7, &[2], &[10, 30])].concat();
    let second = [told(8, &[0, 1], &[20, 30]), told(8, &[2], &[10])].concat();
    assert_eq!(words(&scenario), [first, second].concat());
}

#[test]
fn reachability_updates_come_after_a_start_signal_and_before_messages() {
    let mut scenario = scenario(ring(4), &[(1, Crash(1)), (3, Cut(0, 1))]);
    scenario.starts = vec![Start { at: 0, tick: 0 }, Start { at: 3, tick: 3 }];
    let of_node_3 = records(&scenario).into_iter().filter(|record| (record.tick, record.node) == (3, 3));
    let events: Vec<&str> = of_node_3
        .map(|record| match record.what {
            TraceEvent::Handled { event: Event::Start(_), .. } => "start",
            TraceEvent::Handled { event: Event::Change(_), .. } => "word",
            TraceEvent::Handled { event: Event::Direct { .. }, .. } => "message",
            _ => "something else",
        })
        .collect();
    assert_eq!(events, ["start", "word", "message"]);
}

/// What reaches node 3 of what node 0 sends by id.
fn heard(scenario: &Scenario) -> Vec<u64> {
    let scenario = Scenario { starts: vec![Start { at: 0, tick: 0 }], ..scenario.clone() };
    let mut heard = Vec::new();
    for record in records(&scenario) {
        match record.what {
            TraceEvent::Handled { event: Event::Direct { message: Note::Hello(number), .. }, .. } => heard.push(number),
            TraceEvent::Lost { why, .. } => assert_eq!(why, Loss::Cut),
            _ => {}
        }
    }
    heard
}

#[test]
fn direct_messages_are_lost_only_while_no_path_of_links_is_left() {
    let faults = [(3, Cut(0, 1)), (5, Cut(2, 3)), (7, Heal(2, 3)), (8, Partition(vec![0, 1, 1, 1]))];
    // Hello k arrives at tick k+1: the ring is whole or a line until tick 4, apart in 5 and 6 (0 and 3 are still
    // neighbours), and parted from 8 on.
    assert_eq!(heard(&scenario(ring(4), &faults)), [0, 1, 2, 3, 4, 5, 6]);
    let apart = [(3, Cut(0, 3)), (5, Cut(1, 2)), (7, Heal(1, 2))];
    assert_eq!(heard(&scenario(ring(4), &apart)), [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn slow_direct_messages_get_through_if_there_is_a_path_when_they_arrive() {
    let mut scenario = scenario(ring(4), &[(4, Partition(vec![0, 1, 1, 1])), (6, HealAll)]);
    scenario.delay = Delay::Uniform(3, 3);
    assert_eq!(heard(&scenario), [0, 3, 4, 5, 6, 7, 8, 9, 10, 11], "1 and 2 arrive at ticks 4 and 5");
}

#[test]
fn only_the_general_engine_serves_those_who_watch_and_only_where_something_happens() {
    let ranks: Vec<Id> = (0..4).map(Id).collect();
    let (listener, ranks) = DynProtocol::new(Listener, &ranks);
    let fast = |scenario: &Scenario| simulate_fast(&listener, &ranks, scenario, true);
    assert_eq!(fast(&scenario(ring(4), &[(5, Crash(1))])), None);
    assert!(fast(&scenario(ring(4), &[])).is_some());
}

#[test]
fn word_that_cannot_be_does_not_replay() {
    let scenario = scenario(ring(4), &[(5, Crash(1))]);
    let forged = |forge: fn(&mut Record<Note>, &mut Vec<Id>)| {
        let mut records = records(&scenario);
        let mut word = records.pop().expect("the last record is word");
        let TraceEvent::Handled { event: Event::Change(Change::Reachable(ids)), .. } = &word.what else {
            panic!("the last record is word: {word:?}");
        };
        let mut ids = ids.to_vec();
        forge(&mut word, &mut ids);
        let event = Event::Change(Change::Reachable(ids.into()));
        word.what = TraceEvent::Handled { event, peer: None, coins: vec![], effects: vec![Effect::Forget] };
        let ranks: Vec<Id> = (0..4).map(Id).collect();
        records.push(word);
        match erased::replay(Listener, &ranks, &scenario, &records) {
            Err(ReplayError::Reachability { at: 3, problem, .. }) => problem,
            other => panic!("it replays, or fails otherwise: {other:?}"),
        }
    };
    assert_eq!(forged(|word, _| word.cause = Some(0)), "such an update has no cause");
    assert_eq!(forged(|_, ids| ids.reverse()), "the ids are not ascending");
    assert_eq!(forged(|_, ids| ids.truncate(2)), "its own id is missing");
    assert_eq!(forged(|_, ids| ids.push(Id(9))), "one of the ids does not exist");
}
