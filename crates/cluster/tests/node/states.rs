//! The states of offices, with real nodes: sockets, TLS, disks.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hustings_cluster::api::{Client, ClientError, Reply, Request};
use hustings_cluster::config::Config;
use hustings_cluster::recover::{back_up, recover};

use crate::index;
use crate::test_cluster::{TIMEOUT, TestCluster};

/// Campaigns for offices on a connection of its own, and returns it with their tokens when it holds all of them.
fn hold(cluster: &TestCluster, node: usize, offices: &[String]) -> (Client, Vec<u64>) {
    let mut client = cluster.client(node);
    for office in offices {
        let request = Request::Campaign { office: office.clone(), mode: None, guard: None };
        client.send(&request).expect("the node runs");
    }
    let mut tokens = vec![0; offices.len()];
    while tokens.contains(&0) {
        if let Reply::Held(lease) = client.recv(Some(TIMEOUT)).expect("there is news") {
            let place = offices.iter().position(|office| *office == lease.office).expect("it campaigns for it");
            tokens[place] = lease.token;
        }
    }
    (client, tokens)
}

fn content(number: u8, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| number ^ (place % 251) as u8).collect()
}

fn code(result: Result<(), ClientError>) -> String {
    match result {
        Err(ClientError::Rejected(error)) => error.code,
        other => panic!("it must be rejected: {other:?}"),
    }
}

#[test]
fn no_lease_lapses_while_64_mib_are_stored() {
    let mut cluster = TestCluster::new(3);
    cluster.start_all();
    let agreed = cluster.wait_for_agreement(&[0, 1, 2], |_| true);
    let offices: Vec<String> = (0..64).map(|number| format!("office-{number}")).collect();
    let (mut holder, tokens) = hold(&cluster, 0, &offices);
    let is_done = AtomicBool::new(false);
    let lost = thread::scope(|scope| {
        // Reads what the holder is told until everything is stored.
        let watch = scope.spawn(|| {
            let mut lost = Vec::new();
            while !is_done.load(Ordering::Relaxed) {
                match holder.recv(Some(std::time::Duration::from_millis(50))) {
                    Ok(Reply::Renewed { .. } | Reply::Done) | Err(ClientError::Timeout { .. }) => {}
                    other => lost.push(format!("{other:?}")),
                }
            }
            lost
        });
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (cluster, offices, tokens) = (&cluster, &offices, &tokens);
                scope.spawn(move || {
                    let mut client = cluster.client(0);
                    for number in (0..64).filter(|number| number % 4 == writer) {
                        let data = content(number as u8, 1 << 20);
                        let stored = client.put_state(&offices[number], tokens[number], &data, TIMEOUT);
                        stored.unwrap_or_else(|error| panic!("{number}: {error}"));
                    }
                })
            })
            .collect();
        let results: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        is_done.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok), "every state is stored");
        watch.join().expect("it does not panic")
    });
    assert_eq!(lost, Vec::<String>::new(), "the holder keeps its leases");
    assert_eq!(cluster.wait_for_agreement(&[0, 1, 2], |_| true).token, agreed.token, "so does the leader");
    let code = code(cluster.client(0).put_state("leader", agreed.token, &vec![0; 1 << 20], TIMEOUT));
    assert_eq!(code, "no-room", "64 MiB are stored");
    // Every node has all of it, also after a restart.
    cluster.kill(2);
    cluster.start(2);
    cluster.wait_for_agreement(&[0, 1, 2], |_| true);
    let mut reader = cluster.client(2);
    for (number, office) in offices.iter().enumerate() {
        let state = reader.get_state(office, TIMEOUT).expect("it is confirmed").expect("it was stored");
        assert!(state.data == content(number as u8, 1 << 20), "{office}");
        assert_eq!((state.token, state.holder.as_str()), (tokens[number], "a"));
    }
}

#[test]
fn a_successor_reads_the_state_and_a_former_holder_cannot_change_it() {
    let mut cluster = TestCluster::new(3);
    cluster.start_all();
    let first = cluster.wait_for_agreement(&[0, 1, 2], |_| true);
    let holder = index(first.holder.as_deref());
    let other = (holder + 1) % 3;
    let mut client = cluster.client(holder);
    assert_eq!(client.get_state("leader", TIMEOUT).expect("it is confirmed"), None);
    let data = content(1, 300_000);
    client.put_state("leader", first.token, &data, TIMEOUT).expect("it holds the office");
    let moved = Request::Resign { office: "leader".to_string() };
    assert_eq!(cluster.ask(other, &moved), Reply::Done);
    let second = cluster.wait_for_agreement(&[0, 1, 2], |status| status.token > first.token);
    assert_eq!(code(client.put_state("leader", first.token, b"stale", TIMEOUT)), "stale-token");
    for node in 0..3 {
        let state = cluster.client(node).get_state("leader", TIMEOUT).expect("it is confirmed").expect("it was stored");
        assert!(state.data == data && state.token == first.token, "node {node}");
    }
    // Through any node.
    cluster.client(other).put_state("leader", second.token, b"", TIMEOUT).expect("the office is held with this token");
    let state = client.get_state("leader", TIMEOUT).expect("it is confirmed").expect("it was stored");
    assert_eq!((state.data.as_slice(), state.token), (&b""[..], second.token));
    let large = vec![0; (1 << 20) + 1];
    assert_eq!(code(client.put_state("leader", second.token, &large, TIMEOUT)), "too-large");
}

#[test]
fn a_state_is_listed_until_its_holder_or_an_operator_deletes_it() {
    let mut cluster = TestCluster::new(3);
    cluster.start_all();
    cluster.wait_for_agreement(&[0, 1, 2], |_| true);
    let offices = ["one", "two"].map(str::to_string);
    let (_holder, tokens) = hold(&cluster, 0, &offices);
    let mut client = cluster.client(0);
    for (office, token) in offices.iter().zip(&tokens) {
        client.put_state(office, *token, &content(1, 100_000), TIMEOUT).expect("it holds the office");
    }
    let listed = |node: usize| {
        let states = cluster.client(node).list_states(TIMEOUT).expect("it is confirmed");
        states.into_iter().map(|state| (state.office, state.bytes, state.holder, state.token)).collect::<Vec<_>>()
    };
    let shown = |place: usize| (offices[place].clone(), 100_000, "a".to_string(), tokens[place]);
    assert_eq!(listed(1), [shown(0), shown(1)]);

    let delete = |node: usize, office: &str, token| cluster.client(node).delete_state(office, token, TIMEOUT);
    assert_eq!(code(delete(1, "one", Some(tokens[1]))), "stale-token");
    assert_eq!(code(delete(1, "three", None)), "no-state");
    assert_eq!(code(delete(1, "No Office", None)), "bad-request");
    assert_eq!(listed(2).len(), 2, "nothing has changed");
    delete(1, "one", Some(tokens[0])).expect("the office is held with this token");
    assert_eq!(listed(2), [shown(1)]);
    assert_eq!(code(delete(2, "one", Some(tokens[0]))), "no-state");
    delete(2, "two", None).expect("an operator may");
    for node in 0..3 {
        assert_eq!(listed(node), [], "node {node}");
        assert_eq!(cluster.client(node).get_state("two", TIMEOUT).expect("it is confirmed"), None);
    }

    // It is gone for good, and the holder can store another one.
    drop(client);
    (0..3).for_each(|node| cluster.kill(node));
    cluster.start_all();
    let agreed = cluster.wait_for_agreement(&[0, 1, 2], |_| true);
    assert_eq!(cluster.client(1).list_states(TIMEOUT).expect("it is confirmed"), []);
    cluster.client(0).put_state("leader", agreed.token, b"x", TIMEOUT).expect("the office is held with this token");
    let listed = cluster.client(1).list_states(TIMEOUT).expect("it is confirmed");
    assert_eq!(listed.iter().map(|state| state.office.as_str()).collect::<Vec<_>>(), ["leader"]);
}

#[test]
fn a_backup_of_a_running_node_has_its_states() {
    let mut cluster = TestCluster::new(1);
    cluster.start_all();
    let agreed = cluster.wait_for_agreement(&[0], |_| true);
    let mut client = cluster.client(0);
    // Some are in a snapshot, the last ones in the log.
    for number in 0..10 {
        client.put_state("leader", agreed.token, &content(number, 1 << 20), TIMEOUT).expect("it holds the office");
    }
    let copy = cluster.folders[0].join("copy");
    back_up(&cluster.config(0).data, &copy).expect("the node runs");
    cluster.kill(0);
    let config = Config { data: copy, ..cluster.config(0) };
    recover(&config, 0).expect("it is the copy of a voter");
    cluster.start_with(config, 0).expect("it starts");
    cluster.wait_for_agreement(&[0], |status| status.token > agreed.token);
    let state = cluster.client(0).get_state("leader", TIMEOUT).expect("it is confirmed").expect("it was stored");
    assert!(state.data == content(9, 1 << 20) && state.token == agreed.token);
}

#[test]
fn a_damaged_state_stops_the_node() {
    let mut cluster = TestCluster::new(1);
    cluster.start_all();
    let agreed = cluster.wait_for_agreement(&[0], |_| true);
    let mut client = cluster.client(0);
    // Enough for a snapshot.
    for number in 0..9 {
        client.put_state("leader", agreed.token, &content(number, 1 << 20), TIMEOUT).expect("it holds the office");
    }
    cluster.kill(0);
    let data = cluster.folders[0].join("data");
    let is_state = |name: &str| name.starts_with("state-");
    let names = || fs::read_dir(&data).expect("it is there").flatten().map(|entry| entry.file_name());
    let mut states: Vec<_> = names().filter(|name| is_state(&name.to_string_lossy())).collect();
    states.sort();
    assert!((1..=3).contains(&states.len()), "what is not needed is removed: {states:?}");
    // The first one is older than the snapshot, which refers to it.
    let path = data.join(&states[0]);
    let mut bytes = fs::read(&path).expect("it is there");
    bytes[100] ^= 1;
    fs::write(&path, bytes).expect("the folder is ours");
    let error = cluster.start_with(cluster.config(0), 0).expect_err("its state is damaged");
    assert!(error.contains("bytes of an office's state, but they are missing or damaged"), "{error}");
}
