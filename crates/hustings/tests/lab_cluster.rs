//! `hustings lab --cluster`: the page of a cluster that runs already, through one node, which only reads.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use hustings_harness::process::Process;
use serde_json::Value;

use crate::processes::{Cluster, TIMEOUT, hustings};

/// A page that is served until it is dropped.
struct Page {
    _process: Process,
    host: String,
    cookie: String,
}

impl Page {
    fn of(cluster: &Cluster, name: &str) -> Page {
        let mut command = hustings();
        command.args(["lab", "--no-browser", "--format", "json", "--cluster"]).arg(cluster.config(name));
        let mut process = Process::spawn(command.stdout(Stdio::piped())).expect("the binary can be started");
        let mut line = String::new();
        let mut out = BufReader::new(process.take_stdout().expect("it is piped"));
        out.read_line(&mut line).expect("it prints its address");
        let printed: Value = serde_json::from_str(&line).expect("an object");
        let url = printed["url"].as_str().expect("an address");
        let rest = url.strip_prefix("http://").expect("an address");
        let (host, query) = rest.split_once("/?token=").expect("a token");
        let (token, view) = query.split_once('#').expect("a view");
        assert_eq!(view, "live");
        let port = host.rsplit(':').next().expect("a port");
        Page { _process: process, host: host.to_string(), cookie: format!("hustings-lab-{port}={token}") }
    }

    /// Sends a request as the page does.
    fn send(&self, method: &str, path: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a socket");
        let (host, cookie, length) = (&self.host, &self.cookie, body.len());
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nContent-Length: {length}");
        stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n{body}").as_bytes()).expect("it reads");
        BufReader::new(stream)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut answer = String::new();
        self.send(method, path, body).read_to_string(&mut answer).expect("it answers");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer.split_once("\r\n\r\n").expect("a body").1.to_string())
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// Looks at the cluster, as the page does, until it is as wanted.
    fn watch_until(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut last = String::new();
        for line in self.send("GET", "/api/live/events", "").lines() {
            let line = line.unwrap_or_else(|error| panic!("{what}: {error}: {last}"));
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let state: Value = serde_json::from_str(data).expect("a state");
            if is_it(&state) {
                return state;
            }
            last = line;
        }
        panic!("{what}: the stream has ended: {last}");
    }
}

fn is_led(state: &Value) -> bool {
    state["leader"]["current"] == true && state["leader"]["holder"].is_string()
}

#[test]
fn a_running_cluster_is_shown_through_one_node_and_cannot_be_broken() {
    let all = ["a", "b", "c"];
    let mut cluster = Cluster::new(&all, &[]);
    cluster.start(&all);
    let leader = cluster.wait_for_agreement(&all, |_| true);
    // Not through the leader, which is killed below.
    let seen_by = all.into_iter().find(|name| *name != leader).expect("there are others");
    let page = Page::of(&cluster, seen_by);
    assert_eq!(page.get("/api/live"), serde_json::json!({ "live": true, "control": false }));
    let is_measured = |state: &Value| {
        let own = state["members"].as_array().and_then(|all| all.iter().find(|member| member["name"] == seen_by));
        own.is_some_and(|own| own["says"]["measured"]["messages_per_second"].is_number())
    };
    let state = page.watch_until("members and measurements", |state| is_led(state) && is_measured(state));
    assert_eq!((&state["cluster"], &state["seen_by"]), (&"test".into(), &seen_by.into()));
    assert_eq!(state["control"], Value::Null);
    let members = state["members"].as_array().expect("a list");
    assert_eq!(members.iter().map(|member| member["name"].as_str()).collect::<Vec<_>>(), all.map(Some));
    for member in members {
        let is_asked = member["name"] == seen_by;
        assert_eq!(member["says"].is_object(), is_asked, "{member}");
        let links = member["says"]["measured"]["links"].as_array().map_or(0, Vec::len);
        assert_eq!(links, if is_asked { 2 } else { 0 }, "{member}");
    }
    let offices = page.get("/api/live/offices?search=lead");
    assert_eq!((&offices["matches"], &offices["offices"][0]["office"]), (&1.into(), &"leader".into()), "{offices}");
    let before = state["leader"]["token"].as_u64().expect("a number");

    for order in ["kill leader", &format!("kill {leader}"), "revive"] {
        let (status, body) = page.ask("POST", "/api/live/act", order);
        assert!(status == 403 && body.contains("read-only"), "{order}: {status} {body}");
    }
    assert!(all.iter().all(|name| cluster.run(name, &["status"]).code == 0), "all still run");

    cluster.kill(&leader);
    let state = page.watch_until("a failover", |state| state["failover"].as_u64().is_some_and(|token| token > before));
    assert!(state["leader"]["holder"].as_str() != Some(&leader), "{state}");
    let failover = page.get("/api/live/failover");
    assert_eq!((&failover["holder"], &failover["token"]), (&state["leader"]["holder"], &state["failover"]));
    assert_eq!((&failover["former"], &failover["told_by"]), (&leader.as_str().into(), &serde_json::json!([seen_by])));
    assert!(failover["took_ms"].as_f64().is_some_and(|took| took > 0.0), "{failover}");
    assert!(failover["messages"].as_u64().is_some_and(|count| count > 0), "{failover}");
    let svg = failover["svg"].as_str().expect("a picture");
    assert!(svg.contains("class=\"mark holds\"") && svg.contains(&format!("connections to {leader} closed")), "{svg}");
    assert_eq!(svg.matches("class=\"name\"").count(), 3, "a lane for each member: {svg}");
    let last = failover["steps"].as_array().and_then(|steps| steps.iter().find(|step| step["held"] == true));
    assert_eq!(last.expect("the end is told")["nodes"][0], failover["holder"], "{failover}");
}
