//! Several nodes in one process: real sockets, real disks, a thread each.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hustings_cluster::api::{Client, OfficeStatus, Reply, Request, Status};
use hustings_cluster::config::{ClusterSpec, Config, MemberSpec, bootstrap};
use hustings_cluster::member::Role;
use hustings_cluster::node::{Exit, Node, NodeError, Options, ShutdownHandle};

/// How long anything may take, even on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// The files of a cluster and its running nodes.
pub(crate) struct TestCluster {
    _folder: tempfile::TempDir,
    pub(crate) folders: Vec<PathBuf>,
    nodes: Vec<Option<Running>>,
}

struct Running {
    shutdown_handle: ShutdownHandle,
    thread: JoinHandle<Result<Exit, NodeError>>,
}

impl TestCluster {
    /// Creates a cluster with members a, b, c …; the last has the highest priority. No node runs yet.
    pub(crate) fn new(count: usize) -> TestCluster {
        let folder = tempfile::tempdir().expect("create a temporary folder");
        let host = unused_loopback_host();
        // All are open at the same time, so that no two get the same port.
        let ports: Vec<TcpListener> = (0..count).map(|_| free_port(&host)).collect();
        let members = ports.iter().enumerate().map(|(index, port)| MemberSpec {
            name: char::from(b'a' + index as u8).to_string(),
            address: port.local_addr().expect("it is bound").to_string(),
            priority: index as u32,
            role: Role::Elector,
        });
        let plan = ClusterSpec::new("cluster", members.collect());
        drop(ports);
        let founded = bootstrap(&folder.path().join("cluster"), &plan).expect("the plan is sound");
        let folders = founded.into_iter().map(|member| member.folder).collect();
        TestCluster { _folder: folder, folders, nodes: (0..count).map(|_| None).collect() }
    }

    pub(crate) fn config(&self, index: usize) -> Config {
        Config::read(&self.folders[index].join("hustings.toml")).expect("it was just written")
    }

    /// Starts a node and waits until it listens.
    pub(crate) fn start(&mut self, index: usize) {
        self.start_with(self.config(index), index).expect("it starts");
    }

    /// Starts a node with another configuration. Returns why it does not start.
    pub(crate) fn start_with(&mut self, config: Config, index: usize) -> Result<(), String> {
        let shutdown_handle = ShutdownHandle::new().expect("descriptors are there");
        let (opened, is_open): (_, Receiver<Result<(), String>>) = channel();
        let options = Options { signals: false, shutdown_handle: Some(shutdown_handle.clone()), ..Options::default() };
        let thread = thread::spawn(move || match Node::open(config, options) {
            Ok(node) => {
                opened.send(Ok(())).expect("the test waits");
                node.run()
            }
            Err(error) => {
                opened.send(Err(error.to_string())).expect("the test waits");
                Err(error)
            }
        });
        is_open.recv_timeout(TIMEOUT).expect("opening ends")?;
        self.nodes[index] = Some(Running { shutdown_handle, thread });
        Ok(())
    }

    pub(crate) fn start_all(&mut self) {
        (0..self.folders.len()).for_each(|index| self.start(index));
    }

    /// Like SIGTERM, without waiting.
    pub(crate) fn request_shutdown(&self, index: usize) {
        self.nodes[index].as_ref().expect("it runs").shutdown_handle.shutdown();
    }

    /// Like SIGKILL, without waiting.
    pub(crate) fn abort(&self, index: usize) {
        self.nodes[index].as_ref().expect("it runs").shutdown_handle.abort();
    }

    /// Waits for the end of a node.
    pub(crate) fn join(&mut self, index: usize) -> Result<Exit, NodeError> {
        let running = self.nodes[index].take().expect("it runs");
        running.thread.join().expect("it does not panic")
    }

    /// Like SIGTERM.
    pub(crate) fn stop(&mut self, index: usize) -> Result<Exit, NodeError> {
        self.request_shutdown(index);
        self.join(index)
    }

    /// Like SIGKILL.
    pub(crate) fn kill(&mut self, index: usize) {
        self.abort(index);
        let ended = self.join(index);
        assert!(matches!(ended, Err(NodeError::StoppedAtOnce)), "{ended:?}");
    }

    pub(crate) fn client(&self, index: usize) -> Client {
        Client::connect(self.folders[index].join("hustings.sock"), Duration::ZERO).expect("the node runs")
    }

    pub(crate) fn ask(&self, index: usize, request: &Request) -> Reply {
        self.client(index).call(request, Some(TIMEOUT)).expect("the node answers")
    }

    pub(crate) fn status(&self, index: usize) -> Status {
        match self.ask(index, &Request::Status) {
            Reply::Status(status) => *status,
            other => panic!("no status: {other:?}"),
        }
    }

    /// Waits until these nodes agree on the holder of `leader`, and it satisfies the condition.
    pub(crate) fn wait_for_agreement(&self, places: &[usize], wanted: impl Fn(&OfficeStatus) -> bool) -> OfficeStatus {
        let mut clients: Vec<Client> = places.iter().map(|index| self.client(*index)).collect();
        let until = Instant::now() + TIMEOUT;
        loop {
            let said: Vec<OfficeStatus> = clients.iter_mut().map(leader).collect();
            let first = &said[0];
            let is_same = said.iter().all(|other| (&other.holder, other.token) == (&first.holder, first.token));
            if is_same && said.iter().all(|status| status.current) && first.holder.is_some() && wanted(first) {
                return first.clone();
            }
            assert!(Instant::now() < until, "no agreement: {said:#?}");
            thread::yield_now();
        }
    }
}

fn leader(client: &mut Client) -> OfficeStatus {
    let request = Request::Leader { office: "leader".to_string() };
    match client.call(&request, Some(TIMEOUT)).expect("the node answers") {
        Reply::Office(status) => status,
        other => panic!("no office: {other:?}"),
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        for running in self.nodes.iter_mut().filter_map(Option::take) {
            running.shutdown_handle.abort();
            // A panic was reported when it happened.
            let _ = running.thread.join();
        }
    }
}

/// A loopback address that no other test uses, so that its free ports stay free.
fn unused_loopback_host() -> String {
    static SO_FAR: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id().wrapping_mul(97).wrapping_add(SO_FAR.fetch_add(1, Ordering::Relaxed));
    format!("127.{}.{}.{}", 1 + (number >> 16) % 250, (number >> 8) % 256, 1 + number % 254)
}

fn free_port(host: &str) -> TcpListener {
    TcpListener::bind((host, 0)).expect("loopback is there")
}
