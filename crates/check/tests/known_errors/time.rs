//! Complete networks whose timeouts are too short.

use hustings_algorithms::Algorithm;
use hustings_algorithms::complete::{Bully, Campaigner};
use hustings_check::{Model, Property, Timing};
use hustings_protocol::{Effect, Event, Id, Protocol, Timer};

use crate::support::{Checked, Mutant, NodeEvent, check_protocol, complete, protocol, spec};

/// Messages take at most `most` ticks, and the algorithm expects at most `travel`.
fn bully(travel: &str, ranks: &[u64], most: u32, checked: &[Property]) -> Checked {
    let mut model = Model { timing: Timing::Bounded(most), ..complete(ranks) };
    let mut spec = spec::<Bully>(&mut model);
    spec.properties.retain(|property| checked.contains(property));
    check_protocol(|model| protocol::<Bully>(&[("T", travel)], model), model, spec)
}

#[test]
fn bully_elects_a_lower_node_if_its_timeout_is_too_short() {
    let checked = bully("1", &[1, 2], 2, &Property::ALL);
    checked.violates(Property::OneLeader, 7);
    let checked = bully("1", &[1, 2], 2, &[Property::RightLeader]);
    checked.violates(Property::RightLeader, 4).is_documented();
    bully("2", &[1, 2], 2, &Property::ALL).holds();
    bully("2", &[1, 2, 3], 2, &Property::ALL).holds();
}

/// A late `ok` makes two nodes lead. Among two, the lower one yields; among three, a node may receive the announcements
/// in the wrong order, and nothing corrects it.
#[test]
fn bully_may_stay_split_after_a_late_answer() {
    let checked = bully("1", &[1, 2], 2, &[Property::OneLeader]);
    let replayed = checked.violates(Property::OneLeader, 7).is_documented();
    assert_eq!(replayed.outcome.leaders, [0, 1]);
    bully("1", &[1, 2], 2, &[Property::Agreement]).holds();
    let checked = bully("1", &[1, 2, 3], 2, &[Property::Agreement]);
    let replayed = checked.violates(Property::Agreement, 18).is_documented();
    assert_eq!((&replayed.outcome.leaders[..], replayed.outcome.agreement), (&[2][..], false));
}

type Inner = <Bully as Algorithm>::Protocol<Id>;
type Message = <Inner as Protocol>::Message;

const SLOW: Id = Id(2);
const HANDLE: Timer = Timer { kind: 0x40, token: 0 };
const DELAY: u64 = 2;

/// One node handles messages late.
fn slow(node: &mut NodeEvent<'_, Inner, Vec<Event<Message>>>) -> Vec<Effect<Message>> {
    match node.event.clone() {
        event @ Event::Message { .. } if node.place.rank == SLOW => {
            node.extra.push(event);
            vec![Effect::SetTimer(DELAY, HANDLE)]
        }
        Event::Timer(HANDLE) if !node.extra.is_empty() => {
            let event = node.extra.remove(0);
            node.handle(event)
        }
        _ => node.original(),
    }
}

fn with_a_slow_one(handling: &str) -> Checked {
    let mut model = Model { timing: Timing::Bounded(1), ..complete(&[1, 2]) };
    let spec = spec::<Bully>(&mut model);
    check_protocol(|model| Mutant::new(protocol::<Bully>(&[("M", handling)], model), slow), model, spec)
}

/// All messages arrive in time, but handling one takes longer than `M`.
#[test]
fn bully_elects_a_lower_node_if_handling_is_slow() {
    with_a_slow_one("0").violates(Property::OneLeader, 9).is_documented();
    with_a_slow_one("2").holds();
}

fn campaigner(travel: &str, checked: &[Property]) -> Checked {
    let mut model = Model { timing: Timing::Bounded(2), ..complete(&[1, 2, 3]) };
    let mut spec = spec::<Campaigner>(&mut model);
    spec.properties.retain(|property| checked.contains(property));
    check_protocol(|model| protocol::<Campaigner>(&[("T", travel)], model), model, spec)
}

/// The greatest campaigner answers after the detector has announced another node.
#[test]
fn campaigner_names_the_wrong_node_after_a_late_answer() {
    campaigner("1", &Property::ALL).violates(Property::OneLeader, 12);
    campaigner("1", &[Property::RightLeader]).violates(Property::RightLeader, 6);
    let checked = campaigner("1", &[Property::Agreement]);
    let replayed = checked.violates(Property::Agreement, 18).is_documented();
    assert_eq!(replayed.outcome.leaders, [1, 2]);
    campaigner("2", &Property::ALL).holds();
}
