//! The library with real nodes in this process.

use crate::loopback;

use std::sync::mpsc::channel;
use std::time::Duration;

use hustings::Elector;
use hustings::elector::EndReason;
use pollster::block_on;

/// Runs a future, with a timeout that suits a busy machine.
fn block_with_timeout<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(block_on(future)));
    receiver.recv_timeout(Duration::from_secs(30)).expect("it comes in time")
}

fn start() -> (loopback::Loopback, Vec<Elector>) {
    let cluster = loopback::bootstrap(3);
    let nodes = cluster.configs().map(|config| Elector::embedded(config).expect("it starts")).collect();
    (cluster, nodes)
}

#[test]
fn successive_leaders_have_increasing_tokens() {
    let (_cluster, nodes) = start();
    let mut tokens = Vec::new();
    for elector in nodes.iter().cycle().take(6) {
        let elector = elector.clone();
        tokens.push(block_with_timeout(async move {
            let leadership = elector.campaign("billing").await.expect("nothing is wrong with it");
            assert!(leadership.is_held());
            let token = leadership.token();
            leadership.resign().await.expect("the node is there");
            token
        }));
    }
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
}

#[test]
fn only_one_campaigner_leads_and_others_observe_it() {
    let (_cluster, nodes) = start();
    let leadership = block_with_timeout({
        let elector = nodes[0].clone();
        async move { elector.campaign("billing").await.expect("nothing is wrong with it") }
    });
    let mut observer = nodes[2].observe("billing");
    let seen = block_with_timeout(async move {
        loop {
            if let Some(leader) = observer.next().await.leader() {
                return leader.to_string();
            }
        }
    });
    assert_eq!(seen, "a");
    // The next campaigner waits until the holder's node is gone.
    let waits = std::thread::spawn({
        let elector = nodes[1].clone();
        move || block_on(elector.campaign("billing")).expect("nothing is wrong with it").token()
    });
    let held = leadership.token();
    // The guard is the last that needs the first node: it leaves, and hands over.
    let mut nodes = nodes;
    drop(nodes.remove(0));
    assert!(leadership.is_held());
    drop(leadership);
    assert!(waits.join().expect("it does not panic") > held);
}

#[test]
fn a_leader_without_a_majority_loses_its_office() {
    let (_cluster, mut nodes) = start();
    let leadership = block_with_timeout({
        let elector = nodes[0].clone();
        async move { elector.campaign("billing").await.expect("nothing is wrong with it") }
    });
    nodes.truncate(1);
    let (leadership, why) = block_with_timeout(async move {
        let why = leadership.lost().await;
        (leadership, why)
    });
    assert!(!leadership.is_held(), "{why}");
    assert!(matches!(why, EndReason::Revoked(_) | EndReason::DeadlinePassed), "{why}");
    let observer = nodes[0].observe("billing");
    assert_eq!(observer.current().leader(), None);
}

#[test]
fn the_library_does_not_depend_on_cli_checker_or_simulator() {
    let tree = std::process::Command::new(env!("CARGO"))
        .args(["tree", "--package", "hustings", "--no-default-features", "--features", "cluster"])
        .args(["--edges", "normal", "--prefix", "none", "--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs this test");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let text = String::from_utf8(tree.stdout).expect("names are plain");
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"hustings-cluster"), "{names:?}");
    for heavy in
        ["clap", "parquet", "stateright", "resvg", "comfy-table", "indicatif", "hustings-sim", "hustings-check"]
    {
        assert!(!names.contains(&heavy), "{heavy}");
    }
}

#[test]
fn a_guard_stores_a_state_that_the_next_holder_reads() {
    let cluster = loopback::bootstrap(1);
    let node = cluster.configs().map(Elector::embedded).next().expect("there is a member").expect("it starts");
    block_on(async {
        let first = node.campaign("billing").await.expect("a grant");
        assert_eq!(first.state().await.expect("it is confirmed"), None);
        first.put_state(b"invoice 7").await.expect("it holds the office");
        let token = first.token();
        first.resign().await.expect("the node runs");
        let second = node.campaign("billing").await.expect("a grant");
        let state = second.state().await.expect("it is confirmed").expect("the first one stored it");
        assert_eq!((state.data.as_slice(), state.token), (&b"invoice 7"[..], token));
        second.delete_state().await.expect("it holds the office");
        assert_eq!(second.state().await.expect("it is confirmed"), None);
    });
}
