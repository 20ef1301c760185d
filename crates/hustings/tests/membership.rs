//! Additions and removals of members, and what the asked node knows of them.

use crate::common;
use crate::loopback;
use crate::processes;

use processes::Cluster;
use serde_json::Value;

const ALL: [&str; 3] = ["a", "b", "c"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The settings that were changed since `init` are those of a new member, too.
#[test]
fn a_new_member_has_the_settings_of_the_cluster() {
    let mut cluster = Cluster::new(&["a", "b", "c"], &["--algorithm", "chang-roberts"]);
    cluster.be_patient(&ALL);
    cluster.edit(&ALL, "settle = \"1s\"", "settle = \"1s 700ms\"");
    cluster.edit(&ALL, "mode = \"exclusive\"", "mode = \"fenced\"");
    for name in ALL {
        let text = std::fs::read_to_string(cluster.config(name)).expect("it was written");
        let office =
            "\n[[office]]\nname = \"job\"\nmode = \"exclusive\"\npreempt = { better-after = \"9s\" }\nlease = \"8s\"\n";
        std::fs::write(cluster.config(name), text + office).expect("the folder is ours");
    }
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    let folder = cluster.folder();
    let spec = format!("d=127.0.0.1:{}", loopback::free_ports(1)[0]);
    let added = cluster.run("b", &["members", "add", &spec, "--dir", folder.to_str().expect("its name is plain")]);
    assert_eq!((added.code, added.err.as_str()), (0, ""));
    let settings = |name: &str| {
        let shown =
            common::inside(&["config", "show", cluster.config(name).to_str().expect("plain"), "--format", "json"]);
        let settings = json(&shown.out)["settings"].as_array().expect("a list").clone();
        let is_shared = |key: &str| {
            ["timing.", "office", "algorithm", "params", "arbiter"].iter().any(|part| key.starts_with(part))
        };
        let pair = |setting: &Value| (setting["key"].to_string(), setting["value"].to_string());
        let pairs = settings.iter().map(pair).filter(|(key, _)| is_shared(key.trim_matches('"')));
        pairs.collect::<Vec<_>>()
    };
    let expected = settings("a");
    assert!(expected.len() > 12 && expected.iter().any(|(key, _)| key.contains("office job")), "{expected:?}");
    assert_eq!(settings("d"), expected);
    cluster.start(&["d"]);
    cluster.wait_for_agreement(&["a", "b", "c", "d"], |_| true);
    let members = json(&cluster.run("d", &["members", "--format", "json"]).out);
    let differs =
        members["members"].as_array().expect("a list").iter().any(|member| member["differs_in"] != json("[]"));
    assert!(!differs, "{members}");
}

/// A node that missed the addition of a member does not know it. What it knows is not what counts.
#[test]
fn a_removal_is_decided_by_a_majority_and_not_by_what_one_node_knows() {
    let mut cluster = Cluster::new(&ALL, &[]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    cluster.kill("c");
    let folder = cluster.folder();
    let dir = folder.to_str().expect("its name is plain");
    let spec = format!("d=127.0.0.1:{},role=observer", loopback::free_ports(1)[0]);
    let added = cluster.wait_until("a and b decide", || {
        let added = cluster.run("a", &["members", "add", &spec, "--dir", dir]);
        (added.code == 0).then_some(added)
    });
    assert!(added.out.contains("d is now member 4"), "{}", added.out);
    cluster.kill("a");
    cluster.kill("b");
    cluster.start(&["c"]);
    let known = json(&cluster.run("c", &["members", "--format", "json"]).out);
    assert_eq!(known["members"].as_array().expect("a list").len(), 3, "c missed the addition: {known}");
    let before = std::fs::read_to_string(folder.join("authority.toml")).expect("it is there");
    for change in [&["remove", "d", "--dir", dir][..], &["remove", "d"], &["set", "d", "--priority", "3"]] {
        let refused = cluster.run("c", &[&["members"], change].concat());
        assert!(refused.code == 3 && refused.err.contains("majority"), "{change:?}: {}{}", refused.out, refused.err);
    }
    assert_eq!(std::fs::read_to_string(folder.join("authority.toml")).expect("it is there"), before);
    cluster.start(&["a", "b"]);
    cluster.wait_for_agreement(&ALL, |_| true);
    let removed = cluster.run("c", &["members", "remove", "d", "--dir", dir]);
    assert!(removed.code == 0 && removed.out.starts_with("d is no longer a member"), "{}{}", removed.out, removed.err);
    let left = json(&cluster.run("a", &["members", "--format", "json"]).out);
    assert_eq!(left["members"].as_array().expect("a list").len(), 3, "{left}");
}
