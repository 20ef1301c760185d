//! Clients against a fake node, whose replies the test sends.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use hustings_cluster::api::ChangeReason;

use super::*;
use crate::history::{self, Event, Recorder};
use crate::holding::summary;

const OFFICE: &str = "x";

struct Fixture {
    folder: tempfile::TempDir,
    listener: UnixListener,
    shared: Arc<Shared>,
    client: ClientThread,
}

/// The node's side of a connection.
struct Node {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl Fixture {
    fn new(exclusive: bool) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = UnixListener::bind(folder.path().join("socket")).expect("a new socket");
        let recorder = Recorder::create(&folder.path().join("history")).expect("a new file");
        let shared = Arc::new(Shared::new(Arc::new(recorder), false));
        // While it recovers, the client does not hang or withdraw by itself.
        shared.set_recovering(true);
        let spec = ClientSpec {
            node: "n1".to_string(),
            number: 0,
            office: OFFICE.to_string(),
            exclusive,
            socket: folder.path().join("socket"),
            clock: HostClock { ppm: 0 },
            rng: Rng::new(1),
        };
        let client = ClientThread::start(&shared, spec).expect("a thread");
        Fixture { folder, listener, shared, client }
    }

    /// Waits for a client that campaigns.
    fn accept(&self) -> Node {
        let (stream, _) = self.listener.accept().expect("the client comes");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let lines = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut node = Node { stream, lines };
        assert!(matches!(node.receive(), Request::Campaign { office, .. } if office == OFFICE));
        node.send(&Reply::Done);
        node
    }

    fn wait_for(&self, what: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let deadline = clock::now() + 20_000 * MILLISECOND;
        loop {
            let events = history::read(&self.folder.path().join("history")).expect("readable");
            if what(&events) {
                return events;
            }
            assert!(clock::now() < deadline, "timed out: {events:?}");
            std::thread::yield_now();
        }
    }

    fn close(self) -> Vec<Event> {
        self.shared.end();
        drop(self.listener);
        self.client.join().expect("no panic");
        history::read(&self.folder.path().join("history")).expect("readable")
    }
}

impl Node {
    fn receive(&mut self) -> Request {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the client sends a request");
        serde_json::from_str(&line).expect("a request")
    }

    fn send(&mut self, reply: &Reply) {
        let line = serde_json::to_string(reply).expect("a reply");
        // Line and newline at once, so that no reader waits for the newline.
        self.stream.write_all(format!("{line}\n").as_bytes()).expect("the client is connected");
    }
}

fn lease(token: u64, deadline: u64) -> Lease {
    let (deadline, lease, stop) = (Timestamp(deadline), Duration::from_secs(1), Duration::ZERO);
    Lease { office: OFFICE.to_string(), token, deadline, lease, stop }
}

#[test]
fn acquires_renews_stops_when_asked_and_confirms() {
    let fixture = Fixture::new(true);
    let mut node = fixture.accept();
    let late = clock::now() + 60_000 * MILLISECOND;
    node.send(&Reply::Held(lease(5, late)));
    node.send(&Reply::Renewed { from: Timestamp(late + 1) - Duration::from_secs(1) });
    node.send(&Reply::Stop { office: OFFICE.to_string(), token: 5, reason: ChangeReason::Preempted });
    assert_eq!(node.receive(), Request::Stopped { office: OFFICE.to_string(), token: 5 });
    let recorded = summary(&fixture.wait_for(|events| events.len() == 3));
    assert_eq!(recorded, ["n1.x.0#1 acquired 5", "renewed 5", "stop 5"], "recorded before it is confirmed");
    // Asked to stop with a token that it does not hold, it confirms at once.
    node.send(&Reply::Stop { office: OFFICE.to_string(), token: 4, reason: ChangeReason::Preempted });
    assert_eq!(node.receive(), Request::Stopped { office: OFFICE.to_string(), token: 4 });
    node.send(&Reply::Held(lease(6, late)));
    node.send(&Reply::Lost { office: OFFICE.to_string(), token: 6, reason: ChangeReason::Expired });
    fixture.wait_for(|events| events.len() == 5);
    drop(node);
    assert_eq!(summary(&fixture.close())[3..], ["n1.x.0#1 acquired 6", "lost 6"]);
}

#[test]
fn acts_without_its_node_until_the_deadline_and_then_reconnects() {
    let fixture = Fixture::new(false);
    let mut node = fixture.accept();
    let deadline = clock::now() + 200 * MILLISECOND;
    node.send(&Reply::Held(lease(7, deadline)));
    fixture.wait_for(|events| events.len() > 2);
    drop(node);
    let gone = clock::now();
    let _node = fixture.accept();
    assert!(clock::now() >= deadline, "it reconnects when it has stopped");
    let events = fixture.close();
    let writes: Vec<u64> =
        events.iter().filter_map(|event| if let Event::Write { at, .. } = event { Some(*at) } else { None }).collect();
    assert!(writes.iter().any(|&at| at > gone), "it writes after its node is gone");
    // The store records a write a little after the client has read its clock.
    assert!(writes.iter().all(|&at| at < deadline + 100 * MILLISECOND));
    assert_eq!(summary(&events), ["n1.x.0#1 acquired 7"]);
}

#[test]
fn without_a_lease_a_client_that_loses_its_node_loses_the_office() {
    let fixture = Fixture::new(true);
    let mut node = fixture.accept();
    node.send(&Reply::Held(lease(7, u64::MAX)));
    fixture.wait_for(|events| events.len() == 1);
    drop(node);
    let _node = fixture.accept();
    assert_eq!(summary(&fixture.close()), ["n1.x.0#1 acquired 7", "gone 7"]);
}

#[test]
fn the_deadline_is_on_the_node_s_clock() {
    let spec = ClientSpec {
        node: "n1".to_string(),
        number: 0,
        office: OFFICE.to_string(),
        exclusive: true,
        socket: Path::new("nowhere").to_path_buf(),
        clock: HostClock { ppm: 10_000 },
        rng: Rng::new(1),
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recorder = Arc::new(Recorder::create(&folder.path().join("history")).expect("a new file"));
    let (shared, mut spec, is_campaigning) = (Shared::new(recorder, false), spec, AtomicBool::new(false));
    let mut session = Session::new(&shared, &mut spec, &is_campaigning, "c".to_string());
    session.handle_held(&lease(1, 1_010_000), 5);
    assert_eq!(session.holding.tenure.map(|tenure| tenure.deadline), Some(1_000_000));
}
