//! Watches over HTTP: server-sent events.

use serde_json::json;

use super::{ABC, HttpCluster};

#[test]
fn a_watch_tells_of_changes_and_is_resumed_at_another_node() {
    let http = HttpCluster::start(&ABC, "anonymous = \"operate\"");
    let [a, b, c] = &http.apis[..] else { panic!("there are three") };
    let mut events = c.watch("job", None);
    assert_eq!(events.next().data["holder"], json!(null), "nobody holds it yet");

    let first = a.post("/v1/offices/job/campaign", &json!({ "wait_ms": 20_000, "ttl_ms": 60_000 })).json();
    assert_eq!(first["state"], "held", "{first}");
    let granted = events.wait_for("office", |office| office["holder"] == "a");
    assert_eq!(granted.id, format!("{}.0", first["token"]));
    assert_eq!(granted.data["token"], first["token"]);
    drop(events);

    // Nobody watches while the office changes hands.
    assert_eq!(a.post("/v1/offices/job/resign", &json!({ "session": first["session"] })).status, 200);
    let second = b.post("/v1/offices/job/campaign", &json!({ "wait_ms": 20_000, "ttl_ms": 60_000 })).json();
    assert_eq!(second["state"], "held", "{second}");
    let last_id = format!("{}.0", second["token"]);

    // At any node, the watch goes on where it was.
    for api in [b, a] {
        http.cluster.wait_until("the node knows of the change", || {
            (api.get("/v1/offices/job").json()["holder"] == "b").then_some(())
        });
        let mut events = api.watch("job", Some(&granted.id));
        let mut missed = Vec::new();
        let state = loop {
            let event = events.next();
            match event.kind.as_str() {
                "missed" => missed.push(event.id),
                "office" => break event,
                other => panic!("{other}"),
            }
        };
        assert_eq!(missed.last(), Some(&last_id), "{missed:?}");
        assert!(state.data["holder"] == "b" || state.data["holder"] == json!(null), "{state:?}");
        // With nothing missed there is just the state.
        assert_eq!(api.watch("job", Some(&last_id)).next().kind, "office");
        // What the cluster does not know any more is a gap, and says so.
        let mut unknown = api.watch("job", Some("1.1"));
        assert_eq!((unknown.next().kind.as_str(), unknown.next().kind.as_str()), ("gap", "office"));
    }
}
