//! The same seed, the same schedule; and what every schedule keeps to.

use super::*;
use std::collections::BTreeSet;

fn plan(seed: u64, nodes: usize, minutes: u64) -> Plan {
    Plan {
        seed,
        nodes,
        offices: 3,
        length: minutes * 60_000,
        calm: 8_700,
        lease: 250,
        kinds: Kind::ALL.to_vec(),
        aimed: false,
        late_mail: false,
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let bytes = |seed| format!("{:?}", Schedule::new(&plan(seed, 5, 10)));
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(bytes(1), bytes(2));
    // If this number changes, every seed means something else: say so in the changelog.
    let sum = bytes(1).bytes().fold(0_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    assert_eq!(sum, 3_824_142_908_356_670_256);
}

#[test]
fn everything_that_begins_ends_before_the_calm() {
    for seed in 0..50 {
        let schedule = Schedule::new(&plan(seed, 3 + seed as usize % 4, 3));
        let mut open = BTreeSet::new();
        let mut calm = false;
        for (_, step) in &schedule.steps {
            match step {
                Step::Begin(index) => assert!(!calm && open.insert(*index)),
                Step::End(index) => assert!(!calm && open.remove(index)),
                Step::Calm => {
                    assert!(open.is_empty() && !calm);
                    calm = true;
                }
                Step::CalmOver => {
                    assert!(calm);
                    calm = false;
                }
            }
        }
        assert!(matches!(schedule.steps.last(), Some((180_000, Step::CalmOver))), "seed {seed}");
        assert!(schedule.steps.is_sorted_by_key(|(at, _)| *at));
    }
}

#[test]
fn every_kind_comes_and_a_majority_of_nodes_is_not_ill_for_long() {
    let mut seen = BTreeSet::new();
    for seed in 0..20 {
        let schedule = Schedule::new(&plan(seed, 5, 5));
        seen.extend(schedule.episodes.iter().map(|episode| episode.kind));
        for episode in &schedule.episodes {
            let at_once = schedule
                .episodes
                .iter()
                .filter(|other| breaks_node(other.kind) && other.begin <= episode.begin && other.end > episode.begin);
            assert!(at_once.count() <= 2, "seed {seed}, at {}", episode.begin);
            assert!(episode.end - episode.begin <= 6_000 && episode.begin < episode.end);
            assert!((1..5).contains(&episode.side));
        }
        assert!(schedule.episodes.len() > 150, "seed {seed}: {}", schedule.episodes.len());
    }
    assert_eq!(seen.len(), Kind::ALL.len());
}

#[test]
fn only_what_may_be_broken_is_and_an_aimed_one_is_aimed() {
    let only = Plan { kinds: vec![Kind::CutSilent], aimed: true, lease: 5_000, ..plan(3, 3, 2) };
    let schedule = Schedule::new(&only);
    assert!(!schedule.episodes.is_empty());
    for episode in &schedule.episodes {
        assert_eq!((episode.kind, episode.aim, episode.side), (Kind::CutSilent, Aim::Holder(0), 1));
    }
}

#[test]
fn all_mail_is_late_in_every_storm_while_whoever_leads_goes_and_comes_back() {
    let schedule = Schedule::new(&Plan { late_mail: true, calm: 5_000, ..plan(4, 5, 1) });
    let calms: Vec<u64> = schedule.steps.iter().filter(|(_, step)| *step == Step::Calm).map(|(at, _)| *at).collect();
    assert!(calms.len() > 5, "{calms:?}");
    let (slow, kills): (Vec<&Episode>, Vec<&Episode>) =
        schedule.episodes.iter().partition(|episode| episode.kind == Kind::Slow);
    assert_eq!(kills.len(), calms.len());
    for (kill, calm) in kills.into_iter().zip(calms) {
        assert_eq!((kill.kind, kill.aim), (Kind::Kill, Aim::Holder(0)));
        let late = slow.iter().filter(|slow| slow.begin < kill.begin && slow.end == calm);
        let late: Vec<(Aim, usize, i64)> = late.map(|slow| (slow.aim, slow.side, slow.amount)).collect();
        let delay = late[0].2;
        assert_eq!(late, [1, 2, 3, 4].map(|node| (Aim::Node(node), 4, delay)), "each pair has one of these in it");
        let gone = (kill.end - kill.begin) as i64;
        assert!((delay..=4 * delay).contains(&gone), "{gone} ms, while mail takes {delay} ms");
    }
}

#[test]
fn a_very_short_run_has_one_storm_and_one_calm() {
    let schedule = Schedule::new(&Plan { length: 1_000, ..plan(1, 3, 1) });
    let ends: Vec<_> = schedule.steps.iter().filter(|(_, step)| matches!(step, Step::Calm | Step::CalmOver)).collect();
    assert_eq!(ends, [&(2_000, Step::Calm), &(10_700, Step::CalmOver)]);
}
