//! Failure detectors.

use hustings_protocol::{Context, Event, Id, Port, Protocol, StartReason, TraceEvent, kinds};
use hustings_sim::scenario::FaultKind::{Crash, HealAll, Partition, Recover};
use hustings_sim::scenario::Notice;
use serde::{Deserialize, Serialize};

use super::*;

/// The number of a claim, and its node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Claim {
    Lead(u32, Id),
}
kinds!(Claim: Lead = "lead");

/// A node that is asked to start claims leadership with a new number, and all nodes follow the greatest claim.
#[derive(Clone)]
struct Claimant;

impl Protocol for Claimant {
    type Rank = Id;
    type State = Option<Claim>;
    type Message = Claim;

    fn init(&self) -> Option<Claim> {
        None
    }
    fn handle_start<C: Context<Self>>(&self, believed: &mut Option<Claim>, _: StartReason, cx: &mut C) {
        let number = believed.map_or(0, |Claim::Lead(number, _)| number + 1);
        let claim = Claim::Lead(number, cx.rank());
        *believed = Some(claim);
        cx.lead();
        cx.send_all_but(None, claim);
    }
    fn handle_message<C: Context<Self>>(&self, believed: &mut Option<Claim>, _: Port, claim: Claim, cx: &mut C) {
        if Some(claim) > *believed {
            *believed = Some(claim);
            let Claim::Lead(_, leader) = claim;
            cx.follow(leader);
        }
    }
}

fn watched(notice: Notice, faults: Vec<Fault>) -> Scenario {
    Scenario { starts: vec![start(3, 0)], faults, notice, ..complete(4) }
}

/// Tick and node of the signals that the failure detector gave.
fn signals(scenario: &Scenario) -> (Outcome, Vec<(u64, u32)>) {
    let (outcome, records) = watch(&Claimant, scenario);
    let lost = Event::Start(StartReason::LeaderLost);
    let each = records.iter().filter(|r| matches!(&r.what, TraceEvent::Handled { event, .. } if *event == lost));
    let signals = each.map(|record| (record.tick, record.node)).collect();
    (outcome, signals)
}

#[test]
fn without_faults_the_run_ends_with_the_election() {
    for notice in [Notice::Poll(5), Notice::Heartbeat(5)] {
        let outcome = run(&Claimant, &watched(notice, vec![]));
        assert!(outcome.agreement && outcome.notice.iter().all(|&(_, count)| count == 0));
        assert_eq!((outcome.total(), outcome.time.quiescent), (3, Some(1)));
    }
}

#[test]
fn an_unanswered_poll_starts_an_election() {
    // Polls at 10 and 20 are answered. The leader crashes at 25, and the polls of 30 get no answer.
    let (outcome, signals) = signals(&watched(Notice::Poll(10), vec![fault(25, Crash(3))]));
    assert_eq!(signals, [(32, 0), (32, 1), (32, 2)]);
    assert_eq!(outcome.notice, [("poll", 9), ("alive", 6)]);
    assert_eq!(outcome.total(), 3 + 9);
    assert_eq!(outcome.load.mean, 9.0 / 4.0, "the watch is no load");
}

#[test]
fn notices_a_leader_that_recovered_without_its_role() {
    let (_, signals) = signals(&watched(Notice::Poll(10), vec![fault(12, Crash(3)), fault(13, Recover(3))]));
    assert_eq!(signals[..3], [(22, 0), (22, 1), (22, 2)]);
}

#[test]
fn a_partition_stops_polls_until_it_heals() {
    let faults = vec![fault(5, Partition(vec![0, 1, 1, 1])), fault(14, HealAll)];
    let (outcome, signals) = signals(&watched(Notice::Poll(10), faults));
    assert_eq!(signals, [(12, 0)]);
    // Node 0 claims leadership behind the partition, where no message arrives.
    assert_eq!((outcome.lost, outcome.leaders), (3, vec![0, 3]));
}

#[test]
fn missing_heartbeats_for_two_periods_start_an_election() {
    // Heartbeats of 10 and 20 arrive at 11 and 21. The leader crashes at 25. The timeout is at 21 + 2·10 + 1.
    let (outcome, lost) = signals(&watched(Notice::Heartbeat(10), vec![fault(25, Crash(3))]));
    assert_eq!(lost, [(42, 0), (42, 1), (42, 2)]);
    assert_eq!(outcome.notice[0].0, "heartbeat");
    let claims = 3 + 9;
    assert_eq!(outcome.total(), claims);
    // Before the first heartbeat the timeout counts from when a node began to follow.
    let (_, lost) = signals(&watched(Notice::Heartbeat(10), vec![fault(4, Crash(3))]));
    assert_eq!(lost, [(22, 0), (22, 1), (22, 2)]);
}

#[test]
fn terms_end_periodically() {
    let scenario = Scenario { until: 100, ..watched(Notice::Term(30), vec![]) };
    let (outcome, signals) = signals(&scenario);
    // The leader names itself at 0. At 30, position 0 is the lowest that names it, and takes over, and so on.
    assert_eq!(signals, [(30, 0), (60, 0), (90, 0)]);
    assert_eq!((outcome.leader, outcome.notice.len()), (Some(0), 0));
}
