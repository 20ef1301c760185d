//! Clients against a node of cardboard: the test says what it says.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use hustings_cluster::api::Cause;
use hustings_cluster::clock::Moment;

use super::*;
use crate::history::{self, Recorder};

const OFFICE: &str = "x";

struct Stage {
    folder: tempfile::TempDir,
    listener: UnixListener,
    scene: Arc<Scene>,
    player: Player,
}

/// The node's side of a connection.
struct Node {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl Stage {
    fn new(exclusive: bool) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = UnixListener::bind(folder.path().join("socket")).expect("a new socket");
        let recorder = Recorder::create(&folder.path().join("history")).expect("a new file");
        let scene = Arc::new(Scene::new(Arc::new(recorder), false));
        // Calm: no whims of its own.
        scene.set_calm(true);
        let part = Part {
            node: "n1".to_string(),
            number: 0,
            office: OFFICE.to_string(),
            exclusive,
            socket: folder.path().join("socket"),
            clock: HostClock { ppm: 0 },
            rng: Rng::new(1),
        };
        let player = Player::start(&scene, part).expect("a thread");
        Stage { folder, listener, scene, player }
    }

    /// Waits for a client that campaigns.
    fn accept(&self) -> Node {
        let (stream, _) = self.listener.accept().expect("the client comes");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let lines = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut node = Node { stream, lines };
        assert!(matches!(node.hear(), Request::Campaign { office, .. } if office == OFFICE));
        node.say(&Reply::Done);
        node
    }

    fn wait_for(&self, what: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let deadline = clock::now() + 20_000 * MILLISECOND;
        loop {
            let events = history::read(&self.folder.path().join("history")).expect("readable");
            if what(&events) {
                return events;
            }
            assert!(clock::now() < deadline, "it does not happen: {events:?}");
            std::thread::yield_now();
        }
    }

    fn close(self) -> Vec<Event> {
        self.scene.end();
        drop(self.listener);
        self.player.join().expect("no panic");
        history::read(&self.folder.path().join("history")).expect("readable")
    }
}

impl Node {
    fn hear(&mut self) -> Request {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the client says something");
        serde_json::from_str(&line).expect("a request")
    }

    fn say(&mut self, reply: &Reply) {
        let line = serde_json::to_string(reply).expect("a reply");
        // Both in one piece, so that no reader waits for the second.
        self.stream.write_all(format!("{line}\n").as_bytes()).expect("the client listens");
    }
}

fn holding(token: u64, deadline: u64) -> Holding {
    Holding { office: OFFICE.to_string(), token, deadline: Moment(deadline) }
}

fn names(events: &[Event]) -> Vec<String> {
    let name = |event: &Event| match event {
        Event::Claimed { client, token, .. } => Some(format!("{client} claims {token}")),
        Event::Until { token, .. } => Some(format!("until {token}")),
        Event::Ended { token, why, .. } => Some(format!("{why} {token}")),
        _ => None,
    };
    events.iter().filter_map(name).collect()
}

#[test]
fn it_claims_goes_on_stops_when_asked_and_says_so() {
    let stage = Stage::new(true);
    let mut node = stage.accept();
    let late = clock::now() + 60_000 * MILLISECOND;
    node.say(&Reply::Held(holding(5, late)));
    node.say(&Reply::Renewed(holding(5, late + 1)));
    node.say(&Reply::Stop { office: OFFICE.to_string(), token: 5, why: Cause::Preempted });
    assert_eq!(node.hear(), Request::Stopped { office: OFFICE.to_string(), token: 5 });
    let noted = names(&stage.wait_for(|events| events.len() == 3));
    assert_eq!(noted, ["n1.x.0#1 claims 5", "until 5", "stop 5"], "noted before it is said");
    // Asked about what it does not hold, it says at once that it has stopped.
    node.say(&Reply::Stop { office: OFFICE.to_string(), token: 4, why: Cause::Preempted });
    assert_eq!(node.hear(), Request::Stopped { office: OFFICE.to_string(), token: 4 });
    node.say(&Reply::Held(holding(6, late)));
    node.say(&Reply::Lost { office: OFFICE.to_string(), token: 6, why: Cause::Expired });
    stage.wait_for(|events| events.len() == 5);
    drop(node);
    assert_eq!(names(&stage.close())[3..], ["n1.x.0#1 claims 6", "lost 6"]);
}

#[test]
fn it_acts_on_without_its_node_until_its_deadline_and_then_comes_back() {
    let stage = Stage::new(false);
    let mut node = stage.accept();
    let deadline = clock::now() + 200 * MILLISECOND;
    node.say(&Reply::Held(holding(7, deadline)));
    stage.wait_for(|events| events.len() > 2);
    drop(node);
    let gone = clock::now();
    let _node = stage.accept();
    assert!(clock::now() >= deadline, "it comes back when it has stopped");
    let events = stage.close();
    let writes: Vec<u64> =
        events.iter().filter_map(|event| if let Event::Wrote { at, .. } = event { Some(*at) } else { None }).collect();
    assert!(writes.iter().any(|&at| at > gone), "it wrote after its node was gone");
    // The store notes when it has the write, a little after the client looked at its clock.
    assert!(writes.iter().all(|&at| at < deadline + 100 * MILLISECOND));
    assert_eq!(names(&events), ["n1.x.0#1 claims 7"]);
}

#[test]
fn without_a_lease_the_end_of_its_node_is_the_end_of_its_office() {
    let stage = Stage::new(true);
    let mut node = stage.accept();
    node.say(&Reply::Held(holding(7, u64::MAX)));
    stage.wait_for(|events| events.len() == 1);
    drop(node);
    let _node = stage.accept();
    assert_eq!(names(&stage.close()), ["n1.x.0#1 claims 7", "gone 7"]);
}

#[test]
fn the_deadline_is_on_its_host_s_clock() {
    let part = Part {
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
    let (scene, mut part, engaged) = (Scene::new(recorder, false), part, AtomicBool::new(false));
    let mut session = Session::new(&scene, &mut part, &engaged, "c".to_string());
    session.take_office(&holding(1, 1_010_000), 5);
    assert_eq!(session.tenure.map(|tenure| tenure.deadline), Some(1_000_000));
}
