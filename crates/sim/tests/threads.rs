//! The result does not depend on the number of threads, even if ticks are large enough to run on several.

use std::marker::PhantomData;

use hustings_algorithms::graph::echo::Echo;
use hustings_protocol::{Context, Id, Message, Port, Protocol, SplitMix64, StartReason, kinds};
use hustings_sim::engine::{self, Driver};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::{Network, Topology};
use serde::{Deserialize, Serialize};

/// Floods messages for a few rounds. Their content depends on everything that the node has received, in order, and
/// decides which leader a node names.
#[derive(Debug, Default)]
struct Babble<W>(PhantomData<W>);

trait Word: Message {
    fn new(heard: u64, life: u8) -> Self;
    fn heard(&self) -> (u64, u8);
}

/// A message of 16 bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Long {
    Even(u64, u8),
    Odd(u64, u8),
}
kinds!(Long: Even = "even", Odd = "odd");

impl Word for Long {
    fn new(heard: u64, life: u8) -> Self {
        if heard.is_multiple_of(2) { Long::Even(heard, life) } else { Long::Odd(heard, life) }
    }
    fn heard(&self) -> (u64, u8) {
        let (Long::Even(number, life) | Long::Odd(number, life)) = self;
        (*number, *life)
    }
}

/// A message of one byte.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Short(u8);

impl Message for Short {
    const KINDS: &'static [&'static str] = &["short"];
    fn kind(&self) -> usize {
        0
    }
}

impl Word for Short {
    fn new(heard: u64, life: u8) -> Self {
        Short(heard as u8 & !7 | life)
    }
    fn heard(&self) -> (u64, u8) {
        (u64::from(self.0), self.0 & 7)
    }
}

impl<W: Word> Babble<W> {
    fn say<C: Context<Self>>(heard: u64, life: u8, except: Option<Port>, cx: &mut C) {
        let Some(life) = life.checked_sub(1) else { return };
        cx.send_all_but(except, W::new(heard, life));
        // The mailbox for tiny messages does not record the order between messages over links and by id. A protocol
        // that sends both to the same receiver in one tick needs the general engine.
        if heard.is_multiple_of(97) && (size_of::<W>() > 1 || cx.degree() + 1 < cx.size()) {
            cx.send_direct(Id(heard % u64::from(cx.size())), W::new(heard, 0));
        }
    }
}

impl<W: Word> Protocol for Babble<W> {
    type Rank = Id;
    type State = u64;
    type Message = W;

    fn init(&self) -> u64 {
        1
    }
    fn handle_start<C: Context<Self>>(&self, heard: &mut u64, _: StartReason, cx: &mut C) {
        *heard = SplitMix64::hash(*heard, cx.draw(1 << 40), 0);
        Self::say(*heard, 4, None, cx);
    }
    fn handle_message<C: Context<Self>>(&self, heard: &mut u64, from: Port, word: W, cx: &mut C) {
        let (number, life) = word.heard();
        *heard = SplitMix64::hash(*heard, number, u64::from(from.0));
        if heard.is_multiple_of(8) {
            cx.follow(Id(*heard % u64::from(cx.size())));
        }
        if heard.is_multiple_of(5 * u64::from(cx.degree()).div_ceil(10)) {
            Self::say(*heard, life, Some(from), cx);
        }
    }
    fn handle_direct<C: Context<Self>>(&self, heard: &mut u64, from: Id, _: W, cx: &mut C) {
        *heard = SplitMix64::hash(*heard, from.0, 7);
        cx.lead();
    }
}

/// The outcome with one thread. Any other number of threads must give the same.
fn same_on_any<P: Protocol<Rank = Id>>(driver: Driver<P>, protocol: &P, scenario: &Scenario) -> Outcome {
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let outcomes = [1, 2, 5].map(|threads| {
        let scenario = Scenario { threads, ..scenario.clone() };
        engine::run_with(driver, protocol, &ranks, &scenario).expect("the fast engine serves it")
    });
    assert!(outcomes.iter().all(|outcome| outcome == &outcomes[0]));
    let [outcome, ..] = outcomes;
    outcome
}

fn busy(network: Network) -> Scenario {
    let mut scenario = Scenario::new(network).started_by_all();
    let size = scenario.network.size();
    scenario.faults = (0..50).map(|at| Fault { tick: 2, what: FaultKind::Crash(at * (size / 50)) }).collect();
    scenario
}

#[test]
fn any_number_of_threads_gives_the_same_outcome_on_graphs() {
    let scenario = busy(Topology::Random { min: 5, max: 10 }.build(30_000, 3).unwrap());
    for total in [
        same_on_any(engine::on_graph::<_, true>, &Babble::<Long>(PhantomData), &scenario).total(),
        same_on_any(engine::on_graph::<_, true>, &Babble::<Short>(PhantomData), &scenario).total(),
    ] {
        assert!(total > 250_000, "busy ticks are what this is about");
    }
    let mut one = scenario.clone();
    (one.starts, one.faults) = (vec![Start { at: 5, tick: 0 }], Vec::new());
    assert_eq!(same_on_any(engine::on_graph::<_, true>, &Echo::new(), &one).total(), 2 * scenario.network.links());
}

#[test]
fn any_number_of_threads_gives_the_same_outcome_on_complete_networks() {
    let scenario = busy(Network::Complete(350));
    for total in [
        same_on_any(engine::on_complete::<_, true>, &Babble::<Long>(PhantomData), &scenario).total(),
        same_on_any(engine::on_complete::<_, true>, &Babble::<Short>(PhantomData), &scenario).total(),
    ] {
        assert!(total > 250_000, "busy ticks are what this is about");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_outcome_on_rings_with_a_map() {
    let scenario = busy(Network::Ring(30_000));
    let outcome = same_on_any(engine::on_mapped_ring::<_, true>, &Babble::<Long>(PhantomData), &scenario);
    assert!(outcome.total() > 60_000, "busy ticks are what this is about");
}
