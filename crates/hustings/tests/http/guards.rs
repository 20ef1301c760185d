//! What the API refuses. Each test fails without its guard.

use std::io::Write;

use serde_json::json;

use super::client::{Api, is_closed_by_server};
use super::{HttpCluster, append, write_tokens};
use crate::loopback::free_ports;
use crate::processes::Cluster;

#[test]
fn a_node_does_not_open_the_api_to_the_network_without_authentication() {
    let cluster = Cluster::new(&["a"], &[]);
    let config = cluster.config("a");
    append(&config, "\n[http]\nlisten = \"0.0.0.0:7480\"\n");
    let refused = cluster.run("a", &["node"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("`http.listen` is `0.0.0.0:7480`: everybody on the network"), "{}", refused.err);
    assert!(refused.err.contains("http.tokens"), "{}", refused.err);
}

#[test]
fn a_node_does_not_start_with_tokens_that_others_can_read_or_an_address_in_use() {
    let cluster = Cluster::new(&["a"], &[]);
    let port = free_ports(1)[0];
    let tokens = cluster.folder().join("a/tokens.toml");
    append(&cluster.config("a"), &format!("\n[http]\nlisten = \"127.0.0.1:{port}\"\ntokens = \"tokens.toml\"\n"));
    let missing = cluster.run("a", &["node"]);
    assert!(missing.code == 2 && missing.err.contains("tokens.toml"), "{missing:?}");
    write_tokens(&tokens);
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&tokens, readable).expect("the file is ours");
    let exposed = cluster.run("a", &["node"]);
    assert!(exposed.code == 2 && exposed.err.contains("mode 644"), "{exposed:?}");
    write_tokens(&tokens);
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).expect("it was free");
    let in_use = cluster.run("a", &["node"]);
    assert!(in_use.code == 3 && in_use.err.contains("http.listen"), "{in_use:?}");
}

#[test]
fn bad_requests_get_an_error_that_says_what_is_wrong() {
    let http = HttpCluster::start(&["a"], "");
    let api = &http.apis[0];
    for (answer, status, code) in [
        (api.post_text("/v1/offices/job/campaign", "{"), 400, "bad-request"),
        (api.post("/v1/offices/job/campaign", &json!({ "mode": "open" })), 400, "bad-request"),
        (api.post("/v1/offices/job/campaign", &json!({ "mode": "fenced" })), 409, "other-mode"),
        (api.post("/v1/offices/JOB/campaign", &json!({})), 400, "bad-request"),
        (api.post("/v1/offices/job/renew", &json!({ "session": "x" })), 404, "unknown-session"),
        (api.post_text("/v1/offices/job/campaign", &"x".repeat(65_537)), 413, "too-large"),
        (api.get("/v1/offices?limit=0"), 400, "bad-request"),
        (api.get("/v1/offices?page=2"), 400, "bad-request"),
        (api.get("/v1/offices/job/watch?last-event-id=x"), 400, "bad-request"),
        (api.method("POST", "/v1/offices/job/campaign"), 415, "unsupported-media-type"),
        (api.method("PATCH", "/v1/pause"), 405, "method-not-allowed"),
        (api.get("/v1/nothing"), 404, "not-found"),
        // Anonymous callers on loopback may campaign and no more.
        (api.post("/v1/pause", &json!({})), 403, "forbidden"),
    ] {
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{answer:?}");
    }
    // A head that is too large is refused before it is understood.
    let head = format!("GET / HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "x".repeat(20_000));
    assert_eq!(api.send(head.as_bytes()).status, 431);
    let many: String = (0..100).map(|index| format!("X-{index}: 1\r\n")).collect();
    assert_eq!(api.send(format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n").as_bytes()).status, 431);
    assert_eq!(api.send(b"nonsense\r\n\r\n").status, 400);
}

#[test]
fn web_pages_cannot_use_the_api_of_a_host() {
    let http = HttpCluster::start(&["a"], "");
    let api = &http.apis[0];
    let with = |header: &str| {
        let request = format!("GET /v1/cluster HTTP/1.1\r\n{header}\r\nConnection: close\r\n\r\n");
        api.send(request.as_bytes())
    };
    assert_eq!(with("Host: localhost").status, 200);
    assert_eq!(with("Host: evil.example").code(), "forbidden");
    assert_eq!(with("Host: localhost\r\nOrigin: http://evil.example").code(), "forbidden");
    assert_eq!(with("Host: localhost\r\nSec-Fetch-Site: cross-site").code(), "forbidden");
}

#[test]
fn connections_watchers_and_sessions_are_limited() {
    let limits = "[http.limits]\nconnections = 6\nwatchers = 2\nsessions = 1";
    let http = HttpCluster::start(&["a"], limits);
    let api = &http.apis[0];
    let session = api.post("/v1/offices/job/campaign", &json!({ "ttl_ms": 60_000 }));
    assert_eq!(session.status, 201, "{session:?}");
    let refused = api.post("/v1/offices/other/campaign", &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (429, "too-many"), "{refused:?}");

    let mut watches: Vec<_> = (0..2).map(|_| api.watch("leader", None)).collect();
    watches.iter_mut().for_each(|watch| _ = watch.next());
    let refused = api.get("/v1/offices/leader/watch");
    assert_eq!((refused.status, refused.code().as_str()), (429, "too-many"), "{refused:?}");
    drop(watches.pop());
    http.cluster.wait_until("a place is free again", || {
        (api.get("/metrics").body.contains("hustings_http_watchers 1\n")).then_some(())
    });

    // One watcher is left; five more connections of callers who are known fit.
    let mut used = Vec::new();
    let refused = http.cluster.wait_until("no place is free", || {
        used.push(api.connect_and_ask());
        let answer = api.get("/livez");
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(refused.code(), "busy");
    drop(used);
    http.cluster.wait_until("there is room again", || (api.get("/livez").status == 200).then_some(()));
}

#[test]
fn strangers_keep_nobody_out() {
    let http = HttpCluster::start(&["a"], "[http.limits]\nconnections = 6\nrequests-per-second = 20");
    let api = &http.apis[0];
    let session = api.post("/v1/offices/job/campaign", &json!({ "ttl_ms": 60_000 }));
    let id = session.json()["session"].as_str().expect("it is open").to_string();
    let watch = api.watch("leader", None);
    // Connections that never send a whole request have the places of strangers.
    let mut idle: Vec<_> = (0..40).map(|_| api.connect()).collect();
    idle.iter_mut().for_each(|stream| _ = stream.write_all(b"GET /livez HTTP/1.1\r\n"));
    let mut answers: Vec<u16> = (0..3).map(|_| api.get("/livez").status).collect();
    assert_eq!(answers, [200; 3]);
    drop(watch);
    // Whoever uses up the requests of the address does not use up the renewals of a session.
    let bad = api.with_token("hustings_0000");
    while !answers.contains(&429) {
        answers.push(bad.get("/livez").status);
    }
    for _ in 0..20 {
        let renewed = api.post("/v1/offices/job/renew", &json!({ "session": id }));
        assert_eq!(renewed.status, 200, "{renewed:?}");
    }
    assert!(is_closed_by_server(idle.swap_remove(0)), "the oldest had to go");
}

#[test]
fn requests_per_second_are_limited() {
    let http = HttpCluster::start(&["a"], "[http.limits]\nrequests-per-second = 20");
    let api = &http.apis[0];
    let flood = http.cluster.wait_until("requests are refused", || {
        let answer = api.get("/openapi.json");
        (answer.status == 429).then_some(answer)
    });
    assert_eq!((flood.code().as_str(), flood.header("retry-after")), ("rate-limited", Some("1")));
}

#[test]
fn a_client_that_sends_its_head_slowly_is_cut_off() {
    let http = HttpCluster::start(&["a"], "");
    let api: &Api = &http.apis[0];
    let mut slow = api.connect();
    slow.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n").expect("the server reads");
    let silent = api.connect();
    let keep_going = slow.try_clone().expect("descriptors are there");
    assert!(is_closed_by_server(silent), "it sent nothing");
    assert!(is_closed_by_server(keep_going), "it never ended its head");
}
