//! The router against its description, and against a node that never answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, StatusCode, header};
use hustings_cluster::clock::Clock;
use hustings_cluster::config::Anonymous;
use serde_json::Value;
use tokio::sync::Semaphore;
use tower_service::Service;

use super::*;
use crate::auth::{Authenticator, Tokens};
use crate::hosts::Hosts;
use crate::link::Link;
use crate::offices::Offices;
use crate::rate::RateLimit;
use crate::sessions::Sessions;
use crate::state::State as SharedState;

fn state(socket: &std::path::Path, requests_per_second: u32) -> Shared {
    Arc::new(SharedState {
        node: "a".to_string(),
        link: Link::new(socket.to_path_buf()),
        offices: Offices::new(1, Duration::from_millis(20)),
        sessions: Sessions::new(socket.to_path_buf(), Clock::new(), 0, 1),
        watchers: Arc::new(Semaphore::new(1)),
        max_watchers: 1,
        max_state_bytes: 1 << 20,
        state_transfers: Semaphore::new(1),
        authenticator: Authenticator {
            tokens: Tokens::default().into(),
            anonymous: Anonymous::Operate,
            certificate_right: Right::Campaign,
        },
        hosts: Hosts::new(&[], "a:1", Vec::new()),
        rate: RateLimit::new(requests_per_second),
        clock: Clock::new(),
        log: Arc::new(|_| {}),
        refusals: Mutex::default(),
    })
}

pub(super) fn nowhere() -> Shared {
    state(std::path::Path::new("/nowhere/at/all.sock"), 1_000_000)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(work)
}

fn request(method: &str, path: &str) -> Request {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method.parse().expect("a method");
    *request.uri_mut() = path.parse().expect("a path");
    request.extensions_mut().insert(Peer { address: [127, 0, 0, 1].into(), certificate: None });
    request
}

async fn call(router: &Router, request: Request) -> Response {
    router.clone().call(request).await.unwrap_or_else(|never| match never {})
}

async fn json_of(response: Response) -> Value {
    let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("the body is in memory");
    serde_json::from_slice(&bytes).expect("it is JSON")
}

/// The methods of each path, as the description has them.
fn described() -> BTreeMap<String, BTreeSet<String>> {
    let document: Value = serde_json::from_str(&document()).expect("it is JSON");
    let paths = document["paths"].as_object().expect("it has paths");
    let methods = |item: &Value| item.as_object().expect("methods").keys().map(|key| key.to_uppercase()).collect();
    paths.iter().map(|(path, item)| (path.clone(), methods(item))).collect()
}

#[test]
fn the_router_and_its_description_have_the_same_paths_and_methods() {
    let paths: BTreeSet<String> = table().iter().map(|(path, _)| path.to_string()).collect();
    let described = described();
    assert_eq!(paths, described.keys().cloned().collect());
    assert!(PROBE_ROUTES.iter().all(|path| paths.contains(*path)));
    block_on(async {
        let router = router(nowhere());
        for (path, mut methods) in described {
            let refused = call(&router, request("TRACE", &path.replace("{office}", "job"))).await;
            assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
            let allowed = refused.headers().get(header::ALLOW).expect("it says what is allowed").to_str();
            let allowed: BTreeSet<String> = allowed.expect("text").split(',').map(str::to_string).collect();
            // HEAD comes with GET.
            if methods.contains("GET") {
                methods.insert("HEAD".to_string());
            }
            assert_eq!(allowed, methods, "{path}");
            assert_eq!(json_of(refused).await["error"]["code"], "method-not-allowed");
        }
    });
}

/// What the router answers with is what the description says that it may.
#[test]
fn every_answer_has_a_described_status_and_the_shape_of_an_error() {
    let document: Value = serde_json::from_str(&document()).expect("it is JSON");
    block_on(async {
        let router = router(nowhere());
        for (path, methods) in described() {
            for method in methods {
                let operation = &document["paths"][&path][method.to_lowercase()];
                for office in ["job", "Not-A-Name"] {
                    let answer = call(&router, request(&method, &path.replace("{office}", office))).await;
                    let status = answer.status().as_u16().to_string();
                    assert!(operation["responses"].get(&status).is_some(), "{method} {path}: {status}");
                    if !answer.status().is_success() {
                        let json = json_of(answer).await;
                        assert!(json["error"]["code"].is_string() && json["error"]["message"].is_string(), "{json}");
                    }
                }
            }
        }
    });
}

#[test]
fn an_unknown_route_is_an_error_in_the_same_shape() {
    block_on(async {
        for path in ["/", "/v1", "/v1/offices/", "/v2/offices", "/metrics/"] {
            let answer = call(&router(nowhere()), request("GET", path)).await;
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
            assert_eq!(json_of(answer).await["error"]["code"], "not-found");
        }
    });
}

#[test]
fn the_probe_address_has_health_checks_and_nothing_else() {
    block_on(async {
        let router = probe_router(nowhere());
        for (path, _) in table() {
            let answer = call(&router, request("GET", &path.replace("{office}", "job"))).await;
            let is_there = answer.status() != StatusCode::NOT_FOUND;
            assert_eq!(is_there, PROBE_ROUTES.contains(&path), "{path}");
        }
    });
}

/// The loop of the node accepts connections by the kernel alone, and answers nothing.
#[test]
fn a_node_whose_loop_does_not_answer_is_not_alive() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("node.sock");
    let _hangs = std::os::unix::net::UnixListener::bind(&socket).expect("the folder is ours");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let answer = call(&probe_router(state(&socket, 1_000_000)), request("GET", "/livez")).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(json_of(answer).await["error"]["code"], "node-unavailable");
    });
}

#[test]
fn strangers_use_up_only_their_own_requests() {
    block_on(async {
        let router = router(state(std::path::Path::new("/nowhere/at/all.sock"), 1));
        let mut statuses = Vec::new();
        for _ in 0..4 {
            let mut wrong = request("GET", "/openapi.json");
            wrong.headers_mut().insert(header::AUTHORIZATION, "Bearer wrong".parse().expect("text"));
            statuses.push(call(&router, wrong).await.status().as_u16());
        }
        assert_eq!(statuses[..2], [401, 401]);
        assert!(statuses.contains(&429), "{statuses:?}");
        // They come through the same proxy.
        let known = |method, path| {
            let mut request = request(method, path);
            let certificate = Some("certificate:x".into());
            request.extensions_mut().insert(Peer { address: [127, 0, 0, 1].into(), certificate });
            request
        };
        // A known caller has a limit, too; and so has one that renews what is no session.
        assert_eq!(call(&router, known("GET", "/openapi.json")).await.status(), 200);
        for (method, path) in [("GET", "/openapi.json"), ("POST", "/v1/offices/job/renew")] {
            let mut statuses = Vec::new();
            for _ in 0..50 {
                statuses.push(call(&router, known(method, path)).await.status().as_u16());
            }
            assert!(statuses.contains(&429), "{statuses:?}");
        }
    });
}

#[test]
fn bodies_must_be_json_of_the_right_type_and_size() {
    block_on(async {
        let router = router(nowhere());
        let post = |kind: Option<&'static str>, body: Vec<u8>| {
            let mut request = request("POST", "/v1/offices/job/campaign");
            if let Some(kind) = kind {
                request.headers_mut().insert(header::CONTENT_TYPE, kind.parse().expect("text"));
            }
            request.map(|_| Body::from(body))
        };
        let json = Some("application/json");
        let large = format!("{{\"mode\":\"{}\"}}", "x".repeat(70_000)).into_bytes();
        for (request, status, code) in [
            (post(None, b"{}".to_vec()), 415, "unsupported-media-type"),
            (post(Some("text/plain"), b"{}".to_vec()), 415, "unsupported-media-type"),
            (post(json, b"{".to_vec()), 400, "bad-request"),
            (post(json, b"[]".to_vec()), 400, "bad-request"),
            (post(json, b"[null,null]".to_vec()), 400, "bad-request"),
            (post(json, b"{\"mod\":\"fenced\"}".to_vec()), 400, "bad-request"),
            (post(json, b"{\"ttl_ms\":1}".to_vec()), 400, "bad-request"),
            (post(json, b"{\"wait_ms\":20001}".to_vec()), 400, "bad-request"),
            (post(json, large), 413, "too-large"),
            (post(Some("application/json; charset=utf-8"), b"{}".to_vec()), 503, "node-unavailable"),
        ] {
            let answer = call(&router, request).await;
            assert_eq!(answer.status().as_u16(), status);
            assert_eq!(json_of(answer).await["error"]["code"], code);
        }
    });
}

/// A browser presents the certificate of its user for whatever page asks.
#[test]
fn a_web_page_cannot_use_the_certificate_of_its_user() {
    block_on(async {
        let mut state = nowhere();
        let shared = Arc::get_mut(&mut state).expect("it is not shared yet");
        shared.authenticator.certificate_right = Right::Operate;
        shared.hosts = Hosts::new(&["api.example".to_string()], "a:1", Vec::new());
        let router = router(state);
        let pause = |headers: &[(&'static str, &'static str)], body: &'static str| {
            let mut request = request("POST", "/v1/pause").map(|_| Body::from(body));
            let peer = Peer { address: [10, 0, 0, 1].into(), certificate: Some("certificate:x".into()) };
            request.extensions_mut().insert(peer);
            let headers = headers.iter().map(|(name, value)| (*name, HeaderValue::from_static(value)));
            headers.for_each(|(name, value)| _ = request.headers_mut().insert(name, value));
            request
        };
        let json = ("content-type", "application/json");
        for (request, status) in [
            // What a page can send without asking the server first.
            (pause(&[], ""), 415),
            (pause(&[("content-type", "text/plain")], "{}"), 415),
            (pause(&[json, ("origin", "https://evil.example")], "{}"), 403),
            (pause(&[json, ("sec-fetch-site", "cross-site")], "{}"), 403),
            (pause(&[json, ("host", "evil.example")], "{}"), 403),
            (pause(&[json, ("host", "api.example"), ("sec-fetch-site", "same-site")], "{}"), 403),
            (pause(&[json], "{\"x\":1}"), 400),
            // There is no node that could do it.
            (pause(&[json], "{}"), 503),
            (pause(&[json, ("host", "api.example"), ("origin", "https://api.example")], "{}"), 503),
        ] {
            let asked = format!("{request:?}");
            assert_eq!(call(&router, request).await.status().as_u16(), status, "{asked}");
        }
    });
}

#[test]
fn a_state_needs_a_token_and_must_not_be_too_large() {
    block_on(async {
        let router = router(nowhere());
        let put = |token: Option<&'static str>, bytes: usize| {
            let mut request = request("PUT", "/v1/offices/job/state");
            if let Some(token) = token {
                request.headers_mut().insert("hustings-token", token.parse().expect("text"));
            }
            request.map(|_| Body::from(vec![0; bytes]))
        };
        for (request, status, code) in [
            (put(None, 1), 400, "bad-request"),
            (put(Some("x"), 1), 400, "bad-request"),
            (put(Some("+1"), 1), 400, "bad-request"),
            (put(Some("7"), (1 << 20) + 1), 413, "too-large"),
            (put(Some("7"), 1 << 20), 503, "node-unavailable"),
        ] {
            let answer = call(&router, request).await;
            assert_eq!(answer.status().as_u16(), status);
            assert_eq!(json_of(answer).await["error"]["code"], code);
        }
    });
}
