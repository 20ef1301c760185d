//! An elector against a node that does exactly what the test says.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::channel;
use std::time::Instant;

use hustings_cluster::api::{Cause, Holding, OfficeStatus, Reply, Request};
use pollster::block_on;

use super::*;

const LONG: Duration = Duration::from_secs(20);

/// The node's side of a socket.
struct Fake {
    folder: tempfile::TempDir,
    listener: UnixListener,
}

impl Fake {
    fn new() -> Fake {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let listener = UnixListener::bind(folder.path().join("s")).expect("the folder is ours");
        Fake { folder, listener }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn accept(&self) -> Program {
        let (stream, _) = self.listener.accept().expect("a program connects");
        stream.set_read_timeout(Some(LONG)).expect("the socket is open");
        Program { lines: BufReader::new(stream) }
    }

    fn pair(&self) -> (Elector, Program) {
        let elector = Elector::connect(self.socket()).expect("the node listens");
        (elector, self.accept())
    }
}

/// A program, seen from the node.
struct Program {
    lines: BufReader<UnixStream>,
}

impl Program {
    fn hear(&mut self) -> Request {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the program says something in time");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    fn say(&mut self, reply: &Reply) {
        let line = serde_json::to_string(reply).expect("a reply is plain data");
        writeln!(self.lines.get_mut(), "{line}").expect("the program reads");
    }

    /// Grants the office that it campaigns for.
    fn grant(&mut self, token: u64, lasts: Duration) {
        assert_eq!(self.hear(), Request::Campaign { office: "o".into(), mode: None });
        self.say(&Reply::Done);
        self.say(&Reply::Held(Holding { office: "o".into(), token, deadline: Clock::new().now() + lasts }));
    }

    fn show(&mut self, holder: &str, current: bool) {
        self.say(&Reply::Office(OfficeStatus {
            office: "o".into(),
            mode: Mode::Exclusive,
            holder: Some(holder.into()),
            address: None,
            token: 1,
            since_unix_ms: 0,
            why: Cause::Vacant,
            current,
        }));
    }
}

/// The result of a future that must come in time.
fn soon<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(block_on(future)));
    told.recv_timeout(LONG).expect("it comes in time")
}

fn campaign(elector: &Elector) -> impl Future<Output = Result<Leadership, CampaignError>> + Send + 'static {
    let elector = elector.clone();
    async move { elector.campaign("o").await }
}

/// Leadership with this token for so long, and both ends of the connection.
fn lead(fake: &Fake, lasts: Duration) -> (Elector, Program, Leadership) {
    let (elector, mut program) = fake.pair();
    let wanted = campaign(&elector);
    let waits = std::thread::spawn(move || block_on(wanted));
    program.grant(7, lasts);
    let leadership = waits.join().expect("it does not panic").expect("it was granted");
    (elector, program, leadership)
}

#[test]
fn an_office_is_held_renewed_and_given_up_by_dropping_the_guard() {
    let fake = Fake::new();
    let (_elector, mut program, leadership) = lead(&fake, LONG);
    assert!(leadership.is_held() && leadership.remaining() <= LONG);
    assert_eq!((leadership.token(), leadership.office()), (7, "o"));
    let later = leadership.deadline() + LONG;
    program.say(&Reply::Renewed(Holding { office: "o".into(), token: 7, deadline: later }));
    let since = Instant::now();
    while leadership.deadline() != later {
        assert!(since.elapsed() < LONG, "the renewal is not seen");
        std::thread::yield_now();
    }
    drop(leadership);
    assert_eq!(program.hear(), Request::Withdraw { office: "o".into() });
}

#[test]
fn who_resigns_waits_until_the_node_knows() {
    let fake = Fake::new();
    let (_elector, mut program, leadership) = lead(&fake, LONG);
    let waits = std::thread::spawn(move || block_on(leadership.resign()));
    assert_eq!(program.hear(), Request::Withdraw { office: "o".into() });
    program.say(&Reply::Done);
    assert_eq!(waits.join().expect("it does not panic"), Ok(()));
}

#[test]
fn a_word_to_stop_reaches_the_work_and_the_end_of_the_work_reaches_the_node() {
    let fake = Fake::new();
    let (_elector, mut program, leadership) = lead(&fake, LONG);
    program.say(&Reply::Stop { office: "o".into(), token: 7, why: Cause::Transferred });
    let (leadership, why) = soon(async move {
        let why = leadership.stopping().await;
        (leadership, why)
    });
    assert_eq!(why, Ending::Told(Cause::Transferred));
    assert!(leadership.is_held(), "until it has stopped");
    drop(leadership);
    assert_eq!(program.hear(), Request::Stopped { office: "o".into(), token: 7 });
    assert_eq!(program.hear(), Request::Withdraw { office: "o".into() });
}

#[test]
fn a_silent_node_renews_nothing() {
    let fake = Fake::new();
    let (_elector, _program, leadership) = lead(&fake, Duration::from_millis(30));
    let (leadership, why) = soon(async move {
        let why = leadership.lost().await;
        (leadership, why)
    });
    assert_eq!(why, Ending::Deadline);
    assert!(!leadership.is_held());
}

#[test]
fn without_the_node_the_work_should_stop_and_must_have_by_the_deadline() {
    let fake = Fake::new();
    let (elector, program, leadership) = lead(&fake, Duration::from_millis(200));
    let deadline = leadership.deadline();
    drop(program);
    let (stopping, lost) = soon(async move { (leadership.stopping().await, leadership.lost().await) });
    assert_eq!((stopping, lost), (Ending::NodeGone, Ending::NodeGone));
    assert!(Clock::new().now() >= deadline, "not before the deadline, which holds without the node");
    // The node is back: whoever wants the office now gets it there.
    let mut program = fake.accept();
    let waits = std::thread::spawn({
        let wanted = campaign(&elector);
        move || block_on(wanted)
    });
    program.grant(9, LONG);
    assert_eq!(waits.join().expect("it does not panic").expect("it was granted").token(), 9);
}

#[test]
fn a_campaign_outlives_the_node_and_ends_with_its_future() {
    let fake = Fake::new();
    let (elector, mut program) = fake.pair();
    let waits = std::thread::spawn({
        let wanted = campaign(&elector);
        move || block_on(wanted)
    });
    assert!(matches!(program.hear(), Request::Campaign { .. }));
    drop(program);
    let mut program = fake.accept();
    program.grant(3, LONG);
    let leadership = waits.join().expect("it does not panic").expect("it was granted");
    assert_eq!(block_on(elector.campaign("o")).expect_err("one at a time"), CampaignError::Already("o".into()));
    drop(leadership);
    assert!(matches!(program.hear(), Request::Withdraw { .. }));
    program.say(&Reply::Done);

    let mut wanted = Box::pin(campaign(&elector));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(wanted.as_mut().poll(&mut context).is_pending());
    assert!(matches!(program.hear(), Request::Campaign { .. }));
    drop(wanted);
    assert!(matches!(program.hear(), Request::Withdraw { .. }));
}

#[test]
fn what_is_refused_says_why() {
    let fake = Fake::new();
    let (elector, mut program) = fake.pair();
    let waits = std::thread::spawn(move || block_on(elector.campaign_as("o", Mode::Fenced)).map(|_| ()));
    assert_eq!(program.hear(), Request::Campaign { office: "o".into(), mode: Some(Mode::Fenced) });
    let refusal = Refusal { code: "other-mode".into(), message: "the office `o` is exclusive".into() };
    program.say(&Reply::Refused(refusal.clone()));
    let error = waits.join().expect("it does not panic").expect_err("it was refused");
    assert_eq!((error.to_string(), error), ("the office `o` is exclusive".into(), CampaignError::Refused(refusal)));
}

#[test]
fn observers_see_changes_and_nothing_stale() {
    let fake = Fake::new();
    let elector = Elector::builder().freshness(Duration::from_millis(100)).connect(fake.socket()).expect("it listens");
    let mut program = fake.accept();
    let mut observer = elector.observe("o");
    assert_eq!(observer.current(), Sighting::Unknown);
    assert_eq!(program.hear(), Request::Watch { office: Some("o".into()) });
    program.show("a", true);
    // It says that it lives until it is frozen.
    let (freeze, frozen) = channel();
    let node = std::thread::spawn(move || {
        while frozen.try_recv().is_err() {
            assert!(matches!(program.hear(), Request::History { .. }));
            program.say(&Reply::History { changes: Vec::new() });
        }
        program
    });
    let mut observer = soon(async move {
        while observer.next().await.leader() != Some("a") {}
        observer
    });
    freeze.send(()).expect("the node waits for it");
    let _program = node.join().expect("it does not panic");
    let observer = soon(async move {
        while observer.next().await != Sighting::Unknown {}
        observer
    });
    assert_eq!(observer.current(), Sighting::Unknown);
}

#[test]
fn nobody_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = Elector::connect(folder.path().join("s")).expect_err("nobody listens").to_string();
    assert!(error.contains("is the node running?"), "{error}");
    let error = Elector::connect(folder.path().join("x.toml")).expect_err("there is no file").to_string();
    assert!(error.contains("x.toml: cannot be read"), "{error}");
}

#[test]
fn the_last_handle_ends_the_connection() {
    let fake = Fake::new();
    let (elector, mut program) = fake.pair();
    let observer = elector.observe("o");
    drop(elector);
    assert!(matches!(program.hear(), Request::Watch { .. }));
    assert!(matches!(program.hear(), Request::History { .. }));
    drop(observer);
    let mut line = String::new();
    assert_eq!(program.lines.read_line(&mut line).expect("the connection ends in order"), 0);
}
