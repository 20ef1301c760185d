//! Campaigns over HTTP.

use std::time::Instant;

use serde_json::{Value, json};

use super::client::Api;
use super::{ABC, HttpCluster, write_tokens};

/// Renews until the session has this state.
fn renew_until(http: &HttpCluster, api: &Api, session: &Value, state: &str) -> Value {
    http.cluster.wait_until(&format!("the session is {state}"), || {
        let told = api.post("/v1/offices/job/renew", &json!({ "session": session, "wait_ms": 200 }));
        assert_eq!(told.status, 200, "{told:?}");
        (told.json()["state"] == state).then(|| told.json())
    })
}

fn campaign(api: &Api) -> Value {
    let opened = api.post("/v1/offices/job/campaign", &json!({ "ttl_ms": 20_000 }));
    assert_eq!(opened.status, 201, "{opened:?}");
    opened.json()["session"].clone()
}

#[test]
fn a_session_holds_is_told_to_stop_and_the_next_one_holds_with_a_greater_token() {
    let http = HttpCluster::start(&ABC, "anonymous = \"operate\"");
    let [a, b, _] = &http.apis[..] else { panic!("there are three") };
    let first = campaign(a);
    let asked = Instant::now();
    let held = renew_until(&http, a, &first, "held");
    let lease = held["lease_ms"].as_u64().expect("a number");
    // 300 ms less the drift, twice. It counts from when the request was sent, which may have waited.
    let longest = 294 + asked.elapsed().as_millis() as u64;
    assert!((1..=longest).contains(&lease), "{held}");
    assert_eq!((&held["node"], &held["reason"]), (&json!("a"), &json!(null)));
    let renewed = a.post("/v1/offices/job/renew", &json!({ "session": first }));
    assert_eq!(renewed.header("hustings-token").map(str::to_string), Some(held["token"].to_string()));
    assert_eq!(a.get("/v1/offices/job/leader").status, 200);
    assert_eq!(b.get("/v1/offices/job/leader").status, 503);

    let second = campaign(b);
    renew_until(&http, b, &second, "waiting");
    let transfer = std::thread::spawn({
        let operator = b.clone();
        move || operator.post("/v1/offices/job/transfer", &json!({ "to": "b" }))
    });
    let stop = renew_until(&http, a, &first, "stop");
    assert_eq!((&stop["token"], &stop["reason"]), (&held["token"], &json!("transferred")));
    let stopped = a.post("/v1/offices/job/renew", &json!({ "session": first, "stopped": stop["token"] }));
    assert_eq!(stopped.status, 200, "{stopped:?}");
    let transferred = transfer.join().expect("no panic");
    assert_eq!((transferred.status, &transferred.json()["holder"]), (200, &json!("b")), "{transferred:?}");
    let next = renew_until(&http, b, &second, "held");
    assert!(next["token"].as_u64() > held["token"].as_u64(), "{next} {held}");
    renew_until(&http, a, &first, "lost");

    // The second resigns; the first has campaigned on.
    let resigned = b.post("/v1/offices/job/resign", &json!({ "session": second }));
    assert_eq!((resigned.status, &resigned.json()["state"]), (200, &json!("resigned")));
    assert_eq!(b.post("/v1/offices/job/renew", &json!({ "session": second })).code(), "unknown-session");
    let again = renew_until(&http, a, &first, "held");
    assert!(again["token"].as_u64() > next["token"].as_u64(), "{again} {next}");
}

#[test]
fn a_client_that_is_gone_loses_the_office_after_its_time_to_live() {
    let http = HttpCluster::start(&ABC, "");
    let [a, b, _] = &http.apis[..] else { panic!("there are three") };
    let opened = a.post("/v1/offices/job/campaign", &json!({ "ttl_ms": 500, "wait_ms": 20_000 })).json();
    assert_eq!(opened["state"], "held", "{opened}");
    let second = campaign(b);
    // Nobody renews the first one any more.
    let next = renew_until(&http, b, &second, "held");
    assert!(next["token"].as_u64() > opened["token"].as_u64());
    let gone = a.post("/v1/offices/job/renew", &json!({ "session": opened["session"] }));
    assert_eq!((gone.status, gone.code().as_str()), (404, "unknown-session"));
}

#[test]
fn a_node_that_leaves_hands_the_office_of_a_session_over() {
    let mut http = HttpCluster::start(&ABC, "");
    let (a, b) = (http.apis[0].clone(), http.apis[1].clone());
    let first = campaign(&a);
    let held = renew_until(&http, &a, &first, "held");
    let second = campaign(&b);
    http.cluster.terminate("a");
    let next = renew_until(&http, &b, &second, "held");
    assert!(next["token"].as_u64() > held["token"].as_u64());
}

#[test]
fn the_rights_of_tokens_and_the_audit_log() {
    let mut tokens = None;
    let http = HttpCluster::prepare(&["a"], "tokens = \"tokens.toml\"", |cluster| {
        tokens = Some(write_tokens(&cluster.folder().join("a/tokens.toml")));
    });
    let (campaign_token, operate_token) = tokens.expect("they were written");
    let anonymous = &http.apis[0];
    let (jobs, ops) = (anonymous.with_token(&campaign_token), anonymous.with_token(&operate_token));
    for path in ["/v1/offices", "/v1/cluster", "/openapi.json", "/livez", "/no/such/route"] {
        let refused = anonymous.get(path);
        assert_eq!((refused.status, refused.code().as_str()), (401, "unauthorized"), "{path}");
        assert!(refused.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")));
    }
    assert_eq!(anonymous.with_token("wrong").get("/v1/cluster").status, 401);
    assert_eq!((jobs.get("/v1/cluster").status, ops.get("/v1/cluster").status), (200, 200));

    let session = jobs.post("/v1/offices/job/campaign", &json!({ "wait_ms": 20_000 })).json();
    assert_eq!(session["state"], "held", "{session}");
    // A session belongs to the token that opened it.
    let other = ops.post("/v1/offices/job/resign", &json!({ "session": session["session"] }));
    assert_eq!(other.code(), "unknown-session");
    let [pause, resume] =
        [|api: &Api| api.post("/v1/pause", &json!({})), |api: &Api| api.method("DELETE", "/v1/pause")];
    for change in [pause, resume] {
        let refused = change(&jobs);
        assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"), "{refused:?}");
        assert_eq!(change(&ops).status, 200);
    }
    let refused = jobs.post("/v1/offices/job/transfer", &json!({ "to": "a" }));
    assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
    assert_eq!(jobs.post("/v1/offices/job/resign", &json!({ "session": session["session"] })).status, 200);

    let log = http.cluster.wait_until("the log is written", || {
        let log = std::fs::read_to_string(http.cluster.root().join("a.log")).expect("it is ours");
        log.contains("caller=token:jobs request=resign job result=done").then_some(log)
    });
    for line in [
        "audit: caller=token:jobs request=campaign job result=done",
        "audit: caller=token:jobs request=POST /v1/pause result=forbidden",
        "audit: caller=token:ops request=pause result=done",
        "audit: caller=token:ops request=resume result=done",
        "audit: caller=token:jobs request=POST /v1/offices/job/transfer result=forbidden",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
    for secret in [&*campaign_token, &*operate_token, session["session"].as_str().expect("a text")] {
        assert!(!log.contains(secret), "a secret is in the log");
    }
}
