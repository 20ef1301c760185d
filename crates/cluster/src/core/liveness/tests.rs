//! When peers are suspected, and connections given up.

use super::*;
use crate::tests::member;

const PEER: Id = Id(2);
const START: Timestamp = Timestamp(1 << 40);

fn ms(ms: u64) -> Timestamp {
    START + Duration::from_millis(ms)
}

/// Member 1 with a connection to member 2, which is heard from at once.
fn connected() -> Liveness {
    let mut liveness = Liveness::new(Id(1), 6, 100);
    liveness.handle_members(&Table::with_members(&[1, 2].map(|id| member(id, Role::Elector))));
    liveness.handle_connected(PEER, 7, &Timing::LAN, START);
    events(&mut liveness);
    liveness
}

fn events(liveness: &mut Liveness) -> Vec<LivenessEvent> {
    std::iter::from_fn(|| liveness.poll_event()).collect()
}

/// What is noticed at this time, when everything was read.
fn at(liveness: &mut Liveness, time: Timestamp) -> Vec<LivenessEvent> {
    liveness.handle_timeout(None, &Timing::LAN, time, time);
    events(liveness)
}

#[test]
fn the_connection_of_a_silent_peer_is_kept_for_a_while() {
    let mut liveness = connected();
    assert_eq!(at(&mut liveness, ms(149)), []);
    assert_eq!(at(&mut liveness, ms(150)), [LivenessEvent::Down(PEER, ChangeReason::Silent)]);
    assert_eq!(at(&mut liveness, ms(999)), []);
    liveness.record_contact(PEER, true, true, ms(999));
    assert_eq!(at(&mut liveness, ms(1_000)), [LivenessEvent::Up(PEER)], "it was late, and nothing is lost");
    assert_eq!(at(&mut liveness, ms(1_150)), [LivenessEvent::Down(PEER, ChangeReason::Silent)]);
    let given_up = [LivenessEvent::Interrupted(PEER), LivenessEvent::Drop(PEER)];
    assert_eq!(at(&mut liveness, ms(1_999)), given_up);
}

#[test]
fn a_connection_is_given_up_if_the_peer_is_heard_through_others() {
    let mut liveness = connected();
    for heard in [50, 100, 149] {
        liveness.record_contact(PEER, true, false, ms(heard));
    }
    assert_eq!(at(&mut liveness, ms(149)), []);
    assert_eq!(at(&mut liveness, ms(150)), [LivenessEvent::Interrupted(PEER), LivenessEvent::Drop(PEER)]);
    assert!(liveness.is_up(PEER));
}

#[test]
fn what_is_known_of_a_process_survives_its_connection() {
    let irregular = |incarnation: u64| {
        let mut liveness = connected();
        let beats = (0..40).scan(0, |time, beat| {
            *time += if beat % 2 == 0 { 10 } else { 90 };
            Some(*time)
        });
        beats.for_each(|beat| liveness.record_contact(PEER, true, true, ms(beat)));
        liveness.handle_connected(PEER, incarnation, &Timing::LAN, ms(3_000));
        liveness.poll_timeout(None, &Timing::LAN)
    };
    assert!(irregular(7) > ms(3_300), "its heartbeats are irregular on every connection");
    assert_eq!(irregular(8), ms(3_150), "of another process nothing is known");
}

#[test]
fn the_silence_of_a_suspected_peer_is_no_interval_of_heartbeats() {
    let mut liveness = connected();
    at(&mut liveness, ms(150));
    liveness.record_contact(PEER, true, true, ms(700));
    assert_eq!(liveness.poll_timeout(None, &Timing::LAN), ms(850));
}
