//! The rules of runs one by one, as one node keeps them.

use hustings_algorithms::runs::{Envelope, Number, Runs};
use hustings_algorithms::{About, Algorithm, NetworkKind, ring::TokenRing};
use hustings_protocol::{
    Change, Context, Effect, Event, Fact, Id, Peers, Place, Port, Protocol, Recorder, StartReason, Timer, kinds,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Word {
    /// To everybody, when started: how many there are.
    Count(u32),
    /// By id to whom it came from, and by the map to the last member.
    Thanks,
}
kinds!(Word: Count = "count", Thanks = "thanks");

/// An inner algorithm that shows what it sees: its state is how much it has heard.
struct Shown;

impl Protocol for Shown {
    type Rank = Id;
    type State = u32;
    type Message = Word;

    fn init(&self) -> u32 {
        0
    }
    fn handle_start<C: Context<Self>>(&self, _: &mut u32, _: StartReason, cx: &mut C) {
        cx.send_all_but(None, Word::Count(cx.size()));
        cx.set_timer(5, Timer { kind: 2, token: 77 });
    }
    fn handle_message<C: Context<Self>>(&self, heard: &mut u32, port: Port, _: Word, cx: &mut C) {
        *heard += 1;
        if let Some(rank) = cx.peer_rank(port) {
            cx.send_direct(rank, Word::Thanks);
        }
        cx.send_to(cx.size() - 1, Word::Thanks);
    }
    fn handle_direct<C: Context<Self>>(&self, _: &mut u32, from: Id, word: Word, cx: &mut C) {
        cx.follow(from);
        if let Word::Count(id) = word {
            cx.send_direct(Id(u64::from(id)), Word::Thanks);
        }
    }
    fn handle_unreachable_direct<C: Context<Self>>(&self, _: &mut u32, to: Id, _: Word, cx: &mut C) {
        cx.learn(Fact::Name(to.0));
    }
    fn handle_timer<C: Context<Self>>(&self, _: &mut u32, timer: Timer, cx: &mut C) {
        assert_eq!(timer, Timer { kind: 2, token: 77 }, "it is the timer that was set");
        cx.lead();
    }
}

type Deed = Effect<Envelope<Word>>;

/// Node 1 of four members, with ids 10, 11, 12 and 13. The lowest place starts.
struct Node {
    runs: Runs<Shown>,
    state: <Runs<Shown> as Protocol>::State,
}

impl Node {
    fn new() -> Self {
        let about = About { network: NetworkKind::Complete, ..TokenRing::ABOUT };
        let ranks: Vec<Id> = (10..14).map(Id).collect();
        let runs = Runs::new(Shown, &about, &ranks).with_lives(1);
        Node { state: runs.init(), runs }
    }

    fn handle(&mut self, event: Event<Envelope<Word>>) -> Vec<Deed> {
        let place = Place { rank: Id(11), index: 1, size: 4, peers: Peers::Unknown(0) };
        let mut effects = Vec::new();
        self.runs.handle(&mut self.state, event, &mut Recorder::new(&place, |_| 0, &mut effects));
        effects
    }

    fn told(&mut self, ids: &[u64]) -> Vec<Deed> {
        self.handle(Event::Change(Change::Reachable(ids.iter().copied().map(Id).collect())))
    }

    fn asked(&mut self, number: Number, ids: &[u64], fresh: bool) -> Vec<Deed> {
        let members = ids.iter().copied().map(Id).collect();
        self.handle(Event::Direct { from: number.id, message: Envelope::View { number, members, fresh } })
    }

    fn hears(&mut self, from: u64, view: Number, port: Option<u32>) -> Vec<Deed> {
        let message = Envelope::Inner { says: Word::Count(9), view, port: port.map(Port) };
        self.handle(Event::Direct { from: Id(from), message })
    }
}

fn number(counter: u64, id: u64) -> Number {
    Number { counter, id: Id(id), life: 0 }
}

fn view(to: u64, number: Number, ids: &[u64], fresh: bool) -> Deed {
    let members = ids.iter().copied().map(Id).collect();
    Effect::SendDirect(Id(to), Envelope::View { number, members, fresh })
}

fn says(to: u64, says: Word, view: Number, port: Option<u32>) -> Deed {
    Effect::SendDirect(Id(to), Envelope::Inner { says, view, port: port.map(Port) })
}

/// The timer that the last of these deeds sets.
fn timer(deeds: &[Deed]) -> Timer {
    match deeds.last() {
        Some(Effect::SetTimer(_, timer)) => *timer,
        other => panic!("no timer: {other:?}"),
    }
}

#[test]
fn the_first_view_is_all_members_and_starts_from_outside() {
    let mut node = Node::new();
    let deeds = node.handle(Event::Start(StartReason::Start));
    let count = |to, port| says(to, Word::Count(4), Number::FIRST, Some(port));
    assert_eq!(deeds[..3], [count(10, 0), count(12, 1), count(13, 1)]);
    assert_eq!(node.handle(Event::Timer(timer(&deeds))), [Effect::Lead]);
}

#[test]
fn a_message_of_the_first_view_draws_a_node_in() {
    let deeds = Node::new().hears(12, Number::FIRST, Some(1));
    let thanks = |to| says(to, Word::Thanks, Number::FIRST, None);
    assert_eq!(deeds, [thanks(12), thanks(13)], "the neighbour's rank is known, and so is the last member");
}

#[test]
fn who_reaches_others_than_before_takes_a_number_and_sends_the_view_before_its_mail() {
    let mut node = Node::new();
    node.handle(Event::Start(StartReason::Start));
    let one = number(1, 11);
    let deeds = node.told(&[11, 13]);
    let expected = [Effect::Forget, view(13, one, &[11, 13], false), says(13, Word::Count(2), one, Some(0))];
    assert_eq!(deeds[..3], expected, "it is the lowest now, and starts");
    assert_eq!(node.told(&[11, 13]), [], "that is no news");
    let two = number(2, 11);
    let wider = [view(10, two, &[10, 11, 13], true), view(13, two, &[10, 11, 13], false)];
    assert_eq!(node.told(&[10, 11, 13])[1..], wider, "fresh to the newcomer; not the lowest, it does not start");
}

#[test]
fn the_greatest_view_of_those_in_reach_is_adopted() {
    let mut node = Node::new();
    node.told(&[10, 11, 12]);
    assert_eq!(node.asked(number(1, 10), &[10, 11, 12], false), [], "its own is greater");
    assert_eq!(node.asked(number(5, 10), &[10, 11], false), [], "these are not those whom it reaches");
    assert_eq!(node.asked(number(1, 12), &[10, 11, 12], false), [Effect::Forget]);
    assert_eq!(node.told(&[10, 11, 12, 13])[1..2], [view(10, number(6, 11), &[10, 11, 12, 13], false)]);
}

#[test]
fn a_view_that_was_foreseen_is_adopted_when_members_are_lost_but_not_when_some_are_new() {
    let mut node = Node::new();
    node.told(&[10, 11, 12]);
    node.asked(number(4, 10), &[10, 11], false);
    node.asked(number(3, 12), &[11, 12], false);
    assert_eq!(node.told(&[10, 11]), [Effect::Forget], "it takes no number of its own");
    node.asked(number(7, 10), &[10, 11, 13], false);
    let deeds = node.told(&[10, 11, 13]);
    assert!(deeds.contains(&view(13, number(8, 11), &[10, 11, 13], true)), "13 may not know of that view: {deeds:?}");
}

#[test]
fn what_somebody_asked_for_before_it_went_down_is_void() {
    let mut node = Node::new();
    node.asked(number(2, 10), &[10, 11], false);
    let again = Number { life: 1, ..number(1, 10) };
    node.asked(again, &[10, 11], true);
    assert_eq!(node.told(&[10, 11]), []);
    assert_eq!(node.hears(10, number(2, 10), Some(0)), [], "the view of 10's earlier life was not adopted");
    assert_eq!(node.hears(10, again, Some(0)).len(), 2, "that of its present one was");
}

#[test]
fn who_came_up_waits_for_word_and_is_new_to_everybody() {
    let mut node = Node::new();
    assert_eq!(node.handle(Event::Rejoin), []);
    assert_eq!(node.handle(Event::Start(StartReason::Start)), []);
    assert_eq!(node.hears(12, Number::FIRST, Some(1)), []);
    assert_eq!(node.asked(number(3, 12), &[10, 11, 12, 13], false), []);
    let four = Number { life: 1, ..number(4, 11) };
    let fresh = |to| view(to, four, &[10, 11, 12, 13], true);
    assert_eq!(node.told(&[10, 11, 12, 13]), [fresh(10), fresh(12), fresh(13)]);
}

#[test]
fn older_mail_is_dropped_and_newer_mail_is_held() {
    let mut node = Node::new();
    node.told(&[10, 11, 12]);
    let new = number(2, 12);
    assert_eq!(node.hears(10, Number::FIRST, Some(0)), []);
    assert_eq!((node.hears(10, new, Some(0)), node.hears(12, new, Some(1))), (vec![], vec![]));
    let thanks = |to| says(to, Word::Thanks, new, None);
    let deeds = node.asked(new, &[10, 11, 12], false);
    assert_eq!(deeds, [Effect::Forget, thanks(10), thanks(12), thanks(12), thanks(12)]);
    assert_eq!(node.hears(13, new, Some(1)), [], "no member");
    assert_eq!(node.hears(12, new, Some(0)), [], "not its port");
    assert_eq!(node.hears(12, new, Some(7)), [], "no port");
}

#[test]
fn the_owner_of_a_view_answers_a_fresh_one_with_another_number_a_tick_later() {
    let mut node = Node::new();
    node.told(&[10, 11, 12]);
    let stranger = number(1, 10);
    let deeds = node.asked(stranger, &[10, 11], true);
    assert!(matches!(deeds[..], [Effect::SetTimer(1, _)]), "{deeds:?}");
    assert_eq!(node.asked(number(1, 10), &[10, 11, 12], true), [], "one answer is enough");
    let answer = node.handle(Event::Timer(timer(&deeds)));
    assert_eq!(answer[1..], [10, 12].map(|to| view(to, number(2, 11), &[10, 11, 12], false)), "which is not fresh");
    let deeds = node.asked(stranger, &[10, 11, 12], true);
    node.asked(number(3, 12), &[10, 11, 12], false);
    assert_eq!(node.handle(Event::Timer(timer(&deeds))), [], "there is a greater view by now");
}

#[test]
fn others_answer_only_an_owner_that_has_forgotten_its_view() {
    let mut node = Node::new();
    node.asked(number(3, 12), &[10, 11, 12, 13], false);
    assert_eq!(node.asked(number(1, 10), &[10, 11, 12, 13], true), [], "12 will answer that");
    assert_eq!(node.asked(number(1, 12), &[10, 11, 12, 13], false), [], "an old one that comes late");
    let deeds = node.asked(Number { life: 9, ..number(1, 12) }, &[10, 11, 12, 13], true);
    assert_eq!(node.handle(Event::Timer(timer(&deeds)))[1], view(10, number(4, 11), &[10, 11, 12, 13], false));
}

#[test]
fn a_timer_of_a_run_that_is_over_does_nothing() {
    let mut node = Node::new();
    let deeds = node.handle(Event::Start(StartReason::Start));
    let old = timer(&deeds);
    let new = timer(&node.told(&[11, 12]));
    assert_ne!(old, new);
    assert_eq!(node.handle(Event::Timer(old)), []);
    assert_eq!(node.handle(Event::Timer(new)), [Effect::Lead]);
    assert_eq!(node.handle(Event::Timer(new)), [], "it was due once");
}

#[test]
fn a_stale_timer_is_no_sign_of_life() {
    let mut node = Node::new();
    let old = timer(&node.handle(Event::Start(StartReason::Start)));
    node.told(&[10, 11, 12]);
    let before = node.state.clone();
    assert_eq!(node.handle(Event::Timer(old)), []);
    assert_ne!(node.state, before, "its place on the list is free");
    assert!(!node.runs.acted(&before, &node.state), "but nothing has happened");
    node.hears(10, number(1, 11), Some(0));
    assert!(node.runs.acted(&before, &node.state), "the inner algorithm has heard something");
}

/// Who is outside the view is down for the inner algorithm, whether it is on the map or not.
#[test]
fn mail_by_id_to_somebody_outside_the_view_comes_back() {
    for outside in [13, 77] {
        let mut node = Node::new();
        node.told(&[10, 11, 12]);
        let own = number(1, 11);
        let asks = |id| Event::Direct {
            from: Id(12),
            message: Envelope::Inner { says: Word::Count(id), view: own, port: None },
        };
        assert_eq!(node.handle(asks(10)), [Effect::Follow(Id(12)), says(10, Word::Thanks, own, None)]);
        let deeds = node.handle(asks(outside));
        assert!(matches!(deeds[..], [Effect::Follow(Id(12)), Effect::SetTimer(2, _)]), "{deeds:?}");
        let back = timer(&deeds);
        let mut later = Node { runs: Node::new().runs, state: node.state.clone() };
        assert_eq!(node.handle(Event::Timer(back)), [Effect::Learn(Fact::Name(outside.into()))]);
        later.told(&[11, 12]);
        assert_eq!(later.handle(Event::Timer(back)), [], "the run is over");
    }
}
