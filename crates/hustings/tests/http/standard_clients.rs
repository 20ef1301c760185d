//! Watches, read by clients that others have written.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use hustings_harness::process::Process;

use super::HttpCluster;
use crate::common::{skip, tool_is_there};

/// Reads events with `httpx-sse`, and prints their kinds, ids and offices.
const READ_EVENTS: &str = "
import sys, httpx, httpx_sse
with httpx.Client(timeout=60) as client, httpx_sse.connect_sse(client, 'GET', sys.argv[1]) as source:
    for event in source.iter_sse():
        print(event.event, event.id, event.json()['office'], flush=True)
";

/// Reads the first event with `sseclient-py`, which has a parser of its own.
const READ_FIRST: &str = "
import sys, urllib.request, sseclient
for event in sseclient.SSEClient(urllib.request.urlopen(sys.argv[1], timeout=60)).events():
    print(event.event, event.id, flush=True)
    break
";

/// The interpreter that has these modules.
fn python_with(modules: &str) -> Option<String> {
    let python = std::env::var("HUSTINGS_PYTHON").unwrap_or_else(|_| "python3".to_string());
    let found = Command::new(&python).args(["-c", &format!("import {modules}")]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    let is_required = std::env::var_os("HUSTINGS_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!is_required, "{python} has no {modules}");
    skip(&format!(
        "needs {modules} for Python (pip install httpx httpx-sse sseclient-py; HUSTINGS_PYTHON names the interpreter)"
    ));
    None
}

/// What a command prints until it has printed so many lines that fit.
fn lines_of(command: &mut Command, count: usize, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut process = Process::spawn(command.stdout(Stdio::piped())).expect("it can be started");
    let lines = BufReader::new(process.take_stdout().expect("it is piped")).lines();
    lines.map_while(Result::ok).filter(|line| fits(line)).take(count).collect()
}

#[test]
fn curl_shows_the_events_of_a_watch() {
    if !tool_is_there("curl", "apt-get install curl") {
        return;
    }
    let http = HttpCluster::start(&["a"], "");
    let url = format!("http://127.0.0.1:{}/v1/offices/leader/watch", http.apis[0].port);
    let mut curl = Command::new("curl");
    let seen = lines_of(curl.args(["-sS", "-N", "--max-time", "60", &url]), 1, |line| line.starts_with("event:"));
    assert_eq!(seen, ["event: office"]);
}

#[test]
fn a_python_library_for_server_sent_events_reads_a_watch() {
    let Some(python) = python_with("httpx, httpx_sse") else { return };
    let http = HttpCluster::start(&["a"], "");
    let api = &http.apis[0];
    let session = api.post("/v1/offices/job/campaign", &serde_json::json!({ "wait_ms": 20_000, "ttl_ms": 60_000 }));
    let session = session.json()["session"].clone();
    let url = format!("http://127.0.0.1:{}/v1/offices/job/watch", api.port);
    let mut reader = Command::new(python);
    let mut reader = Process::spawn(reader.args(["-c", READ_EVENTS, &url]).stdout(Stdio::piped())).expect("it starts");
    let mut lines = BufReader::new(reader.take_stdout().expect("it is piped")).lines();
    let mut line = || lines.next().expect("an event").expect("it is text");
    let first = line();
    assert!(first.starts_with("office ") && first.ends_with(".0 job"), "{first}");
    assert_eq!(api.post("/v1/offices/job/resign", &serde_json::json!({ "session": session })).status, 200);
    // The node may first say again who holds it.
    while !line().ends_with(".1 job") {}
}

#[test]
fn a_second_python_library_for_server_sent_events_reads_a_watch() {
    let Some(python) = python_with("sseclient") else { return };
    let http = HttpCluster::start(&["a"], "");
    let url = format!("http://127.0.0.1:{}/v1/offices/leader/watch", http.apis[0].port);
    let seen = lines_of(Command::new(python).args(["-c", READ_FIRST, &url]), 1, |_| true);
    assert!(seen[0].starts_with("office ") && seen[0].ends_with(".0"), "{seen:?}");
}
