//! Several nodes in one process: real sockets, real disks, a thread each.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hustings_cluster::api::{Client, OfficeStatus, Reply, Request, Status};
use hustings_cluster::config::{Config, Newcomer, Plan, found};
use hustings_cluster::core::Exit;
use hustings_cluster::member::Role;
use hustings_cluster::node::{Node, NodeError, Options, Stopper};

/// Nothing takes longer, even on a core that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A cluster's files, and its nodes that run.
pub(crate) struct Town {
    _folder: tempfile::TempDir,
    pub(crate) homes: Vec<PathBuf>,
    nodes: Vec<Option<Running>>,
}

struct Running {
    stopper: Stopper,
    thread: JoinHandle<Result<Exit, NodeError>>,
}

impl Town {
    /// Members a, b, c …, the last of them of the greatest priority. None runs yet.
    pub(crate) fn found(count: usize) -> Town {
        let folder = tempfile::tempdir().expect("a folder for the town");
        let host = a_host_of_our_own();
        let members = (0..count).map(|place| Newcomer {
            name: char::from(b'a' + place as u8).to_string(),
            address: free_address(&host),
            priority: place as u32,
            role: Role::Elector,
        });
        let plan = Plan::new("town", members.collect());
        let founded = found(&folder.path().join("town"), &plan).expect("the plan is sound");
        let homes = founded.members.into_iter().map(|(_, home)| home).collect();
        Town { _folder: folder, homes, nodes: (0..count).map(|_| None).collect() }
    }

    pub(crate) fn config(&self, place: usize) -> Config {
        Config::read_with(&self.homes[place].join("hustings.toml"), &|_| None).expect("it was just written")
    }

    /// Starts a node and waits until it listens.
    pub(crate) fn start(&mut self, place: usize) {
        self.start_with(self.config(place), place).expect("it starts");
    }

    /// The same with another configuration; says why it does not start.
    pub(crate) fn start_with(&mut self, config: Config, place: usize) -> Result<(), String> {
        let stopper = Stopper::new().expect("descriptors are there");
        let (opened, is_open): (_, Receiver<Result<(), String>>) = channel();
        let options = Options { signals: false, stopper: Some(stopper.clone()), ..Options::default() };
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
        is_open.recv_timeout(PATIENCE).expect("opening ends")?;
        self.nodes[place] = Some(Running { stopper, thread });
        Ok(())
    }

    pub(crate) fn start_all(&mut self) {
        (0..self.homes.len()).for_each(|place| self.start(place));
    }

    /// As SIGTERM would, without waiting.
    pub(crate) fn tell_to_stop(&self, place: usize) {
        self.nodes[place].as_ref().expect("it runs").stopper.stop();
    }

    /// As SIGKILL would, without waiting.
    pub(crate) fn kill_soon(&self, place: usize) {
        self.nodes[place].as_ref().expect("it runs").stopper.abort();
    }

    /// Waits for the end of a node.
    pub(crate) fn bury(&mut self, place: usize) -> Result<Exit, NodeError> {
        let running = self.nodes[place].take().expect("it runs");
        running.thread.join().expect("it does not panic")
    }

    /// As SIGTERM would.
    pub(crate) fn stop(&mut self, place: usize) -> Result<Exit, NodeError> {
        self.tell_to_stop(place);
        self.bury(place)
    }

    /// As SIGKILL would.
    pub(crate) fn kill(&mut self, place: usize) {
        self.kill_soon(place);
        let ended = self.bury(place);
        assert!(matches!(ended, Err(NodeError::StoppedAtOnce)), "{ended:?}");
    }

    pub(crate) fn client(&self, place: usize) -> Client {
        Client::connect(self.homes[place].join("hustings.sock")).expect("the node runs")
    }

    pub(crate) fn ask(&self, place: usize, request: &Request) -> Reply {
        self.client(place).ask(request, Some(PATIENCE)).expect("the node answers")
    }

    pub(crate) fn status(&self, place: usize) -> Status {
        match self.ask(place, &Request::Status) {
            Reply::Status(status) => *status,
            other => panic!("no status: {other:?}"),
        }
    }

    /// Waits until these all say the same of the office `leader`, it has a holder, and it is as wanted.
    pub(crate) fn agree(&self, places: &[usize], wanted: impl Fn(&OfficeStatus) -> bool) -> OfficeStatus {
        let mut clients: Vec<Client> = places.iter().map(|place| self.client(*place)).collect();
        let until = Instant::now() + PATIENCE;
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
    match client.ask(&request, Some(PATIENCE)).expect("the node answers") {
        Reply::Office(status) => status,
        other => panic!("no office: {other:?}"),
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        for running in self.nodes.iter_mut().filter_map(Option::take) {
            running.stopper.abort();
            // A node that panicked has said so.
            let _ = running.thread.join();
        }
    }
}

/// A loopback address that nobody else uses: ports found free on it stay free.
fn a_host_of_our_own() -> String {
    static SO_FAR: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id().wrapping_mul(97).wrapping_add(SO_FAR.fetch_add(1, Ordering::Relaxed));
    format!("127.{}.{}.{}", 1 + (number >> 16) % 250, (number >> 8) % 256, 1 + number % 254)
}

fn free_address(host: &str) -> String {
    let listener = TcpListener::bind((host, 0)).expect("loopback is there");
    listener.local_addr().expect("it is bound").to_string()
}
