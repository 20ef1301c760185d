//! The same seed gives the same schedule; and what holds for every schedule.

use super::*;
use std::collections::BTreeSet;

fn plan(seed: u64, nodes: usize, minutes: u64) -> Plan {
    Plan {
        seed,
        nodes,
        offices: 3,
        length: minutes * 60_000,
        recovery: 8_700,
        lease: 250,
        other_lease: 2_000,
        kinds: FaultKind::ALL.to_vec(),
        aimed: false,
        delayed_messages: false,
    }
}

#[test]
fn the_schedule_of_a_seed_is_pinned() {
    let bytes = |seed| format!("{:?}", Schedule::new(&plan(seed, 5, 10)));
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(bytes(1), bytes(2));
    // If this number changes, every seed injects other faults: say so in the changelog.
    let sum = bytes(1).bytes().fold(0_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    assert_eq!(sum, 4_608_086_233_059_567_371);
}

#[test]
fn every_episode_ends_before_the_recovery_begins() {
    for seed in 0..50 {
        let schedule = Schedule::new(&plan(seed, 3 + seed as usize % 4, 3));
        let mut open = BTreeSet::new();
        let mut recovery = false;
        for (_, step) in &schedule.steps {
            match step {
                Step::Begin(index) => assert!(!recovery && open.insert(*index)),
                Step::End(index) => assert!(!recovery && open.remove(index)),
                Step::Recovery => {
                    assert!(open.is_empty() && !recovery);
                    recovery = true;
                }
                Step::RecoveryOver => {
                    assert!(recovery);
                    recovery = false;
                }
            }
        }
        assert!(matches!(schedule.steps.last(), Some((180_000, Step::RecoveryOver))), "seed {seed}");
        assert!(schedule.steps.is_sorted_by_key(|(at, _)| *at));
    }
}

#[test]
fn every_kind_occurs_and_a_minority_is_impaired_at_once() {
    let mut seen = BTreeSet::new();
    for seed in 0..20 {
        let schedule = Schedule::new(&plan(seed, 5, 5));
        seen.extend(schedule.episodes.iter().map(|episode| episode.kind));
        for episode in &schedule.episodes {
            let at_once = schedule
                .episodes
                .iter()
                .filter(|other| other.kind.impairs_node() && other.begin <= episode.begin && other.end > episode.begin);
            assert!(at_once.count() <= 2, "seed {seed}, at {}", episode.begin);
            assert!(episode.end - episode.begin <= 6_000 && episode.begin < episode.end);
            assert!((1..5).contains(&episode.side));
        }
        assert!(schedule.episodes.len() > 150, "seed {seed}: {}", schedule.episodes.len());
    }
    assert_eq!(seen.len(), FaultKind::ALL.len());
}

#[test]
fn a_rolling_change_restarts_every_node_once_with_the_same_lease() {
    let schedule = Schedule::new(&Plan { kinds: vec![FaultKind::Retime, FaultKind::Slow], ..plan(5, 5, 5) });
    let restarts: Vec<&Episode> =
        schedule.episodes.iter().filter(|episode| episode.kind == FaultKind::Retime).collect();
    assert!(restarts.len() >= 4 * 5, "{}", restarts.len());
    for (number, round) in restarts.chunks(5).enumerate() {
        let nodes: BTreeSet<usize> = round
            .iter()
            .map(|episode| if let Target::Node(node) = episode.aim { node } else { panic!("{episode:?}") })
            .collect();
        assert_eq!(nodes.len(), 5, "{round:?}");
        let lease = if number % 2 == 0 { 2_000 } else { 250 };
        assert!(round.iter().all(|episode| episode.amount.abs() == lease), "{number}: {round:?}");
        assert!(round.windows(2).all(|pair| pair[0].end < pair[1].begin), "one node at a time: {round:?}");
    }
    assert!(restarts.iter().any(|one| one.amount < 0) && restarts.iter().any(|one| one.amount > 0));
}

#[test]
fn membership_changes_one_at_a_time_while_members_are_deaf_and_up_to_the_recovery() {
    let kinds = vec![FaultKind::AddRemove, FaultKind::Remove, FaultKind::Kill];
    let schedule = Schedule::new(&Plan { kinds, ..plan(6, 5, 10) });
    let (changes, others): (Vec<&Episode>, Vec<&Episode>) =
        schedule.episodes.iter().partition(|episode| episode.kind.changes_membership());
    let mut spans: Vec<(u64, u64)> = changes.iter().map(|change| (change.begin, change.end)).collect();
    spans.sort_unstable();
    assert!(spans.len() > 20 && spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
    let overlaps = |change: &Episode, kind: FaultKind| {
        others.iter().any(|other| other.kind == kind && other.begin < change.end && other.end > change.begin)
    };
    assert!(changes.iter().any(|change| overlaps(change, FaultKind::Kill)), "during other faults");
    let deaf = changes.iter().filter(|change| overlaps(change, FaultKind::OneWay)).count();
    assert!(deaf > 5, "{deaf}");
    let recoveries: BTreeSet<u64> =
        schedule.steps.iter().filter(|(_, step)| *step == Step::Recovery).map(|(at, _)| *at).collect();
    assert!(changes.iter().filter(|change| recoveries.contains(&change.end)).count() > 5);
}

#[test]
fn uses_only_the_given_kinds_and_the_given_target() {
    let only = Plan { kinds: vec![FaultKind::CutSilent], aimed: true, lease: 5_000, ..plan(3, 3, 2) };
    let schedule = Schedule::new(&only);
    assert!(!schedule.episodes.is_empty());
    for episode in &schedule.episodes {
        assert_eq!((episode.kind, episode.aim, episode.side), (FaultKind::CutSilent, Target::Holder(0), 1));
    }
}

#[test]
fn all_messages_are_late_in_every_fault_phase_while_the_leader_is_killed_and_restarted() {
    let schedule = Schedule::new(&Plan { delayed_messages: true, recovery: 5_000, ..plan(4, 5, 1) });
    let recoveries: Vec<u64> =
        schedule.steps.iter().filter(|(_, step)| *step == Step::Recovery).map(|(at, _)| *at).collect();
    assert!(recoveries.len() > 5, "{recoveries:?}");
    let (slow, kills): (Vec<&Episode>, Vec<&Episode>) =
        schedule.episodes.iter().partition(|episode| episode.kind == FaultKind::Slow);
    assert_eq!(kills.len(), recoveries.len());
    for (kill, recovery) in kills.into_iter().zip(recoveries) {
        assert_eq!((kill.kind, kill.aim), (FaultKind::Kill, Target::Holder(0)));
        let late = slow.iter().filter(|slow| slow.begin < kill.begin && slow.end == recovery);
        let late: Vec<(Target, usize, i64)> = late.map(|slow| (slow.aim, slow.side, slow.amount)).collect();
        let delay = late[0].2;
        assert_eq!(late, [1, 2, 3, 4].map(|node| (Target::Node(node), 4, delay)), "each pair has one of these in it");
        let gone = (kill.end - kill.begin) as i64;
        assert!((delay..=4 * delay).contains(&gone), "{gone} ms, while messages take {delay} ms");
    }
}

#[test]
fn a_very_short_run_has_one_fault_phase_and_one_recovery() {
    let schedule = Schedule::new(&Plan { length: 1_000, ..plan(1, 3, 1) });
    let ends: Vec<_> =
        schedule.steps.iter().filter(|(_, step)| matches!(step, Step::Recovery | Step::RecoveryOver)).collect();
    assert_eq!(ends, [&(2_000, Step::Recovery), &(10_700, Step::RecoveryOver)]);
}
