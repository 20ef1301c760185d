//! Cut links and partitions.

use hustings_protocol::{Effect, Event, Id, Loss, Timer, TraceEvent};
use hustings_sim::scenario::Delay;
use hustings_sim::scenario::FaultKind::{Cut, Heal, HealAll, Partition};

use super::scripted::*;
use super::*;

/// Node 0 sends the tick to all neighbours and by id to node 2, every tick for ten ticks.
fn ticking(at: u32, event: &Event<TestMessage>) -> Effects {
    let words = |number: u32| {
        let reply = TestMessage::Reply(100 + u64::from(number));
        vec![Effect::SendAllBut(None, TestMessage::Say(number.into())), Effect::SendDirect(Id(2), reply)]
    };
    match event {
        Event::Start(_) if at == 0 => {
            let later = (1..10).map(|tick| Effect::SetTimer(tick, Timer { kind: 0, token: tick as u32 }));
            words(0).into_iter().chain(later).collect()
        }
        Event::Timer(Timer { token, .. }) => words(*token),
        _ => Vec::new(),
    }
}

fn heard_by(scenario: &Scenario, at: u32) -> (Vec<u64>, u64) {
    let (outcome, records) = watch(&Scripted(ticking), scenario);
    assert_eq!(returned(&records), [], "nobody is told of a barrier");
    assert!(lost(&records).iter().all(|&(.., why)| why == Loss::Cut));
    assert_eq!(lost(&records).len() as u64, outcome.lost);
    let heard = heard(&records).into_iter().filter(|&(_, node, _)| node == at).map(|(.., number)| number);
    (heard.collect(), outcome.lost)
}

fn line(faults: Vec<Fault>) -> Scenario {
    Scenario { starts: vec![start(0, 0)], faults, ..graph(3, &[(0, 1), (1, 2)]) }
}

#[test]
fn a_cut_link_loses_arrivals_until_it_heals() {
    let scenario = line(vec![fault(4, Cut(1, 0)), fault(7, Heal(0, 1))]);
    assert_eq!(heard_by(&scenario, 1), (vec![0, 1, 2, 6, 7, 8, 9], 6));
    assert_eq!(heard_by(&scenario, 2).0.len(), 7, "on a line there is no other way, not even by id");
    let circle = Scenario { starts: vec![start(0, 0)], ..graph(3, &[(0, 1), (1, 2), (2, 0)]) };
    let circle = Scenario { faults: scenario.faults, ..circle };
    assert_eq!(heard_by(&circle, 1), (vec![0, 1, 2, 6, 7, 8, 9], 3));
    assert_eq!(heard_by(&circle, 2).0.len(), 20, "by id one goes round the link");
}

#[test]
fn a_cut_loses_messages_in_flight() {
    let scenario = Scenario { delay: Delay::Uniform(3, 3), ..line(vec![fault(4, Cut(0, 1)), fault(5, Heal(0, 1))]) };
    // Messages 2 and 3 are in flight at tick 4 and would arrive at 5 and 6; so would 1, at 4. What is sent at 4 arrives
    // at 7. By id only 101 is lost, which is due while there is no path.
    assert_eq!(heard_by(&scenario, 1), (vec![0, 4, 5, 6, 7, 8, 9], 3 + 1));
}

#[test]
fn a_partition_blocks_messages_between_its_groups() {
    let scenario =
        line(vec![fault(4, Partition(vec![0, 0, 1])), fault(6, Partition(vec![0, 1, 0])), fault(8, HealAll)]);
    // The second partition leaves 0 and 2 on one side, but every path between them passes 1.
    assert_eq!(heard_by(&scenario, 2).0, [100, 101, 102, 107, 108, 109]);
    assert_eq!(heard_by(&scenario, 1), (vec![0, 1, 2, 3, 4, 7, 8, 9], 6));
}

#[test]
fn link_changes_are_recorded_at_both_ends_before_turns() {
    let scenario = line(vec![fault(4, Cut(1, 0)), fault(5, Cut(0, 1)), fault(7, HealAll)]);
    let (_, records) = watch(&Scripted(ticking), &scenario);
    let links: Vec<(u64, u32, bool)> = records
        .iter()
        .filter_map(|record| match record.what {
            TraceEvent::LinkCut { .. } => Some((record.tick, record.node, true)),
            TraceEvent::LinkHealed { .. } => Some((record.tick, record.node, false)),
            _ => None,
        })
        .collect();
    assert_eq!(links, [(4, 0, true), (4, 1, true), (7, 0, false), (7, 1, false)]);
    let first = records.iter().find(|record| record.tick == 4).map(|record| &record.what);
    assert_eq!(first, Some(&TraceEvent::LinkCut { peer: 1 }));
}
