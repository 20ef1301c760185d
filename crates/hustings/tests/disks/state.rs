//! What a node says when its disk is full, and when it works again.

use super::{ABC, DiskCluster};
use crate::http::client::Api;
use crate::loopback::free_ports;

/// A cluster with the HTTP API on every node.
fn start() -> Option<(DiskCluster, Vec<Api>)> {
    let mut test = DiskCluster::prepare(&ABC)?;
    let ports = free_ports(ABC.len());
    for (name, port) in ABC.iter().zip(&ports) {
        let http = format!("[http]\nlisten = \"127.0.0.1:{port}\"\n\n[timing]");
        test.cluster.edit(&[name], "[timing]", &http);
    }
    test.cluster.start(&ABC);
    test.cluster.wait_for_agreement(&ABC, |_| true);
    let apis = ports.into_iter().map(|port| Api { port, token: None, session: None }).collect();
    Some((test, apis))
}

/// The value of a metric of a member.
fn metric(test: &DiskCluster, name: &str, metric: &str) -> String {
    let text = test.cluster.run(name, &["metrics"]).out;
    let line = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{metric} is missing:\n{text}")).to_string()
}

fn is_ready(api: &Api) -> (u16, String) {
    let answer = api.get("/readyz");
    (answer.status, if answer.status == 200 { String::new() } else { answer.code() })
}

#[test]
fn a_full_disk_says_so_everywhere_and_its_node_gives_its_offices_away() {
    let Some((test, apis)) = start() else { return };
    let cluster = &test.cluster;
    let full = cluster.wait_for_agreement(&ABC, |_| true);
    let at = ABC.iter().position(|name| *name == full).expect("it is a member");
    let (full, others): (&str, Vec<&str>) = (ABC[at], ABC.into_iter().filter(|name| *name != full).collect());
    let before = test.json(others[0], &["leader"])["token"].as_u64();
    test.fill(&[full]);

    let error = "No space left on device";
    let text = cluster.run(full, &["status"]).out;
    assert!(text.contains("this node's disk does not take writes") && text.contains(error), "{text}");
    assert!(test.json(full, &["status"])["disk"]["error"].as_str().is_some_and(|text| text.contains(error)));
    assert_eq!((is_ready(&apis[at]), apis[at].get("/livez").status), ((503, "disk".to_string()), 200));
    let message = apis[at].get("/readyz").json()["error"]["message"].to_string();
    assert!(message.contains(error), "{message}");
    assert_eq!(metric(&test, full, "hustings_disk_fails"), "1");
    assert!(cluster.log(full).contains("the disk does not take writes: "), "{}", cluster.log(full));
    let check = cluster.run(full, &["leader", "--check"]);
    assert!((check.code, check.out.as_str()) == (1, "") && check.err.contains(error), "{check:?}");
    let leader = cluster.run(full, &["leader", "--wait", "0s"]);
    assert!(leader.code == 1 && leader.err.contains(error), "{leader:?}");

    // The others know of it, and one of them leads.
    cluster.wait_for_agreement(&others, |leader| leader != full);
    assert!(test.json(others[0], &["leader"])["token"].as_u64() > before);
    for name in &others {
        let text = cluster.wait_until("the other knows", || {
            Some(cluster.run(name, &["status"]).out).filter(|text| text.contains("disk fails"))
        });
        assert_eq!(text.matches("disk fails").count(), 1, "{text}");
        assert_eq!(metric(&test, name, "hustings_disk_fails"), "0");
        assert_eq!(metric(&test, name, &format!("hustings_peer_disk_fails{{peer=\"{full}\"}}")), "1");
    }

    test.disks.free(full);
    cluster.wait_until("it works again", || (is_ready(&apis[at]).0 == 200).then_some(()));
    cluster.wait_until("nothing is wrong any more", || {
        let is_well = |name: &&str| {
            let status = test.json(name, &["status"]);
            status["disk"].is_null() && !status["members"].to_string().contains("\"disk_fails\":true")
        };
        ABC.iter().all(is_well).then_some(())
    });
    assert_eq!(metric(&test, full, "hustings_disk_fails"), "0");
    assert!(cluster.log(full).contains("the disk takes writes again"), "{}", cluster.log(full));
    cluster.wait_for_agreement(&ABC, |leader| leader != full);
}

#[test]
fn if_no_majority_of_disks_works_requests_fail_with_the_code_disk() {
    let Some((test, apis)) = start() else { return };
    let cluster = &test.cluster;
    let before = test.json("a", &["leader"])["token"].as_u64();
    test.fill(&ABC);
    for (name, api) in ABC.iter().zip(&apis) {
        assert_eq!(is_ready(api), (503, "disk".to_string()), "{name}");
        // A lost leader may still be known for a moment.
        cluster.wait_until("the refusal names the disk", || {
            let paused = cluster.run(name, &["pause"]);
            (paused.code == 3 && paused.err.contains("No space left on device")).then_some(())
        });
        cluster.wait_until("the refusal has the code", || {
            let state = api.get("/v1/offices/leader/state");
            (state.status == 503 && state.code() == "disk").then_some(())
        });
    }
    ABC.iter().for_each(|name| test.disks.free(name));
    cluster.wait_for_agreement(&ABC, |_| true);
    for name in ABC {
        // One that was asked may have been carried out.
        cluster.wait_until("it works again", || (cluster.run(name, &["resume"]).code == 0).then_some(()));
    }
    assert!(test.json("a", &["leader"])["token"].as_u64() >= before);
}
