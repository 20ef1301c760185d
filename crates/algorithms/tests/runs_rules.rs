//! The rules of runs (docs/model.md#runs), one by one, at a single node.

use hustings_algorithms::runs::{Envelope, Runs, ViewNumber};
use hustings_algorithms::{About, Algorithm, NetworkKind, ring::TokenRing};
use hustings_protocol::{
    Change, Context, Effect, Event, Fact, Id, NodeInfo, Peers, Port, Protocol, Recorder, StartReason, Timer, kinds,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum InnerMessage {
    /// Sent to all on a start signal, with the number of members.
    Count(u32),
    /// Sent by id to the sender of a message, and by the map to the last member.
    Thanks,
}
kinds!(InnerMessage: Count = "count", Thanks = "thanks");

/// An inner algorithm that reveals what it sees. Its state is the number of messages that it has handled.
struct Probe;

impl Protocol for Probe {
    type Rank = Id;
    type State = u32;
    type Message = InnerMessage;

    fn init(&self) -> u32 {
        0
    }
    fn handle_start<C: Context<Self>>(&self, _: &mut u32, _: StartReason, cx: &mut C) {
        cx.send_all_but(None, InnerMessage::Count(cx.size()));
        cx.set_timer(5, Timer { kind: 2, token: 77 });
    }
    fn handle_message<C: Context<Self>>(&self, handled: &mut u32, port: Port, _: InnerMessage, cx: &mut C) {
        *handled += 1;
        if let Some(rank) = cx.peer_rank(port) {
            cx.send_direct(rank, InnerMessage::Thanks);
        }
        cx.send_to(cx.size() - 1, InnerMessage::Thanks);
    }
    fn handle_direct<C: Context<Self>>(&self, _: &mut u32, from: Id, message: InnerMessage, cx: &mut C) {
        cx.follow(from);
        if let InnerMessage::Count(id) = message {
            cx.send_direct(Id(u64::from(id)), InnerMessage::Thanks);
        }
    }
    fn handle_unreachable_direct<C: Context<Self>>(&self, _: &mut u32, to: Id, _: InnerMessage, cx: &mut C) {
        cx.learn(Fact::Name(to.0));
    }
    fn handle_timer<C: Context<Self>>(&self, _: &mut u32, timer: Timer, cx: &mut C) {
        assert_eq!(timer, Timer { kind: 2, token: 77 }, "the timer that was set");
        cx.lead();
    }
}

type NodeEffect = Effect<Envelope<InnerMessage>>;

/// Node 1 of four members with the ids 10, 11, 12 and 13. The lowest place starts.
struct Node {
    runs: Runs<Probe>,
    state: <Runs<Probe> as Protocol>::State,
}

impl Node {
    fn new() -> Self {
        let about = About { network: NetworkKind::Complete, ..TokenRing::ABOUT };
        let ranks: Vec<Id> = (10..14).map(Id).collect();
        let runs = Runs::new(Probe, &about, &ranks).with_incarnations(1);
        Node { state: runs.init(), runs }
    }

    fn handle(&mut self, event: Event<Envelope<InnerMessage>>) -> Vec<NodeEffect> {
        let place = NodeInfo { rank: Id(11), index: 1, size: 4, peers: Peers::Unknown(0) };
        let mut effects = Vec::new();
        self.runs.handle(&mut self.state, event, &mut Recorder::new(&place, |_| 0, &mut effects));
        effects
    }

    fn update_reachable(&mut self, ids: &[u64]) -> Vec<NodeEffect> {
        self.handle(Event::Change(Change::Reachable(ids.iter().copied().map(Id).collect())))
    }

    fn receive_view(&mut self, number: ViewNumber, ids: &[u64], fresh: bool) -> Vec<NodeEffect> {
        let members = ids.iter().copied().map(Id).collect();
        self.handle(Event::Direct { from: number.id, message: Envelope::View { number, members, fresh } })
    }

    fn receive_inner(&mut self, from: u64, view: ViewNumber, port: Option<u32>) -> Vec<NodeEffect> {
        let message = Envelope::Inner { says: InnerMessage::Count(9), view, port: port.map(Port) };
        self.handle(Event::Direct { from: Id(from), message })
    }
}

fn number(counter: u64, id: u64) -> ViewNumber {
    ViewNumber { counter, id: Id(id), incarnation: 0 }
}

fn view(to: u64, number: ViewNumber, ids: &[u64], fresh: bool) -> NodeEffect {
    let members = ids.iter().copied().map(Id).collect();
    Effect::SendDirect(Id(to), Envelope::View { number, members, fresh })
}

fn inner(to: u64, message: InnerMessage, view: ViewNumber, port: Option<u32>) -> NodeEffect {
    Effect::SendDirect(Id(to), Envelope::Inner { says: message, view, port: port.map(Port) })
}

/// The timer that the last of these effects sets.
fn timer(effects: &[NodeEffect]) -> Timer {
    match effects.last() {
        Some(Effect::SetTimer(_, timer)) => *timer,
        other => panic!("no timer: {other:?}"),
    }
}

#[test]
fn the_first_view_has_all_members_and_is_started_from_outside() {
    let mut node = Node::new();
    let effects = node.handle(Event::Start(StartReason::Start));
    let count = |to, port| inner(to, InnerMessage::Count(4), ViewNumber::FIRST, Some(port));
    assert_eq!(effects[..3], [count(10, 0), count(12, 1), count(13, 1)]);
    assert_eq!(node.handle(Event::Timer(timer(&effects))), [Effect::Lead]);
}

#[test]
fn a_message_of_the_first_view_makes_a_node_enter_it() {
    let effects = Node::new().receive_inner(12, ViewNumber::FIRST, Some(1));
    let thanks = |to| inner(to, InnerMessage::Thanks, ViewNumber::FIRST, None);
    assert_eq!(effects, [thanks(12), thanks(13)], "the neighbour's rank is known, and so is the last member");
}

#[test]
fn a_change_of_reachability_takes_a_number_and_sends_the_view_first() {
    let mut node = Node::new();
    node.handle(Event::Start(StartReason::Start));
    let one = number(1, 11);
    let effects = node.update_reachable(&[11, 13]);
    let expected = [Effect::Forget, view(13, one, &[11, 13], false), inner(13, InnerMessage::Count(2), one, Some(0))];
    assert_eq!(effects[..3], expected, "it is the lowest now, so it starts");
    assert_eq!(node.update_reachable(&[11, 13]), [], "nothing has changed");
    let two = number(2, 11);
    let wider = [view(10, two, &[10, 11, 13], true), view(13, two, &[10, 11, 13], false)];
    assert_eq!(
        node.update_reachable(&[10, 11, 13])[1..],
        wider,
        "fresh for the newcomer; it is not the lowest, so it does not start"
    );
}

#[test]
fn adopts_the_greatest_view_of_the_reachable_members() {
    let mut node = Node::new();
    node.update_reachable(&[10, 11, 12]);
    assert_eq!(node.receive_view(number(1, 10), &[10, 11, 12], false), [], "its own is greater");
    assert_eq!(node.receive_view(number(5, 10), &[10, 11], false), [], "the members are not the reachable ones");
    assert_eq!(node.receive_view(number(1, 12), &[10, 11, 12], false), [Effect::Forget]);
    assert_eq!(node.update_reachable(&[10, 11, 12, 13])[1..2], [view(10, number(6, 11), &[10, 11, 12, 13], false)]);
}

#[test]
fn adopts_a_pending_view_after_losing_members_but_not_with_newcomers() {
    let mut node = Node::new();
    node.update_reachable(&[10, 11, 12]);
    node.receive_view(number(4, 10), &[10, 11], false);
    node.receive_view(number(3, 12), &[11, 12], false);
    assert_eq!(node.update_reachable(&[10, 11]), [Effect::Forget], "it takes no number of its own");
    node.receive_view(number(7, 10), &[10, 11, 13], false);
    let effects = node.update_reachable(&[10, 11, 13]);
    assert!(
        effects.contains(&view(13, number(8, 11), &[10, 11, 13], true)),
        "13 may not know of that view: {effects:?}"
    );
}

#[test]
fn a_fresh_view_cancels_earlier_proposals_of_its_sender() {
    let mut node = Node::new();
    node.receive_view(number(2, 10), &[10, 11], false);
    let again = ViewNumber { incarnation: 1, ..number(1, 10) };
    node.receive_view(again, &[10, 11], true);
    assert_eq!(node.update_reachable(&[10, 11]), []);
    assert_eq!(
        node.receive_inner(10, number(2, 10), Some(0)),
        [],
        "the view of 10's earlier incarnation was not adopted"
    );
    assert_eq!(node.receive_inner(10, again, Some(0)).len(), 2, "the view of its current incarnation was");
}

#[test]
fn a_recovered_node_waits_for_an_update_and_is_fresh_to_all() {
    let mut node = Node::new();
    assert_eq!(node.handle(Event::Rejoin), []);
    assert_eq!(node.handle(Event::Start(StartReason::Start)), []);
    assert_eq!(node.receive_inner(12, ViewNumber::FIRST, Some(1)), []);
    assert_eq!(node.receive_view(number(3, 12), &[10, 11, 12, 13], false), []);
    let four = ViewNumber { incarnation: 1, ..number(4, 11) };
    let fresh = |to| view(to, four, &[10, 11, 12, 13], true);
    assert_eq!(node.update_reachable(&[10, 11, 12, 13]), [fresh(10), fresh(12), fresh(13)]);
}

#[test]
fn drops_older_messages_and_holds_newer_ones() {
    let mut node = Node::new();
    node.update_reachable(&[10, 11, 12]);
    let new = number(2, 12);
    assert_eq!(node.receive_inner(10, ViewNumber::FIRST, Some(0)), []);
    assert_eq!((node.receive_inner(10, new, Some(0)), node.receive_inner(12, new, Some(1))), (vec![], vec![]));
    let thanks = |to| inner(to, InnerMessage::Thanks, new, None);
    let effects = node.receive_view(new, &[10, 11, 12], false);
    assert_eq!(effects, [Effect::Forget, thanks(10), thanks(12), thanks(12), thanks(12)]);
    assert_eq!(node.receive_inner(13, new, Some(1)), [], "not a member");
    assert_eq!(node.receive_inner(12, new, Some(0)), [], "not its port");
    assert_eq!(node.receive_inner(12, new, Some(7)), [], "no such port");
}

#[test]
fn the_owner_of_a_view_answers_a_fresh_one_a_tick_later() {
    let mut node = Node::new();
    node.update_reachable(&[10, 11, 12]);
    let stranger = number(1, 10);
    let effects = node.receive_view(stranger, &[10, 11], true);
    assert!(matches!(effects[..], [Effect::SetTimer(1, _)]), "{effects:?}");
    assert_eq!(node.receive_view(number(1, 10), &[10, 11, 12], true), [], "one answer is enough");
    let answer = node.handle(Event::Timer(timer(&effects)));
    assert_eq!(
        answer[1..],
        [10, 12].map(|to| view(to, number(2, 11), &[10, 11, 12], false)),
        "the answer is not fresh"
    );
    let effects = node.receive_view(stranger, &[10, 11, 12], true);
    node.receive_view(number(3, 12), &[10, 11, 12], false);
    assert_eq!(node.handle(Event::Timer(timer(&effects))), [], "there is a greater view by now");
}

#[test]
fn others_answer_only_an_owner_that_lost_its_state() {
    let mut node = Node::new();
    node.receive_view(number(3, 12), &[10, 11, 12, 13], false);
    assert_eq!(node.receive_view(number(1, 10), &[10, 11, 12, 13], true), [], "12 will answer that");
    assert_eq!(node.receive_view(number(1, 12), &[10, 11, 12, 13], false), [], "an outdated view");
    let effects = node.receive_view(ViewNumber { incarnation: 9, ..number(1, 12) }, &[10, 11, 12, 13], true);
    assert_eq!(node.handle(Event::Timer(timer(&effects)))[1], view(10, number(4, 11), &[10, 11, 12, 13], false));
}

#[test]
fn a_timer_of_an_earlier_run_does_nothing() {
    let mut node = Node::new();
    let effects = node.handle(Event::Start(StartReason::Start));
    let old = timer(&effects);
    let new = timer(&node.update_reachable(&[11, 12]));
    assert_ne!(old, new);
    assert_eq!(node.handle(Event::Timer(old)), []);
    assert_eq!(node.handle(Event::Timer(new)), [Effect::Lead]);
    assert_eq!(node.handle(Event::Timer(new)), [], "it was due once");
}

#[test]
fn a_stale_timer_is_not_progress() {
    let mut node = Node::new();
    let old = timer(&node.handle(Event::Start(StartReason::Start)));
    node.update_reachable(&[10, 11, 12]);
    let before = node.state.clone();
    assert_eq!(node.handle(Event::Timer(old)), []);
    assert_ne!(node.state, before, "its slot is free");
    assert!(!node.runs.is_progress(&before, &node.state), "but the node did not act");
    node.receive_inner(10, number(1, 11), Some(0));
    assert!(node.runs.is_progress(&before, &node.state), "the inner algorithm acted");
}

/// For the inner algorithm a node outside the view is down, whether it is on the map or not.
#[test]
fn a_message_by_id_to_a_node_outside_the_view_comes_back() {
    for outside in [13, 77] {
        let mut node = Node::new();
        node.update_reachable(&[10, 11, 12]);
        let own = number(1, 11);
        let inner_message = |id| Event::Direct {
            from: Id(12),
            message: Envelope::Inner { says: InnerMessage::Count(id), view: own, port: None },
        };
        assert_eq!(
            node.handle(inner_message(10)),
            [Effect::Follow(Id(12)), inner(10, InnerMessage::Thanks, own, None)]
        );
        let effects = node.handle(inner_message(outside));
        assert!(matches!(effects[..], [Effect::Follow(Id(12)), Effect::SetTimer(2, _)]), "{effects:?}");
        let back = timer(&effects);
        let mut later = Node { runs: Node::new().runs, state: node.state.clone() };
        assert_eq!(node.handle(Event::Timer(back)), [Effect::Learn(Fact::Name(outside.into()))]);
        later.update_reachable(&[11, 12]);
        assert_eq!(later.handle(Event::Timer(back)), [], "the run is over");
    }
}
