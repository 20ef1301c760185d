//! Anonymous nodes.

use hustings_algorithms::Algorithm;
use hustings_algorithms::anonymous::{ItaiRodeh, RingSize};
use hustings_check::{Channels, Model, Property, Verdict};
use hustings_protocol::{Effect, Fact, Id, Protocol};

use crate::support::{Checked, Mutant, NodeEvent, check, check_protocol, protocol, ring, spec};

fn itai_rodeh(rounds: &str, channels: Channels) -> Checked {
    check::<ItaiRodeh>(&[("rounds", rounds)], Model { channels, ..ring(&[0, 1, 2]) })
}

/// Fokkink's example 10.1: a node mistakes a candidate of the previous round for one of its own round.
#[test]
fn itai_rodeh_without_rounds_may_elect_nobody_on_unordered_links() {
    let checked = itai_rodeh("off", Channels::Unordered);
    let replayed = checked.violates(Property::Agreement, 12).is_documented();
    assert_eq!((replayed.outcome.leaders.len(), replayed.outcome.hung), (0, false));
    itai_rodeh("off", Channels::Fifo).holds();
    itai_rodeh("on", Channels::Unordered).holds();
}

/// Without random ids, identical nodes never elect a leader: no execution terminates.
#[test]
fn identical_nodes_without_random_ids_never_elect() {
    let model = |ranks| Model { requires_wakeup: true, ..ring(ranks) };
    for (ranks, steps) in [(&[0, 1][..], 10), (&[0, 1, 2], 21)] {
        let checked = check::<ItaiRodeh>(&[("ids", "1")], model(ranks));
        checked.violates(Property::Termination, steps);
        assert!(checked.findings.is_vacuous && checked.findings.terminal_states == 0);
        check::<ItaiRodeh>(&[("ids", "2")], model(ranks)).holds();
    }
    // If a message wakes the other nodes before they start, the first node to start differs from them.
    check::<ItaiRodeh>(&[("ids", "1")], ring(&[0, 1])).violates(Property::Termination, 10).is_documented();
}

/// A coin with one side is none: from every state agreement can be reached, but a fair scheduler can prevent it. In the
/// unit-delay simulation the election goes on, too.
#[test]
fn a_scheduler_that_is_fair_can_prevent_an_election_without_coins() {
    for ranks in [&[0, 1][..], &[0, 1, 2]] {
        for channels in [Channels::Fifo, Channels::Unordered] {
            let checked = check::<ItaiRodeh>(&[("ids", "1")], Model { channels, ..ring(ranks) });
            assert_eq!(checked.findings.of(Property::Termination), Some(Verdict::Violated), "{ranks:?} {channels:?}");
            let lasso = checked.findings.counterexample.as_ref().and_then(|found| found.repeats_from);
            assert!(lasso.is_some(), "{ranks:?} {channels:?}");
            check::<ItaiRodeh>(&[("ids", "2")], Model { channels, ..ring(ranks) }).holds();
        }
    }
}

type Inner = <RingSize as Algorithm>::Protocol<Id>;
type Message = <Inner as Protocol>::Message;

/// Turns a correct estimate of the size into agreement on position 0 as leader.
fn must_be_right(node: &mut NodeEvent<'_, Inner, ()>) -> Vec<Effect<Message>> {
    let mut effects = node.original();
    for effect in effects.clone() {
        if let Effect::Learn(Fact::Size(size)) = effect {
            effects.push(match (size == u64::from(node.place.size), node.place.index) {
                (true, 0) => Effect::Lead,
                (true, _) => Effect::Follow(Id(0)),
                (false, _) => Effect::Forget,
            });
        }
    }
    effects
}

fn sure_size(ranks: &[u64]) -> Checked {
    let model = ring(ranks);
    let mut spec = spec::<RingSize>(&mut model.clone());
    spec.goal = hustings_algorithms::Goal::Leader;
    spec.properties = vec![Property::Agreement];
    check_protocol(|model| Mutant::new(protocol::<RingSize>(&[("R", "2")], model), must_be_right), model, spec)
}

/// Four nodes can behave like two rings of two: no algorithm computes the size of an anonymous ring with certainty.
#[test]
fn four_nodes_may_estimate_two() {
    let checked = sure_size(&[0, 1, 2, 3]);
    let replayed = checked.violates(Property::Agreement, 12).is_documented();
    assert_eq!(replayed.outcome.estimate, Some(2));
    sure_size(&[0, 1]).holds();
    // The algorithm only guarantees that all estimates are equal and not too great.
    check::<RingSize>(&[("R", "2")], ring(&[0, 1, 2, 3])).holds();
}
