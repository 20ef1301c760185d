//! Chang–Roberts against the figures that TLC publishes for the model in tlaplus/Examples.
//!
//! That model (`specifications/chang_roberts`, three nodes) differs from ours, and the test makes the same choices.
//! Messages are sets, so links are unordered. The winner announces nothing. Every node wakes up before it receives a
//! message, and nodes that are not initiators have lost from the beginning. The least id wins, so the test uses
//! descending ids. All subsets of initiators belong to one graph.

use crate::support;

use hustings_algorithms::Algorithm;
use hustings_algorithms::ring::ChangRoberts;
use hustings_check::{Channels, Findings, Model};
use hustings_protocol::{Effect, Id, Protocol};

use support::{Mutant, NodeEvent, erased_check, protocol, ring, spec};

type Inner = <ChangRoberts as Algorithm>::Protocol<Id>;
type Message = <Inner as Protocol>::Message;
type State = <Inner as Protocol>::State;

/// The figures of TLC: distinct states, generated states, and the depth, counted in states.
const DISTINCT: u64 = 137;
const GENERATED: u64 = 227;
const DEPTH: u32 = 10;

/// The winner announces nothing, and a node that is not a candidate does not record that a message passed.
fn as_in_tla(node: &mut NodeEvent<'_, Inner, ()>) -> Vec<Effect<Message>> {
    let before = *node.state;
    let effects = node.original();
    if before == State::Idle && *node.state == State::Passive {
        *node.state = State::Idle;
    }
    effects.into_iter().filter(|effect| !matches!(effect, Effect::Send(_, Message::Elected(_)))).collect()
}

fn explored(channels: Channels, initiators: Vec<u32>) -> Findings {
    let descending = ring(&[3, 2, 1]);
    let mut model = Model { channels, initiators, requires_wakeup: true, ..descending };
    let mut spec = spec::<ChangRoberts>(&mut model);
    spec.properties.clear();
    model.tracks_starts = false;
    erased_check(Mutant::new(protocol::<ChangRoberts>(&[], &model), as_in_tla), &model, spec).run()
}

/// States, generated states and depth, over all subsets of initiators.
fn totals(channels: Channels) -> (u64, u64, u32) {
    let subset = |bits: u32| (0..3).filter(|at| bits >> at & 1 == 1).collect();
    let all: Vec<Findings> = (0..8).map(|bits| explored(channels, subset(bits))).collect();
    let depth = all.iter().map(|findings| findings.depth).max().unwrap_or(0);
    (
        all.iter().map(|findings| findings.states).sum(),
        all.iter().map(|findings| findings.generated).sum(),
        // TLC counts the states on a path, not its steps.
        depth + 1,
    )
}

#[test]
fn counts_as_many_states_as_tlc() {
    assert_eq!(totals(Channels::Unordered), (DISTINCT, GENERATED, DEPTH));
}

/// FIFO links have fewer states.
#[test]
fn counts_fewer_states_on_fifo_links() {
    assert_eq!(totals(Channels::Fifo), (120, 188, 10));
}
