//! The HTTP API of real nodes.

pub(crate) mod client;
mod examples;
mod guards;
mod monitoring;
mod proxy;
mod sessions;
mod standard_clients;
mod states;
mod tls;
mod watches;

use std::fs;
use std::path::Path;

use hustings_http::{TokenRight, add_token};
use serde_json::json;

use self::client::Api;
use crate::loopback::free_ports;
use crate::processes::Cluster;

/// A cluster with the API on every node.
struct HttpCluster {
    cluster: Cluster,
    apis: Vec<Api>,
}

/// The members of the clusters here.
const ABC: [&str; 3] = ["a", "b", "c"];

impl HttpCluster {
    /// Starts these members, with more lines in `[http]`.
    fn start(members: &[&str], http: &str) -> HttpCluster {
        HttpCluster::prepare(members, http, |_| {})
    }

    /// Starts these members after something was prepared.
    fn prepare(members: &[&str], http: &str, prepare: impl FnOnce(&Cluster)) -> HttpCluster {
        let mut cluster = Cluster::new(members, &[]);
        let ports = free_ports(members.len());
        for (name, port) in members.iter().zip(&ports) {
            append(&cluster.config(name), &format!("\n[http]\nlisten = \"127.0.0.1:{port}\"\n{http}\n"));
        }
        prepare(&cluster);
        cluster.start(members);
        cluster.wait_for_agreement(members, |_| true);
        let apis: Vec<Api> = ports.into_iter().map(|port| Api { port, token: None, session: None }).collect();
        let started = HttpCluster { cluster, apis };
        started.apis.iter().for_each(|api| started.wait_for_api(api));
        started
    }

    /// The API connects to its node when that has opened its socket.
    fn wait_for_api(&self, api: &Api) {
        self.cluster.wait_until("the API answers", || {
            let answer = api.get("/v1/offices");
            (answer.status != 503).then_some(())
        });
    }

    /// The API of the node that holds `leader`, and those of the others.
    fn leader_and_others(&self) -> (Api, Vec<Api>) {
        self.cluster.wait_until("one node leads", || {
            let (here, elsewhere): (Vec<&Api>, Vec<&Api>) =
                self.apis.iter().partition(|api| api.get("/v1/offices/leader/leader").status == 200);
            match here[..] {
                [leader] => Some((leader.clone(), elsewhere.into_iter().cloned().collect())),
                _ => None,
            }
        })
    }
}

pub(crate) fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).expect("it was written");
    fs::write(path, before + text).expect("it can be written");
}

/// Writes a token file with one token for each right. Returns the tokens for `campaign` and `operate`.
pub(crate) fn write_tokens(path: &Path) -> (String, String) {
    let _ = fs::remove_file(path);
    let token = |name, right| add_token(Some(path), name, right).expect("the folder is ours").secret;
    (token("jobs", TokenRight::Campaign), token("ops", TokenRight::Operate))
}

#[test]
fn every_node_answers_about_offices_members_and_history() {
    let http = HttpCluster::start(&ABC, "");
    let (leader, others) = http.leader_and_others();
    let here = leader.get("/v1/offices/leader/leader");
    let (name, token) = (here.json()["node"].clone(), here.json()["token"].clone());
    assert_eq!(here.header("hustings-token").map(str::to_string), Some(token.to_string()));
    assert_eq!(leader.method("HEAD", "/v1/offices/leader/leader").status, 200);
    assert_eq!(leader.method("OPTIONS", "/v1/offices/leader/leader").status, 200);
    assert_eq!(others.len(), 2);
    for other in &others {
        let elsewhere = other.get("/v1/offices/leader/leader");
        assert_eq!((elsewhere.status, &elsewhere.json()["is_leader"]), (503, &json!(false)));
        assert_eq!(elsewhere.json()["holder"], name);
        assert_eq!(other.method("HEAD", "/v1/offices/leader/leader").body, "");
    }
    for api in &http.apis {
        let page = api.get("/v1/offices?limit=1").json();
        assert_eq!((&page["offices"][0]["office"], &page["next"]), (&json!("leader"), &json!(null)));
        let shown = api.get("/v1/offices/leader");
        assert_eq!((&shown.json()["holder"], &shown.json()["current"]), (&name, &json!(true)));
        assert_eq!(api.get("/v1/offices/nobody").code(), "unknown-office");
        let cluster = api.get("/v1/cluster").json();
        assert_eq!(cluster["cluster"], "test");
        assert_eq!(cluster["members"].as_array().expect("a list").len(), 3);
        let history = api.get("/v1/history?office=leader&limit=1").json();
        assert_eq!((&history["changes"][0]["holder"], &history["changes"][0]["token"]), (&name, &token));
        // A standby is ready.
        assert_eq!((api.get("/livez").status, api.get("/readyz").status), (200, 200));
        let described = api.get("/openapi.json").json();
        assert!(described["paths"]["/v1/offices/{office}/campaign"]["post"].is_object());
    }
}

#[test]
fn a_node_without_a_majority_is_alive_but_not_ready() {
    let mut http = HttpCluster::start(&ABC, "");
    http.cluster.kill("b");
    http.cluster.kill("c");
    let alone = http.apis[0].clone();
    http.cluster.wait_until("a notices", || (alone.get("/readyz").status == 503).then_some(()));
    assert_eq!(alone.get("/readyz").code(), "no-majority");
    assert_eq!(alone.get("/livez").status, 200);
    assert_eq!(alone.get("/v1/offices/leader/leader").status, 503);
}
