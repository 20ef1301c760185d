//! `scheduling = "realtime"`, in real processes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::common;
use crate::processes::Cluster;

/// How a thread is scheduled, by the words of sched(7).
const NORMAL: u32 = 0;
const ROUND_ROBIN: u32 = 2;

/// Whether this user may use real-time priority at all; some containers refuse it.
fn may_be_realtime(test: &str) -> bool {
    let tried = Command::new("chrt").args(["--rr", "1", "true"]).output();
    let may = tried.is_ok_and(|tried| tried.status.success());
    if !may {
        common::skip(&format!("{test}: real-time priority is not allowed here"));
    }
    may
}

/// A cluster of one node with this line at the top of its configuration, and these sections at its end.
fn one_node(line: &str, sections: &str) -> Cluster {
    let cluster = Cluster::new(&["a"], &[]);
    let text = fs::read_to_string(cluster.config("a")).expect("it was written");
    fs::write(cluster.config("a"), format!("{line}\n{text}{sections}")).expect("the folder is ours");
    cluster
}

/// A number in a `stat` of `/proc`, counted from 1 as in proc(5).
fn field(stat: &str, number: usize) -> i64 {
    let after_name = stat.rsplit_once(") ").unwrap_or_else(|| panic!("no stat: {stat:?}")).1;
    let text = after_name.split_whitespace().nth(number - 3).unwrap_or_else(|| panic!("too short: {stat:?}"));
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Policy and real-time priority.
fn scheduled(stat: &str) -> (u32, i64) {
    (u32::try_from(field(stat, 41)).expect("it is not negative"), field(stat, 40))
}

/// How each thread of a node is scheduled, by its name.
fn threads(cluster: &Cluster) -> BTreeMap<String, (u32, i64)> {
    let folder = PathBuf::from(format!("/proc/{}/task", cluster.pid("a").as_raw_nonzero()));
    let read = |task: &Path, name| fs::read_to_string(task.join(name)).ok();
    let tasks = fs::read_dir(folder).expect("the node runs").flatten().map(|entry| entry.path());
    // A thread may end meanwhile.
    tasks.filter_map(|task| Some((read(&task, "comm")?.trim().to_string(), scheduled(&read(&task, "stat")?)))).collect()
}

/// A line of a file about the node in `/proc`, without what it begins with.
fn line_of(cluster: &Cluster, file: &str, begin: &str) -> String {
    let path = format!("/proc/{}/{file}", cluster.pid("a").as_raw_nonzero());
    let text = fs::read_to_string(path).expect("the node runs");
    let line = text.lines().find_map(|line| line.strip_prefix(begin));
    line.unwrap_or_else(|| panic!("no {begin} in {text}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn status(cluster: &Cluster) -> Value {
    let ran = cluster.run("a", &["status", "--format", "json"]);
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn realtime_priority_is_for_the_threads_that_leases_depend_on() {
    if !may_be_realtime("realtime_priority_is_for_the_threads_that_leases_depend_on") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for the test");
    let check = |file: &Path| {
        let command = format!("cat /proc/self/stat > {0}.new && mv {0}.new {0}", file.display());
        format!("command = [\"sh\", \"-c\", \"{command}\"]\nevery = \"100ms\"\n")
    };
    let first = folder.path().join("first");
    let http = format!("[http]\nlisten = \"127.0.0.1:{}\"\n", crate::loopback::free_ports(1)[0]);
    let mut cluster = one_node("scheduling = \"realtime\"", &format!("\n{http}[health]\n{}", check(&first)));
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |leader| leader == "a");

    let threads = threads(&cluster);
    for name in ["hustings", "disk"] {
        assert_eq!(threads.get(name), Some(&(ROUND_ROBIN, 1)), "{name}: {threads:?}");
    }
    let others: Vec<_> = threads.iter().filter(|(name, _)| !["hustings", "disk"].contains(&name.as_str())).collect();
    assert!(others.iter().any(|(name, _)| *name == "health"), "{threads:?}");
    assert!(others.iter().any(|(name, _)| name.starts_with("http")), "{threads:?}");
    assert!(others.iter().all(|(_, scheduled)| **scheduled == (NORMAL, 0)), "{threads:?}");
    let command = |file: &Path| cluster.wait_until("the health command runs", || fs::read_to_string(file).ok());
    assert_eq!(scheduled(&command(&first)), (NORMAL, 0));

    // What the node itself starts later, at real-time priority, does not inherit it either.
    let second = folder.path().join("second");
    cluster.edit(&["a"], &check(&first), &check(&second));
    cluster.signal("a", Signal::HUP);
    let stat = command(&second);
    assert_eq!((scheduled(&stat), field(&stat, 19)), ((NORMAL, 0), 0));

    assert_ne!(line_of(&cluster, "status", "VmLck:"), "0 kB");
    assert_eq!(line_of(&cluster, "limits", "Max realtime timeout"), "2000000 3000000 us");
    let told = serde_json::json!({ "priority": true, "memory_locked": true, "problems": [] });
    assert_eq!(status(&cluster)["realtime"], told);
    let text = cluster.run("a", &["status"]).out;
    assert!(text.contains("scheduling: real-time priority; locked memory\n"), "{text}");
    let metrics = cluster.run("a", &["metrics"]).out;
    for line in ["hustings_realtime{part=\"priority\"} 1\n", "hustings_realtime{part=\"memory\"} 1\n"] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

/// A node that may not do what it is configured for works as well as it can, and says what is missing.
#[test]
fn a_node_without_the_right_says_so_and_goes_on() {
    let mut cluster = one_node("scheduling = \"realtime\"", "");
    let without = ["prlimit", "--memlock=8388608", "--rtprio=0", "setpriv", "--bounding-set=-sys_nice,-ipc_lock"];
    cluster.run_nodes_with(if rustix::process::geteuid().is_root() { &without } else { &without[..3] });
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |leader| leader == "a");
    assert!(threads(&cluster).values().all(|scheduled| *scheduled == (NORMAL, 0)));
    assert_eq!(line_of(&cluster, "status", "VmLck:"), "0 kB");
    let told = &status(&cluster)["realtime"];
    assert_eq!((&told["priority"], &told["memory_locked"]), (&Value::Bool(false), &Value::Bool(false)), "{told}");
    let problems: Vec<&str> = told["problems"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let [priority, memory] = problems[..] else { panic!("two things are missing: {told}") };
    assert!(priority.starts_with("no real-time priority: ") && priority.contains("RLIMIT_RTPRIO"), "{priority}");
    assert!(memory.starts_with("no locked memory: RLIMIT_MEMLOCK is 8192 KiB"), "{memory}");
    let (log, text) = (cluster.log("a"), cluster.run("a", &["status"]).out);
    for problem in problems {
        assert!(log.contains(&format!("WARN  {problem}")), "{log}");
        assert!(text.contains(problem), "{text}");
    }
    let metrics = cluster.run("a", &["metrics"]).out;
    assert!(metrics.contains("hustings_realtime{part=\"priority\"} 0\n"), "{metrics}");
}

#[test]
fn by_default_a_node_asks_for_neither() {
    let mut cluster = one_node("", "");
    cluster.start(&["a"]);
    assert!(threads(&cluster).values().all(|scheduled| *scheduled == (NORMAL, 0)));
    assert_eq!(line_of(&cluster, "status", "VmLck:"), "0 kB");
    assert_eq!(status(&cluster)["realtime"], Value::Null);
    assert!(!cluster.run("a", &["metrics"]).out.contains("hustings_realtime"));
}

/// Sends requests without waiting for answers, until this time.
fn pipeline(socket: &Path, until: Instant) {
    let mut stream = UnixStream::connect(socket).expect("the node runs");
    let mut writing = stream.try_clone().expect("descriptors are there");
    let requests = "{\"type\":\"leader\",\"office\":\"leader\"}\n".repeat(1_000);
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
    });
    while Instant::now() < until && writing.write_all(requests.as_bytes()).is_ok() {}
    let _ = writing.shutdown(std::net::Shutdown::Both);
    reader.join().expect("it only reads");
}

/// The kernel ends a process whose thread runs too long at real-time priority without waiting. One that has much to do
/// must not look like that.
#[test]
fn a_busy_loop_is_not_taken_for_a_runaway_one() {
    if !may_be_realtime("a_busy_loop_is_not_taken_for_a_runaway_one") {
        return;
    }
    let mut cluster = one_node("scheduling = \"realtime\"", "");
    cluster.run_nodes_with(&["prlimit", "--rttime=400000"]);
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |leader| leader == "a");
    assert_eq!(line_of(&cluster, "limits", "Max realtime timeout"), "400000 400000 us", "a lower limit stays");
    let pid = cluster.pid("a");
    let socket = cluster.config("a").with_file_name("hustings.sock");
    let until = Instant::now() + Duration::from_secs(2);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| pipeline(&socket, until));
        }
    });
    assert_eq!(status(&cluster)["realtime"]["priority"], true, "the same process still runs");
    assert_eq!(cluster.pid("a"), pid);
}
