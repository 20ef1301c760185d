//! The states of offices over HTTP.

use serde_json::json;

use super::{ABC, HttpCluster, write_tokens};

#[test]
fn a_holder_stores_a_state_that_every_node_shows() {
    let http = HttpCluster::start(&ABC, "");
    let (leader, others) = http.leader_and_others();
    let path = "/v1/offices/leader/state";
    assert_eq!((leader.get(path).status, leader.get(path).code().as_str()), (404, "no-state"));
    let token = leader.get("/v1/offices/leader").json()["token"].as_u64().expect("it is held");

    let text = "0123456789".repeat(40_000);
    let stored = leader.put(path, token, text.as_bytes());
    assert_eq!((stored.status, stored.json()), (200, json!({"office": "leader", "token": token, "bytes": 400_000})));
    for api in &http.apis {
        // A read that no majority confirms in time is a 503.
        let read = http.cluster.wait_until("the state is confirmed", || {
            let read = api.get(path);
            (read.status != 503).then_some(read)
        });
        assert_eq!((read.status, read.header("content-type")), (200, Some("application/octet-stream")));
        assert!(read.body == text, "{} bytes", read.body.len());
        assert_eq!(read.header("hustings-token"), Some(token.to_string().as_str()));
    }
    let tag = leader.get(path).header("etag").map(str::to_string);
    assert_eq!(others[0].put(path, token, b"").status, 200, "any node takes it, with the holder's token");
    let empty = leader.get(path);
    assert_eq!((empty.status, empty.body.as_str()), (200, ""));
    assert_ne!(empty.header("etag").map(str::to_string), tag);

    let stale = others[0].put(path, token - 1, b"stale");
    assert_eq!((stale.status, stale.code().as_str()), (409, "stale-token"));
    assert_eq!(leader.get(path).body, "", "nothing has changed");
    assert_eq!(leader.put(path, token, &vec![b'x'; (1 << 20) + 1]).code(), "too-large");
}

#[test]
fn to_store_takes_the_right_to_campaign() {
    let mut tokens = Default::default();
    let http = HttpCluster::prepare(&["a"], "tokens = \"tokens.toml\"\nanonymous = \"read\"", |cluster| {
        tokens = write_tokens(&cluster.folder().join("a/tokens.toml"));
    });
    let api = &http.apis[0];
    let held = api.get("/v1/offices/leader").json()["token"].as_u64().expect("it is held");
    let path = "/v1/offices/leader/state";
    let refused = api.put(path, held, b"x");
    assert!(matches!(refused.status, 401 | 403), "{refused:?}");
    assert_eq!(api.with_token(&tokens.0).put(path, held, b"x").status, 200);
    assert_eq!(api.get(path).body, "x");
}
