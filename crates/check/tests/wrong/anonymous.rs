//! Nodes that are alike.

use hustings_algorithms::Algorithm;
use hustings_algorithms::anonymous::{ItaiRodeh, RingSize};
use hustings_check::{Channels, Property, Scene};
use hustings_protocol::{Effect, Fact, Id, Protocol};

use crate::support::{Bent, Found, Turn, check, examine, promise, protocol, ring};

fn itai_rodeh(rounds: &str, channels: Channels) -> Found {
    check::<ItaiRodeh>(&[("rounds", rounds)], Scene { channels, ..ring(&[0, 1, 2]) })
}

/// Fokkink's example 10.1: a candidate of the round before is taken for one of this round.
#[test]
fn itai_rodeh_without_rounds_can_end_without_a_leader_where_messages_overtake() {
    let found = itai_rodeh("off", Channels::Unordered);
    let shown = found.breaks(Property::Agreement, 12).is_on_the_page();
    assert_eq!((shown.outcome.leaders.len(), shown.outcome.hung), (0, false));
    itai_rodeh("off", Channels::Fifo).holds();
    itai_rodeh("on", Channels::Unordered).holds();
}

/// No election among nodes that are alike, and stay alike, ever ends: not even a lucky execution does.
#[test]
fn without_coins_nodes_that_are_alike_never_elect() {
    let scene = |ranks| Scene { first_steps: true, ..ring(ranks) };
    for ranks in [&[0, 1][..], &[0, 1, 2]] {
        let found = check::<ItaiRodeh>(&[("ids", "1")], scene(ranks));
        // The very first world is lost already.
        found.breaks(Property::Termination, 0);
        assert!(found.findings.is_vacuous && found.findings.ends == 0);
        check::<ItaiRodeh>(&[("ids", "2")], scene(ranks)).holds();
    }
    // Where the first one to start draws the others in before they start, it is not alike.
    check::<ItaiRodeh>(&[("ids", "1")], ring(&[0, 1])).breaks(Property::Termination, 2).is_on_the_page();
}

type Inner = <RingSize as Algorithm>::Protocol<Id>;
type Message = <Inner as Protocol>::Message;

/// Holds the ring's size against the truth: who has found it follows the first position, which then leads.
fn must_be_right(turn: &mut Turn<'_, Inner, ()>) -> Vec<Effect<Message>> {
    let mut effects = turn.straight();
    for effect in effects.clone() {
        if let Effect::Learn(Fact::Size(size)) = effect {
            effects.push(match (size == u64::from(turn.place.size), turn.place.index) {
                (true, 0) => Effect::Lead,
                (true, _) => Effect::Follow(Id(0)),
                (false, _) => Effect::Forget,
            });
        }
    }
    effects
}

fn sure_size(ranks: &[u64]) -> Found {
    let scene = ring(ranks);
    let mut promise = promise::<RingSize>(&mut scene.clone());
    promise.goal = hustings_algorithms::Goal::Leader;
    promise.properties = vec![Property::Agreement];
    examine(|scene| Bent::new(protocol::<RingSize>(&[("R", "2")], scene), must_be_right), scene, promise)
}

/// What two nodes do can be done twice in a row by four: no algorithm computes a ring's size for sure.
#[test]
fn four_nodes_can_take_themselves_for_two() {
    let found = sure_size(&[0, 1, 2, 3]);
    let shown = found.breaks(Property::Agreement, 12).is_on_the_page();
    assert_eq!(shown.outcome.estimate, Some(2));
    sure_size(&[0, 1]).holds();
    // What is really promised: the same everywhere, and never more than there are.
    check::<RingSize>(&[("R", "2")], ring(&[0, 1, 2, 3])).holds();
}
