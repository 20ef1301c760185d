//! The states of offices over HTTP.

use hustings_http::{TokenRight, add_token};
use serde_json::json;

use super::client::Api;
use super::{ABC, HttpCluster, write_tokens};

/// Opens a session that holds an office. Returns the API with the session, and the token.
fn holder_of(office: &str, api: &Api) -> (Api, u64) {
    let campaign = format!("/v1/offices/{office}/campaign");
    let session = api.post(&campaign, &json!({ "wait_ms": 20_000, "ttl_ms": 600_000 })).json();
    let token = session["token"].as_u64().unwrap_or_else(|| panic!("it is held: {session}"));
    (api.with_session(&session), token)
}

#[test]
fn a_holder_stores_a_state_that_every_node_shows() {
    let http = HttpCluster::start(&ABC, "anonymous = \"operate\"");
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
    assert_eq!(
        others[0].put(path, token, b"").status,
        200,
        "any node takes it from an operator, with the holder's token"
    );
    let empty = leader.get(path);
    assert_eq!((empty.status, empty.body.as_str()), (200, ""));
    assert_ne!(empty.header("etag").map(str::to_string), tag);

    let stale = others[0].put(path, token - 1, b"stale");
    assert_eq!((stale.status, stale.code().as_str()), (409, "stale-token"));
    assert_eq!(leader.get(path).body, "", "nothing has changed");
    assert_eq!(leader.put(path, token, &vec![b'x'; (1 << 20) + 1]).code(), "too-large");
}

/// The token of an office is no secret: everybody who may read sees it.
#[test]
fn only_the_caller_whose_session_holds_an_office_writes_for_it() {
    let (mut tokens, mut other) = Default::default();
    let http = HttpCluster::prepare(&["a"], "tokens = \"tokens.toml\"\nanonymous = \"read\"", |cluster| {
        let path = cluster.folder().join("a/tokens.toml");
        tokens = write_tokens(&path);
        other = add_token(Some(&path), "other", TokenRight::Campaign).expect("the folder is ours").secret;
    });
    let (holder, operator) = (http.apis[0].with_token(&tokens.0), http.apis[0].with_token(&tokens.1));
    let other = http.apis[0].with_token(&other);
    let (holder, token) = holder_of("job", &holder);
    let path = "/v1/offices/job/state";
    assert_eq!(holder.put(path, token, b"mine").status, 200);
    for refused in [other.put(path, token, b"theirs"), other.delete_with_token(path, token)] {
        assert_eq!((refused.status, refused.code().as_str()), (400, "bad-request"), "{refused:?}");
    }
    // A session that only waits gives no more, nor does that of somebody else.
    let waiting = other.post("/v1/offices/job/campaign", &json!({ "ttl_ms": 60_000 })).json();
    assert_eq!(waiting["state"], "waiting", "{waiting:?}");
    for other in [other.with_session(&waiting), Api { token: other.token.clone(), ..holder.clone() }] {
        for refused in [other.put(path, token, b"theirs"), other.delete_with_token(path, token)] {
            assert_eq!((refused.status, refused.code().as_str()), (409, "stale-token"), "{refused:?}");
        }
    }
    assert_eq!(holder.put("/v1/offices/leader/state", token, b"x").code(), "stale-token", "that is another office");
    assert_eq!(operator.get(path).body, "mine", "nothing has changed");
    assert_eq!(operator.put(path, token, b"repaired").status, 200);
    assert_eq!(holder.delete_with_token(path, token).status, 200);
    let log = http.cluster.log("a");
    for request in ["put-state", "delete-state"] {
        let line = format!("audit: caller=token:other request={request} job token={token} result=stale-token");
        assert!(log.contains(&line), "{line}\n{log}");
    }
}

/// All callers without a bearer token have the same name.
#[test]
fn a_session_speaks_for_a_holder_among_callers_without_tokens() {
    let http = HttpCluster::start(&["a"], "");
    let anybody = &http.apis[0];
    let (holder, token) = holder_of("job", anybody);
    let path = "/v1/offices/job/state";
    assert_eq!(holder.put(path, token, b"mine").status, 200);
    let waiting = anybody.post("/v1/offices/job/campaign", &json!({ "ttl_ms": 60_000 })).json();
    for (other, status) in [(anybody.clone(), 400), (anybody.with_session(&waiting), 409)] {
        for refused in [other.put(path, token, b"theirs"), other.delete_with_token(path, token)] {
            assert_eq!(refused.status, status, "{refused:?}");
        }
    }
    assert_eq!(anybody.get(path).body, "mine", "nothing has changed");
    assert_eq!(holder.delete_with_token(path, token).status, 200);
}

#[test]
fn to_store_takes_the_right_to_campaign() {
    let mut tokens = Default::default();
    let http = HttpCluster::prepare(&["a"], "tokens = \"tokens.toml\"\nanonymous = \"read\"", |cluster| {
        tokens = write_tokens(&cluster.folder().join("a/tokens.toml"));
    });
    let api = &http.apis[0];
    let (program, held) = holder_of("leader", &api.with_token(&tokens.0));
    let path = "/v1/offices/leader/state";
    let refused = api.put(path, held, b"x");
    assert!(matches!(refused.status, 401 | 403), "{refused:?}");
    assert_eq!(program.put(path, held, b"x").status, 200);
    assert_eq!(api.get(path).body, "x");
}

#[test]
fn a_holder_deletes_its_state_and_an_operator_any() {
    let mut tokens = Default::default();
    let http = HttpCluster::prepare(&["a"], "tokens = \"tokens.toml\"\nanonymous = \"read\"", |cluster| {
        tokens = write_tokens(&cluster.folder().join("a/tokens.toml"));
    });
    let reader = &http.apis[0];
    let operator = reader.with_token(&tokens.1);
    let (program, held) = holder_of("leader", &reader.with_token(&tokens.0));
    let path = "/v1/offices/leader/state";
    assert_eq!(program.put(path, held, b"abc").status, 200);
    let page = reader.get("/v1/states?limit=1").json();
    let listed = &page["states"][0];
    assert_eq!((&listed["office"], &listed["bytes"], &listed["token"]), (&json!("leader"), &json!(3), &json!(held)));
    assert_eq!((&listed["holder"], &page["next"]), (&json!("a"), &json!(null)), "{page}");
    assert!(listed["unix_ms"].as_u64().is_some_and(|when| when > 0), "{page}");
    assert_eq!(reader.get("/v1/states?after=leader").json()["states"], json!([]));
    assert_eq!(reader.get("/v1/states?limit=0").code(), "bad-request");

    for (answer, status, code) in [
        (reader.delete_with_token(path, held), 403, "forbidden"),
        (program.method("DELETE", path), 403, "forbidden"),
        (program.delete_with_token(path, held + 1), 409, "stale-token"),
        (operator.method("DELETE", "/v1/offices/other/state"), 404, "no-state"),
    ] {
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{answer:?}");
    }
    assert_eq!(reader.get(path).body, "abc", "nothing has changed");
    let deleted = program.delete_with_token(path, held);
    assert_eq!((deleted.status, deleted.json()), (200, json!({ "office": "leader" })));
    assert_eq!(
        (reader.get(path).code().as_str(), &reader.get("/v1/states").json()["states"]),
        ("no-state", &json!([]))
    );
    assert_eq!(program.put(path, held, b"d").status, 200);
    assert_eq!(operator.method("DELETE", path).status, 200);
    assert_eq!(reader.get(path).code(), "no-state");
    let log = http.cluster.log("a");
    assert!(log.contains("audit: caller=token:ops request=delete-state leader operator result=done"), "{log}");
    let refused = "audit: caller=token:jobs request=delete-state leader operator result=forbidden";
    assert!(log.contains(refused), "{log}");
}
