use hustings_cluster::api::ChangeReason;
use hustings_cluster::config::Mode;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::*;

fn status(office: &str, token: u64) -> OfficeStatus {
    OfficeStatus {
        office: office.to_string(),
        mode: Mode::Exclusive,
        holder: Some("a".to_string()),
        address: Some("h:1".to_string()),
        token,
        since_unix_ms: 5,
        reason: ChangeReason::Vacant,
        current: true,
    }
}

fn offices(max_watches: usize) -> Arc<Offices> {
    Arc::new(Offices::new(max_watches, Duration::ZERO))
}

#[test]
fn watchers_get_changes_and_no_repetitions() {
    let offices = offices(1);
    let (state, mut events) = offices.watch("job");
    assert_eq!(state, None);
    offices.update(status("job", 7));
    offices.update(status("job", 7));
    offices.update(status("other", 8));
    let first = events.try_recv().expect("it changed");
    let text = String::from_utf8(first.to_vec()).expect("events are text");
    assert!(text.starts_with("event: office\nid: 7.0\ndata: {\"office\":\"job\","), "{text}");
    assert!(events.try_recv().is_err());
    assert_eq!(offices.watch("job").0, Some(first), "the next watcher need not wait");
    offices.forget_unwatched("job");
    assert!(offices.inner().watched.contains_key("job"), "there is a watcher");
    drop(events);
    offices.forget_unwatched("job");
    assert!(offices.inner().watched.is_empty() && offices.inner().new.is_empty(), "nobody watches");
}

/// The node's end of the connection.
struct Node {
    requests: Lines<BufReader<OwnedReadHalf>>,
    replies: OwnedWriteHalf,
}

impl Node {
    async fn accept(listener: &UnixListener) -> Node {
        let (read, replies) = listener.accept().await.expect("a connection").0.into_split();
        Node { requests: BufReader::new(read).lines(), replies }
    }

    /// The next request; `None` if the connection is over.
    async fn request(&mut self) -> Option<Request> {
        let line = self.requests.next_line().await.ok()??;
        Some(serde_json::from_str(&line).expect("a request"))
    }

    async fn reply(&mut self, status: OfficeStatus) {
        let mut line = serde_json::to_vec(&Reply::Office(status)).expect("plain data");
        line.push(b'\n');
        self.replies.write_all(&line).await.expect("somebody reads");
    }
}

fn watch_request(office: Option<&str>) -> Option<Request> {
    Some(Request::Watch { office: office.map(str::to_string) })
}

/// Runs a test with a follower, and the listener that it connects to.
fn with_follower<F: Future<Output = ()>>(offices: &Arc<Offices>, test: impl FnOnce(UnixListener) -> F) {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("node.sock");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = UnixListener::bind(&socket).expect("the folder is ours");
        let follower = offices.clone();
        let task = tokio::spawn(async move { follower.follow(&socket).await });
        test(listener).await;
        task.abort();
    });
}

async fn token(events: &mut broadcast::Receiver<Bytes>) -> String {
    let event = events.recv().await.expect("an event");
    let text = std::str::from_utf8(&event).expect("events are text");
    text.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id").to_string()
}

#[test]
fn the_node_is_asked_for_watched_offices_only_and_left_alone_when_there_are_none() {
    let offices = offices(10);
    with_follower(&offices, async |listener| {
        let (_, mut job) = offices.watch("job");
        let mut node = Node::accept(&listener).await;
        assert_eq!(node.request().await, watch_request(Some("job")));
        node.reply(status("job", 7)).await;
        assert_eq!(token(&mut job).await, "7.0");
        let (_, mut other) = offices.watch("other");
        assert_eq!(node.request().await, watch_request(Some("other")));
        node.reply(status("other", 8)).await;
        node.reply(status("job", 9)).await;
        assert_eq!((token(&mut other).await, token(&mut job).await), ("8.0".to_string(), "9.0".to_string()));
        drop((job, other));
        offices.forget_unwatched("job");
        offices.forget_unwatched("other");
        assert_eq!(node.request().await, None, "the connection ends");
        // Whoever comes next is served by a new one.
        let _events = offices.watch("job");
        assert_eq!(Node::accept(&listener).await.request().await, watch_request(Some("job")));
    });
}

#[test]
fn many_offices_are_watched_all_at_once_without_losing_the_connection() {
    let offices = offices(2);
    with_follower(&offices, async |listener| {
        let (_, mut first) = offices.watch("office-1");
        let mut node = Node::accept(&listener).await;
        assert_eq!(node.request().await, watch_request(Some("office-1")));
        node.reply(status("office-1", 1)).await;
        assert_eq!(token(&mut first).await, "1.0");
        let (_, _second) = offices.watch("office-2");
        assert_eq!(node.request().await, watch_request(Some("office-2")));
        let (_, mut third) = offices.watch("office-3");
        assert_eq!(node.request().await, watch_request(None));
        // It may never have been held, and then it is not one of all.
        assert_eq!(node.request().await, Some(Request::Leader { office: "office-3".to_string() }));
        node.reply(status("unwatched", 4)).await;
        node.reply(status("office-3", 3)).await;
        assert_eq!(token(&mut third).await, "3.0");
        assert_eq!(offices.inner().watched.len(), 3);
    });
}

#[test]
fn the_node_is_not_asked_for_more_than_it_answers() {
    let offices = offices(10_000);
    let names: Vec<String> = (0..200).map(|number| format!("office-{number}")).collect();
    let events: Vec<_> = names.iter().map(|name| offices.watch(name)).collect();
    with_follower(&offices, async |listener| {
        let mut node = Node::accept(&listener).await;
        let mut asked = Vec::new();
        for _ in 0..MAX_ASKED {
            let Some(Request::Watch { office: Some(office) }) = node.request().await else { panic!("a watch by name") };
            asked.push(office);
        }
        let more = timeout_for_nothing(&mut node).await;
        assert_eq!(more, None, "it waits for the first replies");
        node.reply(status(&asked[0], 1)).await;
        assert!(matches!(node.request().await, Some(Request::Watch { .. })));
    });
    drop(events);
}

/// What arrives although nothing should: a moment suffices, because the follower would have sent it before it waits.
async fn timeout_for_nothing(node: &mut Node) -> Option<Request> {
    tokio::time::timeout(Duration::from_millis(50), node.request()).await.unwrap_or(None)
}

#[test]
fn after_a_lost_connection_nothing_old_is_taken_for_the_state() {
    let offices = offices(10);
    with_follower(&offices, async |listener| {
        let (_, mut events) = offices.watch("job");
        let mut node = Node::accept(&listener).await;
        assert_eq!(node.request().await, watch_request(Some("job")));
        node.reply(status("job", 7)).await;
        assert_eq!(token(&mut events).await, "7.0");
        assert!(offices.watch("job").0.is_some());
        drop(node);
        // If it was refused because of a limit, it must not be refused again.
        let mut node = Node::accept(&listener).await;
        assert_eq!(node.request().await, watch_request(None));
        assert_eq!(node.request().await, Some(Request::Leader { office: "job".to_string() }));
        assert_eq!(offices.watch("job").0, None, "it may have changed");
        node.reply(status("job", 8)).await;
        assert_eq!(token(&mut events).await, "8.0");
    });
}
