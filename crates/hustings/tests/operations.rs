//! What operators do beside elections: check a configuration, ask for the holder in a script, copy the state.

use crate::common;
use crate::processes;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Stdio;

use common::inside;
use hustings::cluster::api::{Client, Reply, Request};
use hustings_harness::process::Process;
use processes::{Cluster, TIMEOUT, hustings};
use rustix::process::Signal;
use serde_json::Value;

const ALL: [&str; 3] = ["a", "b", "c"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_configuration_is_checked_and_shown_with_the_origin_of_each_value() {
    let cluster = Cluster::new(&["a", "b"], &[]);
    let path = cluster.config("a");
    let file = path.to_str().expect("a plain path");
    let good = inside(&["config", "check", file]);
    assert_eq!((good.code, good.err.as_str()), (0, ""));
    assert!(good.out.contains("in order: a of cluster test, 2 members"), "{}", good.out);
    assert!(good.out.contains("certificate: 824 days; authority: 3649 days"), "{}", good.out);

    let shown = hustings().args(["config", "show", file]).env("HUSTINGS_LISTEN", "127.0.0.1:9").output();
    let shown = String::from_utf8(shown.expect("it starts").stdout).expect("it is text");
    let row = |key: &str| shown.lines().find(|line| line.trim_start().starts_with(key)).unwrap_or(&shown).to_string();
    assert!(row("listen").contains("127.0.0.1:9") && row("listen").ends_with("$HUSTINGS_LISTEN"), "{shown}");
    assert!(row("cluster").contains("test") && row("cluster").ends_with(&format!("{file}:3")), "{shown}");
    assert!(row("limits.watches").ends_with("default"), "{shown}");
    let object = json(&inside(&["config", "show", file, "--format", "json"]).out);
    let setting =
        object["settings"].as_array().expect("a list").iter().find(|setting| setting["key"] == "timing.lease");
    assert_eq!(setting.map(|setting| (&setting["value"], &setting["from"])), Some((&"300ms".into(), &"file".into())));

    cluster.edit(&["a"], "lease = \"300ms\"", "lease = \"1ms\"");
    assert_eq!(inside(&["config", "check", file]).code, 2);
    cluster.edit(&["a"], "lease = \"1ms\"", "lease = \"300ms\"");
    fs::copy(cluster.folder().join("b/node.crt"), cluster.folder().join("a/node.crt")).expect("it is ours");
    let bad = inside(&["config", "check", file]);
    assert!(bad.code == 2 && bad.err.contains("keys may not be consistent"), "{}", bad.err);
}

/// What is wrong with a configuration, or with what it names, has one exit code, so that a service stops trying. Where
/// the log is JSON, so is the error.
#[test]
fn a_wrong_configuration_has_one_exit_code_and_its_error_is_in_the_log() {
    let mut cluster = Cluster::new(&["a"], &[]);
    let config = cluster.config("a");
    let folder = config.parent().expect("it is in a folder").to_path_buf();
    let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    let file = config.to_str().expect("a plain path").to_string();
    let refused = |said: &str| {
        for format in ["text", "json"] {
            let ran = hustings().args(["node", "--config", &file, "--log-format", format]).output().expect("it starts");
            let log = String::from_utf8(ran.stderr).expect("it is text");
            assert_eq!(ran.status.code(), Some(2), "{log}");
            assert!(log.contains(said), "{said}: {log}");
            let last = log.lines().last().expect("it says why");
            match format {
                "text" => assert!(log.contains("error: "), "{log}"),
                _ => assert_eq!(
                    log.lines().map(|line| json(line)["level"].clone()).next_back(),
                    Some("error".into()),
                    "{last}"
                ),
            }
        }
        let checked = inside(&["config", "check", &file]);
        assert_eq!(checked.code, 2, "{}", checked.err);
    };
    let key = folder.join("node.key");
    set_mode(&key, 0o644);
    refused("other users can read or change it (mode 644)");
    set_mode(&key, 0o600);
    fs::create_dir(folder.join("data")).expect("the folder is ours");
    set_mode(&folder.join("data"), 0o777);
    refused("other users can write the data folder (mode 777)");
    set_mode(&folder.join("data"), 0o700);
    fs::write(folder.join("data/notes"), "x").expect("the folder is ours");
    let log = cluster.start_and_wait_for_exit("a");
    assert!(log.contains("contains \"notes\" but no state of a node"), "{log}");
    fs::remove_file(folder.join("data/notes")).expect("it is ours");
    cluster.edit(&["a"], "cluster = \"test\"", "cluster = \"te st\"");
    refused("`cluster` is `te st`");
    fs::remove_file(&config).expect("it is ours");
    refused("cannot be read");
}

#[test]
fn a_name_that_cannot_be_resolved_is_not_another_node() {
    let mut cluster = Cluster::new(&["a"], &[]);
    let text = fs::read_to_string(cluster.config("a")).expect("it was written");
    let line = "listen = \"no-such-host.invalid:7401\"\n";
    fs::write(cluster.config("a"), format!("{line}{text}")).expect("the folder is ours");
    let log = cluster.start_and_wait_for_exit("a");
    assert!(log.contains("the name in `listen` cannot be resolved"), "{log}");
    assert!(!log.contains("another node"), "{log}");
}

#[test]
fn a_missing_health_command_is_an_error_in_the_log() {
    let mut cluster = Cluster::new(&["a"], &[]);
    let text = fs::read_to_string(cluster.config("a")).expect("it was written");
    let section = "\n[health]\ncommand = [\"/no/such/program\", \"--quiet\"]\n";
    fs::write(cluster.config("a"), text + section).expect("the folder is ours");
    let checked = cluster.run("a", &["config", "check"]);
    let said = "`health.command`: cannot find the program `/no/such/program`";
    assert!(checked.code == 2 && checked.err.contains(said), "{}", checked.err);
    cluster.start(&["a"]);
    cluster.wait_until("it says so", || {
        let said = "ERROR health score is 0: the check cannot run: /no/such/program --quiet: No such file or directory";
        cluster.log("a").contains(said).then_some(())
    });
}

/// A clock that is 100 days slow makes new certificates look as if they began in the future.
#[test]
fn a_slow_clock_is_not_an_expired_certificate() {
    let mut cluster = Cluster::new(&["a", "b"], &[]);
    cluster.start(&["a"]);
    let slow = "exec \"$@\" --test-wall-seconds=-8640000";
    cluster.run_nodes_with(&["sh", "-c", slow, "sh"]);
    cluster.start(&["b"]);
    cluster.wait_until("b names its clock", || {
        let log = cluster.log("b");
        let is_named =
            log.contains("this node's certificate is not valid yet") && log.contains("the clock of this host says");
        (is_named && log.contains("not-yet-valid: the certificate begins later than")).then_some(())
    });
    let log = cluster.log("b");
    assert!(!log.contains("expired") && !log.contains("renew"), "{log}");
}

#[test]
fn a_script_asks_whether_this_host_holds_the_office() {
    let mut cluster = Cluster::new(&["a,priority=3", "b", "c"], &[]);
    cluster.start(&ALL);
    let leader = cluster.wait_for_agreement(&ALL, |_| true);
    for name in ALL {
        let asked = cluster.run(name, &["leader", "--check"]);
        assert_eq!((asked.out.as_str(), asked.err.as_str()), ("", ""), "the exit code says it all");
        assert_eq!(asked.code, i32::from(name != leader), "{name}, {leader} leads");
    }
    assert_eq!(cluster.run("a", &["leader", "nobody-holds-it", "--check"]).code, 1);
    assert_eq!(cluster.run("a", &["leader", "--check", "--format", "json"]).code, 2);
}

#[test]
fn a_status_lists_all_offices_page_by_page_and_refreshes() {
    let mut cluster = Cluster::new(&["a"], &[]);
    cluster.edit(&["a"], "\n[office-default]", "\n[limits]\ncampaigns = 2500\n\n[office-default]");
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |_| true);
    let mut client = Client::connect(cluster.folder().join("a/hustings.sock"), TIMEOUT).expect("the node runs");
    for number in 0..2100 {
        let request = Request::Campaign { office: format!("office-{number:04}"), mode: None, guard: None };
        client.send(&request).expect("it is sent");
    }
    let mut held = 0;
    while held < 2100 {
        match client.recv(Some(TIMEOUT)).expect("the node answers") {
            Reply::Held(_) => held += 1,
            Reply::Done | Reply::Renewed { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    let status = json(&cluster.run("a", &["status", "--format", "json"]).out);
    let names: Vec<&str> =
        status["offices"].as_array().expect("a list").iter().filter_map(|office| office["office"].as_str()).collect();
    assert_eq!(names.len(), 2101, "with `leader`");
    assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]));
    let mut other = Client::connect(cluster.folder().join("a/hustings.sock"), TIMEOUT).expect("the node runs");
    let page = other
        .call(&Request::Offices { after: Some("office-2098".into()), limit: None }, Some(TIMEOUT))
        .expect("it answers");
    assert!(matches!(page, Reply::Offices { offices, next: None } if offices.len() == 1));

    let mut watch = hustings();
    watch.args(["status", "--watch", "--every", "100ms", "--format", "json", "--config"]).arg(cluster.config("a"));
    let mut watch = Process::spawn(watch.stdout(Stdio::piped())).expect("it starts");
    let mut lines = BufReader::new(watch.take_stdout().expect("it is piped")).lines();
    for _ in 0..2 {
        let line = lines.next().expect("there is always another").expect("it is text");
        assert_eq!(json(&line)["cluster"], "test");
    }
}

#[test]
fn a_backup_of_a_running_node_continues_the_cluster() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    // The log is written all the time.
    let mut client = Client::connect(cluster.folder().join("a/hustings.sock"), TIMEOUT).expect("the node runs");
    let busy = std::thread::spawn(move || {
        for number in 0..300 {
            let office = format!("office-{number}");
            client.send(&Request::Campaign { office, mode: None, guard: None }).expect("it is sent");
            while !matches!(client.recv(Some(TIMEOUT)).expect("it is granted"), Reply::Held(_)) {}
        }
        client
    });
    let root = cluster.root();
    let copy = |number: usize| root.join(format!("copy-{number}"));
    let path = |number: usize| copy(number).to_str().expect("a plain path").to_string();
    let mut last = 0;
    for number in 0..8 {
        let ran = cluster.run("a", &["backup", &path(number), "--format", "json"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        let index = json(&ran.out)["last_index"].as_u64().expect("a number");
        assert!(index >= last, "{index} {last}");
        last = index;
    }
    drop(busy.join().expect("every office is granted"));
    let again = cluster.run("a", &["backup", &path(0)]);
    assert!(again.code == 2 && again.err.contains("is not empty"), "{}", again.err);

    let token = json(&cluster.run("b", &["leader", "--format", "json"]).out)["token"].as_u64();
    ALL.iter().for_each(|name| cluster.kill(name));
    ALL.iter().for_each(|name| fs::remove_dir_all(cluster.folder().join(name).join("data")).expect("it is there"));
    fs::rename(copy(7), cluster.folder().join("a/data")).expect("it is ours");
    let refused = cluster.run("a", &["node"]);
    assert!(refused.code == 2 && refused.err.contains("is a backup"), "{}", refused.err);
    let recovered = cluster.run("a", &["recover", "--yes"]);
    assert_eq!((recovered.code, recovered.err.as_str()), (0, ""), "{}", recovered.out);
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |leader| leader == "a");
    assert!(json(&cluster.run("a", &["leader", "--format", "json"]).out)["token"].as_u64() > token);
}

#[test]
fn systemd_is_told_of_the_state_and_the_watchdog_is_fed() {
    let cluster = Cluster::new(&["a"], &[]);
    let socket = cluster.root().join("notify");
    let systemd = UnixDatagram::bind(&socket).expect("the folder is ours");
    systemd.set_read_timeout(Some(TIMEOUT)).expect("it is a socket");
    let mut node = hustings();
    node.args(["node", "--log-format", "json", "--config"]).arg(cluster.config("a"));
    node.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "200000").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut node = Process::spawn(&mut node).expect("it starts");
    let wait_for = |part: &str| {
        let mut seen = Vec::new();
        loop {
            let mut bytes = [0; 4096];
            let count = systemd.recv(&mut bytes).unwrap_or_else(|error| panic!("no {part}: {error}; {seen:#?}"));
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            if text.contains(part) {
                return text;
            }
            seen.push(text);
        }
    };
    let ready = wait_for("READY=1");
    assert!(ready.contains("STATUS=standby"), "a standby is ready: {ready}");
    wait_for("STATUS=holds leader");
    (0..3).for_each(|_| _ = wait_for("WATCHDOG=1"));
    node.signal(Signal::TERM).expect("it is our child");
    wait_for("STOPPING=1");
    let status = node.wait_timeout(TIMEOUT).expect("it is our child").expect("it leaves");
    assert_eq!(status.code(), Some(0));
    let log = std::io::read_to_string(node.take_stderr().expect("it is piped")).expect("it is text");
    let lines: Vec<Value> = log.lines().map(json).collect();
    assert!(lines.iter().any(|line| line["level"] == "info"
        && line["message"].as_str().is_some_and(|text| text.contains("holds the office leader"))));
}
