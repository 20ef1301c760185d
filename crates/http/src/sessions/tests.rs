//! Sessions against a node that the test plays.

use std::time::Duration;

use hustings_cluster::api::{Lease as NodeLease, Reply, Request};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

use super::*;

const DRIFT_PPM: u32 = 10_000;

/// Runs a test with room for one session.
fn run(test: impl AsyncFnOnce(Fixture)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { test(Fixture::new()).await });
}

/// Waits until there is news for the client.
async fn news(session: &Session) {
    session.wait(Clock::new(), Duration::from_secs(20)).await;
}

/// The node's side of one session.
struct FakeNode {
    requests: Lines<BufReader<OwnedReadHalf>>,
    replies: OwnedWriteHalf,
}

impl FakeNode {
    fn new(stream: UnixStream) -> FakeNode {
        let (read, replies) = stream.into_split();
        FakeNode { requests: BufReader::new(read).lines(), replies }
    }

    async fn request(&mut self) -> Request {
        let line = self.requests.next_line().await.expect("it is connected").expect("it sends a request");
        serde_json::from_str(&line).expect("a valid request")
    }

    async fn reply(&mut self, reply: &Reply) {
        let line = serde_json::to_string(reply).expect("plain data") + "\n";
        self.replies.write_all(line.as_bytes()).await.expect("the session reads");
    }

    async fn grant(&mut self, deadline: Timestamp) {
        let (lease, stop) = (Duration::from_millis(300), Duration::from_millis(10));
        self.reply(&Reply::Held(NodeLease { office: "job".to_string(), token: 7, deadline, lease, stop })).await;
    }
}

struct Fixture {
    sessions: Sessions,
    listener: UnixListener,
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("node.sock");
        let listener = UnixListener::bind(&socket).expect("the folder is ours");
        Fixture { sessions: Sessions::new(socket, Clock::new(), DRIFT_PPM, 1), listener, _folder: folder }
    }

    fn renew(&self, session: &Session, received: Timestamp) -> SessionView {
        self.sessions.renew(session, received).expect("it has not ended")
    }

    /// A session, and the node's side of it.
    async fn open(&self, ttl: Duration) -> (Arc<Session>, FakeNode) {
        let node = async {
            let (stream, _) = self.listener.accept().await.expect("the session connects");
            let mut node = FakeNode::new(stream);
            assert!(matches!(node.request().await, Request::Campaign { .. }));
            node.reply(&Reply::Done).await;
            node
        };
        let (session, node) = tokio::join!(self.sessions.open(terms(), None, Some(ttl), "me"), node);
        (session.expect("the node accepts it"), node)
    }

    /// A session that holds the office for so long, the node's side of it, and the end of the lease.
    async fn open_held(&self, ttl: Duration, lease: Duration) -> (Arc<Session>, FakeNode, Timestamp) {
        let (session, mut node) = self.open(ttl).await;
        let deadline = self.sessions.now() + lease;
        node.grant(deadline).await;
        news(&session).await;
        (session, node, deadline)
    }
}

fn terms() -> OfficeTerms {
    OfficeTerms {
        cluster: "test".to_string(),
        node: "a".to_string(),
        office: "job".to_string(),
        mode: Mode::Exclusive,
        lease: Duration::from_millis(300),
        stop: Duration::from_millis(10),
    }
}

#[test]
fn a_remote_clock_gets_less_by_the_drift_of_both() {
    let second = Duration::from_secs(1);
    assert_eq!(remote(second, 0), second);
    // 0.99 / 1.01
    assert_eq!(remote(second, 10_000), Duration::from_nanos(980_198_019));
    // A remote clock that is slow by the drift needs at most what ours, fast by the drift, shows.
    for drift in [1, 500, 10_000, 99_999] {
        let told = remote(second, drift).as_secs_f64();
        let real = told / (1.0 - f64::from(drift) / 1e6);
        assert!(real * (1.0 + f64::from(drift) / 1e6) <= 1.0 + 1e-9, "{drift}");
    }
}

/// The client counts from when it sent the request, however long the request waited here.
#[test]
fn the_lease_counts_from_the_receipt_of_the_request() {
    run(async |fixture| {
        let (session, mut node) = fixture.open(Duration::from_secs(60)).await;
        let received = fixture.sessions.now();
        assert_eq!(fixture.renew(&session, received).state, SessionState::Waiting);
        let deadline = received + Duration::from_secs(50);
        node.grant(deadline).await;
        news(&session).await;
        let view = fixture.renew(&session, received);
        assert_eq!((view.state, view.token), (SessionState::Held, Some(7)));
        assert_eq!(view.lease_ms, millis(remote(Duration::from_secs(50), DRIFT_PPM)));
        // A request that was here before has more of the lease before it, by exactly that time.
        let earlier = fixture.renew(&session, received - Duration::from_secs(5));
        assert_eq!(earlier.lease_ms, millis(remote(Duration::from_secs(55), DRIFT_PPM)));
    });
}

/// The guard of exclusivity: whoever was promised a deadline has the office until then.
#[test]
fn an_expired_session_is_not_withdrawn_before_the_promised_deadline() {
    run(async |fixture| {
        let (session, mut node, deadline) =
            fixture.open_held(Duration::from_millis(100), Duration::from_millis(700)).await;
        // The client gets this answer, or it does not: the server cannot know.
        assert_eq!(fixture.renew(&session, fixture.sessions.now()).state, SessionState::Held);
        // The node renews its lease; the client never learns of that.
        node.reply(&Reply::Renewed { from: deadline }).await;
        assert_eq!(node.request().await, Request::Withdraw { office: "job".to_string() });
        assert!(fixture.sessions.now() >= deadline, "the client may still act");
        let gone = fixture.sessions.find(&session.id, "job", "me").err().expect("it has ended");
        assert_eq!(gone.code, Code::UnknownSession);
    });
}

/// A request on another thread may have found the session just before it ended. The office may have another holder when
/// it goes on.
#[test]
fn a_session_that_has_ended_promises_nothing_to_whoever_found_it_before() {
    run(async |fixture| {
        let (expired, mut node) = fixture.open(Duration::from_millis(100)).await;
        node.grant(fixture.sessions.now() + Duration::from_secs(3600)).await;
        assert_eq!(node.request().await, Request::Withdraw { office: "job".to_string() });
        let (resigned, mut node, _) = fixture.open_held(Duration::from_secs(60), Duration::from_secs(3600)).await;
        tokio::join!(fixture.sessions.resign(&resigned), async { node.reply(&Reply::Done).await })
            .0
            .expect("the node knows it now");
        for session in [expired, resigned] {
            let refused = fixture.sessions.renew(&session, fixture.sessions.now()).err().expect("it has ended");
            assert_eq!(refused.code, Code::UnknownSession);
        }
    });
}

/// What was never promised need not be waited for.
#[test]
fn an_expired_session_whose_client_never_knew_of_the_office_is_withdrawn() {
    run(async |fixture| {
        let (_session, mut node) = fixture.open(Duration::from_millis(100)).await;
        let deadline = fixture.sessions.now() + Duration::from_secs(3600);
        node.grant(deadline).await;
        assert_eq!(node.request().await, Request::Withdraw { office: "job".to_string() });
        assert!(fixture.sessions.now() < deadline);
    });
}

#[test]
fn a_client_is_told_to_stop_says_so_and_campaigns_on() {
    run(async |fixture| {
        let (session, mut node, deadline) = fixture.open_held(Duration::from_secs(60), Duration::from_secs(50)).await;
        let view = |fixture: &Fixture| fixture.renew(&session, fixture.sessions.now());
        assert_eq!(view(&fixture).state, SessionState::Held);
        let reason = ChangeReason::Transferred;
        node.reply(&Reply::Stop { office: "job".to_string(), token: 7, reason }).await;
        // A renewal of other leases does not move the deadline of this one.
        node.reply(&Reply::Renewed { from: deadline }).await;
        news(&session).await;
        let told = view(&fixture);
        assert_eq!((told.state, told.reason), (SessionState::Stop, Some(reason)));
        assert!(told.lease_ms > 0 && told.lease_ms <= 50_000, "{}", told.lease_ms);
        let node_side = async {
            assert_eq!(node.request().await, Request::Stopped { office: "job".to_string(), token: 7 });
            node.reply(&Reply::Done).await;
            node.reply(&Reply::Lost { office: "job".to_string(), token: 7, reason }).await;
        };
        let (stopped, ()) = tokio::join!(session.stopped(7), node_side);
        stopped.expect("the node knows it now");
        news(&session).await;
        let lost = view(&fixture);
        assert_eq!((lost.state, lost.lease_ms), (SessionState::Lost, 0));
    });
}

/// The node releases the office as soon as it hears of it; its word that the office is lost comes later.
#[test]
fn a_client_that_has_stopped_is_promised_nothing_more_for_that_token() {
    run(async |fixture| {
        let (session, mut node, deadline) = fixture.open_held(Duration::from_secs(60), Duration::from_secs(50)).await;
        assert_eq!(fixture.renew(&session, fixture.sessions.now()).state, SessionState::Held);
        let node_side = async {
            assert_eq!(node.request().await, Request::Stopped { office: "job".to_string(), token: 7 });
            node.reply(&Reply::Renewed { from: deadline }).await;
            node.reply(&Reply::Done).await;
        };
        let (stopped, ()) = tokio::join!(session.stopped(7), node_side);
        stopped.expect("the node knows it now");
        let view = fixture.renew(&session, fixture.sessions.now());
        assert_eq!((view.state, view.lease_ms), (SessionState::Lost, 0));
    });
}

#[test]
fn a_request_that_waits_keeps_the_session_alive() {
    run(async |fixture| {
        let (session, mut node) = fixture.open(Duration::from_millis(100)).await;
        // Longer than the time to live.
        session.wait(Clock::new(), Duration::from_millis(400)).await;
        assert!(fixture.sessions.find(&session.id, "job", "me").is_ok());
        assert!(matches!(node.request().await, Request::Withdraw { .. }), "after the wait it counts again");
    });
}

#[test]
fn sessions_belong_to_their_office_and_caller_and_are_limited() {
    run(async |fixture| {
        let (session, mut node) = fixture.open(Duration::from_secs(60)).await;
        let code = |id: &str, office, caller| fixture.sessions.find(id, office, caller).err().map(|error| error.code);
        assert_eq!(code(&session.id, "job", "me"), None);
        for (id, office, caller) in
            [(&*session.id, "other", "me"), (&*session.id, "job", "somebody"), ("00", "job", "me")]
        {
            assert_eq!(code(id, office, caller), Some(Code::UnknownSession), "{id} {office} {caller}");
        }
        let second = fixture.sessions.open(terms(), None, None, "me").await.err().expect("one too many");
        assert_eq!(second.code, Code::TooMany);
        let node_side = async {
            assert_eq!(node.request().await, Request::Withdraw { office: "job".to_string() });
            node.reply(&Reply::Done).await;
        };
        let (resigned, ()) = tokio::join!(fixture.sessions.resign(&session), node_side);
        assert_eq!(resigned.expect("the node knows it now").state, SessionState::Resigned);
        assert_eq!((code(&session.id, "job", "me"), fixture.sessions.count()), (Some(Code::UnknownSession), 0));
    });
}

#[test]
fn a_session_ends_with_its_connection() {
    run(async |fixture| {
        let (session, node) = fixture.open(Duration::from_secs(60)).await;
        drop(node);
        while fixture.sessions.count() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(session.stopped(1).await.is_err());
    });
}

#[test]
fn an_office_is_held_by_the_caller_of_its_session_alone() {
    run(async |fixture| {
        let ttl = Duration::from_secs(60);
        let (session, mut node) = fixture.open(ttl).await;
        let holds = |caller, office, token| fixture.sessions.holds(&session.id, caller, office, token);
        assert!(!holds("me", "job", 7), "it waits");
        node.grant(fixture.sessions.now() + ttl).await;
        news(&session).await;
        assert!(holds("me", "job", 7));
        for id in ["", "00000000000000000000000000000000"] {
            assert!(!fixture.sessions.holds(id, "me", "job", 7), "the caller's name is not enough");
        }
        for (caller, office, token) in [("you", "job", 7), ("me", "other", 7), ("me", "job", 6)] {
            assert!(!holds(caller, office, token), "{caller} {office} {token}");
        }
        node.reply(&Reply::Lost { office: "job".to_string(), token: 7, reason: ChangeReason::Resigned }).await;
        // The client was told that it holds the office; the next change is news.
        fixture.renew(&session, fixture.sessions.now());
        news(&session).await;
        assert!(!holds("me", "job", 7), "it is lost");
    });
}
