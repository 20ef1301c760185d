//! The result does not depend on the number of threads, also where ticks are busy enough to be shared out.

use hustings_algorithms::graph::echo::Echo;
use hustings_protocol::{Context, Id, Port, Protocol, Summons, kinds};
use hustings_sim::engine::fast::{self, Full};
use hustings_sim::rng::hash;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::Shape;
use serde::{Deserialize, Serialize};

/// Floods a few rounds of numbers that depend on everything a node has heard, in order; follows whom they point to.
#[derive(Debug)]
struct Babble;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Word {
    Even(u64, u8),
    Odd(u64, u8),
}
kinds!(Word: Even = "even", Odd = "odd");

impl Babble {
    fn say<C: Context<Self>>(heard: u64, life: u8, except: Option<Port>, cx: &mut C) {
        let Some(life) = life.checked_sub(1) else { return };
        let word = if heard.is_multiple_of(2) { Word::Even(heard, life) } else { Word::Odd(heard, life) };
        cx.send_all_but(except, word);
        if heard.is_multiple_of(97) {
            cx.send_direct(Id(heard % u64::from(cx.size())), Word::Odd(heard, 0));
        }
    }
}

impl Protocol for Babble {
    type Rank = Id;
    type State = u64;
    type Message = Word;

    fn init(&self) -> u64 {
        1
    }
    fn start<C: Context<Self>>(&self, heard: &mut u64, _: Summons, cx: &mut C) {
        *heard = hash(*heard, cx.draw(1 << 40), 0);
        Self::say(*heard, 4, None, cx);
    }
    fn receive<C: Context<Self>>(&self, heard: &mut u64, from: Port, word: Word, cx: &mut C) {
        let (Word::Even(number, life) | Word::Odd(number, life)) = word;
        *heard = hash(*heard, number, u64::from(from.0));
        cx.follow(Id(*heard % u64::from(cx.size())));
        if heard.is_multiple_of(5) {
            Self::say(*heard, life, Some(from), cx);
        }
    }
    fn receive_direct<C: Context<Self>>(&self, heard: &mut u64, from: Id, _: Word, cx: &mut C) {
        *heard = hash(*heard, from.0, 7);
        cx.lead();
    }
}

#[test]
fn any_number_of_threads_gives_the_same_outcome() {
    let network = Shape::Random { min: 5, max: 10 }.build(60_000, 3).unwrap();
    let mut scenario = Scenario::new(network).started_by_all();
    scenario.faults = (0..50).map(|at| Fault { tick: 2, what: FaultKind::Crash(at * 1000) }).collect();
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let outcomes = [1, 2, 3, 7].map(|threads| {
        scenario.threads = threads;
        let babble = fast::run::<_, Full>(&Babble, &ranks, &scenario);
        let mut one = scenario.clone();
        (one.starts, one.faults) = (vec![Start { at: 5, tick: 0 }], Vec::new());
        (babble, fast::run::<_, Full>(&Echo::new(), &ranks, &one))
    });
    let (babble, echo) = &outcomes[0];
    let echo = echo.as_ref().unwrap();
    assert_eq!(echo.total(), 2 * scenario.network.links());
    assert!(babble.as_ref().unwrap().total() > 500_000, "busy ticks are what this is about");
    assert!(outcomes.iter().all(|outcome| outcome == &outcomes[0]));
}
