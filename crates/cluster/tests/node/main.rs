//! Nodes as they are run: real sockets, real disks.

mod town;

use std::fs;
use std::time::{Duration, Instant};

use hustings_cluster::api::{Reply, Request};
use hustings_cluster::config::{Choice, Mode};
use hustings_cluster::core::Exit;
use hustings_cluster::member::Role;
use hustings_cluster::node::NodeError;
use town::{PATIENCE, Town};

/// The place of a member that is called a, b, c …
fn place(name: Option<&str>) -> usize {
    usize::from(name.and_then(|name| name.bytes().next()).expect("somebody holds it") - b'a')
}

#[test]
fn three_elect_the_one_of_greatest_worth_and_all_say_so() {
    let mut town = Town::found(3);
    town.start_all();
    let agreed = town.agree(&[0, 1, 2], |status| status.holder.as_deref() == Some("c"));
    assert!(agreed.token > 0);
    let status = town.status(1);
    assert!(status.current && status.members.iter().all(|member| member.up), "{status:?}");
}

#[test]
fn a_holder_that_leaves_hands_over_to_a_greater_token() {
    let mut town = Town::found(3);
    town.start_all();
    let before = town.agree(&[0, 1, 2], |_| true);
    let holder = place(before.holder.as_deref());
    let left = town.stop(holder).expect("it leaves in good order");
    assert_eq!(left, Exit::Left);
    let others: Vec<usize> = (0..3).filter(|place| *place != holder).collect();
    let after = town.agree(&others, |status| status.holder != before.holder);
    assert!(after.token > before.token, "{after:?} after {before:?}");
    assert!(!town.homes[holder].join("hustings.sock").exists(), "its socket goes with it");
}

#[test]
fn one_alone_is_a_cluster_too() {
    let mut town = Town::found(1);
    town.start_all();
    let agreed = town.agree(&[0], |_| true);
    assert_eq!(agreed.holder.as_deref(), Some("a"));
    assert_eq!(town.stop(0).expect("it leaves in good order"), Exit::Left);
}

/// Kills the holder again and again; every time the next one has a greater token. Says how long it took.
fn killed_again_and_again(mode: Mode, rounds: usize) -> Vec<Duration> {
    let mut town = Town::found(3);
    for place in 0..3 {
        let mut config = town.config(place);
        config.default_policy.mode = mode;
        town.start_with(config, place).expect("it starts");
    }
    let mut before = town.agree(&[0, 1, 2], |_| true);
    let mut took = Vec::new();
    for _ in 0..rounds {
        let holder = place(before.holder.as_deref());
        let mut witness = town.client((holder + 1) % 3);
        let watch = Request::Watch { office: Some("leader".to_string()) };
        witness.send(&watch).expect("the node runs");
        town.kill_soon(holder);
        let killed = Instant::now();
        loop {
            match witness.next(Some(PATIENCE)).expect("there is news") {
                Reply::Office(news) if news.token > before.token && news.holder.is_some() => break,
                _ => {}
            }
        }
        took.push(killed.elapsed());
        assert!(matches!(town.bury(holder), Err(NodeError::StoppedAtOnce)));
        let mut config = town.config(holder);
        config.default_policy.mode = mode;
        town.start_with(config, holder).expect("it starts");
        let token = before.token;
        before = town.agree(&[0, 1, 2], |status| status.token > token);
    }
    took.sort();
    took
}

#[test]
fn a_killed_holder_of_a_fenced_office_is_replaced_without_waiting_for_its_lease() {
    let took = killed_again_and_again(Mode::Fenced, 5);
    assert!(took[0] < Duration::from_millis(200), "not even once before the lease was over: {took:?}");
}

#[test]
fn a_killed_holder_of_an_exclusive_office_is_replaced_after_its_lease() {
    let took = killed_again_and_again(Mode::Exclusive, 2);
    assert!(took[0] > Duration::from_millis(50), "its lease was not waited for: {took:?}");
}

#[test]
fn tokens_go_on_where_they_were_after_everybody_was_stopped() {
    let mut town = Town::found(3);
    town.start_all();
    let before = town.agree(&[0, 1, 2], |_| true);
    town.kill(0);
    town.kill(2);
    town.kill(1);
    town.start_all();
    let after = town.agree(&[0, 1, 2], |status| status.token > before.token);
    assert!(after.holder.is_some());
}

#[test]
fn a_damaged_store_is_refused_and_a_missing_one_is_not() {
    let mut town = Town::found(1);
    town.start(0);
    town.agree(&[0], |_| true);
    town.kill(0);
    let header = town.config(0).data.join("header");
    let sound = fs::read(&header).expect("the store has a header");
    let mut damaged = sound.clone();
    damaged[sound.len() / 2] ^= 1;
    fs::write(&header, &damaged).expect("the folder is ours");
    let refused = town.start_with(town.config(0), 0).expect_err("it must not start");
    assert!(refused.contains("header is damaged at byte") && refused.contains("forgotten a vote"), "{refused}");
    fs::write(&header, &sound).expect("the folder is ours");
    town.start(0);
    town.kill(0);
    fs::remove_dir_all(town.config(0).data).expect("the folder is ours");
    town.start(0);
    town.agree(&[0], |_| true);
}

#[test]
fn a_second_node_is_refused_the_folder_the_socket_and_the_address() {
    let mut town = Town::found(2);
    town.start(0);
    let own = town.config(0);
    let mut other = own.clone();
    (other.socket, other.listen) = (own.socket.with_file_name("other.sock"), "127.0.0.1:0".to_string());
    let refused = town.start_with(other, 1).expect_err("the folder is in use");
    assert!(refused.contains("is in use by another process"), "{refused}");

    let mut other = town.config(1);
    other.socket = own.socket.clone();
    let refused = town.start_with(other, 1).expect_err("the socket is in use");
    assert!(refused.contains("a node is running already with the socket"), "{refused}");

    let mut other = town.config(1);
    other.listen = own.listen.clone();
    let refused = town.start_with(other, 1).expect_err("the address is in use");
    assert!(refused.contains(&own.listen) && refused.contains("is another node running there?"), "{refused}");
    town.start(1);
}

#[test]
fn what_cannot_work_is_refused_with_a_reason() {
    let mut town = Town::found(1);
    let mut config = town.config(0);
    config.timing.lease = Duration::from_millis(1);
    assert!(town.start_with(config, 0).expect_err("too short").contains("timing.lease"));
    let mut config = town.config(0);
    config.algorithm = Choice::named("rng", None);
    assert!(town.start_with(config, 0).expect_err("unknown").contains("rng"));
    let mut config = town.config(0);
    config.tls.key = "/nowhere/node.key".into();
    assert!(town.start_with(config, 0).expect_err("missing").contains("private key /nowhere/node.key"));
    let mut config = town.config(0);
    config.node = hustings_protocol::Id(9);
    assert!(town.start_with(config, 0).expect_err("nobody").contains("id 9"));
}

#[test]
fn a_program_that_is_gone_no_longer_campaigns() {
    let mut town = Town::found(1);
    town.start(0);
    let office = || "work".to_string();
    let mut first = town.client(0);
    first.send(&Request::Campaign { office: office(), mode: None }).expect("the node runs");
    assert_eq!(first.next(Some(PATIENCE)).expect("an answer"), Reply::Done);
    let Reply::Held(held) = first.next(Some(PATIENCE)).expect("it is appointed") else { panic!("not held") };
    let mut second = town.client(0);
    second.send(&Request::Campaign { office: office(), mode: None }).expect("the node runs");
    assert_eq!(second.next(Some(PATIENCE)).expect("an answer"), Reply::Done);
    drop(first);
    let Reply::Held(next) = second.next(Some(PATIENCE)).expect("it is appointed") else { panic!("not held") };
    assert!(next.token > held.token, "{next:?} after {held:?}");
}

#[test]
fn told_twice_a_node_stops_at_once() {
    let mut town = Town::found(3);
    town.start_all();
    // Told once, it would wait for this program to stop, which does not.
    let mut program = town.client(0);
    program.send(&Request::Campaign { office: "o".to_string(), mode: None }).expect("the node runs");
    assert_eq!(program.next(Some(PATIENCE)).expect("an answer"), Reply::Done);
    assert!(matches!(program.next(Some(PATIENCE)), Ok(Reply::Held(_))));
    town.tell_to_stop(0);
    assert!(matches!(program.next(Some(PATIENCE)), Ok(Reply::Stop { .. } | Reply::Renewed(_))));
    town.tell_to_stop(0);
    let ended = town.bury(0);
    assert!(matches!(ended, Err(NodeError::StoppedAtOnce)), "{ended:?}");
}

#[test]
fn what_one_program_may_watch_is_bounded() {
    let mut town = Town::found(1);
    town.start(0);
    let mut client = town.client(0);
    for number in 0..1999 {
        // The second of each pair is nothing new.
        for _ in 0..2 {
            let answer = client.ask(&Request::Watch { office: Some(format!("o{number}")) }, Some(PATIENCE));
            assert!(matches!(answer, Ok(Reply::Office(_))), "{number}: {answer:?}");
        }
    }
    let last = client.ask(&Request::Watch { office: None }, Some(PATIENCE));
    assert!(matches!(last, Ok(Reply::Office(_))), "{last:?}");
    let answer = client.ask(&Request::Watch { office: Some("one-more".to_string()) }, Some(PATIENCE));
    let Ok(Reply::Refused(refusal)) = answer else { panic!("that is too much: {answer:?}") };
    assert_eq!(refusal.code, "too-many");
}

#[test]
fn a_number_that_was_given_before_is_not_given_again() {
    let mut town = Town::found(1);
    town.start(0);
    town.agree(&[0], |_| true);
    let add = |id| Request::AddMember {
        id,
        name: "newcomer".to_string(),
        address: "127.0.0.1:1".to_string(),
        priority: 0,
        role: Role::Observer,
    };
    let Reply::Refused(refusal) = town.ask(0, &add(1)) else { panic!("the number 1 was given before") };
    assert_eq!(refusal.code, "known-number");
    let Reply::Refused(refusal) = town.ask(0, &add(u64::MAX)) else { panic!("no number would be left") };
    assert_eq!(refusal.code, "bad-request");
    assert_eq!(town.ask(0, &add(5)), Reply::Done);
    let ids: Vec<u64> = town.status(0).members.iter().map(|member| member.id).collect();
    assert_eq!(ids, [1, 5]);
}
