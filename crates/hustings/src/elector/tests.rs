//! An elector with a scripted node.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::channel;
use std::time::Instant;

use hustings_cluster::api::{ChangeReason, Lease, OfficeStatus, Reply, Request};
use pollster::block_on;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(20);

/// The node's side of a socket.
struct FakeNode {
    folder: tempfile::TempDir,
    listener: UnixListener,
}

impl FakeNode {
    fn new() -> FakeNode {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let listener = UnixListener::bind(folder.path().join("s")).expect("the folder is ours");
        FakeNode { folder, listener }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn accept(&self) -> Program {
        let (stream, _) = self.listener.accept().expect("a program connects");
        stream.set_read_timeout(Some(TIMEOUT)).expect("the socket is open");
        Program { lines: BufReader::new(stream) }
    }

    fn pair(&self) -> (Elector, Program) {
        let elector = Elector::connect(self.socket()).expect("the node listens");
        (elector, self.accept())
    }
}

/// The program, as the node sees it.
struct Program {
    lines: BufReader<UnixStream>,
}

impl Program {
    fn recv(&mut self) -> Request {
        loop {
            let mut line = String::new();
            self.lines.read_line(&mut line).expect("the program says something in time");
            match serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}")) {
                Request::KeepAlive { .. } => self.send(&Reply::Done),
                request => return request,
            }
        }
    }

    fn send(&mut self, reply: &Reply) {
        let line = serde_json::to_string(reply).expect("a reply is plain data");
        writeln!(self.lines.get_mut(), "{line}").expect("the program reads");
    }

    /// Grants the office that it campaigns for.
    fn grant(&mut self, token: u64, lasts: Duration) {
        assert_eq!(self.recv(), Request::Campaign { office: "o".into(), mode: None, guard: None });
        self.send(&Reply::Done);
        let (deadline, lease, stop) = (Clock::new().now() + lasts, lasts, Duration::ZERO);
        self.send(&Reply::Held(Lease { office: "o".into(), token, deadline, lease, stop }));
    }

    fn show(&mut self, holder: &str, current: bool) {
        self.send(&Reply::Office(OfficeStatus {
            office: "o".into(),
            mode: Mode::Exclusive,
            holder: Some(holder.into()),
            address: None,
            token: 1,
            since_unix_ms: 0,
            reason: ChangeReason::Vacant,
            current,
        }));
    }
}

/// Runs a future, with a timeout.
fn block_with_timeout<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(block_on(future)));
    receiver.recv_timeout(TIMEOUT).expect("it comes in time")
}

fn campaign(elector: &Elector) -> impl Future<Output = Result<Leadership, CampaignError>> + Send + 'static {
    let elector = elector.clone();
    async move { elector.campaign("o").await }
}

/// Leadership with this token for so long, and both ends of the connection.
fn lead(fake: &FakeNode, lasts: Duration) -> (Elector, Program, Leadership) {
    let (elector, mut program) = fake.pair();
    let wanted = campaign(&elector);
    let waits = std::thread::spawn(move || block_on(wanted));
    program.grant(7, lasts);
    let leadership = waits.join().expect("it does not panic").expect("it was granted");
    (elector, program, leadership)
}

#[test]
fn holds_renews_and_releases_an_office_by_dropping_the_guard() {
    let fake = FakeNode::new();
    let (_elector, mut program, leadership) = lead(&fake, TIMEOUT);
    assert!(leadership.is_held() && leadership.remaining() <= TIMEOUT);
    assert_eq!((leadership.token(), leadership.office()), (7, "o"));
    let later = leadership.deadline() + TIMEOUT;
    program.send(&Reply::Renewed { from: later - TIMEOUT });
    let since = Instant::now();
    while leadership.deadline() != later {
        assert!(since.elapsed() < TIMEOUT, "the renewal is not seen");
        std::thread::yield_now();
    }
    drop(leadership);
    assert_eq!(program.recv(), Request::Withdraw { office: "o".into() });
}

#[test]
fn resign_returns_once_the_node_has_acknowledged() {
    let fake = FakeNode::new();
    let (_elector, mut program, leadership) = lead(&fake, TIMEOUT);
    let waits = std::thread::spawn(move || block_on(leadership.resign()));
    assert_eq!(program.recv(), Request::Withdraw { office: "o".into() });
    program.send(&Reply::Done);
    assert_eq!(waits.join().expect("it does not panic"), Ok(()));
}

#[test]
fn reports_a_stop_to_the_program_and_its_end_to_the_node() {
    let fake = FakeNode::new();
    let (_elector, mut program, leadership) = lead(&fake, TIMEOUT);
    program.send(&Reply::Stop { office: "o".into(), token: 7, reason: ChangeReason::Transferred });
    let (leadership, reason) = block_with_timeout(async move {
        let reason = leadership.stopping().await;
        (leadership, reason)
    });
    assert_eq!(reason, EndReason::Revoked(ChangeReason::Transferred));
    assert!(leadership.is_held(), "until it has stopped");
    drop(leadership);
    assert_eq!(program.recv(), Request::Stopped { office: "o".into(), token: 7 });
    assert_eq!(program.recv(), Request::Withdraw { office: "o".into() });
}

#[test]
fn leadership_is_lost_at_the_deadline_without_renewals() {
    let fake = FakeNode::new();
    let (_elector, _program, leadership) = lead(&fake, Duration::from_millis(30));
    let (leadership, reason) = block_with_timeout(async move {
        let reason = leadership.lost().await;
        (leadership, reason)
    });
    assert_eq!(reason, EndReason::DeadlinePassed);
    assert!(!leadership.is_held());
}

#[test]
fn whether_an_office_is_held_depends_on_the_clock_alone() {
    let fake = FakeNode::new();
    let (elector, _program, leadership) = lead(&fake, Duration::from_millis(30));
    // While the state is locked, nothing else can end the leadership.
    elector.handle.change(|_, _| {
        let deadline = leadership.deadline();
        while Clock::new().now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!((leadership.deadline(), leadership.is_held()), (deadline, false));
        ((), Updates::default())
    });
}

#[test]
fn without_the_node_leadership_ends_at_the_deadline() {
    let fake = FakeNode::new();
    let (elector, program, leadership) = lead(&fake, Duration::from_millis(200));
    let deadline = leadership.deadline();
    drop(program);
    let (stopping, lost) = block_with_timeout(async move { (leadership.stopping().await, leadership.lost().await) });
    assert_eq!((stopping, lost), (EndReason::NodeLost, EndReason::NodeLost));
    assert!(Clock::new().now() >= deadline, "not before the deadline, which holds without the node");
    // The node is back: a new campaign succeeds there.
    let mut program = fake.accept();
    let waits = std::thread::spawn({
        let wanted = campaign(&elector);
        move || block_on(wanted)
    });
    program.grant(9, TIMEOUT);
    assert_eq!(waits.join().expect("it does not panic").expect("it was granted").token(), 9);
}

#[test]
fn a_campaign_survives_a_reconnect_and_ends_with_its_future() {
    let fake = FakeNode::new();
    let (elector, mut program) = fake.pair();
    let waits = std::thread::spawn({
        let wanted = campaign(&elector);
        move || block_on(wanted)
    });
    assert!(matches!(program.recv(), Request::Campaign { .. }));
    drop(program);
    let mut program = fake.accept();
    program.grant(3, TIMEOUT);
    let leadership = waits.join().expect("it does not panic").expect("it was granted");
    assert_eq!(
        block_on(elector.campaign("o")).expect_err("one at a time"),
        CampaignError::AlreadyCampaigning("o".into())
    );
    drop(leadership);
    assert!(matches!(program.recv(), Request::Withdraw { .. }));
    program.send(&Reply::Done);

    let mut wanted = Box::pin(campaign(&elector));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(wanted.as_mut().poll(&mut context).is_pending());
    assert!(matches!(program.recv(), Request::Campaign { .. }));
    drop(wanted);
    assert!(matches!(program.recv(), Request::Withdraw { .. }));
}

#[test]
fn a_rejected_campaign_returns_the_error() {
    let fake = FakeNode::new();
    let (elector, mut program) = fake.pair();
    let waits = std::thread::spawn(move || block_on(elector.campaign_as("o", Mode::Fenced)).map(|_| ()));
    assert_eq!(program.recv(), Request::Campaign { office: "o".into(), mode: Some(Mode::Fenced), guard: None });
    let error = RequestError { code: "other-mode".into(), message: "the office `o` is exclusive".into() };
    program.send(&Reply::Error(error.clone()));
    let campaign_error = waits.join().expect("it does not panic").expect_err("it was refused");
    assert_eq!(
        (campaign_error.to_string(), campaign_error),
        ("the office `o` is exclusive".into(), CampaignError::Rejected(error))
    );
}

#[test]
fn observers_see_changes_but_no_stale_leader() {
    let fake = FakeNode::new();
    let elector = Elector::builder().freshness(Duration::from_millis(100)).connect(fake.socket()).expect("it listens");
    let mut program = fake.accept();
    let mut observer = elector.observe("o");
    assert_eq!(observer.current(), LeaderView::Unknown);
    assert_eq!(program.recv(), Request::Watch { office: Some("o".into()) });
    program.show("a", true);
    // The node answers probes until it freezes.
    let (freeze, frozen) = channel();
    let node = std::thread::spawn(move || {
        while frozen.try_recv().is_err() {
            assert!(matches!(program.recv(), Request::History { .. }));
            program.send(&Reply::History { changes: Vec::new() });
        }
        program
    });
    let mut observer = block_with_timeout(async move {
        while observer.next().await.leader() != Some("a") {}
        observer
    });
    freeze.send(()).expect("the node waits for it");
    let _program = node.join().expect("it does not panic");
    let observer = block_with_timeout(async move {
        while observer.next().await != LeaderView::Unknown {}
        observer
    });
    assert_eq!(observer.current(), LeaderView::Unknown);
}

#[test]
fn connect_errors_name_the_problem() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = Elector::connect(folder.path().join("s")).expect_err("nobody listens").to_string();
    assert!(error.contains("is the node running?"), "{error}");
    let error = Elector::connect(folder.path().join("x.toml")).expect_err("there is no file").to_string();
    assert!(error.contains("x.toml: cannot be read"), "{error}");
}

#[test]
fn dropping_the_last_handle_closes_the_connection() {
    let fake = FakeNode::new();
    let (elector, mut program) = fake.pair();
    let observer = elector.observe("o");
    drop(elector);
    assert!(matches!(program.recv(), Request::Watch { .. }));
    assert!(matches!(program.recv(), Request::History { .. }));
    drop(observer);
    let mut line = String::new();
    assert_eq!(program.lines.read_line(&mut line).expect("the connection ends in order"), 0);
}
