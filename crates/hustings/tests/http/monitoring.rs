//! Metrics and traces over HTTP.

use hustings_cluster::api::{Trace, TraceEvent};
use hustings_timeline::Timeline;

use super::client::Api;
use super::{ABC, HttpCluster};
use crate::loopback::free_ports;
use crate::monitoring::contrib::promtool;

#[test]
fn both_listeners_have_the_metrics_of_the_node_and_of_the_api() {
    let probe = free_ports(1)[0];
    let http = HttpCluster::start(&["a"], &format!("probe-listen = \"127.0.0.1:{probe}\""));
    let api = http.apis[0].clone();
    for listener in [api, Api { port: probe, token: None, session: None }] {
        let answer = listener.get("/metrics");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        for line in
            ["hustings_is_leader{office=\"leader\"} 1\n", "hustings_has_quorum 1\n", "hustings_http_sessions 0\n"]
        {
            assert!(answer.body.contains(line), "{line} is not in {}", answer.body);
        }
        if let Some(checked) = promtool(&["check", "metrics"], &answer.body) {
            assert!(checked.status.success() && checked.stdout.is_empty() && checked.stderr.is_empty(), "{checked:?}");
        }
    }
    assert_eq!(
        Api { port: probe, token: None, session: None }.get("/v1/trace").status,
        404,
        "a trace is not for everybody"
    );
}

#[test]
fn traces_of_all_nodes_can_be_merged() {
    let http = HttpCluster::start(&ABC, "");
    let trace = |api: &Api| -> Option<Trace> {
        let answer = api.get("/v1/trace");
        assert_eq!(answer.status, 200, "{answer:?}");
        let trace: Trace =
            serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body));
        (trace.clocks.len() == 2).then_some(trace)
    };
    let measured = |api: &Api| http.cluster.wait_until("the clocks are measured", || trace(api));
    let traces: Vec<Trace> = http.apis.iter().map(measured).collect();
    let timeline = Timeline::merge(traces).expect("they fit together");
    assert!(timeline.events.iter().any(|event| matches!(event.event, TraceEvent::Held { .. })));
    assert!(timeline.events.iter().any(|event| event.cause.is_some()));
    let last = http.apis[0].get("/v1/trace?limit=3").json();
    assert_eq!(last["records"].as_array().map(Vec::len), Some(3), "{last}");
    for wrong in ["/v1/trace?limit=0", "/v1/trace?limit=4097", "/v1/trace?limit=x", "/v1/trace?last=3"] {
        assert_eq!((http.apis[0].get(wrong).status, http.apis[0].get(wrong).code().as_str()), (400, "bad-request"));
    }
}
