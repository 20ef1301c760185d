//! Mail that makes no sense: from the wire, or from a peer that is out of its mind. It is refused or has some effect,
//! but nothing ever panics, and a node that is then left alone with sane ones still elects.

use hustings_cluster::election::{Act, Election, Garbled, MAX_BYTES, Memory};
use hustings_cluster::member::MemberRank;
use hustings_protocol::Id;

use crate::bus::{Bus, Post, Rng, TICK};
use crate::{candidates, choice, choices, greatest, ids};

/// How often each is tried. Eight thousand took minutes, and found nothing more.
const ROUNDS: u64 = 40;

/// Mail as nodes really send it.
fn real_mail(choice: &hustings_cluster::config::Choice, all: &[MemberRank], seed: u64) -> Vec<(Id, Id, Vec<u8>)> {
    let mut bus = Bus::new(choice, ids(all), seed);
    bus.all_enter(all, 2 * TICK);
    bus.run_for(60 * TICK);
    bus.sent
}

/// Changes, inserts or takes out a few bytes; numbers of one byte often become great ones.
pub(crate) fn spoil(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        match rng.below(6) {
            0 if at < bytes.len() => bytes[at] = rng.below(256) as u8,
            1 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
            2 if at < bytes.len() => _ = bytes.remove(at),
            3 => bytes.insert(at, rng.below(256) as u8),
            4 => {
                // The greatest numbers of one, two, four and eight bytes, as they are written.
                let end = (at + 1).min(bytes.len());
                let greatest: [&[u8]; 4] = [
                    &[0xFF],
                    &[0xFF, 0xFF, 0x03],
                    &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
                    &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
                ];
                bytes.splice(at..end, greatest[rng.below(4) as usize].iter().copied());
            }
            _ if at < bytes.len() => bytes[at] = rng.below(8) as u8,
            _ => {}
        }
    }
}

#[test]
fn no_mail_makes_a_node_panic() {
    for choice in choices() {
        for size in [2, 3, 5, 7] {
            let mut rng = Rng::new(size);
            let all = candidates(size, &mut rng);
            let mail = real_mail(&choice, &all, size);
            assert!(!mail.is_empty());
            let mut accepted = 0;
            for round in 0..ROUNDS {
                let own = all[rng.below(size) as usize].id;
                let (mut memory, mut acts) = (Memory::new(round), Vec::new());
                let election = Election::enter(&choice, own, &all, &mut memory, &mut acts);
                let mut election = election.expect("the algorithm elects among these");
                for _ in 0..150 {
                    let (from, _, bytes) = &mail[rng.below(mail.len() as u64) as usize];
                    let mut bytes = bytes.clone();
                    match rng.below(8) {
                        0 => {}
                        1 => bytes = (0..rng.below(40)).map(|_| rng.below(256) as u8).collect(),
                        _ => spoil(&mut bytes, &mut rng),
                    }
                    accepted += u32::from(election.receive(*from, &bytes, &mut memory, &mut acts).is_ok());
                    // Its own alarms ring as they come.
                    for act in std::mem::take(&mut acts) {
                        if let Act::SetAlarm { alarm, .. } = act
                            && rng.below(2) == 0
                        {
                            election.ring(alarm, &mut memory, &mut acts);
                        }
                    }
                }
                assert!(election.leader().is_none_or(|leader| ids(&all).contains(&leader)), "{choice:?}");
            }
            assert!(accepted > 100, "{choice:?}: what is refused at the listener tests nothing: {accepted}");
        }
    }
}

/// Some of the mail of an election is changed on its way, so that the rest of it meets with strange states.
#[test]
fn nodes_among_whom_mail_is_spoilt_do_not_panic_and_elect_once_it_is_not() {
    for choice in choices() {
        for seed in 0..ROUNDS {
            let size = 2 + seed % 6;
            let all = candidates(size, &mut Rng::new(seed));
            let mut bus = Bus::new(&choice, ids(&all), seed);
            bus.post = Post::Spoilt(2 + seed % 20);
            bus.all_enter(&all, 2 * TICK);
            bus.run_for(40 * TICK);
            bus.all_enter(&all, TICK / 2);
            bus.run_for(40 * TICK);
            // What is on its way may belong to views that were never taken, and is gone by then.
            bus.post = Post::ByKey;
            bus.run_for(TICK);
            bus.all_enter(&all, TICK / 2);
            bus.run_for(400 * TICK);
            assert!(bus.agree(&all, greatest(&all)), "{choice:?} seed {seed}: {:?}", bus.says(&all));
        }
    }
}

#[test]
fn what_is_refused_is_refused_for_a_reason() {
    let choice = choice("bully", &["highest=announce"]);
    let all = candidates(3, &mut Rng::new(1));
    let mail = real_mail(&choice, &all, 1);
    let (from, to, bytes) = mail.first().expect("nodes send mail");
    let (mut memory, mut acts) = (Memory::new(1), Vec::new());
    let mut election = Election::enter(&choice, *to, &all, &mut memory, &mut acts).expect("it elects");
    let mut refused = |from: Id, bytes: &[u8]| election.receive(from, bytes, &mut memory, &mut acts);
    assert_eq!(refused(*from, bytes), Ok(()));
    assert_eq!(refused(*from, &[]), Err(Garbled::Unreadable));
    assert_eq!(refused(*from, &[&bytes[..], &[0]].concat()), Err(Garbled::Trailing(1)));
    assert_eq!(refused(*from, &bytes[..bytes.len() - 1]), Err(Garbled::Unreadable));
    assert_eq!(refused(*from, &[&[bytes[0] + 1], &bytes[1..]].concat()), Err(Garbled::Counter));
    assert_eq!(refused(*from, &vec![0; MAX_BYTES + 1]), Err(Garbled::TooLong(MAX_BYTES + 1)));
    assert_eq!(refused(*to, bytes), Err(Garbled::Stranger(*to)));
    assert_eq!(refused(Id(99), bytes), Err(Garbled::Stranger(Id(99))));
    let far = [&[0xFF; 9][..], &[1], &bytes[1..]].concat();
    assert_eq!(refused(*from, &far), Err(Garbled::Leap(u64::MAX)));
}
