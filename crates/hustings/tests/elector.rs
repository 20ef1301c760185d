//! The library against real nodes, inside this process.

mod loopback;

use std::sync::mpsc::channel;
use std::time::Duration;

use hustings::Elector;
use hustings::elector::Ending;
use pollster::block_on;

/// The result of a future that must come in time, on a machine that does other work too.
fn soon<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(block_on(future)));
    told.recv_timeout(Duration::from_secs(30)).expect("it comes in time")
}

fn start() -> (loopback::Loopback, Vec<Elector>) {
    let cluster = loopback::found(3);
    let nodes = cluster.configs().map(|config| Elector::embedded(config).expect("it starts")).collect();
    (cluster, nodes)
}

#[test]
fn leadership_goes_from_hand_to_hand_with_growing_tokens() {
    let (_cluster, nodes) = start();
    let mut tokens = Vec::new();
    for elector in nodes.iter().cycle().take(6) {
        let elector = elector.clone();
        tokens.push(soon(async move {
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
fn one_of_those_who_want_it_has_it_and_the_others_see_who() {
    let (_cluster, nodes) = start();
    let leadership = soon({
        let elector = nodes[0].clone();
        async move { elector.campaign("billing").await.expect("nothing is wrong with it") }
    });
    let mut observer = nodes[2].observe("billing");
    let seen = soon(async move {
        loop {
            if let Some(leader) = observer.next().await.leader() {
                return leader.to_string();
            }
        }
    });
    assert_eq!(seen, "a");
    // The next one waits, and is told when the holder's node is gone.
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
fn who_loses_its_majority_loses_its_office_in_time() {
    let (_cluster, mut nodes) = start();
    let leadership = soon({
        let elector = nodes[0].clone();
        async move { elector.campaign("billing").await.expect("nothing is wrong with it") }
    });
    nodes.truncate(1);
    let (leadership, why) = soon(async move {
        let why = leadership.lost().await;
        (leadership, why)
    });
    assert!(!leadership.is_held(), "{why}");
    assert!(matches!(why, Ending::Told(_) | Ending::Deadline), "{why}");
    let observer = nodes[0].observe("billing");
    assert_eq!(observer.current().leader(), None);
}

#[test]
fn a_program_pulls_in_no_command_line_no_checker_and_no_simulator() {
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
