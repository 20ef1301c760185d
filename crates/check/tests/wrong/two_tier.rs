//! Two-tier without the rule that, of two subordinates that want to follow the leader, the greater one does.

use hustings_algorithms::Algorithm;
use hustings_algorithms::graph::TwoTier;
use hustings_algorithms::graph::two_tier::Message;
use hustings_check::{Budget, Property, Scene, Timing};
use hustings_protocol::{Effect, Event, Id};

use crate::support::{Bent, Found, Turn, complete, examine, promise, protocol};

type Inner = <TwoTier as Algorithm>::Protocol<Id>;

/// A subordinate that wants to follow the leader agrees that another one does, and goes on wanting it. It remembers
/// whether it has said so.
fn is_polite(turn: &mut Turn<'_, Inner, bool>) -> Vec<Effect<Message<Id>>> {
    if let Event::Direct { from, message: Message::Failed(number) } = turn.event
        && *turn.extra
    {
        return vec![Effect::SendDirect(from, Message::Agree(number))];
    }
    let effects = turn.straight();
    for effect in &effects {
        match effect {
            Effect::SendDirect(_, Message::Failed(_)) => *turn.extra = true,
            Effect::Lead | Effect::Follow(_) => *turn.extra = false,
            _ => {}
        }
    }
    effects
}

fn two_tier(has_rule: bool) -> Found {
    let budget = Budget { crashes: 1, ..Budget::default() };
    let mut scene = Scene { budget, timing: Timing::Patient, ..complete(&[1, 2, 3]) };
    let mut promise = promise::<TwoTier>(&mut scene);
    promise.properties = vec![Property::OneLeader];
    let given = [("subordinates", "2"), ("noticing", "2")];
    match has_rule {
        true => examine(|scene| protocol::<TwoTier>(&given, scene), scene, promise),
        false => examine(|scene| Bent::new(protocol::<TwoTier>(&given, scene), is_polite), scene, promise),
    }
}

#[test]
fn two_subordinates_promote_themselves_without_the_tie_rule() {
    let found = two_tier(false);
    let shown = found.breaks(Property::OneLeader, 29).ends_on_the_page(7);
    assert_eq!(shown.outcome.leaders.len(), 2);
    two_tier(true).holds();
}
