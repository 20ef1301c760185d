//! Every algorithm of the catalogue that elects among nodes with ids, among five real processes.

mod common;
mod loopback;
mod processes;

use std::sync::Mutex;

use hustings::algorithms::catalogue::ENTRIES;
use hustings::algorithms::{Goal, Identity};
use processes::Cluster;

const FIVE: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The best of five leads; it is killed, and the next best leads.
fn elects_the_best_and_again(algorithm: &str) {
    // Not in the order of ids, so that it is seen that priorities count.
    let members = ["a,priority=2", "b,priority=5", "c,priority=1", "d,priority=4", "e,priority=3"];
    let mut cluster = Cluster::found(&members, &["--algorithm", algorithm]);
    cluster.edit(&FIVE, "preempt = \"never\"", "preempt = \"better\"");
    cluster.edit(&FIVE, "mode = \"exclusive\"", "mode = \"fenced\"");
    cluster.edit(&FIVE, "settle = \"1s\"", "settle = \"50ms\"");
    cluster.start(&FIVE);
    cluster.agreed(&FIVE, |leader| leader == "b");
    cluster.kill("b");
    cluster.agreed(&["a", "c", "d", "e"], |leader| leader == "d");
}

#[test]
fn every_elector_algorithm_elects_the_best_of_five_and_again_after_its_kill() {
    let electors = ENTRIES
        .iter()
        .filter(|entry| entry.about.goal == Goal::Leader && entry.about.assumptions.identity == Identity::Unique);
    let names: Vec<&str> = electors.map(|entry| entry.about.name).collect();
    assert!(names.len() >= 19, "{names:?}");
    let left = Mutex::new(names);
    // Three clusters at a time.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(name) = { left.lock().expect("nobody panics with it").pop() } {
                    elects_the_best_and_again(name);
                }
            });
        }
    });
}
