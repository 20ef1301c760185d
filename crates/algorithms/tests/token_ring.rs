//! Token ring (Shirali §3): several detectors, dead ones, and elections that follow each other.

use crate::support;

use support::Setup;

/// Starts and crashes on a ring of eight with positions as ids.
fn eight(starts: &[(usize, u64)], crashes: &[(usize, u64)]) -> Setup {
    let ids: Vec<u64> = (0..8).collect();
    Setup { starts: starts.to_vec(), crashes: crashes.to_vec(), ..Setup::some(ids, &[]) }
}

/// "If the number of this process is bigger than the number of sender process, it will kill the message." And if it is
/// less, "it will let this message go round".
#[test]
fn a_greater_detector_drops_the_token_of_a_smaller_one() {
    // The token of 2 is dropped at 5, after three hops; that of 5 passes 2.
    let outcome = eight(&[(2, 0), (5, 0)], &[]).run("token-ring");
    assert_eq!((outcome.agreed_leader(), outcome.by_kind), (Some(7), vec![3 + 8, 8]));
    // The same if the greater one starts just before the token reaches it, but not if it takes part already.
    let outcome = eight(&[(2, 0), (5, 3)], &[]).run("token-ring");
    assert_eq!((outcome.agreed_leader(), outcome.by_kind), (Some(7), vec![3 + 8, 8]));
    let outcome = eight(&[(2, 0), (5, 4)], &[]).run("token-ring");
    assert_eq!((outcome.agreed_leader(), outcome.by_kind), (Some(7), vec![8, 8]));
}

/// A detector whose token was dropped stops being one when a `coordinator` passes: it can be one again later, and drops
/// no token before that.
#[test]
fn a_detector_stops_being_one_when_a_coordinator_passes() {
    // The token of 2 is dropped at 5; 7 is elected and crashes at tick 30; the token of 1 must pass 2 afterwards.
    let outcome = eight(&[(2, 0), (5, 0), (1, 40)], &[(7, 30)]).run("token-ring");
    assert_eq!((outcome.agreed_leader(), outcome.by_kind), (Some(6), vec![3 + 8 + 8, 8 + 7]));
}

/// docs/model.md#dead-receivers: the token or `coordinator` of a dead detector circulates until the end.
#[test]
fn the_message_of_a_crashed_detector_circulates() {
    for token in ["max", "collect"] {
        for tick in 1..=16 {
            let mut setup = eight(&[(0, 0)], &[(0, tick)]);
            setup.params = vec![("token", token)];
            let outcome = setup.run("token-ring");
            let leader = if tick <= 8 { None } else { Some(7) };
            assert_eq!((outcome.hung, outcome.agreed_leader()), (true, leader), "{token}, dead at {tick}");
        }
    }
    let outcome = eight(&[(0, 0)], &[(0, 17)]).run("token-ring");
    assert_eq!((outcome.hung, outcome.agreed_leader()), (false, Some(7)));
}

/// A greater detector drops the token of a dead one.
#[test]
fn a_greater_detector_drops_the_token_of_a_dead_one() {
    let outcome = eight(&[(0, 0), (5, 0)], &[(0, 2)]).run("token-ring");
    assert_eq!((outcome.hung, outcome.agreed_leader()), (false, Some(7)));
    // A smaller one cannot: all agree on the right leader, but the token of the dead one circulates.
    let outcome = eight(&[(0, 0), (5, 0)], &[(5, 2)]).run("token-ring");
    assert_eq!((outcome.hung, outcome.agreed_leader()), (true, Some(7)));
}

/// docs/model.md#start-signals: a later start, after a crash, holds a second election; without a reason it is ignored.
#[test]
fn a_lost_leader_is_replaced() {
    let outcome = eight(&[(0, 0), (3, 40)], &[(7, 30)]).run("token-ring");
    // In the second election 6 finds 7 dead: one `election` is lost, and there is one `coordinator` less.
    assert_eq!((outcome.by_kind.as_slice(), outcome.agreed_leader()), (&[8 + 8, 8 + 7][..], Some(6)));
    assert_eq!(outcome.quiescent, Some(40 + 16));

    let outcome = eight(&[(0, 0), (3, 40)], &[]).run("token-ring");
    assert_eq!((outcome.agreed_leader(), outcome.by_kind), (Some(7), vec![8, 8]));
}
