//! Complete networks whose time-outs are too short.

use hustings_algorithms::Algorithm;
use hustings_algorithms::complete::{Bully, Campaigner};
use hustings_check::{Property, Scene, Timing};
use hustings_protocol::{Effect, Event, Id, Protocol, Timer};

use crate::support::{Bent, Found, Turn, complete, examine, promise, protocol};

/// Messages take this many ticks at most, and the algorithm trusts that many.
fn bully(travel: &str, ranks: &[u64], most: u32, checked: &[Property]) -> Found {
    let mut scene = Scene { timing: Timing::Bounded(most), ..complete(ranks) };
    let mut promise = promise::<Bully>(&mut scene);
    promise.properties.retain(|property| checked.contains(property));
    examine(|scene| protocol::<Bully>(&[("T", travel)], scene), scene, promise)
}

#[test]
fn bully_elects_a_lower_one_when_its_time_out_is_shorter_than_a_round_trip() {
    let found = bully("1", &[1, 2], 2, &Property::ALL);
    found.breaks(Property::OneLeader, 7);
    let found = bully("1", &[1, 2], 2, &[Property::RightLeader]);
    found.breaks(Property::RightLeader, 4).is_on_the_page();
    bully("2", &[1, 2], 2, &Property::ALL).holds();
    bully("2", &[1, 2, 3], 2, &Property::ALL).holds();
}

/// An `ok` that comes late makes two of them lead. Among two, the lower one gives in; among three, somebody may hear
/// them in the wrong order, and nobody looks again.
#[test]
fn bullies_stay_split_when_an_answer_comes_late() {
    let found = bully("1", &[1, 2], 2, &[Property::OneLeader]);
    let shown = found.breaks(Property::OneLeader, 7).is_on_the_page();
    assert_eq!(shown.outcome.leaders, [0, 1]);
    bully("1", &[1, 2], 2, &[Property::Agreement]).holds();
    let found = bully("1", &[1, 2, 3], 2, &[Property::Agreement]);
    let shown = found.breaks(Property::Agreement, 18).is_on_the_page();
    assert_eq!((&shown.outcome.leaders[..], shown.outcome.agreement), (&[2][..], false));
}

type Inner = <Bully as Algorithm>::Protocol<Id>;
type Message = <Inner as Protocol>::Message;

const SLOW: Id = Id(2);
const HANDLE: Timer = Timer { kind: 0x40, token: 0 };
const DELAY: u64 = 2;

/// One node takes its time to handle what it is told.
fn slow(turn: &mut Turn<'_, Inner, Vec<Event<Message>>>) -> Vec<Effect<Message>> {
    match turn.event.clone() {
        event @ Event::Message { .. } if turn.place.rank == SLOW => {
            turn.extra.push(event);
            vec![Effect::SetTimer(DELAY, HANDLE)]
        }
        Event::Timer(HANDLE) if !turn.extra.is_empty() => {
            let event = turn.extra.remove(0);
            turn.handle(event)
        }
        _ => turn.straight(),
    }
}

fn with_a_slow_one(handling: &str) -> Found {
    let mut scene = Scene { timing: Timing::Bounded(1), ..complete(&[1, 2]) };
    let promise = promise::<Bully>(&mut scene);
    examine(|scene| Bent::new(protocol::<Bully>(&[("M", handling)], scene), slow), scene, promise)
}

/// All messages are in time; but `M`, the time that it takes to handle one, is not what it is said to be.
#[test]
fn bully_elects_a_lower_one_when_a_slow_node_answers_late() {
    with_a_slow_one("0").breaks(Property::OneLeader, 9).is_on_the_page();
    with_a_slow_one("2").holds();
}

fn campaigner(travel: &str, checked: &[Property]) -> Found {
    let mut scene = Scene { timing: Timing::Bounded(2), ..complete(&[1, 2, 3]) };
    let mut promise = promise::<Campaigner>(&mut scene);
    promise.properties.retain(|property| checked.contains(property));
    examine(|scene| protocol::<Campaigner>(&[("T", travel)], scene), scene, promise)
}

/// The greatest campaigner's number comes after the detector has announced another.
#[test]
fn campaigner_names_the_wrong_one_when_an_answer_comes_late() {
    campaigner("1", &Property::ALL).breaks(Property::OneLeader, 12);
    campaigner("1", &[Property::RightLeader]).breaks(Property::RightLeader, 6);
    let found = campaigner("1", &[Property::Agreement]);
    let shown = found.breaks(Property::Agreement, 18).is_on_the_page();
    assert_eq!(shown.outcome.leaders, [1, 2]);
    campaigner("2", &Property::ALL).holds();
}
