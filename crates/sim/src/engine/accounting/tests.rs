use super::*;

fn accounting(ids: &[u64]) -> (Vec<Id>, Accounting) {
    let ranks: Vec<Id> = ids.iter().copied().map(Id).collect();
    let accounting = Accounting::new(&ranks, ranks.len() as u32, 1);
    (ranks, accounting)
}

#[test]
fn agreement_begins_in_the_tick_of_the_last_follower() {
    let (ranks, mut accounting) = accounting(&[7, 9, 8]);
    accounting.set_leading(1, 3);
    accounting.close_tick(3);
    accounting.set_following(0, Id(9), 4);
    accounting.close_tick(4);
    accounting.set_following(2, Id(9), 6);
    accounting.close_tick(6);
    accounting.set_following(2, Id(9), 9);
    accounting.set_leading(1, 9);
    accounting.close_tick(9);
    let outcome = accounting.finish(&ranks, false, Vec::new());
    assert_eq!((outcome.leader, outcome.agreement), (Some(1), true));
    assert_eq!(outcome.time, Times { elected: Some(3), agreed: Some(6), quiescent: None });
}

#[test]
fn a_crash_can_end_or_complete_agreement() {
    let (ranks, mut accounting) = accounting(&[0, 1, 2]);
    accounting.set_leading(0, 1);
    accounting.set_following(1, Id(0), 1);
    accounting.close_tick(1);
    accounting.mark_down(2, 5);
    accounting.close_tick(5);
    assert_eq!(accounting.clone().finish(&ranks, false, Vec::new()).time.agreed, Some(5));
    accounting.mark_down(0, 8);
    accounting.close_tick(8);
    assert!(accounting.has_stale_leader());
    let outcome = accounting.finish(&ranks, false, Vec::new());
    assert_eq!((outcome.leader, outcome.agreement, outcome.live), (None, false, 1));
    assert_eq!(outcome.time, Times::default());
}

#[test]
fn naming_oneself_is_not_leading_and_unknown_ids_are_ignored() {
    let (ranks, mut accounting) = accounting(&[4]);
    accounting.set_following(0, Id(4), 1);
    accounting.close_tick(1);
    assert!(accounting.clone().finish(&ranks, false, Vec::new()).leaders.is_empty());
    accounting.set_following(0, Id(5), 2);
    assert_eq!(accounting.leader_of(0), None);
    accounting.set_leading(0, 3);
    accounting.close_tick(3);
    assert_eq!(accounting.finish(&ranks, false, Vec::new()).time.agreed, Some(3));
}

#[test]
fn reports_the_greatest_of_several_leaders() {
    let (ranks, mut accounting) = accounting(&[30, 10, 20]);
    (0..3).for_each(|at| accounting.set_leading(at, 2));
    accounting.mark_down(0, 2);
    accounting.close_tick(2);
    let outcome = accounting.finish(&ranks, true, Vec::new());
    assert_eq!((outcome.leaders, outcome.leader, outcome.agreement), (vec![1, 2], Some(2), false));
    assert!(outcome.hung);
}

#[test]
fn counts_load_and_collisions() {
    let (ranks, mut accounting) = accounting(&[0, 1, 2, 3]);
    for (at, tick) in [(0, 1), (1, 1), (1, 1), (1, 1), (1, 2), (0, 2)] {
        accounting.count_delivered(at, tick, false);
    }
    let outcome = accounting.finish(&ranks, false, Vec::new());
    assert_eq!(outcome.load, Load { mean: 1.5, max: 4, histogram: vec![(0, 2), (2, 1), (4, 1)] });
    assert_eq!(outcome.collisions, Collisions { total: 2, max: 3 });
    assert_eq!(outcome.time.quiescent, Some(2));
}
