//! Certificates that expire, are renewed and rotated, while programs hold offices.

use crate::processes;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use hustings::cluster::api::{Client, ClientError, Reply, Request};
use processes::{Cluster, TIMEOUT, hustings};
use rustix::process::Signal;
use serde_json::Value;

const ALL: [&str; 3] = ["a", "b", "c"];
/// Between two looks at whether the test is over.
const TURN: Duration = Duration::from_millis(50);

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// `hustings members …` in the folder of the authority.
fn members(cluster: &Cluster, args: &[&str]) {
    let ran = hustings().arg("members").args(args).arg("--dir").arg(cluster.folder()).output().expect("it starts");
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn status(cluster: &Cluster, name: &str) -> Value {
    json(&cluster.run(name, &["status", "--format", "json"]).out)
}

/// Whether a member considers all of these up.
fn are_up(cluster: &Cluster, seen_by: &str, names: &[&str]) -> bool {
    let status = status(cluster, seen_by);
    let members = status["members"].as_array().expect("a list");
    let is_up = |name: &&str| members.iter().any(|member| member["name"] == **name && member["up"] == true);
    names.iter().all(is_up)
}

/// Makes a node reload, and waits until its log has this line once more.
fn reload(cluster: &Cluster, name: &str, line: &str) {
    let count = || cluster.log(name).matches(line).count();
    let before = count();
    cluster.signal(name, Signal::HUP);
    cluster.wait_until(&format!("{name} logs {line:?}"), || (count() > before).then_some(()));
}

fn reload_all(cluster: &Cluster) {
    ALL.iter().for_each(|name| reload(cluster, name, "reloaded; new connections use"));
}

/// Kills a member and starts it again: all of its connections are new.
fn reconnect(cluster: &mut Cluster, name: &str) {
    cluster.kill(name);
    cluster.start(&[name]);
    cluster.wait_until(&format!("{name} is up again"), || are_up(cluster, "a", &ALL).then_some(()));
}

/// Programs that hold an office all the time, and others that keep the cluster busy.
struct Programs {
    is_over: Arc<AtomicBool>,
    renewals: Arc<AtomicU64>,
    grants: Arc<AtomicU64>,
    holder: JoinHandle<()>,
    busy: Vec<JoinHandle<()>>,
}

impl Programs {
    fn start(cluster: &Cluster) -> Programs {
        let is_over = Arc::new(AtomicBool::new(false));
        let (renewals, grants) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let connect = |name: &str| {
            Client::connect(cluster.folder().join(name).join("hustings.sock"), TIMEOUT).expect("the node runs")
        };
        let holder = {
            let (mut client, is_over, renewals) = (connect("a"), is_over.clone(), renewals.clone());
            client.send(&Request::Campaign { office: "steady".into(), mode: None, guard: None }).expect("it is sent");
            let first = |client: &mut Client| client.recv(Some(TIMEOUT)).expect("the node answers");
            while !matches!(first(&mut client), Reply::Held(_)) {}
            std::thread::spawn(move || hold(&mut client, &is_over, &renewals))
        };
        let busy = ["a", "b"].map(|name| {
            let (mut client, is_over, grants) = (connect(name), is_over.clone(), grants.clone());
            let office = format!("busy-{name}");
            std::thread::spawn(move || come_and_go(&mut client, &office, &is_over, &grants))
        });
        Programs { is_over, renewals, grants, holder, busy: busy.into() }
    }

    /// Ends all programs, when they were served for a while. Fails if one of them lost its office.
    fn end(self, cluster: &Cluster) {
        let is_at_work = |program: &JoinHandle<()>| !program.is_finished();
        cluster.wait_until("the programs are served", || {
            let counts = [&self.renewals, &self.grants].map(|count| count.load(Ordering::Relaxed));
            let goes_on = is_at_work(&self.holder) && self.busy.iter().all(is_at_work);
            // Asked for the time that it takes, so that this does not spin.
            status(cluster, "a");
            (!goes_on || counts.iter().all(|count| *count > 10)).then_some(())
        });
        self.is_over.store(true, Ordering::Relaxed);
        self.holder.join().expect("it never lost its office");
        self.busy.into_iter().for_each(|program| program.join().expect("it is served all the time"));
    }
}

/// Holds an office to the end. Fails if it is told to stop.
fn hold(client: &mut Client, is_over: &AtomicBool, renewals: &AtomicU64) {
    while !is_over.load(Ordering::Relaxed) {
        match client.recv(Some(TURN)) {
            Ok(Reply::Renewed { .. }) => _ = renewals.fetch_add(1, Ordering::Relaxed),
            Err(ClientError::Timeout { .. }) => {}
            other => panic!("the program that holds the office got {other:?}"),
        }
    }
}

/// Campaigns for an office, holds it, withdraws, and so on.
fn come_and_go(client: &mut Client, office: &str, is_over: &AtomicBool, grants: &AtomicU64) {
    while !is_over.load(Ordering::Relaxed) {
        client.send(&Request::Campaign { office: office.into(), mode: None, guard: None }).expect("it is sent");
        while !matches!(client.recv(Some(TIMEOUT)).expect("it is granted"), Reply::Held(_)) {}
        grants.fetch_add(1, Ordering::Relaxed);
        client.send(&Request::Withdraw { office: office.into() }).expect("it is sent");
        while !matches!(client.recv(Some(TIMEOUT)).expect("it is released"), Reply::Done) {}
    }
}

/// How often these offices changed hands.
fn changes(cluster: &Cluster) -> Vec<usize> {
    let count = |office: &&str| {
        let history = json(&cluster.run("a", &["history", office, "--format", "json"]).out);
        history["changes"].as_array().expect("a list").len()
    };
    ["leader", "steady"].iter().map(count).collect()
}

/// Lets `a` lead, and no office move because the machine is busy: what is left is the end of connections.
fn be_patient(cluster: &Cluster) {
    cluster.edit(&ALL, "preempt = \"never\"", "preempt = \"better\"");
    cluster.be_patient(&ALL);
}

/// How often the two members that are never restarted have lost their connection. While they start, both may dial, and
/// one of two connections is closed.
fn disconnections(cluster: &Cluster) -> [usize; 2] {
    [("a", "b"), ("b", "a")]
        .map(|(name, other)| cluster.log(name).matches(&format!("connection to {other} closed")).count())
}

/// The connection between the two has lasted since then.
fn assert_connected(cluster: &Cluster, since: [usize; 2]) {
    let logs = ["a", "b"].map(|name| cluster.log(name)).join("--- b\n");
    assert_eq!(disconnections(cluster), since, "{logs}");
}

/// A cluster whose connections were made with certificates that are about to expire. `a` leads. On a machine that is
/// too slow for them, they live longer.
fn short_lived() -> Cluster {
    for lifetime in ["6s", "25s", "100s"] {
        let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
        be_patient(&cluster);
        members(&cluster, &["renew", "--lifetime", lifetime]);
        cluster.start(&ALL);
        let is_up = || cluster.leader("b").as_deref() == Some("a") && are_up(&cluster, "c", &ALL);
        while !has_expired(&cluster) {
            if is_up() && !has_expired(&cluster) {
                return cluster;
            }
        }
    }
    panic!("a cluster does not start within 100 seconds");
}

fn has_expired(cluster: &Cluster) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970").as_secs();
    status(cluster, "a")["certificate"]["not_after_unix_s"].as_u64().is_none_or(|end| end < now)
}

#[test]
fn no_office_is_lost_when_certificates_expire_and_are_renewed() {
    let mut cluster = short_lived();
    let programs = Programs::start(&cluster);
    let (before, connected) = (changes(&cluster), disconnections(&cluster));

    cluster.wait_until("the certificates have expired", || has_expired(&cluster).then_some(()));
    cluster.wait_until("the log says so", || {
        ALL.iter().all(|name| cluster.log(name).contains("this node's certificate has expired")).then_some(())
    });
    assert!(cluster.log("a").contains("WARN  this node's certificate ends in"), "{}", cluster.log("a"));
    assert!(are_up(&cluster, "a", &ALL), "connections that stand are not closed");
    let text = cluster.run("a", &["status"]).out;
    assert!(text.contains("certificate: expired; authority: 36"), "{text}");

    // A reload does not accept what has expired either.
    reload(&cluster, "a", "nothing was reloaded, and nothing changes: certificate");
    assert!(cluster.log("a").contains("it has expired: it was valid until"), "{}", cluster.log("a"));

    // Nobody accepts a new connection.
    cluster.kill("c");
    cluster.start(&["c"]);
    cluster.wait_until("the others refuse it", || {
        let log = cluster.log("a") + &cluster.log("b");
        (log.contains("expired ") && log.contains("connections rejected")).then_some(())
    });
    assert!(!are_up(&cluster, "a", &["c"]));

    members(&cluster, &["renew"]);
    reload_all(&cluster);
    cluster.wait_until("all are connected again", || are_up(&cluster, "a", &ALL).then_some(()));
    // `b` may hear of `c` through `a` before the two are connected, and see its certificate only then.
    cluster.wait_until("b sees the new certificate of c", || {
        let shown = status(&cluster, "b");
        let own = shown["certificate"]["not_after_unix_s"].as_u64();
        (own.is_some() && shown["members"][2]["certificate_not_after_unix_s"].as_u64() >= own).then_some(())
    });
    assert!(cluster.run("b", &["status"]).out.contains("certificate: 824 days; authority: 3649 days"));
    assert_eq!(changes(&cluster), before, "{}", cluster.run("a", &["history", "leader"]).out);
    assert_connected(&cluster, connected);
    programs.end(&cluster);
}

#[test]
fn no_office_is_lost_when_the_authority_is_rotated() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    be_patient(&cluster);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |leader| leader == "a");
    let programs = Programs::start(&cluster);
    let (before, connected) = (changes(&cluster), disconnections(&cluster));
    let authority = |name: &str| status(&cluster, name)["certificate"]["authority_not_after_unix_s"].as_u64();
    let old = authority("a");

    members(&cluster, &["rotate-authority", "begin", "--lifetime", "2000days"]);
    reload_all(&cluster);
    assert_eq!(authority("a"), old, "the old one still signs");
    members(&cluster, &["rotate-authority", "switch"]);
    // One node has a certificate of the new authority, the others of the old one.
    reload(&cluster, "c", "reloaded; new connections use");
    reconnect(&mut cluster, "c");
    reload_all(&cluster);
    reconnect(&mut cluster, "c");
    members(&cluster, &["rotate-authority", "finish"]);
    reload_all(&cluster);
    reconnect(&mut cluster, "c");
    let new = status(&cluster, "a")["certificate"]["authority_not_after_unix_s"].as_u64();
    assert!(new < old, "{new:?} is the end of the new authority, {old:?} that of the old one");
    assert_eq!(changes(&cluster), before, "{}", cluster.run("a", &["history", "leader"]).out);
    assert_connected(&cluster, connected);
    programs.end(&cluster);
}

#[test]
fn a_bad_file_is_refused_and_the_node_goes_on() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    let file = |name: &str| cluster.folder().join(name);
    let (certificate, key) = (fs::read(file("a/node.crt")), fs::read(file("a/node.key")));
    let (certificate, key) = (certificate.expect("it is there"), key.expect("it is there"));
    let refused = "nothing was reloaded, and nothing changes: ";
    let bad = |text: &[u8], path: &str, why: &str| {
        fs::write(file(path), text).expect("it is ours");
        reload(&cluster, "a", refused);
        let log = cluster.log("a");
        let last = log.lines().rfind(|line| line.contains(refused)).expect("it is there").to_string();
        assert!(last.contains(" ERROR ") && last.contains(why), "{last}");
        fs::write(file("a/node.crt"), &certificate).expect("it is ours");
        fs::write(file("a/node.key"), &key).expect("it is ours");
    };
    let [other_certificate, other_key] =
        ["b/node.crt", "b/node.key"].map(|name| fs::read(file(name)).expect("it is there"));
    bad(b"-----BEGIN", "a/node.crt", "contains no certificate");
    bad(&other_key, "a/node.key", "keys may not be consistent");
    bad(&other_certificate, "a/node.crt", "keys may not be consistent");
    fs::write(file("a/node.key"), &other_key).expect("it is ours");
    bad(&other_certificate, "a/node.crt", "not issued for this member");
    let config = fs::read(cluster.config("a")).expect("it is there");
    bad(b"cluster = 7\n", "a/hustings.toml", "line 1, column 11");
    fs::write(cluster.config("a"), config).expect("it is ours");
    reload(&cluster, "a", "reloaded; new connections use");
    assert!(are_up(&cluster, "a", &ALL));
}

#[test]
fn a_reload_applies_what_can_change_and_names_what_cannot() {
    let mut cluster = Cluster::new(&["a", "b", "c"], &[]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    cluster.edit(&["a"], "settle = \"1s\"", "settle = \"2s\"");
    let path = cluster.config("a");
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(
        &path,
        format!("{text}\n[health]\ncommand = [\"/bin/false\"]\nevery = \"100ms\"\n[limits]\ncampaigns = 1\n"),
    )
    .expect("it is ours");
    reload(&cluster, "a", "these changes take effect only after a restart: [timing]");
    cluster.wait_until("the new check is made", || cluster.log("a").contains("health score is 0").then_some(()));
    let client = Client::connect(cluster.folder().join("a/hustings.sock"), TIMEOUT);
    let mut client = client.expect("the node runs");
    let mut campaign = |office: &str| {
        let request = Request::Campaign { office: office.into(), mode: None, guard: None };
        client.call(&request, Some(TIMEOUT)).expect("the node answers")
    };
    assert_eq!(campaign("one"), Reply::Done);
    assert!(matches!(campaign("two"), Reply::Error(error) if error.code == "too-many"));

    fs::write(&path, format!("{text}\n[log]\nlevel = \"debug\"\n")).expect("it is ours");
    reload(&cluster, "a", "the health is not checked any more");
    // The node may write the line after the program has its answer.
    cluster.wait_until("the node logs programs", || {
        cluster.run("a", &["leader"]);
        cluster.log("a").contains("DEBUG program ").then_some(())
    });
}
