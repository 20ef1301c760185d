//! Clients against a fake node, whose responses the test sends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use super::*;
use crate::history::{self, Event, Recorder};
use crate::holding::summary;

struct Fixture {
    folder: tempfile::TempDir,
    listener: TcpListener,
    shared: Arc<Shared>,
    client: ClientThread,
}

/// The node's side of a connection.
struct Node(BufReader<TcpStream>);

fn spec(address: SocketAddr, ppm: i32) -> HttpClientSpec {
    let campaign = Campaign { node: "n1".to_string(), office: "x".to_string(), exclusive: true };
    let (clock, rng) = (HostClock { ppm }, Rng::new(1));
    HttpClientSpec { campaign, number: 0, address, namespace: None, clock, ttl_ms: 500, rng }
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let recorder = Recorder::create(&folder.path().join("history")).expect("a new file");
        let shared = Arc::new(Shared::new(Arc::new(recorder), false));
        // While it recovers, the client does not hang or resign by itself.
        shared.set_recovering(true);
        let client = spec(listener.local_addr().expect("bound"), 0).start(&shared).expect("a thread");
        Fixture { folder, listener, shared, client }
    }

    fn accept(&self) -> Node {
        let (stream, _) = self.listener.accept().expect("the client comes");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        Node(BufReader::new(stream))
    }

    fn close(self) -> Vec<Event> {
        self.shared.end();
        drop(self.listener);
        self.client.join().expect("no panic");
        history::read(&self.folder.path().join("history")).expect("readable")
    }
}

impl Node {
    /// The next request: what it asks for, and its body.
    fn receive(&mut self) -> (String, Value) {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).expect("a request") > 0, "the client has gone: {head}");
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().expect("a number");
            }
            if line == "\r\n" {
                break;
            }
            head += &line;
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).expect("a body");
        let action = head.split(' ').nth(1).and_then(|path| path.strip_prefix("/v1/offices/x/")).expect("a path");
        (action.to_string(), serde_json::from_slice(&body).expect("JSON"))
    }

    fn send(&mut self, status: u16, body: &Value) {
        let body = body.to_string();
        let text = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        self.0.get_mut().write_all(text.as_bytes()).expect("the client is connected");
    }

    /// Answers a request, which must be this one.
    fn answer(&mut self, action: &str, view: &Value) -> Value {
        let (asked, body) = self.receive();
        assert_eq!(asked, action, "{body}");
        self.send(200, view);
        body
    }
}

fn view(state: &str, token: u64, lease_ms: u64) -> Value {
    json!({ "session": "s", "state": state, "token": token, "lease_ms": lease_ms, "renew_ms": 10 })
}

#[test]
fn acquires_renews_stops_when_asked_and_says_so() {
    let fixture = Fixture::new();
    let mut node = fixture.accept();
    let asked = node.answer("campaign", &view("waiting", 0, 0));
    assert_eq!(asked, json!({ "mode": "exclusive", "ttl_ms": 500 }));
    assert_eq!(node.answer("renew", &view("held", 5, 60_000)), json!({ "session": "s", "wait_ms": WAIT_MS }));
    node.answer("renew", &view("held", 5, 60_000));
    assert_eq!(node.answer("renew", &view("stop", 5, 60_000)), json!({ "session": "s", "wait_ms": 10 }));
    let stopped = node.answer("renew", &view("lost", 5, 0));
    assert_eq!(stopped["stopped"], 5, "{stopped}");
    let after = node.answer("renew", &view("held", 6, 60_000));
    assert_eq!(after.get("stopped"), None, "it is said once");
    node.answer("renew", &view("lost", 6, 0));
    let _last = node.receive();
    let recorded = summary(&fixture.close());
    let first = "n1.x.http0#1";
    let expected = [format!("{first} acquired 5"), "renewed 5".into(), "stop 5".into()];
    assert_eq!(recorded[..3], expected);
    assert_eq!(recorded[3..], [format!("{first} acquired 6"), "lost 6".into()]);
}

#[test]
fn acts_until_its_deadline_when_the_session_is_over_and_then_campaigns_again() {
    let fixture = Fixture::new();
    let mut node = fixture.accept();
    let before = clock::now();
    node.answer("campaign", &view("held", 7, 200));
    assert_eq!(node.receive().0, "renew");
    node.send(404, &json!({ "error": { "code": "unknown-session", "message": "gone" } }));
    let mut node = fixture.accept();
    assert_eq!(node.receive().0, "campaign", "a new session");
    assert!(clock::now() >= before + 200 * MILLISECOND, "it campaigns again when it has stopped");
    assert_eq!(summary(&fixture.close()), ["n1.x.http0#1 acquired 7"]);
}

#[test]
fn keeps_its_session_when_a_connection_ends_or_the_node_is_busy() {
    let fixture = Fixture::new();
    let mut node = fixture.accept();
    node.answer("campaign", &view("held", 7, 60_000));
    drop(node);
    let mut node = fixture.accept();
    assert_eq!(node.receive(), ("renew".to_string(), json!({ "session": "s", "wait_ms": 0 })));
    node.send(503, &json!({ "error": { "code": "busy", "message": "try again" } }));
    let mut node = fixture.accept();
    node.answer("renew", &view("held", 7, 60_000));
    let _last = node.receive();
    assert_eq!(summary(&fixture.close())[..2], ["n1.x.http0#1 acquired 7", "renewed 7"]);
}

#[test]
fn the_deadline_counts_from_the_sending_on_the_client_s_clock() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recorder = Arc::new(Recorder::create(&folder.path().join("history")).expect("a new file"));
    let (shared, is_campaigning) = (Shared::new(recorder, false), AtomicBool::new(false));
    let mut spec = spec(SocketAddr::from(([127, 0, 0, 1], 1)), 10_000);
    let mut session = Session::new(&shared, &mut spec, &is_campaigning, "c".to_string());
    let held = |lease_ms| serde_json::from_value(view("held", 5, lease_ms)).expect("a view");
    session.handle_view(held(1_010), 7, 500 * MILLISECOND);
    assert_eq!(session.holding.tenure.map(|tenure| tenure.deadline), Some(7 + 1_000 * MILLISECOND));
    session.handle_view(held(101), 9, 600 * MILLISECOND);
    assert_eq!(session.holding.tenure.map(|tenure| tenure.deadline), Some(7 + 1_000 * MILLISECOND), "not earlier");
}
