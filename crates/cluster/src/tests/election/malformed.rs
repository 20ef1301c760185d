//! Malformed messages, from the network or from a faulty peer. They are rejected or have some effect, but nothing
//! panics, and nodes that later exchange only valid messages still elect.

use hustings_protocol::Id;

use super::network::{Rng, Routing, SimNetwork, TICK};
use super::{candidates, choice, choices, highest, ids};
use crate::election::{Action, Election, MAX_MESSAGE_BYTES, MessageError, SharedState};
use crate::member::MemberRank;

/// How many attempts are made per case. Eight thousand take minutes, and found nothing more.
const ATTEMPTS: u64 = 40;

/// Messages as nodes really send them.
fn recorded_messages(choice: &crate::config::AlgorithmConfig, all: &[MemberRank], seed: u64) -> Vec<(Id, Id, Vec<u8>)> {
    let mut network = SimNetwork::new(choice, ids(all), seed);
    network.start_all(all, 2 * TICK);
    network.run_for(60 * TICK);
    network.sent
}

/// Changes, inserts or removes a few bytes, and often replaces a byte with the encoding of a large number.
pub(crate) fn corrupt(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        match rng.below(6) {
            0 if at < bytes.len() => bytes[at] = rng.below(256) as u8,
            1 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
            2 if at < bytes.len() => _ = bytes.remove(at),
            3 => bytes.insert(at, rng.below(256) as u8),
            4 => {
                // The encodings of the highest numbers of one, two, four and eight bytes.
                let end = (at + 1).min(bytes.len());
                let highest: [&[u8]; 4] = [
                    &[0xFF],
                    &[0xFF, 0xFF, 0x03],
                    &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
                    &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
                ];
                bytes.splice(at..end, highest[rng.below(4) as usize].iter().copied());
            }
            _ if at < bytes.len() => bytes[at] = rng.below(8) as u8,
            _ => {}
        }
    }
}

#[test]
fn no_message_makes_a_node_panic() {
    for choice in choices() {
        for size in [2, 3, 5, 7] {
            let mut rng = Rng::new(size);
            let all = candidates(size, &mut rng);
            let messages = recorded_messages(&choice, &all, size);
            assert!(!messages.is_empty());
            let mut accepted = 0;
            for round in 0..ATTEMPTS {
                let own = all[rng.below(size) as usize].id;
                let (mut shared, mut actions) = (SharedState::new(round), Vec::new());
                let election = Election::start(&choice, own, &all, &mut shared, &mut actions);
                let mut election = election.expect("the algorithm is suitable");
                for _ in 0..150 {
                    let (from, _, bytes) = &messages[rng.below(messages.len() as u64) as usize];
                    let mut bytes = bytes.clone();
                    match rng.below(8) {
                        0 => {}
                        1 => bytes = (0..rng.below(40)).map(|_| rng.below(256) as u8).collect(),
                        _ => corrupt(&mut bytes, &mut rng),
                    }
                    accepted += u32::from(election.handle_message(*from, &bytes, &mut shared, &mut actions).is_ok());
                    // Some of the node's own timers fire.
                    for action in std::mem::take(&mut actions) {
                        if let Action::SetTimer { token, .. } = action
                            && rng.below(2) == 0
                        {
                            election.handle_timer(token, &mut shared, &mut actions);
                        }
                    }
                }
                assert!(election.leader().is_none_or(|leader| ids(&all).contains(&leader)), "{choice:?}");
            }
            assert!(accepted > 100, "{choice:?}: too few corrupted messages are accepted: {accepted}");
        }
    }
}

/// Corrupts some messages of an election in transit, so that the others meet unusual states.
#[test]
fn nodes_elect_again_after_corrupted_messages() {
    for choice in choices() {
        for seed in 0..ATTEMPTS {
            let size = 2 + seed % 6;
            let all = candidates(size, &mut Rng::new(seed));
            let mut network = SimNetwork::new(&choice, ids(&all), seed);
            network.routing = Routing::Corrupting(2 + seed % 20);
            network.start_all(&all, 2 * TICK);
            network.run_for(40 * TICK);
            network.start_all(&all, TICK / 2);
            network.run_for(40 * TICK);
            // Messages in transit may belong to views that never began. They are gone by then.
            network.routing = Routing::ByKey;
            network.run_for(TICK);
            network.start_all(&all, TICK / 2);
            network.run_for(400 * TICK);
            assert!(network.agree(&all, highest(&all)), "{choice:?} seed {seed}: {:?}", network.leaders(&all));
        }
    }
}

#[test]
fn rejects_malformed_messages_with_a_reason() {
    let choice = choice("bully", &["highest=announce"]);
    let all = candidates(3, &mut Rng::new(1));
    let messages = recorded_messages(&choice, &all, 1);
    let (from, to, bytes) = messages.first().expect("nodes send messages");
    let (mut shared, mut actions) = (SharedState::new(1), Vec::new());
    let mut election = Election::start(&choice, *to, &all, &mut shared, &mut actions).expect("bully is suitable");
    let mut handle = |from: Id, bytes: &[u8]| election.handle_message(from, bytes, &mut shared, &mut actions);
    assert_eq!(handle(*from, bytes), Ok(()));
    assert_eq!(handle(*from, &[]), Err(MessageError::Malformed));
    assert_eq!(handle(*from, &[&bytes[..], &[0]].concat()), Err(MessageError::TrailingBytes(1)));
    assert_eq!(handle(*from, &bytes[..bytes.len() - 1]), Err(MessageError::Malformed));
    assert_eq!(handle(*from, &[&[bytes[0] + 1], &bytes[1..]].concat()), Err(MessageError::CounterMismatch));
    assert_eq!(handle(*from, &vec![0; MAX_MESSAGE_BYTES + 1]), Err(MessageError::TooLong(MAX_MESSAGE_BYTES + 1)));
    assert_eq!(handle(*to, bytes), Err(MessageError::UnknownSender(*to)));
    assert_eq!(handle(Id(99), bytes), Err(MessageError::UnknownSender(Id(99))));
    let far = [&[0xFF; 9][..], &[1], &bytes[1..]].concat();
    assert_eq!(handle(*from, &far), Err(MessageError::CounterTooHigh(u64::MAX)));
}
