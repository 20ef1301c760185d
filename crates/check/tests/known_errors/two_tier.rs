//! Two-tier without its tie rule: of two subordinates that want to succeed the leader, the greater one does.

use hustings_algorithms::Algorithm;
use hustings_algorithms::graph::TwoTier;
use hustings_algorithms::graph::two_tier::Message;
use hustings_check::{FaultBudget, Model, Property, Timing};
use hustings_protocol::{Effect, Event, Id};

use crate::support::{Checked, Mutant, NodeEvent, check_protocol, complete, protocol, spec};

type Inner = <TwoTier as Algorithm>::Protocol<Id>;

/// A subordinate that wants to succeed the leader agrees to another one, and still wants to. The additional state tells
/// whether it has announced its candidacy.
fn is_polite(node: &mut NodeEvent<'_, Inner, bool>) -> Vec<Effect<Message<Id>>> {
    if let Event::Direct { from, message: Message::Failed(number) } = node.event
        && *node.extra
    {
        return vec![Effect::SendDirect(from, Message::Agree(number))];
    }
    let effects = node.original();
    for effect in &effects {
        match effect {
            Effect::SendDirect(_, Message::Failed(_)) => *node.extra = true,
            Effect::Lead | Effect::Follow(_) => *node.extra = false,
            _ => {}
        }
    }
    effects
}

fn two_tier(has_rule: bool) -> Checked {
    let budget = FaultBudget { crashes: 1, ..FaultBudget::default() };
    let mut model = Model { budget, timing: Timing::Patient, ..complete(&[1, 2, 3]) };
    let mut spec = spec::<TwoTier>(&mut model);
    spec.properties = vec![Property::OneLeader];
    let given = [("subordinates", "2"), ("noticing", "2")];
    match has_rule {
        true => check_protocol(|model| protocol::<TwoTier>(&given, model), model, spec),
        false => check_protocol(|model| Mutant::new(protocol::<TwoTier>(&given, model), is_polite), model, spec),
    }
}

#[test]
fn without_the_tie_rule_two_subordinates_become_leaders() {
    let checked = two_tier(false);
    let replayed = checked.violates(Property::OneLeader, 29).has_documented_end(7);
    assert_eq!(replayed.outcome.leaders.len(), 2);
    two_tier(true).holds();
}
