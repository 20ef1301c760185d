use std::time::Duration;

use hustings_cluster::api::ChangeReason;
use hustings_cluster::config::Mode;

use super::*;

fn at(ms: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_millis(ms)
}

fn story() -> Story {
    let mut story = Story::new(["a", "b", "c"].map(str::to_string).to_vec(), at(0));
    story.handle_started(&[11, 12, 13]);
    story
}

/// A report by a node: the holder, with its token, and whether that is certain.
fn report(story: &mut Story, node: usize, holder: &str, token: u64, current: bool, ms: u64) {
    let status = OfficeStatus {
        office: "leader".to_string(),
        mode: Mode::Exclusive,
        holder: Some(holder.to_string()),
        address: None,
        token,
        since_unix_ms: 0,
        reason: ChangeReason::Disconnected,
        current,
    };
    story.handle_office(node, &status, at(ms));
}

/// The same by several nodes.
fn reports(story: &mut Story, nodes: &[usize], holder: &str, token: u64, ms: u64) {
    nodes.iter().for_each(|node| report(story, *node, holder, token, true, ms));
}

fn words(story: &mut Story) -> Vec<String> {
    story.take_events().iter().map(|event| event.kind.to_string()).collect()
}

fn order(text: &str) -> Order {
    text.parse().expect("an order")
}

#[test]
fn a_killed_leader_is_replaced_and_the_time_is_from_the_kill_to_the_first_report() {
    let mut story = story();
    reports(&mut story, &[0, 1, 2], "a", 5, 400);
    assert_eq!(story.leader(), Some(("a", 5)));
    assert!(story.is_agreed());
    assert_eq!(story.targets(&order("kill leader")).expect("there is one"), [0]);
    words(&mut story);
    story.handle_action(0, Action::Kill, 11, at(1000));
    assert!(!story.is_agreed() && story.leader().is_none());
    assert!(matches!(story.targets(&order("kill leader")), Err(OrderError::NoLeader)));
    report(&mut story, 1, "a", 5, false, 1010);
    reports(&mut story, &[2, 1], "b", 8, 1300);
    let told = words(&mut story);
    assert_eq!(
        told,
        [
            "killed a: SIGKILL to process 11; a led",
            "b leads with token 8, 300 ms after a was killed: the connection to the holder closed",
            "b and c name b as the leader",
        ]
    );
    story.handle_action(0, Action::Revive, 14, at(2000));
    assert!(!story.is_agreed(), "a does not know yet");
    reports(&mut story, &[0], "b", 8, 2200);
    assert_eq!(words(&mut story), ["started a again, as process 14", "a, b and c name b as the leader"]);
    assert!(story.is_whole());
}

#[test]
fn a_leader_that_is_cut_off_is_unsure_once_and_its_successor_is_told() {
    let mut story = story();
    reports(&mut story, &[0, 1, 2], "a", 5, 400);
    words(&mut story);
    story.handle_action(0, Action::Cut, 11, at(1000));
    report(&mut story, 0, "a", 5, false, 1100);
    report(&mut story, 0, "a", 5, false, 1150);
    reports(&mut story, &[1, 2], "c", 9, 1400);
    let told = words(&mut story);
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[1], "a no longer acts as the leader: no majority answers it");
    assert!(told[2].starts_with("c leads with token 9, 400 ms after a was cut off"), "{told:?}");
}

#[test]
fn a_leader_that_is_revived_in_time_was_not_lost() {
    let mut story = story();
    reports(&mut story, &[0, 1, 2], "a", 5, 400);
    story.handle_action(0, Action::Freeze, 11, at(1000));
    story.handle_action(0, Action::Revive, 11, at(1010));
    assert_eq!(story.leader(), Some(("a", 5)));
    words(&mut story);
    reports(&mut story, &[1], "b", 7, 5000);
    assert!(!words(&mut story)[0].contains("after"), "nothing was measured");
}

#[test]
fn losing_the_majority_is_told_once() {
    let mut story = story();
    reports(&mut story, &[0, 1, 2], "a", 5, 400);
    story.handle_action(2, Action::Kill, 13, at(1000));
    assert!(story.is_agreed(), "the loss of a follower changes nothing");
    words(&mut story);
    story.handle_ended(1, "with exit code 3".to_string(), at(1100));
    assert_eq!(
        words(&mut story),
        [
            "b ended by itself, with exit code 3",
            "1 of 3 members can act, and a majority is 2: nobody can lead until one is revived"
        ]
    );
    story.handle_action(0, Action::Freeze, 11, at(1200));
    assert_eq!(words(&mut story).len(), 1, "there was none before");
}

#[test]
fn orders_that_make_no_sense_say_why() {
    let mut story = story();
    let why = |story: &Story, text: &str| story.targets(&order(text)).expect_err(text).to_string();
    assert_eq!(why(&story, "kill leader"), "nobody leads at the moment");
    assert_eq!(why(&story, "cut x"), "there is no member `x`; the members are a, b and c");
    assert_eq!(why(&story, "revive a"), "a is well: there is nothing to revive");
    assert_eq!(why(&story, "revive"), "there is nobody to revive: no member was killed, frozen or cut off");
    story.handle_action(0, Action::Kill, 11, at(1));
    story.handle_action(1, Action::Freeze, 12, at(1));
    story.handle_action(2, Action::Cut, 13, at(1));
    assert_eq!(why(&story, "freeze a"), "a is not running; `revive` starts it again");
    assert_eq!(why(&story, "freeze b"), "b is frozen already");
    assert_eq!(why(&story, "cut c"), "c is cut off already");
    assert_eq!(story.targets(&order("revive")).expect("three"), [0, 1, 2]);
    assert_eq!(story.targets(&order("kill b")).expect("a frozen process can be killed"), [1]);
}
