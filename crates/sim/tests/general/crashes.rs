//! Crashes, recoveries, joins and retirements, tick by tick.

use hustings_protocol::{Context, Effect, Event, Id, Loss, Port, StartReason, TraceEvent};
use hustings_sim::scenario::FaultKind::{Crash, Join, Recover, Retire};

use super::scripted::*;
use super::*;

/// Starters send 1 to their first port.
fn call(_: u32, event: &Event<TestMessage>) -> Effects {
    if let Event::Start(_) = event { vec![say(Port(0), 1)] } else { Vec::new() }
}

fn calling(tick: u64, faults: Vec<Fault>) -> Scenario {
    Scenario { starts: vec![start(0, tick)], faults, ..complete(3) }
}

#[test]
fn a_message_arrives_only_if_its_receiver_is_up() {
    let lost_at = |faults| lost(&watch(&Scripted(call), &calling(5, faults)).1);
    assert_eq!(lost_at(vec![fault(6, Crash(1))]), [(6, 1, 1, Loss::ReceiverDown)], "it goes down as the message comes");
    assert_eq!(lost_at(vec![fault(7, Crash(1))]), []);
    assert_eq!(lost_at(vec![fault(2, Crash(1)), fault(6, Recover(1))]), [], "it is back as the message comes");
    assert_eq!(lost_at(vec![fault(2, Crash(1)), fault(7, Recover(1))]).len(), 1);
}

#[test]
fn only_a_sender_that_stayed_up_gets_unreachable() {
    let dead = fault(0, Crash(1));
    let returns = |more: Vec<Fault>| {
        let faults = std::iter::once(dead.clone()).chain(more).collect();
        returned(&watch(&Scripted(call), &calling(5, faults)).1)
    };
    assert_eq!(returns(vec![]), [(7, 0, 1)]);
    assert_eq!(returns(vec![fault(7, Crash(0))]), []);
    assert_eq!(returns(vec![fault(6, Crash(0)), fault(7, Recover(0))]), [], "another life");
    assert_eq!(returns(vec![fault(8, Crash(0))]), [(7, 0, 1)]);
    assert_eq!(returns(vec![fault(7, Recover(1))]), [(7, 0, 1)], "it was down when it mattered");
}

#[test]
fn messages_of_a_crashed_node_arrive_and_starts_do_not_reach_it() {
    let (outcome, records) = watch(&Scripted(call), &calling(5, vec![fault(6, Crash(0))]));
    assert_eq!((heard(&records), outcome.live), (vec![(6, 1, 1)], 2));
    let (outcome, _) = watch(&Scripted(call), &calling(5, vec![fault(5, Crash(0))]));
    assert_eq!((outcome.total(), outcome.time.quiescent), (0, None));
}

#[test]
fn lost_and_returned_messages_are_not_activity() {
    let (outcome, _) = watch(&Scripted(call), &calling(5, vec![fault(0, Crash(1))]));
    assert_eq!((outcome.total(), outcome.lost, outcome.time.quiescent), (1, 1, None));
    assert_eq!((outcome.load.max, outcome.collisions.max), (0, 0));
}

/// Starters lead and tell the others, which follow.
fn lead(_: u32, event: &Event<TestMessage>) -> Effects {
    match event {
        Event::Start(StartReason::Start) => vec![Effect::Lead, Effect::SendAllBut(None, TestMessage::Say(0))],
        Event::Message { message: TestMessage::Say(_), .. } => vec![Effect::Follow(Id(0))],
        Event::Retire => vec![Effect::SendAllBut(None, TestMessage::Reply(9))],
        _ => Vec::new(),
    }
}

#[test]
fn a_crashed_leader_does_not_lead_and_recovers_with_initial_state() {
    let faults = vec![fault(10, Crash(0)), fault(20, Recover(0))];
    let (outcome, records) = watch(&Scripted(lead), &calling(0, faults));
    assert_eq!((outcome.leaders, outcome.agreement, outcome.live), (vec![], false, 3));
    assert_eq!(outcome.time.elected, None);
    let turns: Vec<_> = records[records.len() - 2..].iter().map(|record| (record.tick, &record.what)).collect();
    assert_eq!(turns, [(10, &TraceEvent::Crashed), (20, &TraceEvent::Recovered)]);
}

#[test]
fn a_start_reports_that_the_named_leader_is_down() {
    let reason = |at, tick, faults| {
        let scenario = Scenario { starts: vec![start(0, 0), start(at, tick)], faults, ..complete(3) };
        match handled(&watch(&Scripted(lead), &scenario).1).into_iter().rfind(|(_, _, e)| matches!(e, Event::Start(_)))
        {
            Some((when, who, Event::Start(reason))) if (when, who) == (tick, at) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason(1, 9, vec![]), StartReason::Start);
    assert_eq!(reason(1, 9, vec![fault(9, Crash(0))]), StartReason::LeaderLost);
    assert_eq!(
        reason(1, 9, vec![fault(5, Crash(0)), fault(9, Recover(0))]),
        StartReason::Start,
        "it is up, if as nobody"
    );
    assert_eq!(reason(0, 9, vec![fault(9, Crash(1))]), StartReason::Start);
}

#[test]
fn agreement_needs_live_nodes_only() {
    // Node 2 is down while the leader announces itself, so it never follows.
    let faults = vec![fault(0, Crash(2))];
    let outcome = run(&Scripted(lead), &calling(3, faults.clone()));
    assert_eq!((outcome.agreement, outcome.time.elected, outcome.time.agreed), (true, Some(3), Some(4)));
    let recovering = faults.into_iter().chain([fault(30, Recover(2)), fault(40, Crash(2))]).collect();
    let outcome = run(&Scripted(lead), &calling(3, recovering));
    assert_eq!((outcome.time.elected, outcome.time.agreed), (Some(3), Some(40)), "for good from then on");
}

#[test]
fn a_position_is_down_until_it_joins_and_its_start_waits() {
    let scenario = Scenario { faults: vec![fault(4, Join(1))], ..complete(3).started_by_all() };
    let (outcome, records) = watch(&Scripted(call), &scenario);
    assert_eq!(lost(&records), [(1, 1, 1, Loss::ReceiverDown)], "0 calls 1 too early; 2 calls 0");
    assert_eq!(heard(&records), [(1, 0, 1), (5, 0, 1)]);
    assert_eq!((outcome.live, outcome.total()), (3, 3));
    assert!(records.iter().any(|record| record.tick == 4 && record.what == TraceEvent::Joined));
    assert!(!records.iter().any(|record| record.what == TraceEvent::Crashed));
    let twice = Scenario { starts: vec![start(1, 0), start(1, 4)], ..scenario.clone() };
    assert_eq!(run(&Scripted(call), &twice).total(), 1, "one signal, not two");
    let never = Scenario { faults: vec![fault(scenario.until + 1, Join(1))], ..scenario };
    assert_eq!(run(&Scripted(call), &never).live, 2);
}

#[test]
fn a_retiring_node_sends_its_last_messages_and_is_down() {
    let faults = vec![fault(6, Retire(0)), fault(6, Retire(0))];
    let (outcome, records) =
        watch(&Scripted(lead), &Scenario { starts: vec![start(0, 0), start(2, 6)], ..calling(0, faults) });
    let at_six: Vec<_> =
        handled(&records).into_iter().filter(|(tick, ..)| *tick == 6).map(|(_, at, e)| (at, e)).collect();
    assert_eq!(at_six, [(0, Event::Retire), (2, Event::Start(StartReason::Start))], "it is up to the end of the tick");
    assert_eq!(outcome.by_kind, [4, 2]);
    assert_eq!((outcome.live, outcome.leaders), (2, vec![2]));
    // The last message of the retiring node arrives at 7, as does the new leader's. Nothing is sent to the retired node
    // later.
    assert_eq!(lost(&records), [(7, 0, 0, Loss::ReceiverDown)]);
}

#[test]
fn messages_by_id_arrive_or_are_lost() {
    let protocol = Scripted(|_, event| match event {
        Event::Start(_) => [11, 12, 99, 10].map(|id| Effect::SendDirect(Id(id), TestMessage::Say(id))).to_vec(),
        _ => Vec::new(),
    });
    let scenario =
        with_ids(Scenario { starts: vec![start(0, 0)], faults: vec![fault(0, Crash(2))], ..ring(3) }, 10..13);
    let (outcome, records) = watch(&protocol, &scenario);
    assert_eq!(heard(&records), [(1, 0, 10), (1, 1, 11)]);
    assert_eq!((outcome.total(), outcome.lost), (4, 2));
    assert_eq!(returned(&records), [(2, 0, 12)], "nobody tells of an id that does not exist");
    assert!(handled(&records).contains(&(1, 1, Event::Direct { from: Id(10), message: TestMessage::Say(11) })));
    assert!(handled(&records).contains(&(
        2,
        0,
        Event::UnreachableDirect { to: Id(12), message: TestMessage::Say(12) }
    )));
}

#[test]
fn nodes_act_by_position_and_faults_need_no_order() {
    let faults =
        vec![fault(9, Crash(77)), fault(3, Crash(2)), fault(3, Crash(0)), fault(3, Recover(0)), fault(3, Retire(9))];
    let (_, records) =
        watch(&Scripted(call), &Scenario { starts: vec![start(1, 3), start(50, 3)], ..calling(3, faults) });
    let order: Vec<u32> = records.iter().filter(|record| record.tick == 3).map(|record| record.node).collect();
    assert_eq!(order, [0, 0, 1, 2]);
}

/// A node that handles rejoins and then sends to all neighbours.
#[derive(Clone)]
struct Returner;

impl Protocol for Returner {
    type Rank = Id;
    type State = u32;
    type Message = TestMessage;

    fn init(&self) -> u32 {
        0
    }
    fn handles_rejoin(&self) -> bool {
        true
    }
    fn handle_start<C: Context<Self>>(&self, _: &mut u32, _: StartReason, cx: &mut C) {
        cx.send_all_but(None, TestMessage::Say(1));
    }
    fn handle_message<C: Context<Self>>(&self, heard: &mut u32, _: Port, _: TestMessage, _: &mut C) {
        *heard += 1;
    }
    fn handle_rejoin<C: Context<Self>>(&self, _: &mut u32, cx: &mut C) {
        cx.send_all_but(None, TestMessage::Reply(2));
    }
}

#[test]
fn rejoin_comes_before_the_start_signal_if_the_protocol_handles_it() {
    let faults = vec![
        fault(0, FaultKind::Crash(1)),
        fault(4, FaultKind::Recover(1)),
        fault(6, FaultKind::Join(2)),
        fault(8, FaultKind::Crash(0)),
    ];
    let (outcome, records) = watch(&Returner, &Scenario { starts: vec![start(1, 4)], faults, ..complete(3) });
    let told: Vec<(u64, u32, Event<TestMessage>)> =
        handled(&records).into_iter().filter(|(.., event)| matches!(event, Event::Rejoin | Event::Start(_))).collect();
    let comes = [(4, 1, Event::Rejoin), (4, 1, Event::Start(StartReason::Start)), (6, 2, Event::Rejoin)];
    assert_eq!(told, comes);
    assert_eq!(outcome.by_kind, [2, 4]);
}
