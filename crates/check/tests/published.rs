//! Chang–Roberts against the figures that TLC publishes for the model in tlaplus/Examples.
//!
//! That model (`specifications/chang_roberts`, three nodes) makes other choices than ours, and all of them can be made
//! here too: messages are sets, so they overtake each other; the winner says nothing; every node takes its first step
//! before it receives anything, also one that is no initiator; one that is none has lost from the beginning; the least
//! id wins, so that ids rising clockwise there are ids falling here; and all subsets of initiators are one graph.

#[allow(dead_code, reason = "every test uses some of it")]
mod support;

use hustings_algorithms::Algorithm;
use hustings_algorithms::ring::ChangRoberts;
use hustings_check::{Channels, Check, Findings, Scene};
use hustings_protocol::{Effect, Id, Protocol};

use support::{Bent, Turn, promise, protocol, ring};

type Inner = <ChangRoberts as Algorithm>::Protocol<Id>;
type Message = <Inner as Protocol>::Message;
type State = <Inner as Protocol>::State;

/// What TLC reports: distinct states, generated states, and the length of the longest shortest way in states.
const DISTINCT: u64 = 137;
const GENERATED: u64 = 227;
const DEPTH: u32 = 10;

/// The winner says nothing, and who is not in the race does not remember that a message came by.
fn as_in_tla(turn: &mut Turn<'_, Inner, ()>) -> Vec<Effect<Message>> {
    let before = *turn.state;
    let effects = turn.straight();
    if before == State::Idle && *turn.state == State::Passive {
        *turn.state = State::Idle;
    }
    effects.into_iter().filter(|effect| !matches!(effect, Effect::Send(_, Message::Elected(_)))).collect()
}

fn explored(channels: Channels, initiators: Vec<u32>) -> Findings {
    let falling = ring(&[3, 2, 1]);
    let mut scene = Scene { channels, starters: initiators, first_steps: true, ..falling };
    let mut promise = promise::<ChangRoberts>(&mut scene);
    promise.properties.clear();
    scene.notes_entrants = false;
    Check::new(Bent::new(protocol::<ChangRoberts>(&[], &scene), as_in_tla), scene, promise).run()
}

/// The worlds, the generated ones and the depth of all subsets of initiators together.
fn totals(channels: Channels) -> (u64, u64, u32) {
    let subset = |bits: u32| (0..3).filter(|at| bits >> at & 1 == 1).collect();
    let all: Vec<Findings> = (0..8).map(|bits| explored(channels, subset(bits))).collect();
    let depth = all.iter().map(|findings| findings.depth).max().unwrap_or(0);
    (
        all.iter().map(|findings| findings.worlds).sum(),
        all.iter().map(|findings| findings.generated).sum(),
        // TLC counts the worlds on the way, not the steps between them.
        depth + 1,
    )
}

#[test]
fn three_nodes_have_as_many_worlds_as_tlc_counts() {
    assert_eq!(totals(Channels::Unordered), (DISTINCT, GENERATED, DEPTH));
}

/// FIFO links have fewer.
#[test]
fn links_that_keep_order_have_a_few_worlds_less() {
    assert_eq!(totals(Channels::Fifo), (120, 188, 10));
}
