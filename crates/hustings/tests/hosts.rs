//! What a host does to its node, and what the node says about it.

use crate::processes::Cluster;

use rustix::process::Signal;

const ALL: [&str; 3] = ["a", "b", "c"];

/// A node that its host delayed does not blame the others.
#[test]
fn a_node_that_was_frozen_says_that_its_host_was_the_cause() {
    let mut cluster = Cluster::new(&ALL, &[]);
    cluster.start(&ALL);
    let leader = cluster.wait_for_agreement(&ALL, |_| true);
    let others: Vec<&str> = ALL.into_iter().filter(|name| *name != leader).collect();
    cluster.signal(&leader, Signal::STOP);
    cluster.wait_for_agreement(&others, |next| next != leader);
    cluster.signal(&leader, Signal::CONT);
    cluster.wait_until("the node says why it lost the office", || {
        let log = cluster.log(&leader);
        let lost = log.lines().find(|line| line.contains("lost the office leader"))?;
        assert!(lost.contains("probably because of this host: the node ran "), "{lost}");
        Some(())
    });
    let status = cluster.run(&leader, &["status"]);
    assert!(status.out.contains("this node's host delays it: it ran "), "{}", status.out);
    let told: serde_json::Value =
        serde_json::from_str(&cluster.run(&leader, &["status", "--format", "json"]).out).expect("it is JSON");
    assert_eq!(told["host"][0]["kind"], "late", "{told}");
    let trace = cluster.run(&leader, &["trace", "--format", "json"]);
    assert!(trace.out.contains("\"late\""), "{}", trace.out);
}
